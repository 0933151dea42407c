// One block of quotient: the Barrett estimate and the remainder it leaves.
//
// For 0 <= R < 2^e v beta^t, e <= 8, and the top t + 1 words Yb of the reciprocal:
//     Rh = floor(R 2^(s+1) / beta^(n-1))                      t + 2 words, one guard word below V
//     Q  = floor(Rh Yb / beta^(t+2)), from columns >= t only  two guard words
//     R' = R - Q v, columns 0 .. n only
//
// Theorem. 0 <= R' < (1 + delta) v with delta < (t + 2 + 6 * 2^e) / beta < 2^-40.
// Proof. R / v = (R 2^(s+1) / beta^n) y with y = beta^n / (2V) <= 1. Every truncation goes down, so
// Q <= R / v. Losses: the fraction of Rh less than y / beta; the reciprocal, below y by less than 3
// / beta^(t+1) with its prefix taken, against R 2^(s+1) / beta^n < 2^(e+1) beta^t: less than 6 *
// 2^e / beta; the dropped columns less than (t + 1) / beta; the floor less than 1. QED.
//
// So a block needs no correction: R' < 2v, and with the next t words of the dividend below it again
// R < 2 v beta^t, e = 1. Only after the last block may one subtraction of v remain. Q < 2^e beta^t:
// its top word is a carry, and 0 except for rare remainders. The first block's R may have a few
// bits more (e = 8), so that a quotient a few bits longer than its blocks takes no further block.
//
// R' has n words if v has a leading zero bit, and n + 1 otherwise.
#pragma once
#include "core/abi.cuh"
#include "core/bounds.cuh"
#include "core/carry.cuh"
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"
#include "div/divisor.cuh"
#include "div/stores.cuh"

