// DivRemDigit: quotients and remainders by one number of at most 64 bits for all rows, in linear
// time.
//
// Words here have 64 bits, B = 2^64. The divisor is D 2^t with an odd D. Then floor(u / (D 2^t)) =
// floor((u >> t) / D), and the remainder is that of u >> t with the low t bits of u behind it. From
// here on u is u >> t, whose words are computed when they are read.
//
// A row by a group of lanes, in tiles of LANES pieces of PIECE words, the highest tile first and a
// piece to each lane. With the words x_j of a lane's piece, of which e_j words of the tile are
// below x_j, and the remainder R of all tiles above modulo D,
//     P = R B^(words of the tile) + sum of x_j B^(e_j) over all words from the lane's piece up
// (mod D) is a sum over the lanes above. With e words of the tile below the piece, r = P B^(-e) mod
// D is the remainder of the number down to the piece, since D is odd. The lowest lane's r is the R
// of the next tile, and at last that of the row.
//
// Of the quotient, r gives the words of each piece without those above: the number down to the
// piece less r is a multiple of D, and its quotient modulo B^PIECE is found from the lowest word up
// with 1 / D mod B (T. Jebelean, "An algorithm for exact division", Journal of Symbolic Computation
// 15, 1993). A word takes half a product for its quotient and half a product for the carry, where a
// division of two words by one takes one and a half products.
//
// Residues modulo D are reduced by P. L. Montgomery's method, which divides by B. The powers of B
// that the lanes multiply by have the B too many.
//
// Each word is read once. Each thread computes the values that depend on D only once, for several
// rows.
#pragma once
#include "core/abi.cuh"
#include "core/group.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/ptx.cuh"
#include "core/rows.cuh"
#include "tuning/linear.cuh"

namespace gpuint {

// A sum of less than 2^32 products of limbs.
struct Column {
  u32 limb[3] = {};

  GPUINT_DEVICE void add(u32 a, u32 b) {
    ptx::mad_lo_cc(limb[0], a, b);
    ptx::madc_hi_cc(limb[1], a, b);
    ptx::addc(limb[2], 0);
  }
};

// An odd divisor D of at most 64 bits.
struct OddDivisor {
  u64 d;
  u64 inverse;  // 1 / D mod B

  GPUINT_DEVICE explicit OddDivisor(u64 odd) : d(odd) {
    // Right in 5 bits, then 10, 20, 40 and 80: with x D = 1 + e, x (2 - x D) D = 1 - e^2.
    inverse = 3 * d ^ 2;
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < 4; ++i) inverse *= 2 - d * inverse;
    // The compiler would compute it again for each row.
    const u32 low = ptx::rematerialize(static_cast<u32>(inverse));
    inverse = u64(ptx::rematerialize(static_cast<u32>(inverse >> 32))) << 32 | low;
  }

  // (high B + low) / B mod D, for high < D: low - q D = -(carry B) for q = low / D mod B.
  GPUINT_DEVICE u64 reduce(u64 high, u64 low) const {
    const u64 carry = __umul64hi(low * inverse, d);
    return high >= carry ? high - carry : high - carry + d;
  }

  // a b / B mod D and a + b mod D, for a b < D B and a, b < D.
  GPUINT_DEVICE u64 multiply(u64 a, u64 b) const { return reduce(__umul64hi(a, b), a * b); }
  GPUINT_DEVICE u64 add(u64 a, u64 b) const {
    const u64 room = d - b;
    return a >= room ? a - room : a + b;
  }

  // The sum of x_j w_j, divided by B^2, mod D; w_j < D.
  template <u32 WORDS>
  GPUINT_DEVICE u64 weighted_sum(const u64 (&x)[WORDS], const u64 (&w)[WORDS]) const {
    Column low, middle, high;  // of 2^0, 2^32 and 2^64
    GPUINT_UNROLL(WORDS)
    for (u32 j = 0; j < WORDS; ++j) {
      const u32 x_low = static_cast<u32>(x[j]), x_high = static_cast<u32>(x[j] >> 32);
      const u32 w_low = static_cast<u32>(w[j]), w_high = static_cast<u32>(w[j] >> 32);
      low.add(x_low, w_low);
      middle.add(x_low, w_high);
      middle.add(x_high, w_low);
      high.add(x_high, w_high);
    }
    ptx::add_cc(low.limb[1], middle.limb[0]);
    ptx::addc_cc(low.limb[2], middle.limb[1]);
    ptx::addc_cc(high.limb[1], middle.limb[2]);
    ptx::addc(high.limb[2], 0);
    ptx::add_cc(high.limb[0], low.limb[2]);
    ptx::addc_cc(high.limb[1], 0);
    ptx::addc(high.limb[2], 0);
    // Without its lowest word the sum is below WORDS D. D more keeps it positive.
    const u64 more = d - __umul64hi((u64(low.limb[1]) << 32 | low.limb[0]) * inverse, d);
    const u64 next = (u64(high.limb[1]) << 32 | high.limb[0]) + more;
    // At most (WORDS + 1) D / B < D.
    const u64 top = u64(high.limb[2]) + (next < more ? 1 : 0);
    return reduce(top, next);
  }

