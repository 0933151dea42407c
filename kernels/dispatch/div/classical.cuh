// Divisions with classical products; a few lanes divide a short row.
#pragma once
#include "dispatch/operations.cuh"
#include "div/div.cuh"
#include "div/shinv.cuh"
#include "mul/columns.cuh"

namespace gpuint {

template <class S>
struct DivRem<S, ShiftedInverse<Classical>>
    : GroupDivision<typename ShiftedInverse<Classical>::Kernel<S>> {};
template <class S>
struct DivRem<S, Blocked<Classical>>
    : Conditional<FIT_LANES<S, LANE_DIVISION_BITS>, LaneDivision<S>,
                  GroupDivision<typename Blocked<Classical>::Kernel<S>>>::Type {};
template <class S>
struct Shinv<S, Classical> : GroupInverse<InversePolicy<S, Classical>> {};

}  // namespace gpuint
