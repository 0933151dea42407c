// Exact division and inverses modulo 2^BITS, from the low end (T. Jebelean, "An algorithm for exact
// division", J. Symbolic Computation 15, 1993).
//
// Base and bounds. Lengths count words of four limbs, beta is the base of a word, b(x) the bit
// length of x. Let v = v' 2^s with v' odd and u = u' 2^s; then u / v = u' / v'. If v divides u, the
// quotient q is below 2^(b(u) - b(v) + 1), so its L = ceil((b(u) - b(v) + 1) / log2(beta)) words
// are q = u' / v' mod beta^L. The upper words of both operands have no influence: a quotient of L
// words costs L^2 / 2 word products, half those of a division by a divisor of L words, and has no
// estimates and no corrections.
//
// Blocks of t words, from the lowest one, with w = 1 / v' mod beta^t:
//     Q = w (R / beta^i) mod beta^t      words i .. i + t of the quotient
//     R = R - Q v' beta^i mod beta^L     words below i + t become zero
//
// The inverse (K. Hensel; Newton's iteration): if v' w = 1 + e beta^p mod beta^(2p), then
//     w' = w - beta^p (e w mod beta^p),   v' w' = (1 + e beta^p)(1 - e beta^p) = 1 mod beta^(2p).
// The first word is by schoolbook division of 1, whose first limb starts from w = v', right to 3
// bits (v'^2 = 1 mod 8), and doubles the bits.
//
// With a mask, divisibility is tested: R is reduced by all words of v', in Z = U + 1 words, where U
// are the words of u'. Theorem: v' divides u' with a quotient of L words if and only if R = 0 mod
// beta^Z. Proof. R = u' - q v' with q < beta^L, and q v' < beta^(L + n) for the n words of v'.
// From L < (b(u') - b(v') + 1) / log2(beta) + 1 and n < b(v') / log2(beta) + 1 follows L + n < U +
// 2, as log2(beta) > 1; so |R| < beta^Z, and R = 0 mod beta^Z only for R = 0. QED.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/digits.cuh"
#include "core/frame.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"
#include "div/divisor.cuh"
#include "div/exact_lanes.cuh"
#include "div/rows.cuh"
#include "div/sorted.cuh"
#include "tuning/division.cuh"

namespace gpuint {

template <class Policy>
struct HenselDivision {
  using S = typename Policy::Rows;
  using M = typename Policy::Product;
  using Limb = typename S::Limb;
  static_assert(!M::PADDED, "the memory around the operands is in use");
  static constexpr u32 WORD_BITS = WORD * S::LIMB_BITS;
  // Longest block.
  static constexpr u32 MAX_BLOCK = max_of(2, S::WORDS / Policy::BLOCKS);
  // The inverse takes the place of the reciprocal. A test of divisibility needs a word above the
  // dividend.
  using Arena = DivisionArena<S, M, MAX_BLOCK, S::WORDS + 1>;
  using G = Group<S::THREADS>;
  static constexpr u32 BYTES = Arena::BYTES;

  G& group;
  const Arena arena;
  Limb* const w;

  GPUINT_DEVICE HenselDivision(G& group_, unsigned char* bytes)
      : group(group_), arena(group_, bytes), w(arena.y_end - Arena::Y) {}

  // Writes limbs f(0) .. f(count) to shared memory; all threads see them.
  template <class F>
  GPUINT_DEVICE void fill(Limb* to, u32 count, F f) const {
    GPUINT_UNROLL(1)
    for (u32 k = group.rank; k < count; k += G::THREADS) to[k] = f(k);
    group.sync();
  }

  // Stores the words from .. to of a product to `to`; all threads see them.
  GPUINT_DEVICE void store(const Columns<Limb>& product, u32 from, Limb* to) const {
    group.sync();
    resolve<Sign::Plus, LocalCarry::Binary, Limb, DIVISION_CHUNK>(
        group, product.width, [&](u32 k, Limb(&x)[DIVISION_CHUNK]) { return product.read(k, x); },
        [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
          GPUINT_UNROLL(DIVISION_CHUNK)
          for (u32 i = 0; i < DIVISION_CHUNK; i += WORD)
            if (k + i >= from * WORD && k + i < product.width)
              store_word(to + (k + i - from * WORD), x + i);
        });
    group.sync();
  }

