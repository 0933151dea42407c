// Arithmetic modulo an odd prime p below 2^32.
//
// P. L. Montgomery (1985), with R = 2^32: a product t < p R is reduced to t / R modulo p by
// t - m p, where m = t / p modulo R makes the low limb zero. The difference is above -p R, so that
// one addition of p completes it.
#pragma once
#include "core/platform.cuh"

namespace gpuint::sieve {

struct PrimeField {
  u32 p, inverse;  // 1 / p modulo R

  GPUINT_DEVICE explicit PrimeField(u32 p) : p(p), inverse(p) {
    // Newton: the number of right bits doubles, from 3 to 48. p is its own inverse modulo 8.
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < 4; ++i) inverse *= 2 - p * inverse;
  }

  // (high R + low) / R modulo p, for high < p.
  GPUINT_DEVICE u32 reduced(u32 high, u32 low) const {
    const u32 multiple = __umulhi(low * inverse, p);
    return high - multiple + (high < multiple ? p : 0);
  }

  // a b / R.
  GPUINT_DEVICE u32 product(u32 a, u32 b) const {
    const u64 t = u64{a} * b;
    return reduced(static_cast<u32>(t >> 32), static_cast<u32>(t));
  }

  // a R^-length modulo p for a number of `length` limbs. Horner's rule from the lowest limb on
  // divides by R instead of multiplying: one reduction of a sum a limb.
  GPUINT_DEVICE u32 scaled_residue(const u32* limbs, u32 length) const {
    u32 residue = 0;
    for (u32 k = 0; k < length; ++k) {
      const u64 sum = u64{residue} + __ldg(limbs + k);
      residue = reduced(static_cast<u32>(sum >> 32), static_cast<u32>(sum));
    }
    return residue;
  }

  // x / y for x, y below p and y not zero. By Fermat y^(p - 2) = 1 / y; in Montgomery's form, of
  // which y represents y / R, the power is R^2 / y.
  GPUINT_DEVICE u32 quotient(u32 x, u32 y) const {
    const u32 exponent = p - 2;
    u32 power = y;
    for (i32 bit = 30 - __clz(static_cast<int>(exponent)); bit >= 0; --bit) {
      power = product(power, power);
      if ((exponent >> bit & 1) != 0) power = product(power, y);
    }
    // x R / y, and x / y.
    return reduced(0, product(x, power));
  }
};

}  // namespace gpuint::sieve
