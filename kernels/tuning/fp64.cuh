// Policy of modular arithmetic by digits on the FP64 multipliers (modular/fp64), for numbers of D
// digits. Measured on an H200, 2026-11-22.
//   HALVED_SQUARE   squares in Montgomery's products by halves of the digits, whose code is shorter
#pragma once
#include "core/platform.cuh"

namespace gpuint {

template <u32 D>
struct Fp64Policy {
  static constexpr bool HALVED_SQUARE = D > 24;
};

}  // namespace gpuint
