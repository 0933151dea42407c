// MulMod, SquareMod: a b mod v and a^2 mod v by prepared divisors, for every a, b < 2^BITS; results are in [0, v).
//
// Barrett's reduction (P. Barrett, CRYPTO '86) with short products: of T < 2 v beta^t the quotient estimate of quotient.cuh
// takes the columns of the high half only, and the remainder T - Q v the columns 0 .. n only. For a product of two residues
// t = n, and a product modulo v costs 2 n^2 + O(n) word products, a square 3/2 n^2. (Folding the top of T by a power of beta
// mod v first, as Hasenplaten, Gaubatz and Gopal do, saves products where T is reduced by one long product, not by two short
// ones.)
//
// Lazy residues. Nothing is compared with v between products: a residue is a number of n words that is below (1 + delta) v,
// with delta < 2^-40 as in quotient.cuh, or below beta^n / 2^s (which is above v, since V = v 2^s < beta^n). Both are below
// 2v, since V >= beta^n / 2.
//   Lemma. For residues a, b: T = a b < 2 v beta^n, so one block of n words reduces T.
//   Proof. If both are below (1 + delta) v, T < (1 + delta)^2 v^2 < 2 v beta^n; if only one is, T < (1 + delta) v beta^n / 2^s;
//   if none is, T < beta^2n / 2^2s <= 2 V beta^n / 2^2s = 2 v beta^n / 2^s. QED.
// What the block leaves, R < (1 + delta) v, is a residue again unless it has more than n words. If it has, R >= beta^n > v and
// R - v < delta v is one. So word n of R alone decides whether v is subtracted; it is not zero only where v has all n words'
// bits and begins with 40 ones. One comparison at the end puts the result below v.
// An operand of 2^BITS may be longer than v. It is reduced by the same code first; where its quotient has no words, it is below
// beta^n / 2^s and a residue as it stands.
#pragma once
#include "prepare.cuh"
#include "quotient.cuh"

namespace gpuint {

// Shared memory of products modulo v.
template <class S, class M>
struct ModularArena {
  using Limb = typename S::Limb;
  static constexpr u32 A = (S::WORDS + 1) * WORD;  // the residue
  static constexpr u32 B = (S::WORDS + 2) * WORD;  // the other factor; window of the estimate
  // What is reduced: an operand with two words of zeros, or a product, whose upper half has been read when the columns of the
  // estimate take its place.
  static constexpr u32 OUT = (S::WORDS + 3) * WORD;
  static constexpr u32 U = (S::WORDS + 2) * WORD + OUT;
  static constexpr u32 OVERFLOW = round_up(overflow_limbs(2 * S::WORDS * WORD), WORD);
  static constexpr u32 VARIABLE_BYTES = (A + B + 2 * PAD + U + OVERFLOW) * sizeof(Limb);
  // v and its reciprocal.
  static constexpr u32 V = S::WORDS * WORD;
  static constexpr u32 Y = (S::WORDS + 1) * WORD;
  static constexpr u32 DIVISOR_BYTES = (V + 2 * PAD + Y) * sizeof(Limb);
  // Where a block has no room for them on every device from sm_80 on, they are read where they are prepared, through the cache.
  static constexpr bool DIVISOR_IN_SHARED =
      u64(S::ROWS) * (VARIABLE_BYTES + DIVISOR_BYTES + Group<S::THREADS>::SCRATCH_BYTES) <= 163 * 1024;
  static constexpr u32 OWN_BYTES = VARIABLE_BYTES + (DIVISOR_IN_SHARED ? DIVISOR_BYTES : 0);
  static constexpr u32 SCRATCH =
      M::template scratch_limbs<S>(S::WORDS * WORD, 2 * S::WORDS * WORD, OWN_BYTES + Group<S::THREADS>::SCRATCH_BYTES);
  static constexpr u32 BYTES = OWN_BYTES + SCRATCH * sizeof(Limb);

  Limb *a, *b, *u, *out, *overflow;
  const Limb *v, *y_end;
  Scratch<Limb, SCRATCH> scratch;

  // The divisor must be made visible to all threads.
  template <class G>
  GPUINT_DEVICE ModularArena(const G& group, unsigned char* arena, const Prepared<S>& prepared, const Divisor<S>& divisor) {
    a = reinterpret_cast<Limb*>(arena);
    b = a + A + PAD;
    u = b + B + PAD;
    out = u + (S::WORDS + 2) * WORD;
    overflow = u + U;
    if (group.rank == 0) clear_word(b - PAD);
    if constexpr (DIVISOR_IN_SHARED) {
      Limb* const own = overflow + OVERFLOW + PAD;
      prepared.copy_divisor(group, divisor.words, own);
      prepared.copy_reciprocal(group, Record<S>::longest_block(divisor.words) + 1, own + V + PAD + Y);
      if (group.rank == 0) {
        clear_word(own - PAD);
        clear_word(own + V);
      }
      v = own;
      y_end = own + V + PAD + Y;
      scratch.at = own + V + PAD + Y;
    } else {
      v = prepared.v();
      y_end = prepared.y_end();
      scratch.at = overflow + OVERFLOW;
    }
  }
};

// Arithmetic on residues modulo one divisor.
template <class S, class M, class G>
struct Modular {
  using Limb = typename S::Limb;
  using Arena = ModularArena<S, M>;
  G& group;
  const Divisor<S> divisor;
  const Arena arena;

