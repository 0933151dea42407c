// MulResidues, SquareResidues by limbs of 32 bits, a row to a thread: one of Montgomery's products
// (montgomery.cuh) from memory to memory, a b / 2^BITS mod n.
//
// Two stages in shared memory: the first one has n, then the other factor or the upper half of the
// square; the second one has a, and the result.
#pragma once
#include "core/occupancy.cuh"
#include "modular/imad/montgomery.cuh"
#include "modular/odd_modulus.cuh"

namespace gpuint::imad {

template <class S, u32 FACTORS>
struct ResidueProduct : ThreadRows {
  static constexpr u32 N = S::N;
  static constexpr u32 STAGE = N * STAGE_STRIDE;
  static constexpr u32 SHARED = WARPS * 2 * STAGE * sizeof(u32);
  static constexpr u32 MIN_BLOCKS =
      blocks_with_registers(min_of(ImadPolicy<N>::RESIDUES, 255), THREADS);
  static_assert(S::LIMB_BITS == 32 && N % 2 == 0, "rows of pairs of 32-bit limbs");

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 lane = ptx::thread() % WARP;
    u32* const first = reinterpret_cast<u32*>(shared) + ptx::thread() / WARP * 2 * STAGE;
    u32* const second = first + STAGE;
    const Place modulus{first + lane}, factor{second + lane};
    const u64 step = ThreadRows::step();
    const u32 stride = o.params.broadcast_divisor != 0 ? 0 : OddModulus<S>::LIMBS;
    const u32 rhs_stride = o.params.broadcast_rhs != 0 ? 0 : N;
    const auto bring_rows = [&](u32 i, u64 from, u32 row_stride, u32* stage) {
      bring_input<N>(o, i, from, row_stride, stage);
    };

    u64 from = ThreadRows::first_row();
    bring_rows(2, from, stride, first);
    bring_rows(0, from, N, second);
    GPUINT_UNROLL(1)
    for (; from < o.rows; from += step) {
      const WarpRows rows(from, o.rows);
      await_stages();
      u32 x[N], n[N];
      load_limbs(modulus, n);
      load_limbs(factor, x);
      const u32 inverse = negative_inverse(n[0]);
      u32 above;
      if constexpr (FACTORS == 2) {
        __syncwarp();
        bring_rows(1, from, rhs_stride, second);
        bring_rows(2, from + step, stride, first);
        await_stages();
        above = Montgomery<N>::multiply_wide(x, factor, n, inverse);
      } else {
        above = Montgomery<N>::square_wide(x, factor, n, inverse, [](u32(&)[N]) {});
        __syncwarp();
        bring_rows(2, from + step, stride, first);
      }
      subtract_once(x, n, above);
      store_limbs(x, factor);
      __syncwarp();
      take<N>(second, rows.count, static_cast<u32*>(o.out[0]) + from * N);
      __syncwarp();
      bring_rows(0, from + step, N, second);
    }
  }
};

}  // namespace gpuint::imad
