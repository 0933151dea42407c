// Carry resolution over a group: the part of an addition, subtraction or product that combines the
// threads' chunks into one number.
//
// Each thread holds a chunk of consecutive limbs and the carry out of its own sum. A carry
// lookahead (lookahead.cuh) over the threads' generate and propagate bits resolves a warp. A second
// one over the warps' own bits resolves a block, with a single barrier. Borrows are the same with
// "all zero" instead of "all ones".
//
// Sums of more than two numbers carry up to 3 out of a chunk. That carry is first added to the next
// chunk, whose new carry is again 0 or 1. A chunk that overflowed by adding at most 3 is at most 2,
// hence never all ones, so no chunk both generates and propagates.
#pragma once
#include "core/limbs.cuh"
#include "core/lookahead.cuh"

namespace gpuint {

struct Carries {
  u32 in;    // carry into this thread's chunk, 0 or 1
  u32 out;   // carry out of the group's last chunk, 0 or 1
  u32 tail;  // `tail` of the last thread
};

// Carries of one round of chunks, one per thread. `tail` of the group's last thread reaches all
// threads.
template <class G>
GPUINT_DEVICE Carries resolve_carries(G& group, bool generate, bool propagate, u32 carry_in,
                                      u32 tail) {
  GPUINT_ASSERT(!generate || !propagate, "a chunk that generates a carry does not hand one on");
  GPUINT_ASSERT(carry_in <= 1, "a carry between rounds is 0 or 1");
  const u32 g = group.vote(generate);
  const u32 p = group.vote(propagate);
  if constexpr (G::IN_WARP) {
    const CarryLookahead lanes(g, p, carry_in);
    if (carry_in != 0 && group.rank == 0) GPUINT_RARE(CarryIntoRound);
    if (carry_in != 0 && p == group.mask >> (group.lane - group.rank) && group.rank == 0)
      GPUINT_RARE(CarryThroughWarp);
    tail = __shfl_sync(group.mask, tail, G::THREADS - 1, G::THREADS);
    return {static_cast<u32>(lanes.into() >> group.rank) & 1, lanes.out_of(G::THREADS) & 1, tail};
  } else {
    const u32 generates = CarryLookahead(g, p).out_of(32);
    const u32 last_tail = __shfl_sync(~0u, tail, 31);
    const u32 word = group.gather(generates | (p == ~0u ? 2u : 0u) | last_tail << 2);
    const u32 warp_g = __ballot_sync(~0u, word & 1);
    const u32 warp_p = __ballot_sync(~0u, word & 2);
    const CarryLookahead warps(warp_g, warp_p, carry_in);
    const u32 into_warp = static_cast<u32>(warps.into() >> (threadIdx.x / 32)) & 1;
    if (carry_in != 0 && group.rank == 0) GPUINT_RARE(CarryIntoRound);
    if (into_warp != 0 && p == ~0u && group.lane == 0) GPUINT_RARE(CarryThroughWarp);
    return {static_cast<u32>(CarryLookahead(g, p, into_warp).into() >> group.lane) & 1,
            warps.out_of(G::WARPS) & 1, __shfl_sync(~0u, word, G::WARPS - 1) >> 2};
  }
}

// Carry out of a chunk by itself: 0 or 1 (Binary), or up to 3 (Small).
enum class LocalCarry { Binary, Small };

// Adds the carry to x, or subtracts it; returns the carry out.
template <Sign SIGN, class Limb, u32 CHUNK>
GPUINT_DEVICE u32 apply_carry(Limb (&x)[CHUNK], u32 carry) {
  GPUINT_UNROLL(CHUNK)
  for (u32 i = 0; i < CHUNK; ++i) {
    if constexpr (SIGN == Sign::Plus)
      x[i] = add_carry<Limb>(x[i], 0, carry);
    else {
      const u32 taken = carry;
      carry = x[i] < taken;
      x[i] = static_cast<Limb>(x[i] - taken);
    }
  }
  return carry;
}

// Computes a number of `count` limbs and stores it, chunk by chunk:
//   local(k, x)  sets x to limbs k .. k + CHUNK before carries and returns what they carry (or
//   borrow) out of the chunk;
//                called for k < count only, possibly for one chunk by two threads;
//   store(k, x)  receives the final limbs; it may overwrite what local reads of the same chunk.
// Returns the carry out of the number rounded up to whole chunks (with Sign::Minus: whether it is
// negative). There is no barrier before the first read or after the last store; callers
// synchronize.
template <Sign SIGN, LocalCarry C, class Limb, u32 CHUNK, class G, class Local, class Store>
GPUINT_DEVICE u32 resolve(G& group, u32 count, Local local, Store store) {
  Carries carries{0, 0, 0};
  for (u32 base = 0; base < count; base += G::THREADS * CHUNK) {
    const u32 k = base + group.rank * CHUNK;
    // Threads beyond the number propagate a carry, so that it reaches the top.
    constexpr Limb PROPAGATING = SIGN == Sign::Plus ? Limb(~Limb(0)) : Limb(0);
    Limb x[CHUNK];
    GPUINT_UNROLL(CHUNK)
    for (u32 i = 0; i < CHUNK; ++i) x[i] = PROPAGATING;
    const u32 carry = k < count ? local(k, x) : 0;
    GPUINT_ASSERT(carry <= (C == LocalCarry::Small ? 3u : 1u),
                  "what a chunk carries out by itself");
    bool generate = carry != 0;
    if constexpr (C == LocalCarry::Small) {
      u32 below = group.from_below(carry);
      if (group.rank == 0) {
        below = carries.tail;
      } else if (!G::IN_WARP && group.lane == 0) {
        // The chunk below belongs to another warp; computing it again is cheaper than an exchange.
        Limb y[CHUNK];
        below = k - CHUNK < count ? local(k - CHUNK, y) : 0;
      }
      generate = apply_carry<SIGN>(x, below) != 0;
    }
    Limb all = x[0];
    GPUINT_UNROLL(CHUNK)
    for (u32 i = 1; i < CHUNK; ++i) all = SIGN == Sign::Plus ? Limb(all & x[i]) : Limb(all | x[i]);
    const bool propagate = !generate && all == PROPAGATING;
    carries = resolve_carries(group, generate, propagate, carries.out,
                              C == LocalCarry::Small ? carry : 0);
    apply_carry<SIGN>(x, carries.in);
    if (k < count) store(k, x);
  }
  return carries.out | (C == LocalCarry::Small && carries.tail != 0 ? 1u : 0u);
}

}  // namespace gpuint
