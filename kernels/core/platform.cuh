// The one place that knows which compiler reads the kernels: nvcc, NVRTC (no standard headers), or
// the host compiler over the SIMT shim (GPUINT_SIMT).
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
// The host compiler decides: forced inlining of every instantiation would cost minutes of build
// time and gain nothing.
#define GPUINT_DEVICE __device__ inline
#define GPUINT_NOINLINE __device__ inline
#define GPUINT_UNROLL(n)
#else
#define GPUINT_DEVICE __device__ __forceinline__
#define GPUINT_NOINLINE __device__ __noinline__
// Unrolls a loop n times; without n wholly, as soon as its bounds are constants.
#define GPUINT_PRAGMA(text) _Pragma(#text)
#define GPUINT_UNROLL(n) GPUINT_PRAGMA(unroll n)
// Who called a barrier: the shim tells barriers of different call sites apart.
#define GPUINT_SITE
#define GPUINT_PASS_SITE
// What must hold: looked at over the shim, and where GPUINT_CHECKED asks for it (a false one
// traps).
#if defined(GPUINT_CHECKED)
#define GPUINT_ASSERT(condition, text) ((condition) ? (void)0 : __trap())
#else
#define GPUINT_ASSERT(condition, text) ((void)sizeof(!(condition)))
#endif
// A path that few operands take: the shim counts how often.
#define GPUINT_RARE(path) ((void)0)
#endif

namespace gpuint {
// A place in the block's dynamic shared memory, for a function that is not inlined: a pointer that
// it is given may point anywhere for all the compiler knows there, and takes twice the registers.
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
