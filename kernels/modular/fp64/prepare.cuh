// Prepare by digits of 48 bits on the FP64 multipliers, a row to a thread: the record of
// div/prepare.cuh, with all S::WORDS + 1 words of the reciprocal.
//
// Long division of R_0 = G^D / 2 by V = v 2^s in [G^D / 2, G^D), G = 2^48, D digits: for i = 1 ..
// STEPS
//     T = R_(i-1) G,   q_i with T / V - 2 < q_i <= T / V,   R_i = T - q_i V in [0, 2 V).
// Nothing is compared: a q_i is below 2^49 and Q, the sum of q_i G^(STEPS - i), is resolved in the
// end. Y = floor((Q - 1) / 2^E), E = 48 STEPS - 128 (S::WORDS + 1) >= 2: with y = G^D / (2 V),
//     0 < y 2^(128 (S::WORDS + 1)) - Y < (R / V + 1) / 2^E + 1 < 2.
//
// N = -R is kept in columns, to which q_i V is added as halves at 2^48 (digits.cuh): 2^100 in place
// of 2^104. A column goes up a place with every step and ends in place D, which is added to place D
// - 1. It gets less than 2^48 + 2^49 in each of D places: |column| < 2^56. A column in place j has
// j + 1 low and j high parts, so its constants follow from the place.
//
// Estimate. r, of the top three columns, and 1 / V, of the top two digits, have relative errors
// below 2^-52; what is below them is less than 2^-80. So r / V < 2^49 is off by less than 1/2, and
// floor(r / V
// - 1/2) is q_i.
#pragma once
#include "div/prepare.cuh"
#include "modular/fp64/digits.cuh"

namespace gpuint::fp64 {

template <class S>
struct Reciprocal {
  static constexpr u32 BITS = 48;
  static constexpr u32 D = ceil_div(S::BITS, BITS);
  static constexpr u32 WORDS = S::WORDS + 1;
  static constexpr u32 STEPS = ceil_div(32 * WORD * WORDS + 2, BITS);
  static constexpr u32 DROPPED = BITS * STEPS - 32 * WORD * WORDS;  // E
  static constexpr double BASE = 281474976710656.0;                 // 2^48
  static constexpr double TWO_100 = TWO_52 * BASE;
  static constexpr u64 HIGH_48 = 0x463ull << DIGIT_BITS;  // exponent of a double in [2^100, 2^101)
  static_assert(D >= 3 && D < 64, "three columns to estimate from, and what a column takes");

