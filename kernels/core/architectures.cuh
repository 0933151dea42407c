// Limits and policies of GPU architectures. Written from catalogue/architectures.toml by
// `GPUINT_HEADER=overwrite cargo test -p gpuint-catalogue architectures`.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

struct Architecture {
  u32 warps, blocks, registers;  // of a multiprocessor
  u32 block_kib;                 // shared memory of a block
  u32 policies;                  // compute capability whose measured policies its code has
};

// The newest architecture that is not newer than a compute capability (90 is 9.0), or the first.
__host__ __device__ constexpr Architecture architecture_of(u32 capability) {
  if (capability >= 120) return {48, 24, 65536, 99, 80};
  if (capability >= 110) return {48, 24, 65536, 227, 80};
  if (capability >= 103) return {64, 32, 65536, 227, 80};
  if (capability >= 100) return {64, 32, 65536, 227, 80};
  if (capability >= 90) return {64, 32, 65536, 227, 90};
  if (capability >= 89) return {48, 24, 65536, 99, 80};
  if (capability >= 87) return {48, 16, 65536, 163, 80};
  if (capability >= 86) return {48, 16, 65536, 99, 80};
  return {64, 32, 65536, 163, 80};
}

// Shared memory of a block on every architecture, and on the one with the most.
constexpr u32 MIN_BLOCK_KIB = 99, MAX_BLOCK_KIB = 227;

// Multiprocessors of the GPU on which policies were measured (NVIDIA H200).
constexpr u32 MEASURED_MULTIPROCESSORS = 132;

}  // namespace gpuint
