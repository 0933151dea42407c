// PowDiff, the close product of the paper (its Algorithm "powDiff"): the difference between V * Y
// and the power of beta near it.
//
// Given Y ~ beta^p / (2 nu), nu = V / beta^n, and D = the top d words of 2V, it computes
//     F = beta^(p+d) - 2V' Y   (V' the prefix of V), from the columns kappa .. d of the product,
// because F < 4 beta^d: the columns above are known to cancel (a middle product, p + 2 columns of
// about 2p).
//
// The paper takes the sign of the difference from the top digit of a truncated product, which is
// the error in its printed algorithm. The dropped columns can change the result by an ulp in either
// direction, lambda and delta leave the claimed ranges, and the one correction at the end no longer
// suffices (B = 2^64, u = 2^384 - 1, v = 2^321 - 1). Here the sign is known by construction. Y is a
// strict underestimate, so F > 0. Dropping columns and the tail of V can only make the computed F
// too large, by less than K beta^(kappa+1) with K = p + 2; that amount is subtracted. If the result
// is negative, the true F is below the bound, and 0 replaces it. So 0 <= F_computed <= F_true
// always.
//
// The paper's subPowB, B^h - a, is the pass below that resolves the product: it also negates,
// modulo the power.
#pragma once
#include "core/carry.cuh"
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "div/divisor.cuh"

namespace gpuint {

// The columns of the two products of a step from p to `next` words of reciprocal.
struct StepColumns {
  u32 d;       // words of the divisor's prefix
  u32 kappa;   // first column of the residual that is computed
  u32 window;  // words of the residual, columns kappa .. d
  u32 cut;     // first column of the correction product that is computed; two guard words below the
               // result

  GPUINT_DEVICE StepColumns(u32 n, u32 p, u32 next) {
    d = min_of(n, next + 1);
    kappa = p + d > next + 2 ? p + d - next - 2 : 0;
    window = d + 1 - kappa;
    cut = 2 * p + d - next - kappa - 2;
  }
};

// Returns true if a residual's top word, that of column d, is 0 .. 3 or all ones.
template <class Limb>
GPUINT_DEVICE bool small_residual(const Limb* top) {
  const Limb all = static_cast<Limb>(~Limb(0));
  return (top[0] < 4 && (top[1] | top[2] | top[3]) == 0) ||
         (top[0] & top[1] & top[2] & top[3]) == all;
}

// Writes F * beta^-kappa to arena.b, `window` words with zeros on both sides. Returns whether it is
// not zero.
template <class S, class M, class Arena, class G>
GPUINT_DEVICE bool powdiff(G& group, const Arena& arena, const NormalizedDivisor<S>& divisor, u32 p,
                           const StepColumns& columns) {
  using Limb = typename S::Limb;
  const u32 n = divisor.words, d = columns.d;
  const Limb* const v = arena.v;
  const Limb* const y = arena.y_end - p * WORD;
  // The leading 1 of 2V stands at beta^n, above the limbs that are read here.
  const i32 skipped = static_cast<i32>((n - d) * WORD);
  const auto limb = [&](i32 i) { return i >= 0 ? v[i] : Limb(0); };
  stage<Limb, Arena::ABOVE>(group, arena.b, d * WORD, [&](i32 j) {
    return shifted_limb<Limb>(limb, skipped + j, divisor.to_double());
  });
  group.sync();
  const auto product = M::template multiply<Limb>(
      group, {y, p * WORD, arena.b, d * WORD, columns.kappa * WORD, (d + 1) * WORD}, arena.out,
      arena.overflow, Arena::OVERFLOW, arena.scratch);
  group.sync();

  const u32 count = columns.window * WORD;
  const Limb excess = columns.kappa > 0 ? static_cast<Limb>(p + 2) : Limb(0);
  resolve<Sign::Minus, LocalCarry::Small, Limb, DIVISION_CHUNK>(
      group, count,
      [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
        const u32 carry = product.read(k, x);
        u32 sum_carry = 0, borrow = 0;
        GPUINT_UNROLL(DIVISION_CHUNK)
        for (u32 i = 0; i < DIVISION_CHUNK; ++i) {
          // The leading 1 of 2V meets the lowest word of Y in column d, the window's last.
          const u32 at = k + i;
          const Limb more = at >= count - WORD && at < count ? y[at - (count - WORD)]
                            : at == WORD                     ? excess
                                                             : Limb(0);
          const Limb sum = add_carry(x[i], more, sum_carry);
          x[i] = sub_borrow(Limb(0), sum, borrow);
        }
        return carry + sum_carry + borrow;
      },
      [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
        GPUINT_UNROLL(DIVISION_CHUNK)
        for (u32 i = 0; i < DIVISION_CHUNK; i += WORD)
          if (k + i < count) store_word(arena.b + k + i, x + i);
      });
  if (group.rank == 0) {
    clear_word(arena.b + count);
    if constexpr (M::PADDED) clear_word(arena.b + count + WORD);
  }
  group.sync();
  const Limb top = arena.b[count - 1];
  GPUINT_ASSERT(small_residual(arena.b + count - WORD),
                "F < 4 beta^d, and nearly 0 where it is negative");
  return top >> (S::LIMB_BITS - 1) == 0;
}

}  // namespace gpuint
