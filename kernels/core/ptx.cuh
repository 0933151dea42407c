// Inline PTX, one wrapper per instruction, each with a host twin.
//
// The carry flag CC.CF lives between consecutive instructions of one chain; `asm volatile` keeps
// their order. On the host it is a thread-local variable: a chain never contains a point where the
// SIMT shim switches fibers. Additions and subtractions never share a chain: the hardware keeps a
// borrow as the complement of a carry.
//
// mad.lo.cc + madc.hi.cc on the two halves of one 32x32 product are fused by ptxas into a single
// IMAD.WIDE.U32.X (seen in sm_80 and sm_90 SASS); a plain mad.wide.u32 becomes three instructions.
#pragma once
#include "core/platform.cuh"

namespace gpuint::ptx {

#if defined(GPUINT_SIMT)

// Every CUDA thread has its own flag. The shim's fibers share that of their host thread, one chain
// at a time. ThreadSanitizer would report a race between fibers, so these functions are not
// instrumented.
#if defined(__SANITIZE_THREAD__)
#define GPUINT_FLAG __attribute__((no_sanitize("thread"), noinline)) inline
#else
#define GPUINT_FLAG inline
#endif

inline thread_local u32 carry_flag = 0;

GPUINT_FLAG void add_cc(u32& r, u32 a) {
  const u64 sum = u64{r} + a;
  r = static_cast<u32>(sum), carry_flag = static_cast<u32>(sum >> 32);
}
GPUINT_FLAG void addc_cc(u32& r, u32 a) {
  const u64 sum = u64{r} + a + carry_flag;
  r = static_cast<u32>(sum), carry_flag = static_cast<u32>(sum >> 32);
}
GPUINT_FLAG void addc(u32& r, u32 a) { r += a + carry_flag; }
GPUINT_FLAG void sub_cc(u32& r, u32 a) { carry_flag = r < a, r -= a; }
GPUINT_FLAG void subc_cc(u32& r, u32 a) {
  const u64 difference = u64{r} - a - carry_flag;
  r = static_cast<u32>(difference), carry_flag = static_cast<u32>(difference >> 32) & 1;
}
GPUINT_FLAG u32 borrow_mask() { return 0u - carry_flag; }
inline void mad_lo_cc(u32& r, u32 a, u32 b) { add_cc(r, a * b); }
inline void madc_lo_cc(u32& r, u32 a, u32 b) { addc_cc(r, a * b); }
inline void madc_hi_cc(u32& r, u32 a, u32 b) { addc_cc(r, static_cast<u32>(u64{a} * b >> 32)); }

#undef GPUINT_FLAG

inline void mma(u32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2], GPUINT_SITE) {
  simt::multiply_bytes(c, a, b, GPUINT_PASS_SITE);
}

inline float reciprocal(float x) { return 1.0f / x; }
inline float square_root(float x) { return __builtin_sqrtf(x); }
inline u32 floor_of_product(float x, float y) {
  const double product = double{x} * y;
  return product < 0x1p23 ? static_cast<u32>(product) : 0;
}

inline u32 mad_lo(u32 a, u32 b, u32 c) { return a * b + c; }
inline u32 rematerialize(u32 x) { return x; }
inline u32 thread() { return threadIdx.x; }
inline void prefetch(const void*) {}
inline void load_and_prefetch_line(const u32* global, u32* word) {
  __builtin_memcpy(word, global, 16);
}

inline void copy_async(const void* global, void* shared) { __builtin_memcpy(shared, global, 16); }
inline void copy_async_limb(const u32* global, u32* shared) { *shared = *global; }
inline void await_copies() {}

constexpr bool CLUSTERS = true;
inline void cluster_sync(GPUINT_SITE) {
  simt::barrier(simt::BarrierOp::Cluster, false, GPUINT_PASS_SITE);
}
template <class T>
inline T* of_block(T* shared, u32 rank) {
  return reinterpret_cast<T*>(simt::of_block(shared, rank));
}

#else

#define GPUINT_PTX3(name, text)                                       \
  GPUINT_DEVICE void name(u32& r, u32 a, u32 b) {                     \
    asm volatile(text " %0, %1, %2, %0;" : "+r"(r) : "r"(a), "r"(b)); \
  }
#define GPUINT_PTX2(name, text) \
  GPUINT_DEVICE void name(u32& r, u32 a) { asm volatile(text " %0, %0, %1;" : "+r"(r) : "r"(a)); }

