// ToDecimal, FromDecimal: rows to and from decimal digits.
//
// A text is the ASCII digits of a number in a place of whole groups of eight, with leading zeros. A
// thread has a row, its limbs in registers. Quotients by 10^8 leave one group after another, from
// the last to the first; products with 10^8 read them from the first to the last. With n limbs of
// 32 bits and g groups, both take g n steps.
#pragma once
#include "core/abi.cuh"
#include "core/thread_rows.cuh"
#include "tuning/linear.cuh"

namespace gpuint {

// Eight digits as a number below BASE, and as text.
struct DecimalGroup {
  static constexpr u32 DIGITS = 8, BASE = 100000000, HALF = 10000;

  // The digits of a number of four digits, the first in the lowest byte. The quotients are by
  // reciprocals rounded up, exact below 10^4 and 10^2: 10486 / 2^20 - 1/100 < 10^-4 / 100 and
  // 103 / 2^10 - 1/10 < 10^-2 / 10.
  GPUINT_DEVICE static u32 text_of_four(u32 value) {
    const u32 hundreds = (value * 10486) >> 20;
    const u32 twos = hundreds | (value - 100 * hundreds) << 16;
    const u32 tens = ((twos * 103) >> 10) & 0x000f000f;
    return (tens | (twos - 10 * tens) << 8) | 0x30303030;
  }
  GPUINT_DEVICE static u64 text(u32 value) {
    const u32 high = value / HALF;
    return text_of_four(high) | u64(text_of_four(value - HALF * high)) << 32;
  }

  GPUINT_DEVICE static u32 value_of_four(u32 text) {
    const u32 ones = text & 0x0f0f0f0f;
    const u32 twos = (10 * ones + (ones >> 8)) & 0x00ff00ff;
    return (100 * twos + (twos >> 16)) & 0xffff;
  }
  GPUINT_DEVICE static u32 value(u64 text) {
    return HALF * value_of_four(static_cast<u32>(text)) +
           value_of_four(static_cast<u32>(text >> 32));
  }
};

template <class S>
using DecimalRows = ThreadRows<S, DecimalPolicy::THREADS, DecimalPolicy::registers<S>()>;

// in[0] = a; out[0] = the last digits of a, one byte each, in rows of target_bits bits, a multiple
// of 64.
template <class S>
struct ToDecimal : DecimalRows<S> {
  static constexpr u32 LIMBS = DecimalRows<S>::LIMBS;

  static __device__ void run(const Operands& o, unsigned char*) {
    const u32 groups = o.params.target_bits / (8 * DecimalGroup::DIGITS);
    DecimalRows<S>::each(o, [&](u64 row) {
      u32 x[LIMBS];
      DecimalRows<S>::read(input_row<S>(o, 0, row), x);
      u64* const text = static_cast<u64*>(o.out[0]) + row * groups;
      GPUINT_UNROLL(1)
      for (u32 group = groups; group-- > 0;) text[group] = DecimalGroup::text(divide(x));
    });
  }

 private:
  // Divides x by BASE; returns the remainder.
  GPUINT_DEVICE static u32 divide(u32 (&x)[LIMBS]) {
    u32 r = 0;
    GPUINT_UNROLL(LIMBS)
    for (u32 k = LIMBS; k-- > 0;) {
      const u64 dividend = u64(r) << 32 | x[k];
      x[k] = static_cast<u32>(dividend / DecimalGroup::BASE);
      r = static_cast<u32>(dividend) - x[k] * DecimalGroup::BASE;
    }
    return r;
  }
};

// in[0] = digits, one byte each, in rows of source_bits bits, a multiple of 64; out[0] = their
// number modulo 2^BITS. Rows whose number does not fit fail.
template <class S>
struct FromDecimal : DecimalRows<S> {
  static constexpr u32 LIMBS = DecimalRows<S>::LIMBS;

  static __device__ void run(const Operands& o, unsigned char*) {
    const u32 groups = o.params.source_bits / (8 * DecimalGroup::DIGITS);
    DecimalRows<S>::each(o, [&](u64 row) {
      const u64* const text = static_cast<const u64*>(o.in[0]) + row * groups;
      u32 x[LIMBS] = {}, above = 0;
      GPUINT_UNROLL(1)
      for (u32 group = 0; group < groups; ++group)
        above |= multiply_add(x, DecimalGroup::value(__ldg(text + group)));
      DecimalRows<S>::write(output_row<S>(o, 0, row), x);
      if constexpr (S::BITS % 32 != 0) above |= x[LIMBS - 1] >> (S::BITS % 32);
      if (above != 0 && o.status != nullptr) set_status(o.status, row);
    });
  }

 private:
  // Sets x to x BASE + digits; returns the limb above it.
  GPUINT_DEVICE static u32 multiply_add(u32 (&x)[LIMBS], u32 digits) {
    u32 carry = digits;
    GPUINT_UNROLL(LIMBS)
    for (u32 k = 0; k < LIMBS; ++k) {
      const u64 product = u64(x[k]) * DecimalGroup::BASE + carry;
      x[k] = static_cast<u32>(product);
      carry = static_cast<u32>(product >> 32);
    }
    return carry;
  }
};

}  // namespace gpuint
