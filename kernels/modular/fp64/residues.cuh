// MulResidues, SquareResidues by digits of 52 bits, a row to a thread: one of Montgomery's products
// (montgomery.cuh) from memory to memory, a b / 2^BITS mod n.
//
// The product of digits divides by R = 2^L, L = 52 D. So a factor is multiplied by 2^(L - BITS)
// where its digits are cut from its limbs, which costs nothing:
//     x (y 2^(L - BITS)) / 2^L = x y / 2^BITS.
// A square takes half of these bits twice: L and BITS are even.
//
// If x or y is below n, then x y < n 2^BITS, and (x y 2^(L - BITS) + q n) / R < 2 n for q < R.
// One comparison then reduces the result below n.
//
// While a product is computed, the next rows arrive in shared memory.
#pragma once
#include "core/occupancy.cuh"
#include "modular/by_thread/operands.cuh"
#include "modular/fp64/montgomery.cuh"

namespace gpuint::fp64 {

template <class S, u32 FACTORS>
struct ResidueProduct : ThreadRows {
  static constexpr u32 D = digits_of(S::BITS);
  static constexpr u32 SPARE = DIGIT_BITS * D - S::BITS;  // L - BITS
  static constexpr u32 STAGE = S::N * STAGE_STRIDE;
  static constexpr u32 WARP_BYTES =
      round_up(D * WARP * sizeof(u64) + (FACTORS + 1) * STAGE * sizeof(u32), 16);
  static constexpr u32 SHARED = WARPS * WARP_BYTES;
  // x, n and the columns of two registers a digit; addresses weigh more where digits are few.
  static constexpr u32 OTHERS = D < 18 ? 72 : 60;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(min_of(6 * D + OTHERS, 255), THREADS);
  // Squares of more digits have more code than the instruction cache holds, and are products.
  static constexpr bool IS_SQUARE = FACTORS == 1 && D <= 24;
  static_assert(S::LIMB_BITS == 32, "rows of 32-bit limbs");
  static_assert(SPARE >= 2 && SPARE % 2 == 0, "4 n < R, and half of the spare bits is whole");

  static __device__ void run(const Operands& o, unsigned char* shared) {
    unsigned char* const own = shared + ptx::thread() / WARP * WARP_BYTES;
    const u32 lane = ptx::thread() % WARP;
    const Place place{reinterpret_cast<u64*>(own) + lane};
    u32* const digits = reinterpret_cast<u32*>(own);  // of the last factor; then the result
    u32* const modulus_stage = digits + 2 * D * WARP;
    u32* const factor_stages = modulus_stage + STAGE;
    const u64 step = ThreadRows::step();
    const ResidueOperands<S> operands(o);
    const auto prefetch_all = [&](u64 from) {
      if (from >= o.rows) return;
      const WarpRows rows(from, o.rows);
      operands.prefetch(MODULUS, rows, modulus_stage);
      operands.prefetch(LHS, rows, factor_stages);
      if (FACTORS == 2) operands.prefetch(RHS, rows, factor_stages + STAGE);
    };

    u64 from = ThreadRows::first_row();
    prefetch_all(from);
    GPUINT_UNROLL(1)
    for (; from < o.rows; from += step) {
      const WarpRows rows(from, o.rows);
      wait_for_stages();
      double x[D], n[D];
      load_shifted<IS_SQUARE ? SPARE / 2 : 0>(factor_stages + lane, x);
      load_shifted<0>(modulus_stage + lane, n);
      const double inverse = negative_inverse(to_integer(n[0]));
      if constexpr (!IS_SQUARE) {
        double y[D];
        load_shifted<SPARE>(factor_stages + (FACTORS - 1) * STAGE + lane, y);
        store_integers(y, place);
      }
      __syncwarp();
      prefetch_all(from + step);
      if constexpr (IS_SQUARE)
        Montgomery<D>::square(x, place, inverse, [&](double(&to)[D]) {
          GPUINT_UNROLL()
          for (u32 j = 0; j < D; ++j) to[j] = n[j];
        });
      else
        Montgomery<D>::multiply(x, place, n, inverse);

      u64 result[D];
      to_integers(x, result);
      subtract_once(result, n);
      store_rows_of_digits<S::N>(result, digits, lane, rows, o.out[0]);
    }
  }

 private:
  // Digits of x 2^SHIFT, x in a column of a stage.
  template <u32 SHIFT>
  GPUINT_DEVICE static void load_shifted(const u32* column, double (&x)[D]) {
    const auto limb = [&](u32 i) { return i < S::N ? column[i * STAGE_STRIDE] : 0; };
    to_digits<0>([&](u32 i) { return SHIFT == 0 ? limb(i) : shifted_up(limb, S::N, SHIFT, i); }, x);
  }
};

}  // namespace gpuint::fp64
