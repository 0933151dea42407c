// The last pass over a row with carries: adds to each tile the excess of the tile below and the
// carry.
//
// A warp has a tile. With the excess of the tile below added to its lowest two limbs, a tile
// generates a carry, passes one on, or stops it; one that passes a carry on has only ones. The
// nearest tile below that does not pass a carry on decides, so a warp looks back, 32 tiles a step;
// one step is enough unless 32 tiles have only ones (D. Merrill and M. Garland, "Single-pass
// parallel prefix scan with decoupled look-back", 2016, without waiting: all edges are known).
//
// A cyclic row continues at its top below its bottom, so that the result is modulo 2^(32 limbs)
// - 1. If all tiles pass a carry on, there is none: the result is 2^(32 limbs) - 1, and zero only
// comes from columns of zero.
#pragma once
#include "core/abi.cuh"
#include "long/grid_kernel.cuh"
#include "long/tile_kernel.cuh"
#include "long/tiles.cuh"

namespace gpuint::long_rows {

// Work: limbs of all tiles.
struct Carries : GridKernel {
  using Arguments = Carrying;
  static constexpr u32 THREADS = 32 * CarryPolicy::TILES_PER_BLOCK, SHARED = 0, MIN_BLOCKS = 1;
  static constexpr u32 ROWS = CarryPolicy::TILES_PER_BLOCK * TILE_LIMBS;

  GPUINT_DEVICE static void run(const Carrying& o, unsigned char*) {
    const u64 index = u64{blockIdx.x} * CarryPolicy::TILES_PER_BLOCK + threadIdx.x / 32;
    if (index >= u64{o.rows} * o.tiles) return;
    const u32 row = static_cast<u32>(index / o.tiles), lane = threadIdx.x % 32;
    const u32 tile = static_cast<u32>(index - u64{row} * o.tiles);
    const Edge* const edges = o.edges + u64{row} * o.tiles;
    const u32 carry = carry_into(o, edges, tile, lane);
    const u64 excess = excess_below(o, edges, tile);
    const RowOfParts limbs(o.out, row);
    const u64 first = u64{tile} * TILE_LIMBS;
    const Edge& own = edges[tile];
    u64 low = own.low + excess;
    u32 ripple = low < excess;
    low += carry;
    ripple |= low < carry;
    if (lane == 0 && o.mask != nullptr && tile + 1 == o.tiles) {
      const u32 out = own.excess != 0 || (ripple != 0 && own.ones != 0);
      if (out != o.complement) set_mask(o.mask, o.first_row + row);
    }
    // Unchanged limbs are not stored again.
    if (low == own.low && ripple == 0) return;
    if (lane == 0) {
      u32* const to = limbs.at(first);
      if (to != nullptr)
        *reinterpret_cast<uint2*>(to) =
            make_uint2(static_cast<u32>(low), static_cast<u32>(low >> 32));
    }
    const u32 count = static_cast<u32>(o.limbs - first < TILE_LIMBS ? o.limbs - first : TILE_LIMBS);
    for (u32 i = 2; ripple != 0 && i < count; i += 32) {
      u32* const at = i + lane < count ? limbs.at(first + i + lane) : nullptr;
      const u32 limb = at != nullptr ? *at : 0;
      const u32 stops = ~__ballot_sync(~0u, limb == ~0u);
      const u32 last = stops != 0 ? static_cast<u32>(__ffs(static_cast<int>(stops))) - 1 : 32;
      if (lane <= last && at != nullptr) *at = limb + 1;
      ripple = stops == 0;
      if (ripple != 0 && lane == 0) GPUINT_RARE(LongCarryThroughWarp);
    }
  }

 private:
  GPUINT_DEVICE static u64 excess_below(const Carrying& o, const Edge* edges, u32 tile) {
    if (tile > 0) return edges[tile - 1].excess;
    return o.is_cyclic != 0 ? edges[o.tiles - 1].excess : o.carry_in;
  }

  // Carry into a tile, besides the excess of the tile below.
  GPUINT_DEVICE static u32 carry_into(const Carrying& o, const Edge* edges, u32 tile, u32 lane) {
    const u32 most = o.is_cyclic != 0 ? o.tiles : tile;
    for (u32 back = 1; back <= most; back += 32) {
      const u32 distance = back + lane;
      bool generates = false, propagates = false;
      if (distance <= most) {
        const u32 at = distance <= tile ? tile - distance : tile + o.tiles - distance;
        const Edge& edge = edges[at];
        const u64 sum = edge.low + excess_below(o, edges, at);
        generates = edge.ones != 0 && sum < edge.low;
        propagates = edge.ones != 0 && sum == ~0ull;
      }
      const u32 g = __ballot_sync(~0u, generates), stops = ~__ballot_sync(~0u, propagates);
      if (stops != 0) return g >> (__ffs(static_cast<int>(stops)) - 1) & 1;
      if (lane == 0) GPUINT_RARE(LongCarryLooksBack);
    }
    return 0;
  }
};

}  // namespace gpuint::long_rows
