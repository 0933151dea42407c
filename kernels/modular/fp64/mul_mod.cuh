// MulMod and SquareMod by digits of 52 bits, a row to a thread: a b mod v and a^2 mod v for every
// a, b < 2^BITS, by one reduction (barrett.cuh) in plain residues.
//
// A factor longer than v by more than the slack is reduced first, by all rows of its warp.
//
// Rows pass through shared memory. While a product is computed, the record arrives in the places of
// its factors; while it is reduced, the next factors arrive in the places of the record.
#pragma once
#include "core/occupancy.cuh"
#include "modular/by_thread/operands.cuh"
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

  static __device__ void run(const Operands& o, unsigned char* shared) {
    unsigned char* const own = shared + ptx::thread() / WARP * WARP_BYTES;
    const u32 lane = ptx::thread() % WARP;
    const Place place{reinterpret_cast<u64*>(own) + lane};
    u32* const digits = reinterpret_cast<u32*>(own);  // of the product; then the result
    u32* const a_stage = digits + 2 * D * WARP;       // a, then the reciprocal
    u32* const b_stage = a_stage + STAGE;             // b, then v
    const auto a_limb = [&](u32 i) { return a_stage[i * STAGE_STRIDE + lane]; };
    const auto b_limb = [&](u32 i) { return b_stage[i * STAGE_STRIDE + lane]; };
    const u64 step = ThreadRows::step();
    const RecordOperands<S> operands(o);

    u64 from = ThreadRows::first_row();
    operands.prefetch(LHS, from, a_stage);
    if (FACTORS == 2) operands.prefetch(RHS, from, b_stage);
    GPUINT_UNROLL(1)
    for (; from < o.rows; from += step) {
      const WarpRows rows(from, o.rows);
      const WarpRecords<S> records = operands.records(rows);
      const B barrett(records.bits(lane));
      const auto load_reciprocal = [&](double(&m)[D]) {
        barrett.reciprocal([&](u32 i) { return a_limb(i - FIRST_LIMB); }, m);
        __syncwarp();
      };
      wait_for_stages();
      // A square of factors beyond its slack is a product.
      const bool is_square =
          FACTORS == 1 && D <= SQUARE_DIGITS && !is_longer(a_limb, barrett.bits + B::SQUARE_SLACK);
      const bool is_long = !is_square && is_longer(a_limb, barrett.bits + B::FACTOR_SLACK);
      const u32 shift = is_square ? barrett.zeros / 2 : barrett.zeros;

      double x[D], u[D], v[D];
      if (is_long) {
        barrett.load_shifted(a_limb, place, u);
        __syncwarp();
        records.template prefetch_reciprocal<RECIPROCAL>(a_stage);
        wait_for_stages();
        B::reduce(
            u, place,
            [&](double(&m)[D]) {
              load_reciprocal(m);
              records.prefetch_modulus(a_stage);
            },
            [&](double(&modulus)[D]) {
              wait_for_stages();
              barrett.modulus(a_limb, modulus);
            },
            v);
        load_digits(place, x);
        if (FACTORS == 1) {
          GPUINT_UNROLL(1)
          for (u32 j = 0; j < D; ++j) place[j] = shifted_down<D>(place, barrett.zeros, j);
        }
      } else {
        B::shifted(a_limb, shift, x);
      }
      if (FACTORS == 2 || !(is_square || is_long)) {
        to_digits<0>([&](u32 i) { return i < S::N ? (FACTORS == 2 ? b_limb(i) : a_limb(i)) : 0; },
                     u);
        store_integers(u, place);
      }
      __syncwarp();
      records.template prefetch_reciprocal<RECIPROCAL>(a_stage);
      records.prefetch_modulus(b_stage);
      if (is_square)
        square_wide(x, place, u);
      else
        multiply_wide(x, place, u);
      wait_for_stages();
      B::reduce(
          u, place,
          [&](double(&m)[D]) {
            load_reciprocal(m);
            operands.prefetch(LHS, from + step, a_stage);
          },
          [&](double(&modulus)[D]) {
            barrett.modulus(b_limb, modulus);
            __syncwarp();
            if (FACTORS == 2) operands.prefetch(RHS, from + step, b_stage);
          },
          v);

      u64 result[D];
      load_integers(place, result);
      subtract_once(result, v);
      store_integers(result, place);
      shift_down(place, barrett.zeros, result);
      store_rows_of_digits<S::N>(result, digits, lane, rows, o.out[0]);
    }
  }

 private:
  // True if a factor is longer than `bits` in a row of the warp.
  template <class GetLimb>
  GPUINT_DEVICE static bool is_longer(GetLimb limb, u32 bits) {
    return __any_sync(ALL_LANES, bits < S::BITS && has_bits_from<S::N>(limb, bits)) != 0;
  }
};

}  // namespace gpuint::fp64
