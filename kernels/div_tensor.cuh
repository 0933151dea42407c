// Division in blocks by the tensor cores: `Blocked` over the products of tensor_columns.cuh, for rows of 2^15 bits and more.
//
// With the products of quotient and divisor by mma, what is left of the time are the passes between them: carries, barriers, the
// reciprocal's short steps. So one warp takes a whole row as long as a multiprocessor's shared memory holds enough rows, without any
// block barrier, and blocks are longer than with classical products; where rows are too large for that, several warps share
// one. Measured best on an H200.
#pragma once
#include "div.cuh"
#include "tensor.cuh"
#include "tensor_columns.cuh"

namespace gpuint {

template <u32 N>
struct TensorDivision {
  using Products = typename Either<(N < 2048), TensorColumns<2, 32, 4>,
                                   typename Either<(N < 4096), TensorColumns<4, 64, 4>,
                                                   TensorColumns<4, 32, 8>>::Type>::Type;
};

template <class S>
struct DivRem<S, Blocked<TensorCore>> : GroupDivision<typename Blocked<typename TensorDivision<S::N>::Products>::template Kernel<S>> {};

}  // namespace gpuint
