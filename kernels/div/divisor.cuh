// The shared memory of a division and the divisor in it.
//
// Base and bounds. Lengths count words of four limbs; beta = 2^64 (16-bit limbs) or 2^128 is the
// base of a word. The divisor v has n words and s leading zero bits in the top one; V = v * 2^s is
// in [beta^n / 2, beta^n). Nothing is shifted in place: limbs of 2V = v << (s + 1) and of the
// remainder are shifted when they are read, and only the necessary prefix.
//
// The reciprocal is kept as Y ~ beta^p * beta^n / (2V), at most beta^p: half the usual one, so that
// p words hold it without a separate leading bit. Its top word has a fixed place, and it grows
// downwards.
#pragma once
#include "core/digits.cuh"
#include "core/group.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "mul/columns.cuh"

namespace gpuint {

// Limbs that a thread resolves at a time in a division: one word, since the kernels have no spare
// registers.
constexpr u32 DIVISION_CHUNK = WORD;

// Length and normalization of the divisor.
template <class S>
struct NormalizedDivisor {
  static constexpr u32 WORD_BITS = WORD * S::LIMB_BITS;
  u32 words;      // n
  u32 zero_bits;  // s

  GPUINT_DEVICE explicit NormalizedDivisor(u32 bits)
      : words(ceil_div(bits, WORD_BITS)), zero_bits(words * WORD_BITS - bits) {}

  // Quotient words of a dividend of `bits` bits: u * 2^s < beta^(n + L), so u / v < 2 * beta^L.
  GPUINT_DEVICE u32 quotient_words(u32 bits) const {
    const u32 total = ceil_div(bits + zero_bits, WORD_BITS);
    return total > words ? total - words : 0;
  }
  // Quotient words below 2^8 beta^L, for a division whose first block has some bits more; 0 only
  // if u / v < 2.
  GPUINT_DEVICE u32 quotient_blocks_words(u32 bits) const {
    const u32 length = quotient_words(bits);
    return length > 1 ? quotient_words(bits - 7) : length;
  }

  // Shift that makes v into V, and into 2V.
  GPUINT_DEVICE Distance<typename S::Limb> to_normal() const {
    return Distance<typename S::Limb>(zero_bits);
  }
  GPUINT_DEVICE Distance<typename S::Limb> to_double() const {
    return Distance<typename S::Limb>(zero_bits + 1);
  }
};

// Shared memory of a division whose quotient blocks have at most MAX_BLOCK words. DIVIDEND_WORDS
// words hold the dividend where it is reduced in place, and none where it is only read.
template <class S, class M, u32 MAX_BLOCK, u32 DIVIDEND_WORDS>
struct DivisionArena {
  using Limb = typename S::Limb;
  static constexpr u32 V = S::WORDS * WORD;
  static constexpr u32 Y = (MAX_BLOCK + 1) * WORD;
  // Second operand of a product: prefix of 2V, residual, window of the remainder. If the dividend
  // has no place, this place also holds the final remainder.
  static constexpr u32 B = max_of(MAX_BLOCK + 2, DIVIDEND_WORDS == 0 ? S::WORDS + 1 : 0) * WORD;
  // Zeros above operands; more for strategies that need both factors padded.
  static constexpr u32 ABOVE = M::PADDED ? PAD_ABOVE : PAD;
  static constexpr u32 EXTRA = M::PADDED ? PAD_ABOVE : 0;
  // Columns of the reciprocal's products and of the quotient estimate.
  static constexpr u32 OUT = (MAX_BLOCK + 3) * WORD + EXTRA;
  static constexpr u32 OVERFLOW =
      round_up(M::overflow_limbs(max_of(OUT, (S::WORDS + 1) * WORD)), WORD);
  static constexpr u32 U = DIVIDEND_WORDS * WORD;
  static constexpr u32 OWN_BYTES =
      (V + Y + B + 3 * PAD + ABOVE + 2 * EXTRA + OUT + OVERFLOW + U) * sizeof(Limb);
  static constexpr u32 SCRATCH =
      M::template scratch_limbs<S>((MAX_BLOCK + 2) * WORD, max_of(OUT, (S::WORDS + 1) * WORD),
                                   OWN_BYTES + Group<S::THREADS>::SCRATCH_BYTES);
  static constexpr u32 BYTES = OWN_BYTES + SCRATCH * sizeof(Limb);

  Limb *v, *y_end, *b, *out, *overflow, *u;
  Scratch<Limb, SCRATCH> scratch;

  template <class G>
  GPUINT_DEVICE DivisionArena(const G& group, unsigned char* arena) {
    v = reinterpret_cast<Limb*>(arena) + PAD;
    b = v + V + 2 * PAD;
    out = b + B + ABOVE;
    y_end = out + OUT + EXTRA + Y;
    overflow = y_end + EXTRA;
    u = overflow + OVERFLOW;
    scratch.at = u + U;
    if (group.rank == 0) {
      clear_word(v - PAD);
      clear_word(v + V);
      clear_word(b - PAD);
      if constexpr (M::PADDED) {
        clear_word(y_end);
        clear_word(y_end + WORD);
      }
    }
  }

  GPUINT_DEVICE const Limb* divisor_at_rest() const { return v; }

  // The divisor never moves.
  template <class G>
  GPUINT_DEVICE void bring_divisor(const G&, const NormalizedDivisor<S>&) const {}
  // Cuts the reciprocal off below its top p words, if products need zeros there.
  template <class G>
  GPUINT_DEVICE void bring_reciprocal(const G& group, u32 p) const {
    if (M::PADDED && group.rank == 0) clear_word(y_end - (p + 1) * WORD);
  }
};

// The arena of a kernel that computes the whole reciprocal and only reads the dividend.
template <class Policy>
using InverseArena =
    DivisionArena<typename Policy::Rows, typename Policy::Product, Policy::Rows::WORDS, 0>;

// The lowest n + 1 words of a number given limb by limb.
template <class Limb, class G, class F>
GPUINT_DEVICE void copy_low(const G& group, F limb, u32 n, Limb* to) {
  GPUINT_UNROLL(1)
  for (u32 k = group.rank; k < (n + 1) * WORD; k += G::THREADS) to[k] = limb(static_cast<i32>(k));
}

// Writes limbs f(0) .. f(count) to the second operand's place, with ABOVE zeros above.
template <class Limb, u32 ABOVE = PAD, class G, class F>
GPUINT_DEVICE void stage(const G& group, Limb* b, u32 count, F f) {
  GPUINT_UNROLL(1)
  for (u32 j = group.rank; j < count + ABOVE; j += G::THREADS)
    b[j] = j < count ? f(static_cast<i32>(j)) : Limb(0);
}

}  // namespace gpuint
