// Divisions with products by tensor cores.
#pragma once
#include "dispatch/operations.cuh"
#include "div/by_length.cuh"
#include "div/div.cuh"
#include "div/shifted_inverse.cuh"
#include "mul/tensor/columns.cuh"

namespace gpuint {

template <class S>
struct DivRem<S, ByShiftedInverse<TensorCore>>
    : GroupDivision<typename ByShiftedInverse<TensorCore>::Kernel<S>> {};
template <class S>
struct DivRem<S, Blocked<TensorCore>> : DivisionByLength<S, false, TensorDivision<S>> {};
template <class S>
struct ShiftedInverse<S, TensorCore> : GroupInverse<InversePolicy<S, TensorCore>> {};

}  // namespace gpuint
