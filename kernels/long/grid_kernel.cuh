// What launch bounds of kernels have in common whose grid the host computes from their work.
#pragma once
#include "core/platform.cuh"

namespace gpuint::long_rows {

// ROWS of a kernel is the part of a block: points of transforms, or limbs.
struct GridKernel {
  static constexpr u32 SCRATCH = 0, PERSISTENT = 0;
};

}  // namespace gpuint::long_rows
