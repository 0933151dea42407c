// Divisions with products by tensor cores.
#pragma once
#include "dispatch/operations.cuh"
#include "div/by_length.cuh"
#include "div/div.cuh"
#include "div/shinv.cuh"
#include "mul/tensor/columns.cuh"

namespace gpuint {

template <class S>
struct DivRem<S, ShiftedInverse<TensorCore>>
    : GroupDivision<typename ShiftedInverse<TensorCore>::Kernel<S>> {};
template <class S>
struct DivRem<S, Blocked<TensorCore>> : DivisionByLength<S, false, TensorDivision<S>> {};
template <class S>
struct Shinv<S, TensorCore> : GroupInverse<InversePolicy<S, TensorCore>> {};

}  // namespace gpuint
