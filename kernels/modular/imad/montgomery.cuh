// Montgomery's products in limbs of 32 bits (P. Montgomery, Math. Comp. 44, 1985), for odd n < R =
// B^N = 2^BITS: x y / R mod n.
//
// Rows: sum <- (sum + x y_i + m n) / B, where m = -sum n^-1 mod B makes the lowest limb 0. A row
// takes 2 N products of limbs, and one for m; a product of N limbs takes 2 N^2 + N. A square takes
// N (N + 1) / 2 + N^2 + N: the columns of x^2 first, whose lower half the rows reduce.
//
// Bounds. For x, y < R the sum stays below 2 R: (2 R + x (B - 1) + n (B - 1)) / B < 2 R. The result
// is below R + n: R - 1 at most times y < R, and m n < R n, divided by R. So one subtraction of n
// where limb N is 1 leaves a residue below R, and nothing else is compared between products. If x
// or y is below n, the result is below 2 n, and one comparison puts it below n. With y = 1 the
// result is at most n.
#pragma once
#include "modular/imad/limbs.cuh"
#include "tuning/imad.cuh"

namespace gpuint::imad {

// -1 / n modulo 2^32 for odd n: Newton's iteration from 5 bits.
GPUINT_DEVICE u32 negative_inverse(u32 n) {
  u32 x = 3 * n ^ 2;
  GPUINT_UNROLL()
  for (u32 i = 0; i < 3; ++i) x *= 2 - n * x;
  return 0 - x;
}

template <u32 N>
struct Montgomery {
  static constexpr u32 UNROLLED = ImadPolicy<N>::UNROLLED;
  Place modulus;  // n: read for each product, and in registers only while it is used
  u32 inverse;    // -1 / n modulo 2^32

  // x <- x^2 / R, a residue below R. `high`: room for the upper limbs of x^2.
  GPUINT_DEVICE void square(u32 (&x)[N], const Place& high) const {
    u32 n[N];
    const u32 above =
        square_wide(x, high, n, inverse, [&](u32(&to)[N]) { load_limbs(modulus, to); });
    if (above != 0) subtract(x, n);
  }
  // Leaves x / R mod n, below n, in the place.
  GPUINT_DEVICE void take_radix_out(u32 (&x)[N], const Place& to) const {
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < N; ++j) to[j] = j == 0;
    u32 n[N];
    load_limbs(modulus, n);
    const u32 above = multiply_wide(x, to, n, inverse);
    subtract_once(x, n, above);
    store_limbs(x, to);
  }

  // Returns limb N of x y / R, the others to x.
  GPUINT_DEVICE static u32 multiply_wide(u32 (&x)[N], const Place& y, const u32 (&n)[N],
                                         u32 inverse) {
    u32 even[N] = {}, odd[N] = {}, top = 0;
    GPUINT_UNROLL(UNROLLED)
    for (u32 i = 0; i < N; i += 2) {
      add_product_row(even, odd, top, x, y[i], n, inverse);
      add_product_row(odd, even, top, x, y[i + 1], n, inverse);
    }
    resolve(even, odd, top, x);
    return top;
  }
  // Returns limb N of x^2 / R, the others to x. `high`: room for the upper limbs of x^2. `load`
  // writes n to the limbs that it is given, when x is no longer in registers.
  template <class LoadModulus>
  GPUINT_DEVICE static u32 square_wide(u32 (&x)[N], const Place& high, u32 (&n)[N], u32 inverse,
                                       LoadModulus load) {
    u32 even[N], odd[N] = {}, top = 0;
    square_limbs(x, [&](u32 k, u32 limb) {
      if (k < N)
        even[k] = limb;
      else
        high[k - N] = limb;
    });
    load(n);
    GPUINT_UNROLL(UNROLLED)
    for (u32 i = 0; i < N; i += 2) {
      add_row_shifted(even, odd, top, n, (even[0] + odd[1]) * inverse);
      add_row_shifted(odd, even, top, n, (odd[0] + even[1]) * inverse);
    }
    resolve(even, odd, top, x);
    GPUINT_UNROLL()
    for (u32 j = 0; j < N; ++j) {
      if (j == 0)
        ptx::add_cc(x[j], high[j]);
      else
        ptx::addc_cc(x[j], high[j]);
    }
    ptx::addc(top, 0);
    return top;
  }

 private:
  GPUINT_DEVICE static void add_product_row(u32 (&even)[N], u32 (&odd)[N], u32& top,
                                            const u32 (&x)[N], u32 y, const u32 (&n)[N],
                                            u32 inverse) {
    add_row_shifted(even, odd, top, x, y);
    add_row(even, odd, top, n, even[0] * inverse);
  }
};

}  // namespace gpuint::imad
