// Karatsuba's products of rows.
#pragma once
#include "dispatch/operations.cuh"
#include "mul/karatsuba.cuh"
#include "mul/mul.cuh"

namespace gpuint {

template <class S>
struct MulLo<S, Karatsuba> : RowProduct<S, Karatsuba, Extent::Low, 2> {};
template <class S>
struct MulWide<S, Karatsuba> : RowProduct<S, Karatsuba, Extent::Wide, 2> {};
template <class S>
struct SquareLo<S, Karatsuba> : RowProduct<S, Karatsuba, Extent::Low, 1> {};

}  // namespace gpuint
