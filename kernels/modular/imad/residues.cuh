// MulResidues, SquareResidues by limbs of 32 bits, a row to a thread: one of Montgomery's products
// (montgomery.cuh) from memory to memory, a b / 2^BITS mod n.
#pragma once
#include "core/occupancy.cuh"
#include "modular/by_thread/operands.cuh"
#include "modular/imad/montgomery.cuh"

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
    u32* const modulus_stage = reinterpret_cast<u32*>(shared) + ptx::thread() / WARP * 2 * STAGE;
    u32* const factor_stage = modulus_stage + STAGE;  // a, then b or half of a^2, then the result
    const Place modulus{modulus_stage + lane}, factor{factor_stage + lane};
    const ResidueOperands<S> operands(o);
    const u64 step = ThreadRows::step();

    u64 from = ThreadRows::first_row();
    operands.prefetch(MODULUS, from, modulus_stage);
    operands.prefetch(LHS, from, factor_stage);
    GPUINT_UNROLL(1)
    for (; from < o.rows; from += step) {
      const WarpRows rows(from, o.rows);
      wait_for_stages();
      u32 x[N], n[N];
      load_limbs(modulus, n);
      load_limbs(factor, x);
      const u32 inverse = negative_inverse(n[0]);
      u32 above;
      if constexpr (FACTORS == 2) {
        __syncwarp();
        operands.prefetch(RHS, from, factor_stage);
        operands.prefetch(MODULUS, from + step, modulus_stage);
        wait_for_stages();
        above = Montgomery<N>::multiply_wide(x, factor, n, inverse);
      } else {
        above = Montgomery<N>::square_wide(x, factor, n, inverse, [](u32(&)[N]) {});
        __syncwarp();
        operands.prefetch(MODULUS, from + step, modulus_stage);
      }
      subtract_once(x, n, above);
      store_limbs(x, factor);
      __syncwarp();
      store_rows<N>(factor_stage, rows, o.out[0]);
      __syncwarp();
      operands.prefetch(LHS, from + step, factor_stage);
    }
  }
};

}  // namespace gpuint::imad
