// Prepare: computes records of divisors, for any number of divisions by them.
//
// A row with v = 0 is reported (lowest row in status) and has no record.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/frame.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/record.cuh"
#include "core/rows.cuh"
#include "div/refine.cuh"
#include "tuning/division.cuh"

namespace gpuint {

// in[0] = v, out[0] = records.
template <class Policy>
struct GroupPrepare : InverseFrame<Policy> {
  using Base = InverseFrame<Policy>;
  using typename Base::Arena;
  using typename Base::G;
  using typename Base::Limb;
  using typename Base::S;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](G& group, u64 row, const Arena& arena, u32 bits) {
      if (bits == 0) {
        if (group.rank == 0) set_status(o.status, row);
        return;
      }
      const NormalizedDivisor<S> divisor(bits);
      const u32 p = Record<S>::reciprocal_words(divisor.words);
      refine<S, typename Policy::Product>(group, arena, divisor, p);
      Limb* const record = static_cast<Limb*>(o.out[0]) + row * Record<S>::LIMBS;
      if (group.rank == 0) {
        clear_word(record);
        *reinterpret_cast<u32*>(record) = bits;
        clear_word(record + WORD);
        clear_word(record + Record<S>::V + S::WORDS * WORD);
      }
      copy_words(group, arena.v, S::WORDS, record + Record<S>::V);
      copy_words(group, arena.y_end - p * WORD, p, record + Record<S>::Y_END - p * WORD);
    });
  }
};

}  // namespace gpuint
