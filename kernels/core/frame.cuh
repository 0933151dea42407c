// The frame of a kernel: deals rows to groups.
#pragma once
#include "core/abi.cuh"
#include "core/group.cuh"
#include "core/math.cuh"

namespace gpuint {

// Runs work(group, row, arena) for every row of this thread's group, with ARENA bytes of shared
// memory. Rows are assigned to groups with a grid stride, so that any grid covers any number of
// rows.
template <class S, u32 ARENA>
struct Frame {
  using G = Group<S::THREADS>;
  // Of a row: 2^32 rows of 2^15 bits are 16 TiB, and a kernel of such rows has no spare registers.
  using Index = typename Conditional<(S::BITS >= 32768), u32, u64>::Type;
  static constexpr u32 THREADS = S::THREADS * S::ROWS;
  static constexpr u32 ROWS = S::ROWS;
  static constexpr u32 STRIDE = round_up(G::SCRATCH_BYTES + ARENA, 16);
  static constexpr u32 SHARED = STRIDE * ROWS;
  static constexpr u32 SCRATCH = 0;
  static constexpr u32 MIN_BLOCKS = 1;
  static constexpr u32 PERSISTENT = 0;

  template <class Work>
  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared, Work work) {
    unsigned char* const own = shared + G::index() * STRIDE;
    G group(own);
    const Index rows = static_cast<Index>(o.rows), stride = Index(gridDim.x) * ROWS;
    for (Index row = Index(blockIdx.x) * ROWS + G::index(); row < rows; row += stride) {
      work(group, row, own + G::SCRATCH_BYTES);
      group.sync();
    }
  }
};

}  // namespace gpuint
