// Refine: the reciprocal of the divisor to P words, by doubling (the paper's Refine; its Shinv
// without the final shift).
//
// Contract: Y with 0 < beta^P beta^n / (2V) - Y < 2, a strict underestimate, for every V and every
// P >= 2.
//
// Lengths are chosen from the top, p = ceil((P + 1) / 2) each time, so that no step computes words
// that the next discards: with r = p - 1 the sequence is r, ceil(r / 2), ..., 1. Cost: about 3/2
// p^2 word products a step, P^2 / 2 in total.
//
// The seed of two words is Y = floor(beta^4 / (2 (D + 1))), D the top two words of V, by schoolbook
// division in one thread. V < (D + 1) beta^(n-2) makes it a strict underestimate; beta^4 / 2 * (1/D
// - 1/(D+1)) <= 2 and the floor bound eta by 3. With this seed the paper's special cases (v < B, v
// > B^h, 2v > B^h, v = B^k) need no treatment.
#pragma once
#include "core/digits.cuh"
#include "core/frame.cuh"
#include "core/limbs.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"
#include "div/step.cuh"

namespace gpuint {

// Two words of Y at arena.y_end - 2 words. For one thread.
template <class S, class Arena>
GPUINT_DEVICE void seed_reciprocal(const Arena& arena, const NormalizedDivisor<S>& divisor) {
  using Limb = typename S::Limb;
  using Wide = typename LimbTraits<Limb>::Wide;
  constexpr u32 LENGTH = 2 * WORD;
  constexpr Limb HALF = Limb(Limb(1) << (S::LIMB_BITS - 1));
  Limb* const y = arena.y_end - LENGTH;

  Limb* const e =
      arena.b;  // D + 1; in shared memory, to leave registers to the kernels of 1024 threads
  u32 carry = 1;
  const i32 from = static_cast<i32>(divisor.words * WORD) - static_cast<i32>(LENGTH);
  const auto limb = [&](i32 i) { return i >= 0 ? arena.v[i] : Limb(0); };
  GPUINT_UNROLL(8)
  for (u32 i = 0; i < LENGTH; ++i)
    e[i] = add_carry(shifted_limb<Limb>(limb, from + static_cast<i32>(i), divisor.to_normal()),
                     Limb(0), carry);
  if (carry != 0) {  // D + 1 = beta^2
    GPUINT_RARE(SeedOfOnes);
    for (u32 i = 0; i < LENGTH; ++i) y[i] = i + 1 == LENGTH ? HALF : Limb(0);
    return;
  }

  Limb r[LENGTH + 1] = {};  // remainder, below e before each digit; starts as beta^2 / 2
  r[LENGTH - 1] = HALF;
  GPUINT_UNROLL(1)
  for (u32 digit = LENGTH; digit-- > 0;) {
    GPUINT_UNROLL(8)
    for (u32 i = LENGTH; i > 0; --i) r[i] = r[i - 1];
    r[0] = 0;
    const Wide top = Wide(r[LENGTH]) << S::LIMB_BITS | r[LENGTH - 1];
    Limb q = r[LENGTH] >= e[LENGTH - 1] ? Limb(~Limb(0)) : static_cast<Limb>(top / e[LENGTH - 1]);
    if (r[LENGTH] >= e[LENGTH - 1]) GPUINT_RARE(SeedDigitOfOnes);
    [[maybe_unused]] const Limb estimated = q;
    Wide product = 0;
    u32 borrow = 0;
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < LENGTH; ++i) {
      product += Wide(q) * e[i];
      r[i] = sub_borrow(r[i], static_cast<Limb>(product), borrow);
      product >>= S::LIMB_BITS;
    }
    r[LENGTH] = sub_borrow(r[LENGTH], static_cast<Limb>(product), borrow);
    while (borrow != 0) {  // q was too large, by 2 at most: add back
      --q;
      carry = 0;
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < LENGTH; ++i) r[i] = add_carry(r[i], e[i], carry);
      r[LENGTH] = add_carry(r[LENGTH], Limb(0), carry);
      if (carry != 0) borrow = 0;
    }
    GPUINT_ASSERT(estimated - q <= 2, "an estimated digit is too large by 2 at most");
    if (estimated - q == 2) GPUINT_RARE(SeedSecondAddBack);
    y[digit] = q;
  }
}

// Y of `precision` >= 2 words below arena.y_end. The divisor must be visible to all threads.
template <class S, class M, class Arena, class G>
GPUINT_DEVICE void refine(G& group, const Arena& arena, const NormalizedDivisor<S>& divisor,
                          u32 precision) {
  if (group.rank == 0) seed_reciprocal<S>(arena, divisor);
  arena.bring_reciprocal(group, 2);
  group.sync();
  u32 halvings = 0;
  while (((precision - 2) >> halvings) != 0) ++halvings;
  for (u32 p = 2; halvings-- > 0;) {
    const u32 next = ((precision - 2) >> halvings) + 2;  // 1 + ceil((precision - 1) / 2^halvings)
    step<S, M>(group, arena, divisor, p, next);
    p = next;
  }
}

// The frame of a kernel of whole reciprocals: runs work(group, row, arena, bits) for every row,
// with the divisor in the arena and its length.
template <class Policy>
struct InverseFrame : Frame<typename Policy::Rows, InverseArena<Policy>::BYTES> {
  using S = typename Policy::Rows;
  using Limb = typename S::Limb;
  using Arena = InverseArena<Policy>;
  using Base = Frame<S, Arena::BYTES>;
  using G = typename Base::G;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(Policy::REGISTERS, Base::THREADS);

  template <class Work>
  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared, Work work) {
    Base::run(o, shared, [&](G& group, u64 row, unsigned char* bytes) {
      const Arena arena(group, bytes);
      const u32 bits = group.max(copy_in<S>(group, input_row<S>(o, 0, row), arena.v));
      group.sync();
      work(group, row, arena, bits);
    });
  }
};

}  // namespace gpuint
