// The reciprocal of twice a square root, 9 limbs in the registers of a lane.
//
// For x in [1/4, 1) and y = 1 / (2 sqrt(x)), Newton's step for 1 / y^2 - 4x is
//     y' = Y + Y e,    e = 1/2 - 2 x Y^2.
// With Y = y (1 - d): e = d - d^2 / 2 and y' = y (1 - 3/2 d^2 + d^3 / 2), an underestimate (R. P.
// Brent and P. Zimmermann, "Modern Computer Arithmetic", 3.5.1). Truncations of x, Y^2 and x Y^2 to
// one limb more than the result raise y' by less than 6/B of its last place, in base B = 2^32; 1 is
// subtracted from the truncated result. So every step keeps
//     0 < y - Y < 3/2 d^2 y + (2 + 6/B) units of the last place.
// From single precision, d < 2^-19.5, the steps have 2, 3, 6 and 9 limbs: d < 2^-38, 2^-75, 2^-149,
// and Y is below y by less than 2 + 2^-9 units.
#pragma once
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"

namespace gpuint {

constexpr u32 INVERSE_LIMBS = 9;  // of Y, in units of B^-9

// The product of two short numbers. Row i leaves no carry beyond limb i + B: the sum of the rows up
// to it is below the product of i + 1 limbs by B limbs.
template <u32 A, u32 B>
GPUINT_DEVICE void short_product(const u32 (&a)[A], const u32 (&b)[B], u32 (&product)[A + B]) {
  GPUINT_UNROLL(A + B)
  for (u32 i = 0; i < A + B; ++i) product[i] = 0;
  GPUINT_UNROLL(A)
  for (u32 i = 0; i < A; ++i) {
    GPUINT_UNROLL(2)
    for (u32 parity = 0; parity < min_of(B, 2); ++parity) {
      GPUINT_UNROLL(B)
      for (u32 j = parity; j < B; j += 2) {
        if (j == parity)
          ptx::mad_lo_cc(product[i + j], a[i], b[j]);
        else
          ptx::madc_lo_cc(product[i + j], a[i], b[j]);
        ptx::madc_hi_cc(product[i + j + 1], a[i], b[j]);
      }
      if ((B - parity) % 2 == 0) ptx::addc(product[i + B], 0);
    }
  }
}

// A step from FROM to TO limbs. The top ZEROS limbs of e are zero.
template <u32 FROM, u32 TO, u32 ZEROS>
GPUINT_DEVICE void refine_inverse_root(const u32 (&x)[INVERSE_LIMBS + 1], const u32 (&y)[FROM],
                                       u32 (&refined)[TO]) {
  constexpr u32 M = TO + 1, SQUARE = min_of(2 * FROM, M), E = M - ZEROS;
  u32 product[SQUARE + M];
  {
    u32 whole[2 * FROM], square[SQUARE], top[M];
    short_product(y, y, whole);
    GPUINT_UNROLL(SQUARE)
    for (u32 i = 0; i < SQUARE; ++i) square[i] = whole[2 * FROM - SQUARE + i];
    GPUINT_UNROLL(M)
    for (u32 i = 0; i < M; ++i) top[i] = x[INVERSE_LIMBS + 1 - M + i];
    short_product(square, top, product);
  }
  u32 e[E], borrow = 0;
  GPUINT_UNROLL(M)
  for (u32 i = 0; i < M; ++i) {
    const u32 twice = __funnelshift_l(product[SQUARE + i - 1], product[SQUARE + i], 1);
    const u32 limb = sub_borrow(i == M - 1 ? 1u << 31 : 0u, twice, borrow);
    if (i < E) e[i] = limb;
    GPUINT_ASSERT(i < E || limb == 0, "e is small");
  }
  u32 step[FROM + E], carry = 0;
  short_product(y, e, step);
  borrow = 1;
  GPUINT_UNROLL(TO)
  for (u32 i = 0; i < TO; ++i) {
    const u32 limb = add_carry(i >= TO - FROM ? y[i - (TO - FROM)] : 0u,
                               i + 1 < E ? step[FROM + 1 + i] : 0u, carry);
    refined[i] = sub_borrow(limb, 0u, borrow);
  }
}

// 4 Y^2 x < 1 <= 4 (Y + 3)^2 (x + B^-10), all in units of the last place: Y is a strict
// underestimate, by at most 3.
GPUINT_DEVICE bool is_inverse_root(const u32 (&x)[INVERSE_LIMBS + 1],
                                   const u32 (&y)[INVERSE_LIMBS]) {
  constexpr u32 LIMBS = 3 * INVERSE_LIMBS + 1;
  const auto is_below_one = [&](u32 more, u32 above) {  // 4 (Y + more)^2 (x + above) < 1
    u32 sum[INVERSE_LIMBS + 1], carry = more;
    for (u32 i = 0; i <= INVERSE_LIMBS; ++i)
      sum[i] = add_carry(i < INVERSE_LIMBS ? y[i] : 0u, 0u, carry);
    u32 factor[LIMBS + 3] = {};
    carry = above;
    for (u32 i = 0; i <= INVERSE_LIMBS; ++i) factor[i] = add_carry(x[i], 0u, carry);
    factor[INVERSE_LIMBS + 1] = carry;
    for (u32 turn = 0; turn < 2; ++turn) {
      u32 product[LIMBS + 3] = {};
      for (u32 i = 0; i <= INVERSE_LIMBS; ++i) {
        u64 next = 0;
        for (u32 j = 0; i + j < LIMBS + 3; ++j) {
          next += u64(sum[i]) * factor[j] + product[i + j];
          product[i + j] = static_cast<u32>(next);
          next >>= 32;
        }
      }
      for (u32 i = 0; i < LIMBS + 3; ++i) factor[i] = product[i];
    }
    return factor[LIMBS - 1] >> 30 == 0 && (factor[LIMBS] | factor[LIMBS + 1]) == 0;
  };
  return is_below_one(0, 0) && !is_below_one(3, 1);
}

// Y, from x >= 1/4 truncated to 10 limbs.
GPUINT_DEVICE void inverse_root(const u32 (&x)[INVERSE_LIMBS + 1], u32 (&y)[INVERSE_LIMBS]) {
  constexpr float UNIT = 1.0f / 65536 / 65536, SLACK = 1.0f - 1.0f / 1048576;
  // 4 roundings of 2^-22 at most do not exceed the slack.
  const float half = ptx::reciprocal(ptx::square_root(static_cast<float>(x[INVERSE_LIMBS]) * UNIT));
  const u32 y1[1] = {static_cast<u32>(half * (2147483648.0f * SLACK))};
  u32 y2[2], y3[3], y6[6];
  refine_inverse_root<1, 2, 0>(x, y1, y2);
  refine_inverse_root<2, 3, 1>(x, y2, y3);
  refine_inverse_root<3, 6, 2>(x, y3, y6);
  refine_inverse_root<6, INVERSE_LIMBS, 4>(x, y6, y);
  GPUINT_ASSERT(is_inverse_root(x, y), "Y is a strict underestimate by less than 3");
}

}  // namespace gpuint
