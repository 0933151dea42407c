// Exact division and inverses modulo 2^BITS of short rows, one row per lane, from the low end (T.
// Jebelean, "An algorithm for exact division", J. Symbolic Computation 15, 1993).
//
// Base and bounds. B = 2^32 is the base of a limb, b(x) the bit length of x; lengths count words of
// four limbs, beta = 2^128. Let v = v' 2^s with v' odd and u = u' 2^s; then u / v = u' / v'. If v
// divides u, the quotient q is below 2^(b(u) - b(v) + 1), so its L = ceil((b(u) - b(v) + 1) / 128)
// words are u' / v' mod beta^L. The upper words of both operands have no influence: a quotient of L
// words costs L^2 / 2 word products, half those of a division by a divisor of L words, and has no
// estimates and no corrections.
//
// Blocks of R limbs. The block at limb c takes columns c .. c + R of q v':
//     T = sum of the columns by the limbs of q below c, and the carry from the columns below
//     Q = w (u' / B^c - T) mod B^R,   w = 1 / v' mod B^R in registers
//     T + Q v' = u' / B^c mod B^R,    so its upper two limbs are the carry of the next block.
// The dividend is only compared, never subtracted from, and the quotient overwrites it. Columns are
// added by the tiles of classical products (mul/columns.cuh).
//
// The inverse of a limb begins with w = v', right to 3 bits (v'^2 = 1 mod 8); w (2 - v' w) doubles
// the bits. That of R limbs is by schoolbook division of 1.
//
// With a mask, divisibility is tested: the columns of q v' above the quotient must equal the limbs
// of u', in Z = U + 1 words, where U are the words of u'. Theorem: v' divides u' with a quotient of
// L words if and only if u' = q v' mod beta^Z. Proof. q < beta^L, and q v' < beta^(L + n) for the n
// words of v'. From L < (b(u') - b(v') + 1) / 128 + 1 and n < b(v') / 128 + 1 follows L + n < U +
// 2; so q v' < beta^Z, and u' < beta^Z. QED.
//
// Lanes of a warp take rows with quotients of about the same length (sorted.cuh).
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/group.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"
#include "div/stores.cuh"
#include "div/sorted.cuh"
#include "mul/columns.cuh"
#include "tuning/division.cuh"

namespace gpuint {

// w = 1 / v mod B^COUNT for an odd v.
template <u32 COUNT>
GPUINT_DEVICE void inverse_of_limbs(const u32 (&v)[COUNT], u32 (&w)[COUNT]) {
  u32 inverse = v[0];
  for (u32 bits = 3; bits < 32; bits *= 2) inverse *= 2 - v[0] * inverse;
  u32 r[COUNT] = {1};
  GPUINT_UNROLL(COUNT)
  for (u32 i = 0; i < COUNT; ++i) {
    w[i] = r[i] * inverse;
    u64 product = 0;
    u32 borrow = 0;
    GPUINT_UNROLL(COUNT)
    for (u32 j = 0; i + j < COUNT; ++j) {
      product += u64(w[i]) * v[j];
      r[i + j] = sub_borrow(r[i + j], static_cast<u32>(product), borrow);
      product >>= 32;
    }
  }
}

// The division of a lane's row, in shared memory.
template <class S>
struct LaneExact {
  static constexpr u32 R = 8, WORD_BITS = 32 * WORD;
  static_assert(S::THREADS == 1 && S::LIMB_BITS == 32 && S::N % R == 0, "a lane has whole tiles");
  // Zeros on both sides of the divisor, which tiles read, and above the dividend. Rows are an odd
  // number of words apart, so that the lanes of a quarter of a warp reach all banks.
  static constexpr u32 LIMBS = 2 * S::N + 3 * R + WORD;
  static constexpr u32 BYTES = LIMBS * sizeof(u32);
  static_assert(LIMBS / WORD % 2 == 1, "");

  u32 *const v, *const u;
  bool differs = false;  // the product and the dividend

  GPUINT_DEVICE explicit LaneExact(unsigned char* bytes)
      : v(reinterpret_cast<u32*>(bytes) + R), u(v + S::N + R) {
    GPUINT_UNROLL(2)
    for (u32 i = 0; i < R; i += WORD) {
      clear_word(v - R + i);
      clear_word(v + S::N + i);
      clear_word(u + S::N + i);
    }
  }

