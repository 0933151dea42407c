// Powers of secrets by tensor cores.
#pragma once
#include "dispatch/secret/operations.cuh"
#include "modular/tensor/pow_secret.cuh"

namespace gpuint {

template <class S>
struct PowSecret<S, TensorCore> : SecretPower<S> {};

}  // namespace gpuint
