// Divisions by prepared divisors, by Barrett's reduction with Fourier transforms.
#pragma once
#include "dispatch/operations.cuh"
#include "modular/fft/kernels.cuh"

namespace gpuint {

template <class S>
struct DivRemBy<S, Fft> : FftDivRemBy<S> {};

}  // namespace gpuint
