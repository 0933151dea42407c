// Exact division of short rows, one row per lane: the quotient from the low end in blocks of a tile
// of columns (exact.cuh has the algorithm).
//
// Block c of R limbs takes columns c .. c + R of q v:
//     T = sum of the columns by the limbs of q below c, and the carry from the columns below
//     Q = w (u / B^c - T) mod B^R,   w = 1 / v mod B^R in registers
//     T + Q v = u / B^c mod B^R,     so the upper two limbs of T + Q v are the next carry.
// The dividend is only compared: it is never subtracted from, and the quotient overwrites it. The
// columns of a tile are those of a classical product (mul/columns.cuh), so the work is that of a
// low product as long as the quotient, and R^2 products a block for Q.
//
// The rest of a row that is tested for divisibility are the columns above the quotient: all must be
// equal to the dividend's limbs. A block of quotient beyond L words must be zero.
#pragma once
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"
#include "div/rows.cuh"
#include "mul/columns.cuh"

namespace gpuint {

// The inverse of an odd limb modulo its base.
template <class Limb>
GPUINT_DEVICE Limb inverse_of_limb(Limb v) {
  u32 w = v;
  for (u32 bits = 3; bits < LimbTraits<Limb>::BITS; bits *= 2) w *= 2 - u32(v) * w;
  return static_cast<Limb>(w);
}

// w = 1 / v mod B^COUNT, by schoolbook division of 1.
template <class Limb, u32 COUNT>
GPUINT_DEVICE void inverse_of_limbs(const Limb (&v)[COUNT], Limb (&w)[COUNT]) {
  using Wide = typename LimbTraits<Limb>::Wide;
  const Limb inverse = inverse_of_limb(v[0]);
  Limb r[COUNT] = {1};
  GPUINT_UNROLL(COUNT)
  for (u32 i = 0; i < COUNT; ++i) {
    w[i] = static_cast<Limb>(r[i] * u32(inverse));
    Wide product = 0;
    u32 borrow = 0;
    GPUINT_UNROLL(COUNT)
    for (u32 j = 0; i + j < COUNT; ++j) {
      product += Wide(w[i]) * v[j];
      r[i + j] = sub_borrow(r[i + j], static_cast<Limb>(product), borrow);
      product >>= LimbTraits<Limb>::BITS;
    }
  }
}

template <class Policy>
struct LaneHenselDivision {
  using S = typename Policy::Rows;
  using Limb = u32;
  using G = Group<S::THREADS>;
  static constexpr u32 WORD_BITS = WORD * S::LIMB_BITS;
  static constexpr u32 R = 8;  // columns of a tile
  static_assert(S::THREADS == 1 && S::LIMB_BITS == 32 && S::N % R == 0, "a lane has whole tiles");
  // Zeros on both sides of the divisor, which tiles read, and above the dividend. Rows are an odd
  // number of words apart, so that the lanes of a quarter of a warp reach all banks.
  static constexpr u32 LIMBS = 2 * S::N + 3 * R + WORD;
  static constexpr u32 BYTES = LIMBS * sizeof(u32);
  static_assert(LIMBS / WORD % 2 == 1, "");

  G& group;
  struct {
    u32 *v, *u;
  } arena;
  bool differs = false;

  GPUINT_DEVICE LaneHenselDivision(G& group_, unsigned char* bytes) : group(group_) {
    arena.v = reinterpret_cast<u32*>(bytes) + R;
    arena.u = arena.v + S::N + R;
    GPUINT_UNROLL(2)
    for (u32 i = 0; i < R; i += WORD) {
      clear_word(arena.v - R + i);
      clear_word(arena.v + S::N + i);
      clear_word(arena.u + S::N + i);
    }
  }

  template <class F>
  GPUINT_DEVICE void fill(u32* to, u32 count, F f) const {
    GPUINT_UNROLL(1)
    for (u32 k = 0; k < count; ++k) to[k] = f(k);
  }

  // As `HenselDivision::divide`; the quotient overwrites the dividend.
  GPUINT_DEVICE void divide(u32 length, u32 columns, u32 words, u32* quotient) {
    u32 v[R], w[R], carry[2] = {};
    GPUINT_UNROLL(2)
    for (u32 i = 0; i < R; i += WORD) load_word(arena.v + i, v + i);
    inverse_of_limbs(v, w);
    const u32 end = length * WORD, all = columns * WORD;
    GPUINT_UNROLL(1)
    for (u32 c = 0; c < all; c += R) {
      Tile<u32, R> tile;
      u32 sum[R + 2], u[R];
      product_tile<u32, R>({arena.u, min_of(c, end), arena.v, words * WORD, 0, all}, c, tile);
      GPUINT_UNROLL(2)
      for (u32 i = 0; i < R; i += WORD) load_word(arena.u + c + i, u + i);
      if (c < end) {
        next_block(tile, carry, w, u, c, end);
        product_tile<u32, R>({arena.u + c, R, arena.v, words * WORD, 0, R}, 0, tile);
      }
      total(tile, carry, sum);
      GPUINT_UNROLL(R)
      for (u32 i = 0; i < R; ++i) differs = differs || sum[i] != u[i];
      carry[0] = sum[R], carry[1] = sum[R + 1];
    }
    write_quotient<S>(group, quotient, 0, length, arena.u);
    write_quotient<S>(group, quotient, length, S::WORDS, nullptr);
  }

  GPUINT_DEVICE bool is_reduced() const { return !differs; }

 private:
  GPUINT_DEVICE static void total(Tile<u32, R>& tile, const u32 (&carry)[2], u32 (&sum)[R + 2]) {
    tile.sum(sum);
    ptx::add_cc(sum[0], carry[0]);
    ptx::addc_cc(sum[1], carry[1]);
    GPUINT_UNROLL(R)
    for (u32 i = 2; i < R + 1; ++i) ptx::addc_cc(sum[i], 0);
    ptx::addc(sum[R + 1], 0);
  }

  // Writes a block of quotient over the dividend; its words beyond `end` must be zero.
  GPUINT_DEVICE void next_block(Tile<u32, R>& tile, const u32 (&carry)[2], const u32 (&w)[R],
                                const u32 (&u)[R], u32 c, u32 end) {
    u32 x[R + 2], window[R + WORD];
    total(tile, carry, x);
    u32 borrow = 0;
    GPUINT_UNROLL(R)
    for (u32 i = 0; i < R; ++i) x[i] = sub_borrow(u[i], x[i], borrow);
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
      if (c + i < end) {
        store_word(arena.u + c + i, x + i);
      } else {
        differs = differs || (x[i] | x[i + 1] | x[i + 2] | x[i + 3]) != 0;
        clear_word(arena.u + c + i);
      }
    }
  }
};

}  // namespace gpuint
