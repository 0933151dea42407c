// Addition and subtraction mod 2^BITS: c = a + b or a - b, with the carry or borrow out of a row in the mask.
//
// One round of carry resolution (carry.cuh): each thread adds its K limbs, then one vote (and for a block one barrier).
#pragma once
#include "carry.cuh"
#include "copy.cuh"

namespace gpuint {

template <class S, Direction D>
struct Sum : Frame<S, 0> {
  using Limb = typename S::Limb;
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const Limb* const a = input_row<S>(o, 0, row);
      const Limb* const b = input_row<S>(o, 1, row);
      Limb* const c = output_row<S>(o, 0, row);
      const u32 out = resolve<D, LocalCarry::Binary, Limb, S::K>(
          group, S::N,
          [&](u32 k, Limb (&x)[S::K]) {
            Limb y[S::K];
            read_limbs<S>(a, k, x);
            read_limbs<S>(b, k, y);
            u32 carry = 0;
            GPUINT_UNROLL(S::K)
            for (u32 i = 0; i < S::K; ++i)
              x[i] = D == Direction::Add ? add_carry(x[i], y[i], carry) : sub_borrow(x[i], y[i], carry);
            return carry;
          },
          [&](u32 k, Limb (&x)[S::K]) { write_limbs<S>(c, k, x); });
      if (o.mask != nullptr && out != 0 && group.rank == 0) set_mask(o.mask, row);
    });
  }
};

template <class S>
using Add = Sum<S, Direction::Add>;
template <class S>
using Sub = Sum<S, Direction::Subtract>;

}  // namespace gpuint
