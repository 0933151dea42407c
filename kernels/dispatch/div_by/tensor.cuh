// Divisions by prepared divisors, with products by tensor cores.
#pragma once
#include "dispatch/operations.cuh"
#include "div/by_length.cuh"
#include "div/by_prepared.cuh"
#include "mul/tensor/columns.cuh"

namespace gpuint {

template <class S>
struct DivRemBy<S, TensorCore> : Conditional<FIT_LANES<S, LANE_DIVISION_BY_BITS>,
                                             GroupDivRemBy<PreparedDivisionPolicy<S, TensorCore>>,
                                             DivisionByLength<S, true, TensorDivisionBy<S>>>::Type {
};

}  // namespace gpuint
