// Transforms of R = 8, 16 or 32 points in the registers of a thread.
//
// Forward: level by level, x^(2h) - w^2 splits into x^h - w and x^h + w, so that a, b become a +
// w b and a - w b. Node s of level l has 2h = R / 2^l points and the twiddle w(s) with w(s)^2 =
// +-w(s / 2). The values of the polynomial come out in bit-reversed order. Inverse: the same levels
// backwards, without the factor 1 / 2 of each, so that results are R times the points.
//
// Bounds (primes.cuh). Small primes, forward: inputs and outputs below 4 P; u = a mod 2 P and v =
// w b are below 2 P, so that u + v and u - v + 2 P are below 4 P. Inverse: all below 2 P; a + b is
// reduced once, and (a - b + 2 P) w is a product by a factor. Large primes: the same with P for 2
// P.
#pragma once
#include "core/platform.cuh"
#include "core/unroll.cuh"
#include "long/primes.cuh"

namespace gpuint::long_rows {

__host__ __device__ constexpr u32 log_of(u32 power_of_two) {
  u32 log = 0;
  while (power_of_two >> log != 1) ++log;
  return log;
}

// Levels BEGIN to END of a forward transform.
template <class F, u32 R, u32 BEGIN = 0, u32 END = log_of(R)>
GPUINT_DEVICE void forward(u32* x) {
  unroll<BEGIN, END>([x](auto level) {
    constexpr u32 LEVEL = decltype(level)::value, HALF = R >> (LEVEL + 1);
    unroll<0, 1u << LEVEL>([x](auto node) {
      constexpr u32 NODE = decltype(node)::value;
      constexpr Factor W = F::twiddle(NODE);
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < HALF; ++i) {
        u32 &a = x[NODE * 2 * HALF + i], &b = x[NODE * 2 * HALF + HALF + i];
        const u32 u = F::subtract_once(a, F::TERM);
        u32 v;
        if constexpr (NODE == 0)
          v = F::subtract_once(b, F::TERM);
        else if constexpr (F::IS_SMALL)
          v = F::times(W, b);
        else
          v = F::least(F::times(W, b));
        a = u + v;
        b = u - v + F::TERM;
      }
    });
  });
}

// Inverse of `forward` up to a factor R.
template <class F, u32 R>
GPUINT_DEVICE void inverse(u32* x) {
  constexpr u32 LEVELS = log_of(R);
  unroll<0, LEVELS>([x](auto step) {
    constexpr u32 LEVEL = LEVELS - 1 - decltype(step)::value, HALF = R >> (LEVEL + 1);
    unroll<0, 1u << LEVEL>([x](auto node) {
      constexpr u32 NODE = decltype(node)::value;
      constexpr Factor W = F::inverse_twiddle(NODE);
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < HALF; ++i) {
        u32 &a = x[NODE * 2 * HALF + i], &b = x[NODE * 2 * HALF + HALF + i];
        u32 u = a, v = b;
        if constexpr (!F::IS_SMALL) {
          u = F::subtract_once(u, F::P);
          v = F::subtract_once(v, F::P);
        }
        u32 sum = u + v, difference = u - v + F::TERM;
        if constexpr (F::IS_SMALL) sum = F::subtract_once(sum, 2 * F::P);
        if constexpr (NODE != 0)
          difference = F::times(W, difference);
        else if constexpr (F::IS_SMALL)
          difference = F::subtract_once(difference, 2 * F::P);
        a = sum;
        b = difference;
      }
    });
  });
}

}  // namespace gpuint::long_rows
