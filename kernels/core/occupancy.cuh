// Launch bounds from registers.
#pragma once
#include "core/math.cuh"

namespace gpuint {

// Blocks that fit a multiprocessor if each thread uses `registers` registers: the bound given to
// the compiler, which would otherwise take twice the registers to save a few instructions. Each of
// the four schedulers has a quarter of the 65536 registers for whole warps.
__host__ __device__ constexpr u32 blocks_with_registers(u32 registers, u32 threads) {
  const u32 warps = 4 * (65536 / 4 / (32 * registers));
  return max_of(1, warps / ceil_div(threads, 32));
}

}  // namespace gpuint
