// Policies of square roots.
#pragma once
#include "core/math.cuh"
#include "core/shape.cuh"
#include "tuning/steps.cuh"

namespace gpuint {

// Square roots by a few lanes (root/isqrt.cuh).
//   MAX_LIMBS_PER_LANE  of the root
//   TILE                 columns multiplied at a time
//   THREADS              of a block: few, since shared memory limits the warps of a multiprocessor
// Measured on an H200, 2026-11-22.
struct RootPolicy {
  static constexpr u32 MAX_LIMBS_PER_LANE = 36;
  static constexpr u32 TILE = 12;
  static constexpr u32 REGISTERS = 128;
  static constexpr u32 THREADS = 64;
};

// Levels of a composed root (root/level.cuh).
//   THREADS    of a row at most: blocks of more have fewer registers
//   REGISTERS  of a thread; with 40, code for 8.0 spills, and that of dividends
// Measured on an H200, 2026-11-23.
template <class S>
struct RootLevelPolicy {
  static constexpr u32 THREADS = 256;
  static constexpr u32 REGISTERS = by_capability(POLICIES, {{80, 48}, {90, 40}});
  static constexpr u32 DIVIDEND_REGISTERS = 48;
  using Rows =
      typename Conditional<(S::THREADS > THREADS), Regrouped<S, ceil_div(S::N, THREADS)>, S>::Type;
};

}  // namespace gpuint
