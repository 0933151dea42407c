// Sums and differences of long rows: the limbs of each tile with carry zero into it; carries.cuh
// adds the carries. A difference is a + (2^BITS - 1 - b) + 1, whose carry out is the complement of
// the borrow.
#pragma once
#include "core/abi.cuh"
#include "core/occupancy.cuh"
#include "long/remainders.cuh"
#include "long/tiles.cuh"

namespace gpuint::long_rows {

// Work: limbs of all tiles.
struct Sums : GridKernel {
  using Arguments = Carrying;
  static constexpr u32 THREADS = CarryPolicy::THREADS, SHARED = sizeof(TileScratch);
  static constexpr u32 ROWS = TILE_LIMBS;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(CarryPolicy::REGISTERS, THREADS);

  GPUINT_DEVICE static void run(const Carrying& o, unsigned char* shared) {
    constexpr u32 LIMBS = CarryPolicy::LIMBS;
    const u32 row = blockIdx.x / o.tiles, tile = blockIdx.x - row * o.tiles;
    const u64 first = u64{tile} * TILE_LIMBS, mine = first + threadIdx.x * LIMBS;
    const u32* const a = o.in[0] + row * o.limbs;
    const u32* const b = o.in[1] + (o.broadcast != 0 ? 0 : row * o.limbs);
    const u32 flip = 0u - o.complement;
    u32 limbs[LIMBS], carry = 0;
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < LIMBS; i += 2) {
      uint2 x = make_uint2(~0u, ~0u), y = make_uint2(flip, flip);
      if (mine + i < o.limbs) {
        x = *reinterpret_cast<const uint2*>(a + mine + i);
        y = *reinterpret_cast<const uint2*>(b + mine + i);
      }
      limbs[i] = add_carry(x.x, y.x ^ flip, carry);
      limbs[i + 1] = add_carry(x.y, y.y ^ flip, carry);
    }
    resolve_tile(limbs, carry, first, RowOfParts(o.out, row), o.edges[blockIdx.x],
                 *reinterpret_cast<TileScratch*>(shared));
  }
};

}  // namespace gpuint::long_rows
