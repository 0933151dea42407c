// Parts of a division by blocks that one transform and several pieces share.
#pragma once
#include "core/limbs.cuh"
#include "div/fft/plan.cuh"

namespace gpuint::fft_division {

// Stores an estimate of 8 limbs a thread, `high` above them, at limb 0 of a block of `LENGTH` limbs
// and two above. A negative estimate is a quotient of 0.
template <u32 LENGTH>
GPUINT_DEVICE void store_estimate(u32* block, u32 thread, i64 high, u32 (&limb)[8]) {
  if (high < 0) {
    if (thread == 0) GPUINT_RARE(FftNoQuotient);
    high = 0;
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < 8; ++i) limb[i] = 0;
  }
  GPUINT_UNROLL(2)
  for (u32 i = 0; i < 8; i += WORD) store_word(block + limb_at(8 * thread + i), limb + i);
  if (thread == 0) {
    block[limb_at(LENGTH)] = static_cast<u32>(high);
    block[limb_at(LENGTH + 1)] = static_cast<u32>(high >> 32);
  }
}

// Writes a row of `LIMBS` limbs: the number of `length` limbs rest(l), shifted down by `distance`
// bits.
template <u32 LIMBS, u32 THREADS, class Rest>
GPUINT_DEVICE void write_shifted(u32* row, u32 thread, u32 distance, u32 length, const Rest& rest) {
  const u32 limbs = distance / 32, bits = distance % 32;
  for (u32 l = WORD * thread; l < LIMBS; l += WORD * THREADS) {
    u32 word[WORD];
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < WORD; ++i) {
      const u32 at = l + i + limbs;
      word[i] =
          __funnelshift_r(at < length ? rest(at) : 0, at + 1 < length ? rest(at + 1) : 0, bits);
    }
    store_word(row + l, word);
  }
}

}  // namespace gpuint::fft_division
