// A short block of quotient in registers: 8 limbs of it from a reciprocal of 9, in base B = 2^32.
// It is the block of quotient.cuh with its own bounds, for the form of division in which a lane
// computes all of its estimate (div/lanes/division.cuh).
//
//     Y  = B^19 / (2D) or less,  D the top 10 limbs of V = v 2^s, plus 1   (Newton, 9 limbs)
//     Rh = floor(R 2^(s+1) / B^(n-1)),   10 limbs, the top one at most 3
//     Q  = floor(Rh Y / B^10) from columns >= 8
//     R <- (R - Q v) B^8 + next 8 limbs of u.
//
// Theorem. 0 < B^9 B^n / (2V) - Y < 32, and for 0 <= R < 2 v B^8: 0 <= R - Q v < (1 + 256/B) v.
// Proof. The first part is shown at short_reciprocal. R / v = (R 2^(s+1) / B^n) y with y <= 1: the
// fraction of Rh costs less than 1/B, the reciprocal against R 2^(s+1) / B^n < 4 B^8 less than
// 128/B, the dropped columns less than 9/B, the floor less than 1. QED. So no block needs a
// correction, and one subtraction at most remains at the end, as in quotient.cuh.
#pragma once
#include "core/bounds.cuh"
#include "core/limbs.cuh"
#include "core/ptx.cuh"

