// Division in blocks by the tensor cores: `Blocked` over the products of tensor_columns.cuh, for rows of 2^15 bits and more.
//
// With the products of quotient and divisor by mma, what is left of the time are the passes between them: carries, barriers, the
// reciprocal's short steps, and the fetching of their instructions. Measured best on an H200.
#pragma once
#include "div.cuh"
#include "tensor.cuh"
#include "tensor_columns.cuh"

namespace gpuint {

template <class S>
using TensorDivision = TensorColumns<4, 32, S::N < 4096 ? 4 : 8>;

template <class S>
struct DivRem<S, Blocked<TensorCore>> : GroupDivision<typename Blocked<TensorDivision<S>>::template Kernel<S>> {};

}  // namespace gpuint
