// The architecture of the compiled code, if policies depend on it.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

enum class Architecture {
  Sm80,   // any GPU from compute capability 8.0 on: 99 KiB of shared memory a block at least
  Sm90a,  // compute capability 9.0: 227 KiB, warpgroup matrix instructions
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
constexpr Architecture ARCHITECTURE = Architecture::Sm90a;
#else
constexpr Architecture ARCHITECTURE = Architecture::Sm80;
#endif

// Shared memory of a block. The host shim has room for the largest kernels.
#if defined(GPUINT_SIMT)
constexpr u32 BLOCK_KIB = 227;
#else
constexpr u32 BLOCK_KIB = ARCHITECTURE == Architecture::Sm90a ? 227 : 99;
#endif

}  // namespace gpuint
