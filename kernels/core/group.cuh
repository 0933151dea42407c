// A group: the threads that work on one instance. It is either a part of a warp (1 to 32 threads, a
// power of two; several groups share a warp, each on its own row, and may diverge) or a whole
// block.
//
// All collectives over a group are built from three functions: `sync`, `vote` within the warp, and,
// for a block, `gather`, which sends one word of every warp to every warp with one barrier.
#pragma once
#include "core/ptx.cuh"

namespace gpuint {

template <u32 THREADS_>
struct Group {
  static constexpr u32 THREADS = THREADS_;
  static constexpr bool IN_WARP = THREADS <= 32;
  static constexpr u32 WARPS = IN_WARP ? 1 : THREADS / 32;
  // A gather alternates between two buffers: when a thread reaches the gather after next, all
  // threads have read this one.
  static constexpr u32 SCRATCH_BYTES = IN_WARP ? 0 : 2 * 32 * sizeof(u32);

  u32 rank;  // of this thread in its group
  u32 lane;  // in its warp
  u32 mask;  // lanes of this warp that belong to the group
  u32* scratch;
  u32 phase = 0;

  GPUINT_DEVICE explicit Group(unsigned char* scratch_bytes)
      : scratch(reinterpret_cast<u32*>(scratch_bytes)) {
    const u32 thread = threadIdx.x;
    lane = thread % 32;
    rank = thread % THREADS;
    mask = THREADS >= 32 ? ~0u : ((1u << (THREADS % 32)) - 1) << (lane / THREADS * THREADS);
  }

  // Rematerializes the indices of the thread, after a call that leaves few registers.
  GPUINT_DEVICE void renew() {
    const u32 thread = ptx::thread();
    lane = thread % 32;
    rank = thread % THREADS;
  }

  // Index of this thread's group in its block.
  GPUINT_DEVICE static u32 index() { return threadIdx.x / THREADS; }

  // Orders the shared memory accesses of the group's threads.
  GPUINT_DEVICE void sync(GPUINT_SITE) const {
    if constexpr (IN_WARP)
      __syncwarp(mask);
    else
      __syncthreads(GPUINT_PASS_SITE);
  }

  // Bits of a predicate over the group's threads of this warp, lowest rank in bit 0.
  GPUINT_DEVICE u32 vote(bool predicate) const {
    const u32 bits = __ballot_sync(mask, predicate);
    if constexpr (THREADS < 32)
      return (bits >> (lane - rank)) & ((1u << THREADS) - 1);
    else
      return bits;
  }

  // Value of the thread one rank below; the first thread of a warp gets its own.
  GPUINT_DEVICE u32 from_below(u32 value) const {
    return __shfl_up_sync(mask, value, 1, THREADS < 32 ? THREADS : 32);
  }

  // Returns the word of warp i in lane i (uniform in each warp), 0 beyond the last warp. Has one
  // barrier.
  GPUINT_DEVICE u32 gather(u32 word) {
    static_assert(!IN_WARP, "a group within a warp has nothing to gather");
    u32* const words = scratch + phase * 32;
    phase ^= 1;
    if (lane == 0) words[threadIdx.x / 32] = word;
    __syncthreads();
    return lane < WARPS ? words[lane] : 0;
  }

  // Returns the sum over the group to all its threads.
  GPUINT_DEVICE u32 sum(u32 value) {
    GPUINT_UNROLL(5)
    for (u32 distance = 1; distance < (THREADS < 32 ? THREADS : 32); distance *= 2)
      value += __shfl_xor_sync(mask, value, distance, THREADS < 32 ? THREADS : 32);
    if constexpr (!IN_WARP) {
      value = gather(value);
      GPUINT_UNROLL(5)
      for (u32 distance = 1; distance < 32; distance *= 2)
        value += __shfl_xor_sync(mask, value, distance, 32);
    }
    return value;
  }

  // Returns the largest value of the group to all its threads.
  GPUINT_DEVICE u32 max(u32 value) {
    if constexpr (THREADS < 32) {
      // Groups of one warp may arrive here with different masks, which a reduction instruction does
      // not support.
      GPUINT_UNROLL(5)
      for (u32 distance = 1; distance < THREADS; distance *= 2) {
        const u32 other = __shfl_xor_sync(mask, value, distance, THREADS);
        value = value > other ? value : other;
      }
      return value;
    } else {
      const u32 in_warp = __reduce_max_sync(~0u, value);
      if constexpr (IN_WARP)
        return in_warp;
      else
        return __reduce_max_sync(~0u, gather(in_warp));
    }
  }
};

}  // namespace gpuint
