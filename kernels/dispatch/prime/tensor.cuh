// Tests for probable primes by tensor cores, one warp per row.
#pragma once
#include "dispatch/operations.cuh"
#include "prime/fused.cuh"

namespace gpuint {

template <class S>
struct StrongBase2<S, TensorCore> : prime::FusedStrongTest<S> {};
template <class S>
struct StrongLucas<S, TensorCore> : prime::FusedLucasTest<S> {};

}  // namespace gpuint
