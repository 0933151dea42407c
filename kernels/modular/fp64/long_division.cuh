// Long division by digits of 48 bits on the FP64 multipliers, a divisor to a thread: the leading
// digits of a reciprocal.
//
// Of R_0 = G^D / 2 by V in [G^D / 2, G^D), G = 2^48, D digits: for i = 1 .. STEPS
//     T = R_(i-1) G,   q_i with T / V - 2 < q_i <= T / V,   R_i = T - q_i V in [0, 2 V).
// Nothing is compared: a q_i is below 2^49, and Q, the sum of q_i G^(STEPS - i), is resolved in the
// end. With y = G^D / (2 V):
//     0 <= y G^STEPS - Q < 2.
//
// N = -R is kept in columns, to which q_i V is added as halves at 2^48 (digits.cuh): 2^100 in place
// of 2^104. A column goes up a place with every step and ends in place D, which is added to place D
// - 1. It gets less than 2^48 + 2^49 in each of D places: |column| < 2^56. A column in place j has
// j + 1 low and j high parts, so its constants follow from the place.
//
// Estimate. r, of the top three columns, and 1 / V, of the top two digits, have relative errors
// below 2^-52; the rest is less than 2^-80. So r / V < 2^49 is off by less than 1/2, and
// floor(r / V - 1/2) is q_i.
#pragma once
#include "modular/fp64/digits.cuh"

namespace gpuint::fp64 {

template <u32 D, u32 STEPS>
struct LongDivision {
  static constexpr u32 BITS = 48;
  static constexpr double BASE = 281474976710656.0;  // 2^48
  static constexpr double TWO_100 = TWO_52 * BASE;
  static constexpr u64 HIGH_48 = 0x463ull << DIGIT_BITS;  // exponent of a double in [2^100, 2^101)
  static_assert(D >= 3 && D < 64, "three columns to estimate from, and the bound of a column");

  // q_1 .. q_STEPS to `quotient`, for the digits of V.
  GPUINT_DEVICE static void divide(const double (&v)[D], const Place& quotient) {
    const double inverse = 1.0 / (v[D - 1] + v[D - 2] * (1 / BASE));
    u64 column[D];
    GPUINT_UNROLL()
    for (u32 j = 0; j < D; ++j) column[j] = constants(j) - (j == D - 1 ? 1ull << (BITS - 1) : 0);
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < STEPS; ++i) {
      const auto value = [&](u32 j) {
        return static_cast<double>(static_cast<i64>(column[j] - constants(j)));
      };
      const double r = -(value(D - 1) * BASE + (value(D - 2) + value(D - 3) * (1 / BASE)));
      const double estimate = __fma_rz(r, inverse, TWO_52 - 0.5) - TWO_52;
      const double q = estimate > 0 ? estimate : 0;
      quotient[i] = to_integer(q);
      Halves product = multiply(q, v[D - 1]);
      const u64 top = column[D - 1] + product.high;
      GPUINT_UNROLL()
      for (u32 j = D - 1; j > 0; --j) {
        const u64 low = product.low;
        product = multiply(q, v[j - 1]);
        column[j] = column[j - 1] + low + product.high;
      }
      column[0] = product.low;
      column[D - 1] += (top - D * (LOW + HIGH_48)) << BITS;
    }
  }

  // Replaces the quotient digits by the digits of Q - `less`.
  GPUINT_DEVICE static void resolve(const Place& quotient, u32 less) {
    i64 carry = -static_cast<i64>(less);
    GPUINT_UNROLL(1)
    for (u32 i = STEPS; i-- > 0;) {
      carry += static_cast<i64>(quotient[i]);
      quotient[i] = static_cast<u64>(carry) & ((1ull << BITS) - 1);
      carry >>= BITS;
    }
    GPUINT_ASSERT(carry == 0, "Q <= G^STEPS");
  }

  // The 32 bits from bit `bit` on of resolved digits.
  GPUINT_DEVICE static u32 limb_at(const Place& quotient, u32 bit) {
    const u32 digit = STEPS - 1 - bit / BITS, shift = bit % BITS;
    const u64 above = shift > BITS - 32 ? quotient[digit - 1] << (BITS - shift) : 0;
    return static_cast<u32>(quotient[digit] >> shift | above);
  }

 private:
  // The constants of a column in place j.
  GPUINT_DEVICE static constexpr u64 constants(u32 j) { return (j + 1) * LOW + j * HIGH_48; }

  GPUINT_DEVICE static Halves multiply(double a, double b) {
    const double h = __fma_rz(a, b, TWO_100);
    const double l = __fma_rz(a, b, (TWO_100 + TWO_52) - h);
    return {pattern(h), pattern(l)};
  }
};

}  // namespace gpuint::fp64
