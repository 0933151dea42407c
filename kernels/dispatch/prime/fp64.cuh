// Tests for probable primes by FP64 multipliers, a row to a thread.
#pragma once
#include "dispatch/operations.cuh"
#include "modular/fp64/field.cuh"
#include "prime/lucas.cuh"
#include "prime/strong.cuh"

namespace gpuint {

template <class S>
struct StrongBase2<S, Fp64> : prime::StrongTest<fp64::Field<S>> {};
template <class S>
struct StrongLucas<S, Fp64> : prime::LucasTest<fp64::Field<S>> {};

}  // namespace gpuint
