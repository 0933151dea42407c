// Columns of products modulo t^n - i, and modulo t^n + 1 by transforms of half as many points.
#pragma once
#include "core/ptx.cuh"
#include "transform/fft/lengths.cuh"

namespace gpuint::fft_modular {

// A column of piece c, given its points of all parts.
template <class S, u32 PARTS>
GPUINT_DEVICE i64 column_of(u32 c, const Complex (&y)[PARTS]) {
  constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: at its size doubles are integers
  double sum = 0;
  if constexpr (PARTS == 1) {
    sum = c == 0 ? y[0].re : y[0].im;
  } else {
    GPUINT_UNROLL(4)
    for (u32 k = 0; k < PARTS; ++k) {
      const Complex turn = fft::CONSTANTS<PARTS>.part[k].turns[c];
      sum = fma(turn.im, y[k].im, fma(turn.re, y[k].re, sum));
    }
  }
  const double r = fma(sum, 1.0 / PARTS, ROUNDER);
  GPUINT_ASSERT(fabs(fma(sum, 1.0 / PARTS, ROUNDER - r)) <= worst_error<S>(),
                "columns are near integers");
  return __double_as_longlong(r) - 0x4338000000000000;
}

}  // namespace gpuint::fft_modular
