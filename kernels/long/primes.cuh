// The primes of products of long rows, and how residues modulo one of them are kept.
//
// A column of a product of n points is a sum of at most n products of two limbs, also where the
// product wraps, so it is below n 2^64. Three primes determine columns below their product:
//   SmallPrimes  below 2^30, product above 2^89.35: up to 2^23 points, columns below 2^87;
//   LargePrimes  below 2^31, product above 2^90.46: up to 2^26 points, columns below 2^90.
// The primes are k 2^m + 1 with m at least the logarithm of the points.
//
// A transform keeps lazy residues (residue.cuh). Modulo a prime below 2^30 they are below 4 P in
// forward transforms and 2 P in inverse ones: a butterfly reduces one sum by 2 P and multiplies
// (D. Harvey, "Faster arithmetic for number-theoretic transforms", J. Symb. Comp. 60, 2014). Modulo
// a prime above 2^30, where 4 P exceeds a limb, all are below 2 P, with one more reduction.
#pragma once
#include "core/platform.cuh"
#include "transform/ntt/residue.cuh"

namespace gpuint::long_rows {

constexpr u32 PRIMES = 3;

template <u32 P_>
struct PrimeField : Field<P_, (P_ < 1u << 30 ? 4 : 2)> {
  using Base = Field<P_, (P_ < 1u << 30 ? 4 : 2)>;
  static constexpr u32 P = P_;
  static constexpr bool IS_SMALL = Base::MAX_MULTIPLE == 4;
  // Bound of a term of a butterfly, and of residues between two levels of an inverse transform that
  // are not reduced further.
  static constexpr u32 TERM = IS_SMALL ? 2 * P : P;

  // x, below 2 most, below `most`.
  GPUINT_DEVICE static u32 subtract_once(u32 x, u32 most) {
    GPUINT_ASSERT(x < u64{2} * most, "one subtraction is enough");
    return min(x, x - most);
  }

  // A lazy residue, below P.
  GPUINT_DEVICE static u32 canonical(u32 x) {
    if constexpr (IS_SMALL) x = subtract_once(x, 2 * P);
    return subtract_once(x, P);
  }

  // Twiddle of node s of a level of a register transform: its square is that of node s / 2, up to
  // sign. Up to 16 nodes, for transforms of 32 points.
  __host__ __device__ static constexpr Factor twiddle(u32 s) {
    return Base::factor(Base::power(Base::root(32), reversed_nibble(s)));
  }
  __host__ __device__ static constexpr Factor inverse_twiddle(u32 s) {
    return Base::factor(Base::inverse(twiddle(s).value));
  }

 private:
  __host__ __device__ static constexpr u32 reversed_nibble(u32 s) {
    return (s & 1) << 3 | (s & 2) << 1 | (s & 4) >> 1 | (s & 8) >> 3;
  }
};

// Three primes in ascending order, so that a residue modulo one is reduced modulo the next, and
// the logarithm of the most points of a product.
template <u32 P0, u32 P1, u32 P2, u32 LOG_POINTS_>
struct Primes {
  using F0 = PrimeField<P0>;
  using F1 = PrimeField<P1>;
  using F2 = PrimeField<P2>;
  static constexpr u32 LOG_POINTS = LOG_POINTS_;

  // Upper 64 of 128 bits of the product of the primes.
  __host__ __device__ static constexpr u64 upper_product() {
    const u64 two = u64{P0} * P1;
    const u64 upper = (two >> 32) * P2 + ((two & 0xffffffff) * P2 >> 32);
    return upper >> 32;
  }
  static_assert(P0 < P1 && P1 < P2, "ascending primes");
  static_assert((P0 - 1) % (1u << LOG_POINTS) == 0 && (P1 - 1) % (1u << LOG_POINTS) == 0 &&
                    (P2 - 1) % (1u << LOG_POINTS) == 0,
                "roots of unity whose order is the number of points");
  static_assert(1u << LOG_POINTS <= upper_product(), "columns are below the product of the primes");
};

// src/backend/long/plan.rs has the same numbers.
using SmallPrimes = Primes<880803841, 897581057, 998244353, 23>;
using LargePrimes = Primes<469762049, 1811939329, 2013265921, 26>;

}  // namespace gpuint::long_rows