  // Computes the lowest `length` words of u / v over u, and compares `columns` words of the product
  // with u, by `words` words of v.
  GPUINT_DEVICE void divide(u32 length, u32 columns, u32 words) {
    u32 low[R], w[R], carry[2] = {};
    GPUINT_UNROLL(2)
    for (u32 i = 0; i < R; i += WORD) load_word(v + i, low + i);
    inverse_of_limbs(low, w);
    const u32 end = length * WORD, all = columns * WORD;
    GPUINT_UNROLL(1)
    for (u32 c = 0; c < all; c += R) {
      Tile<u32, R> tile;
      u32 sum[R + 2], expected[R];
      product_tile<u32, R>({u, min_of(c, end), v, words * WORD, 0, all}, c, tile);
      GPUINT_UNROLL(2)
      for (u32 i = 0; i < R; i += WORD) load_word(u + c + i, expected + i);
      if (c < end) {
        next_block(tile, carry, w, expected, c, end);
        product_tile<u32, R>({u + c, R, v, words * WORD, 0, R}, 0, tile);
      }
      add_carry_to(tile, carry, sum);
      GPUINT_UNROLL(R)
      for (u32 i = 0; i < R; ++i) differs = differs || sum[i] != expected[i];
      carry[0] = sum[R], carry[1] = sum[R + 1];
    }
  }

 private:
  // The sum of a tile and the carry from below.
  GPUINT_DEVICE static void add_carry_to(Tile<u32, R>& tile, const u32 (&carry)[2],
                                         u32 (&sum)[R + 2]) {
    tile.sum(sum);
    ptx::add_cc(sum[0], carry[0]);
    ptx::addc_cc(sum[1], carry[1]);
    GPUINT_UNROLL(R)
    for (u32 i = 2; i < R + 1; ++i) ptx::addc_cc(sum[i], 0);
    ptx::addc(sum[R + 1], 0);
  }