  // The lowest `count` words of a * b.
  GPUINT_DEVICE Columns<Limb> low_product(const Limb* a, u32 a_words, const Limb* b, u32 b_words,
                                          u32 count) const {
    return M::template multiply<Limb>(group,
                                      {a, a_words * WORD, b, b_words * WORD, 0, count * WORD},
                                      arena.out, arena.overflow, Arena::OVERFLOW, arena.scratch);
  }

  // w = 1 / v mod beta, by one thread.
  GPUINT_DEVICE void seed() const {
    Limb v[WORD], inverse[WORD];
    load_word(arena.v, v);
    inverse_of_limbs(v, inverse);
    store_word(w, inverse);
  }

  // w = 1 / v mod beta^precision. v is odd and visible to all threads.
  GPUINT_DEVICE void invert(u32 precision) const {
    if (group.rank == 0) seed();
    group.sync();
    u32 halvings = 0;
    while (((precision - 1) >> halvings) != 0) ++halvings;
    for (u32 p = 1; halvings-- > 0;) {
      const u32 next = ((precision - 1) >> halvings) + 1, fresh = next - p;
      // e, with zeros above for the next product.
      store(low_product(w, p, arena.v, next, next), p, arena.b);
      if (group.rank == 0) clear_word(arena.b + fresh * WORD);
      group.sync();
      const auto product = low_product(w, p, arena.b, fresh, fresh);
      group.sync();
      resolve<Sign::Minus, LocalCarry::Small, Limb, DIVISION_CHUNK>(
          group, product.width,
          [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
            const u32 carry = product.read(k, x);
            u32 borrow = 0;
            GPUINT_UNROLL(DIVISION_CHUNK)
            for (u32 i = 0; i < DIVISION_CHUNK; ++i) x[i] = sub_borrow(Limb(0), x[i], borrow);
            return carry + borrow;
          },
          [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
            GPUINT_UNROLL(DIVISION_CHUNK)
            for (u32 i = 0; i < DIVISION_CHUNK; i += WORD)
              if (k + i < product.width) store_word(w + p * WORD + k + i, x + i);
          });
      group.sync();
      p = next;
    }
  }

  // Writes the lowest `length` >= 1 words of u / v, and zeros above, to a row. The dividend at
  // arena.u is reduced in place in `columns` >= length words, by `words` words of v.
  GPUINT_DEVICE void divide(u32 length, u32 columns, u32 words, Limb* quotient) const {
    const u32 blocks = ceil_div(length, MAX_BLOCK);
    const u32 t = ceil_div(length, blocks);
    invert(t);
    for (u32 position = 0; position < length; position += t) {
      const u32 size = min_of(t, length - position);
      Limb* const window = arena.u + position * WORD;
      stage<Limb>(group, arena.b, size * WORD, [&](i32 j) { return window[j]; });
      group.sync();
      store(low_product(w, size, arena.b, size, size), 0, arena.b);
      write_quotient<S>(group, quotient, position, position + size, arena.b);
      if (position + size < columns) reduce(window, size, columns - position, words);
    }
    write_quotient<S>(group, quotient, length, S::WORDS, nullptr);
  }

  // Returns true if the dividend is zero after the reduction.
  GPUINT_DEVICE bool is_reduced() const {
    bool rest = false;
    for (u32 k = group.rank; k < (S::WORDS + 1) * WORD; k += G::THREADS)
      rest = rest || arena.u[k] != 0;
    return group.max(rest ? 1 : 0) == 0;
  }

