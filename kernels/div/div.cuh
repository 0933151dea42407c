// Div: quotients and remainders of two rows, exact for every u < 2^BITS and every v >= 1.
//
// Two strategies over the same reciprocal (refine.cuh) and the same quotient block (quotient.cuh):
//
// ByShiftedInverse<M>, the paper's: the whole shifted inverse of v to the length of the quotient, q
// = u * shinv_h(v) shifted back, r = u - q v, and a correction. It is one block of L quotient
// words, with a reciprocal of L + 1 words: two products as long as the quotient.
//
// Blocked<M>: blocks of t words of quotient from the top, with a reciprocal of only t + 1 words. It
// costs L (n + 3) + (t + 1)^2 / 2 word products for a quotient of L words, little more than the
// product of quotient and divisor. The dividend is reduced in place in shared memory. Short rows
// use div/lanes/division.cuh.
//
// powdiff.cuh explains the error in the paper's algorithm. Here the quotient is never too large, so
// there is no delta = -1 path, and u may use all M digits.
//
// A row with v = 0 is flagged (mask, lowest row in status) and gets q = 2^BITS - 1, r = u.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"
#include "div/lanes/division.cuh"
#include "div/quotient.cuh"
#include "div/refine.cuh"
#include "div/row_lists.cuh"
#include "div/sorted.cuh"
#include "tuning/division.cuh"

namespace gpuint {

template <class M>
struct ByShiftedInverse {
  template <class Given>
  struct Kernel {
    using Policy = InversePolicy<Given, M>;
    using S = typename Policy::Rows;
    using Product = typename Policy::Product;
    using Limb = typename S::Limb;
    using Arena = DivisionArena<S, Product, S::WORDS, 0>;
    static constexpr u32 BYTES = Arena::BYTES;

    // The dividend is only read, from global memory: its top for the estimate and its bottom for
    // the remainder.
    template <class G>
    GPUINT_DEVICE static void divide(G& group, unsigned char* bytes, const Operands& o, u64 row) {
      const Arena arena(group, bytes);
      const u32 v_bits = group.max(copy_in<S>(group, input_row<S>(o, 1, row), arena.v));
      const u32 u_bits = group.max(bits_seen<S>(group, input_row<S>(o, 0, row)));
      group.sync();
      if (v_bits == 0) return write_undefined<S>(group, o, row);
      const NormalizedDivisor<S> divisor(v_bits);
      divide_in_one_block<S, Product>(
          group, arena, divisor, divisor.quotient_words(u_bits),
          [&](i32 i) { return limb_or_zero<S>(input_row<S>(o, 0, row), i); },
          [&](u32 p) { refine<S, Product>(group, arena, divisor, p); }, o, row);
    }
  };
};

// Copies divisor and dividend to shared memory; returns their bit lengths.
template <class S, class G>
GPUINT_DEVICE uint2 copy_operands(G& group, const Operands& o, u64 row, typename S::Limb* v,
                                  typename S::Limb* u) {
  const u32 v_bits = group.max(copy_in<S>(group, input_row<S>(o, 1, row), v));
  const u32 u_bits = group.max(copy_in<S>(group, input_row<S>(o, 0, row), u));
  return {v_bits, u_bits};
}
// The same for a row whose lengths are known.
template <class S, class G, class Plan>
GPUINT_DEVICE uint2 copy_operands(G& group, const Operands& o, ListedRow<Plan> row,
                                  typename S::Limb* v, typename S::Limb* u) {
  const uint2 bits = Plan(o).lengths()[row];
  const u32 words = ceil_div(bits.x, NormalizedDivisor<S>::WORD_BITS);
  copy_padded(group, input_row<S>(o, 1, row), words, v, min_of(2, S::WORDS - words));
  copy_in<S>(group, input_row<S>(o, 0, row), u);
  return bits;
}

template <class M>
struct Blocked {
  template <class Given>
  struct Kernel {
    using Policy = BlockedDivisionPolicy<Given, M>;
    using S = typename Policy::Rows;
    using Product = typename Policy::Product;
    using Limb = typename S::Limb;
    // Longest block.
    static constexpr u32 MAX_BLOCK = max_of(2, S::WORDS / Policy::BLOCKS);
    // Two words above the dividend are read as zeros.
    using Arena = DivisionArena<S, Product, MAX_BLOCK, S::WORDS + 2>;
    static constexpr u32 BYTES = Arena::BYTES;

