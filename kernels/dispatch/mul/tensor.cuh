// Products of rows by tensor cores.
#pragma once
#include "dispatch/operations.cuh"
#include "mul/tensor/product.cuh"

namespace gpuint {

template <class S>
struct MulLo<S, TensorCore> : LowTensorProduct<S, 2> {};
template <class S>
struct MulWide<S, TensorCore> : TensorProduct<S, Extent::Wide, 2> {};
template <class S>
struct SquareLo<S, TensorCore> : LowTensorProduct<S, 1> {};

}  // namespace gpuint
