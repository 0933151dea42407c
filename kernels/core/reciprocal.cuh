// Reciprocals by Newton's iteration in the registers of a thread: the first limbs of 1 / V, which
// all divisions begin with. A step takes P^2 / 2 + P^2 products of limbs for a reciprocal of 2 P
// limbs, and its header below has its bound. B = 2^32.
#pragma once
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"

namespace gpuint {

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

// Limbs of the reciprocal before one of Q limbs. The seed has two, and the bound of a step from it
// needs an odd limb.
__host__ __device__ constexpr u32 limbs_before(u32 q) {
  return q <= 3 ? 2 : max_of(3, ceil_div(q, 2));
}
// Bound of eta, in units of the lowest limb.
__host__ __device__ constexpr u64 reciprocal_error(u32 q) {
  if (q == 2) return 43300;  // 2^15.4
  const u32 p = limbs_before(q);
  const u64 eta = reciprocal_error(p), square = 2 * eta * eta;
  return (2 * p == q ? square : (square >> 32) + 1) + 3 * p + 8;
}

// A step of Newton's iteration for x = B^M / (2V), V of M limbs, B^M / 2 <= V < B^M: from X of P
// limbs, an underestimate of x B^P by eta, to Y of Q limbs. d = the top Q + 1 limbs of V, L = Q - P
// + 1.
//     H = floor(X d / B^(P+1)) from columns >= P
//     E = B^Q / 2 - H - (P + 3)
//     Y = X B^(Q-P) + floor(2 E X / B^P) from columns >= P - 1 of 2E and X.
//
// Theorem. If 2^-20 < eta < B / 2, then 1/2 < x B^Q - Y < 2 eta^2 / B^(2P-Q) + 3 P + 8.
// Proof. Let t = X V B^(Q+1-M) and F = B^(P+Q+1) / 2 - t. As V B^(Q+1-M) = B^(Q+1) / (2x), F is eta
// B^(Q+1) / (2x), and Y would be x B^Q - eta^2 B^(Q-2P) / x for E = F / B^(P+1), without the floor.
// There are at most P products in a column, so the columns left out of H are less than P (1 + 2/B)
// B^(P+1), and the limbs left out of V less than B^P in t. Hence H <= t / B^(P+1) < H + P + 2, and
//     F / B^(P+1) - (P + 3) <= E < F / B^(P+1) - 1.
// F / B^(P+1) > eta B^(Q-P) / 2 is above P + 3, hence E >= 0; it is below eta B^(Q-P), hence 2E <
// B^L. E's error costs Y more than 2 X / B^P > 1/2 and at most 2 P + 6, the columns left out of the
// second product less than P + 1, the floor less than 1. QED.
template <u32 P, u32 Q, u32 M>
GPUINT_DEVICE void improve_reciprocal(const u32 (&v)[M], const u32 (&x)[P], u32 (&y)[Q]) {
  static_assert(reciprocal_error(P) < 1u << 31 && M > Q, "the theorem holds");
  constexpr u32 L = Q - P + 1;
  u32 d[Q + 1], product[L + 1], error[L], sum[L + 1];
  GPUINT_UNROLL()
  for (u32 i = 0; i <= Q; ++i) d[i] = v[M - 1 - Q + i];
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

// Y of Q limbs for V of M > Q limbs.
//
// Theorem. 1/2 < B^(M+Q) / (2V) - Y < reciprocal_error(Q).
// Proof. For Q = 2, t the top 64 bits of V, t <= V B^(2-M) < t + 1: the seed is (2^127 - 2^78) / t
// with a relative error below 2^-51, floored, so it is too small by more than 2^13 and less than
// 2^15.4. Otherwise by the theorem above. QED.
template <u32 Q, u32 M>
GPUINT_DEVICE void reciprocal(const u32 (&v)[M], u32 (&y)[Q]) {
  if constexpr (Q == 2) {
    const double top = static_cast<double>(u64(v[M - 1]) << 32 | v[M - 2]);
    const u64 seed = static_cast<u64>((0x1p127 - 0x1p78) / top);
    y[0] = static_cast<u32>(seed), y[1] = static_cast<u32>(seed >> 32);
  } else {
    u32 x[limbs_before(Q)];
    reciprocal(v, x);
    improve_reciprocal(v, x, y);
  }
}

}  // namespace gpuint
