// Classical multiplication: any range of columns of a product of two numbers in shared memory.
//
// Column k of a * b is the sum of a[i] * b[k - i]. Every product of the library is a range of
// columns lo <= k < hi: the low product (0 .. n), the full one (0 .. 2n), the middle and high
// products of the reciprocal, the short products of division.
//
// A tile of R consecutive columns belongs to one thread. The thread steps through the limbs of a in
// words of four. For each word it needs a window of R + 3 limbs of b, of which R are left from the
// word before, so one vector load of each operand feeds 4R products. Columns near the ends of a
// product are short. Tiles are therefore assigned to the threads forwards and backwards in turn, so
// that all threads have about the same total length (the paper's balanced schedule, which pairs
// column i with column n - 1 - i).
//
// 32-bit limbs: products are added along two chains, one for the even and one for the odd columns,
// since within a chain the high half of one product and the low half of the next are added to
// different limbs. Each chain ends in one carry count. The sum of a tile is below rows * B^2 *
// B^(R-1), so R + 2 limbs hold it for fewer than B rows. 16-bit limbs: one 64-bit sum per column.
//
// A tile's R low limbs are stored in out[k - lo], or subtracted from its content. Its two overflow
// limbs, which belong to the next tile's first two columns, are stored in overflow[2 * tile].
// `Columns` is the view of that pair of arrays as one number, which `resolve` (carry.cuh)
// completes: no carry crosses a tile before.
//
// The size of the product selects R. Products with fewer columns than a block can share use narrow
// tiles, to occupy more threads. Rows of 2^16 bits and more use wide ones, whose inner loop is
// mostly products (three in four of its instructions at R = 8, a little more than one in two at R =
// 4). The paper dispatches dynamic sizes to one static kernel for each power of two (`smallMul`);
// here lengths are bounds of the tile's loop, and nothing is padded.
#pragma once
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"
#include "core/strategies.cuh"

namespace gpuint {

template <class Limb, u32 R>
struct Tile;

template <u32 R>
struct Tile<u32, R> {
  static_assert(R % 2 == 0, "the odd chain must end inside the tile");
  u32 even[R + 1] = {};  // columns 0 .. R - 1 and the carry count at R
  u32 odd[R + 2] = {};   // columns 1 .. R and the carry count at R + 1; odd[0] stays 0

  // Starts with a stored sum: a carry count stays free for each chain.
  GPUINT_DEVICE void resume(const u32 (&limbs)[R], const u32* overflow) {
    GPUINT_UNROLL(R)
    for (u32 r = 0; r < R; ++r) even[r] = limbs[r];
    odd[R] = overflow[0], odd[R + 1] = overflow[1];
  }

  // Adds a[0..4) times the window, where window[4 + r - j] meets a[j] in column r.
  GPUINT_DEVICE void add_rows(const u32 (&a)[WORD], const u32 (&window)[R + WORD]) {
    GPUINT_UNROLL(4)
    for (u32 j = 0; j < WORD; ++j) {
      const u32* const b = window + (WORD - j);
      ptx::mad_lo_cc(even[0], a[j], b[0]);
      ptx::madc_hi_cc(even[1], a[j], b[0]);
      GPUINT_UNROLL(R)
      for (u32 r = 2; r < R; r += 2) {
        ptx::madc_lo_cc(even[r], a[j], b[r]);
        ptx::madc_hi_cc(even[r + 1], a[j], b[r]);
      }
      ptx::addc(even[R], 0);
      ptx::mad_lo_cc(odd[1], a[j], b[1]);
      ptx::madc_hi_cc(odd[2], a[j], b[1]);
      GPUINT_UNROLL(R)
      for (u32 r = 3; r < R; r += 2) {
        ptx::madc_lo_cc(odd[r], a[j], b[r]);
        ptx::madc_hi_cc(odd[r + 1], a[j], b[r]);
      }
      ptx::addc(odd[R + 1], 0);
    }
  }

  GPUINT_DEVICE void twice() {
    GPUINT_UNROLL(R)
    for (u32 r = R; r > 0; --r) even[r] = even[r] << 1 | even[r - 1] >> 31;
    even[0] <<= 1;
    GPUINT_UNROLL(R)
    for (u32 r = R + 1; r > 1; --r) odd[r] = odd[r] << 1 | odd[r - 1] >> 31;
    odd[1] <<= 1;
  }

