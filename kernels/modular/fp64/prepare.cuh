// Prepare by digits of 48 bits on the FP64 multipliers, a row to a thread: the record of
// div/prepare.cuh, with all S::WORDS + 1 words of the reciprocal.
//
// long_division.cuh leaves Q of STEPS digits for V = v 2^s in [G^D / 2, G^D), G = 2^48:
//     Y = floor((Q - 1) / 2^E),   E = 48 STEPS - 128 (S::WORDS + 1) >= 2.
// With y = G^D / (2 V):
//     0 < y 2^(128 (S::WORDS + 1)) - Y < (2 + 1) / 2^E + 1 < 2.
#pragma once
#include "core/record.cuh"
#include "modular/fp64/long_division.cuh"

namespace gpuint::fp64 {

template <class S>
struct Reciprocal : ThreadRows {
  static constexpr u32 BITS = 48;
  static constexpr u32 D = ceil_div(S::BITS, BITS);
  static constexpr u32 WORDS = S::WORDS + 1;
  static constexpr u32 STEPS = ceil_div(32 * WORD * WORDS + 2, BITS);
  static constexpr u32 DROPPED = BITS * STEPS - 32 * WORD * WORDS;  // E
  using Division = LongDivision<D, STEPS>;

  static constexpr u32 LIMBS = Record<S>::LIMBS;
  static constexpr u32 WARP_BYTES =
      round_up(STEPS * WARP * sizeof(u64) + LIMBS * STAGE_STRIDE * sizeof(u32), 16);
  static constexpr u32 SHARED = WARPS * WARP_BYTES;
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
    for (u64 first = ThreadRows::first_row(); first < o.rows; first += ThreadRows::step()) {
      const WarpRows rows(first, o.rows);
      prefetch_rows<S::N>(static_cast<const u32*>(o.in[0]) + first * S::N, S::N, rows.count,
                          stage + Record<S>::V * STAGE_STRIDE);
      wait_for_stages();
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
      store_rows<LIMBS>(stage, rows, o.out[0]);
      __syncwarp();
    }
  }

 private:
  GPUINT_DEVICE static void divide(const u32* limbs, u32 bits, const Place& quotient) {
    double v[D];
    to_digits<0, BITS>(
        [&](u32 i) {
          return shifted_up([&](u32 k) { return limbs[k * STAGE_STRIDE]; }, S::N, D * BITS - bits,
                            i);
        },
        v);
    Division::divide(v, quotient);
  }

  // Y to limbs STAGE_STRIDE apart.
  GPUINT_DEVICE static void store_quotient(const Place& quotient, u32* to) {
    Division::resolve(quotient, 1);
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < WORDS * WORD; ++i)
      to[i * STAGE_STRIDE] = Division::limb_at(quotient, 32 * i + DROPPED);
  }
};

}  // namespace gpuint::fp64
