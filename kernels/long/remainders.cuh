// Chinese remainders: columns of a product from their residues modulo three primes, and the limbs
// of each tile with carry zero into it.
//
// H. Garner's mixed digits (IRE Trans. Electronic Computers 8, 1959): a column is v0 + P0 (v1 + P1
// v2), with v0 the residue modulo P0, v1 = (r1 - v0) / P0 modulo P1 and v2 = ((r2 - v0) / P0 - v1)
// / P1 modulo P2. A column is below 2^91 (primes.cuh). A thread adds eight columns to a number of
// 256 bits and an excess below 2^60, which belongs to the next thread.
#pragma once
#include "core/abi.cuh"
#include "long/tile_kernel.cuh"
#include "long/transform.cuh"

namespace gpuint::long_rows {

// A number of 96 bits.
struct Column {
  u64 low;
  u32 high;

  GPUINT_DEVICE void add(Column other) {
    const u64 sum = low + other.low;
    high += other.high + (sum < low);
    low = sum;
  }

  // Returns the lowest limb and shifts it out.
  GPUINT_DEVICE u32 next_limb() {
    const u32 limb = static_cast<u32>(low);
    low = low >> 32 | u64{high} << 32;
    high = 0;
    return limb;
  }
};

template <class P>
GPUINT_DEVICE Column column_of(u32 r0, u32 r1, u32 r2) {
  using F0 = typename P::F0;
  using F1 = typename P::F1;
  using F2 = typename P::F2;
  constexpr Factor BY_P0 = F1::factor(F1::inverse(F0::P)),
                   ALSO_BY_P0 = F2::factor(F2::inverse(F0::P)),
                   BY_P1 = F2::factor(F2::inverse(F1::P));
  constexpr u64 P01 = u64{F0::P} * F1::P;
  const u32 v0 = F0::least(r0);
  // v0 < P0 < P1 < P2, so that each difference is below twice its prime.
  const u32 v1 = F1::least(F1::times(BY_P0, F1::least(r1) + (F1::P - v0)));
  const u32 d = F2::least(F2::times(ALSO_BY_P0, F2::least(r2) + (F2::P - v0)));
  const u32 v2 = F2::least(F2::times(BY_P1, d + (F2::P - v1)));
  const u64 below = u64{v1} * F0::P + v0;
  const u64 middle = u64{v2} * static_cast<u32>(P01), top = u64{v2} * static_cast<u32>(P01 >> 32);
  Column column{below, 0};
  column.add({middle, 0});
  column.add({top << 32, static_cast<u32>(top >> 32)});
  return column;
}

template <class P>
struct Remainders : TileKernel<CarryPolicy::REGISTERS> {
  using Arguments = Carrying;

  GPUINT_DEVICE static void run(const Carrying& o, unsigned char* shared) {
    const Tile tile(o);
    const u32* const own = o.residues + (u64{tile.row} << o.log_points) + tile.own();
    u32 r[PRIMES][LIMBS], limbs[LIMBS];
    GPUINT_UNROLL(3)
    for (u32 prime = 0; prime < PRIMES; ++prime) {
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < LIMBS; i += WORD)
        load_word(own + (u64{prime} * o.planes << o.log_points) + i, r[prime] + i);
    }
    Column sum{0, 0};
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < LIMBS; ++i) {
      sum.add(column_of<P>(r[0][i], r[1][i], r[2][i]));
      limbs[i] = sum.next_limb();
    }
    tile.resolve(o, limbs, sum.low, shared);
  }
};

}  // namespace gpuint::long_rows
