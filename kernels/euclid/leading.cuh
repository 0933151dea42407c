// Euclid's algorithm on the leading 64 bits of two numbers (D. H. Lehmer, "Euclid's algorithm for
// large numbers", American Mathematical Monthly 45, 1938).
//
// Let a >= b, a = x S + a', b = y S + b' with 0 <= a', b' < S. Euclid's steps on (x, y) with
// quotients q_1, q_2, .. give r_(-1) = x, r_0 = y and, with cofactors of alternating signs,
//     r_i = (-1)^(i+1) (u_i x - v_i y),    R_i = (-1)^(i+1) (u_i a - v_i b).
// Then |R_i - S r_i| < S max(u_i, v_i), and the errors of R_i and R_(i+1) have opposite signs, so
//     r_(i+1) >= max(u, v)_(i+1)                               gives R_(i+1) >= 0,
//     r_i - r_(i+1) >= max(u_i + u_(i+1), v_i + v_(i+1))       gives R_(i+1) < R_i:
// the step is one of Euclid's on (a, b), too (G. E. Collins' condition). The steps below meet the
// first strictly, so that R_(i+1) >= S. After the first step the v are the maxima, and v_(i+1) r_i
// <= x. So with x < 2^64, r_(i+1) >= 2^32 and r_i - r_(i+1) >= 2^32 are enough: r_i >= 2^33, so
// v_(i+1) < 2^31 and v_i + v_(i+1) < 2^32.
//
// The same holds for the leading 32 bits of x and y, where r_(i+1) >= 2^16 and r_i - r_(i+1) >=
// 2^16 suffice and cofactors are below 2^15. Steps are cheap there: they are done about 14 bits at
// a time, and their matrix is applied to x and y. r_(i+1) of these differs from 2^s r_(i+1) of the
// leading bits by less than 2^(s+15), and r_i - r_(i+1) by less than 2^(s+16). The thresholds of
// the leading bits are raised by those of x and y, so every step meets both conditions. A pass of
// the three rounds takes 16 steps on average and removes 27 bits from a and b each.
//
// Quotients of 2^15 or more, and the last 64 bits, use steps on x and y themselves.
//
// Quotients come from single precision. On the leading bits, x / y < 2^16 is changed by less than
// 2^-22 of it by the roundings of x, y and 1 / y. A wrong quotient is therefore a neighbour of the
// right one, and its remainder is y or more, or negative and above -2^11. Such a step fails the
// conditions and ends the round. On x and y, q' = floor(x * ((1 / y) * (1 - 2^-20))) is not above
// floor(x / y), because roundings of 6 * 2^-24 altogether cannot raise the product by 2^-20. A
// remainder of y or more is divided again.
#pragma once
#include "core/math.cuh"
#include "core/ptx.cuh"

