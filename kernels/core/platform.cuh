// Compiler differences: nvcc, NVRTC (no standard headers), or the host compiler over the SIMT shim
// (GPUINT_SIMT).
#pragma once
#if defined(GPUINT_SIMT)
#include "simt/simt.h"
#endif

namespace gpuint {
using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using i16 = short;
using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;
}  // namespace gpuint

#if defined(GPUINT_SIMT)
// The host compiler decides: forced inlining of every instantiation would add minutes of build time
// without a benefit.
#define GPUINT_DEVICE __device__ inline
#define GPUINT_NOINLINE __device__ inline
#define GPUINT_UNROLL(n)
#else
#define GPUINT_DEVICE __device__ __forceinline__
#define GPUINT_NOINLINE __device__ __noinline__
// Unrolls a loop n times; without n, a loop of constant bounds completely.
#define GPUINT_PRAGMA(text) _Pragma(#text)
#define GPUINT_UNROLL(n) GPUINT_PRAGMA(unroll n)
// Call site of a barrier, by which the shim distinguishes barriers.
#define GPUINT_SITE
#define GPUINT_PASS_SITE
// Debug assertion, checked on the SIMT shim and with GPUINT_CHECKED (a false one traps).
#if defined(GPUINT_CHECKED)
#define GPUINT_ASSERT(condition, text) ((condition) ? (void)0 : __trap())
#else
#define GPUINT_ASSERT(condition, text) ((void)sizeof(!(condition)))
#endif
// Marks a path that few operands take; the shim counts its executions.
#define GPUINT_RARE(path) ((void)0)
#endif

namespace gpuint {
// Offset in the block's dynamic shared memory, for arguments of functions that are not inlined: a
// generic pointer takes twice the registers, and the compiler cannot use shared memory loads for
// it.
#if defined(GPUINT_SIMT)
using SharedPlace = u32*;
GPUINT_DEVICE SharedPlace shared_place(const u32* limbs) { return const_cast<u32*>(limbs); }
GPUINT_DEVICE u32* shared_limbs(SharedPlace place) { return place; }
#else
using SharedPlace = u32;
GPUINT_DEVICE unsigned char* shared_memory() {
  extern __shared__ __align__(16) unsigned char gpuint_shared[];
  return gpuint_shared;
}
GPUINT_DEVICE SharedPlace shared_place(const u32* limbs) {
  return static_cast<u32>(reinterpret_cast<const unsigned char*>(limbs) - shared_memory());
}
GPUINT_DEVICE u32* shared_limbs(SharedPlace place) {
  return reinterpret_cast<u32*>(shared_memory() + place);
}
#endif
}  // namespace gpuint
