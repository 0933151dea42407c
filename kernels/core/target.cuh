// The architecture that the code is compiled for: its limits, and the choice of its policies.
#pragma once
#include "core/architectures.cuh"

namespace gpuint {

// The host has the limits of the first architecture.
#if defined(__CUDA_ARCH__)
constexpr Architecture ARCHITECTURE = architecture_of(__CUDA_ARCH__ / 10);
#else
constexpr Architecture ARCHITECTURE = architecture_of(0);
#endif

// True for code that runs on one architecture only, such as `sm_90a`. Plain code and PTX also run
// on later GPUs, some of which have less shared memory.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_SPECIFIC__)
constexpr bool IS_SPECIFIC = true;
#else
constexpr bool IS_SPECIFIC = false;
#endif

// Compute capability whose measured policies the code has (tuning/steps.cuh).
constexpr u32 POLICIES = IS_SPECIFIC ? ARCHITECTURE.policies : architecture_of(0).policies;

// Shared memory of a block. The host shim has room for the largest kernels.
#if defined(GPUINT_SIMT)
constexpr u32 BLOCK_KIB = MAX_BLOCK_KIB;
#else
constexpr u32 BLOCK_KIB = IS_SPECIFIC ? ARCHITECTURE.block_kib : MIN_BLOCK_KIB;
#endif

}  // namespace gpuint
