// Divisions by fused products.
#pragma once
#include "dispatch/operations.cuh"
#include "div/fused.cuh"

namespace gpuint {

template <class S>
struct DivRem<S, Blocked<Fused>> : FusedPhases<S, false>::Type {};

}  // namespace gpuint