  // The quotient of B^WORDS y + x by D, given its remainder r, for any y < D.
  template <u32 WORDS>
  GPUINT_DEVICE void divide_exactly(u64 (&x)[WORDS], u64 r) const {
    u64 carry = r;
    GPUINT_UNROLL(WORDS)
    for (u32 j = 0; j < WORDS; ++j) {
      const u64 borrow = x[j] < carry ? 1 : 0;
      x[j] = (x[j] - carry) * inverse;
      carry = __umul64hi(x[j], d) + borrow;
    }
  }
};

// in[0] = u, params.digit = d > 0; out[0] = q or null, out[1] = one u64 a row, the remainder, or
// null.
template <class S>
struct DivRemDigit {
  using Limb = typename S::Limb;
  using Policy = DigitDivisionPolicy;
  static constexpr u32 PIECE = Policy::WORDS_PER_LANE;
  static constexpr u32 WORDS = ceil_div(S::BITS, 64);
  static constexpr u32 LIMBS = 64 / S::LIMB_BITS;  // in a word
  // Lanes of a row.
  static constexpr u32 LANES = min_of(32, power_of_two_at_least(ceil_div(WORDS, PIECE)));
  static constexpr u32 TILE = LANES * PIECE;
  static constexpr u32 TILES = ceil_div(WORDS, TILE);

  using G = Group<LANES>;
  static constexpr u32 THREADS = Policy::THREADS, ROWS = THREADS / LANES;
  static constexpr u32 SHARED = 0, SCRATCH = 0, PERSISTENT = 1;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(Policy::REGISTERS, THREADS);

  static __device__ void run(const Operands& o, unsigned char*) {
    const u32 zeros = static_cast<u32>(__ffsll(static_cast<i64>(o.params.digit))) - 1;
    const OddDivisor divisor(o.params.digit >> zeros);
    G group(nullptr);
    // All groups of a warp proceed together. Those beyond the last row divide it without storing.
    group.mask = ~0u;
    const Powers powers(divisor, LANES - 1 - group.rank);
    for (u64 base = u64(blockIdx.x) * ROWS; base < o.rows; base += u64(gridDim.x) * ROWS) {
      const bool is_row = base + G::index() < o.rows;
      const u64 row = is_row ? base + G::index() : o.rows - 1;
      Limb* const q = is_row ? output_row<S>(o, 0, row) : nullptr;
      const u64 r = divide(group, divisor, powers, zeros, input_row<S>(o, 0, row), q);
      if (o.out[1] != nullptr && is_row && group.rank == LANES - 1)
        static_cast<u64*>(o.out[1])[row] = r;
    }
  }

 private:
  // Powers of B mod D of a lane with `below` pieces of the tile below its own. [k] is B^(k+1), and
  // multiply([j], [k]) = [j+k].
  struct Powers {
    u64 weight[PIECE];  // [e_j + 1]
    u64 down;           // [-e], for the lowest word
    u64 tile;           // [TILE]

    GPUINT_DEVICE Powers(const OddDivisor& divisor, u32 below) {
      // 2^64, then by products of a and b, which are 2^(a+b-64): 2^65, 66, 68, .. 128.
      const u64 base = (0 - divisor.d) % divisor.d;
      u64 one = divisor.add(base, base);  // [1]
      GPUINT_UNROLL(1)
      for (u32 i = 0; i < 6; ++i) one = divisor.multiply(one, one);
      u64 up = base, above = one, under = 1;  // [0], [1], [-1]
      down = base;
      GPUINT_UNROLL(1)
      for (u32 piece = 1; piece < PIECE; piece *= 2) {
        above = divisor.multiply(above, above);
        under = divisor.multiply(under, under);
      }
      GPUINT_UNROLL(1)
      for (u32 lanes = 1; lanes < LANES; lanes *= 2) {
        if ((below & lanes) != 0) {
          up = divisor.multiply(up, above);
          down = divisor.multiply(down, under);
        }
        above = divisor.multiply(above, above);
        under = divisor.multiply(under, under);
      }
      tile = above;
      GPUINT_UNROLL(PIECE)
      for (u32 j = 0; j < PIECE; ++j) weight[j] = up = divisor.multiply(up, one);
    }
  };

