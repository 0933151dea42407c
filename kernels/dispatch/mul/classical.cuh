// Classical products of rows.
#pragma once
#include "dispatch/operations.cuh"
#include "mul/mul.cuh"

namespace gpuint {

template <class S>
struct MulLo<S, Classical> : ClassicalProduct<S, Extent::Low, 2>::Type {};
template <class S>
struct MulWide<S, Classical> : ClassicalProduct<S, Extent::Wide, 2>::Type {};
template <class S>
struct SquareLo<S, Classical> : ClassicalProduct<S, Extent::Low, 1>::Type {};

}  // namespace gpuint
