// Directions of a transform, and the order of its results.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

enum class Direction { Forward, Inverse };

// The lowest `bits` bits of i in reverse order.
__host__ __device__ constexpr u32 bit_reversed(u32 i, u32 bits) {
  u32 r = 0;
  for (u32 b = 0; b < bits; ++b) r = 2 * r + (i >> b & 1);
  return r;
}

}  // namespace gpuint
