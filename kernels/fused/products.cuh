// Column sums of the products inside a modular multiplication, by the tensor cores: a warp holds
// one number of TILES tiles in registers, a limb of each tile to a lane, and multiplies it by
// numbers in shared memory.
//
// Tiles, rows and columns of an mma are those of toeplitz.cuh:
//     c[k] = sum over s of A[row][s] B[s][col],   k = 128 tile + row + col - base,
//     A[row][s] = a[128 tile + row - base - s],   B[s][col] = b[s + col],   s >= -13,
// where block m has s = 128 m - 13 + 0 .. 128. With base 0 the tiles hold the limbs 0, 1, ... With
// base 4 they begin one limb lower: lane l of tile i holds limb 32 i + l - 1, so that the sums of
// the high tiles begin at the guard limb LIMBS - 1 and end below limb 2 LIMBS - 1. The columns of
// that top limb are six byte products of the factors' top limbs (`top_columns`).
//
// A number whose tiles have base 4 stands turned: limb k in lane (k + 1) % 32 of tile (k + 1) / 32,
// and the top limb in lane 0 of tile 0, where limb -1 would be. Turned numbers are multiplied and
// subtracted like others; only shared and global memory have all limbs in order.
//
// Three numbers stand in shared memory in the form of A: the factor of the wide product, one for
// high and one for low products. The number in registers is put there in the form of B. A vector of
// rows is aligned if the number of limbs below it is even, so numbers for base 4 stand a limb
// higher.
//
// Exactness: a sum has at most 2 n products of at most 255^2 for n = 4 LIMBS, below 2^32 up to n =
// 2^15. Dropping the columns below the guard limb loses less than 255 n of its units:
//     sum over k < 4 (LIMBS - 1) of n 255^2 256^k  <  255 n 256^(4 (LIMBS - 1)).
#pragma once
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/lookahead.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"
#include "core/unroll.cuh"
#include "mul/tensor/tile_carries.cuh"

namespace gpuint {

// Order of the limbs of a number in registers.
enum class Order { Plain, Turned };

// Shared memory of a warp, in limbs, for numbers of at most TILES tiles, and of LOW_TILES tiles in
// the place for low products.
template <u32 TILES, u32 LOW_TILES = TILES>
struct FusedForms {
  static constexpr u32 LIMBS = TILES * TILE_LIMBS;
  // Each limb with the two bytes below it, and the limb itself; zeros below, and above where high
  // tiles read.
  static constexpr u32 BELOW_A = 2 * TILE_LIMBS;
  static constexpr u32 LOW_A = BELOW_A + 2 * LOW_TILES * TILE_LIMBS;
  static constexpr u32 ABOVE_A = 2 * (TILE_LIMBS + 2);
  static constexpr u32 HIGH_A = BELOW_A + 2 * LIMBS + ABOVE_A;
  // Bytes reversed, first of the number one byte higher, then of the number itself. The forms begin
  // half of the banks apart.
  static constexpr u32 BELOW_B = 4, ABOVE_B = 12;
  static constexpr u32 B_FORM = round_up(BELOW_B + LIMBS + ABOVE_B - 16, 32) + 16;
  static constexpr u32 TOTAL = round_up(2 * HIGH_A + LOW_A + 2 * B_FORM, WORD);
};

// A warp's products. SHARED_WIDE: the halves of a wide product read rows and columns together.
// KEPT: rows of a modulus stay in registers.
template <u32 TILES, bool SHARED_WIDE_, bool KEPT, class Forms_ = FusedForms<TILES>>
struct FusedProducts {
  static constexpr bool SHARED_WIDE = SHARED_WIDE_, IS_KEPT = KEPT;
  // True if no instruction depends on values (modular/tensor/regular.cuh).
  static constexpr bool IS_REGULAR = false;
  static constexpr u32 UNROLL = KEPT || TILES <= 4 ? 4 : TILES <= 8 ? 2 : 1;
  using Forms = Forms_;
  static constexpr u32 LIMBS = TILES * TILE_LIMBS;
  static constexpr u32 STEPS = TILE_DIGITS / 32;
  using Sums = u32[TILES][4];
  using Limbs = u32[TILES];

