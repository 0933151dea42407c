// Preparation of divisors by Fourier transforms.
#pragma once
#include "dispatch/operations.cuh"
#include "div/fft/prepare.cuh"

namespace gpuint {

template <class S>
struct Prepare<S, Fft> : fft_division::PreparePhases<S>::Type {};

}  // namespace gpuint
