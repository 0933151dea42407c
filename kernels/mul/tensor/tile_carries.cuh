// Carries of columns in base 256, four to a lane and 128 to a tile (a limb of 32 bits each lane, a
// warp a tile), upwards.
//
// A lane combines its four columns into one limb and a carry, which it passes to the next lane. For
// a product of n digits that carry is below 2^9 n, so one of 2^23 / n limbs of uniform operands
// carries again. A vote over all tiles usually finds that no carries remain. Otherwise ballots and
// a lookahead find the remaining carries, one tile after another.
//
// If warps share a row, each resolves groups of tiles with no carry from below and stores its carry
// out. After a barrier it adds the incoming carry, which almost never goes beyond a group's lowest
// tile.
#pragma once
#include "core/digits.cuh"
#include "core/group.cuh"
#include "core/lookahead.cuh"
#include "core/math.cuh"

namespace gpuint {

constexpr u32 TILE_DIGITS = 128;
constexpr u32 TILE_LIMBS = TILE_DIGITS / 4;  // one a lane

// Maps lanes of a tile to limbs, and limbs to lanes.
struct LimbsInOrder {
  static constexpr bool IN_ORDER = true;
  GPUINT_DEVICE static u32 limb(u32 lane) { return lane; }
  GPUINT_DEVICE static u32 lane(u32 limb) { return limb; }
};

// Carry passed to the next tile: high limb and carry bit.
struct TileCarry {
  u32 above = 0, bit = 0;
};

// A limb of a tile, which generates a carry or not, plus the carry from below; `bit` is the carry
// into and out of the tile.
GPUINT_DEVICE u32 ripple(u32 limb, bool generate, u32 lane, u32& bit) {
  const u32 g = __ballot_sync(~0u, generate);
  const u32 p = __ballot_sync(~0u, limb == ~0u);
  const CarryLookahead carries(g, p, bit);
  bit = carries.out_of(32);
  return limb + carries.into(lane);
}

GPUINT_DEVICE u64 value_of_columns(const u32 (&sums)[4]) {
  return u64(sums[0]) + (u64(sums[1]) << 8) + (u64(sums[2]) << 16) + (u64(sums[3]) << 24);
}

// The limb of a lane's four columns, limbs in order.
GPUINT_DEVICE u32 resolve_tile(const u32 (&sums)[4], u32 lane, TileCarry& carry) {
  const u64 value = value_of_columns(sums);
  // Lane 0 gets the top lane's carry, which belongs to the next tile.
  const u32 rotated = __shfl_sync(~0u, static_cast<u32>(value >> 32), (lane + 31) % 32);
  const u32 from_below = lane == 0 ? carry.above : rotated;
  carry.above = rotated;
  const u32 limb = static_cast<u32>(value) + from_below;
  return ripple(limb, limb < from_below, lane, carry.bit);
}

// The limbs of NT tiles.
template <class Order, u32 NT>
GPUINT_DEVICE void resolve_tiles(const u32 (&sums)[NT][4], u32 lane, TileCarry& carry,
                                 u32 (&limbs)[NT]) {
  const u32 lane_below = Order::lane((Order::limb(lane) + 31) % 32);
  u32 above = carry.above;
  bool resolved = carry.bit == 0;
  GPUINT_UNROLL(16)
  for (u32 tile = 0; tile < NT; ++tile) {
    const u64 value = value_of_columns(sums[tile]);
    const u32 rotated = __shfl_sync(~0u, static_cast<u32>(value >> 32), lane_below);
    const u32 from_below = lane == 0 ? above : rotated;
    above = rotated;
    limbs[tile] = static_cast<u32>(value) + from_below;
    resolved = resolved && limbs[tile] >= from_below;
  }
  if (__all_sync(~0u, resolved)) {
    carry.above = above;
    return;
  }
  if (lane == 0) GPUINT_RARE(TileCarries);
  GPUINT_UNROLL(16)
  for (u32 tile = 0; tile < NT; ++tile) {
    if constexpr (Order::IN_ORDER) {
      limbs[tile] = resolve_tile(sums[tile], lane, carry);
    } else {
      u32 ordered[4];
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < 4; ++i) ordered[i] = __shfl_sync(~0u, sums[tile][i], Order::lane(lane));
      limbs[tile] = __shfl_sync(~0u, resolve_tile(ordered, lane, carry), Order::limb(lane));
    }
  }
}