  u32* arena;
  u32 lane;

  GPUINT_DEVICE FusedProducts(u32* arena_, u32 lane_) : arena(arena_), lane(lane_) {}

  // Zeros around all forms, once.
  GPUINT_DEVICE void clear() const {
    for (u32 i = lane; i < Forms::TOTAL; i += 32) arena[i] = 0;
    sync();
  }
  GPUINT_DEVICE void sync() const { __syncwarp(); }

  // Zeros above numbers for high tiles where longer ones may have stood.
  GPUINT_DEVICE void clear_above() const {
    GPUINT_UNROLL(4)
    for (u32 i = lane; i < Forms::ABOVE_A - 2; i += 32)
      factor<Order::Turned>()[2 * LIMBS + i] = for_high()[2 * LIMBS + i] = 0;
    if (lane < Forms::ABOVE_B)
      columns()[LIMBS + lane] = columns()[Forms::B_FORM + LIMBS + lane] = 0;
    sync();
  }

  // Limb 0 of the A-forms: of the wide product's factor, and of those of high and low products.
  template <Order O>
  GPUINT_DEVICE u32* factor() const {
    return arena + Forms::BELOW_A + (O == Order::Turned ? 2 : 0);
  }
  // Zeros around the factor of this order where one of the other order may have stood.
  template <Order O>
  GPUINT_DEVICE void begin_factors() const {
    if (O == Order::Turned && lane < 2) arena[Forms::BELOW_A + lane] = 0;
    if (O == Order::Plain && lane < 4) arena[Forms::BELOW_A + 2 * LIMBS + lane] = 0;
  }
  GPUINT_DEVICE u32* for_high() const { return arena + Forms::HIGH_A + Forms::BELOW_A + 2; }
  GPUINT_DEVICE u32* for_low() const { return arena + 2 * Forms::HIGH_A + Forms::BELOW_A; }
  GPUINT_DEVICE u32* columns() const {
    return arena + 2 * Forms::HIGH_A + Forms::LOW_A + Forms::BELOW_B;
  }

  // Index of this lane's limb of a tile.
  template <Order O>
  GPUINT_DEVICE u32 index(u32 tile) const {
    if constexpr (O == Order::Plain) return tile * TILE_LIMBS + lane;
    return tile == 0 && lane == 0 ? LIMBS - 1 : tile * TILE_LIMBS + lane - 1;
  }
  // Broadcasts the top limb of a tile.
  GPUINT_DEVICE u32 top_of_tile(u32 limb) const { return __shfl_sync(~0u, limb, 31); }

  // Reads a row of COUNT limbs in global memory moved up by whole limbs.
  template <u32 COUNT = LIMBS>
  GPUINT_DEVICE void read(const u32* row, u32 limbs, Limbs& x) const {
    repeat<0, TILES>([&](u32 tile) {
      const u32 k = tile * TILE_LIMBS + lane - limbs;  // negative places wrap
      x[tile] = k < COUNT ? __ldg(row + k) : 0;
    });
  }

  // Shifts a row that was read moved up by `shift` / 32 limbs, so that it is multiplied by 2^shift;
  // returns true if bits were lost.
  GPUINT_DEVICE bool normalize(const u32* row, u32 shift, Limbs& x) const {
    if (shift == 0) return false;
    u32 lost = lane == 31 ? __funnelshift_l(x[TILES - 1], 0, shift % 32) : 0;
    for (u32 k = LIMBS - shift / 32 + lane; k < LIMBS; k += 32) lost |= __ldg(row + k);
    shift_up(x, 0, shift % 32);
    return __any_sync(~0u, lost != 0) != 0;
  }

  // Shifts a number by less than a limb, `beneath` standing below limb 0; returns, in lane 0, its
  // top limb.
  GPUINT_DEVICE u32 shift_up(Limbs& x, u32 beneath, u32 bits) const {
    repeat<0, TILES>([&](u32 tile) {
      const u32 turned = __shfl_sync(~0u, x[tile], (lane + 31) % 32);
      x[tile] = __funnelshift_l(lane == 0 ? beneath : turned, x[tile], bits);
      beneath = turned;
    });
    return beneath;
  }

