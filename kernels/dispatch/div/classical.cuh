// Divisions with classical products; a few lanes divide a short row.
#pragma once
#include "dispatch/operations.cuh"
#include "div/div.cuh"
#include "div/shifted_inverse.cuh"
#include "mul/columns.cuh"

namespace gpuint {

template <class S>
struct DivRem<S, ByShiftedInverse<Classical>>
    : GroupDivision<typename ByShiftedInverse<Classical>::Kernel<S>> {};
template <class S>
struct DivRem<S, Blocked<Classical>>
    : Conditional<FIT_LANES<S, LANE_DIVISION_BITS>, LaneDivision<S>,
                  GroupDivision<typename Blocked<Classical>::Kernel<S>>>::Type {};
template <class S>
struct ShiftedInverse<S, Classical> : GroupInverse<InversePolicy<S, Classical>> {};
template <class S>
struct ShiftedInverse<S, Blocked<Classical>>
    : Conditional<FIT_LANES<S, LANE_DIVISION_BITS>, LaneInverse<S>,
                  GroupInverse<InversePolicy<S, Classical>>>::Type {};

}  // namespace gpuint
