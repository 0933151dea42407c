// CheckEqual: rows of two results that differ fail.
#pragma once
#include "core/abi.cuh"
#include "core/math.cuh"
#include "tuning/verify.cuh"

namespace gpuint {

// in[0], in[1]: rows of params.source_bits bits, whole bytes. The rows are compared as one sequence
// of chunks, since a row may be a single byte; only chunks that differ are looked at again.
template <class S>
struct CheckEqual {
  static constexpr u32 THREADS = EqualPolicy::THREADS;
  static constexpr u32 ROWS = max_of(1, EqualPolicy::BLOCK_BYTES * 8 / S::BITS);
  static constexpr u32 SHARED = 0;
  static constexpr u32 SCRATCH = 0;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 MIN_BLOCKS = 1;
  static constexpr u32 CHUNK = 16;  // bytes

  static __device__ void run(const Operands& o, unsigned char*) {
    const u32 row_bytes = o.params.source_bits / 8;
    const u64 bytes = o.rows * row_bytes, stride = u64(gridDim.x) * THREADS * CHUNK;
    const auto* const a = static_cast<const unsigned char*>(o.in[0]);
    const auto* const b = static_cast<const unsigned char*>(o.in[1]);
    for (u64 at = (u64(blockIdx.x) * THREADS + threadIdx.x) * CHUNK; at < bytes; at += stride) {
      if (at + CHUNK <= bytes) {
        const uint4 x = __ldg(reinterpret_cast<const uint4*>(a + at));
        const uint4 y = __ldg(reinterpret_cast<const uint4*>(b + at));
        if (((x.x ^ y.x) | (x.y ^ y.y) | (x.z ^ y.z) | (x.w ^ y.w)) == 0) continue;
      }
      for (u64 i = at; i < bytes && i < at + CHUNK; ++i)
        if (a[i] != b[i]) {
          set_status(o.status, i / row_bytes);
          break;
        }
    }
  }
};

}  // namespace gpuint
