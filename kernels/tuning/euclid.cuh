// Policies of Euclid's algorithm.
#pragma once
#include "core/math.cuh"
#include "tuning/steps.cuh"

namespace gpuint {

// Greatest common divisors of short rows by binary steps (euclid/binary.cuh). On an H200 with 2^32
// bits of operands, 2026-11-28: 4.69, 5.42, 6.24 and 7.18 ms at 256, 512, 768 and 1024 bits, by
// Lehmer's steps 8.07, 8.13, 8.18 and 8.90.
//   BINARY_BITS  of the longest rows
//   registers()  of a thread: its two numbers, and those of a pass
struct GcdPolicy {
  static constexpr u32 BINARY_BITS = 1024, THREADS = 128;
  __host__ __device__ static constexpr u32 registers(u32 bits) {
    return 2 * ceil_div(bits, 32) + 40;
  }
};

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
