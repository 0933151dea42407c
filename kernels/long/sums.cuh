// Sums and differences of long rows: the limbs of each tile with carry zero into it; carries.cuh
// adds the carries. A difference is a + (2^BITS - 1 - b) + 1, whose carry out is the complement of
// the borrow.
#pragma once
#include "core/abi.cuh"
#include "long/tile_kernel.cuh"
#include "long/tiles.cuh"

namespace gpuint::long_rows {

struct Sums : TileKernel<CarryPolicy::REGISTERS> {
  using Arguments = Carrying;

  GPUINT_DEVICE static void run(const Carrying& o, unsigned char* shared) {
    const Tile tile(o);
    const u64 own = tile.own();
    const u32* const a = o.in[0] + tile.row * o.limbs;
    const u32* const b = o.in[1] + (o.broadcast != 0 ? 0 : tile.row * o.limbs);
    const u32 flip = 0u - o.complement;
    u32 limbs[LIMBS], carry = 0;
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < LIMBS; i += 2) {
      uint2 x = make_uint2(~0u, ~0u), y = make_uint2(flip, flip);
      if (own + i < o.limbs) {
        x = *reinterpret_cast<const uint2*>(a + own + i);
        y = *reinterpret_cast<const uint2*>(b + own + i);
      }
      limbs[i] = add_carry(x.x, y.x ^ flip, carry);
      limbs[i + 1] = add_carry(x.y, y.y ^ flip, carry);
    }
    tile.resolve(o, limbs, carry, shared);
  }
};

}  // namespace gpuint::long_rows
