// The last pass: L levels of both operands, the products of their values, and the inverse of the
// same levels.
//
// Before it, x^n - 1 is split into 2^(k - L) factors of 2^L neighbouring points each. R1 threads
// hold a factor, and a block holds several. Thread t has points a R2 + t + g R1, and after the
// exchange points t R2 + b, as in the strided passes (strided.cuh).
//
// Twists. Of a factor with z of order n at most, point c = a R2 + b is multiplied by z^(a R2) z^b.
// A block computes these R1 + R2 powers of each factor, as products of two from tables of 2^(k / 2)
// powers in Montgomery's form, and their quotients. The inverse twist includes 2^32 / n: 1 / n of
// the transforms, and 2^32 for the point products, which are Montgomery's.
#pragma once
#include "core/abi.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "long/grid_kernel.cuh"
#include "long/registers.cuh"
#include "long/transform.cuh"
#include "tuning/long.cuh"

namespace gpuint::long_rows {

// Work: points of all rows and primes.
template <class P, u32 L>
struct Products : GridKernel {
  using Arguments = Transform;
  static constexpr u32 THREADS = ProductPassPolicy::THREADS;
  static constexpr u32 MIN_BLOCKS = ProductPassPolicy::blocks(L);
  static constexpr u32 LOG_R1 = log_first_radix(L), R1 = 1u << LOG_R1, R2 = 1u << (L - LOG_R1);
  static constexpr u32 GROUPS = R2 / R1;
  static constexpr u32 LOG_FACTORS = log_of(THREADS) - LOG_R1;  // of a block
  static constexpr u32 FACTORS = 1u << LOG_FACTORS;
  static constexpr u32 ROWS = FACTORS << L;
  static constexpr u32 EXCHANGE = R1 * (R2 + 1);  // limbs of a factor
  static constexpr u32 TWISTS = R1 + R2;          // of a factor and direction
  static constexpr u32 EXCHANGE_BYTES = round_up(FACTORS * EXCHANGE * sizeof(u32), 16);
  static constexpr u32 SHARED = EXCHANGE_BYTES + 2 * FACTORS * TWISTS * sizeof(Factor);

  GPUINT_DEVICE static void run(const Transform& o, unsigned char* shared) {
    const u32 log_blocks = o.log_points - L - LOG_FACTORS;
    const u32 prime = (blockIdx.x >> log_blocks) / o.rows;
    const u32 row = (blockIdx.x >> log_blocks) - prime * o.rows;
    const u32 block = blockIdx.x & ((1u << log_blocks) - 1);
    if (prime == 0)
      run_modulo<typename P::F0, 0>(o, row, block, shared);
    else if (prime == 1)
      run_modulo<typename P::F1, 1>(o, row, block, shared);
    else
      run_modulo<typename P::F2, 2>(o, row, block, shared);
  }

 private:
  template <class F>
  struct Work {
    const Transform& o;
    const Tables& tables;
    u32 factor, t;
    u32* exchange;  // of this factor
    Factor* twist;  // of this factor: z^(a R2), then z^b
    Factor* back;   // of the inverse
    u64 offset;     // of this factor's points

    GPUINT_DEVICE void load(u32 (&x)[R2], const u32* from) const {
      GPUINT_UNROLL(4)
      for (u32 g = 0; g < GROUPS; ++g) {
        GPUINT_UNROLL(32)
        for (u32 a = 0; a < R1; ++a) x[g * R1 + a] = from[offset + a * R2 + t + g * R1];
      }
    }

    GPUINT_DEVICE void transform(u32 (&x)[R2]) const {
      GPUINT_UNROLL(4)
      for (u32 g = 0; g < GROUPS; ++g) {
        const u32 b = t + g * R1;
        const Factor fine = twist[R1 + b];
        u32* const v = x + g * R1;
        GPUINT_UNROLL(32)
        for (u32 a = 0; a < R1; ++a) {
          v[a] = F::times(fine, v[a]);
          if (a > 0) v[a] = F::times(twist[a], v[a]);
        }
        forward<F, R1>(v);
        GPUINT_UNROLL(32)
        for (u32 a = 0; a < R1; ++a) exchange[a * (R2 + 1) + b] = v[a];
      }
      __syncthreads();
      GPUINT_UNROLL(32)
      for (u32 b = 0; b < R2; ++b) x[b] = exchange[t * (R2 + 1) + b];
      __syncthreads();
      GPUINT_UNROLL(32)
      for (u32 b = 1; b < R2; ++b) x[b] = F::times(tables.inner[0][2][b * R1 + t], x[b]);
      forward<F, R2>(x);
    }

