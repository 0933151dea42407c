// Arithmetic modulo prepared divisors by digits of 52 bits on the FP64 multipliers, a row to a
// thread: the kernels of modular/fp64.
#pragma once
#include "modular/fp64/mul_mod.cuh"
#include "modular/fp64/pow_mod.cuh"
#include "modular/fp64/prepare.cuh"
#include "modular/fp64/residues.cuh"

namespace gpuint {

// Selects the FP64 multipliers.
struct Fp64;

template <class S>
struct Prepare<S, Fp64> : fp64::Reciprocal<S> {};
template <class S>
struct MulMod<S, Fp64> : fp64::Product<S, 2> {};
template <class S>
struct SquareMod<S, Fp64> : fp64::Product<S, 1> {};
template <class S>
struct PrepareOdd<S, Fp64> : CopyOdd<S> {};
template <class S>
struct MulResidues<S, Fp64> : fp64::ResidueProduct<S, 2> {};
template <class S>
struct SquareResidues<S, Fp64> : fp64::ResidueProduct<S, 1> {};
template <class S>
struct PowMod<S, Fp64> : fp64::Power<S> {};
template <class S>
struct PowProductMod<S, Fp64> : fp64::Power<S, true> {};

}  // namespace gpuint
