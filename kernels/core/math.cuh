// Integer functions and a type selection for constant expressions.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

__host__ __device__ constexpr u32 ceil_div(u32 a, u32 b) { return (a + b - 1) / b; }
__host__ __device__ constexpr u32 round_up(u32 a, u32 b) { return ceil_div(a, b) * b; }
__host__ __device__ constexpr u32 max_of(u32 a, u32 b) { return a > b ? a : b; }
__host__ __device__ constexpr u32 min_of(u32 a, u32 b) { return a < b ? a : b; }
__host__ __device__ constexpr u32 power_of_two_at_least(u32 a) {
  u32 p = 1;
  while (p < a) p *= 2;
  return p;
}
// The largest k with 2^k <= n, for n > 0.
__host__ __device__ constexpr u32 log2_of(u32 n) {
  u32 k = 0;
  while (n >> k > 1) ++k;
  return k;
}

// std::conditional, which NVRTC does not have.
template <bool FIRST, class A, class B>
struct Conditional {
  using Type = A;
};
template <class A, class B>
struct Conditional<false, A, B> {
  using Type = B;
};

}  // namespace gpuint
