// Step: one Newton step of the reciprocal, from p words to `next` <= 2p - 1.
//
//     Y' = Y beta^(next-p) + floor(Y * F * beta^-..),   F = beta^(p+d) - 2V' Y  from powdiff.cuh.
//
// Theorem. Let y = beta^n / (2V) and 0 < eta = beta^p y - Y < e with e <= 3 (2 <= p, next <= 2p -
// 1). Then
//     0 < beta^next y - Y' < 1 + (K + m + 2 e^2) / beta,   K = p + 2, m <= next + 4.
// Proof. With x = Y / beta^p the exact step gives x + x (1 - 2 nu x) = y - 2 nu (y - x)^2 < y, an
// underestimate; every truncation goes down: F is at most its true value, columns below the cut are
// dropped, the result is floored. Losses in units of the last place: (y - x)^2 costs at most 2 e^2
// beta^(next-2p) <= 2 e^2 / beta; F's excess, K beta^(kappa+1) of beta^(p+d), costs K / beta as
// kappa = p + d - next - 2 where columns are dropped (and is 0 where none are); the dropped columns
// of the correction product less than m beta^(cut+1), with two guard words m / beta; the floor less
// than 1. QED. So after the first step e < 1 + 2^-40 for every length in use, and the reciprocal
// never needs a correction or a sign.
#pragma once
#include "core/carry.cuh"
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "div/powdiff.cuh"

namespace gpuint {

template <class S, class M, class Arena, class G>
GPUINT_DEVICE void step(G& group, const Arena& arena, const NormalizedDivisor<S>& divisor, u32 p,
                        u32 next) {
  using Limb = typename S::Limb;
  GPUINT_ASSERT(2 <= p && p < next && next <= 2 * p - 1, "a step at most doubles the reciprocal");
  const StepColumns columns(divisor.words, p, next);
  const bool residual = powdiff<S, M>(group, arena, divisor, p, columns);
  Limb* const refined = arena.y_end - next * WORD;
  const u32 fresh = (next - p) * WORD;  // limbs that Y gains below
  if (!residual) {
    if (group.rank == 0) GPUINT_RARE(NoResidual);
    for (u32 k = group.rank * WORD; k < fresh; k += G::THREADS * WORD) clear_word(refined + k);
    arena.bring_reciprocal(group, next);
    group.sync();
    return;
  }
  const auto product =
      M::template multiply<Limb>(group,
                                 {arena.y_end - p * WORD, p * WORD, arena.b, columns.window * WORD,
                                  columns.cut * WORD, (p + columns.window) * WORD},
                                 arena.out, arena.overflow, Arena::OVERFLOW, arena.scratch);
  group.sync();
  // The two guard words only carry into the result.
  constexpr u32 GUARD = 2 * WORD;
  const u32 count = next * WORD + GUARD;
  resolve<Sign::Plus, LocalCarry::Small, Limb, DIVISION_CHUNK>(
      group, count,
      [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
        u32 carry = product.read(k, x), sum_carry = 0;
        GPUINT_UNROLL(DIVISION_CHUNK)
        for (u32 i = 0; i < DIVISION_CHUNK; i += WORD) {
          Limb old[WORD] = {};
          if (k + i >= fresh + GUARD && k + i < count) load_word(refined + (k + i - GUARD), old);
          GPUINT_UNROLL(4)
          for (u32 j = 0; j < WORD; ++j) x[i + j] = add_carry(x[i + j], old[j], sum_carry);
        }
        return carry + sum_carry;
      },
      [&](u32 k, Limb(&x)[DIVISION_CHUNK]) {
        GPUINT_UNROLL(DIVISION_CHUNK)
        for (u32 i = 0; i < DIVISION_CHUNK; i += WORD)
          if (k + i >= GUARD && k + i < count) store_word(refined + (k + i - GUARD), x + i);
      });
  arena.bring_reciprocal(group, next);
  group.sync();
}

}  // namespace gpuint
