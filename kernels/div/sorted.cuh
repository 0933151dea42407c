// Sorts rows by length, for work whose cost depends on the row when several rows share a warp.
//
// A block takes BATCH rows at a time, sorts them by a key that grows with their cost (a counting
// sort in shared memory) and deals them, longest first, to its idle warps. Rows that share a warp
// thus have about the same length, and no warp waits long for another. A batch of equal rows costs
// two barriers and a few dozen instructions per row.
#pragma once
#include "core/abi.cuh"
#include "core/group.cuh"
#include "core/math.cuh"

namespace gpuint {

// The sorted order of a batch, in shared memory. KEYS: keys are below it.
template <u32 THREADS, u32 BATCH, u32 KEYS>
struct SortedBatch {
  static_assert(BATCH < 65536, "an index in a batch takes 16 bits");
  static constexpr u32 BYTES = round_up(2 * BATCH * sizeof(u16) + (2 * KEYS + 1) * sizeof(u32), 16);

  u32* next;    // first row that no warp has taken
  u32* counts;  // rows of each key
  u32* starts;  // where the rows of each key go
  u16* keys;    // of each row, before and after the sort
  u16* order;   // the rows, longest first

  GPUINT_DEVICE explicit SortedBatch(unsigned char* bytes) {
    next = reinterpret_cast<u32*>(bytes);
    counts = next + 1;
    starts = counts + KEYS;
    keys = reinterpret_cast<u16*>(starts + KEYS);
    order = keys + BATCH;
  }

  // Called before the first key of a batch. Has a barrier.
  GPUINT_DEVICE void clear() {
    for (u32 i = threadIdx.x; i < KEYS; i += THREADS) counts[i] = 0;
    if (threadIdx.x == 0) *next = 0;
    __syncthreads();
  }

  // Sets the key of a row; called by one thread for each.
  GPUINT_DEVICE void set(u32 row, u32 key) {
    keys[row] = static_cast<u16>(key);
    atomicAdd(counts + key, 1u);
  }

  // Called after the last key by all threads of the block. Has barriers on both sides.
  GPUINT_DEVICE void sort(u32 count) {
    __syncthreads();
    for (u32 i = threadIdx.x; i < KEYS; i += THREADS) {
      u32 longer = 0;
      for (u32 j = i + 1; j < KEYS; ++j) longer += counts[j];
      starts[i] = longer;
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < count; i += THREADS)
      order[atomicAdd(starts + keys[i], 1u)] = static_cast<u16>(i);
    __syncthreads();
  }

  // Takes the next `rows` rows for the calling warp: returns the index of the first in `order`, or
  // `count` or more at the end.
  GPUINT_DEVICE u32 take(u32 rows) {
    u32 first = 0;
    if (threadIdx.x % 32 == 0) first = atomicAdd(next, rows);
    return __shfl_sync(~0u, first, 0);
  }

  // The same from the end of the order, of `count` rows, for numbers of rows that depend on their
  // keys: as many of the last ones as fit(key) allows for the largest key among them.
  struct Rows {
    u32 first;  // in the order
    u32 count;  // 0 at the end
  };
  template <class Fit>
  GPUINT_DEVICE Rows take_back(u32 count, Fit fit) {
    const u32 lane = threadIdx.x % 32;
    u32 taken = 0;
    if (lane == 0) taken = atomicAdd(next, 0u);
    while (true) {
      taken = __shfl_sync(~0u, taken, 0);
      const u32 left = count - taken;
      const bool fits = lane < left && lane < fit(keys[order[left - 1 - lane]]);
      const u32 rows = static_cast<u32>(__popc(__ballot_sync(~0u, fits)));
      u32 seen = taken;
      if (lane == 0 && rows > 0) seen = atomicCAS(next, taken, taken + rows);
      seen = __shfl_sync(~0u, seen, 0);
      if (seen == taken) return {left - rows, rows};
      taken = seen;
    }
  }
};

// Frame (core/frame.cuh) in sorted order, for groups within a warp: calls key(group, row) before
// work(group, row, arena).
template <class S, u32 ARENA, u32 BATCH, u32 KEYS>
struct SortedFrame {
  using G = Group<S::THREADS>;
  static_assert(G::IN_WARP, "a block of one instance has nothing to sort");
  static constexpr u32 THREADS = S::THREADS * S::ROWS;
  static constexpr u32 ROWS = BATCH;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 STRIDE = round_up(ARENA, 16);
  using Sorted = SortedBatch<THREADS, BATCH, KEYS>;
  static constexpr u32 SHARED = STRIDE * S::ROWS + Sorted::BYTES;
  static constexpr u32 SCRATCH = 0;

  template <class Key, class Work>
  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared, Key key, Work work) {
    G group(nullptr);
    unsigned char* const own = shared + G::index() * STRIDE;
    Sorted sorted(shared + STRIDE * S::ROWS);
    for (u64 first = u64(blockIdx.x) * BATCH; first < o.rows; first += u64(gridDim.x) * BATCH) {
      const u32 count = o.rows - first < BATCH ? static_cast<u32>(o.rows - first) : BATCH;
      sorted.clear();
      for (u32 i = G::index(); i < count; i += S::ROWS) {
        const u32 k = key(group, first + i);
        if (group.rank == 0) sorted.set(i, k);
      }
      sorted.sort(count);
      for (u32 slot; (slot = sorted.take(32 / S::THREADS)) < count;) {
        slot += group.lane / S::THREADS;
        if (slot < count) work(group, first + sorted.order[slot], own);
        __syncwarp();
      }
      __syncthreads();
    }
  }
};

}  // namespace gpuint