  GPUINT_DEVICE void sum(u32 (&limbs)[R + 2]) {
    limbs[0] = even[0];
    limbs[R + 1] = odd[R + 1];
    GPUINT_UNROLL(R)
    for (u32 r = 1; r <= R; ++r) limbs[r] = odd[r];
    ptx::add_cc(limbs[1], even[1]);
    GPUINT_UNROLL(R)
    for (u32 r = 2; r <= R; ++r) ptx::addc_cc(limbs[r], even[r]);
    ptx::addc(limbs[R + 1], 0);
  }
};

template <u32 R>
struct Tile<u16, R> {
  u64 column[R] = {};

  GPUINT_DEVICE void resume(const u16 (&limbs)[R], const u16* overflow) {
    GPUINT_UNROLL(R)
    for (u32 r = 0; r < R; ++r) column[r] = limbs[r];
    column[R - 1] += u64(overflow[0]) << 16 | u64(overflow[1]) << 32;
  }

  GPUINT_DEVICE void add_rows(const u16 (&a)[WORD], const u16 (&window)[R + WORD]) {
    GPUINT_UNROLL(4)
    for (u32 j = 0; j < WORD; ++j) {
      GPUINT_UNROLL(R)
      for (u32 r = 0; r < R; ++r) column[r] += u32(a[j]) * u32(window[WORD - j + r]);
    }
  }

  GPUINT_DEVICE void twice() {
    GPUINT_UNROLL(R)
    for (u32 r = 0; r < R; ++r) column[r] *= 2;
  }

  GPUINT_DEVICE void sum(u16 (&limbs)[R + 2]) {
    u64 carry = 0;
    GPUINT_UNROLL(R)
    for (u32 r = 0; r < R; ++r) {
      carry += column[r];
      limbs[r] = static_cast<u16>(carry);
      carry >>= 16;
    }
    limbs[R] = static_cast<u16>(carry);
    limbs[R + 1] = static_cast<u16>(carry >> 16);
  }
};

// Columns of a product as stored by the tiles: the sum of `out` and the tiles' overflows, or with
// Sign::Minus the rest of a minuend: `out` minus the overflows.
template <class Limb>
struct Columns {
  Limb* out;        // `width` limbs
  Limb* overflow;   // two per tile
  u32 width;        // columns, whole words
  u32 log_tile;     // log2 R
  u32 skipped = 0;  // columns of the first tile that are below the lowest one

  // x = limbs k .. k + CHUNK (0 beyond the width); returns the carry or borrow out of the chunk, 0
  // or 1.
  template <Sign SIGN = Sign::Plus, u32 CHUNK>
  GPUINT_DEVICE u32 read(u32 k, Limb (&x)[CHUNK]) const {
    u32 carry = 0;
    const u32 tile = 1u << log_tile;
    GPUINT_UNROLL(CHUNK)
    for (u32 w = 0; w < CHUNK; w += WORD) {
      Limb word[WORD] = {};
      if (k + w < width) load_word(out + k + w, word);
      GPUINT_UNROLL(2)
      for (u32 half = 0; half < WORD; half += 2) {
        const u32 column = k + w + half + skipped;
        Limb carry_out[2] = {};
        if (column % tile == 0 && column >= tile && column < width + skipped) {
          const u32 from = (column >> log_tile) * 2 - 2;
          carry_out[0] = overflow[from], carry_out[1] = overflow[from + 1];
        }
        GPUINT_UNROLL(2)
        for (u32 i = 0; i < 2; ++i) {
          if constexpr (SIGN == Sign::Plus)
            x[w + half + i] = add_carry(word[half + i], carry_out[i], carry);
          else
            x[w + half + i] = sub_borrow(word[half + i], carry_out[i], carry);
        }
      }
    }
    return carry;
  }
};

// Limbs that `overflow` must hold for products of up to `width` columns.
__host__ __device__ constexpr u32 overflow_limbs(u32 width) { return width / 2 + WORD; }

// Limbs of zeros required on both sides of the second operand, for the widest tile except those of
// long rows.
constexpr u32 PAD = WORD;
// Limbs of zeros above both factors, for strategies that need padding (mul/tensor/columns.cuh).
constexpr u32 PAD_ABOVE = 2 * WORD;

// Factors and the wanted columns. All lengths and bounds are whole words; a is aligned to a word; b
// too, and has PAD zero limbs below and above.
template <class Limb>
struct Factors {
  const Limb* a;
  u32 a_limbs;
  const Limb* b;
  u32 b_limbs;
  u32 lo, hi;  // columns wanted
};

template <class Limb, u32 R>
GPUINT_DEVICE void load_window(const Limb* at, Limb* window) {
  if constexpr (R % WORD == 0) {
    load_word(at, window);
  } else {
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < WORD; ++i) window[i] = at[i];
  }
}

