// DivRemDigit: quotients and remainders by one number of at most 64 bits for all rows, in linear
// time.
//
// Words here have 64 bits, B = 2^64. The divisor d is normalized: D = d 2^s has its top bit set.
// Then u / d = u 2^s / D, and u 2^s is computed word by word when it is read.
//
// Two words by one (N. Moller and T. Granlund, "Improved division by invariant integers", algorithm
// 4). With the reciprocal w = floor((B^2 - 1) / D) - B, and r < D:
//     q1 B + q0 = w r + r B + x;    q = q1 + 1;    p = (x - q D) mod B;
//     if p > q0: q -= 1, p += D;    if p >= D: q += 1, p -= D.
// Then r B + x = q D + p. By their theorem 3 the candidate is too large by at most one, and then p
// > q0. The remainder is then below 2D, and rarely D or more. This takes one and a half full
// products instead of a division.
//
// A row by a group of lanes, each with a chunk of CHUNK consecutive words. With c_i the chunks from
// the top and m = B^CHUNK mod D, the remainder after chunk i is r_i = (r_(i-1) m + c_i) mod D: a
// linear recurrence, solved over the lanes in log2 steps (Kogge and Stone, with m, m^2, m^4, ..).
// Each lane computes the remainder of its own chunk. The recurrence then gives the remainder that
// comes into the chunk, with which the lane divides it. Each word is read twice and divided twice,
// for every width.
//
// Each thread computes the values that depend on d only once, for several rows.
#pragma once
#include "core/abi.cuh"
#include "core/group.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"
#include "tuning/linear.cuh"

namespace gpuint {

// D and the values that its divisions use.
struct DigitDivisor {
  u64 d;  // D, normalised
  u64 w;  // its reciprocal
  u32 s;

  GPUINT_DEVICE explicit DigitDivisor(u64 digit) {
    s = static_cast<u32>(__clzll(static_cast<i64>(digit)));
    d = digit << s;
    // w = floor(((B - 1 - D) B + B - 1) / D), a bit at a time.
    u64 r = ~d;
    w = 0;
    GPUINT_UNROLL(1)
    for (u32 bit = 0; bit < 64; ++bit) {
      const bool carry = r >> 63 != 0;
      r = r << 1 | 1;
      w <<= 1;
      if (carry || r >= d) {
        r -= d;
        w |= 1;
      }
    }
  }

  // r B + x = q D + r', r < D: the quotient; r becomes r'.
  GPUINT_DEVICE u64 divide(u64& r, u64 x) const {
    GPUINT_ASSERT(r < d, "a remainder is below the divisor");
    const u64 q0 = w * r + x;
    u64 q = __umul64hi(w, r) + r + (q0 < x ? 1 : 0) + 1;
    u64 p = x - q * d;
    if (p > q0) {
      --q;
      p += d;
    }
    if (p >= d) {
      GPUINT_RARE(DigitSecondCorrection);
      ++q;
      p -= d;
    }
    r = p;
    return q;
  }

  // a b mod D and a + b mod D, a, b < D.
  GPUINT_DEVICE u64 multiply(u64 a, u64 b) const {
    u64 r = __umul64hi(a, b);
    divide(r, a * b);
    return r;
  }
  GPUINT_DEVICE u64 add(u64 a, u64 b) const {
    const u64 sum = a + b;
    return sum < a || sum >= d ? sum - d : sum;
  }
};

// in[0] = u, params.digit = d > 0; out[0] = q or null, out[1] = one u64 a row, the remainder.
template <class S>
struct DivRemDigit {
  using Limb = typename S::Limb;
  static constexpr u32 WORDS = ceil_div(S::BITS, 64);
  static constexpr u32 LIMBS = 64 / S::LIMB_BITS;  // in a word
  using Policy = DigitDivisionPolicy;
  // Lanes of a row.
  static constexpr u32 LANES =
      min_of(32, power_of_two_at_least(ceil_div(WORDS, Policy::MIN_WORDS_PER_LANE)));
  static constexpr u32 CHUNK = ceil_div(WORDS, LANES);
  using G = Group<LANES>;
  static constexpr u32 THREADS = Policy::THREADS;
  static constexpr u32 GROUPS = THREADS / LANES;
  static constexpr u32 ROWS = Policy::ROWS_PER_GROUP * GROUPS;
  static constexpr u32 SHARED = 0;
  static constexpr u32 SCRATCH = 0;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 MIN_BLOCKS = 1;

