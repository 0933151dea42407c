// Arithmetic modulo prepared divisors by limbs of 32 bits on the integer multipliers, a row to a
// thread: the kernels of modular/imad.
#pragma once
#include "modular/imad/mul_mod.cuh"
#include "modular/imad/pow_mod.cuh"
#include "modular/imad/residues.cuh"
#include "modular/modular.cuh"
#include "modular/pow_product.cuh"

namespace gpuint {

// Selects the 32-bit multipliers.
struct Imad;

template <class S>
struct MulMod<S, Imad> : imad::Product<S, 2> {};
template <class S>
struct SquareMod<S, Imad> : imad::Product<S, 1> {};
template <class S>
struct PrepareOdd<S, Imad> : CopyOdd<S> {};
template <class S>
struct MulResidues<S, Imad> : imad::ResidueProduct<S, 2> {};
template <class S>
struct SquareResidues<S, Imad> : imad::ResidueProduct<S, 1> {};
template <class S>
struct PowMod<S, Imad> : imad::Power<S> {};
template <class S>
struct PowProductMod<S, Imad> : imad::Power<S, true> {};

}  // namespace gpuint