  // Calls f(tile, k, limb, below) for this lane's limbs: limb k and the one below it, where
  // `beneath` stands below limb 0.
  template <Order O, class F>
  GPUINT_DEVICE void each_limb(const Limbs& x, u32 beneath, F f) const {
    u32 carried = O == Order::Plain ? beneath : top_of_tile(x[TILES - 1]);
    repeat<0, TILES>([&](u32 tile) {
      const u32 turned = __shfl_sync(~0u, x[tile], (lane + 31) % 32);
      u32 below = lane == 0 ? carried : turned;
      if (O == Order::Turned && tile == 0 && lane == 1) below = beneath;
      carried = turned;
      f(tile, index<O>(tile), x[tile], below);
    });
  }
  template <Order O>
  GPUINT_DEVICE bool is_top(u32 tile) const {
    return O == Order::Plain ? tile == TILES - 1 && lane == 31 : tile == 0 && lane == 0;
  }

  template <Order O>
  GPUINT_DEVICE void put_a(u32* a, const Limbs& x) const {
    each_limb<O>(x, 0, [&](u32 tile, u32 k, u32 limb, u32 below) {
      *reinterpret_cast<uint2*>(a + 2 * k) = make_uint2(__byte_perm(below, limb, 0x5432), limb);
      if (is_top<O>(tile) && a != for_low()) a[2 * LIMBS] = limb >> 16;
    });
  }
  template <Order O>
  GPUINT_DEVICE void put_b(const Limbs& x) const {
    u32* const b = columns();
    each_limb<O>(x, 0, [&](u32 tile, u32 k, u32 limb, u32 below) {
      b[k] = __byte_perm(limb, below, 0x7012);
      b[Forms::B_FORM + k] = __byte_perm(limb, 0, 0x0123);
      if (is_top<O>(tile)) b[LIMBS] = limb & 0xff000000;
    });
  }
  // 2 x + 1 if `beneath` is 2^31, 2 x if it is 0; for low products. use(k, limb) gets its limbs.
  template <class Use>
  GPUINT_DEVICE void put_doubled(const Limbs& x, u32 beneath, Use use) const {
    u32* const b = columns();
    each_limb<Order::Turned>(x, beneath, [&](u32 tile, u32 k, u32 limb, u32 below) {
      const u32 doubled = __funnelshift_l(below, limb, 1);
      b[k] = __byte_perm(__funnelshift_r(below, limb, 23), 0, 0x0123);
      b[Forms::B_FORM + k] = __byte_perm(doubled, 0, 0x0123);
      if (is_top<Order::Turned>(tile)) b[LIMBS] = doubled & 0xff000000;
      use(k, doubled);
    });
  }

  // Rows of an A-form whose tiles have this base, read from shared memory.
  struct SharedRows {
    const u32* at;
    GPUINT_DEVICE void read(u32 step, u32 tile, u32 (&rows)[4]) const {
      load_word(at + 2 * TILE_LIMBS * tile - 16 * step, rows);
    }
  };
  // The same in registers, for tiles FIRST .. LAST.
  template <u32 FIRST, u32 LAST>
  struct KeptRows {
    u32 rows[STEPS][LAST - FIRST + 1][4];
    GPUINT_DEVICE explicit KeptRows(const SharedRows& from) {
      GPUINT_UNROLL(4)
      for (u32 step = 0; step < STEPS; ++step)
        repeat<FIRST, LAST + 1>([&](u32 tile) { from.read(step, tile, rows[step][tile - FIRST]); });
    }
    GPUINT_DEVICE void read(u32 step, u32 tile, u32 (&to)[4]) const {
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < 4; ++i) to[i] = rows[step][tile - FIRST][i];
    }
  };
  // Rows that many products take.
  template <u32 FIRST, u32 LAST>
  using Fixed = typename Conditional<KEPT, KeptRows<FIRST, LAST>, SharedRows>::Type;

  template <Order O>
  GPUINT_DEVICE SharedRows rows(const u32* a) const {
    return {a + 2 * (4 * (lane / 4) + (O == Order::Turned ? 1 : 2)) - 4 * (lane % 4)};
  }
  GPUINT_DEVICE SharedRows high_rows() const { return rows<Order::Turned>(for_high()); }
  GPUINT_DEVICE SharedRows low_rows() const { return rows<Order::Plain>(for_low()); }

