// Modular arithmetic by integer multipliers, a row to a thread.
#pragma once
#include "dispatch/operations.cuh"
#include "modular/imad/mul_mod.cuh"
#include "modular/imad/pow_mod.cuh"
#include "modular/imad/residues.cuh"

namespace gpuint {

template <class S>
struct MulMod<S, Imad> : imad::Product<S, 2> {};
template <class S>
struct SquareMod<S, Imad> : imad::Product<S, 1> {};
template <class S>
struct PowMod<S, Imad> : imad::Power<S> {};
template <class S>
struct PowProductMod<S, Imad> : imad::Power<S, true> {};
template <class S>
struct PrepareOdd<S, Imad> : CopyOdd<S> {};
template <class S>
struct MulResidues<S, Imad> : imad::ResidueProduct<S, 2> {};
template <class S>
struct SquareResidues<S, Imad> : imad::ResidueProduct<S, 1> {};

}  // namespace gpuint
