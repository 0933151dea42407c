// Policies of square roots.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

// Square roots by a few lanes (root/isqrt.cuh): limbs of the root of a lane, columns multiplied at a
// time, registers of a thread, threads of a block.
struct RootPolicy {
  static constexpr u32 MOST_LIMBS_PER_LANE = 36;
  static constexpr u32 TILE = 12;
  static constexpr u32 REGISTERS = 128;
  static constexpr u32 THREADS = 128;
};

}  // namespace gpuint
