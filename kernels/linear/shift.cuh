// Shifts of whole rows, mod 2^BITS, by one distance in bits or by one for each row: the paper's
// `shift`, whose digit shifts are multiples of the digit.
//
// Each limb depends on at most two limbs of the operand, so threads read those directly from global
// memory (neighbouring threads, neighbouring limbs) and need no exchange.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/frame.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"

namespace gpuint {

// out[0] = in[0] shifted by params.distance, or with PER_ROW by a row's u32 of in[1].
template <class S, bool LEFT, bool PER_ROW = false>
struct Shift : Frame<S, 0> {
  using Limb = typename S::Limb;
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const i32 from = LEFT ? 0 : S::N;
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const u32 asked = PER_ROW ? __ldg(static_cast<const u32*>(o.in[1]) + row) : o.params.distance;
      const u32 bits = min_of(asked, S::BITS);
      // A right shift by d is limb (N + j) of x * 2^(BITS - d): one formula for both.
      const Distance<Limb> distance(LEFT ? bits : S::BITS - bits);
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
template <class S>
using ShlRows = Shift<S, true, true>;
template <class S>
using ShrRows = Shift<S, false, true>;

}  // namespace gpuint