    template <class G, class Row>
    GPUINT_DEVICE static void divide(G& group, unsigned char* bytes, const Operands& o, Row row) {
      const Arena arena(group, bytes);
      if (group.rank < 2) clear_word(arena.u + (S::WORDS + group.rank) * WORD);
      if (G::THREADS == 1) clear_word(arena.u + (S::WORDS + 1) * WORD);
      const uint2 bits = copy_operands<S>(group, o, row, arena.v, arena.u);
      group.sync();
      if (bits.x == 0) return write_undefined<S>(group, o, row);
      const NormalizedDivisor<S> divisor(bits.x);
      const u32 length = divisor.quotient_blocks_words(bits.y);
      write_quotient<S>(group, output_row<S>(o, 0, row), length, S::WORDS, nullptr);
      if (length > 0)
        divide_in_blocks<S, Product>(
            group, arena, divisor, length, MAX_BLOCK,
            [&](u32 p) { refine<S, Product>(group, arena, divisor, p); },
            [&] { return output_row<S>(o, 0, row); }, [](Limb* window, bool) { return window; });
      if (correct_remainder<S>(group, arena, divisor, arena.u, length > 0))
        increment<S>(group, output_row<S>(o, 0, row), 0);
      copy_out<S>(group, arena.u, divisor.words * WORD, output_row<S>(o, 1, row));
    }
  };
};

// If several instances share a warp, rows are processed in the order of their divisors' lengths.
template <class Kernel, class Plan, bool SHARE_WARP = (Kernel::S::THREADS < 32)>
struct DivisionFrame : ListFrame<typename Kernel::S, Kernel::BYTES, Plan> {
  using Base = ListFrame<typename Kernel::S, Kernel::BYTES, Plan>;
  template <class Work>
  GPUINT_DEVICE static void each(const Operands& o, unsigned char* shared, Work work) {
    Base::run(o, shared, work);
  }
};

template <class Kernel>
struct DivisionFrame<Kernel, void, true>
    : SortedFrame<typename Kernel::S, Kernel::BYTES, SORTED_ROWS_PER_GROUP * Kernel::S::ROWS,
                  Kernel::S::WORDS + 1> {
  using S = typename Kernel::S;
  using Base = SortedFrame<S, Kernel::BYTES, SORTED_ROWS_PER_GROUP * S::ROWS, S::WORDS + 1>;
  template <class Work>
  GPUINT_DEVICE static void each(const Operands& o, unsigned char* shared, Work work) {
    Base::run(
        o, shared,
        [&](typename Base::G& group, u64 row) {
          return words_from_top<S>(group, input_row<S>(o, 1, row));
        },
        work);
  }
};

// Divides all rows, or the rows in list 0 of a plan.
template <class Kernel, class Plan = void>
struct GroupDivision : DivisionFrame<Kernel, Plan> {
  using Frame = DivisionFrame<Kernel, Plan>;
  static constexpr u32 REGISTERS =
      Frame::Base::G::IN_WARP ? Kernel::Policy::WARP_REGISTERS : Kernel::Policy::REGISTERS;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(REGISTERS, Frame::THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Frame::each(o, shared, [&](typename Frame::Base::G& group, auto row, unsigned char* bytes) {
      Kernel::divide(group, bytes, o, row);
    });
  }
};

// True for rows of whole blocks of 32-bit limbs, up to MAX_BITS.
template <class S, u32 MAX_BITS>
constexpr bool FIT_LANES =
    S::BITS <= MAX_BITS && S::BITS % (32 * SHORT_BLOCK) == 0 && S::LIMB_BITS == 32;

}  // namespace gpuint
