// Powers modulo special moduli. A block computes all squares of a row, so that a square takes no
// launch and no memory of other blocks. Rows of one part stay in digits of the transform where the
// modulus is within the bounds of special_digits.cuh. The square of another row
// (transform/fft/product.cuh) is written to memory of the block, and reduced by a fold
// (modular/special.cuh).
#pragma once
#include "core/abi.cuh"
#include "core/rows.cuh"
#include "modular/fft/special_digits.cuh"
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
  using Digits = SpecialDigits<S>;
  using G = typename Base::G;
  static_assert(S::LIMB_BITS == 32, "the limbs of products are 32 bits wide");
  static constexpr u32 N = S::N, K = 8;
  static_assert(N % (K * Base::THREADS) == 0, "all threads have whole chunks");
  static constexpr bool HAS_DIGITS = Base::PARTS == 1;
  static constexpr u32 SHARED = HAS_DIGITS ? max_of(Base::SHARED, Digits::SHARED) : Base::SHARED;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    GPUINT_UNROLL(1)
    for (u32 row = blockIdx.x; row < o.rows; row += gridDim.x) {
      if constexpr (HAS_DIGITS) {
        if (Digits::has(modulus(o, row), static_cast<u32>(o.params.digit))) {
          pow_by_digits(o, row, shared);
          continue;
        }
      }
      pow_by_rows(o, row, shared);
    }
  }

 private:
  GPUINT_DEVICE static SpecialModulus modulus(const Operands& o, u32 row) {
    return static_cast<const SpecialModulus*>(o.in[2])[o.params.broadcast_divisor != 0 ? 0 : row];
  }

  // The factor of the fold whose bit is params.distance + i.
  GPUINT_DEVICE static u32 factor(const Operands& o, u32 row, u32 i) {
    const u32 bit = o.params.distance + i;
    const u32 word = limb_or_zero<S>(input_row<S>(o, 1, row), static_cast<i32>(bit / 32));
    return (word >> (bit % 32) & 1) != 0 ? static_cast<u32>(o.params.digit) : 1;
  }

  GPUINT_DEVICE static void pow_by_digits(const Operands& o, u32 row, unsigned char* shared) {
    const Digits digits(shared);
    digits.read(input_row<S>(o, 0, row), modulus(o, row));
    GPUINT_UNROLL(1)
    for (u32 i = o.params.exponent_bits; i > 0; --i) digits.square(factor(o, row, i - 1));
    digits.write(output_row<S>(o, 0, row), modulus(o, row));
  }

  GPUINT_DEVICE static void pow_by_rows(const Operands& o, u32 row, unsigned char* shared) {
    Base::begin(shared);
    copy(input_row<S>(o, 0, row), Rows::factor(o, 0, row));
    GPUINT_UNROLL(1)
    for (u32 i = o.params.exponent_bits; i > 0; --i) {
      Complex x[fft::RADIX];
      __syncthreads();
      Base::multiply_parts(o, row, x, shared);
      __syncthreads();
      fold_square(o, row, i - 1, shared);
    }
    __syncthreads();
    copy(Rows::factor(o, 0, row), output_row<S>(o, 0, row));
  }

  GPUINT_DEVICE static void copy(const u32* from, u32* to) {
    for (u32 k = WORD * ptx::rematerialize(threadIdx.x); k < N; k += WORD * Base::THREADS) {
      u32 word[WORD];
      load_word(from + k, word);
      store_word(to + k, word);
    }
  }

  GPUINT_DEVICE static void fold_square(const Operands& o, u32 row, u32 i, unsigned char* shared) {
    G group(shared);
    const u32* const square = Rows::half(o, row, 0);
    u32* const power = Rows::factor(o, 0, row);
    fold<N, K>(group, FoldedLimbs<const u32*>{square, 2 * N, modulus(o, row), factor(o, row, i)},
               [&](u32 k, u32(&r)[K]) {
                 store_word(power + k, r);
                 store_word(power + k + WORD, r + WORD);
               });
  }
};

}  // namespace gpuint