namespace gpuint {

// R = (u0 a - v0 b, v1 b - u1 a), or with `odd` (all ones) both negated.
struct Cofactors {
  u32 u0 = 1, v0 = 0, u1 = 0, v1 = 1;
  u32 odd = 0;
};

// Cofactors stay below this, so that sums of two products by limbs and a carry fit 64 bits.
constexpr u32 COFACTOR_BOUND = 1u << 31;

// x = q y + r with r < y. A q of COFACTOR_BOUND or more only signals a large quotient, and r is
// then undefined. `x_near` and `y_near` are x and y rounded.
GPUINT_DEVICE u32 small_quotient(u64 x, u64 y, float x_near, float y_near, u64& r) {
  constexpr float BELOW_ONE = 1.0f - 1.0f / (1 << 20);
  const float inverse = ptx::reciprocal(y_near) * BELOW_ONE;
  const float estimate = x_near * inverse;
  if (estimate >= static_cast<float>(COFACTOR_BOUND)) return COFACTOR_BOUND;
  u32 q = static_cast<u32>(estimate);
  r = x - y * q;
  while (r >= y) {
    const u32 more = max_of(1, static_cast<u32>(static_cast<float>(r) * inverse));
    q += more;
    r -= y * more;
  }
  return q;
}

// Steps of Euclid on x >= y; with `exact`, S = 1. Each quotient is passed to `observe`.
template <class Observe>
GPUINT_DEVICE Cofactors wide_steps(u64 x, u64 y, bool exact, Observe observe) {
  Cofactors c;
  float x_near = static_cast<float>(x), y_near = static_cast<float>(y);
  GPUINT_UNROLL(1)
  while (y != 0) {
    u64 r = 0;
    const u32 q = small_quotient(x, y, x_near, y_near, r);
    const u64 v = u64(q) * c.v1 + c.v0;
    if (v >= COFACTOR_BOUND) break;
    if (!exact && (r <= v || y - r < v + c.v1)) break;
    const u32 u = q * c.u1 + c.u0;
    c.u0 = c.u1, c.v0 = c.v1;
    c.u1 = u, c.v1 = static_cast<u32>(v);
    c.odd = ~c.odd;
    x = y, y = r;
    x_near = y_near, y_near = static_cast<float>(r);
    observe(q);
  }
  return c;
}

// Steps of Euclid on x >= y with r_(i+1) >= least >= 2^16 and r_i - r_(i+1) >= apart >= 2^16.
template <class Observe>
GPUINT_DEVICE Cofactors narrow_steps(u32 x, u32 y, u32 least, u32 apart, Observe observe) {
  // Pairs of cofactors 2^16 u_i + v_i, negative for odd i.
  u32 pair0 = 1u << 16, pair1 = ~0u;
  const auto take = [&](u32 minus_q) {
    const u32 pair = pair0 + minus_q * pair1;
    pair0 = pair1, pair1 = pair;
    observe(0 - minus_q);
  };
  // The next remainder r meets both conditions if r - least, modulo 2^32, is below this.
  const auto room = [&](u32 y_above) { return max_of(y_above, apart - 1) - (apart - 1); };
  u32 x_above = x - least, y_above = y - least;
  float x_near = static_cast<float>(x), y_near = static_cast<float>(y);
  bool is_second = y >= least;
  GPUINT_UNROLL(1)
  while (is_second) {
    // Two steps for one branch, whose decision is not on the way from quotient to quotient.
    const u32 minus_q = 0 - ptx::floor_of_product(x_near, ptx::reciprocal(y_near));
    const u32 r = x + minus_q * y, r_above = x_above + minus_q * y;
    const bool is_first = r_above < room(y_above);
    const float r_near = static_cast<float>(r);
    const u32 next_minus_q = 0 - ptx::floor_of_product(y_near, ptx::reciprocal(r_near));
    const u32 next = y + next_minus_q * r, next_above = y_above + next_minus_q * r;
    is_second = is_first & (next_above < room(r_above));
    if (is_first) take(minus_q);
    if (is_second) take(next_minus_q);
    x = r, y = next;
    x_above = r_above, y_above = next_above;
    x_near = r_near, y_near = static_cast<float>(next);
  }
  Cofactors c;
  c.odd = static_cast<u32>(static_cast<i32>(pair0) >> 31);
  pair0 = (pair0 ^ c.odd) - c.odd;
  pair1 = (pair1 ^ ~c.odd) - ~c.odd;
  c.u0 = pair0 >> 16, c.v0 = pair0 & 0xffff;
  c.u1 = pair1 >> 16, c.v1 = pair1 & 0xffff;
  return c;
}

// Steps of Euclid on the leading parts x >= y of a and b; with `exact`, S = 1, else x >= 2^63. Each
// quotient is passed to `observe`.
template <class Observe>
GPUINT_DEVICE Cofactors leading_steps(u64 x, u64 y, bool exact, Observe observe) {
  Cofactors c;
  if (!exact) {
    u64 r0 = x, r1 = y;
    GPUINT_UNROLL(3)
    for (u32 round = 0; round < 3; ++round) {
      // r0 >= 2^33, so s >= 2 after the first round.
      const u32 s = 32 - static_cast<u32>(__clz(static_cast<int>(r0 >> 32)));
      const u32 unit = 1u << (32 - s);  // 2^32 in units of 2^s
      const u32 least = (1u << 15) + max_of(1u << 15, unit), apart = (1u << 16) + unit;
      const Cofactors n =
          narrow_steps(static_cast<u32>(r0 >> s), static_cast<u32>(r1 >> s), least, apart, observe);
      if (n.u1 == 0) break;
      const u64 even0 = n.u0 * r0 - n.v0 * r1, even1 = n.v1 * r1 - n.u1 * r0;
      r0 = n.odd != 0 ? 0 - even0 : even0;
      r1 = n.odd != 0 ? 0 - even1 : even1;
      GPUINT_ASSERT((r0 - r1) >> 32 != 0 && r1 >> 32 != 0, "the last step meets the conditions");
      const Cofactors o = c;
      c.u0 = n.u0 * o.u0 + n.v0 * o.u1, c.v0 = n.u0 * o.v0 + n.v0 * o.v1;
      c.u1 = n.u1 * o.u0 + n.v1 * o.u1, c.v1 = n.u1 * o.v0 + n.v1 * o.v1;
      c.odd ^= n.odd;
    }
  }
  return c.u1 != 0 ? c : wide_steps(x, y, exact, observe);
}

}  // namespace gpuint
