// Residues modulo primes below 2^31, the arithmetic of number-theoretic transforms.
//
// A factor w that is known beforehand is stored with its quotient floor(2^32 w / P). For any x
// below 2^32,
//     w x - floor(w's quotient * x / 2^32) P
// is w x mod P, or that plus P: two products of 32 bits and one upper half (V. Shoup, NTL; D.
// Harvey, "Faster arithmetic for number-theoretic transforms", J. Symb. Comp. 60, 2014). Since
// every x is valid, and MAX_MULTIPLE P fits a limb, sums and differences between two such products
// need no reduction: they are lazy residues, known to be below some multiple of P.
#pragma once
#include "core/math.cuh"
#include "core/platform.cuh"

namespace gpuint {

struct alignas(8) Factor {
  u32 value, quotient;
};

namespace residue {

__host__ __device__ constexpr bool is_prime(u32 n) {
  if (n % 2 == 0) return n == 2;
  for (u32 d = 3; d * d <= n; d += 2)
    if (n % d == 0) return false;
  return n > 1;
}

}  // namespace residue

// The field of P elements, P = 1 mod 2^16, with lazy residues below MAX_MULTIPLE P.
template <u32 P_, u32 MAX_MULTIPLE_ = 32>
struct Field {
  static constexpr u32 P = P_;
  static_assert(residue::is_prime(P) && P % 65536 == 1,
                "transforms of 2^16 points need roots of unity");
  static constexpr u32 MAX_MULTIPLE = MAX_MULTIPLE_;
  static_assert(MAX_MULTIPLE <= (1ull << 32) / P, "a lazy residue is a limb");

  __host__ __device__ static constexpr u32 product(u32 a, u32 b) {
    return static_cast<u32>(u64(a) * b % P);
  }

  __host__ __device__ static constexpr u32 power(u32 base, u32 exponent) {
    u32 result = 1;
    for (; exponent != 0; exponent /= 2) {
      if (exponent % 2 != 0) result = product(result, base);
      base = product(base, base);
    }
    return result;
  }

  __host__ __device__ static constexpr u32 inverse(u32 a) { return power(a, P - 2); }

  // An element of order N, a power of two that divides P - 1. The one of order N / 2 is its square.
  __host__ __device__ static constexpr u32 root(u32 order) {
    u32 base = 2;
    while (power(base, (P - 1) / 2) == 1) ++base;  // a square
    return power(base, (P - 1) / order);
  }

  __host__ __device__ static constexpr Factor factor(u32 value) {
    return {value, static_cast<u32>((u64(value) << 32) / P)};
  }

  // x times the factor, below 2P.
  GPUINT_DEVICE static u32 times(Factor by, u32 x) {
    const u32 quotient = __umulhi(by.quotient, x);
    const u32 result = by.value * x - quotient * P;
    GPUINT_ASSERT(result < 2 * P && result % P == product(by.value, x % P),
                  "a product by a factor");
    return result;
  }

  // x, below 2P.
  GPUINT_DEVICE static u32 reduced(u32 x) {
    constexpr u32 QUOTIENT = factor(1).quotient;
    const u32 result = x - __umulhi(QUOTIENT, x) * P;
    GPUINT_ASSERT(result < 2 * P, "a reduction by an estimated quotient");
    return result;
  }

  // x, which is below 2P, below P.
  GPUINT_DEVICE static u32 least(u32 x) {
    GPUINT_ASSERT(x < 2 * P, "one subtraction is enough");
    const u32 less = x - P;
    return x < less ? x : less;
  }

  // a b / 2^32, below P + a, for a below 2P and any b (P. Montgomery, Math. Comp. 44, 1985).
  GPUINT_DEVICE static u32 montgomery(u32 a, u32 b) {
    constexpr u32 INVERSE = 2 - P;  // (1 + x) (1 - x) = 1 for x = P - 1, a multiple of 2^16
    static_assert(P * INVERSE == 1, "the inverse of P modulo 2^32");
    GPUINT_ASSERT(a < 2 * P, "one factor is nearly reduced");
    const u32 result = __umulhi(a, b) - __umulhi(a * b * INVERSE, P) + P;
    GPUINT_ASSERT(result < u64{P} + max_of(a, 1), "a Montgomery product");
    return result;
  }
};

}  // namespace gpuint
