// Modular arithmetic by Fourier transforms.
#pragma once
#include "dispatch/operations.cuh"
#include "modular/fft/kernels.cuh"

namespace gpuint {

template <class S>
struct MulMod<S, Fft> : fft_modular::ProductPhases<S, 2> {};
template <class S>
struct SquareMod<S, Fft> : fft_modular::ProductPhases<S, 1> {};
template <class S>
struct PowMod<S, Fft> : FftPowerMod<S> {};

}  // namespace gpuint
