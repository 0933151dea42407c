// Policies of sieves (kernels/sieve).
#pragma once
#include "core/platform.cuh"

namespace gpuint {

struct SievePolicy {
  static constexpr u32 THREADS = 256;
  // Bits of the table of a block, in shared memory: six blocks fit a multiprocessor of 228 KiB.
  static constexpr u32 SEGMENT_BITS = 1 << 18;
  // Primes below are struck by a warp each, at least 64 hits of a segment; others by a thread.
  static constexpr u32 WARP_LIMIT = 1 << 12;
  // Numbers of a window above a row.
  static constexpr u32 WINDOW_BITS = 512;
};

}  // namespace gpuint
