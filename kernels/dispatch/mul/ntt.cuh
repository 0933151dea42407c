// Products of rows by number-theoretic transforms.
#pragma once
#include "dispatch/operations.cuh"
#include "transform/ntt/product.cuh"

namespace gpuint {

template <class S>
struct MulLo<S, Ntt> : NttProduct<S, Extent::Low, 2> {};
template <class S>
struct MulWide<S, Ntt> : NttProduct<S, Extent::Wide, 2> {};
template <class S>
struct SquareLo<S, Ntt> : NttProduct<S, Extent::Low, 1> {};

}  // namespace gpuint
