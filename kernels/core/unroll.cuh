// Loops that are unrolled completely, with indices that are constants.
//
// nvcc and NVRTC have one code generator for GPUs before 10.0 and another from 10.0 on. The second
// one passes over the whole kernel for each loop that it unrolls, which is most of the compile time
// of a kernel with many loops: 51 s of a power at 2048 bits for 12.0, and 1.2 s without loops. The
// first one makes worse code without loops. benches/notebook/2026-11-29-compile-times.md has both.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr bool UNROLLS_LOOPS_FAST = false;
#else
constexpr bool UNROLLS_LOOPS_FAST = true;
#endif

// A number as a type: an index that template arguments may depend on.
template <u32 VALUE>
struct Constant {
  static constexpr u32 value = VALUE;
  __host__ __device__ constexpr operator u32() const { return VALUE; }
};

// Calls body(Constant<i>()) for i from BEGIN below END.
template <u32 BEGIN, u32 END, class Body>
GPUINT_DEVICE void unroll(Body body) {
  if constexpr (BEGIN < END) {
    body(Constant<BEGIN>());
    unroll<BEGIN + 1, END>(body);
  }
}

// Calls body(i) for i from BEGIN below END, where no type depends on i.
template <u32 BEGIN, u32 END, class Body>
GPUINT_DEVICE void repeat(Body body) {
  if constexpr (UNROLLS_LOOPS_FAST) {
    GPUINT_UNROLL()
    for (u32 i = BEGIN; i < END; ++i) body(i);
  } else {
    unroll<BEGIN, END>(body);
  }
}

}  // namespace gpuint
