// The frame of a kernel whose rows have less than a warp each, and whose collectives are votes.
//
// Groups of less than a warp vote under masks of their own, which the hardware executes once for
// each group: 32 times for rows of one thread. Groups that proceed together vote once for a warp.
#pragma once
#include "core/frame.cuh"

namespace gpuint {

template <class S>
struct JointFrame : Frame<S, 0> {
  using G = Group<S::THREADS>;

  // Runs work(group, row, is_row) for every row; the groups of a warp proceed together. A group
  // beyond the last row gets that row, and is_row is false: it must not store.
  template <class Work>
  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared, Work work) {
    if constexpr (S::THREADS >= 32) {
      Frame<S, 0>::run(o, shared,
                       [&](G& group, u64 row, unsigned char*) { work(group, row, true); });
    } else {
      static_assert(Frame<S, 0>::THREADS % 32 == 0, "a block has whole warps");
      constexpr u32 ROWS = S::ROWS;
      G group(nullptr);
      group.mask = ~0u;
      for (u64 first = u64(blockIdx.x) * ROWS; first < o.rows; first += u64(gridDim.x) * ROWS) {
        const u64 row = first + G::index();
        const bool is_row = row < o.rows;
        work(group, is_row ? row : o.rows - 1, is_row);
      }
    }
  }
};

}  // namespace gpuint