  static __device__ void run(const Operands& o, unsigned char*) {
    G group(nullptr);
    const DigitDivisor divisor(o.params.digit);
    u64 m = 0;
    GPUINT_UNROLL(1)
    for (u32 i = 0; i <= CHUNK; ++i)
      divisor.divide(m, i == 0 ? 1 : 0);  // the digits of B^CHUNK: 1, then zeros
    for (u64 first = u64(blockIdx.x) * ROWS; first < o.rows; first += u64(gridDim.x) * ROWS)
      for (u64 row = first + G::index(); row < o.rows && row < first + ROWS; row += GROUPS)
        divide(group, divisor, m, o, row);
  }

 private:
  GPUINT_DEVICE static void divide(const G& group, const DigitDivisor& divisor, u64 m,
                                   const Operands& o, u64 row) {
    const Limb* const u = input_row<S>(o, 0, row);
    const u32 end = (LANES - group.rank) * CHUNK;  // the chunk of rank 0 is the top one
    // u 2^s may have a word more than u.
    const u64 top = shifted(divisor.s, word(u, LANES * CHUNK), word(u, LANES * CHUNK - 1));
    u64 r = group.rank == 0 ? top : 0;
    remainder_of_chunk(divisor, u, end, r);
    GPUINT_UNROLL(5)
    for (u32 distance = 1; distance < LANES; distance *= 2) {
      const u64 before = __shfl_up_sync(group.mask, r, distance, LANES);
      if (group.rank >= distance) r = divisor.add(divisor.multiply(before, m), r);
      m = divisor.multiply(m, m);
    }
    if (o.out[1] != nullptr && group.rank == LANES - 1)
      static_cast<u64*>(o.out[1])[row] = r >> divisor.s;
    if (o.out[0] == nullptr) return;
    const u64 before = __shfl_up_sync(group.mask, r, 1, LANES);
    r = group.rank == 0 ? top : before;
    Limb* const q = output_row<S>(o, 0, row);
    u64 high = word(u, end - 1);
    GPUINT_UNROLL(1)
    for (u32 i = end; i-- > end - CHUNK;) {
      const u64 low = word(u, i - 1);
      set_word(q, i, divisor.divide(r, shifted(divisor.s, high, low)));
      high = low;
    }
  }

  GPUINT_DEVICE static void remainder_of_chunk(const DigitDivisor& divisor, const Limb* u, u32 end,
                                               u64& r) {
    u64 high = word(u, end - 1);
    GPUINT_UNROLL(1)
    for (u32 i = end; i-- > end - CHUNK;) {
      const u64 low = word(u, i - 1);
      divisor.divide(r, shifted(divisor.s, high, low));
      high = low;
    }
  }

  // The upper word of high:low << s.
  GPUINT_DEVICE static u64 shifted(u32 s, u64 high, u64 low) {
    return high << s | low >> 1 >> (63 - s);
  }

  // Word i of a row; zero for i = -1 and from the row's end on.
  GPUINT_DEVICE static u64 word(const Limb* row, u32 i) {
    if constexpr (S::BITS % 64 == 0) {
      return i < WORDS ? __ldg(reinterpret_cast<const u64*>(row) + i) : 0;
    } else {
      u64 x = 0;
      GPUINT_UNROLL(4)
      for (u32 j = 0; j < LIMBS; ++j)
        if (i < WORDS && i * LIMBS + j < S::N)
          x |= u64(__ldg(row + i * LIMBS + j)) << (j * S::LIMB_BITS);
      return x;
    }
  }

  GPUINT_DEVICE static void set_word(Limb* row, u32 i, u64 x) {
    if constexpr (S::BITS % 64 == 0) {
      if (i < WORDS) reinterpret_cast<u64*>(row)[i] = x;
    } else {
      GPUINT_UNROLL(4)
      for (u32 j = 0; j < LIMBS; ++j)
        if (i < WORDS && i * LIMBS + j < S::N)
          row[i * LIMBS + j] = static_cast<Limb>(x >> (j * S::LIMB_BITS));
    }
  }
};

}  // namespace gpuint
