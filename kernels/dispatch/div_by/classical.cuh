// Divisions by prepared divisors, with classical products; a few lanes divide a short row.
#pragma once
#include "dispatch/operations.cuh"
#include "div/by_prepared.cuh"
#include "div/lanes/division.cuh"
#include "mul/columns.cuh"

namespace gpuint {

template <class S>
struct DivRemBy<S, Classical>
    : Conditional<FIT_LANES<S, LANE_DIVISION_BY_BITS>,
                  LaneDivision<S, EveryRow<S, PreparedOperand<S>>>,
                  GroupDivRemBy<PreparedDivisionPolicy<S, Classical>>>::Type {};

}  // namespace gpuint
