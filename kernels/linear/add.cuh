// Addition and subtraction mod 2^BITS: c = a + b or a - b, with the carry or borrow out of a row in
// the mask.
//
// Each thread adds its limbs, then one vote resolves all carries (carry.cuh), with a barrier if the
// group is a block. Groups whose words fill a line of memory process their row a word per thread at
// a time: coalesced access is worth more than the cost of the votes.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/joint_frame.cuh"
#include "core/limbs.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"
#include "tuning/linear.cuh"

namespace gpuint {

template <class S, Sign SIGN>
struct Sum : JointFrame<S> {
  using Limb = typename S::Limb;
  using G = typename JointFrame<S>::G;
  // Limbs of a thread in a round.
  static constexpr u32 K = SumPolicy<S>::LIMBS_PER_ROUND;
  static constexpr u32 MIN_BLOCKS = S::THREADS > 32
                                        ? blocks_with_registers(SumPolicy<S>::REGISTERS, S::THREADS)
                                        : 1;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    JointFrame<S>::run(o, shared, [&](G& group, u64 row, bool is_row) {
      const Limb* const a = input_row<S>(o, 0, row);
      const Limb* const b = rhs_row<S>(o, row);
      Limb* const c = output_row<S>(o, 0, row);
      const u32 out = resolve<SIGN, LocalCarry::Binary, Limb, K>(
          group, S::N,
          [&](u32 k, Limb(&x)[K]) {
            // Another group may write the row.
            if (!is_row) return 0u;
            Limb y[K];
            read_limbs<S>(a, k, x);
            read_limbs<S>(b, k, y);
            u32 carry = 0;
            GPUINT_UNROLL(K)
            for (u32 i = 0; i < K; ++i)
              x[i] =
                  SIGN == Sign::Plus ? add_carry(x[i], y[i], carry) : sub_borrow(x[i], y[i], carry);
            return carry;
          },
          [&](u32 k, Limb(&x)[K]) {
            if (is_row) write_limbs<S>(c, k, x);
          });
      if (o.mask != nullptr && out != 0 && group.rank == 0) set_mask(o.mask, row);
    });
  }
};

template <class S>
using Add = Sum<S, Sign::Plus>;
template <class S>
using Sub = Sum<S, Sign::Minus>;

}  // namespace gpuint