    // Stores the inverse transform.
    GPUINT_DEVICE void transform_back(u32 (&x)[R2], u32* to) const {
      inverse<F, R2>(x);
      GPUINT_UNROLL(32)
      for (u32 b = 1; b < R2; ++b) x[b] = F::times(tables.inner[1][2][b * R1 + t], x[b]);
      GPUINT_UNROLL(32)
      for (u32 b = 0; b < R2; ++b) exchange[t * (R2 + 1) + b] = x[b];
      __syncthreads();
      GPUINT_UNROLL(4)
      for (u32 g = 0; g < GROUPS; ++g) {
        const u32 b = t + g * R1;
        const Factor fine = back[R1 + b];
        u32* const v = x + g * R1;
        GPUINT_UNROLL(32)
        for (u32 a = 0; a < R1; ++a) v[a] = exchange[a * (R2 + 1) + b];
        inverse<F, R1>(v);
        GPUINT_UNROLL(32)
        for (u32 a = 0; a < R1; ++a) {
          u32 y = F::times(fine, v[a]);
          if (a > 0) y = F::times(back[a], y);
          to[offset + a * R2 + b] = y;
        }
      }
    }

    // w^exponent 2^32, below 2 P, for w of order n.
    GPUINT_DEVICE u32 power(u32 exponent) const {
      const u32 low = exponent & ((1u << o.low_bits) - 1);
      return F::montgomery(tables.low[low], tables.high[exponent >> o.low_bits]);
    }

    // Computes the twists of the block's factors, the first of which is `first`.
    GPUINT_DEVICE void compute_twists(u32 first, Factor* forwards, Factor* backwards) const {
      const u32 depth = o.log_points - L, mask = (1u << o.log_points) - 1;
      for (u32 i = threadIdx.x; i < FACTORS * TWISTS; i += THREADS) {
        const u32 which = i / TWISTS, c = i % TWISTS;
        const u32 j = __brev(first + which) >> (32 - depth);
        const u32 e = j * (c < R1 ? c * R2 : c - R1), inverse_e = (0 - e) & mask;
        forwards[i] = with_quotient(F::montgomery(1, power(e)));
        backwards[i] = with_quotient(F::montgomery(c < R1 ? 1 : tables.scale, power(inverse_e)));
      }
    }

    GPUINT_DEVICE static Factor with_quotient(u32 x) {
      const u32 value = F::least(x);
      return {value, static_cast<u32>((u64{value} << 32) / F::P)};
    }
  };

  template <class F, u32 PRIME>
  GPUINT_DEVICE static void run_modulo(const Transform& o, u32 row, u32 block,
                                       unsigned char* shared) {
    u32* const first = o.residues + ((u64{PRIME} * o.planes + row) << o.log_points);
    const u32 second_row = o.second_planes == 1 ? 0 : row;
    const u32* const second =
        o.second + ((u64{PRIME} * o.second_planes + second_row) << o.log_points);
    const bool is_square = o.second == o.residues;
    u32* const exchanges = reinterpret_cast<u32*>(shared);
    Factor* const forwards = reinterpret_cast<Factor*>(shared + EXCHANGE_BYTES);
    Factor* const backwards = forwards + FACTORS * TWISTS;
    const u32 own = threadIdx.x / R1;
    const Work<F> work{o,
                       o.tables[PRIME],
                       own,
                       threadIdx.x % R1,
                       exchanges + own * EXCHANGE,
                       forwards + own * TWISTS,
                       backwards + own * TWISTS,
                       u64{block * FACTORS + own} << L};
    u32 x[R2], y[R2];
    // The loads of the second operand are in flight while the twists are computed, those of the
    // first one during the transform of the second.
    work.load(x, second);
    work.compute_twists(block * FACTORS, forwards, backwards);
    __syncthreads();
    if (!is_square) {
      work.load(y, first);
      work.transform(x);
      GPUINT_UNROLL(32)
      for (u32 b = 0; b < R2; ++b) {
        const u32 value = F::canonical(x[b]);
        x[b] = y[b];
        y[b] = value;
      }
    }
    work.transform(x);
    if (is_square) {
      GPUINT_UNROLL(32)
      for (u32 b = 0; b < R2; ++b) y[b] = F::canonical(x[b]);
    }
    GPUINT_UNROLL(32)
    for (u32 b = 0; b < R2; ++b) x[b] = F::montgomery(y[b], x[b]);
    work.transform_back(x, first);
  }
};

}  // namespace gpuint::long_rows
