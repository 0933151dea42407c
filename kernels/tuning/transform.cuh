// Policies of products by transforms.
#pragma once
#include "core/platform.cuh"
#include "tuning/steps.cuh"

namespace gpuint {

// Floating-point transforms (transform/fft/product.cuh). Measured on an H200, 2026-11-21.
struct FftPolicy {
  // Of a multiprocessor.
  static constexpr u32 BLOCKS = 2;
  // Values of the first operand that a thread keeps in registers; the others are in shared memory,
  // so that two blocks of 4096 points fit, or four of 2048.
  __host__ __device__ static constexpr u32 values_in_registers(u32 points) {
    return by_size(points, {{2048, 5}, {ANY, 4}});
  }
  // Number of concurrent blocks, by which a block finds rows to prefetch.
  static constexpr u32 RUNNING_BLOCKS = MEASURED_MULTIPROCESSORS * BLOCKS;
};

// Powers modulo special moduli in digits of transforms (modular/fft/special_digits.cuh).
//   IS_ROOMY  two blocks of 4096 points, or one of 8192, have room for digits and all columns
struct SpecialDigitsPolicy {
  static constexpr bool IS_ROOMY = BLOCK_KIB >= 227;
};

// Modular arithmetic by floating-point transforms of P points (modular/fft/barrett.cuh), a number
// having `CHUNKS` P digits.
//   SHARED_POINTS  of 16 that a thread keeps in shared memory, so that 512 threads still fit a
//                  multiprocessor
//   KEEPS_ADDRESS  of a stored spectrum in registers, where they suffice
// Measured on an H200, 2026-11-22.
template <u32 P, u32 CHUNKS, u32 CAPABILITY = POLICIES>
struct FftModularPolicy {
  static constexpr u32 OF_TWO_PARTS =
      by_capability(CAPABILITY, {{80, 0}, {90, by_size(P, {{1024, 6}, {ANY, 7}})}});
  static constexpr u32 SHARED_POINTS = CHUNKS == 2 ? OF_TWO_PARTS : 0;
  static constexpr bool KEEPS_ADDRESS = by_capability(CAPABILITY, {{80, 0}, {90, 1}});
};

// Number-theoretic transforms (transform/ntt/product.cuh). Measured on an H200, 2026-11-20.
struct NttPolicy {
  static constexpr u32 REGISTERS = 64;
};

}  // namespace gpuint