 private:
  // window -= Q v in `columns` words, with Q in `size` words at arena.b.
  GPUINT_DEVICE void reduce(Limb* window, u32 size, u32 columns, u32 words) const {
    const auto difference = M::template subtract<Limb>(
        group, {arena.b, size * WORD, arena.v, min_of(words, columns) * WORD, 0, columns * WORD},
        window, arena.overflow, Arena::OVERFLOW, arena.scratch);
    group.sync();
    resolve<Sign::Minus, LocalCarry::Binary, Limb, DIVISION_CHUNK>(
        group, difference.width,
        [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
          return difference.template read<Sign::Minus>(k, x);
        },
        [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
          GPUINT_UNROLL(DIVISION_CHUNK)
          for (u32 i = 0; i < DIVISION_CHUNK; i += WORD) {
            GPUINT_ASSERT(k + i >= size * WORD || bits_of_word(x + i, 0) == 0,
                          "a block of quotient clears its words");
            if (k + i < difference.width) store_word(window + k + i, x + i);
          }
        });
    group.sync();
  }
};

// Rows that share a warp are processed in the order of the lengths of their quotients.
template <class Division, bool SHARE_WARP = (Division::S::THREADS < 32)>
struct HenselFrame : Frame<typename Division::S, Division::BYTES> {
  using Base = Frame<typename Division::S, Division::BYTES>;
  template <class Key, class Work>
  GPUINT_DEVICE static void each(const Operands& o, unsigned char* shared, Key, Work work) {
    Base::run(o, shared, work);
  }
};
template <class Division>
struct HenselFrame<Division, true>
    : SortedFrame<typename Division::S, Division::BYTES,
                  SORTED_ROWS_PER_GROUP * Division::S::ROWS, Division::S::WORDS + 2> {
  using S = typename Division::S;
  using Base = SortedFrame<S, Division::BYTES, SORTED_ROWS_PER_GROUP * S::ROWS, S::WORDS + 2>;
  template <class Key, class Work>
  GPUINT_DEVICE static void each(const Operands& o, unsigned char* shared, Key key, Work work) {
    Base::run(o, shared, key, work);
  }
};

template <class Policy, class Division_>
struct HenselKernel : HenselFrame<Division_> {
  using Division = Division_;
  using S = typename Division::S;
  using Limb = typename Division::Limb;
  using G = typename Division::G;
  using Base = HenselFrame<Division>;
  static constexpr u32 REGISTERS = G::IN_WARP ? Policy::WARP_REGISTERS : Policy::REGISTERS;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(REGISTERS, Base::THREADS);

  // A row without a result is 0.
  GPUINT_DEVICE static void fail(const G& group, const Operands& o, u64 row) {
    write_quotient<S>(group, output_row<S>(o, 0, row), 0, S::WORDS, nullptr);
    if (group.rank == 0 && o.mask != nullptr) set_mask(o.mask, row);
  }
};

template <class S, bool SHORT = IS_SHORT_EXACT<S>>
struct ExactKernelOf {
  using Type = HenselKernel<ExactDivisionPolicy<S>, HenselDivision<ExactDivisionPolicy<S>>>;
};
template <class S>
struct ExactKernelOf<S, true> {
  using Type = HenselKernel<LaneExactPolicy<S>, LaneHenselDivision<LaneExactPolicy<S>>>;
};
template <class S>
using ExactKernel = typename ExactKernelOf<S>::Type;

// in[0] = u, in[1] = v; out[0] = u / v. Without a mask, the result is undefined if v does not
// divide u; with one, it is 0 and flagged. A row with v = 0 has the result 0, and is flagged in the
// mask and the status.
template <class S_>
struct DivExact : ExactKernel<S_> {
  using Kernel = ExactKernel<S_>;
  using Division = typename Kernel::Division;
  using S = typename Kernel::S;
  using Limb = typename Kernel::Limb;
  using G = typename Kernel::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const auto key = [&](G& group, u64 row) {
      const u32 v = words_from_top<S>(group, rhs_row<S>(o, row));
      const u32 u = words_from_top<S>(group, input_row<S>(o, 0, row));
      return u < v ? 0 : u - v + 1;
    };
    Kernel::each(o, shared, key, [&](G& group, u64 row, unsigned char* bytes) {
      Division division(group, bytes);
      const auto& arena = division.arena;
      const u32 v_bits = group.max(copy_in<S>(group, rhs_row<S>(o, row), arena.v));
      const u32 u_bits = group.max(copy_in<S>(group, input_row<S>(o, 0, row), arena.u));
      if (group.rank == 0) clear_word(arena.u + S::WORDS * WORD);
      group.sync();
      if (v_bits == 0) {
        if (group.rank == 0 && o.status != nullptr) set_status(o.status, row);
        return Kernel::fail(group, o, row);
      }
      const u32 shift = trailing_zeros(group, arena.v);
      bool divides = true;
      if (shift != 0) {
        divides = o.mask == nullptr || shift <= trailing_zeros(group, arena.u);
        shift_right(division, rhs_row<S>(o, row), shift, arena.v);
        shift_right(division, input_row<S>(o, 0, row), shift, arena.u);
      }
      const u32 length = u_bits < v_bits ? 0 : ceil_div(u_bits - v_bits + 1, Division::WORD_BITS);
      const u32 words = ceil_div(v_bits - shift, Division::WORD_BITS);
      const u32 columns = o.mask == nullptr
                              ? length
                              : ceil_div(u_bits - min_of(shift, u_bits), Division::WORD_BITS) + 1;
      Limb* const quotient = output_row<S>(o, 0, row);
      if (length > 0)
        division.divide(length, columns, words, quotient);
      else
        write_quotient<S>(group, quotient, 0, S::WORDS, nullptr);
      if (o.mask == nullptr) return;
      if (length == 0) divides = u_bits == 0;
      divides = divides && division.is_reduced();
      if (!divides) Kernel::fail(group, o, row);
    });
  }

