// Powers in digits of transforms. A block computes all squares of a row, which stays in digits, so
// that a square takes no launch and no memory of other blocks.
#pragma once
#include "core/abi.cuh"
#include "core/rows.cuh"
#include "modular/special.cuh"
#include "transform/fft/passes.cuh"
#include "tuning/transform.cuh"

namespace gpuint {

// in[0] = a, in[1] = exponents, in[2] = special moduli, out[0] = r. params.exponent_bits times, r
// is replaced by its square with a factor, from r = a on. The factor of square i is params.digit
// where bit params.distance + params.exponent_bits - 1 - i of the exponent is set, and 1 elsewhere.
template <class S, class DIGITS>
struct PowersInDigits {
  static_assert(S::LIMB_BITS == 32, "rows are read as halves of 32 bits");
  static constexpr u32 THREADS = DIGITS::THREADS, ROWS = 1, PERSISTENT = 1;
  static constexpr u32 SHARED = DIGITS::SHARED, SCRATCH = DIGITS::SCRATCH;
  static constexpr u32 MIN_BLOCKS = FftPolicy::BLOCKS * fft::THREADS / THREADS;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const DIGITS digits(o, shared);
    GPUINT_UNROLL(1)
    for (u32 row = blockIdx.x; row < o.rows; row += gridDim.x) {
      digits.read(input_row<S>(o, 0, row), modulus(o, row));
      GPUINT_UNROLL(1)
      for (u32 i = o.params.exponent_bits; i > 0; --i) digits.square(factor(o, row, i - 1));
      digits.write(output_row<S>(o, 0, row), modulus(o, row));
    }
  }

 private:
  GPUINT_DEVICE static SpecialModulus modulus(const Operands& o, u32 row) {
    return static_cast<const SpecialModulus*>(o.in[2])[o.params.broadcast_divisor != 0 ? 0 : row];
  }

  // The factor of the square whose bit is params.distance + i.
  GPUINT_DEVICE static u32 factor(const Operands& o, u32 row, u32 i) {
    const u32 bit = o.params.distance + i;
    const u32 word = limb_or_zero<S>(input_row<S>(o, 1, row), static_cast<i32>(bit / 32));
    return (word >> (bit % 32) & 1) != 0 ? static_cast<u32>(o.params.digit) : 1;
  }
};

}  // namespace gpuint
