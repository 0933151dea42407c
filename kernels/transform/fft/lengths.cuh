// Lengths of modular arithmetic by transforms.
#pragma once
#include "core/math.cuh"
#include "core/record.cuh"
#include "transform/fft/passes.cuh"

namespace gpuint::fft_modular {

template <class S>
struct Lengths {
  static constexpr u32 LIMBS = S::N, DIGITS = 2 * LIMBS;
  // Points of a part. A number has CHUNKS times as many digits.
  static constexpr u32 P = min_of(fft::POINTS, DIGITS / 2), CHUNKS = DIGITS / P;
  static constexpr u32 THREADS = P / fft::RADIX;
  static_assert(is_transform_width(S::BITS) && S::LIMB_BITS == 32 && CHUNKS % 2 == 0, "");
};

// Maximum difference between a column and its integer. The factors of a product have n balanced
// digits and tops below 1.3 2^16 and 2^17 + 2 (modular/fft/barrett.cuh): |a| |b| <= 2^30 sqrt((n +
// 7) (n + 17)). A ring of CHUNKS / 2 parts has as many terms in a sum over chunks as one of CHUNKS
// parts.
template <class S>
__host__ __device__ constexpr double worst_error() {
  return (1 << 30) * (Lengths<S>::DIGITS + 12.0) * fft::relative_error(Lengths<S>::CHUNKS);
}

}  // namespace gpuint::fft_modular
