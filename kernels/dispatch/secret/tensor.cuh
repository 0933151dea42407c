// Powers of secrets by tensor cores.
#pragma once
#include "modular/tensor/pow_secret.cuh"

namespace gpuint {

template <class S>
struct PowSecret<S, TensorCore> : SecretPower<S> {};

}  // namespace gpuint
