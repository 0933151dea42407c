// Powers of secrets by FP64 multipliers.
#pragma once
#include "dispatch/secret/operations.cuh"
#include "modular/fp64/pow_secret.cuh"

namespace gpuint {

template <class S>
struct PowSecret<S, Fp64> : fp64::SecretPower<S> {};

}  // namespace gpuint
