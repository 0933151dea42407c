// Modular arithmetic by FP64 multipliers, a row to a thread.
#pragma once
#include "dispatch/operations.cuh"
#include "modular/fp64/mul_mod.cuh"
#include "modular/fp64/pow_mod.cuh"
#include "modular/fp64/residues.cuh"

namespace gpuint {

template <class S>
struct MulMod<S, Fp64> : fp64::Product<S, 2> {};
template <class S>
struct SquareMod<S, Fp64> : fp64::Product<S, 1> {};
template <class S>
struct PowMod<S, Fp64> : fp64::Power<S> {};
template <class S>
struct PowProductMod<S, Fp64> : fp64::Power<S, true> {};
template <class S>
struct PrepareOdd<S, Fp64> : CopyOdd<S> {};
template <class S>
struct MulResidues<S, Fp64> : fp64::ResidueProduct<S, 2> {};
template <class S>
struct SquareResidues<S, Fp64> : fp64::ResidueProduct<S, 1> {};

}  // namespace gpuint
