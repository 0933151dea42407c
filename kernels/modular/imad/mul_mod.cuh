// MulMod and SquareMod by limbs of 32 bits, a row to a thread: a b mod v and a^2 mod v for every a,
// b < 2^BITS, by one reduction (barrett.cuh) in plain residues.
//
// If v has nearly all BITS in all rows of a warp, z <= SLACK, the product a b is shifted by z. Else
// a is shifted, and first reduced in all rows if it is longer than v in one of them: then a 2^z <
// B^N. A square is a product.
//
// Rows pass through two stages in shared memory. The first one has a, then the reciprocal, which
// arrives while the product is computed, then v; the second one has b, the lower half of the
// product, and the result.
#pragma once
#include "core/occupancy.cuh"
#include "modular/imad/barrett.cuh"
#include "tuning/imad.cuh"

namespace gpuint::imad {

template <class S, u32 FACTORS>
struct Product : ThreadRows {
  using B = Barrett<S>;
  static constexpr u32 N = S::N;
  static constexpr u32 FIRST_STAGE = B::RECIPROCAL_LIMBS * STAGE_STRIDE;
  static constexpr u32 WARP_LIMBS = FIRST_STAGE + N * STAGE_STRIDE;
  static constexpr u32 SHARED = WARPS * WARP_LIMBS * sizeof(u32);
  static constexpr u32 MIN_BLOCKS =
      blocks_with_registers(min_of(ImadPolicy<N>::PRODUCTS, 255), THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 lane = ptx::thread() % WARP;
    u32* const first = reinterpret_cast<u32*>(shared) + ptx::thread() / WARP * WARP_LIMBS;
    u32* const second = first + FIRST_STAGE;
    const Place a{first + lane}, b{second + lane};
    const u64 step = ThreadRows::step();
    const u32 record_stride = o.params.broadcast_divisor != 0 ? 0 : Record<S>::LIMBS;
    const auto bring_factor = [&](u32 i, u64 from, u32* stage) {
      bring_input<N>(o, i, from, N, stage);
    };

    u64 from = ThreadRows::first_row();
    bring_factor(0, from, first);
    GPUINT_UNROLL(1)
    for (; from < o.rows; from += step) {
      const WarpRows rows(from, o.rows);
      bring_factor(FACTORS - 1, from, second);
      const u32* const records = static_cast<const u32*>(o.in[2]) + from * record_stride;
      const u32 bits = __ldg(records + min_of(lane, rows.count - 1) * record_stride);
      const u32 zeros = S::BITS - bits;
      await_stages();
      const auto limb = [&](u32 i) { return a[i]; };
      const bool is_short = __any_sync(ALL_LANES, zeros > B::SLACK) != 0;
      const bool is_long =
          is_short && __any_sync(ALL_LANES, bits < S::BITS && has_bits_from<N>(limb, bits)) != 0;
      const u32 shift = is_short ? 0 : zeros;  // of the product
      u32 x[N], high[N + 1], v[N];
      const auto load_shifted = [&](u32 first_limb, u32(&to)[N]) {
        const u32 distance = ptx::recomputed(zeros);
        GPUINT_UNROLL()
        for (u32 j = 0; j < N; ++j) to[j] = shifted_up(limb, N, distance, first_limb + j);
      };
      if (is_long) {
        load_shifted(N, x);
        GPUINT_UNROLL()
        for (u32 j = 0; j <= N; ++j) high[j] = j < N ? x[j] : 0;
      }
      if (is_short)
        load_shifted(0, x);
      else
        load_limbs(a, x);
      if (is_long) store_limbs(x, b);
      // One loop, so that there is one copy of the reduction: of a 2^z, if it is long, and of the
      // product.
      GPUINT_UNROLL(1)
      for (bool is_factor = is_long;; is_factor = false) {
        __syncwarp();
        bring<B::RECIPROCAL_LIMBS>(records + Record<S>::Y_END - B::RECIPROCAL_LIMBS, record_stride,
                                   rows.count, first);
        if (!is_factor) {
          multiply_wide(x, b, high);
          shift_up(b, high, shift);
        }
        await_stages();
        const u32 above = B::reduce(
            b, high,
            [&](u32(&m)[N + 1]) {
              load_limbs(a, m);
              __syncwarp();
              bring<N>(records + Record<S>::V, record_stride, rows.count, first);
            },
            [&](u32(&to)[N]) {
              await_stages();
              load_shifted(0, to);
              __syncwarp();
              if (!is_factor) bring_factor(0, from + step, first);
            },
            v, x);
        subtract_once(x, v, above);
        if (!is_factor) break;
        __syncwarp();
        bring_factor(FACTORS - 1, from, second);
        await_stages();
      }

      store_limbs(x, b);
      shift_down(b, zeros, x);
      store_limbs(x, b);
      __syncwarp();
      take<N>(second, rows.count, static_cast<u32*>(o.out[0]) + from * N);
      __syncwarp();
    }
  }

 private:
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
