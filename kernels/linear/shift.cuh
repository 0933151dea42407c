// Shifts of whole rows by one distance in bits, mod 2^BITS: the paper's `shift`, whose digit shifts
// are multiples of the digit.
//
// No limb depends on more than two limbs of the operand, so threads read those straight from global
// memory (neighbouring threads, neighbouring limbs) and need no exchange.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/frame.cuh"
#include "core/limbs.cuh"
#include "core/rows.cuh"

namespace gpuint {

template <class S, bool LEFT>
struct Shift : Frame<S, 0> {
  using Limb = typename S::Limb;
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    // A right shift by d is limb (N + j) of x * 2^(BITS - d): one formula for both.
    const u32 bits = o.params.distance < S::BITS ? o.params.distance : S::BITS;
    const Distance<Limb> distance(LEFT ? bits : S::BITS - bits);
    const i32 from = LEFT ? 0 : S::N;
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const Limb* const a = input_row<S>(o, 0, row);
      Limb* const c = output_row<S>(o, 0, row);
      const auto limb = [&](i32 i) {
        return i >= 0 && i < static_cast<i32>(S::N) ? __ldg(a + i) : Limb(0);
      };
      for (u32 k = group.rank * WORD; k < S::WORDS * WORD; k += G::THREADS * WORD) {
        Limb word[WORD];
        GPUINT_UNROLL(4)
        for (u32 i = 0; i < WORD; ++i)
          word[i] = shifted_limb<Limb>(limb, from + static_cast<i32>(k + i), distance);
        write_word<S>(c, k, word);
      }
    });
  }
};

template <class S>
using Shl = Shift<S, true>;
template <class S>
using Shr = Shift<S, false>;

}  // namespace gpuint