  GPUINT_DEVICE Modular(G& group_, unsigned char* bytes, const Prepared<S>& prepared)
      : group(group_), divisor(prepared.bits()), arena(group_, bytes, prepared, divisor) {}

  GPUINT_DEVICE u32 limbs() const { return divisor.words * WORD; }

  // What `reduce` takes: an operand of any length. Returns the words of its quotient.
  GPUINT_DEVICE u32 load(const Limb* row) {
    for (u32 i = group.rank; i < 2; i += G::THREADS) clear_word(arena.u + (S::WORDS + i) * WORD);
    const u32 bits = group.max(copy_in<S>(group, row, arena.u));
    group.sync();
    return divisor.quotient_words(bits);
  }

  // The product of the residue and the factor in the arena; its quotient has n words.
  GPUINT_DEVICE void multiply() {
    carry_out(M::template multiply<Limb>(group, {arena.a, limbs(), arena.b, limbs(), 0, 2 * limbs()}, arena.u, arena.overflow,
                                         Arena::OVERFLOW, arena.scratch));
  }
  // The square of the residue.
  GPUINT_DEVICE void square() {
    carry_out(M::template square<Limb>(group, {arena.a, limbs(), nullptr, 0, 0, 2 * limbs()}, arena.u, arena.overflow,
                                       arena.scratch));
  }

  // The residue of what was loaded or multiplied, with a quotient of `length` words. Visible to all threads.
  GPUINT_DEVICE void reduce(u32 length) {
    if (length > 0) {
      divide_in_blocks<S, M>(group, arena, divisor, length, Record<S>::longest_block(divisor.words), [](u32) {},
                             [] { return static_cast<Limb*>(nullptr); },
                             [&](Limb* window, bool is_last) { return is_last ? arena.a : window; });
      if (arena.a[limbs()] != 0 && group.rank == 0) GPUINT_RARE(ResidueBeyondWords);
      if (arena.a[limbs()] != 0) correct();
    } else {
      copy_words(group, arena.u, divisor.words + 1, arena.a);
      group.sync();
    }
  }

  // Puts the residue below v.
  GPUINT_DEVICE void correct() { correct_remainder<S>(group, arena, divisor, arena.a); }

 private:
  template <class Product>
  GPUINT_DEVICE void carry_out(const Product& product) {
    group.sync();
    resolve<Direction::Add, LocalCarry::Binary, Limb, DIVISION_CHUNK>(
        group, product.width, [&](u32 k, Limb (&x)[DIVISION_CHUNK]) { return product.read(k, x); },
        [&](u32 k, Limb (&x)[DIVISION_CHUNK]) { store_word(arena.u + k, x); });
    if (group.rank == 0) clear_word(arena.u + product.width);
    group.sync();
  }
};

// A thread keeps more from product to product than a division does.
template <class M>
constexpr u32 MODULAR_REGISTERS = M::DIVISION_REGISTERS + 16;

// Threads for products modulo v: as many as the width's kernels have, but no more than leave each the registers that it needs.
template <class S>
using ModularShape = Regrouped<S, max_of(S::K, ceil_div(S::N, 512))>;

// in[0] = a, in[1] = b, in[2] = records, out[0] = a b mod v.
template <class Given, class M>
struct MulMod : Frame<ModularShape<Given>, ModularArena<ModularShape<Given>, M>::BYTES> {
  using S = ModularShape<Given>;
  using Base = Frame<S, ModularArena<S, M>::BYTES>;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(MODULAR_REGISTERS<M>, Base::THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](typename Base::G& group, u64 row, unsigned char* bytes) {
      const Prepared<S> prepared(o, row);
      Modular<S, M, typename Base::G> mod(group, bytes, prepared);
      typename S::Limb* const result = output_row<S>(o, 0, row);
      // One loop, so that there is one copy of the reduction: b, a, and their product.
      GPUINT_UNROLL(1)
      for (u32 step = 0; step < 3; ++step) {
        u32 length = mod.divisor.words;
        if (step < 2)
          length = mod.load(input_row<S>(o, 1 - step, row));
        else
          mod.multiply();
        mod.reduce(length);
        // The residue of b waits in the result's place. (It fits: it is b, or v is shorter than b.)
        if (step == 0) copy_out<S>(group, mod.arena.a, mod.limbs(), result);
        if (step == 1) {
          reread<S>(group, result, mod.divisor.words, mod.arena.b);
          group.sync();
        }
      }
      mod.correct();
      copy_out<S>(group, mod.arena.a, mod.limbs(), result);
    });
  }
};

// in[0] = a, in[2] = records, out[0] = a^2 mod v.
template <class Given, class M>
struct SquareMod : Frame<ModularShape<Given>, ModularArena<ModularShape<Given>, M>::BYTES> {
  using S = ModularShape<Given>;
  using Base = Frame<S, ModularArena<S, M>::BYTES>;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(MODULAR_REGISTERS<M>, Base::THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](typename Base::G& group, u64 row, unsigned char* bytes) {
      const Prepared<S> prepared(o, row);
      Modular<S, M, typename Base::G> mod(group, bytes, prepared);
      GPUINT_UNROLL(1)
      for (u32 step = 0; step < 2; ++step) {
        u32 length = mod.divisor.words;
        if (step == 0)
          length = mod.load(input_row<S>(o, 0, row));
        else
          mod.square();
        mod.reduce(length);
      }
      mod.correct();
      copy_out<S>(group, mod.arena.a, mod.limbs(), output_row<S>(o, 0, row));
    });
  }
};

}  // namespace gpuint