  GPUINT_DEVICE static void clear(Sums& sums) {
    repeat<0, TILES>(
        [&](u32 tile) { sums[tile][0] = sums[tile][1] = sums[tile][2] = sums[tile][3] = 0; });
  }

  // Adds the columns of the low tiles, or of the lowest COUNT of them, to the sums.
  template <u32 COUNT = TILES, class Rows>
  GPUINT_DEVICE void add_low(const Rows& rows, Sums& sums) const {
    const u32* const at = this_column();
    GPUINT_UNROLL(UNROLL)
    for (u32 step = 0; step < STEPS; ++step) {
      u32 row[COUNT][4];
      repeat<0, COUNT>([&](u32 tile) { rows.read(step, tile, row[tile]); });
      repeat<0, COUNT>([&](u32 m) {
        const u32* const from = at + (m * TILE_LIMBS + 8 * step);
        const u32 column[2] = {*from, *(from - 1)};
        repeat<0, COUNT>([&](u32 i) {
          const u32 tile = COUNT - 1 - i;
          if (tile >= m) ptx::mma(sums[tile], row[tile - m], column);
        });
      });
    }
  }

  // Sets the sums of tiles FIRST, FIRST + 1, .. of the product of rows and the LENGTH tiles in the
  // columns.
  template <u32 FIRST, u32 LENGTH>
  GPUINT_DEVICE void set_tiles(const SharedRows& rows, Sums& sums) const {
    clear(sums);
    const u32* const at = this_column();
    GPUINT_UNROLL(1)
    for (u32 step = 0; step < STEPS; ++step) {
      // Those of tile i stand at i % TILES: block m needs tiles FIRST - m, FIRST - m + 1, ..
      u32 row[TILES][4];
      repeat<1, TILES>(
          [&](u32 tile) { rows.read(step, FIRST + tile, row[(FIRST + tile) % TILES]); });
      GPUINT_UNROLL(33)
      for (u32 m = 0; m <= min_of(LENGTH, FIRST + TILES - 1); ++m) {
        if (m == LENGTH && step > 0) break;  // see add_above
        if (m <= FIRST) rows.read(step, FIRST - m, row[(FIRST - m) % TILES]);
        const u32* const from = at + (m * TILE_LIMBS + 8 * step);
        const u32 column[2] = {*from, *(from - 1)};
        repeat<0, TILES>([&](u32 i) {
          const u32 tile = TILES - 1 - i;
          if (FIRST + tile >= m) ptx::mma(sums[tile], row[(FIRST + tile - m) % TILES], column);
        });
      }
    }
  }

  // Adds the columns of the high tiles to the sums.
  template <class Rows>
  GPUINT_DEVICE void add_high(const Rows& rows, Sums& sums) const {
    const u32* const at = this_column();
    GPUINT_UNROLL(UNROLL)
    for (u32 step = 0; step < STEPS; ++step) {
      u32 row[TILES + 1][4];
      repeat<0, TILES>([&](u32 m) {
        rows.read(step, TILES - m, row[TILES - m]);
        const u32* const from = at + (m * TILE_LIMBS + 8 * step);
        const u32 column[2] = {*from, *(from - 1)};
        repeat<0, TILES>([&](u32 tile) {
          if (tile <= m) ptx::mma(sums[tile], row[TILES + tile - m], column);
        });
      });
      if (step == 0) {
        rows.read(step, 0, row[0]);
        add_above(at, row, sums);
      }
    }
  }

