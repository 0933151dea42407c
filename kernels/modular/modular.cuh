// MulMod, SquareMod: a b mod v and a^2 mod v by prepared divisors, for every a, b < 2^BITS; results
// are in [0, v).
//
// Barrett's reduction (P. Barrett, CRYPTO '86) with short products: of T < 2 v beta^t the quotient
// estimate of quotient.cuh takes the columns of the high half only, and the remainder T - Q v the
// columns 0 .. n only. For a product of two residues t = n, and a product modulo v costs 2 n^2 +
// O(n) word products, a square 3/2 n^2. (Folding the top of T by a power of beta mod v first, as
// Hasenplaten, Gaubatz and Gopal do, saves products where T is reduced by one long product, not by
// two short ones.)
//
// Lazy residues. Nothing is compared with v between products: a residue is a number of n words that
// is below (1 + delta) v, with delta < 2^-40 as in quotient.cuh, or below beta^n / 2^s (which is
// above v, since V = v 2^s < beta^n). Both are below 2v, since V >= beta^n / 2.
//   Lemma. For residues a, b: T = a b < 2 v beta^n, so one block of n words reduces T.
//   Proof. If both are below (1 + delta) v, T < (1 + delta)^2 v^2 < 2 v beta^n; if only one is, T <
//   (1 + delta) v beta^n / 2^s; if none is, T < beta^2n / 2^2s <= 2 V beta^n / 2^2s = 2 v beta^n /
//   2^s. QED.
// The remainder of the block, R < (1 + delta) v, is a residue again unless it has more than n
// words. If it has, R >= beta^n > v and R - v < delta v is one. So word n of R alone decides
// whether v is subtracted; it is not zero only where v has all n words' bits and begins with 40
// ones. One comparison at the end puts the result below v. An operand of 2^BITS may be longer than
// v. It is reduced by the same code first; where its quotient has no words, it is below beta^n /
// 2^s and a residue as it stands.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/digits.cuh"
#include "core/frame.cuh"
#include "core/group.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/ptx.cuh"
#include "core/rows.cuh"
#include "core/record.cuh"
#include "div/quotient.cuh"
#include "tuning/modular.cuh"

namespace gpuint {

// Shared memory of products modulo v: numbers with disjoint lifetimes share storage. The
// reciprocal takes the place of the residue, which has gone into the product, until the next
// residue takes its own; v takes the place of the other factor, and of the window of the estimate
// once that is made. Both are read where they are prepared, through the cache.
template <class S, class M>
struct ModularArena {
  using Limb = typename S::Limb;
  static constexpr u32 ABOVE = PAD_ABOVE;
  static constexpr u32 A = (S::WORDS + 1) * WORD;
  static constexpr u32 B = (S::WORDS + 2) * WORD;
  // The dividend: an operand with two words of zeros, or a product, whose upper half has been
  // read when the columns of the estimate take its place.
  static constexpr u32 OUT = (S::WORDS + 3) * WORD + PAD_ABOVE;
  static constexpr u32 U = (S::WORDS + 2) * WORD + OUT;
  static constexpr u32 OVERFLOW = round_up(M::overflow_limbs(2 * S::WORDS * WORD), WORD);
  static constexpr u32 OWN_BYTES = (PAD + A + B + 2 * PAD_ABOVE + U + OVERFLOW) * sizeof(Limb);
  static constexpr u32 SCRATCH = M::template scratch_limbs<S>(
      S::WORDS * WORD, 2 * S::WORDS * WORD, OWN_BYTES + Group<S::THREADS>::SCRATCH_BYTES);
  static constexpr u32 BYTES = OWN_BYTES + SCRATCH * sizeof(Limb);

  const Prepared<S> prepared;
  Limb* const a;  // the residue, and the reciprocal
  Limb *u, *out, *overflow, *y_end;
  Limb *b, *v;  // the other factor, the window, and v
  Scratch<Limb, SCRATCH> scratch;

  GPUINT_DEVICE ModularArena(unsigned char* arena, const Prepared<S>& prepared_)
      : prepared(prepared_), a(reinterpret_cast<Limb*>(arena) + PAD) {
    y_end = a + A;
    v = b = y_end + PAD_ABOVE;
    u = b + B + PAD_ABOVE;
    out = u + (S::WORDS + 2) * WORD;
    overflow = u + U;
    scratch.at = overflow + OVERFLOW;
  }

  // Clears the words that stay zero.
  template <class G>
  GPUINT_DEVICE void clear(const G& group) const {
    if (group.rank != 0) return;
    clear_word(a - PAD);
    clear_word(y_end);
    clear_word(y_end + WORD);
  }

  // v before it is brought, for assertions.
  GPUINT_DEVICE const Limb* divisor_at_rest() const { return prepared.v(); }

  // The reciprocal takes the place of the residue ..
  template <class G>
  GPUINT_DEVICE void bring_reciprocal(const G& group, u32 p) const {
    prepared.copy_reciprocal(group, p, y_end);
  }
  // .. and leaves it again, with zeros above the residue to come.
  template <class G>
  GPUINT_DEVICE void bring_divisor(const G& group, const NormalizedDivisor<S>& divisor) const {
    prepared.copy_divisor(group, divisor.words, v);
    if (group.rank == 0) {
      clear_word(a + divisor.words * WORD);
      clear_word(a + (divisor.words + 1) * WORD);
    }
  }
};

// Arithmetic on residues modulo one divisor.
template <class S, class M, class G>
struct Modular {
  using Limb = typename S::Limb;
  using Arena = ModularArena<S, M>;
  G& group;
  unsigned char* const bytes;
  const Prepared<S> prepared;
  const NormalizedDivisor<S> divisor;

