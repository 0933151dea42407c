// Classical sums of products.
#pragma once
#include "dispatch/operations.cuh"
#include "mul/sum_of_products.cuh"

namespace gpuint {

template <class S>
struct SumOfProducts<S, Classical> : ClassicalSum<S, Extent::Low> {};
template <class S>
struct WideSumOfProducts<S, Classical> : ClassicalSum<S, Extent::Wide> {};

}  // namespace gpuint