// Columns c .. c + R of a * b.
template <class Limb, u32 R>
GPUINT_DEVICE void product_tile(const Factors<Limb>& f, u32 c, Tile<Limb, R>& tile) {
  // Rows whose window meets b: c - i - 3 < b_limbs and c - i + R > 0. The window stays within
  // max_of(R, WORD) limbs of b.
  const u32 first = c + WORD > f.b_limbs + 2 ? round_up(c - min_of(c, f.b_limbs + 2), WORD) : 0;
  const u32 end = min_of(f.a_limbs, c + R);
  if (first >= end) return;
  const Limb* b = f.b + (i32(c) - i32(first));
  if constexpr (R <= WORD) {
    Limb window[R + WORD];
    GPUINT_UNROLL(R)
    for (u32 r = 0; r < R; ++r) window[WORD + r] = b[r];
    for (u32 i = first; i < end; i += WORD) {
      Limb a[WORD];
      load_word(f.a + i, a);
      b -= WORD;
      load_window<Limb, R>(b, window);
      tile.add_rows(a, window);
      GPUINT_UNROLL(R)
      for (u32 r = R; r > 0; --r) window[WORD + r - 1] = window[r - 1];
    }
  } else {
    // The words of a wide window are not moved: the lowest one is always the previous highest one.
    constexpr u32 WORDS = R / WORD + 1;
    Limb words[WORDS][WORD];
    GPUINT_UNROLL(WORDS)
    for (u32 w = 1; w < WORDS; ++w) load_word(b + (w - 1) * WORD, words[w]);
    u32 i = first;
    const auto add_word = [&](u32 turn) {
      Limb a[WORD], window[R + WORD];
      load_word(f.a + i, a);
      i += WORD;
      b -= WORD;
      const u32 lowest = (WORDS - turn) % WORDS;
      load_word(b, words[lowest]);
      GPUINT_UNROLL(R + WORD)
      for (u32 r = 0; r < R + WORD; ++r) window[r] = words[(lowest + r / WORD) % WORDS][r % WORD];
      tile.add_rows(a, window);
    };
    GPUINT_UNROLL(1)
    while (i + (WORDS - 1) * WORD < end) {
      GPUINT_UNROLL(WORDS)
      for (u32 turn = 0; turn < WORDS; ++turn) add_word(turn);
    }
    GPUINT_UNROLL(WORDS)
    for (u32 turn = 0; turn + 1 < WORDS; ++turn)
      if (i < end) add_word(turn);
  }
}

// Columns c .. c + 4 of a * a. With words I + J in front, every pair of words I != J counts twice,
// so the tile adds the pairs below the diagonal, doubles, and adds the diagonal word. This takes
// half the products of `product_tile`, plus one word.
template <class Limb>
GPUINT_DEVICE void square_tile(const Factors<Limb>& f, u32 c, Tile<Limb, WORD>& tile) {
  const u32 word = c / WORD;
  const u32 diagonal = word / 2;
  const u32 words = f.a_limbs / WORD;
  const u32 first = word + 1 > words ? word - words : 0;
  Limb a[WORD], window[2 * WORD];
  const auto limbs_of = [&](u32 w, Limb* to) {
    if (w < words)
      load_word(f.a + w * WORD, to);
    else
      to[0] = to[1] = to[2] = to[3] = 0;
  };
  const auto zero = [](Limb* to) { to[0] = to[1] = to[2] = to[3] = 0; };
  if (first > diagonal || diagonal >= words) return;
  limbs_of(word - first, window + WORD);
  for (u32 i = first; i < diagonal; ++i) {
    load_word(f.a + i * WORD, a);
    limbs_of(word - 1 - i, window);
    tile.add_rows(a, window);
    GPUINT_UNROLL(4)
    for (u32 r = 0; r < WORD; ++r) window[WORD + r] = window[r];
  }
  // The pairs (I, word - I) and (I, word - 1 - I) with I >= diagonal remain: for an even word only
  // (diagonal, diagonal); for an odd one (diagonal, diagonal + 1), which counts twice, and the
  // upper part of (diagonal, diagonal).
  load_word(f.a + diagonal * WORD, a);
  if (word % 2 == 0) {
    tile.twice();
    limbs_of(diagonal, window + WORD);
    zero(window);
    tile.add_rows(a, window);
  } else {
    zero(window);
    tile.add_rows(a, window);
    tile.twice();
    zero(window + WORD);
    limbs_of(diagonal, window);
    tile.add_rows(a, window);
  }
}

