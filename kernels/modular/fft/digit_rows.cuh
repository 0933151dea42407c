// Rows of signed digits of 16 bits, and divisions by their base.
#pragma once
#include "core/limbs.cuh"
#include "core/ptx.cuh"
#include "transform/fft/columns.cuh"

namespace gpuint {

struct DigitBase {
  double base;
  double inverse;

  GPUINT_DEVICE static DigitBase of(u32 base) { return {static_cast<double>(base), 1.0 / base}; }

  // Divides an integer |x| < 2^51 by the base b; leaves the remainder, at most b / 2. All numbers
  // are integers below 2^52, exact in doubles. The rounded 1 / b and product are within 2^-52 |x| /
  // b < 1 / (2 b) of x / b, and so the remainder is less than b / 2 + 1 / 2.
  GPUINT_DEVICE double divide(double& x) const {
    GPUINT_ASSERT(fabs(x) < 2251799813685248.0, "numbers are below 2^51");
    const double quotient = fma(x, inverse, fft_modular::ROUNDER) - fft_modular::ROUNDER;
    x = fma(-quotient, base, x);
    GPUINT_ASSERT(fabs(x) <= base / 2, "the nearest quotient");
    return quotient;
  }
};

// Calls set(j, digit j).
template <u32 DIGITS, u32 THREADS, class Set>
GPUINT_DEVICE void read_digits(const u32* row, const Set& set) {
  const u16* const halves = reinterpret_cast<const u16*>(row);
  for (u32 j = ptx::rematerialize(threadIdx.x); j < DIGITS; j += THREADS)
    set(j, static_cast<i16>(__ldg(halves + j)));
}

// Writes the digits get(j).
template <u32 DIGITS, u32 THREADS, class Get>
GPUINT_DEVICE void write_digits(u32* row, const Get& get) {
  const auto half = [&](u32 j) { return u32{static_cast<u16>(get(j))}; };
  for (u32 j = ptx::rematerialize(threadIdx.x); j < DIGITS / 2; j += THREADS)
    row[j] = half(2 * j + 1) << 16 | half(2 * j);
}

}  // namespace gpuint
