// Policies of the checks of results (verify).
#pragma once
#include "core/math.cuh"
#include "core/shape.cuh"

namespace gpuint {

// Checks of equations.
//   LANES   of a row: few, since each adds a step to the sums over the lanes
//   UNROLL  rounds whose loads are in flight together
template <class S>
struct CheckPolicy {
  static constexpr u32 THREADS = 128;
  static constexpr u32 WORDS_PER_LANE = 4;
  static constexpr u32 LANES =
      min_of(32, power_of_two_at_least(ceil_div(S::WORDS, WORDS_PER_LANE)));
  static constexpr u32 UNROLL = 2;
};

// Comparisons of two results.
struct EqualPolicy {
  static constexpr u32 THREADS = 128;
  static constexpr u32 BLOCK_BYTES = 16384;
};

}  // namespace gpuint
