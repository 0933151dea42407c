// Limbs in shared memory as balanced digits.
//
// Digits of 16 bits are balanced: each passes its sign bit to the next one, so that all are in
// -2^15 .. 2^15. The part above the highest digit, with its carry, is the coefficient `top` of t^P,
// which is i modulo t^P - i: an imaginary part of point 0. It is below 2^21.
#pragma once
#include "div/fft/plan.cuh"

namespace gpuint::fft_division {

// The exact value of a digit from 2^52 + 2^31 + x, minus the added constant.
GPUINT_DEVICE double to_double(i32 x) {
  return __hiloint2double(0x43300000, static_cast<i32>(x ^ 0x80000000)) - 4503601774854144.0;
}

// A number above balanced digits, given the digit below it.
GPUINT_DEVICE u32 with_carry(u32 top, u32 digit_below) { return top + (digit_below >> 15); }

// Balanced digits first + thread + i P / 16. With `bottom` none below `first` counts.
template <u32 P>
GPUINT_DEVICE void read_digits(double (&value)[fft::RADIX], const u32* limbs, u32 first,
                               bool bottom, u32 thread) {
  constexpr u32 THREADS = P / 16;
  const i16* const digits = reinterpret_cast<const i16*>(limbs);
  if constexpr (THREADS >= 32) {
    // Digits 64 apart are stored 72 apart, so all places follow from one or two of them.
    constexpr u32 PERIOD = THREADS < 64 ? 2 : 1, STRIDE = digit_at(THREADS * PERIOD);
    const i16* const from[2] = {digits + digit_at(first + thread),
                                digits + digit_at(first + thread + THREADS % 64)};
    // Bit i of `own`: the sign of digit i. That of the digit below is a neighbouring lane's; the
    // first lane's are read by lanes 0 .. 15.
    i32 digit[fft::RADIX];
    u32 own = 0;
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) {
      digit[i] = from[i % PERIOD][STRIDE * (i / PERIOD)];
      own |= static_cast<u32>(digit[i]) >> 31 << i;
    }
    const u32 lane = thread % 32, base = first + thread - lane;
    const bool negative = lane < fft::RADIX && !(bottom && base + lane == first) &&
                          digits[digit_at(base + THREADS * lane - 1)] < 0;
    const u32 below = __ballot_sync(~0u, negative);
    u32 signs = __shfl_up_sync(~0u, own, 1);
    if (lane == 0) signs = below;
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) value[i] = to_double(digit[i] + (signs >> i & 1));
  } else {
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) {
      const u32 j = first + thread + THREADS * i;
      const i32 before = bottom && i == 0 && thread == 0 ? 0 : digits[digit_at(j - 1)];
      value[i] = to_double(digits[digit_at(j)] + (before < 0));
    }
  }
}

}  // namespace gpuint::fft_division