// Deals the tiles of `width` columns to the group, backwards in every second round if `zigzag`, and
// writes them to `out` (Sign::Plus) or subtracts them from it. RESUMED: they are added to the
// columns that a call of the same width stored, by the same threads.
template <Sign SIGN, u32 R, bool RESUMED = false, class Limb, class G, class Compute>
GPUINT_DEVICE Columns<Limb> deal_tiles(const G& group, u32 width, bool zigzag, Limb* out,
                                       Limb* overflow, Compute compute) {
  const u32 tiles = width / R;
  bool backwards = false;
  for (u32 base = 0; base < tiles; base += G::THREADS) {
    const u32 t = base + (backwards ? G::THREADS - 1 - group.rank : group.rank);
    backwards = zigzag && !backwards;
    if (t >= tiles) continue;
    Tile<Limb, R> tile;
    if constexpr (RESUMED) {
      Limb stored[R];
      GPUINT_UNROLL(R)
      for (u32 r = 0; r < R; ++r) stored[r] = out[t * R + r];
      tile.resume(stored, overflow + 2 * t);
    }
    compute(t * R, tile);
    Limb limbs[R + 2];
    tile.sum(limbs);
    if constexpr (SIGN == Sign::Minus) {
      u32 borrow = 0;
      GPUINT_UNROLL(R)
      for (u32 r = 0; r < R; ++r) limbs[r] = sub_borrow(out[t * R + r], limbs[r], borrow);
      // The top limb of a tile's product is far from full, so the borrow fits on top of the
      // overflow.
      limbs[R] = add_carry(limbs[R], Limb(0), borrow);
      if (borrow != 0) GPUINT_RARE(BorrowBeyondTile);
      GPUINT_ASSERT(limbs[R + 1] + u64(borrow) < u64(1) << LimbTraits<Limb>::BITS,
                    "a tile's overflow has two limbs");
      limbs[R + 1] = static_cast<Limb>(limbs[R + 1] + borrow);
    }
    if constexpr (R % WORD == 0) {
      GPUINT_UNROLL(R)
      for (u32 r = 0; r < R; r += WORD) store_word(out + t * R + r, limbs + r);
    } else {
      GPUINT_UNROLL(R)
      for (u32 r = 0; r < R; ++r) out[t * R + r] = limbs[r];
    }
    overflow[2 * t] = limbs[R];
    overflow[2 * t + 1] = limbs[R + 1];
  }
  return {out, overflow, width, R == 2 ? 1u : R == 4 ? 2u : 3u};
}

// Shared memory of a strategy within a kernel's arena.
template <class Limb, u32 LIMBS_>
struct Scratch {
  static constexpr u32 LIMBS = LIMBS_;
  Limb* at;  // aligned to a word
};

// The classical strategy, with tiles of at most WIDEST columns. `out` holds hi - lo limbs,
// `overflow` holds overflow_limbs(..) for the widest product that the caller makes. Needs a barrier
// before (operands written) and after (out read).
template <u32 WIDEST>
struct ClassicalTiles {
  // True for strategies that read a word of zeros below both factors and PAD_ABOVE zeros above.
  static constexpr bool PADDED = false;
  // Limbs of zeros on both sides of the second operand of whole rows.
  static constexpr u32 ROW_PAD = max_of(WIDEST, PAD);
  // Limbs that `overflow` must hold for products of a division with this number of columns.
  __host__ __device__ static constexpr u32 overflow_limbs(u32 width) {
    return gpuint::overflow_limbs(width);
  }