  GPUINT_DEVICE Modular(G& group_, unsigned char* bytes_, const Prepared<S>& prepared_)
      : group(group_), bytes(bytes_), prepared(prepared_), divisor(prepared.bits()) {
    arena().clear(group);
    prepared.prefetch(group, divisor.words);
  }

  // Addresses in it are worked out where they are needed: there are too many to keep.
  GPUINT_DEVICE Arena arena() const { return Arena(bytes + ptx::rematerialize(0), prepared); }

  GPUINT_DEVICE u32 limbs() const { return divisor.words * WORD; }

  // Loads an operand of any length for `reduce`; returns the words of its quotient.
  GPUINT_DEVICE u32 load(const Limb* row) {
    Limb* const u = arena().u;
    for (u32 i = group.rank; i < 2; i += G::THREADS) clear_word(u + (S::WORDS + i) * WORD);
    const u32 bits = group.max(copy_in<S>(group, row, u));
    group.sync();
    return divisor.quotient_words(bits);
  }

  // The product of the residue and the factor in the arena; its quotient has n words.
  GPUINT_DEVICE void multiply() {
    const Arena at = arena();
    carry_out(M::template multiply<Limb>(group, {at.a, limbs(), at.b, limbs(), 0, 2 * limbs()},
                                         at.u, at.overflow, Arena::OVERFLOW, at.scratch));
  }
  // The square of the residue.
  GPUINT_DEVICE void square() {
    const Arena at = arena();
    carry_out(M::template square<Limb>(group, {at.a, limbs(), nullptr, 0, 0, 2 * limbs()}, at.u,
                                       at.overflow, at.scratch));
  }

  // The residue of what was loaded or multiplied, with a quotient of `length` words. Visible to all
  // threads.
  GPUINT_DEVICE void reduce(u32 length) {
    const Arena at = arena();
    if (length > 0) {
      divide_in_blocks<S, M>(
          group, at, divisor, length, Record<S>::longest_block(divisor.words), [](u32) {},
          [] { return static_cast<Limb*>(nullptr); },
          [&](Limb* window, bool is_last) { return is_last ? at.a : window; });
      if (at.a[limbs()] != 0 && group.rank == 0) GPUINT_RARE(ResidueBeyondWords);
      if (at.a[limbs()] != 0) correct();
    } else {
      copy_words(group, at.u, divisor.words, at.a);
      at.bring_divisor(group, divisor);
      group.sync();
    }
  }

  // Puts the residue that `reduce` has left below v.
  GPUINT_DEVICE void correct() {
    const Arena at = arena();
    group.sync();  // all have seen whether it has more than n words
    correct_remainder<S>(group, at, divisor, at.a);
  }

 private:
  template <class Product>
  GPUINT_DEVICE void carry_out(const Product& product) {
    group.sync();
    Limb* const u = arena().u;
    resolve<Sign::Plus, LocalCarry::Binary, Limb, DIVISION_CHUNK>(
        group, product.width, [&](u32 k, Limb(&x)[DIVISION_CHUNK]) { return product.read(k, x); },
        [&](u32 k, Limb(&x)[DIVISION_CHUNK]) { store_word(u + k, x); });
    if (group.rank == 0) clear_word(u + product.width);
    group.sync();
  }
};

// The frame of a kernel for products modulo v.
template <class Policy>
struct ModularFrame : Frame<typename Policy::Rows,
                            ModularArena<typename Policy::Rows, typename Policy::Product>::BYTES> {
  using S = typename Policy::Rows;
  using Base = Frame<S, ModularArena<S, typename Policy::Product>::BYTES>;
  using G = typename Base::G;
  using Arithmetic = Modular<S, typename Policy::Product, G>;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(Policy::REGISTERS, Base::THREADS);
};

// in[0] .. in[FACTORS - 1] = factors, in[2] = records, out[0] = their product mod v, or the square
// of the only one.
template <class Policy, u32 FACTORS>
struct ProductMod : ModularFrame<Policy> {
  using Base = ModularFrame<Policy>;
  using S = typename Base::S;
  using G = typename Base::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](G& group, u64 row, unsigned char* bytes) {
      const Prepared<S> prepared(o, row);
      typename Base::Arithmetic mod(group, bytes, prepared);
      typename S::Limb* const result = output_row<S>(o, 0, row);
      bool is_second_reduced = false;
      // One loop, so that there is one copy of the reduction: b, a, and their product.
      GPUINT_UNROLL(1)
      for (u32 step = 0; step <= FACTORS; ++step) {
        u32 length = mod.divisor.words;
        if (step < FACTORS)
          length = mod.load(input_row<S>(o, FACTORS - 1 - step, row));
        else if constexpr (FACTORS == 1)
          mod.square();
        else
          mod.multiply();
        const bool is_second = FACTORS == 2 && step == 0;
        if (is_second && length == 0) continue;
        mod.reduce(length);
        // The residue of b waits in the result's place. (It fits: it is b, or v is shorter than b.)
        if (is_second)
          copy_out<S>(group, mod.arena().a, mod.limbs(), result), is_second_reduced = true;
        if (FACTORS == 2 && step == 1) {
          reread<S>(group, is_second_reduced ? result : input_row<S>(o, 1, row), mod.divisor.words,
                    mod.arena().b);
          group.sync();
        }
      }
      mod.correct();
      copy_out<S>(group, mod.arena().a, mod.limbs(), result);
    });
  }
};

}  // namespace gpuint
