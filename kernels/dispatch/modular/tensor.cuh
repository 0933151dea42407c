// Modular arithmetic by tensor cores: one warp per row, in phases, or by groups of threads.
#pragma once
#include "dispatch/operations.cuh"
#include "modular/modular.cuh"
#include "modular/pow_mod.cuh"
#include "modular/tensor/kernels.cuh"
#include "modular/tensor/phases.cuh"
#include "modular/tensor/pow_product.cuh"
#include "modular/tensor/powers.cuh"
#include "mul/tensor/columns.cuh"

namespace gpuint {

// Of long rows: in phases, or by a group.
template <class S, u32 FACTORS>
using LongProductMod =
    typename Conditional<tensor_modular::is_phase_width(S::BITS),
                         tensor_modular::ProductPhases<S, FACTORS>,
                         ProductMod<ModularPolicy<S, TensorCore>, FACTORS>>::Type;
template <class S>
struct MulMod<S, TensorCore>
    : Conditional<is_fused_width(S::BITS), FusedProductMod<S, 2>, LongProductMod<S, 2>>::Type {};
template <class S>
struct SquareMod<S, TensorCore>
    : Conditional<is_fused_width(S::BITS), FusedProductMod<S, 1>, LongProductMod<S, 1>>::Type {};

template <class S, bool IS_PADDED>
struct ShortPower : FusedPowerMod<S> {};
template <class S>
struct ShortPower<S, true> : PaddedPower<S>::Phases {};
template <class S>
using LongPowerMod =
    typename Conditional<tensor_modular::is_phase_width(S::BITS), tensor_modular::PowerPhases<S>,
                         PowerMod<PowerPolicy<S, TensorCore>>>::Type;
template <class S>
struct PowMod<S, TensorCore>
    : Conditional<is_fused_width(S::BITS) || is_padded_width(S::BITS),
                  ShortPower<S, is_padded_width(S::BITS)>, LongPowerMod<S>>::Type {};
template <class S>
struct PowProductMod<S, TensorCore> : FusedPowerProduct<S> {};

template <class S>
struct PrepareOdd<S, TensorCore> : FusedPrepareOdd<S> {};
template <class S>
struct MulResidues<S, TensorCore> : FusedResidueProduct<S, 2> {};
template <class S>
struct SquareResidues<S, TensorCore> : FusedResidueProduct<S, 1> {};

}  // namespace gpuint
