// Numbers of a pair in shared memory, their leading bits, and a multiple to subtract.
#pragma once
#include "core/math.cuh"
#include "core/platform.cuh"

namespace gpuint {

// One number of a pair: its limbs, a bound of its length, and the limbs of its cofactor.
struct EuclidNumber {
  u32* limbs;
  u32 length;
  u32* cofactor;

  GPUINT_DEVICE void trim() {
    while (length > 0 && limbs[length - 1] == 0) --length;
  }
  GPUINT_DEVICE u32 at(u32 i) const { return i < length ? limbs[i] : 0; }
  // Bits of a trimmed number.
  GPUINT_DEVICE u32 bits() const {
    if (length == 0) return 0;
    return 32 * length - static_cast<u32>(__clz(static_cast<int>(limbs[length - 1])));
  }
};

// The highest limbs of two numbers, [0] the highest, with 0 above the length of a number.
struct EuclidTop {
  u32 length;  // of the longer number
  u32 a[4], b[4];

  // Trims both numbers. A pass usually clears one limb of both, so a second look at shared memory
  // is rare.
  GPUINT_DEVICE EuclidTop(EuclidNumber& x, EuclidNumber& y) {
    read(x, y);
    if (is_zero()) {
      --length;
      GPUINT_UNROLL(3)
      for (u32 j = 0; j < 3; ++j) a[j] = a[j + 1], b[j] = b[j + 1];
      if (is_zero()) {
        x.trim();
        y.trim();
        read(x, y);
      }
    }
    x.length = min_of(x.length, length);
    y.length = min_of(y.length, length);
    if (a[0] == 0) x.trim();
    if (b[0] == 0) y.trim();
  }

  GPUINT_DEVICE u32 shift() const { return static_cast<u32>(__clz(static_cast<int>(a[0] | b[0]))); }

  // 64 bits of the limbs below `shift` bits.
  GPUINT_DEVICE static u64 leading(const u32 (&x)[4], u32 shift) {
    return u64(__funnelshift_l(x[1], x[0], shift)) << 32 | __funnelshift_l(x[2], x[1], shift);
  }

 private:
  GPUINT_DEVICE bool is_zero() const { return (a[0] | b[0]) == 0; }
  GPUINT_DEVICE void read(const EuclidNumber& x, const EuclidNumber& y) {
    length = max_of(x.length, y.length);
    GPUINT_UNROLL(4)
    for (u32 j = 0; j < 4; ++j) {
      const bool exists = j < length;
      a[j] = exists ? x.limbs[length - 1 - j] : 0, b[j] = exists ? y.limbs[length - 1 - j] : 0;
    }
  }
};

// Returns a < b for equal lengths; each lane compares by itself.
GPUINT_DEVICE bool is_less_from_top(const EuclidNumber& a, const EuclidNumber& b) {
  u32 i = a.length;
  while (i > 0 && a.limbs[i - 1] == b.limbs[i - 1]) --i;
  return i > 0 && a.limbs[i - 1] < b.limbs[i - 1];
}

template <class T>
GPUINT_DEVICE void exchange(T& a, T& b) {
  const T old = a;
  a = b, b = old;
}

// A multiple q 2^s b <= a for a >= b > 0, from the leading bits of both.
struct EuclidMultiple {
  u32 q, s;  // q may be 0 if s is

  // x = the leading bits of a, of `top` limbs, from `shift` on.
  GPUINT_DEVICE EuclidMultiple(u64 x, u32 top, u32 shift, const EuclidNumber& b) {
    const u32 highest = b.at(b.length - 1);
    const u32 shift_b = static_cast<u32>(__clz(static_cast<int>(highest)));
    const u32 y = __funnelshift_l(b.at(b.length - 2), highest, shift_b);
    q = static_cast<u32>((x >> 2) / (u64(y) + 1));
    const i32 distance =
        static_cast<i32>(32 * (top - b.length) + shift_b) - static_cast<i32>(shift + 30);
    if (distance < 0) q = distance > -32 ? q >> -distance : 0;
    s = distance < 0 ? 0 : static_cast<u32>(distance);
  }
};

}  // namespace gpuint
