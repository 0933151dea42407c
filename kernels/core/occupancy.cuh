// Launch bounds from registers.
#pragma once
#include "core/math.cuh"

namespace gpuint {

// Blocks that fit a multiprocessor if each thread uses `registers` registers. As a launch bound it
// limits the compiler, which would otherwise use twice the registers to save a few instructions.
// Each of the four schedulers has a quarter of the 65536 registers for whole warps.
__host__ __device__ constexpr u32 blocks_with_registers(u32 registers, u32 threads) {
  const u32 warps = 4 * (65536 / 4 / (32 * registers));
  return max_of(1, warps / ceil_div(threads, 32));
}

// Threads and blocks that fit a multiprocessor: compute capabilities 8.0, 9.0 and 10.x; 8.6
// and 8.7; the others (CUDA C++ Programming Guide, compute capabilities).
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || \
    (__CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1100)
constexpr u32 RESIDENT_THREADS = 2048, RESIDENT_BLOCKS = 32;
#elif __CUDA_ARCH__ < 890
constexpr u32 RESIDENT_THREADS = 1536, RESIDENT_BLOCKS = 16;
#else
constexpr u32 RESIDENT_THREADS = 1536, RESIDENT_BLOCKS = 24;
#endif

// `blocks`, or as many as fit a multiprocessor: ptxas ignores bounds above.
__host__ __device__ constexpr u32 resident_blocks(u32 blocks, u32 threads) {
  return min_of(blocks, min_of(RESIDENT_BLOCKS, max_of(1, RESIDENT_THREADS / threads)));
}

}  // namespace gpuint
