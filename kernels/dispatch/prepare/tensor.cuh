// Preparation of divisors by tensor cores.
#pragma once
#include "dispatch/operations.cuh"
#include "div/prepare.cuh"
#include "fused/prepare.cuh"
#include "mul/tensor/columns.cuh"

namespace gpuint {

template <class S>
struct Prepare<S, TensorCore> : Conditional<is_fused_width(S::BITS), FusedPrepare<S>,
                                            GroupPrepare<PreparePolicy<S, TensorCore>>>::Type {};

}  // namespace gpuint
