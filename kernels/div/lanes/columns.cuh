// Products of a block of quotient in the registers of a team: a lane has K consecutive limbs of a
// number, and adds K columns of the product of a number in shared memory by 8 limbs to them.
//
// A lane multiplies a tile of columns at a time, from the top, so that sums overwrite limbs which
// no tile needs any more. The carry of a tile, two limbs, below 9 B together, is added to the tile
// above, or passed to the lane above. Carries beyond these are rare, and resolved by votes.
#pragma once
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/lookahead.cuh"
#include "core/ptx.cuh"
#include "div/lanes/layout.cuh"
#include "div/lanes/short_block.cuh"
#include "mul/columns.cuh"

namespace gpuint {

// Adds the carries between lanes to x, where `carry` is this lane's own; returns the carry out of
// the team. For all lanes of the warp.
template <u32 K>
GPUINT_DEVICE bool resolve_carries(const Team& team, u32 (&x)[K], bool carry) {
  u32 all = ~0u;
  GPUINT_UNROLL(K)
  for (u32 i = 0; i < K; ++i) all &= x[i];
  const u32 lanes = ~0u >> (32 - team.lanes);
  const u32 g = __ballot_sync(~0u, carry) >> team.base & lanes;
  const u32 p = __ballot_sync(~0u, !carry && all == ~0u) >> team.base & lanes;
  const CarryLookahead carries(g, p);
  ptx::add_cc(x[0], carries.into(team.rank));
  GPUINT_UNROLL(K)
  for (u32 i = 1; i < K; ++i) ptx::addc_cc(x[i], 0);
  return carries.out_of(team.lanes) != 0;
}

// Tiles of a lane: tile i begins at column i TILE, and the last one is shorter than two.
template <u32 K, u32 TILE>
constexpr u32 TILES = max_of(1, K / TILE);

// Adds the columns of tiles I and above, for add_columns. `shared`: the 8 limbs of V below it.
// `skips_lowest`: tile 0, of 8 columns, gets `low` alone.
template <u32 K, u32 TILE, u32 I>
GPUINT_DEVICE void add_tiles(u32 (&r)[K], const u32 (&low)[SHORT_BLOCK], const u32* v,
                             const u32 (&q)[9], u32 (&carry_out)[2], u32 (&beyond)[TILES<K, TILE>],
                             u32 (&shared)[SHORT_BLOCK], bool skips_lowest) {
  constexpr bool LAST = I + 1 == TILES<K, TILE>;
  constexpr u32 C = I * TILE, R = LAST ? K - C : TILE;
  u32 limbs[R + SHORT_BLOCK];
  if constexpr (LAST) {
    load_word(v + C + R, limbs + R);
    load_word(v + C + R + WORD, limbs + R + WORD);
  } else {
    u32 above[SHORT_BLOCK];
    add_tiles<K, TILE, I + 1>(r, low, v, q, carry_out, beyond, above, skips_lowest);
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < SHORT_BLOCK; ++i) limbs[R + i] = above[i];
  }
  if constexpr (I == 0 && TILE == SHORT_BLOCK && !LAST) {
    if (skips_lowest) {
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < SHORT_BLOCK; ++i) r[i] = low[i];
      beyond[1] = 0;
      return;
    }
  }
  GPUINT_UNROLL(R)
  for (u32 i = 0; i < R; i += WORD) load_word(v + C + i, limbs + i);
  GPUINT_UNROLL(8)
  for (u32 i = 0; i < SHORT_BLOCK; ++i) shared[i] = limbs[i];
  Tile<u32, R> tile;
  GPUINT_UNROLL(R)
  for (u32 i = 0; i < R; ++i)
    tile.even[i] = C + i < SHORT_BLOCK ? low[C + i] : r[C + i - SHORT_BLOCK];
  GPUINT_UNROLL(2)
  for (u32 row = 0; row < SHORT_BLOCK; row += WORD) {
    u32 a[WORD], window[R + WORD];
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < WORD; ++i) a[i] = q[row + i];
    GPUINT_UNROLL(R + WORD)
    for (u32 i = 0; i < R + WORD; ++i) window[i] = limbs[SHORT_BLOCK - WORD - row + i];
    tile.add_rows(a, window);
  }
  r[C] = tile.even[0];
  ptx::add_cc(tile.even[1], tile.odd[1]);
  GPUINT_UNROLL(R)
  for (u32 i = 2; i <= R; ++i) ptx::addc_cc(tile.even[i], tile.odd[i]);
  ptx::addc(tile.odd[R + 1], 0);
  GPUINT_UNROLL(R)
  for (u32 i = 1; i < R; ++i) r[C + i] = tile.even[i];
  if constexpr (LAST) {
    carry_out[0] = tile.even[R], carry_out[1] = tile.odd[R + 1];
  } else {
    ptx::add_cc(r[C + R], tile.even[R]);
    ptx::addc_cc(r[C + R + 1], tile.odd[R + 1]);
    beyond[I + 1] = 0;
    ptx::addc(beyond[I + 1], 0);
  }
}

// Shifts r up by 8 limbs, to `low` below, and adds the lane's columns of Q V. `v`: the limbs of V
// from 8 below the lane's own. `carry_out` is the carry to the lane above, and beyond[i] that of
// the addition to tile i > 0. `skips_lowest`: for all lanes of the warp, the 8 lowest of the lane's
// limbs of V and the 8 below are zero, and TILE is 8.
template <u32 K, u32 TILE>
GPUINT_DEVICE void add_columns(u32 (&r)[K], const u32 (&low)[SHORT_BLOCK], const u32* v,
                               const u32 (&q)[9], u32 (&carry_out)[2],
                               u32 (&beyond)[TILES<K, TILE>], bool skips_lowest = false) {
  u32 below[SHORT_BLOCK];
  add_tiles<K, TILE, 0>(r, low, v, q, carry_out, beyond, below, skips_lowest);
}

// Adds the carry of the lane below to r; returns true if this or any tile's addition carries.
template <u32 K, u32 TILES>
GPUINT_DEVICE bool add_carry_out(u32 (&r)[K], const u32 (&carry_out)[2], u32 (&beyond)[TILES]) {
  ptx::add_cc(r[0], carry_out[0]);
  ptx::addc_cc(r[1], carry_out[1]);
  beyond[0] = 0;
  ptx::addc(beyond[0], 0);
  u32 any = beyond[0];
  GPUINT_UNROLL(4)
  for (u32 i = 1; i < TILES; ++i) any |= beyond[i];
  return any != 0;
}

// Adds the carries of the lane's tiles to r; returns the carry out of the lane.
template <u32 TILE, u32 K>
GPUINT_DEVICE bool add_carries(u32 (&r)[K], const u32 (&beyond)[TILES<K, TILE>]) {
  u32 out = 0;
  GPUINT_UNROLL(4)
  for (u32 tile = 0; tile < TILES<K, TILE>; ++tile) {
    ptx::add_cc(r[tile * TILE + 2], beyond[tile]);
    GPUINT_UNROLL(K)
    for (u32 i = tile * TILE + 3; i < K; ++i) ptx::addc_cc(r[i], 0);
    ptx::addc(out, 0);
  }
  return out != 0;
}

}  // namespace gpuint
