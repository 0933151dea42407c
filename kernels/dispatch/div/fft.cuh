// Divisions by Fourier transforms.
#pragma once
#include "dispatch/operations.cuh"
#include "div/fft/division.cuh"

namespace gpuint {

template <class S>
struct DivRem<S, Blocked<Fft>> : fft_division::Phases<S>::Type {};

}  // namespace gpuint
