// Launch bounds from registers.
#pragma once
#include "core/math.cuh"
#include "core/target.cuh"

namespace gpuint {

// Threads, blocks and registers that fit a multiprocessor.
constexpr u32 RESIDENT_THREADS = 32 * ARCHITECTURE.warps, RESIDENT_BLOCKS = ARCHITECTURE.blocks;
constexpr u32 RESIDENT_REGISTERS = ARCHITECTURE.registers;

// Blocks that fit a multiprocessor if each thread uses `registers` registers. As a launch bound it
// limits the compiler, which would otherwise use twice the registers to save a few instructions.
// Each of the four schedulers has a quarter of the registers for whole warps.
__host__ __device__ constexpr u32 blocks_with_registers(u32 registers, u32 threads) {
  const u32 warps = 4 * (RESIDENT_REGISTERS / 4 / (32 * registers));
  return max_of(1, warps / ceil_div(threads, 32));
}

// `blocks`, or as many as fit a multiprocessor: ptxas ignores bounds above.
__host__ __device__ constexpr u32 resident_blocks(u32 blocks, u32 threads) {
  return min_of(blocks, min_of(RESIDENT_BLOCKS, max_of(1, RESIDENT_THREADS / threads)));
}

}  // namespace gpuint
