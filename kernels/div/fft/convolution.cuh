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
//
// More than fft::POINTS points are two parts of half as many, each by half of the threads.
// With w = e(1/8) = (1 + i) / sqrt(2), t^P - i = (t^(P/2) - w) (t^(P/2) + w). So A + B t^(P/2) is A
// + w B in one part and A - w B in the other.
template <u32 P>
struct Transform {
  static constexpr u32 PARTS = P > fft::POINTS ? 2 : 1, SHARE = P / PARTS;
  static constexpr u32 THREADS = P / fft::RADIX;
  static_assert(SHARE <= fft::POINTS, "at most two parts");
  using Exchange = fft::Exchange<SHARE, PARTS>;
  unsigned char* points;

  // The thread's index, hidden from the optimizer: registers have no room for values derived from
  // it beside 16 points.
  GPUINT_DEVICE u32 thread() const { return rematerialize(threadIdx.x % THREADS); }
  GPUINT_DEVICE u32 rematerialize(u32 x) const { return x + Exchange::rematerialized_zero(points); }
  GPUINT_DEVICE static void sync(GPUINT_SITE) { Exchange::sync(GPUINT_PASS_SITE); }

  // Transforms the number of digits lowest .. lowest + P of `limbs` and `top` t^P, or, if it is
  // `complex`, of 2 P digits and `top` t^(2P) = -top. With `bottom` no digit below counts.
  GPUINT_DEVICE fft::Last forward(Complex (&x)[fft::RADIX], const u32* limbs, u32 lowest,
                                  bool complex, u32 top, bool bottom = true) const {
    const auto read = [&](u32 first, bool is_lowest, const auto& use) {
      double value[fft::RADIX];
      read_digits<SHARE>(value, limbs, lowest + first, is_lowest, Exchange(points).thread);
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) use(x[i], value[i]);
    };
    const bool is_point_0 = threadIdx.x % Exchange::THREADS == 0;
    read(0, bottom, [](Complex& z, double digit) { z.re = digit; });
    if constexpr (PARTS == 2) {
      read(SHARE, false,
           [&](Complex& z, double digit) { z = {fma(eighth(), digit, z.re), eighth() * digit}; });
      if (complex) {
        read(P, false, [](Complex& z, double digit) { z.im += digit; });
        read(P + SHARE, false, [&](Complex& z, double digit) {
          z = {fma(-eighth(), digit, z.re), fma(eighth(), digit, z.im)};
        });
      }
      if (is_point_0 && complex) x[0].re -= top;
      if (is_point_0 && !complex) x[0].im += top;
    }
    const auto first = [&](Complex(&y)[fft::RADIX], const fft::FirstPass& turn) {
      if constexpr (PARTS == 2) {
        fft::split<0, 0, 1>(y, turn);
      } else if (complex) {
        read(P, false, [](Complex& z, double digit) { z.im = digit; });
        if (is_point_0) y[0].re -= top;
        fft::split<0, 0, 1>(y, turn);
      } else {
        fft::split_real(y, turn);
        if (is_point_0) y[0].im += top, y[fft::RADIX / 2].im += top;
      }
    };
    return fft::transform<SHARE, PARTS, PARTS>(x, part(), points, first, [] {});
  }

  GPUINT_DEVICE fft::Last last() const {
    return fft::Last(fft::TABLES<SHARE, PARTS>.part[part()].third, Exchange(points).thread);
  }

  // x times a spectrum, transformed back. Afterwards the memory of points is free.
  GPUINT_DEVICE void convolve(Complex (&x)[fft::RADIX], const fft::Last& last,
                              const Complex* spectrum) const {
    fft::multiply<0>(x, last, [&](u32 i) { return load(spectrum + i * THREADS); });
    fft::inverse<SHARE, PARTS, PARTS>(x, points);
    fft::weigh<SHARE, PARTS>(part(), Exchange(points).thread, x);
    if constexpr (PARTS == 2) join(x);
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

 private:
  // Part of the thread, and the real and the imaginary part of w or -w.
  GPUINT_DEVICE static u32 part() {
    return PARTS == 1 ? 0 : ptx::rematerialize(threadIdx.x) / Exchange::THREADS;
  }
  GPUINT_DEVICE static double eighth() {
    constexpr double SQRT_HALF = 0.70710678118654752440;
    return part() == 0 ? SQRT_HALF : -SQRT_HALF;
  }

  // Points thread + THREADS i from both parts' points. Each of two threads has half of the points
  // that the other one needs; it writes them where it read last.
  GPUINT_DEVICE void join(Complex (&x)[fft::RADIX]) const {
    constexpr u32 HALF = fft::RADIX / 2;
    const Exchange exchange(points);
    const u32 k = part();
    Complex kept[HALF];
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < HALF; ++i) {
      exchange.column(2 * i + 1 - k) = k == 0 ? x[2 * i + 1] : x[2 * i];
      kept[i] = k == 0 ? x[2 * i] : x[2 * i + 1];
    }
    sync();
    const double by = eighth() / 2;
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < HALF; ++i) {
      const Complex a = kept[i],
                    b = (&exchange.column(2 * i + k))[k == 0 ? i32(SHARE) : -i32(SHARE)];
      const Complex less{a.re - b.re, a.im - b.im};
      x[i] = {(a.re + b.re) / 2, (a.im + b.im) / 2};
      x[HALF + i] = {by * (less.re + less.im), by * (less.im - less.re)};
    }
  }
};

// Maximum difference between a column and its integer. The factors of a product have P digits and a
// top below 2^21, and P or 2 P digits and a top of 2^16: |a| |b| <= 2^30 sqrt((P + 2^12 + 1) (2 P +
// 16)), and the mean of the factors is no less than the root. Splitting into two parts and joining
// them costs up to four roundings each, as many as the sums over two parts of a product.
__host__ __device__ constexpr double worst_error(u32 points) {
  return (1 << 30) * (1.5 * points + 2048 + 9) * fft::relative_error(points > fft::POINTS ? 2 : 1);
}
static_assert(worst_error(2 * fft::POINTS) < 0.5, "columns round to the right integers");

// The integer of a column.
template <u32 P>
GPUINT_DEVICE i64 rounded(double x) {
  constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: at its size doubles are integers
  const double r = x + ROUNDER;
  GPUINT_ASSERT(fabs(x - (r - ROUNDER)) <= worst_error(P), "columns are near integers");
  return __double_as_longlong(r) - 0x4338000000000000;
}

}  // namespace gpuint::fft_division
