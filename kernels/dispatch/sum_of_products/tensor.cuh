// Sums of products by tensor cores.
#pragma once
#include "dispatch/operations.cuh"
#include "mul/tensor/sum_of_products.cuh"

namespace gpuint {

template <class S>
struct SumOfProducts<S, TensorCore> : TensorSum<S, Extent::Low> {};
template <class S>
struct WideSumOfProducts<S, TensorCore> : TensorSum<S, Extent::Wide> {};

}  // namespace gpuint
