// Divisions by prepared divisors, in blocks by Fourier transforms.
#pragma once
#include "dispatch/operations.cuh"
#include "div/fft/division.cuh"

namespace gpuint {

template <class S>
struct DivRemBy<S, Blocked<Fft>> : fft_division::PreparedPhases<S>::Type {};

}  // namespace gpuint
