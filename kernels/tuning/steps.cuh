// Tuning parameters that are step functions of a size, or measured by compute capability.
#pragma once
#include "core/target.cuh"

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

// A parameter's value as measured for code of a compute capability (90 is 9.0).
struct Measured {
  u32 capability;
  u32 value;
};

// The value of the newest measurement that is not newer than `capability`; measurements ascend, and
// the first one is of the first architecture.
template <u32 COUNT>
__host__ __device__ constexpr u32 by_capability(u32 capability, const Measured (&values)[COUNT]) {
  u32 i = COUNT - 1;
  while (i > 0 && values[i].capability > capability) --i;
  return values[i].value;
}

}  // namespace gpuint
