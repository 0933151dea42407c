// Divisions by prepared divisors, by fused products.
#pragma once
#include "dispatch/operations.cuh"
#include "div/fused.cuh"

namespace gpuint {

template <class S>
struct DivRemBy<S, Blocked<Fused>> : FusedPhases<S, true>::Type {};

}  // namespace gpuint
