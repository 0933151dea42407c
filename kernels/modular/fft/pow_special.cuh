// Powers modulo special moduli: squares by transforms (transform/fft/product.cuh), each reduced by
// a fold (modular/special.cuh). A block computes all squares of a row, so that a square takes no
// launch and no memory of other blocks.
#pragma once
#include "core/abi.cuh"
#include "core/rows.cuh"
#include "modular/special.cuh"
#include "mul/product_rows.cuh"
#include "transform/fft/product.cuh"

namespace gpuint {

// The power and its square, in memory of the block.
template <class S>
struct RowsOfPower {
  static constexpr u32 LIMBS = S::BITS / 32;
  static constexpr u32 ROW_BYTES = 0, SCRATCH = 3 * LIMBS * sizeof(u32);
  static constexpr bool IS_FIRST_SHIFTED = false;
  using Product = FftProduct<S, Extent::Wide, 1, RowsOfPower, false>;

  GPUINT_DEVICE static bool is_skipped(const Operands&, u64) { return false; }
  GPUINT_DEVICE static u32* factor(const Operands& o, u32, u64) {
    return reinterpret_cast<u32*>(o.scratch + u64(blockIdx.x) * Product::SCRATCH +
                                  Product::ROWS_AT);
  }
  GPUINT_DEVICE static u32* half(const Operands& o, u64 row, u32 half) {
    return factor(o, 0, row) + (1 + half) * LIMBS;
  }
};

// in[0] = a, in[1] = exponents, in[2] = special moduli, out[0] = r. params.exponent_bits times, r
// is replaced by the fold of its square, from r = a on. The factor of fold i is params.digit where
// bit params.distance + params.exponent_bits - 1 - i of the exponent is set, and 1 elsewhere.
template <class S>
struct PowSpecial : RowsOfPower<S>::Product {
  using Rows = RowsOfPower<S>;
  using Base = typename Rows::Product;
  using G = typename Base::G;
  static_assert(S::LIMB_BITS == 32, "the limbs of products are 32 bits wide");
  static constexpr u32 N = S::N, K = 8;
  static_assert(N % (K * Base::THREADS) == 0, "all threads have whole chunks");

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::begin(shared);
    GPUINT_UNROLL(1)
    for (u32 row = blockIdx.x; row < o.rows; row += gridDim.x) {
      copy(input_row<S>(o, 0, row), Rows::factor(o, 0, row));
      GPUINT_UNROLL(1)
      for (u32 i = o.params.exponent_bits; i > 0; --i) {
        Complex x[fft::RADIX];
        __syncthreads();
        Base::multiply_parts(o, row, x, shared);
        __syncthreads();
        fold_square(o, row, o.params.distance + i - 1, shared);
      }
      __syncthreads();
      copy(Rows::factor(o, 0, row), output_row<S>(o, 0, row));
    }
  }

 private:
  GPUINT_DEVICE static void copy(const u32* from, u32* to) {
    for (u32 k = WORD * ptx::rematerialize(threadIdx.x); k < N; k += WORD * Base::THREADS) {
      u32 word[WORD];
      load_word(from + k, word);
      store_word(to + k, word);
    }
  }

  GPUINT_DEVICE static void fold_square(const Operands& o, u32 row, u32 bit,
                                        unsigned char* shared) {
    G group(shared);
    const SpecialModulus modulus =
        static_cast<const SpecialModulus*>(o.in[2])[o.params.broadcast_divisor != 0 ? 0 : row];
    const u32 word = limb_or_zero<S>(input_row<S>(o, 1, row), static_cast<i32>(bit / 32));
    const bool has_factor = (word >> (bit % 32) & 1) != 0;
    const u32* const square = Rows::half(o, row, 0);
    u32* const power = Rows::factor(o, 0, row);
    fold<N, K>(group,
               FoldedLimbs<const u32*>{square, 2 * N, modulus,
                                       has_factor ? static_cast<u32>(o.params.digit) : 1u},
               [&](u32 k, u32(&r)[K]) {
                 store_word(power + k, r);
                 store_word(power + k + WORD, r + WORD);
               });
  }
};

}  // namespace gpuint
