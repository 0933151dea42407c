// Bit length of each row: 1 + the index of the highest bit that is set, 0 for zero.
#pragma once
#include "core/abi.cuh"
#include "core/frame.cuh"
#include "core/rows.cuh"

namespace gpuint {

template <class S>
struct BitLength : Frame<S, 0> {
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const u32 bits = group.max(bits_seen<S>(group, input_row<S>(o, 0, row)));
      if (group.rank == 0) static_cast<u32*>(o.out[0])[row] = bits;
    });
  }
};

}  // namespace gpuint