  static constexpr u32 LIMBS = Record<S>::LIMBS;
  static constexpr u32 WARPS = 4;
  static constexpr u32 THREADS = WARP * WARPS;
  static constexpr u32 ROWS = THREADS;
  static constexpr u32 WARP_BYTES =
      round_up(STEPS * WARP * sizeof(u64) + LIMBS * STAGE_STRIDE * sizeof(u32), 16);
  static constexpr u32 SHARED = WARPS * WARP_BYTES;
  static constexpr u32 SCRATCH = 0;
  static constexpr u32 PERSISTENT = 0;
  // V and the columns of two registers a digit.
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(min_of(4 * D + 72, 255), THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    unsigned char* const own = shared + ptx::thread() / WARP * WARP_BYTES;
    const u32 lane = ptx::thread() % WARP;
    const Place quotient{reinterpret_cast<u64*>(own) + lane};
    u32* const stage = reinterpret_cast<u32*>(own + STEPS * WARP * sizeof(u64));
    u32* const record = stage + lane;  // limbs STAGE_STRIDE apart
    GPUINT_UNROLL(1)
    for (u64 first = u64(blockIdx.x) * ROWS + ptx::thread() / WARP * WARP; first < o.rows;
         first += u64(gridDim.x) * ROWS) {
      const WarpRows rows(first, o.rows);
      bring<S::N>(static_cast<const u32*>(o.in[0]) + first * S::N, S::N, rows.count,
                  stage + Record<S>::V * STAGE_STRIDE);
      await_stages();
      u32* const v = record + Record<S>::V * STAGE_STRIDE;
      u32 bits = 0;
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < S::N; ++i)
        if (v[i * STAGE_STRIDE] != 0) bits = 32 * (i + 1) - leading_zeros(v[i * STAGE_STRIDE]);
      if (bits == 0) {
        if (lane < rows.count) set_status(o.status, first + lane);
        v[0] = bits = 1;  // any divisor: the row has no record
      }
      divide(v, bits, quotient);
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < Record<S>::V; ++i) record[i * STAGE_STRIDE] = i == 0 ? bits : 0;
      GPUINT_UNROLL(4)
      for (u32 i = S::N; i < (S::WORDS + 1) * WORD; ++i) v[i * STAGE_STRIDE] = 0;
      store_quotient(quotient, record + (Record<S>::Y_END - WORDS * WORD) * STAGE_STRIDE);
      __syncwarp();
      take<LIMBS>(stage, rows.count, static_cast<u32*>(o.out[0]) + first * LIMBS);
      __syncwarp();
    }
  }

 private:
  // The constants of a column in place j.
  GPUINT_DEVICE static constexpr u64 constants(u32 j) { return (j + 1) * LOW + j * HIGH_48; }

  // q_1 .. q_STEPS to `quotient`.
  GPUINT_DEVICE static void divide(const u32* limbs, u32 bits, const Place& quotient) {
    double v[D];
    to_digits<0, BITS>(
        [&](u32 i) {
          return shifted_up([&](u32 k) { return limbs[k * STAGE_STRIDE]; }, S::N, D * BITS - bits,
                            i);
        },
        v);
    const double inverse = 1.0 / (v[D - 1] + v[D - 2] * (1 / BASE));
    u64 column[D];
    GPUINT_UNROLL()
    for (u32 j = 0; j < D; ++j) column[j] = constants(j) - (j == D - 1 ? 1ull << (BITS - 1) : 0);
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < STEPS; ++i) {
      const auto value = [&](u32 j) {
        return static_cast<double>(static_cast<i64>(column[j] - constants(j)));
      };
      const double r = -(value(D - 1) * BASE + (value(D - 2) + value(D - 3) * (1 / BASE)));
      const double estimate = __fma_rz(r, inverse, TWO_52 - 0.5) - TWO_52;
      const double q = estimate > 0 ? estimate : 0;
      quotient[i] = to_integer(q);
      Halves product = multiply(q, v[D - 1]);
      const u64 top = column[D - 1] + product.high;
      GPUINT_UNROLL()
      for (u32 j = D - 1; j > 0; --j) {
        const u64 low = product.low;
        product = multiply(q, v[j - 1]);
        column[j] = column[j - 1] + low + product.high;
      }
      column[0] = product.low;
      column[D - 1] += (top - D * (LOW + HIGH_48)) << BITS;
    }
  }

  GPUINT_DEVICE static Halves multiply(double a, double b) {
    const double h = __fma_rz(a, b, TWO_100);
    const double l = __fma_rz(a, b, (TWO_100 + TWO_52) - h);
    return {pattern(h), pattern(l)};
  }

  // Y of the quotient digits, which become digits of Q - 1, to limbs STAGE_STRIDE apart.
  GPUINT_DEVICE static void store_quotient(const Place& quotient, u32* to) {
    i64 carry = -1;
    GPUINT_UNROLL(1)
    for (u32 i = STEPS; i-- > 0;) {
      carry += static_cast<i64>(quotient[i]);
      quotient[i] = static_cast<u64>(carry) & ((1ull << BITS) - 1);
      carry >>= BITS;
    }
    GPUINT_ASSERT(carry == 0, "Q <= G^STEPS");
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < WORDS * WORD; ++i) {
      const u32 bit = 32 * i + DROPPED, digit = STEPS - 1 - bit / BITS, shift = bit % BITS;
      const u64 above = shift > BITS - 32 ? quotient[digit - 1] << (BITS - shift) : 0;
      to[i * STAGE_STRIDE] = static_cast<u32>(quotient[digit] >> shift | above);
    }
  }
};

}  // namespace gpuint::fp64
