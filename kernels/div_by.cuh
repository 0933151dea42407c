// DivRemBy: quotients and remainders by prepared divisors, exact for every u < 2^BITS.
//
// The blocked division of div.cuh with the reciprocal read instead of computed. Blocks are as long as prepare.cuh says, mostly
// one: L n word products for a quotient of L <= n words by n words, in two dependent products.
#pragma once
#include "prepare.cuh"
#include "quotient.cuh"

namespace gpuint {

// Two words above the dividend are read as zeros.
template <class S, class M>
using DivRemByArena = DivisionArena<S, M, Record<S>::LONGEST_BLOCK, S::WORDS + 2>;

// in[0] = u, in[2] = records; out[0] = q, out[1] = r, either may be null.
template <class S, class M>
struct DivRemBy : Frame<S, DivRemByArena<S, M>::BYTES> {
  using Arena = DivRemByArena<S, M>;
  using Base = Frame<S, Arena::BYTES>;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(M::DIVISION_REGISTERS, Base::THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](typename Base::G& group, u64 row, unsigned char* bytes) {
      const Arena arena(group, bytes);
      const Prepared<S> prepared(o, row);
      const Divisor<S> divisor(prepared.bits());
      prepared.copy_divisor(group, divisor.words, arena.v);
      for (u32 i = group.rank; i < 2; i += Base::G::THREADS) clear_word(arena.u + (S::WORDS + i) * WORD);
      const u32 u_bits = group.max(copy_in<S>(group, input_row<S>(o, 0, row), arena.u));
      const u32 length = divisor.quotient_words(u_bits);
      write_quotient<S>(group, output_row<S>(o, 0, row), length, S::WORDS, nullptr);
      group.sync();
      if (length > 0)
        divide_in_blocks<S, M>(
            group, arena, divisor, length, Record<S>::longest_block(divisor.words),
            [&](u32 p) { prepared.copy_reciprocal(group, p, arena.y_end); }, [&] { return output_row<S>(o, 0, row); },
            [](typename S::Limb* window, bool) { return window; });
      if (correct_remainder<S>(group, arena, divisor, arena.u) && group.rank == 0) increment<S>(output_row<S>(o, 0, row), 0);
      copy_out<S>(group, arena.u, divisor.words * WORD, output_row<S>(o, 1, row));
    });
  }
};

}  // namespace gpuint