namespace gpuint {

// R < 2^e v beta^t.
template <class S, class Arena, class Remainder>
GPUINT_DEVICE bool in_block(const Arena& arena, const NormalizedDivisor<S>& divisor, u32 t,
                            Remainder remainder, u32 e) {
  using Limb = typename S::Limb;
  const i32 n = static_cast<i32>(divisor.words * WORD);
  return is_below_multiple<Limb>(
      [&](u32 i) { return remainder(static_cast<i32>(i + t * WORD)); },
      [&](i32 i) { return i >= 0 && i < n ? arena.divisor_at_rest()[i] : Limb(0); },
      divisor.words * WORD + WORD, e);
}

// The contract of refine.cuh for p words of the reciprocal, checked if that is cheap enough. (Two
// words are the seed.)
template <class S, class Arena>
GPUINT_DEVICE bool is_reciprocal(const Arena& arena, const NormalizedDivisor<S>& divisor, u32 p) {
  using Limb = typename S::Limb;
  const u32 limbs = p * WORD, n = divisor.words * WORD;
  if (limbs * n > CHECKED_PRODUCTS) return true;
  const auto v = [&](i32 i) { return i >= 0 ? arena.divisor_at_rest()[i] : Limb(0); };
  return strictly_below_reciprocal<Limb>(
      [&](u32 i) { return arena.y_end[static_cast<i32>(i) - static_cast<i32>(limbs)]; }, limbs,
      [&](u32 i) { return shifted_limb<Limb>(v, static_cast<i32>(i), divisor.to_double()); }, n,
      p == 2 ? 3 : 2);
}

// Returns false if no number with this word at limb k is R - v, for R < (1 + 2^-40) v after a block
// and for R < 2v otherwise.
template <class S>
GPUINT_DEVICE bool is_left_over(const NormalizedDivisor<S>& divisor, const typename S::Limb* word,
                                u32 k, bool after_block) {
  const u32 bits = bits_of_word(word, k),
            v_bits = divisor.words * NormalizedDivisor<S>::WORD_BITS - divisor.zero_bits;
  return bits == 0 || bits + (after_block ? 41 : 0) <= v_bits;
}

// Writes Q in t + 1 words to arena.out + 2 words; returns whether the top one is not zero.
// `remainder(i)` returns limb i of R for every i, with zero outside. If the arena does not keep
// them, it loads the reciprocal before the product and the divisor after it; otherwise the
// reciprocal must be visible to all threads. On return Q and the divisor are visible.
template <class S, class M, class Arena, class G, class Remainder>
GPUINT_DEVICE bool estimate_quotient(G& group, const Arena& arena,
                                     const NormalizedDivisor<S>& divisor, u32 t,
                                     Remainder remainder, [[maybe_unused]] u32 e = 1) {
  using Limb = typename S::Limb;
  const i32 from = static_cast<i32>((divisor.words - 1) * WORD);
  const u32 window = (t + 2) * WORD;
  GPUINT_ASSERT(group.rank != 0 || in_block<S>(arena, divisor, t, remainder, e),
                "R < 2^e v beta^t");
  arena.bring_reciprocal(group, t + 1);
  stage<Limb, Arena::ABOVE>(group, arena.b, window, [&](i32 j) {
    return shifted_limb<Limb>(remainder, from + j, divisor.to_double());
  });
  group.sync();
  GPUINT_ASSERT(group.rank != 0 || is_reciprocal(arena, divisor, t + 1),
                "a strict underestimate, by less than 2");
  const auto product = M::template multiply<Limb>(
      group,
      {arena.y_end - (t + 1) * WORD, (t + 1) * WORD, arena.b, window, t * WORD, (2 * t + 3) * WORD},
      arena.out, arena.overflow, Arena::OVERFLOW, arena.scratch);
  group.sync();
  arena.bring_divisor(group, divisor);
  if (M::PADDED && group.rank == 0) {  // above Q
    clear_word(arena.out + (t + 3) * WORD);
    clear_word(arena.out + (t + 4) * WORD);
  }
  resolve<Sign::Plus, LocalCarry::Binary, Limb, DIVISION_CHUNK>(
      group, product.width, [&](u32 k, Limb(&x)[DIVISION_CHUNK]) { return product.read(k, x); },
      [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
        GPUINT_UNROLL(DIVISION_CHUNK)
        for (u32 i = 0; i < DIVISION_CHUNK; i += WORD)
          if (M::PADDED && k + i < 2 * WORD)
            clear_word(arena.out + k + i);  // below Q
          else if (k + i < product.width)
            store_word(arena.out + k + i, x + i);
      });
  group.sync();
  GPUINT_ASSERT(is_carry(arena.out + (t + 2) * WORD, (1 << e) - 1), "Q < 2^e beta^t");
  return arena.out[(t + 2) * WORD] != 0;
}

// r -= Q v to n + 1 words at `to`, which may be r; both in shared memory. The top one is computed
// if the result may reach it. Has barriers on both sides.
template <class S, class M, class Arena, class G>
GPUINT_DEVICE void subtract_product(G& group, const Arena& arena,
                                    const NormalizedDivisor<S>& divisor, u32 quotient_words,
                                    typename S::Limb* r, typename S::Limb* to) {
  using Limb = typename S::Limb;
  const u32 n = divisor.words, words = divisor.zero_bits == 0 ? n + 1 : n;
  const auto difference = M::template subtract<Limb>(
      group, {arena.out + 2 * WORD, quotient_words * WORD, arena.v, n * WORD, 0, words * WORD}, r,
      arena.overflow, Arena::OVERFLOW, arena.scratch);
  group.sync();
  if (words == n && group.rank == 0) clear_word(to + n * WORD);
  resolve<Sign::Minus, LocalCarry::Binary, Limb, DIVISION_CHUNK>(
      group, difference.width,
      [&](u32 k, Limb(&x)[DIVISION_CHUNK]) { return difference.template read<Sign::Minus>(k, x); },
      [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
        GPUINT_UNROLL(DIVISION_CHUNK)
        for (u32 i = 0; i < DIVISION_CHUNK; i += WORD)
          if (k + i < difference.width) store_word(to + k + i, x + i);
      });
  group.sync();
}

// The last step of a division: returns whether r >= v, and if so subtracts v from r. r has n + 1
// words, is below 2v, and must be visible to all threads. `after_block`: r is the result of a
// block, and nearly below v (only for the assertion).
template <class S, class Arena, class G>
GPUINT_DEVICE bool correct_remainder(G& group, const Arena& arena,
                                     const NormalizedDivisor<S>& divisor, typename S::Limb* r,
                                     [[maybe_unused]] bool after_block = false) {
  using Limb = typename S::Limb;
  const u32 count = (divisor.words + 1) * WORD;
  const auto difference = [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
    u32 borrow = 0;
    GPUINT_UNROLL(DIVISION_CHUNK)
    for (u32 i = 0; i < DIVISION_CHUNK; i += WORD) {
      Limb minuend[WORD] = {}, subtrahend[WORD] = {};
      if (k + i < count) {
        load_word(r + k + i, minuend);
        load_word(arena.v + k + i, subtrahend);
      }
      GPUINT_UNROLL(4)
      for (u32 j = 0; j < WORD; ++j) x[i + j] = sub_borrow(minuend[j], subtrahend[j], borrow);
    }
    return borrow;
  };
  const bool less = resolve<Sign::Minus, LocalCarry::Binary, Limb, DIVISION_CHUNK>(
                        group, count, difference, [](u32, Limb(&)[DIVISION_CHUNK]) {}) != 0;
  if (less) return false;
  if (group.rank == 0) GPUINT_RARE(LastSubtraction);
  resolve<Sign::Minus, LocalCarry::Binary, Limb, DIVISION_CHUNK>(
      group, count, difference, [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
        GPUINT_ASSERT(is_left_over(divisor, x, k, after_block), "R < (1 + delta) v after a block");
        GPUINT_UNROLL(DIVISION_CHUNK)
        for (u32 i = 0; i < DIVISION_CHUNK; i += WORD)
          if (k + i < count) store_word(r + k + i, x + i);
      });
  group.sync();
  return true;
}

// A quotient of `length` >= 1 words in blocks of at most `longest`: below 2^8 beta^length. The
// dividend is at arena.u,
// with zeros up to length + n + 1 words, and is reduced there.
//   reciprocal(p)           writes p words of the reciprocal; called once, and a barrier follows.
//   quotient()              the quotient's row in global memory, or null.
//   place(window, is_last)  the place of a block's remainder, n + 1 words below 2v: its window,
//                           except possibly for the last one.
// They are called when they are needed: pointers kept from block to block would cost registers.
template <class S, class M, class Arena, class G, class Reciprocal, class Quotient, class Place>
GPUINT_DEVICE void divide_in_blocks(G& group, const Arena& arena,
                                    const NormalizedDivisor<S>& divisor, u32 length, u32 longest,
                                    Reciprocal reciprocal, Quotient quotient, Place place) {
  using Limb = typename S::Limb;
  const u32 blocks = ceil_div(length, longest);
  const u32 t = ceil_div(length, blocks);
  reciprocal(t + 1);
  // The last block has the rest: it may cut the reciprocal off.
  bool first = true;
  for (u32 position = length; position > 0; first = false) {
    const u32 size = min_of(t, position);
    position -= size;
    Limb* const window = arena.u + position * WORD;
    const auto remainder = [&](i32 i) { return i >= 0 ? window[i] : Limb(0); };
    const bool carry =
        estimate_quotient<S, M>(group, arena, divisor, size, remainder, first ? 8 : 1);
    write_quotient<S>(group, quotient(), position, position + size + (first ? 1 : 0),
                      arena.out + 2 * WORD);
    if (carry && !first && group.rank == 0) GPUINT_RARE(QuotientCarry);
    if (carry && !first) increment<S>(group, quotient(), (position + size) * WORD);
    subtract_product<S, M>(group, arena, divisor, carry ? size + 1 : size, window,
                           place(window, position == 0));
  }
}

// A whole quotient of `length` words as one block, and the remainder: to out[0] and out[1], unless
// null. `dividend(i)` returns limb i of the dividend for every i. `reciprocal(p)` is called at most
// once, before the arena's second operand is in use, and writes p words of the reciprocal; a
// barrier follows.
template <class S, class M, class Arena, class G, class Dividend, class Reciprocal>
GPUINT_DEVICE void divide_in_one_block(G& group, const Arena& arena,
                                       const NormalizedDivisor<S>& divisor, u32 length,
                                       Dividend dividend, Reciprocal reciprocal, const Operands& o,
                                       u64 row) {
  using Limb = typename S::Limb;
  Limb* const r = arena.b;
  if (length > 0) {
    reciprocal(length + 1);
    const bool carry = estimate_quotient<S, M>(group, arena, divisor, length, dividend);
    if (carry && group.rank == 0) GPUINT_RARE(WholeQuotientCarry);
    write_quotient<S>(group, output_row<S>(o, 0, row), 0, length + 1, arena.out + 2 * WORD);
    write_quotient<S>(group, output_row<S>(o, 0, row), length + 1, S::WORDS, nullptr);
    // The window of the estimate is no longer needed, and the bottom of the dividend overwrites it.
    copy_low(group, dividend, divisor.words, r);
    group.sync();
    subtract_product<S, M>(group, arena, divisor, carry ? length + 1 : length, r, r);
  } else {
    write_quotient<S>(group, output_row<S>(o, 0, row), 0, S::WORDS, nullptr);
    copy_low(group, dividend, divisor.words, r);
    group.sync();
  }
  if (correct_remainder<S>(group, arena, divisor, r, length > 0))
    increment<S>(group, output_row<S>(o, 0, row), 0);
  copy_out<S>(group, r, divisor.words * WORD, output_row<S>(o, 1, row));
}

}  // namespace gpuint