// GROUPS groups of NT tiles that the WARPS warps of a block resolve together.
template <u32 WARPS, u32 GROUPS, u32 NT>
struct SharedTiles {
  using Sums = u32[NT][4];
  using G = Group<32 * WARPS>;

  // Carry passed to the next group of tiles, possibly of another warp.
  struct Handover {
    u32 carry;
    u32 lowest;  // limb
    u32 ones;    // 1 if all other limbs are all ones
  };
  static constexpr u32 HANDOVERS =
      round_up(GROUPS * sizeof(Handover) / 4, WORD);  // limbs of shared memory

  // The group of tiles of this warp in a round: up and down in turn, so that all warps have equal
  // work.
  GPUINT_DEVICE static u32 assigned(u32 round) {
    const u32 warp = threadIdx.x / 32;
    return round * WARPS + (round % 2 == 0 ? warp : WARPS - 1 - warp);
  }

  // Writes a row: add_up(i, sums) computes the columns of group i; place(i) is this lane's limb in
  // its lowest tile, or null if the group is not wanted. There is a barrier after the last add_up.
  // The carries may be overwritten after the next barrier.
  template <class AddUp, class Place>
  GPUINT_DEVICE static void resolve(const G& group, Handover* handovers, AddUp add_up,
                                    Place place) {
    constexpr u32 ROUNDS = ceil_div(GROUPS, WARPS);
    // If a warp has one group, its lowest tile stays in a register instead of being read again.
    u32 kept = 0;
    GPUINT_UNROLL(1)
    for (u32 round = 0; round < ROUNDS; ++round) {
      const u32 i = assigned(round);
      if (i >= GROUPS) continue;
      Sums sums;
      add_up(i, sums);
      u32* const to = place(i);
      TileCarry carry;
      u32 limbs[NT];
      resolve_tiles<LimbsInOrder>(sums, group.lane, carry, limbs);
      u32 lowest = 0;
      bool ones = true;
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < NT; ++tile) {
        const u32 limb = limbs[tile];
        if (ROUNDS == 1 && tile == 0)
          kept = limb;
        else if (to != nullptr)
          to[tile * TILE_LIMBS] = limb;
        if (tile == 0 && group.lane == 0)
          lowest = limb;
        else
          ones = ones && limb == ~0u;
      }
      ones = __all_sync(~0u, ones) != 0;
      if (group.lane == 0) handovers[i] = {carry.above + carry.bit, lowest, ones ? 1u : 0u};
    }
    group.sync();
    GPUINT_UNROLL(1)
    for (u32 round = 0; round < ROUNDS; ++round) {
      const u32 i = assigned(round);
      if ((ROUNDS > 1 && i == 0) || i >= GROUPS) continue;
      u32* const to = place(i);
      if (to == nullptr) continue;
      u32 add = 0;
      for (u32 below = 0; below < i; ++below) {
        const Handover h = handovers[below];
        add = h.carry + (h.lowest + add < add ? h.ones : 0);
      }
      if (group.lane != 0) add = 0;
      u32 bit = 0, tile = 0;
      do {  // nearly always once
        const u32 limb = (ROUNDS == 1 && tile == 0 ? kept : to[tile * TILE_LIMBS]) + add;
        to[tile * TILE_LIMBS] = ripple(limb, limb < add, group.lane, bit);
        add = 0;
      } while (bit != 0 && ++tile < NT);
    }
  }
};

}  // namespace gpuint
