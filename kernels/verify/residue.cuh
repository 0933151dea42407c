// Residues of rows modulo the prime p = 2^61 - 1, for checks of results.
//
// 2^61 = 1 mod p, so that a product by 2^s is a rotation of 61 bits by s mod 61: a row is folded
// without products. Values are below 2^62, not reduced to [0, p), until they are compared.
//
// An equation passes wrong results only if the difference of its sides is a multiple of p. 2^k, the
// error of a flipped bit, is none: p is an odd prime. A difference spread evenly over 2^n values, n
// >= 61, is one with probability at most 1 / p + 2^-n < 2^-60.
//
// The difference may also be 2^k y for an operand y, and numbers of a special form are multiples of
// p: 2^(61 k) - 1. There, a second prime decides: 2^32 - 5, by divisions, since it is rare.
#pragma once
#include "core/digits.cuh"
#include "core/platform.cuh"

namespace gpuint {

struct Residue {
  static constexpr u32 BITS = 61;
  static constexpr u64 P = (1ull << BITS) - 1;

  // x mod p for any x, below 2^61 + 7.
  GPUINT_DEVICE static u64 fold(u64 x) { return (x & P) + (x >> BITS); }

  // 2^s x mod p for x < 2^62 and s < 61, below 2^62: a rotation. The low 61 - s bits go up by s,
  // and the 1 + s bits above them come down to the bottom.
  GPUINT_DEVICE static u64 rotate(u64 x, u32 s) { return ((x << s) & P) + (x >> (BITS - s)); }

  // x + y mod p for x, y < 2^63, below 2^61 + 7.
  GPUINT_DEVICE static u64 add(u64 x, u64 y) { return fold(x + y); }

  // -x mod p for x < 2^62, below 2^63.
  GPUINT_DEVICE static u64 negate(u64 x) { return 4 * P - x; }

  // x y mod p for x, y < 2^62: the high word counts 8, as 2^64 = 8 mod p, and is below 2^60.
  GPUINT_DEVICE static u64 multiply(u64 x, u64 y) {
    return fold(fold(x * y) + fold(__umul64hi(x, y) << 3));
  }

  GPUINT_DEVICE static bool is_zero(u64 x) {
    x = fold(x);
    return x == 0 || x == P;
  }

  // A word of four limbs, below 2^61 + 7.
  template <class Limb>
  GPUINT_DEVICE static u64 of_word(const Limb (&word)[WORD]) {
    constexpr u32 LIMB_BITS = LimbTraits<Limb>::BITS;
    if constexpr (LIMB_BITS == 32) {
      const u64 low = u64(word[1]) << 32 | word[0], high = u64(word[3]) << 32 | word[2];
      return fold(fold(low) + rotate(fold(high), 3));
    } else {
      u64 x = 0;
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < WORD; ++i) x |= u64(word[i]) << (i * LIMB_BITS);
      return fold(x);
    }
  }
};

struct SecondResidue {
  static constexpr u64 P = (1ull << 32) - 5;

  __host__ __device__ static constexpr u64 power_of_two(u32 exponent) {
    u64 power = 1;
    for (u32 i = 0; i < exponent; ++i) power = 2 * power % P;
    return power;
  }

  template <class Limb>
  GPUINT_DEVICE static u64 of_word(const Limb (&word)[WORD]) {
    u64 x = 0;
    GPUINT_UNROLL(4)
    for (u32 i = WORD; i-- > 0;) x = (x << LimbTraits<Limb>::BITS | word[i]) % P;
    return x;
  }
};

}  // namespace gpuint
