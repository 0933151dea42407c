// Columns of products modulo t^n - i, and modulo t^n + 1 by transforms of half as many points, and
// the exchange of points between two parts before.
#pragma once
#include "core/ptx.cuh"
#include "transform/fft/lengths.cuh"

namespace gpuint::fft_modular {

constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: at its size doubles are integers

// A column of piece c, given its points of all parts, with ROUNDER added. `worst_error` is below
// 1/2.
template <u32 PARTS>
GPUINT_DEVICE double rounded_column(u32 c, const Complex (&y)[PARTS],
                                    [[maybe_unused]] double worst_error) {
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
  GPUINT_ASSERT(fabs(fma(sum, 1.0 / PARTS, ROUNDER - r)) <= worst_error,
                "columns are near integers");
  return r;
}

// The column.
template <class S, u32 PARTS>
GPUINT_DEVICE i64 column_of(u32 c, const Complex (&y)[PARTS]) {
  return __double_as_longlong(rounded_column<PARTS>(c, y, worst_error<S>())) - 0x4338000000000000;
}

}  // namespace gpuint::fft_modular

namespace gpuint::fft {

// Leaves points i of both parts in x[i] and x[i + 8], i < 8: points thread + 2 PART_THREADS i, for
// the parts of P points of a block of two. `points` has room for half of them.
template <u32 P>
GPUINT_DEVICE void exchange_halves(Complex (&x)[RADIX], Complex* points) {
  constexpr u32 HALF = RADIX / 2, PART_THREADS = P / RADIX, THREADS = 2 * PART_THREADS;
  const u32 thread = ptx::rematerialize(threadIdx.x);
  const bool is_lower = thread < PART_THREADS;
  GPUINT_UNROLL(8)
  for (u32 i = 0; i < HALF; ++i) {
    // Even points are those of the lower threads.
    points[thread + THREADS * i] = is_lower ? x[2 * i + 1] : x[2 * i];
    x[i] = is_lower ? x[2 * i] : x[2 * i + 1];
  }
  __syncthreads();
  GPUINT_UNROLL(8)
  for (u32 i = 0; i < HALF; ++i) {
    const Complex own = x[i], other = points[(thread ^ PART_THREADS) + THREADS * i];
    x[i] = is_lower ? own : other;
    x[i + HALF] = is_lower ? other : own;
  }
  __syncthreads();  // nobody reads points any more
}

}  // namespace gpuint::fft
