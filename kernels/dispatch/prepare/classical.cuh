// Preparation of divisors with classical products.
#pragma once
#include "dispatch/operations.cuh"
#include "div/prepare.cuh"
#include "mul/columns.cuh"

namespace gpuint {

template <class S>
struct Prepare<S, Classical> : GroupPrepare<PreparePolicy<S, Classical>> {};

}  // namespace gpuint
