// Numbers of the tests in memory, read by one thread digit by digit through functions: a comparison
// and a division by a small number, both in linear time.
#pragma once
#include "core/math.cuh"

namespace gpuint::prime {

// If a number below n is equal to another one, or to its negative modulo n.
struct Signs {
  bool is_positive = true, is_negative = true;
};
// Digits of BITS bits: x(j), other(j) and n(j) for j < count.
template <u32 BITS, class X, class Other, class Modulus>
GPUINT_DEVICE Signs compare_signs(u32 count, X x, Other other, Modulus n) {
  constexpr u64 MASK = (u64(1) << BITS) - 1;
  Signs signs;
  i64 borrow = 0;
  GPUINT_UNROLL(1)
  for (u32 j = 0; j < count; ++j) {
    const u64 digit = x(j), expected = other(j);
    signs.is_positive &= digit == expected;
    borrow += static_cast<i64>(u64(n(j))) - static_cast<i64>(expected);
    signs.is_negative &= digit == (static_cast<u64>(borrow) & MASK);
    borrow >>= BITS;
  }
  return signs;
}

// x <- (x + k n) / divisor for the k < divisor that makes it whole: x / divisor modulo n, for a
// divisor below 2^12 and coprime to n. x below n is in memory: x(j) is a reference.
template <u32 BITS, class X, class Modulus>
GPUINT_DEVICE void divide_modulo(u32 count, X x, Modulus n, u32 divisor) {
  constexpr u64 MASK = (u64(1) << BITS) - 1;
  u64 x_rest = 0, n_rest = 0;
  GPUINT_UNROLL(1)
  for (u32 j = count; j-- > 0;) {
    x_rest = ((x_rest << BITS) + x(j)) % divisor;
    n_rest = ((n_rest << BITS) + n(j)) % divisor;
  }
  u32 k = 0;
  GPUINT_UNROLL(1)
  while (x_rest != 0 && k < divisor) x_rest = (x_rest + n_rest) % divisor, ++k;
  u64 carry = 0;
  GPUINT_UNROLL(1)
  for (u32 j = 0; j < count; ++j) {
    carry += x(j) + u64(k) * n(j);
    x(j) = carry & MASK;
    carry >>= BITS;
  }
  GPUINT_UNROLL(1)
  for (u32 j = count; j-- > 0;) {
    carry = (carry << BITS) + x(j);
    x(j) = carry / divisor;
    carry %= divisor;
  }
}

// First term of a chain, as its operand holds it (terms.cuh).
struct Term {
  u32 denominator;
  u32 summands;  // absolute value of the numerator
  bool is_negative;
  GPUINT_DEVICE explicit Term(u64 word)
      : denominator(static_cast<u32>(word)),
        summands(static_cast<u32>(word >> 32)),
        is_negative(summands >> 31 != 0) {
    if (is_negative) summands = 0 - summands;
  }
  GPUINT_DEVICE bool is_decided() const { return denominator == 0; }
  GPUINT_DEVICE bool passes() const { return summands != 0; }
};

}  // namespace gpuint::prime
