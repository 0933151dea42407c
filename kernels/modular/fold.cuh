// Fold: reduction of products modulo special moduli by the equations of special.cuh. A group has a
// row: one pass over a product of 2 BITS bits, and rarely a second one.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/frame.cuh"
#include "core/limbs.cuh"
#include "core/rows.cuh"
#include "modular/special.cuh"
#include "tuning/linear.cuh"

namespace gpuint {

// in[0] = x in rows of 2 BITS bits, in[1] = exponents, in[2] = special moduli, out[0] = r. The
// factor is params.digit where bit params.distance of the exponent is set, and 1 elsewhere.
template <class S>
struct Fold : Frame<S, 0> {
  using Base = Frame<S, 0>;
  using G = typename Base::G;
  static_assert(S::LIMB_BITS == 32, "the limbs of products are 32 bits wide");
  static constexpr u32 K = SumPolicy<S>::LIMBS_PER_ROUND;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const SpecialModulus modulus =
          static_cast<const SpecialModulus*>(o.in[2])[o.params.broadcast_divisor != 0 ? 0 : row];
      const u32 word =
          limb_or_zero<S>(input_row<S>(o, 1, row), static_cast<i32>(o.params.distance / 32));
      const bool has_factor = (word >> (o.params.distance % 32) & 1) != 0;
      FoldedLimbs fold{static_cast<const u32*>(o.in[0]) + row * (2 * S::N), 2 * S::N, modulus,
                       has_factor ? static_cast<u32>(o.params.digit) : 1u};
      u32* const out = output_row<S>(o, 0, row);
      bool may_be_negative;
      const i64 quotient = fold.quotient(may_be_negative);
      // A limb more has the sign.
      fold.set_quotient(quotient);
      const bool is_negative = subtract(group, fold, may_be_negative ? S::N + 1 : S::N, out);
      if (may_be_negative && group.max(is_negative ? 1u : 0u) != 0) {
        if (group.rank == 0) GPUINT_RARE(FoldIsNegative);
        fold.set_quotient(quotient - 1);
        subtract(group, fold, S::N, out);
      }
    });
  }

 private:
  // Writes r; returns true in the thread whose limb N is negative.
  GPUINT_DEVICE static bool subtract(G& group, const FoldedLimbs& fold, u32 count, u32* out) {
    bool is_negative = false;
    resolve<Sign::Plus, LocalCarry::Small, u32, K>(
        group, count, [&](u32 k, u32(&x)[K]) { return fold.chunk(k, x); },
        [&](u32 k, u32(&x)[K]) {
          if (k < S::N)
            write_limbs<S>(out, k, x);
          else
            is_negative = x[0] >> 31 != 0;
        });
    return is_negative;
  }
};

}  // namespace gpuint
