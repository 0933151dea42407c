// Products of a block of quotient in the registers of a team: a lane has K consecutive limbs of a
// number, and adds K columns of the product of a number in shared memory by 8 limbs to them.
//
// A lane passes what its columns carry beyond K limbs to the lane above: two limbs, below 9 B
// together. Carries beyond these are settled by votes.
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
GPUINT_DEVICE bool settle(const Team& team, u32 (&x)[K], bool carry) {
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

// Columns C .. K of the lane. `x`, from `r`, 8 limbs below it, becomes their part of Q V. `spill`
// is the carry from the columns below, and then the carry to the lane above. `below`: the 8 limbs
// of the divisor below column C; `v`: the divisor from 8 limbs below the lane's own.
template <u32 K, u32 TILE, u32 C = 0>
GPUINT_DEVICE void add_columns(const u32 (&r)[K], const u32 (&low)[SHORT_BLOCK], const u32* v,
                               const u32 (&below)[SHORT_BLOCK], const u32 (&q)[9], u32 (&x)[K],
                               u32 (&spill)[2]) {
  constexpr u32 R = K - C < 2 * TILE ? K - C : TILE;
  Tile<u32, R> tile;
  GPUINT_UNROLL(R)
  for (u32 i = 0; i < R; ++i)
    tile.even[i] = C + i < SHORT_BLOCK ? low[C + i] : r[C + i - SHORT_BLOCK];
  // Below 2^36 together, so that what the tile leaves takes two limbs, too.
  tile.odd[0] = spill[0], tile.odd[1] = spill[1];
  u32 limbs[R + SHORT_BLOCK];
  GPUINT_UNROLL(8)
  for (u32 i = 0; i < SHORT_BLOCK; ++i) limbs[i] = below[i];
  GPUINT_UNROLL(R)
  for (u32 i = 0; i < R; i += WORD) load_word(v + SHORT_BLOCK + C + i, limbs + SHORT_BLOCK + i);
  GPUINT_UNROLL(2)
  for (u32 row = 0; row < SHORT_BLOCK; row += WORD) {
    u32 a[WORD], window[R + WORD];
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < WORD; ++i) a[i] = q[row + i];
    GPUINT_UNROLL(R + WORD)
    for (u32 i = 0; i < R + WORD; ++i) window[i] = limbs[SHORT_BLOCK - WORD - row + i];
    tile.add_rows(a, window);
  }
  ptx::add_cc(tile.even[0], tile.odd[0]);
  GPUINT_UNROLL(R)
  for (u32 i = 1; i <= R; ++i) ptx::addc_cc(tile.even[i], tile.odd[i]);
  ptx::addc(tile.odd[R + 1], 0);
  GPUINT_UNROLL(R)
  for (u32 i = 0; i < R; ++i) x[C + i] = tile.even[i];
  spill[0] = tile.even[R], spill[1] = tile.odd[R + 1];
  if constexpr (C + R < K) {
    u32 next[SHORT_BLOCK];
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < SHORT_BLOCK; ++i) next[i] = limbs[R + i];
    add_columns<K, TILE, C + R>(r, low, v, next, q, x, spill);
  }
}

}  // namespace gpuint
