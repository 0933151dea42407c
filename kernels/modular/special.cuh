// Reduction modulo special moduli N = k 2^n + c with small k and c, in linear time.
//
// With x = hi 2^n + lo, lo < 2^n, and k 2^n = -c modulo N,
//     k x = hi k 2^n + k lo = hi N + k lo - c hi,
// so k lo - c hi is congruent to k x: no division by k is necessary. Residues of x are therefore
// x / k mod N, as Montgomery's are x 2^BITS mod N: the fold of the product of the residues of x and
// y is k (x / k) (y / k) = x y / k, the residue of x y. (For k = 1 it is x itself: the reductions
// of Mersenne and Fermat numbers, R. Crandall and C. Pomerance, "Prime Numbers", 2005, 9.2.3.) A
// factor m, 1 or a small base of a power, multiplies both terms for nothing:
//     y = m k lo - m c hi,     r = y - Q N,     Q = floor(y / N).
//
// Bounds: n >= 128, m k < 2^31, m |c| <= 2^13, x < N^2. Then hi / 2^n < k^2 + 1 / 2^64, and |y / N|
// < m |c| k + m + 1 < 2^45.
//
// Quotient. Let L = lo / 2^n, cut to 32 bits, and H = x / 2^(2n), cut to 32 bits after the point:
//     v = m L - (m c / k) H.
// Cutting adds an error below 2^-32 (m + m |c| / k) <= 2^-18; N instead of k 2^n one below 2^45
// |c| / 2^128; the six roundings to doubles below 6 * 2^-53 m |c| k <= 6 * 2^-9. The sum is less
// than 1 / 64. So for Q = floor(v + 1 / 64)
//     f - 1 / 32 < r / N < f < 1,     f = v + 1 / 64 - Q,
// and r can be negative only if f < 1 / 32. Then r is computed once more, with Q - 1.
//
// One pass over x computes r. With |c| (B^W - 1 - hi) for -|c| hi (modulo B^W, |c| is added once),
// the products of limb i are one number below 2^64,
//     z_i = m k lo_i + m |c| hi_i < (2^31 + 2^13) 2^32.
// Its low half is limb i of a number and its high half limb i + 1 of another. The third number is
// -Q N, and m |c| at the bottom for c > 0: -Q k 2^n, of a magnitude below 2^76 2^n, and the lower
// part, which is not negative and below 2^59. For c > 0 it is (m - Q) c, and y < m N, so that v +
// 1 / 64 < m + 1 / 32 and Q <= m. For c < 0 it is Q |c|, and y >= 0, so that Q >= 0; the second
// time r was negative, and so Q >= 1. Chunks of three numbers carry at most 2.
#pragma once
#include "core/carry.cuh"
#include "core/limbs.cuh"
#include "core/platform.cuh"

namespace gpuint {

// A special modulus k b^n + c; `record` of src/special.rs has the words.
struct SpecialModulus {
  u32 k;
  u32 n;
  i32 c;
  u32 base;
};

// A row that no thread of the kernel writes.
struct ReadOnlyRow {
  const u32* x;

  GPUINT_DEVICE u32 operator[](u32 i) const { return __ldg(x + i); }
};

// The limbs of r for a row x: a ReadOnlyRow, or a pointer.
template <class Row>
struct FoldedLimbs {
  Row x;
  u32 limbs;  // of x
  SpecialModulus modulus;
  u32 factor;  // m
  // -Q N + m |c|: `low` from bit 0 on, `high` and `higher` from bit n on.
  u64 low = 0;
  u64 high = 0;
  i64 higher = 0;

  // Limb i of x, zero above.
  GPUINT_DEVICE u64 limb(u32 i) const { return i < limbs ? x[i] : 0; }

  // 32 bits of x from this bit on.
  GPUINT_DEVICE u32 bits_from(u32 bit) const {
    const u64 pair = limb(bit / 32 + 1) << 32 | limb(bit / 32);
    return static_cast<u32>(pair >> (bit % 32));
  }

