// Rotations of the complex plane, and tables of them, correct to the last bit.
//
// e(x) = exp(2 pi i x) is stored as cos (1 + i tan): a product b e(x) is then
//     u = re(b) - tan im(b),   v = im(b) + tan re(b),   b e(x) = cos (u + i v),
// where cos is part of the addition that follows: every operation is a fused multiply-add. Both
// numbers have a relative error of half a unit in the last place, for tangents of any size: the
// product's error is at most that of a rounding each.
//
// The compiler computes the tables, in pairs of doubles (T. J. Dekker, Numer. Math. 18, 1971): the
// powers e(2^i x) from Taylor's series and squarings, all others as products of those. Device and
// host thus have the same bits.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

struct alignas(16) Complex {
  double re, im;
};

struct alignas(16) Rotation {
  double cos, tan;
};

namespace exact {

// hi + lo, about 104 bits.
struct Pair {
  double hi, lo;
};

__host__ __device__ constexpr Pair ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

__host__ __device__ constexpr Pair operator+(Pair a, Pair b) {
  const double sum = a.hi + b.hi;
  const double of_b = sum - a.hi;
  const double error = (a.hi - (sum - of_b)) + (b.hi - of_b);
  return ordered_sum(sum, error + (a.lo + b.lo));
}

__host__ __device__ constexpr Pair operator-(Pair a) { return {-a.hi, -a.lo}; }

// The upper half of a double's bits.
__host__ __device__ constexpr double upper(double a) {
  const double scaled = 134217729.0 * a;  // 2^27 + 1
  return scaled - (scaled - a);
}

__host__ __device__ constexpr Pair operator*(Pair a, Pair b) {
  const double product = a.hi * b.hi;
  const double ah = upper(a.hi), al = a.hi - ah, bh = upper(b.hi), bl = b.hi - bh;
  const double error = ((ah * bh - product) + ah * bl + al * bh) + al * bl;
  return ordered_sum(product, error + (a.hi * b.lo + a.lo * b.hi));
}

__host__ __device__ constexpr Pair operator/(Pair a, Pair b) {
  const double first = a.hi / b.hi;
  const Pair rest = a + -(Pair{first, 0} * b);
  const double second = rest.hi / b.hi;
  const Pair last = rest + -(Pair{second, 0} * b);
  return ordered_sum(first, second) + Pair{last.hi / b.hi, 0};
}

// e(x), as cosine and sine.
struct Unit {
  Pair cos, sin;
};

__host__ __device__ constexpr Unit operator*(Unit a, Unit b) {
  return {a.cos * b.cos + -(a.sin * b.sin), a.cos * b.sin + a.sin * b.cos};
}

// e(numerator / denominator).
__host__ __device__ constexpr Unit unit(u32 numerator, u32 denominator) {
  constexpr Pair TWO_PI{6.283185307179586232, 2.4492935982947064e-16};
  // A 256th of the angle by Taylor's series, then eight squarings.
  const Pair angle =
      TWO_PI * (Pair{static_cast<double>(numerator), 0} / Pair{256.0 * denominator, 0});
  Pair term{1, 0}, cos{1, 0}, sin{0, 0};
  for (u32 k = 1; k < 16; ++k) {
    term = term * angle / Pair{static_cast<double>(k), 0};
    const Pair signed_term = k % 4 < 2 ? term : -term;
    if (k % 2 == 0)
      cos = cos + signed_term;
    else
      sin = sin + signed_term;
  }
  Unit unit{cos, sin};
  for (u32 i = 0; i < 8; ++i) unit = unit * unit;
  return unit;
}

// A quarter turn is 2^-60 (1 + 2^60 i), which is off by 2^-60.
__host__ __device__ constexpr Rotation rotation(Unit unit) {
  constexpr double MIN_COSINE = 1.0 / (1ull << 60);
  if (unit.cos.hi < MIN_COSINE && unit.cos.hi > -MIN_COSINE)
    return {MIN_COSINE, unit.sin.hi / MIN_COSINE};
  return {unit.cos.hi, (unit.sin / unit.cos).hi};
}

// base e(j x) for j = 0 .. COUNT, given e(x).
template <u32 COUNT>
struct Progression {
  Unit at[COUNT];

  __host__ __device__ constexpr Progression(Unit base, Unit x) : at{} {
    at[0] = base;
    for (u32 size = 1; size < COUNT; size *= 2) {
      for (u32 j = size; j < 2 * size && j < COUNT; ++j) at[j] = at[j - size] * x;
      x = x * x;
    }
  }
};

}  // namespace exact
}  // namespace gpuint
