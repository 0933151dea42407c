// CUDA's qualifiers (which mean nothing on the host) and its plain types, with CUDA's alignment.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

constexpr int warpSize = 32;

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

#define GPUINT_SIMT_VECTOR2(T, type, bytes)     \
  struct __attribute__((aligned(bytes))) type { \
    T x, y;                                     \
  };                                            \
  constexpr type make_##type(T x, T y) { return {x, y}; }
#define GPUINT_SIMT_VECTOR4(T, type, bytes)     \
  struct __attribute__((aligned(bytes))) type { \
    T x, y, z, w;                               \
  };                                            \
  constexpr type make_##type(T x, T y, T z, T w) { return {x, y, z, w}; }

GPUINT_SIMT_VECTOR2(unsigned char, uchar2, 2)
GPUINT_SIMT_VECTOR4(unsigned char, uchar4, 4)
GPUINT_SIMT_VECTOR2(unsigned short, ushort2, 4)
GPUINT_SIMT_VECTOR4(unsigned short, ushort4, 8)
GPUINT_SIMT_VECTOR2(int, int2, 8)
GPUINT_SIMT_VECTOR4(int, int4, 16)
GPUINT_SIMT_VECTOR2(unsigned, uint2, 8)
GPUINT_SIMT_VECTOR4(unsigned, uint4, 16)
GPUINT_SIMT_VECTOR2(long long, longlong2, 16)
GPUINT_SIMT_VECTOR2(unsigned long long, ulonglong2, 16)
GPUINT_SIMT_VECTOR2(double, double2, 16)

#undef GPUINT_SIMT_VECTOR2
#undef GPUINT_SIMT_VECTOR4

constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

namespace gpuint::simt {
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
}  // namespace gpuint::simt
