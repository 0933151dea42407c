// Transforms by P / 16 threads per row, products with stored spectra, and their columns as
// integers.
//
// An integer modulo 2^(32 P) + 1 with 2 P digits of 16 bits is a real polynomial modulo t^(2P) + 1
// = (t^P - i) (t^P + i) at t = 2^16. Modulo the first factor alone, point j has digit j as its real
// and digit j + P as its imaginary part. So a product modulo 2^(32 P) + 1 takes two transforms of P
// points and one back: those of one part in transform/fft.
#pragma once
#include "div/fft/digits.cuh"
#include "div/fft/plan.cuh"
#include "transform/fft/passes.cuh"

namespace gpuint::fft_division {

// The threads of a row and its points in shared memory. The word just below the points is 0.
template <u32 P>
struct Transform {
  static constexpr u32 THREADS = P / fft::RADIX;
  using Exchange = fft::Exchange<P>;
  unsigned char* points;

  // The thread's index, hidden from the optimizer: registers have no room for values derived from
  // it beside 16 points.
  GPUINT_DEVICE u32 thread() const { return Exchange(points).thread; }
  GPUINT_DEVICE u32 anew(u32 x) const { return x + Exchange::hidden_zero(points); }
  GPUINT_DEVICE static void sync(GPUINT_SITE) { Exchange::sync(GPUINT_PASS_SITE); }

  // Transforms the number of digits lowest .. lowest + P of `limbs` and `top` t^P, or, if it is
  // `complex`, of 2 P digits and `top` t^(2P) = -top. With `bottom` no digit below counts.
  GPUINT_DEVICE fft::Last forward(Complex (&x)[fft::RADIX], const u32* limbs, u32 lowest,
                                  bool complex, u32 top, bool bottom = true) const {
    {
      double value[fft::RADIX];
      read_digits<P>(value, limbs, lowest, bottom, thread());
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) x[i].re = value[i];
    }
    const auto first = [&](Complex(&y)[fft::RADIX], const fft::FirstPass& turn) {
      const bool is_point_0 = threadIdx.x % THREADS == 0;
      if (complex) {
        double value[fft::RADIX];
        read_digits<P>(value, limbs, lowest + P, false, thread());
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i) y[i].im = value[i];
        if (is_point_0) y[0].re -= top;
        fft::split<0, 0, 1>(y, turn);
      } else {
        fft::split_real(y, turn);
        if (is_point_0) y[0].im += top, y[fft::RADIX / 2].im += top;
      }
    };
    return fft::transform<P, 1>(x, 0, points, first, [] {});
  }

  GPUINT_DEVICE fft::Last last() const {
    return fft::Last(fft::TABLES<P, 1>.part[0].third, thread());
  }

  // x times a spectrum, transformed back. Afterwards the memory of points is free.
  GPUINT_DEVICE void convolve(Complex (&x)[fft::RADIX], const fft::Last& last,
                              const Complex* spectrum) const {
    fft::multiply<0>(x, last, [&](u32 i) { return load(spectrum + i * THREADS); });
    fft::inverse<P, 1>(x, points);
    fft::weigh<P, 1>(0, thread(), x);
    sync();
  }

  // A spectrum in device memory: each thread reads the points that it wrote. The accesses bypass
  // the L1 cache, which holds the tables.
  GPUINT_DEVICE static void store(Complex* to, const Complex (&x)[fft::RADIX]) {
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i)
      __stcg(reinterpret_cast<double2*>(to + i * THREADS), double2{x[i].re, x[i].im});
  }
  GPUINT_DEVICE static Complex load(const Complex* from) {
    const double2 z = __ldcg(reinterpret_cast<const double2*>(from));
    return {z.x, z.y};
  }
};

// Maximum difference between a column and its integer. The factors of a product have P digits and a
// top below 2^21, and P or 2 P digits and a top of 2^16: |a| |b| <= 2^30 sqrt((P + 2^12 + 1) (2 P +
// 16)), and the mean of the factors is no less than the root.
__host__ __device__ constexpr double worst_error(u32 points) {
  return (1 << 30) * (1.5 * points + 2048 + 9) * fft::relative_error(1);
}
static_assert(worst_error(fft::POINTS) < 0.25, "columns round to the right integers");

// The integer of a column.
GPUINT_DEVICE i64 rounded(double x) {
  constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: at its size doubles are integers
  const double r = x + ROUNDER;
  GPUINT_ASSERT(fabs(x - (r - ROUNDER)) <= worst_error(fft::POINTS), "columns are near integers");
  return __double_as_longlong(r) - 0x4338000000000000;
}

}  // namespace gpuint::fft_division
