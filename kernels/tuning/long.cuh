// Policies of products of long rows (kernels/long). Measured on an H100, 2026-11-26.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

// A strided pass of `levels` levels: neighbouring columns that a block transforms, so that a
// segment of memory is 128 bytes, and threads that a multiprocessor holds, by 64 registers for
// transforms of 32 points and 40 for 16.
struct StridedPassPolicy {
  __host__ __device__ static constexpr u32 columns(u32 levels) { return levels == 10 ? 16 : 32; }
  __host__ __device__ static constexpr u32 resident_threads(u32 levels) {
    return levels < 9 ? 1536 : 1024;
  }
};

// The last pass with the point products.
struct ProductPassPolicy {
  static constexpr u32 THREADS = 256;
  __host__ __device__ static constexpr u32 blocks(u32 levels) { return levels < 9 ? 4 : 2; }
};

// Tiles of the passes over a row with carries.
struct CarryPolicy {
  static constexpr u32 THREADS = 256;
  static constexpr u32 LIMBS = 8;  // of a thread
  static constexpr u32 REGISTERS = 48;
  static constexpr u32 TILES_PER_BLOCK = 4;
};

// Reductions modulo special moduli: registers of a thread.
struct FoldPolicy {
  static constexpr u32 REGISTERS = 64;
};

// Passes over rows that are limited by memory.
struct MovePolicy {
  static constexpr u32 THREADS = 256;
  static constexpr u32 LIMBS = 8;  // of a thread, two at a time
};

}  // namespace gpuint
