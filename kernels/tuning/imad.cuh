// Policies of modular arithmetic by limbs of 32 bits (modular/imad), for numbers of N limbs.
// Measured on an H200, 2026-11-22.
//   UNROLLED    pairs of rows of a product in a turn of its loop: unrolled, sums need no moves from
//               register to register at its end, but the instruction cache holds only so much
//   PRODUCTS, RESIDUES, POWERS   registers of a thread that the kernels are compiled for
#pragma once
#include "core/platform.cuh"
#include "tuning/steps.cuh"

namespace gpuint {

template <u32 N>
struct ImadPolicy {
  static constexpr u32 UNROLLED = N <= 24 ? N / 2 : 4;
  // A factor and the two sums, or three of u, M, q, V and R.
  static constexpr u32 PRODUCTS = 3 * N + by_size(N, {{16, 48}, {ANY, 64}});
  // x, n and the two sums.
  static constexpr u32 RESIDUES = 4 * N + 32;
  static constexpr u32 POWERS = 4 * N + by_size(N, {{31, 40}, {ANY, 48}});
};

}  // namespace gpuint
