// Fold: reduction of products modulo special moduli by the equations of special.cuh. A group has a
// row: one pass over a product of 2 BITS bits, and rarely a second one.
#pragma once
#include "core/abi.cuh"
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
      const u32* const x = static_cast<const u32*>(o.in[0]) + row * (2 * S::N);
      u32* const out = output_row<S>(o, 0, row);
      fold<S::N, K>(group,
                    FoldedLimbs<ReadOnlyRow>{ReadOnlyRow{x}, 2 * S::N, modulus,
                                             has_factor ? static_cast<u32>(o.params.digit) : 1u},
                    [&](u32 k, u32(&r)[K]) { write_limbs<S>(out, k, r); });
    });
  }
};

}  // namespace gpuint