 private:
  // Zeros below the lowest bit of W words that all threads see; all of them for zero.
  GPUINT_DEVICE static u32 trailing_zeros(G& group, const Limb* x) {
    constexpr u32 BITS = S::WORDS * Division::WORD_BITS;
    u32 from_top = 0;  // BITS minus the position of the lowest bit
    for (u32 k = group.rank; k < S::WORDS * WORD && from_top == 0; k += G::THREADS)
      if (x[k] != 0)
        from_top = BITS - k * S::LIMB_BITS - (static_cast<u32>(__ffs(static_cast<int>(x[k]))) - 1);
    return BITS - group.max(from_top);
  }

  // Writes a row of global memory, shifted to the right, to W words; all threads see them.
  GPUINT_DEVICE static void shift_right(const Division& division, const Limb* row, u32 shift,
                                        Limb* to) {
    // x >> shift = (x << distance) >> limbs.
    const u32 limbs = ceil_div(shift, S::LIMB_BITS);
    const Distance<Limb> distance(limbs * S::LIMB_BITS - shift);
    division.fill(to, S::WORDS * WORD, [&](u32 k) {
      return shifted_limb<Limb>([&](i32 i) { return limb_or_zero<S>(row, i); },
                                static_cast<i32>(k + limbs), distance);
    });
  }
};

// in[0] = v; out[0] = 1 / v mod 2^BITS; an even row is 0 and flagged.
template <class S_>
struct InverseModPow2 : ExactKernel<S_> {
  using Kernel = ExactKernel<S_>;
  using Division = typename Kernel::Division;
  using S = typename Kernel::S;
  using Limb = typename Kernel::Limb;
  using G = typename Kernel::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const auto key = [](G&, u64) { return 0; };
    Kernel::each(o, shared, key, [&](G& group, u64 row, unsigned char* bytes) {
      Division division(group, bytes);
      copy_in<S>(group, input_row<S>(o, 0, row), division.arena.v);
      division.fill(division.arena.u, S::WORDS * WORD,
                    [](u32 k) { return static_cast<Limb>(k == 0); });
      if (division.arena.v[0] % 2 == 0) return Kernel::fail(group, o, row);
      division.divide(S::WORDS, S::WORDS, S::WORDS, output_row<S>(o, 0, row));
    });
  }
};

}  // namespace gpuint
