// MulMod and SquareMod by limbs of 32 bits, a row to a thread: a b mod v and a^2 mod v for every a,
// b < 2^BITS, by one reduction (barrett.cuh) in plain residues.
//
// If v has nearly all BITS in all rows of a warp, z <= SLACK, the product a b is shifted by z. Else
// a is shifted, and first reduced in all rows if it is longer than v in one of them: then a 2^z <
// B^N. A square is a product.
#pragma once
#include "core/occupancy.cuh"
#include "modular/by_thread/operands.cuh"
#include "modular/imad/barrett.cuh"
#include "tuning/imad.cuh"

namespace gpuint::imad {

template <class S, u32 FACTORS>
struct Product : ThreadRows {
  using B = Barrett<S>;
  static constexpr u32 N = S::N;
  static constexpr u32 A_STAGE = B::RECIPROCAL_LIMBS * STAGE_STRIDE;
  static constexpr u32 WARP_LIMBS = A_STAGE + N * STAGE_STRIDE;
  static constexpr u32 SHARED = WARPS * WARP_LIMBS * sizeof(u32);
  static constexpr u32 MIN_BLOCKS =
      blocks_with_registers(min_of(ImadPolicy<N>::PRODUCTS, 255), THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 lane = ptx::thread() % WARP;
    // a, then the reciprocal, which arrives while the product is computed, then v.
    u32* const a_stage = reinterpret_cast<u32*>(shared) + ptx::thread() / WARP * WARP_LIMBS;
    u32* const b_stage = a_stage + A_STAGE;  // b, then the product's lower half, then the result
    const Place a{a_stage + lane}, b{b_stage + lane};
    const u64 step = ThreadRows::step();
    const RecordOperands<S> operands(o);

    u64 from = ThreadRows::first_row();
    operands.prefetch(LHS, from, a_stage);
    GPUINT_UNROLL(1)
    for (; from < o.rows; from += step) {
      const WarpRows rows(from, o.rows);
      operands.prefetch(LAST_FACTOR<FACTORS>, from, b_stage);
      const WarpRecords<S> records = operands.records(rows);
      const u32 bits = records.bits(lane);
      const u32 zeros = S::BITS - bits;
      wait_for_stages();
      const bool is_short = __any_sync(ALL_LANES, zeros > B::SLACK) != 0;
      // a is longer than v in a row of the warp.
      const bool is_long =
          is_short && __any_sync(ALL_LANES, bits < S::BITS && has_bits_from<N>(a, bits)) != 0;
      const u32 shift = is_short ? 0 : zeros;  // of the product
      u32 x[N], high[N + 1], v[N];
      load_factor(a, b, zeros, is_short, is_long, x, high);
      // One loop, so that there is one copy of the reduction: of a 2^z, if it is long, and of the
      // product.
      GPUINT_UNROLL(1)
      for (bool is_factor = is_long;; is_factor = false) {
        __syncwarp();
        records.template prefetch_reciprocal<B::RECIPROCAL_LIMBS>(a_stage);
        if (!is_factor) {
          multiply_wide(x, b, high);
          shift_up(b, high, shift);
        }
        wait_for_stages();
        const u32 above = B::reduce(
            b, high,
            [&](u32(&m)[N + 1]) {
              load_limbs(a, m);
              __syncwarp();
              records.prefetch_modulus(a_stage);
            },
            [&](u32(&to)[N]) {
              wait_for_stages();
              load_shifted(a, zeros, 0, to);
              __syncwarp();
              if (!is_factor) operands.prefetch(LHS, from + step, a_stage);
            },
            v, x);
        subtract_once(x, v, above);
        if (!is_factor) break;
        __syncwarp();
        operands.prefetch(LAST_FACTOR<FACTORS>, from, b_stage);
        wait_for_stages();
      }

      store_limbs(x, b);
      shift_down(b, zeros, x);
      store_limbs(x, b);
      __syncwarp();
      store_rows<N>(b_stage, rows, o.out[0]);
      __syncwarp();
    }
  }

 private:
  // Limbs of x << zeros from limb `first` on.
  GPUINT_DEVICE static void load_shifted(const Place& x, u32 zeros, u32 first, u32 (&to)[N]) {
    const u32 distance = ptx::rematerialize(zeros);
    GPUINT_UNROLL()
    for (u32 j = 0; j < N; ++j) to[j] = shifted_up(x, N, distance, first + j);
  }

  // a, or a 2^z where the product is not shifted, to x. A long a 2^z is a dividend: its upper half
  // to `high`, and its lower half to the place of b.
  GPUINT_DEVICE static void load_factor(const Place& a, const Place& b, u32 zeros, bool is_short,
                                        bool is_long, u32 (&x)[N], u32 (&high)[N + 1]) {
    if (is_long) {
      load_shifted(a, zeros, N, x);
      GPUINT_UNROLL()
      for (u32 j = 0; j <= N; ++j) high[j] = j < N ? x[j] : 0;
    }
    if (is_short)
      load_shifted(a, zeros, 0, x);
    else
      load_limbs(a, x);
    if (is_long) store_limbs(x, b);
  }

  // T <- T << shift, shift < 32.
  GPUINT_DEVICE static void shift_up(const Place& low, u32 (&high)[N + 1], u32 shift) {
    GPUINT_UNROLL()
    for (u32 j = N + 1; j-- > 0;)
      high[j] = __funnelshift_l(j > 0 ? high[j - 1] : low[N - 1], high[j], shift);
    u32 below = 0;
    GPUINT_UNROLL()
    for (u32 j = 0; j < N; ++j) {
      const u32 limb = low[j];
      low[j] = __funnelshift_l(below, limb, shift);
      below = limb;
    }
  }
};

}  // namespace gpuint::imad
