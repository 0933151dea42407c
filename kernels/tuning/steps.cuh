// Tuning parameters that are step functions of a size.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

// A parameter's value for sizes up to `most`.
struct Step {
  u32 most;
  u32 value;
};

constexpr u32 ANY = ~0u;

// The value of the first step that reaches `size`; steps ascend, and the last one is of ANY size.
template <u32 COUNT>
__host__ __device__ constexpr u32 by_size(u32 size, const Step (&steps)[COUNT]) {
  u32 i = 0;
  while (size > steps[i].most) ++i;
  return steps[i].value;
}

}  // namespace gpuint
