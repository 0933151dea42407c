// Preparation of divisors by FP64 multipliers.
#pragma once
#include "dispatch/operations.cuh"
#include "modular/fp64/prepare.cuh"

namespace gpuint {

template <class S>
struct Prepare<S, Fp64> : fp64::Reciprocal<S> {};

}  // namespace gpuint
