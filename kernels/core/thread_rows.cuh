// Rows of one thread each, in its registers.
#pragma once
#include "core/abi.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"

namespace gpuint {

// Frame of a kernel of `REGISTERS` registers, with rows of 32-bit limbs.
template <class S, u32 BLOCK_THREADS, u32 REGISTERS>
struct ThreadRows {
  static constexpr u32 THREADS = BLOCK_THREADS, ROWS = BLOCK_THREADS;
  static constexpr u32 SHARED = 0, SCRATCH = 0, PERSISTENT = 0;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(REGISTERS, THREADS);
  static constexpr u32 LIMBS = ceil_div(S::BITS, 32);

  // Calls work(row) for the rows of the thread.
  template <class Work>
  GPUINT_DEVICE static void each(const Operands& o, Work work) {
    const u64 stride = u64(gridDim.x) * ROWS;
    for (u64 row = u64(blockIdx.x) * ROWS + threadIdx.x; row < o.rows; row += stride) work(row);
  }

  GPUINT_DEVICE static void read(const typename S::Limb* row, u32 (&x)[LIMBS]) {
    if constexpr (S::LIMB_BITS == 32) {
      read_limbs<S>(row, 0, x);
    } else {
      GPUINT_UNROLL(LIMBS)
      for (u32 k = 0; k < LIMBS; ++k) x[k] = limb_of_32<S>(row, k);
    }
  }

  GPUINT_DEVICE static void write(typename S::Limb* row, const u32 (&x)[LIMBS]) {
    if constexpr (S::LIMB_BITS == 32) {
      write_limbs<S>(row, 0, x);
    } else {
      GPUINT_UNROLL(LIMBS)
      for (u32 k = 0; k < LIMBS; ++k) write_limb_of_32<S>(row, k, x[k]);
    }
  }
};

}  // namespace gpuint