  // Q, and true if r can be negative.
  GPUINT_DEVICE i64 quotient(bool& may_be_negative) const {
    constexpr double SCALE = 4294967296.0;
    const u32 n = modulus.n;
    const double lo = bits_from(n - 32) / SCALE;
    const double hi =
        bits_from(2 * n + 32) * SCALE + bits_from(2 * n) + bits_from(2 * n - 32) / SCALE;
    const double c = static_cast<double>(modulus.c) * factor;
    const double estimate = factor * lo - c / modulus.k * hi + 1.0 / 64;
    i64 quotient = static_cast<i64>(estimate);
    if (static_cast<double>(quotient) > estimate) --quotient;  // rounds down
    may_be_negative = estimate - static_cast<double>(quotient) < 1.0 / 32;
    return quotient;
  }

  GPUINT_DEVICE void set_quotient(i64 quotient) {
    const i64 c = modulus.c;
    GPUINT_ASSERT(c > 0 ? quotient <= i64{factor} : quotient >= 0, "the lower part");
    low = static_cast<u64>(-quotient * c + (c > 0 ? c * factor : 0));
    high = static_cast<u64>(-quotient) * modulus.k;
    higher = static_cast<i64>(__umul64hi(static_cast<u64>(-quotient), modulus.k));
    if (quotient > 0) higher -= modulus.k;
  }

  // z_i.
  GPUINT_DEVICE u64 products(u32 i) const {
    const u32 top = modulus.n / 32, bit = modulus.n % 32;
    u32 lo = 0;
    if (i <= top) lo = static_cast<u32>(limb(i));
    if (i == top) lo &= (1u << bit) - 1;
    const u32 hi = bits_from(32 * i + modulus.n);
    const bool is_positive = modulus.c > 0;
    const u32 c = static_cast<u32>(is_positive ? modulus.c : -modulus.c) * factor;
    return u64(modulus.k * factor) * lo + u64(c) * (is_positive ? ~hi : hi);
  }

  // Limb i of -Q N + m |c|.
  GPUINT_DEVICE u32 limb_of_multiple(u32 i) const {
    if (i < 2) return static_cast<u32>(low >> (32 * i));
    const i32 from = static_cast<i32>(32 * i) - static_cast<i32>(modulus.n);
    if (from <= -32) return 0;
    if (from < 0) return static_cast<u32>(high << -from);
    if (from < 32) return static_cast<u32>(high >> from);
    if (from < 64) return static_cast<u32>(high >> from | static_cast<u64>(higher) << (64 - from));
    return static_cast<u32>(higher >> (from < 128 ? from - 64 : 63));
  }

  // Computes limbs k .. k + K of the first two numbers and the third; returns the carry.
  template <u32 K>
  GPUINT_DEVICE u32 chunk(u32 k, u32 (&r)[K]) const {
    u64 carry = 0;
    u32 above = k == 0 ? 0 : static_cast<u32>(products(k - 1) >> 32);
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; ++i) {
      const u64 z = products(k + i);
      carry += u64(static_cast<u32>(z)) + above + limb_of_multiple(k + i);
      above = static_cast<u32>(z >> 32);
      r[i] = static_cast<u32>(carry);
      carry >>= 32;
    }
    return static_cast<u32>(carry);
  }
};

// Computes r, N limbs, by a group; store(k, limbs) takes limbs k .. k + K. There is no barrier
// before the first read or after the last store. It may store twice, so that x must stay.
template <u32 N, u32 K, class G, class Row, class Store>
GPUINT_DEVICE void fold(G& group, FoldedLimbs<Row> folded, const Store& store) {
  // Returns true in the thread whose limb N is negative.
  const auto subtract = [&](u32 count) {
    bool is_negative = false;
    resolve<Sign::Plus, LocalCarry::Small, u32, K>(
        group, count, [&](u32 k, u32(&r)[K]) { return folded.chunk(k, r); },
        [&](u32 k, u32(&r)[K]) {
          if (k < N)
            store(k, r);
          else
            is_negative = r[0] >> 31 != 0;
        });
    return is_negative;
  };
  bool may_be_negative;
  const i64 quotient = folded.quotient(may_be_negative);
  // A limb more has the sign.
  folded.set_quotient(quotient);
  const bool is_negative = subtract(may_be_negative ? N + 1 : N);
  if (may_be_negative && group.max(is_negative ? 1u : 0u) != 0) {
    if (group.rank == 0) GPUINT_RARE(FoldIsNegative);
    folded.set_quotient(quotient - 1);
    subtract(N);
  }
}

}  // namespace gpuint