GPUINT_PTX2(add_cc, "add.cc.u32")
GPUINT_PTX2(addc_cc, "addc.cc.u32")
GPUINT_PTX2(addc, "addc.u32")
GPUINT_PTX2(sub_cc, "sub.cc.u32")
GPUINT_PTX2(subc_cc, "subc.cc.u32")
GPUINT_PTX3(mad_lo_cc, "mad.lo.cc.u32")
GPUINT_PTX3(madc_lo_cc, "madc.lo.cc.u32")
GPUINT_PTX3(madc_hi_cc, "madc.hi.cc.u32")

// All ones if the preceding chain of subtractions borrowed, else 0.
GPUINT_DEVICE u32 borrow_mask() {
  u32 r;
  asm volatile("subc.u32 %0, 0, 0;" : "=r"(r));
  return r;
}

#undef GPUINT_PTX2
#undef GPUINT_PTX3

// 1 / x within 1 ulp, for normal x and 1 / x.
GPUINT_DEVICE float reciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

// sqrt(x) with a relative error of at most 2^-23, for normal x.
GPUINT_DEVICE float square_root(float x) {
  float r;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

// floor(x y) for 0 <= x y < 2^23: the last bit of the sum with 2^23 stands for 1. It costs less
// than a conversion.
GPUINT_DEVICE u32 floor_of_product(float x, float y) {
  u32 r;
  asm("fma.rm.f32 %0, %1, %2, 0f4B000000;" : "=r"(r) : "f"(x), "f"(y));
  return r - 0x4B000000;
}

// a b + c by the pipe of products, even where a is known to be 0 or 1 and a selection would do.
GPUINT_DEVICE u32 mad_lo(u32 a, u32 b, u32 c) {
  u32 r;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}

// Hides x from the optimizer, so that values derived from it are rematerialized.
GPUINT_DEVICE u32 rematerialize(u32 x) {
  asm volatile("" : "+r"(x));
  return x;
}

// Reads threadIdx.x again, so that it is rematerialized, too.
GPUINT_DEVICE u32 thread() {
  u32 r;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(r));
  return r;
}

// Prefetches a line of global memory into the L2 cache.
GPUINT_DEVICE void prefetch(const void* global) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
}

// Loads 16 aligned bytes of read-only global memory and prefetches their line of 128 bytes into the
// L2 cache.
GPUINT_DEVICE void load_and_prefetch_line(const u32* global, u32* word) {
  asm volatile("ld.global.nc.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
               : "l"(global));
}

// Copies 16 aligned bytes asynchronously; await_copies() waits for this thread's copies.
GPUINT_DEVICE void copy_async(const void* global, void* shared) {
  const u32 to = static_cast<u32>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}
// Copies 4 aligned bytes asynchronously, likewise.
GPUINT_DEVICE void copy_async_limb(const u32* global, u32* shared) {
  const u32 to = static_cast<u32>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(global) : "memory");
}
GPUINT_DEVICE void await_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Clusters of blocks, from compute capability 9.0 on: a barrier for all threads of the cluster, and
// the address of an object of this block in another block's shared memory. GPUINT_NO_CLUSTERS
// selects the code of older GPUs, for an interpreter that runs one block at a time.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && !defined(GPUINT_NO_CLUSTERS)
constexpr bool CLUSTERS = true;
#else
constexpr bool CLUSTERS = false;
#endif
GPUINT_DEVICE void cluster_sync() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
#endif
}
template <class T>
GPUINT_DEVICE T* of_block(T* shared, u32 rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  u64 at;
  asm("mapa.u64 %0, %1, %2;" : "=l"(at) : "l"(shared), "r"(rank));
  return reinterpret_cast<T*>(at);
#else
  return shared;
#endif
}

// c += a * b over the lanes of a warp, where a is a 16 x 32 matrix and b a 32 x 8 matrix of bytes
// and c is 16 x 8, all in fragments (PTX ISA, "Matrix Fragments for mma.m16n8k32"). With g = lane /
// 4 and t = lane % 4, byte e of a register holds
//   a[f + 2h]: row g + 8f, column 16h + 4t + e
//   b[h]:      row 16h + 4t + e, column g
//   c[2f + e]: row g + 8f, column 2t + e.
// Not volatile: a function of its operands, free to be scheduled among the loads that feed it.
GPUINT_DEVICE void mma(u32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif

// Starts a chain of additions with a carry, 0 or 1, saved from an earlier chain.
GPUINT_DEVICE void set_carry(u32 carry) {
  u32 ones = ~0u;
  add_cc(ones, carry);
}

}  // namespace gpuint::ptx
