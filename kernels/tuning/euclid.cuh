// Policies of Euclid's algorithm.
#pragma once
#include "tuning/steps.cuh"

namespace gpuint {

// Windows of wide rows (euclid/windows.cuh). Wider windows take fewer rounds of products, narrower
// ones leave shared memory for more warps. Inverses have twice the products.
//   GCD_BITS, INVERSE_BITS  of a window
// Measured on an H100, 2026-11-27, rows of 2^14 to 2^16 bits.
template <u32 ROW_BITS>
struct WindowPolicy {
  static constexpr u32 GCD_BITS = by_size(ROW_BITS, {{16384, 768}, {ANY, 1024}});
  static constexpr u32 INVERSE_BITS = 1024;
};

}  // namespace gpuint