  // Divides a row by D 2^zeros; returns the remainder to the lowest lane.
  GPUINT_DEVICE static u64 divide(const G& group, const OddDivisor& divisor, const Powers& powers,
                                  u32 zeros, const Limb* u, Limb* q) {
    u32 first = (TILES - 1) * TILE + (LANES - 1 - group.rank) * PIECE;
    u64 x[PIECE], next[PIECE];
    read(u, first, next);
    u64 r = 0, low_bits = 0, word_above = 0;
    GPUINT_UNROLL(1)
    for (u32 tile = TILES;;) {
      GPUINT_UNROLL(PIECE)
      for (u32 j = 0; j < PIECE; ++j) x[j] = next[j];
      if (--tile > 0) read(u, first - TILE, next);
      low_bits = x[0] & ((u64(1) << zeros) - 1);
      shift(group, zeros, x, word_above);
      r = prefix(group, divisor, divisor.weighted_sum(x, powers.weight),
                 divisor.multiply(r, powers.tile));
      if (q != nullptr) {
        divisor.divide_exactly(x, LANES > 1 ? divisor.multiply(r, powers.down) : r);
        write(q, first, x);
      }
      if (tile == 0) break;
      first -= TILE;
      r = __shfl_sync(group.mask, r, LANES - 1, LANES);
    }
    return r << zeros | low_bits;
  }

  // Shifts the words of a tile by the zeros of the divisor. `word_above` is, in the highest lane,
  // the lowest word of the tile above.
  GPUINT_DEVICE static void shift(const G& group, u32 zeros, u64 (&x)[PIECE], u64& word_above) {
    u64 high = 0;
    if constexpr (LANES > 1) {
      const u64 other = __shfl_sync(group.mask, x[0], group.rank + LANES - 1, LANES);
      high = group.rank == 0 ? word_above : other;
      word_above = other;
    }
    GPUINT_UNROLL(PIECE)
    for (u32 j = 0; j < PIECE; ++j)
      x[j] = x[j] >> zeros | (j + 1 < PIECE ? x[j + 1] : high) << 1 << (63 - zeros);
  }

  // The sum modulo D of `term` over the lanes above and this one, and of `above`.
  GPUINT_DEVICE static u64 prefix(const G& group, const OddDivisor& divisor, u64 term, u64 above) {
    u64 sum = TILES > 1 && group.rank == 0 ? divisor.add(term, above) : term;
    GPUINT_UNROLL(5)
    for (u32 distance = 1; distance < LANES; distance *= 2) {
      const u64 other = __shfl_up_sync(group.mask, sum, distance, LANES);
      sum = divisor.add(sum, group.rank >= distance ? other : 0);
    }
    return sum;
  }

  // Reads words `first` .. `first + PIECE` of a row, zeros beyond it.
  GPUINT_DEVICE static void read(const Limb* row, u32 first, u64 (&x)[PIECE]) {
    if constexpr (S::BITS % 128 == 0) {
      GPUINT_UNROLL(PIECE)
      for (u32 j = 0; j < PIECE; j += 2) {
        Limb limbs[WORD] = {};
        if (first + j < WORDS) read_word<S>(row, (first + j) * LIMBS, limbs);
        x[j] = limbs[0] | u64(limbs[1]) << 32;
        x[j + 1] = limbs[2] | u64(limbs[3]) << 32;
      }
    } else {
      GPUINT_UNROLL(PIECE)
      for (u32 j = 0; j < PIECE; ++j) {
        x[j] = 0;
        GPUINT_UNROLL(4)
        for (u32 i = 0; i < LIMBS; ++i) {
          const u32 k = (first + j) * LIMBS + i;
          if (k < S::N) x[j] |= u64(__ldg(row + k)) << (i * S::LIMB_BITS);
        }
      }
    }
  }

  GPUINT_DEVICE static void write(Limb* row, u32 first, const u64 (&x)[PIECE]) {
    if constexpr (S::BITS % 128 == 0) {
      GPUINT_UNROLL(PIECE)
      for (u32 j = 0; j < PIECE; j += 2) {
        const Limb limbs[WORD] = {static_cast<Limb>(x[j]), static_cast<Limb>(x[j] >> 32),
                                  static_cast<Limb>(x[j + 1]), static_cast<Limb>(x[j + 1] >> 32)};
        if (first + j < WORDS) write_word<S>(row, (first + j) * LIMBS, limbs);
      }
    } else {
      GPUINT_UNROLL(PIECE)
      for (u32 j = 0; j < PIECE; ++j) {
        GPUINT_UNROLL(4)
        for (u32 i = 0; i < LIMBS; ++i) {
          const u32 k = (first + j) * LIMBS + i;
          if (k < S::N) row[k] = static_cast<Limb>(x[j] >> (i * S::LIMB_BITS));
        }
      }
    }
  }
};

}  // namespace gpuint
