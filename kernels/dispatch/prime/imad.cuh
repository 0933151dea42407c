// Tests for probable primes by integer multipliers, a row to a thread.
#pragma once
#include "dispatch/operations.cuh"
#include "modular/imad/field.cuh"
#include "prime/lucas.cuh"
#include "prime/strong.cuh"

namespace gpuint {

template <class S>
struct StrongBase2<S, Imad> : prime::StrongTest<imad::Field<S>> {};
template <class S>
struct StrongLucas<S, Imad> : prime::LucasTest<imad::Field<S>> {};

}  // namespace gpuint
