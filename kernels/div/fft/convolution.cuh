// Products with spectra that are kept, and their columns as integers.
#pragma once
#include "div/fft/plan.cuh"

namespace gpuint::fft_division {

// A spectrum in scratch memory: each thread reads the points that it wrote. They pass by the L1
// cache, which has the tables.
template <u32 THREADS>
GPUINT_DEVICE void store_spectrum(Complex* to, const Complex (&x)[fft::RADIX]) {
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < fft::RADIX; ++i)
    __stcg(reinterpret_cast<double2*>(to + i * THREADS), double2{x[i].re, x[i].im});
}
GPUINT_DEVICE Complex load_point(const Complex* from) {
  const double2 z = __ldcg(reinterpret_cast<const double2*>(from));
  return {z.x, z.y};
}

// x times a spectrum, transformed back; the exchange is free after it.
template <u32 P>
GPUINT_DEVICE void convolve(Complex (&x)[fft::RADIX], Complex* exchange, const fft::Last& last,
                            const Complex* spectrum, u32 thread) {
  fft::multiply<0>(x, last, [&](u32 i) { return load_point(spectrum + i * (P / 16)); });
  fft::RightAngle<P>::inverse(x, exchange, thread);
  fft::RightAngle<P>::sync();
}

// Most that a column differs from its integer. The factors of a product have P digits and a top
// below 2^21, and P or 2 P digits and a top of 2^16: |a| |b| <= 2^30 sqrt((P + 2^12 + 1) (2 P + 16)),
// and the mean of the factors is no less than the root.
__host__ __device__ constexpr double worst_error(u32 points) {
  return (1 << 30) * (1.5 * points + 2048 + 9) * fft::relative_error(1);
}
static_assert(worst_error(fft::POINTS) < 0.5, "columns round to the right integers");

// The integer of a column.
GPUINT_DEVICE i64 rounded(double x) {
  constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: at its size doubles are integers
  const double r = x + ROUNDER;
  GPUINT_ASSERT(fabs(x - (r - ROUNDER)) <= worst_error(fft::POINTS), "columns are near integers");
  return __double_as_longlong(r) - 0x4338000000000000;
}

}  // namespace gpuint::fft_division
