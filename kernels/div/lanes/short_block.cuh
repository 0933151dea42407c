// A short block of quotient in registers: 8 limbs of it from a reciprocal of 9, in base B = 2^32.
// It is the block of quotient.cuh with its own bounds, for the form of division in which a lane
// computes all of its estimate (div/lanes/division.cuh).
//
//     Y  = B^9 B^n / (2V) or less,  V = v 2^s                            (core/reciprocal.cuh)
//     Rh = floor(R 2^(s+1) / B^(n-1)),   10 limbs, the top one at most 3
//     Q  = floor(Rh Y / B^10) from columns >= 8
//     R <- (R - Q v) B^8 + next 8 limbs of u.
//
// Theorem. 0 < B^9 B^n / (2V) - Y < 24, and for 0 <= R < 2 v B^8: 0 <= R - Q v < (1 + 128/B) v.
// Proof. R / v = (R 2^(s+1) / B^n) y with y <= 1: the fraction of Rh costs less than 1/B, the
// reciprocal against R 2^(s+1) / B^n < 4 B^8 less than 96/B, the dropped columns and the carry out
// of the sum of both halves' column 8 less than 10/B, the floor less than 1. QED. So no block needs
// a correction, and one subtraction at most remains at the end, as in quotient.cuh.
#pragma once
#include "core/bounds.cuh"
#include "core/limbs.cuh"
#include "core/ptx.cuh"
#include "core/reciprocal.cuh"

namespace gpuint {

constexpr u32 SHORT_BLOCK = 8;

// Y, from the top limbs of a divisor of n limbs and s leading zero bits: limb_of(i) returns limb i
// for i < n, zero below 0.
template <class Limb>
GPUINT_DEVICE void short_reciprocal(Limb limb_of, u32 n, u32 s, u32 (&y)[9]) {
  static_assert(reciprocal_error(9) <= 24, "of the theorem");
  u32 v[10];
  u32 below = limb_of(static_cast<i32>(n) - 11);
  GPUINT_UNROLL(10)
  for (u32 i = 0; i < 10; ++i) {
    const u32 limb = limb_of(static_cast<i32>(n + i) - 10);
    v[i] = __funnelshift_l(below, limb, s);
    below = limb;
  }
  reciprocal(v, y);
}

// The theorem's bound of Y, for an assertion.
GPUINT_DEVICE bool is_short_reciprocal(const u32 (&y)[9], const u32* divisor, u32 n, u32 s) {
  const auto limb = [&](i32 i) { return i >= 0 && i < static_cast<i32>(n) ? divisor[i] : 0; };
  return strictly_below_reciprocal<u32>(
      [&](u32 i) { return y[i]; }, 9,
      [&](u32 i) { return shifted_limb<u32>(limb, static_cast<i32>(i), Distance<u32>(s + 1)); }, n,
      24);
}

// Rh Y in two halves, for two lanes: one computes the even limbs of Y and the other the odd ones,
// each from the top: y = {Y[8], Y[6], .., Y[0]} with Rh, or {Y[7], .., Y[1], 0} with Rh without its
// lowest limb. The sum of both is columns 8 .. 18 of Rh Y, and Q is at its limb 2.
constexpr u32 HALF_ROWS = 5, HALF_COLUMNS = 11;

GPUINT_DEVICE void half_estimate(const u32 (&rh)[10], const u32 (&y)[HALF_ROWS],
                                 u32 (&sum)[HALF_COLUMNS]) {
  // Even and odd columns separately. A chain ends in a high half of a product on a column that no
  // earlier row has reached, so it leaves no carry.
  u32 even[HALF_COLUMNS] = {}, odd[HALF_COLUMNS] = {};
  GPUINT_UNROLL(5)
  for (u32 i = HALF_ROWS; i-- > 0;) {
    GPUINT_UNROLL(2)
    for (u32 parity = 0; parity < 2; ++parity) {
      u32* const to = parity == 0 ? even : odd;
      GPUINT_UNROLL(5)
      for (u32 j = 2 * i + parity; j < 10; j += 2) {
        const u32 column = j - 2 * i;
        if (column == parity)
          ptx::mad_lo_cc(to[column], y[i], rh[j]);
        else
          ptx::madc_lo_cc(to[column], y[i], rh[j]);
        ptx::madc_hi_cc(to[column + 1], y[i], rh[j]);
      }
    }
  }
  ptx::add_cc(even[1], odd[1]);
  GPUINT_UNROLL(9)
  for (u32 i = 2; i < HALF_COLUMNS; ++i) ptx::addc_cc(even[i], odd[i]);
  GPUINT_UNROLL(11)
  for (u32 i = 0; i < HALF_COLUMNS; ++i) sum[i] = even[i];
}

}  // namespace gpuint