  // Both halves of a product, whose rows and columns are read once.
  template <class Rows>
  GPUINT_DEVICE void add_wide(const Rows& rows, Sums& lower, Sums& upper) const {
    const u32* const at = this_column();
    GPUINT_UNROLL(UNROLL)
    for (u32 step = 0; step < STEPS; ++step) {
      u32 row[TILES + 1][4];
      repeat<0, TILES + 1>([&](u32 tile) { rows.read(step, tile, row[tile]); });
      repeat<0, TILES>([&](u32 m) {
        const u32* const from = at + (m * TILE_LIMBS + 8 * step);
        const u32 column[2] = {*from, *(from - 1)};
        repeat<0, TILES>([&](u32 i) {
          const u32 tile = TILES - 1 - i;
          if (tile >= m) ptx::mma(lower[tile], row[tile - m], column);
        });
        repeat<0, TILES>([&](u32 tile) {
          if (tile <= m) ptx::mma(upper[tile], row[TILES + tile - m], column);
        });
      });
      if (step == 0) add_above(at, row, upper);
    }
  }

  // Makes limbs of sums: value(tile) is what this lane's columns amount to, `carry`
  // goes into the lowest limb. Returns, in lane 0, what goes into the limb above.
  template <class Value>
  GPUINT_DEVICE u32 resolve(Value value, u32 carry, Limbs& limbs) const {
    u32 overflown = 0;  // bit of each tile
    repeat<0, TILES>([&](u32 tile) {
      const u64 v = value(tile);
      const u32 turned = __shfl_sync(~0u, static_cast<u32>(v >> 32), (lane + 31) % 32);
      const u32 below = lane == 0 ? carry : turned;
      carry = turned;
      limbs[tile] = static_cast<u32>(v) + below;
      if (limbs[tile] < below) overflown |= 1u << tile;
    });
    if (!__any_sync(~0u, overflown != 0)) return carry;
    if (lane == 0) GPUINT_RARE(FusedCarries);
    u32 bit = 0;
    repeat<0, TILES>([&](u32 tile) {
      limbs[tile] = ripple(limbs[tile], (overflown >> tile & 1) != 0, lane, bit);
    });
    return carry + bit;
  }

  // Columns 4 (2 LIMBS - 1) and up of a product, from the factors' top limbs.
  GPUINT_DEVICE static u64 top_columns(u32 a, u32 b) {
    return u64(a >> 24) * (b >> 8) + u64(a >> 16 & 255) * (b >> 16) + u64(a >> 8 & 255) * (b >> 24);
  }

  GPUINT_DEVICE static void copy(const Limbs& from, Limbs& to) {
    repeat<0, TILES>([&](u32 tile) { to[tile] = from[tile]; });
  }

  // d = x - z in order O, where z stands in A-form; returns true if z > x. d may be x.
  template <Order O>
  GPUINT_DEVICE bool subtract(const Limbs& x, const u32* z, Limbs& d) const {
    u32 bit = 0;
    bool borrow = false;
    u32 first = 0;
    repeat<0, TILES>([&](u32 tile) {
      const u32 minuend = x[tile], subtrahend = z[2 * index<O>(tile) + 1];
      const u32 difference = minuend - subtrahend;
      const bool takes_part = O == Order::Plain || tile > 0 || lane > 0;
      const u32 g = __ballot_sync(~0u, takes_part && minuend < subtrahend);
      const u32 p = __ballot_sync(~0u, takes_part && difference == 0);
      const CarryLookahead borrows(g, p, bit);
      if (O == Order::Turned && tile == 0) borrow = minuend < subtrahend, first = difference;
      d[tile] = takes_part ? difference - borrows.into(lane) : difference;
      bit = borrows.out_of(32);
    });
    if constexpr (O == Order::Plain) return bit != 0;
    // The top limb is lane 0's.
    borrow = borrow || first < bit;
    if (lane == 0) d[0] -= bit;
    return __shfl_sync(~0u, borrow ? 1u : 0u, 0) != 0;
  }

 private:
  GPUINT_DEVICE const u32* this_column() const {
    return columns() + lane / 4 % 2 * Forms::B_FORM + 2 * (lane % 4) + lane / 8 - 2;
  }
  // Of the block above b only the first 13 values of s meet digits.
  GPUINT_DEVICE static void add_above(const u32* at, const u32 (&row)[TILES + 1][4], Sums& upper) {
    const u32 column[2] = {at[LIMBS], *(at + LIMBS - 1)};
    repeat<0, TILES>([&](u32 tile) { ptx::mma(upper[tile], row[tile], column); });
  }
};

}  // namespace gpuint