  // Writes a block of quotient over the dividend, without the words from limb `end` on: where these
  // are not zero, a column of the product differs from the dividend, since v is odd.
  GPUINT_DEVICE void next_block(Tile<u32, R>& tile, const u32 (&carry)[2], const u32 (&w)[R],
                                const u32 (&expected)[R], u32 c, u32 end) {
    u32 x[R + 2], window[R + WORD];
    add_carry_to(tile, carry, x);
    u32 borrow = 0;
    GPUINT_UNROLL(R)
    for (u32 i = 0; i < R; ++i) x[i] = sub_borrow(expected[i], x[i], borrow);
    Tile<u32, R> block;
    GPUINT_UNROLL(2)
    for (u32 from = 0; from < R; from += WORD) {
      const u32 limbs[WORD] = {x[from], x[from + 1], x[from + 2], x[from + 3]};
      GPUINT_UNROLL(R + WORD)
      for (u32 i = 0; i < R + WORD; ++i) window[i] = i < from + WORD ? 0 : w[i - from - WORD];
      block.add_rows(limbs, window);
    }
    block.sum(x);
    GPUINT_UNROLL(2)
    for (u32 i = 0; i < R; i += WORD) {
      if (c + i < end)
        store_word(u + c + i, x + i);
      else
        clear_word(u + c + i);
    }
  }
};

template <class Policy, class S = typename Policy::Rows>
struct LaneExactRows
    : SortedFrame<S, LaneExact<S>::BYTES, SORTED_ROWS_PER_GROUP * S::ROWS, S::WORDS + 2> {
  using Rows = S;
  using Base = SortedFrame<S, LaneExact<S>::BYTES, SORTED_ROWS_PER_GROUP * S::ROWS, S::WORDS + 2>;
  using G = typename Base::G;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(Policy::REGISTERS, Base::THREADS);

  // A row without a result is 0.
  GPUINT_DEVICE static void fail(const G& group, const Operands& o, u64 row) {
    write_quotient<S>(group, output_row<S>(o, 0, row), 0, S::WORDS, nullptr);
    if (o.mask != nullptr) set_mask(o.mask, row);
  }
};

// in[0] = u, in[1] = v; out[0] = u / v. Without a mask, the result is undefined if v does not
// divide u; with one, it is 0 and flagged. A row with v = 0 has the result 0, and is flagged in the
// mask and the status.
template <class Shape>
struct DivExact : LaneExactRows<LaneExactPolicy<Shape>> {
  using Kernel = LaneExactRows<LaneExactPolicy<Shape>>;
  using S = typename Kernel::Rows;
  using G = typename Kernel::G;
  using Division = LaneExact<S>;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const auto key = [&](G& group, u64 row) {
      const u32 v = words_from_top<S>(group, rhs_row<S>(o, row));
      const u32 u = words_from_top<S>(group, input_row<S>(o, 0, row));
      return u < v ? 0 : u - v + 1;
    };
    Kernel::Base::run(o, shared, key, [&](G& group, u64 row, unsigned char* bytes) {
      Division division(bytes);
      const u32 v_bits = copy_in<S>(group, rhs_row<S>(o, row), division.v);
      const u32 u_bits = copy_in<S>(group, input_row<S>(o, 0, row), division.u);
      if (v_bits == 0) {
        if (o.status != nullptr) set_status(o.status, row);
        return Kernel::fail(group, o, row);
      }
      const u32 shift = trailing_zeros(division.v);
      const bool is_tested = o.mask != nullptr;
      bool divides = !is_tested || shift <= trailing_zeros(division.u);
      if (shift != 0) {
        shift_right(division.v, shift);
        shift_right(division.u, shift);
      }
      const u32 length = u_bits < v_bits ? 0 : ceil_div(u_bits - v_bits + 1, Division::WORD_BITS);
      const u32 u_words = ceil_div(u_bits - min_of(shift, u_bits), Division::WORD_BITS);
      division.divide(length, is_tested ? u_words + 1 : length,
                      ceil_div(v_bits - shift, Division::WORD_BITS));
      divides = divides && !(is_tested && division.differs);
      if (!divides) return Kernel::fail(group, o, row);
      u32* const quotient = output_row<S>(o, 0, row);
      write_quotient<S>(group, quotient, 0, length, division.u);
      write_quotient<S>(group, quotient, length, S::WORDS, nullptr);
    });
  }

 private:
  // Zeros below the lowest bit; BITS for zero.
  GPUINT_DEVICE static u32 trailing_zeros(const u32* x) {
    u32 k = 0;
    while (k < S::N && x[k] == 0) ++k;
    return k == S::N ? S::BITS : 32 * k + (static_cast<u32>(__ffs(static_cast<int>(x[k]))) - 1);
  }

  GPUINT_DEVICE static void shift_right(u32* x, u32 shift) {
    const u32 limbs = shift / 32;
    for (u32 k = 0; k < S::N; ++k) {
      const u32 low = k + limbs < S::N ? x[k + limbs] : 0;
      const u32 high = k + limbs + 1 < S::N ? x[k + limbs + 1] : 0;
      x[k] = static_cast<u32>((u64(high) << 32 | low) >> shift % 32);
    }
  }
};

// in[0] = v; out[0] = 1 / v mod 2^BITS; an even row is 0 and flagged.
template <class Shape>
struct InverseModPow2 : LaneExactRows<LaneExactPolicy<Shape>> {
  using Kernel = LaneExactRows<LaneExactPolicy<Shape>>;
  using S = typename Kernel::Rows;
  using G = typename Kernel::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const auto key = [](G&, u64) { return 0; };
    Kernel::Base::run(o, shared, key, [&](G& group, u64 row, unsigned char* bytes) {
      LaneExact<S> division(bytes);
      copy_in<S>(group, input_row<S>(o, 0, row), division.v);
      if (division.v[0] % 2 == 0) return Kernel::fail(group, o, row);
      for (u32 k = 0; k < S::N; k += WORD) clear_word(division.u + k);
      division.u[0] = 1;
      division.divide(S::WORDS, S::WORDS, S::WORDS);
      write_quotient<S>(group, output_row<S>(o, 0, row), 0, S::WORDS, division.u);
    });
  }
};

}  // namespace gpuint
