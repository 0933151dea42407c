// MulMod and SquareMod by digits of 52 bits, a row to a thread: a b mod v and a^2 mod v for every
// a, b < 2^BITS, by one reduction (barrett.cuh) in plain residues.
//
// A factor longer than v by more than the slack is reduced first, by all rows of its warp.
//
// Rows pass through shared memory. While a product is computed, the record arrives in the places of
// its factors; while it is reduced, the next factors arrive in the places of the record.
#pragma once
#include "modular/fp64/barrett.cuh"

namespace gpuint::fp64 {

template <class S, u32 FACTORS>
struct Product : ThreadRows {
  using B = Barrett<S>;
  static constexpr u32 D = B::D;
  static constexpr u32 FIRST_LIMB = B::RECIPROCAL_OFFSET / 32;  // of the reciprocal that is used
  static constexpr u32 RECIPROCAL = B::RECIPROCAL_LIMBS - FIRST_LIMB;
  static constexpr u32 STAGE = max_of(S::N, RECIPROCAL) * STAGE_STRIDE;
  static constexpr u32 WARP_BYTES = round_up(D * WARP * sizeof(u64) + 2 * STAGE * sizeof(u32), 16);
  static constexpr u32 SHARED = WARPS * WARP_BYTES;
  // u, M or V and q of two registers a digit.
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(min_of(6 * D + 60, 255), THREADS);
  // Squares of more digits have more code than the instruction cache holds, and are products.
  static constexpr u32 SQUARE_DIGITS = 24;
  static_assert(S::N * STAGE_STRIDE <= 2 * D * WARP, "results stand in the place of the digits");

  static __device__ void run(const Operands& o, unsigned char* shared) {
    unsigned char* const own = shared + ptx::thread() / WARP * WARP_BYTES;
    const u32 lane = ptx::thread() % WARP;
    const Place place{reinterpret_cast<u64*>(own) + lane};
    u32* const digits = reinterpret_cast<u32*>(own);
    u32* const first_stage = digits + 2 * D * WARP;  // a, then the reciprocal
    u32* const second_stage = first_stage + STAGE;   // b, then v
    const auto first_limb = [&](u32 i) { return first_stage[i * STAGE_STRIDE + lane]; };
    const auto factor_limb = [&](u32 i) {
      return (FACTORS == 2 ? second_stage : first_stage)[i * STAGE_STRIDE + lane];
    };
    const u64 step = ThreadRows::step();
    const u32 record_stride = o.params.broadcast_divisor != 0 ? 0 : Record<S>::LIMBS;
    const auto bring_factor = [&](u32 i, u64 from, u32* stage) {
      bring_input<S::N>(o, i, from, S::N, stage);
    };

    u64 from = ThreadRows::first_row();
    bring_factor(0, from, first_stage);
    if (FACTORS == 2) bring_factor(1, from, second_stage);
    GPUINT_UNROLL(1)
    for (; from < o.rows; from += step) {
      const WarpRows rows(from, o.rows);
      const u32* const records = static_cast<const u32*>(o.in[2]) + from * record_stride;
      const B barrett(__ldg(records + min_of(lane, rows.count - 1) * record_stride));
      const auto bring_reciprocal = [&](u32* stage) {
        bring<RECIPROCAL>(records + Record<S>::Y_END - RECIPROCAL, record_stride, rows.count,
                          stage);
      };
      const auto bring_modulus = [&](u32* stage) {
        bring<S::N>(records + Record<S>::V, record_stride, rows.count, stage);
      };
      const auto read_reciprocal = [&](double(&m)[D]) {
        barrett.reciprocal([&](u32 i) { return first_limb(i - FIRST_LIMB); }, m);
        __syncwarp();
      };
      const auto has_long = [&](u32 slack) {
        const bool is_long =
            barrett.bits + slack < S::BITS && has_bits_from<S::N>(first_limb, barrett.bits + slack);
        return __any_sync(ALL_LANES, is_long) != 0;
      };
      await_stages();
      // A square of factors beyond its slack is a product.
      const bool is_square = FACTORS == 1 && D <= SQUARE_DIGITS && !has_long(B::SQUARE_SLACK);
      const bool is_long = !is_square && has_long(B::FACTOR_SLACK);
      const u32 shift = is_square ? barrett.zeros / 2 : barrett.zeros;

      double x[D], u[D], v[D];
      if (is_long) {
        barrett.load_shifted(first_limb, place, u);
        __syncwarp();
        bring_reciprocal(first_stage);
        await_stages();
        B::reduce(
            u, place,
            [&](double(&m)[D]) {
              read_reciprocal(m);
              bring_modulus(first_stage);
            },
            [&](double(&modulus)[D]) {
              await_stages();
              barrett.modulus(first_limb, modulus);
            },
            v);
        load_digits(place, x);
        if (FACTORS == 1) {
          GPUINT_UNROLL(1)
          for (u32 j = 0; j < D; ++j) place[j] = shifted_down<D>(place, barrett.zeros, j);
        }
      } else {
        B::shifted(first_limb, shift, x);
      }
      if (FACTORS == 2 || !(is_square || is_long)) {
        to_digits<0>([&](u32 i) { return i < S::N ? factor_limb(i) : 0; }, u);
        GPUINT_UNROLL()
        for (u32 j = 0; j < D; ++j) place[j] = to_integer(u[j]);
      }
      __syncwarp();
      bring_reciprocal(first_stage);
      bring_modulus(second_stage);
      if (is_square)
        square_wide(x, place, u);
      else
        multiply_wide(x, place, u);
      await_stages();
      B::reduce(
          u, place,
          [&](double(&m)[D]) {
            read_reciprocal(m);
            bring_factor(0, from + step, first_stage);
          },
          [&](double(&modulus)[D]) {
            barrett.modulus([&](u32 i) { return second_stage[i * STAGE_STRIDE + lane]; }, modulus);
            __syncwarp();
            if (FACTORS == 2) bring_factor(1, from + step, second_stage);
          },
          v);

      u64 result[D];
      GPUINT_UNROLL()
      for (u32 j = 0; j < D; ++j) result[j] = place[j];
      subtract_once(result, v);
      GPUINT_UNROLL()
      for (u32 j = 0; j < D; ++j) place[j] = result[j];
      shift_down(place, barrett.zeros, result);
      __syncwarp();
      GPUINT_UNROLL()
      for (u32 i = 0; i < S::N; ++i) digits[i * STAGE_STRIDE + lane] = limb_of(result, i);
      __syncwarp();
      take<S::N>(digits, rows.count, static_cast<u32*>(o.out[0]) + from * S::N);
    }
  }
};

}  // namespace gpuint::fp64