  // Limbs of scratch for products of an operand of at most `operand` limbs by another, to at most
  // `width` columns, in a kernel whose groups take `taken` bytes of shared memory besides; a whole
  // number of words.
  template <class S>
  __host__ __device__ static constexpr u32 scratch_limbs(u32, u32, u32) {
    return 0;
  }

  template <class Limb, class G, class Scratch>
  GPUINT_DEVICE static Columns<Limb> multiply(const G& group, const Factors<Limb>& f, Limb* out,
                                              Limb* overflow, u32 overflow_capacity,
                                              const Scratch&) {
    return run<Sign::Plus>(group, f, out, overflow, overflow_capacity);
  }

  // Adds the columns of a * b to the columns stored by `multiply`, whose carries are not resolved
  // yet. The sum of the rows of all products is below B (see `run`).
  template <class Limb, class G>
  GPUINT_DEVICE static Columns<Limb> add(const G& group, const Factors<Limb>& f, Limb* out,
                                         Limb* overflow, u32 overflow_capacity) {
    return run<Sign::Plus, true>(group, f, out, overflow, overflow_capacity);
  }

  // out -= the columns lo .. hi of a * b, to be read as a difference.
  template <class Limb, class G, class Scratch>
  GPUINT_DEVICE static Columns<Limb> subtract(const G& group, const Factors<Limb>& f, Limb* out,
                                              Limb* overflow, u32 overflow_capacity,
                                              const Scratch&) {
    return run<Sign::Minus>(group, f, out, overflow, overflow_capacity);
  }

  // Columns lo .. hi of a * a; b is not used.
  template <class Limb, class G, class Scratch>
  GPUINT_DEVICE static Columns<Limb> square(const G& group, const Factors<Limb>& f, Limb* out,
                                            Limb* overflow, const Scratch&) {
    return deal_tiles<Sign::Plus, 4>(
        group, f.hi - f.lo, f.hi <= f.a_limbs, out, overflow,
        [&](u32 k, Tile<Limb, 4>& tile) { square_tile<Limb>(f, f.lo + k, tile); });
  }

 private:
  template <Sign SIGN, bool RESUMED = false, class Limb, class G>
  GPUINT_DEVICE static Columns<Limb> run(const G& group, const Factors<Limb>& f, Limb* out,
                                         Limb* overflow, u32 overflow_capacity) {
    const u32 width = f.hi - f.lo;
    GPUINT_ASSERT(f.lo <= f.hi && (f.lo | f.hi | f.a_limbs | f.b_limbs) % WORD == 0,
                  "bounds of products are whole words");
    GPUINT_ASSERT(u64(min_of(f.a_limbs, f.b_limbs)) + WORD < u64(1) << LimbTraits<Limb>::BITS,
                  "a tile's sum has R + 2 limbs");
    if constexpr (WIDEST > 4)
      if (width >= 2 * WIDEST * G::THREADS)
        return deal_tiles<SIGN, WIDEST, RESUMED>(group, width, true, out, overflow,
                                                 [&](u32 k, Tile<Limb, WIDEST>& tile) {
                                                   product_tile<Limb, WIDEST>(f, f.lo + k, tile);
                                                 });
    // A small product leaves threads of a block idle; within a warp narrow tiles only cost
    // instructions.
    if (!G::IN_WARP && width <= 2 * G::THREADS && width <= overflow_capacity)
      return deal_tiles<SIGN, 2, RESUMED>(
          group, width, true, out, overflow,
          [&](u32 k, Tile<Limb, 2>& tile) { product_tile<Limb, 2>(f, f.lo + k, tile); });
    const bool rises = f.lo < min_of(f.a_limbs, f.b_limbs);
    const bool falls = f.hi > max_of(f.a_limbs, f.b_limbs);
    return deal_tiles<SIGN, 4, RESUMED>(
        group, width, !(rises && falls), out, overflow,
        [&](u32 k, Tile<Limb, 4>& tile) { product_tile<Limb, 4>(f, f.lo + k, tile); });
  }
};

}  // namespace gpuint
