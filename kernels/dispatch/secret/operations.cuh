// Operations on secrets that several strategies compute, as in dispatch/operations.cuh.
#pragma once
#include "core/strategies.cuh"

namespace gpuint {

// in[0] = a, in[1] = e, in[2] = records of two integers, out[0] = a^e mod n for odd n. The length
// of all exponents in bits is params.exponent_bits, which is public; bits above it are zero.
template <class S, class M>
struct PowSecret;

}  // namespace gpuint
