// Division and shifted inverses by the tensor cores: the kernels of div.cuh and shinv.cuh over the
// products of mul/tensor/columns.cuh.
//
// With the products of quotient and divisor by mma, what is left of the time are the passes between
// them: carries, barriers, the reciprocal's short steps, and the fetching of their instructions. So
// few threads take a row: one warp to each 2^15 bits. Measured best on an H200.
#pragma once
#include "core/math.cuh"
#include "core/shape.cuh"
#include "div/div.cuh"
#include "div/shinv.cuh"
#include "mul/tensor/columns.cuh"
#include "mul/tensor/product.cuh"

namespace gpuint {

// A block of one row: rows take unequal times, and would wait for those of their block. Where a
// multiprocessor's shared memory holds one row of a shifted inverse, that has twice the warps.
template <class S>
using TensorRows = Regrouped<S, min_of(32, ceil_div(S::N, 32)), 32>;
template <class S>
using InverseRows = Regrouped < S,
      S::N<8192 ? TensorRows<S>::K : 16, 32>;
using InverseProducts = TensorColumns<4, 32, 8>;

template <class S>
using TensorDivision = TensorColumns < 4,
      32, S::N<4096 ? 4 : 8>;

template <class S>
struct DivRem<S, Blocked<TensorCore>>
    : GroupDivision<typename Blocked<TensorDivision<S>>::template Kernel<S>> {};

template <class S>
struct DivRem<S, ShiftedInverse<TensorCore>>
    : GroupDivision<typename ShiftedInverse<InverseProducts>::template Kernel<InverseRows<S>>> {};

template <class S>
struct Shinv<S, TensorCore> : Shinv<InverseRows<S>, InverseProducts> {};

}  // namespace gpuint