namespace gpuint {

constexpr u32 SHORT_BLOCK = 8;

// Columns FROM .. TO of a b, modulo B^TO; limb k of their sum is at sum[k - FROM].
template <u32 FROM, u32 TO, u32 A, u32 C>
GPUINT_DEVICE void product_columns(const u32 (&a)[A], const u32 (&b)[C], u32 (&sum)[TO - FROM]) {
  // Even and odd columns separately.
  u32 even[TO - FROM] = {}, odd[TO - FROM] = {};
  GPUINT_UNROLL()
  for (u32 j = 0; j < A; ++j) {
    const u32 first = j < FROM ? FROM : j;
    const u32 end = j + C < TO ? j + C : TO;
    GPUINT_UNROLL()
    for (u32 parity = 0; parity < 2; ++parity) {
      u32* const to = (first + parity - FROM) % 2 == 0 ? even : odd;
      GPUINT_UNROLL()
      for (u32 k = first + parity; k < end; k += 2) {
        if (k == first + parity)
          ptx::mad_lo_cc(to[k - FROM], a[j], b[k - j]);
        else
          ptx::madc_lo_cc(to[k - FROM], a[j], b[k - j]);
        if (k + 1 < TO) ptx::madc_hi_cc(to[k + 1 - FROM], a[j], b[k - j]);
        // A later row is the first to reach the limb.
        if (k + 2 == end && end < TO) ptx::addc(to[end - FROM], 0);
      }
    }
  }
  ptx::add_cc(even[0], odd[0]);
  GPUINT_UNROLL()
  for (u32 k = 1; k < TO - FROM; ++k) ptx::addc_cc(even[k], odd[k]);
  GPUINT_UNROLL()
  for (u32 k = 0; k < TO - FROM; ++k) sum[k] = even[k];
}

// A step of Newton's iteration for x = B^10 / (2e), B^10 / 2 < e < B^10: from X of P limbs, an
// underestimate of x B^P by eta, to Y of Q limbs. d = the top Q + 1 limbs of e, L = Q - P + 1.
//     H = floor(X d / B^(P+1)) from columns >= P
//     E = B^Q / 2 - H - (P + 3)
//     Y = X B^(Q-P) + floor(2 E X / B^P) from columns >= P - 1 of 2E and X.
//
// Theorem. If 2^-20 < eta < B / 2, then 1/2 < x B^Q - Y < 2 eta^2 / B^(2P-Q) + 3 P + 8.
// Proof. Let t = X e / B^(9-Q) and F = B^(P+Q+1) / 2 - t. As e / B^(9-Q) = B^(Q+1) / (2x), F is eta
// B^(Q+1) / (2x), and Y would be x B^Q - eta^2 B^(Q-2P) / x for E = F / B^(P+1), without the floor.
// There are at most P products in a column, so the columns left out of H are less than P (1 + 2/B)
// B^(P+1), and the limbs left out of e less than B^P in t. Hence H <= t / B^(P+1) < H + P + 2, and
//     F / B^(P+1) - (P + 3) <= E < F / B^(P+1) - 1.
// F / B^(P+1) > eta B^(Q-P) / 2 is above P + 3, hence E >= 0; it is below eta B^(Q-P), hence 2E <
// B^L. E's error costs Y more than 2 X / B^P > 1/2 and at most 2 P + 6, the columns left out of the
// second product less than P + 1, the floor less than 1. QED.
template <u32 P, u32 Q>
GPUINT_DEVICE void improve_reciprocal(const u32 (&e)[10], const u32 (&x)[P], u32 (&y)[Q]) {
  constexpr u32 L = Q - P + 1;
  u32 d[Q + 1], product[L + 1], error[L], sum[L + 1];
  GPUINT_UNROLL()
  for (u32 i = 0; i <= Q; ++i) d[i] = e[9 - Q + i];
  product_columns<P, P + 1 + L>(x, d, product);
  u32 borrow = 0;
  GPUINT_UNROLL()
  for (u32 i = 0; i < L; ++i) error[i] = sub_borrow(~product[i + 1], i == 0 ? P + 2 : 0, borrow);
  GPUINT_ASSERT(error[L - 1] >> 31 == 0, "0 <= 2E < B^L");
  GPUINT_UNROLL()
  for (u32 i = L; i-- > 0;)
    error[i] = i > 0 ? __funnelshift_l(error[i - 1], error[i], 1) : error[i] << 1;
  product_columns<P - 1, P + L>(x, error, sum);
  u32 carry = 0;
  GPUINT_UNROLL()
  for (u32 i = 0; i < Q; ++i)
    y[i] = add_carry(i < Q - P ? 0 : x[i - (Q - P)], i < L ? sum[i + 1] : 0, carry);
  GPUINT_ASSERT(carry == 0, "Y < x B^Q");
}

// Y, from the top limbs of a divisor of n limbs and s leading zero bits: limb_of(i) returns limb i
// for i < n, zero below 0.
//
// Theorem. 0 < B^9 B^n / (2V) - Y < 32.
// Proof. e = D, or B^10 - 1 if D is B^10. The seed's quotient is (2^127 - 2^78) / t, t of e's top
// 64 bits, with a relative error below 2^-51, so X of two limbs is an underestimate by more than
// 2^13 and less than 2^15.4. The theorem above then gives less than 15, 18 and 24 units for 3, 5
// and 9 limbs, and more than 1/2. V < D B^(n-10) <= V + B^(n-10), so x B^9 is too small by less
// than 2/B, or too large by less than 1/B if e = B^10 - 1. QED.
template <class Limb>
GPUINT_DEVICE void short_reciprocal(Limb limb_of, u32 n, u32 s, u32 (&y)[9]) {
  u32 e[10];
  u32 carry = 1;
  u32 below = limb_of(static_cast<i32>(n) - 11);
  GPUINT_UNROLL(10)
  for (u32 i = 0; i < 10; ++i) {
    const u32 limb = limb_of(static_cast<i32>(n + i) - 10);
    e[i] = add_carry(__funnelshift_l(below, limb, s), 0u, carry);
    below = limb;
  }
  if (carry != 0) GPUINT_RARE(ShortSeedOfOnes);
  GPUINT_UNROLL(10)
  for (u32 i = 0; i < 10; ++i) e[i] |= 0u - carry;
  const double top = static_cast<double>(u64(e[9]) << 32 | e[8]);
  const u64 seed = static_cast<u64>((0x1p127 - 0x1p78) / top);
  const u32 two_limbs[] = {static_cast<u32>(seed), static_cast<u32>(seed >> 32)};
  u32 three_limbs[3], five_limbs[5];
  improve_reciprocal(e, two_limbs, three_limbs);
  improve_reciprocal(e, three_limbs, five_limbs);
  improve_reciprocal(e, five_limbs, y);
}

// The theorem's bound of Y, for an assertion.
GPUINT_DEVICE bool is_short_reciprocal(const u32 (&y)[9], const u32* divisor, u32 n, u32 s) {
  const auto limb = [&](i32 i) { return i >= 0 && i < static_cast<i32>(n) ? divisor[i] : 0; };
  return strictly_below_reciprocal<u32>(
      [&](u32 i) { return y[i]; }, 9,
      [&](u32 i) { return shifted_limb<u32>(limb, static_cast<i32>(i), Distance<u32>(s + 1)); }, n,
      32);
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
  ptx::add_cc(even[0], odd[0]);
  GPUINT_UNROLL(10)
  for (u32 i = 1; i < HALF_COLUMNS; ++i) ptx::addc_cc(even[i], odd[i]);
  GPUINT_UNROLL(11)
  for (u32 i = 0; i < HALF_COLUMNS; ++i) sum[i] = even[i];
}

}  // namespace gpuint
