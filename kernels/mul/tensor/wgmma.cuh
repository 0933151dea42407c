// The matrix instructions of compute capability 9.0 for a warpgroup (four warps), as inline PTX;
// only code for sm_90a contains them.
//
// They run asynchronously. A fence before the first makes earlier register writes visible, a commit
// closes a group of instructions, and a wait blocks until at most the given number of groups is
// unfinished. Registers of an unfinished instruction must not be accessed.
#pragma once
#include "core/ptx.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define GPUINT_WGMMA 1
#endif

#if defined(GPUINT_WGMMA)
namespace gpuint::ptx {

GPUINT_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
GPUINT_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <u32 UNFINISHED>
GPUINT_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(UNFINISHED) : "memory");
}

// Makes this thread's stores to shared memory visible to the matrix instructions after a barrier.
GPUINT_DEVICE void publish_to_wgmma() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

GPUINT_DEVICE u32 shared_address(const u32* at) {
  return static_cast<u32>(__cvta_generic_to_shared(at));
}

// Loads that keep their order among the asynchronous instructions.
GPUINT_DEVICE u32 load_shared(u32 address) {
  u32 limb;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(limb) : "r"(address));
  return limb;
}

// A 32 x n matrix of bytes in shared memory, in pieces of 16 rows x 8 columns: 128 bytes, the 16 of
// a column in a row. Its place is the address of the first piece and the distance in bytes to the
// piece below it; the next eight columns follow directly. Both are multiples of 16, the unit of
// places: adding a distance to a place moves it. (PTX ISA, "Matrix Descriptor Format", no swizzle.)
GPUINT_DEVICE constexpr u32 matrix_distance(u32 bytes) { return bytes / 16; }
GPUINT_DEVICE u32 matrix_place(u32 address, u32 below) {
  return matrix_distance(address) | matrix_distance(below) << 16;
}

// c += a * b, where a is a 64 x 32 matrix of bytes, b one of 32 x n at a place in shared memory,
// and c is 64 x n. Warp w holds rows 16w .. 16w + 16 of a and c in fragments (PTX ISA, "Register
// Fragments for wgmma.mma_async.m64nNk32"): with g = lane / 4 and t = lane % 4, byte e of a
// register of a, or a register of c, holds
//   a[f + 2h]:       row 16w + g + 8f, column 16h + 4t + e
//   c[4i + 2f + e]:  row 16w + g + 8f, column 8i + 2t + e.
#define GPUINT_PLACES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define GPUINT_PLACES_16 GPUINT_PLACES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define GPUINT_PLACES_24 GPUINT_PLACES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define GPUINT_PLACES_32 GPUINT_PLACES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define GPUINT_PLACES_40 GPUINT_PLACES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define GPUINT_PLACES_48 GPUINT_PLACES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define GPUINT_PLACES_56 GPUINT_PLACES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define GPUINT_PLACES_64 GPUINT_PLACES_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define GPUINT_EIGHT(i)                                                                       \
  "+r"(c[i]), "+r"(c[i + 1]), "+r"(c[i + 2]), "+r"(c[i + 3]), "+r"(c[i + 4]), "+r"(c[i + 5]), \
      "+r"(c[i + 6]), "+r"(c[i + 7])
#define GPUINT_SUMS_8 GPUINT_EIGHT(0)
#define GPUINT_SUMS_16 GPUINT_SUMS_8, GPUINT_EIGHT(8)
#define GPUINT_SUMS_24 GPUINT_SUMS_16, GPUINT_EIGHT(16)
#define GPUINT_SUMS_32 GPUINT_SUMS_24, GPUINT_EIGHT(24)
#define GPUINT_SUMS_40 GPUINT_SUMS_32, GPUINT_EIGHT(32)
#define GPUINT_SUMS_48 GPUINT_SUMS_40, GPUINT_EIGHT(40)
#define GPUINT_SUMS_56 GPUINT_SUMS_48, GPUINT_EIGHT(48)
#define GPUINT_SUMS_64 GPUINT_SUMS_56, GPUINT_EIGHT(56)
// The last five arguments are the places of a and b, which follow the sums.
#define GPUINT_DEFINE_WGMMA(columns, sums, a0, a1, a2, a3, place)                                \
  GPUINT_DEVICE void wgmma(u32(&c)[sums], const u32(&a)[4], u32 b) {                             \
    asm volatile(                                                                                \
        "wgmma.mma_async.sync.aligned.m64n" #columns                                             \
        "k32.s32.u8.u8 "                                                                         \
        "{" GPUINT_PLACES_##sums "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #place ", 1;"  \
        : GPUINT_SUMS_##sums                                                                     \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(u64(matrix_distance(128)) << 32 | b)); \
  }
GPUINT_DEFINE_WGMMA(16, 8, 8, 9, 10, 11, 12)
GPUINT_DEFINE_WGMMA(32, 16, 16, 17, 18, 19, 20)
GPUINT_DEFINE_WGMMA(48, 24, 24, 25, 26, 27, 28)
GPUINT_DEFINE_WGMMA(64, 32, 32, 33, 34, 35, 36)
GPUINT_DEFINE_WGMMA(80, 40, 40, 41, 42, 43, 44)
GPUINT_DEFINE_WGMMA(96, 48, 48, 49, 50, 51, 52)
GPUINT_DEFINE_WGMMA(112, 56, 56, 57, 58, 59, 60)
GPUINT_DEFINE_WGMMA(128, 64, 64, 65, 66, 67, 68)
#undef GPUINT_DEFINE_WGMMA

}  // namespace gpuint::ptx
#endif
