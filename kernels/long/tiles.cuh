// Tiles of a long row and the carries between them.
//
// A row is computed tile by tile, each by a block, with carry zero into the tile. A tile then has
// an excess, below 2^60 + 2, that belongs to the tile above, and its edge says how it passes a
// carry on: with the excess of the tile below, at most a carry of 1 leaves a tile, and only if all
// limbs from the third on are ones. carries.cuh adds the excess.
#pragma once
#include "core/abi.cuh"
#include "core/limbs.cuh"
#include "core/lookahead.cuh"
#include "tuning/long.cuh"

namespace gpuint::long_rows {

constexpr u32 TILE_LIMBS = CarryPolicy::THREADS * CarryPolicy::LIMBS;

struct Edge {
  u64 excess;  // of the tile, to be added to the tile above
  u64 low;     // the lowest two limbs of the tile
  u32 ones;    // 1 if all other limbs are 2^32 - 1
  u32 padding;
};

// A row of limbs in two parts, which may be absent: limb i is limb i of the first part or limb i -
// limbs[0] of the second one. Limbs beyond are dropped. Parts have an even number of limbs.
struct Parts {
  u32* rows[2];  // null: dropped
  u64 limbs[2];  // of a row
};

// Addresses of the limbs of a row.
struct RowOfParts {
  u32 *low, *high;
  u64 split, end;  // limbs of the first part and of both
  bool by_words;

  GPUINT_DEVICE RowOfParts(const Parts& parts, u64 row)
      : low(parts.rows[0] == nullptr ? nullptr : parts.rows[0] + row * parts.limbs[0]),
        high(parts.rows[1] == nullptr ? nullptr : parts.rows[1] + row * parts.limbs[1]),
        split(parts.limbs[0]),
        end(parts.limbs[0] + parts.limbs[1]),
        by_words(split % WORD == 0 && low != nullptr) {}

  // Address of limb i; null if it is dropped.
  GPUINT_DEVICE u32* at(u64 i) const {
    if (i < split) return low == nullptr ? nullptr : low + i;
    return i >= end || high == nullptr ? nullptr : high + (i - split);
  }

  // Stores limbs i .. i + LIMBS; i is a multiple of LIMBS, and LIMBS of a word.
  template <u32 LIMBS>
  GPUINT_DEVICE void store(u64 i, const u32 (&limbs)[LIMBS]) const {
    if (by_words && i + LIMBS <= split) {
      GPUINT_UNROLL(LIMBS)
      for (u32 k = 0; k < LIMBS; k += WORD) store_word(low + i + k, limbs + k);
    } else {
      GPUINT_UNROLL(LIMBS)
      for (u32 k = 0; k < LIMBS; k += 2) {
        u32* const to = at(i + k);
        if (to != nullptr) *reinterpret_cast<uint2*>(to) = make_uint2(limbs[k], limbs[k + 1]);
      }
    }
  }
};

// Adds `excess` to a thread's limbs, which returns a carry of 0 or 1.
template <u32 LIMBS>
GPUINT_DEVICE u32 add_excess(u32 (&limbs)[LIMBS], u64 excess) {
  GPUINT_UNROLL(LIMBS)
  for (u32 i = 0; i < LIMBS; ++i) {
    excess += limbs[i];
    limbs[i] = static_cast<u32>(excess);
    excess >>= 32;
  }
  GPUINT_ASSERT(excess <= 1, "limbs of a thread and the excess of the thread below");
  return static_cast<u32>(excess);
}

// Shared memory of the resolution of a tile's carries.
struct TileScratch {
  u64 excess[CarryPolicy::THREADS + 1];
  u32 generates[CarryPolicy::THREADS / 32], propagates[CarryPolicy::THREADS / 32];
};

// Resolves the carries of a tile: a thread has `limbs` and an excess that belongs to the next
// thread. Stores the limbs and the edge. Limbs that do not exist are ones, which propagate.
GPUINT_DEVICE void resolve_tile(u32 (&limbs)[CarryPolicy::LIMBS], u64 excess, u64 first,
                                const RowOfParts& row, Edge& edge, TileScratch& scratch) {
  constexpr u32 LIMBS = CarryPolicy::LIMBS, THREADS = CarryPolicy::THREADS;
  scratch.excess[threadIdx.x + 1] = excess;
  if (threadIdx.x == 0) scratch.excess[0] = 0;
  __syncthreads();
  const u32 carry = add_excess(limbs, scratch.excess[threadIdx.x]);
  u32 all = ~0u;
  GPUINT_UNROLL(8)
  for (u32 i = 0; i < LIMBS; ++i) all &= limbs[i];
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u32 g = __ballot_sync(~0u, carry != 0), p = __ballot_sync(~0u, all == ~0u);
  if (lane == 0) {
    scratch.generates[warp] = CarryLookahead(g, p).out_of(32);
    scratch.propagates[warp] = p == ~0u;
  }
  __syncthreads();
  u32 into_warp = 0;
  for (u32 i = 0; i < warp; ++i)
    into_warp = scratch.generates[i] | (scratch.propagates[i] & into_warp);
  const CarryLookahead lanes(g, p, into_warp);
  u32 add = lanes.into(lane);
  const u32 out = lanes.out_of(32);
  all = ~0u;
  u32 upper = ~0u;
  GPUINT_UNROLL(8)
  for (u32 i = 0; i < LIMBS; ++i) {
    limbs[i] += add;
    add &= limbs[i] == 0;
    all &= limbs[i];
    if (i > 1) upper &= limbs[i];
  }
  row.store(first + threadIdx.x * LIMBS, limbs);
  const u32 ones = __syncthreads_and((threadIdx.x != 0 ? all : upper) == ~0u);
  if (threadIdx.x == 0) {
    edge.low = limbs[0] | u64{limbs[1]} << 32;
    edge.ones = ones != 0;
  }
  if (threadIdx.x == THREADS - 1) edge.excess = scratch.excess[THREADS] + out;
}

}  // namespace gpuint::long_rows
