// Div: quotients and remainders of two rows, exact for every u < 2^BITS and every v >= 1.
//
// Two strategies over the same reciprocal (refine.cuh) and the same quotient block (quotient.cuh):
//
// ShiftedInverse<M>, the paper's: the whole shifted inverse of v to the length of the quotient, q =
// u * shinv_h(v) shifted back, r = u - q v, and a correction. It is one block of L quotient words,
// with a reciprocal of L + 1 words: two products as long as the quotient.
//
// Blocked<M>: blocks of t words of quotient from the top, with a reciprocal of t + 1 words only.
// Costs L (n + 3) + (t + 1)^2 / 2 word products for a quotient of L words: what the quotient times
// the divisor costs, and little more. The dividend is reduced in place in shared memory. Short rows
// take the form of div/lanes/division.cuh.
//
// Where the paper's algorithm is wrong: see powdiff.cuh; there is no delta = -1 path here because
// the quotient is never too large, and none of its bounds on u: all M digits of u may be in use.
//
// A row with v = 0 is flagged (mask, lowest row in status) and gets q = 2^BITS - 1, r = u.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/frame.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"
#include "core/shape.cuh"
#include "div/lanes/division.cuh"
#include "div/quotient.cuh"
#include "div/refine.cuh"
#include "div/sorted.cuh"

namespace gpuint {

template <class M>
struct ShiftedInverse {
  template <class S>
  struct Kernel {
    using Limb = typename S::Limb;
    using Rows = S;
    using Product = M;
    using Arena = DivisionArena<S, M, S::WORDS, 0>;
    static constexpr u32 BYTES = Arena::BYTES;
    static constexpr u32 BATCH = 4 * S::ROWS;

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
      divide_in_one_block<S, M>(
          group, arena, divisor, divisor.quotient_words(u_bits),
          [&](i32 i) { return limb_or_zero<S>(input_row<S>(o, 0, row), i); },
          [&](u32 p) { refine<S, M>(group, arena, divisor, p); }, o, row);
    }
  };
};

template <class M>
struct Blocked {
  template <class Given>
  struct Kernel {
    // Few threads: most divisors are short, and what one thread does (the seed, the ends of small
    // products) keeps fewer waiting.
    using S = Regrouped<Given, min_of(M::DIVISION_LIMBS, Given::N)>;
    using Rows = S;
    using Product = M;
    using Limb = typename S::Limb;
    static constexpr u32 BATCH = 4 * S::ROWS;
    // Longest block. A longer one costs more reciprocal than it saves in steps.
    static constexpr u32 MAX_BLOCK = max_of(2, S::WORDS / M::DIVISION_BLOCKS);
    // Two words above the dividend are read as zeros.
    using Arena = DivisionArena<S, M, MAX_BLOCK, S::WORDS + 2>;
    static constexpr u32 BYTES = Arena::BYTES;

    template <class G>
    GPUINT_DEVICE static void divide(G& group, unsigned char* bytes, const Operands& o, u64 row) {
      const Arena arena(group, bytes);
      if (group.rank < 2) clear_word(arena.u + (S::WORDS + group.rank) * WORD);
      if (G::THREADS == 1) clear_word(arena.u + (S::WORDS + 1) * WORD);
      const u32 v_bits = group.max(copy_in<S>(group, input_row<S>(o, 1, row), arena.v));
      const u32 u_bits = group.max(copy_in<S>(group, input_row<S>(o, 0, row), arena.u));
      group.sync();
      if (v_bits == 0) return write_undefined<S>(group, o, row);
      const NormalizedDivisor<S> divisor(v_bits);
      const u32 length = divisor.quotient_words(u_bits);
      write_quotient<S>(group, output_row<S>(o, 0, row), length, S::WORDS, nullptr);
      if (length > 0)
        divide_in_blocks<S, M>(
            group, arena, divisor, length, MAX_BLOCK,
            [&](u32 p) { refine<S, M>(group, arena, divisor, p); },
            [&] { return output_row<S>(o, 0, row); }, [](Limb* window, bool) { return window; });
      if (correct_remainder<S>(group, arena, divisor, arena.u, length > 0) && group.rank == 0)
        increment<S>(output_row<S>(o, 0, row), 0);
      copy_out<S>(group, arena.u, divisor.words * WORD, output_row<S>(o, 1, row));
    }
  };
};

