// Products of rows by Fourier transforms.
#pragma once
#include "dispatch/operations.cuh"
#include "transform/fft/product.cuh"

namespace gpuint {

template <class S>
struct MulLo<S, Fft> : FftProduct<S, Extent::Low, 2> {};
template <class S>
struct MulWide<S, Fft> : FftProduct<S, Extent::Wide, 2> {};
template <class S>
struct SquareLo<S, Fft> : FftProduct<S, Extent::Low, 1> {};

}  // namespace gpuint
