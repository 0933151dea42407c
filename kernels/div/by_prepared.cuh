// DivRemBy: quotients and remainders by prepared divisors, exact for every u < 2^BITS.
//
// The blocked division of div.cuh, with the reciprocal read instead of computed. record.cuh
// determines the length of a block, usually one block: L n word products for a quotient of L <= n
// words by n words, in two dependent products.
//
// A few lanes divide a short row (div/lanes/division.cuh) and need only v: of a batch that fills
// the GPU, that takes less than half the time of groups, even without the reciprocal
// (tuning/division.cuh). Of few rows, groups with a reciprocal take a fraction of the time of
// lanes, which divide a row in many dependent blocks: DivRemBy<S, TensorCore>.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"
#include "div/div.cuh"
#include "core/record.cuh"
#include "div/quotient.cuh"
#include "div/row_lists.cuh"
#include "tuning/division.cuh"

namespace gpuint {

// Two words above the dividend are read as zeros.
template <class S, class M>
struct DivRemByArena : DivisionArena<S, M, Record<S>::LONGEST_BLOCK, S::WORDS + 2> {
  using Base = DivisionArena<S, M, Record<S>::LONGEST_BLOCK, S::WORDS + 2>;
  const Prepared<S> prepared;

  template <class G>
  GPUINT_DEVICE DivRemByArena(const G& group, unsigned char* arena, const Prepared<S>& prepared_)
      : Base(group, arena), prepared(prepared_) {}

  // Once per block, since the first one may be shorter.
  template <class G>
  GPUINT_DEVICE void bring_reciprocal(const G& group, u32 p) const {
    prepared.copy_reciprocal(group, p, this->y_end);
  }
};

// in[0] = u, in[2] = records; out[0] = q, out[1] = r, either may be null.
template <class Policy, class Plan = void>
struct GroupDivRemBy
    : ListFrame<typename Policy::Rows,
                DivRemByArena<typename Policy::Rows, typename Policy::Product>::BYTES, Plan> {
  using S = typename Policy::Rows;
  using Product = typename Policy::Product;
  using Arena = DivRemByArena<S, Product>;
  using Base = ListFrame<S, Arena::BYTES, Plan>;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(Policy::REGISTERS, Base::THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](typename Base::G& group, auto row, unsigned char* bytes) {
      const Prepared<S> prepared(o, row);
      const Arena arena(group, bytes, prepared);
      const NormalizedDivisor<S> divisor(prepared.bits());
      // The arena has zeros above W words.
      prepared.copy_divisor(group, divisor.words, arena.v, min_of(2, S::WORDS - divisor.words));
      for (u32 i = group.rank; i < 2; i += Base::G::THREADS)
        clear_word(arena.u + (S::WORDS + i) * WORD);
      const u32 u_bits = group.max(copy_in<S>(group, input_row<S>(o, 0, row), arena.u));
      const u32 length = divisor.quotient_words(u_bits);
      write_quotient<S>(group, output_row<S>(o, 0, row), length, S::WORDS, nullptr);
      group.sync();
      if (length > 0)
        divide_in_blocks<S, Product>(
            group, arena, divisor, length, Record<S>::longest_block(divisor.words), [](u32) {},
            [&] { return output_row<S>(o, 0, row); },
            [](typename S::Limb* window, bool) { return window; });
      if (correct_remainder<S>(group, arena, divisor, arena.u))
        increment<S>(group, output_row<S>(o, 0, row), 0);
      copy_out<S>(group, arena.u, divisor.words * WORD, output_row<S>(o, 1, row));
    });
  }
};

template <class S>
struct PreparedOperand {
  GPUINT_DEVICE static const u32* at(const Operands& o, u64 row) { return Prepared<S>(o, row).v(); }
};

}  // namespace gpuint