// Where several instances share a warp, rows are taken in the order of their divisors' lengths.
template <class Kernel, bool SHARE_WARP = (Kernel::Rows::THREADS < 32)>
struct DivisionFrame : Frame<typename Kernel::Rows, Kernel::BYTES> {
  using Base = Frame<typename Kernel::Rows, Kernel::BYTES>;
  template <class Work>
  GPUINT_DEVICE static void each(const Operands& o, unsigned char* shared, Work work) {
    Base::run(o, shared, work);
  }
};

template <class Kernel>
struct DivisionFrame<Kernel, true>
    : SortedFrame<typename Kernel::Rows, Kernel::BYTES, Kernel::BATCH, Kernel::Rows::WORDS + 1> {
  using S = typename Kernel::Rows;
  using Base = SortedFrame<S, Kernel::BYTES, Kernel::BATCH, S::WORDS + 1>;
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

template <class Kernel>
struct GroupDivision : DivisionFrame<Kernel> {
  using Frame = DivisionFrame<Kernel>;
  static constexpr u32 REGISTERS = Frame::Base::G::IN_WARP
                                       ? Kernel::Product::WARP_DIVISION_REGISTERS
                                       : Kernel::Product::DIVISION_REGISTERS;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(REGISTERS, Frame::THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Frame::each(o, shared, [&](typename Frame::Base::G& group, u64 row, unsigned char* bytes) {
      Kernel::divide(group, bytes, o, row);
    });
  }
};

template <class S, class Strategy>
struct DivRem : GroupDivision<typename Strategy::template Kernel<S>> {};

// Short rows, in blocks: a few lanes per instance, as long as the longest divisor fits a warp.
// Measured on an H200. Divisors of 2^k limbs need a word of zeros above, and lanes of 20, 36 and 52
// limbs hold that without waste. Long lanes spend less on estimates.
constexpr u32 LANE_DIVISION_BITS = 32768;

// One block for the whole multiprocessor where it surely has the shared memory, in code for compute
// capability 9.0 alone: other code may run on GPUs with 99 KB for a block.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
constexpr u32 LANE_DIVISION_BLOCKS = 1;
#else
constexpr u32 LANE_DIVISION_BLOCKS = 2;
#endif

// Rows that a block sorts at a time: about what a multiprocessor gets of a batch of 2^32 bits.
template <class S>
constexpr u32 LANE_DIVISION_BATCH = S::N <= 256   ? 4096
                                    : S::N <= 512 ? 2048
                                                  : 1024;

// Longer tiles where registers suffice: addresses of rows take fewer where these are powers of two.
template <class S>
constexpr u32 LANE_DIVISION_TILE = power_of_two_at_least(S::N) == S::N ? 16 : 12;

template <class S, class Divisors>
using WideLaneDivision =
    typename Conditional<S::N <= 256,
                         LaneDivision<S, 36, 12, 128, 512 / LANE_DIVISION_BLOCKS,
                                      LANE_DIVISION_BATCH<S>, true, Divisors>,
                         LaneDivision<S, 52, LANE_DIVISION_TILE<S>, 168, 384 / LANE_DIVISION_BLOCKS,
                                      LANE_DIVISION_BATCH<S>, true, Divisors>>::Type;

template <class S, class Divisors = SecondOperand<S>>
using LaneDivisionOf = typename Conditional<
    S::N <= 64, LaneDivision<S, 20, 8, 96, 128, 256, false, Divisors>,
    typename Conditional<S::N <= 128, LaneDivision<S, 36, 12, 128, 128, 256, false, Divisors>,
                         WideLaneDivision<S, Divisors>>::Type>::Type;

// Whether rows are whole blocks of 32-bit limbs, and no longer than that.
template <class S, u32 MOST_BITS>
constexpr bool FIT_LANES =
    S::BITS <= MOST_BITS && S::BITS % (32 * SHORT_BLOCK) == 0 && S::LIMB_BITS == 32;

template <class S>
struct DivRem<S, Blocked<Classical>>
    : Conditional<FIT_LANES<S, LANE_DIVISION_BITS>, LaneDivisionOf<S>,
                  GroupDivision<typename Blocked<Classical>::Kernel<S>>>::Type {};

}  // namespace gpuint
