// Barrett's reduction in limbs of 32 bits (P. Barrett, CRYPTO '86), for any modulus v.
//
// Normalization. V = v 2^z is in [B^N / 2, B^N). A product is reduced modulo V with z zeros below
// it: (x 2^z) y mod V = (x y mod v) 2^z.
//
// The reciprocal M has N + 1 limbs, the leading ones of the record's (div/prepare.cuh), an
// underestimate:
//     0 < B^(2N+1) / (2 V) - M < 1 + 2^-64.
// For T < 2^SLACK B^(2N) with limbs T_i and u_i = T_(N-1+i), i = 0 .. N + 1:
//     S = sum of u_i M_j B^(i+j) over i + j >= N,   q = floor(2 S / B^(N+2)),   R = T - q V.
// Theorem. 0 <= R < (1 + 2^-14) V for N <= 48, SLACK <= 16.
// Proof. q <= T / V, since every loss is one of a nonnegative term. In units of q these are, T / V
// <= 2^(SLACK+1) B^N: of M, less than 2 (1 + 2^-64) T / B^(2N+1) < 2^18 / B; of T_0 .. T_(N-2),
// less than B^(N-1) / V <= 2 / B; of the columns below N, less than 2 (N + 1) / B, as column N - 1
// has N products; of the floor, less than 1. QED. R < 2 V has N limbs and a bit. So R is computed
// modulo B^(N+1), and of limb N of q only the product with the lowest one of V counts.
//
// (N + 1) (N + 2) / 2 products for q, N (N + 1) / 2 for the columns 0 .. N - 1 of q V and low
// halves of N more: with those of T = (x 2^z) y about 2 N^2 + 2 N.
#pragma once
#include "core/record.cuh"
#include "modular/imad/limbs.cuh"

namespace gpuint::imad {

template <class S>
struct Barrett {
  static constexpr u32 N = S::N;
  static constexpr u32 RECIPROCAL_LIMBS = N + 1;
  static_assert(S::LIMB_BITS == 32 && N % 2 == 0, "rows of pairs of 32-bit limbs");
  static_assert(N <= 48, "the theorem");
  static_assert(S::WORDS <= PREPARED_BLOCK, "records hold the whole reciprocal");

  static constexpr u32 SLACK = 16;

  // Limbs 0 .. N - 1 of R to `remainder`; returns limb N. T: N limbs `low`, HIGH limbs `high`, N of
  // them or one more. `load_m` and `load_v` write M and V to the limbs that they are given.
  template <u32 HIGH, class LoadReciprocal, class LoadModulus>
  GPUINT_DEVICE static u32 reduce(const Place& low, const u32 (&high)[HIGH], LoadReciprocal load_m,
                                  LoadModulus load_v, u32 (&v)[N], u32 (&remainder)[N]) {
    u32 q[N];
    u32 top;
    {
      u32 m[RECIPROCAL_LIMBS];
      load_m(m);
      top = estimate(low[N - 1], high, m, q);
    }
    load_v(v);
    return subtract_multiple(q, top, v, low, high[0], remainder);
  }

 private:
  // q from u_0, the others and M; returns its limb N.
  template <u32 HIGH>
  GPUINT_DEVICE static u32 estimate(u32 lowest, const u32 (&u)[HIGH], const u32 (&m)[N + 1],
                                    u32 (&q)[N]) {
    Column column;
    u32 below = 0, top = 0;
    GPUINT_UNROLL()
    for (u32 k = N; k < 2 * N + 3; ++k) {
      GPUINT_UNROLL()
      for (u32 i = 0; i <= HIGH; ++i) {
        if (i + N < k || i > k) continue;
        column.add(i == 0 ? lowest : u[i - 1], m[k - i]);
      }
      const u32 limb = column.take(), digit = __funnelshift_l(below, limb, 1);
      if (k == 2 * N + 2)
        top = digit;
      else if (k >= N + 2)
        q[k - N - 2] = digit;
      below = limb;
    }
    return top;
  }

  // low + limb B^N - q V modulo B^(N+1).
  GPUINT_DEVICE static u32 subtract_multiple(const u32 (&q)[N], u32 top, const u32 (&v)[N],
                                             const Place& low, u32 limb, u32 (&remainder)[N]) {
    Column column;
    u32 borrow = 0;
    GPUINT_UNROLL()
    for (u32 k = 0; k < N; ++k) {
      GPUINT_UNROLL()
      for (u32 i = 0; i < N; ++i) {
        if (i > k) continue;
        column.add(q[i], v[k - i]);
      }
      remainder[k] = sub_borrow(low[k], column.take(), borrow);
    }
    u32 last = column.limb + top * v[0];
    GPUINT_UNROLL()
    for (u32 i = 1; i < N; ++i) last += q[i] * v[N - i];
    const u32 above = limb - last - borrow;
    GPUINT_ASSERT(above <= 1, "R < 2 V");
    return above;
  }
};

// T = x y: the low limbs in the place of y, the high ones to `high`, with zeros above.
template <u32 N, u32 HIGH>
GPUINT_DEVICE void multiply_wide(const u32 (&x)[N], const Place& y, u32 (&high)[HIGH]) {
  u32 even[N] = {}, odd[N] = {}, top = 0;
  GPUINT_UNROLL(1)
  for (u32 i = 0; i < N; i += 2) {
    add_row_shifted(even, odd, top, x, y[i]);
    y[i] = even[0];
    add_row_shifted(odd, even, top, x, y[i + 1]);
    y[i + 1] = odd[0];
  }
  u32 resolved[N];
  resolve(even, odd, top, resolved);
  GPUINT_UNROLL()
  for (u32 j = 0; j < HIGH; ++j) high[j] = j < N ? resolved[j] : 0;
}

}  // namespace gpuint::imad
