// Policies of products by transforms.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

// Floating-point transforms (transform/fft/product.cuh). Measured on an H200, 2026-11-21.
struct FftPolicy {
  // Of a multiprocessor.
  static constexpr u32 BLOCKS = 2;
  // Values of the first operand that a thread keeps in registers; the others are in shared memory,
  // so that two blocks fit.
  static constexpr u32 VALUES_IN_REGISTERS = 4;
  // Number of concurrent blocks, by which a block finds rows to prefetch: 132 multiprocessors of an
  // H200.
  static constexpr u32 RUNNING_BLOCKS = 132 * BLOCKS;
};

// Number-theoretic transforms (transform/ntt/product.cuh). Measured on an H200, 2026-11-20.
struct NttPolicy {
  static constexpr u32 REGISTERS = 64;
};

}  // namespace gpuint
