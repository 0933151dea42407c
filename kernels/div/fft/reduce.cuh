// The limbs of quotient outside the blocks: those above, and the rest after the last block.
//
// A window W of a remainder, `length` limbs and one above, is reduced below V: the quotient's limb
// is floor(W / V) < 2^32. A ratio of the top limbs as doubles is right to 7 roundings, less than
// 1e-15 of it. So floor(ratio (1 - 1e-15)) is never too large, and a second pass computes the rest,
// if there may be any. If the ratio is 1 within 1e-15, limbs are compared.
#pragma once
#include "div/fft/resolve.cuh"

namespace gpuint::fft_division {

// rest(l) is a place, divisor(l) a value. Needs the words of Resolve and one more, and all threads
// of the block.
template <u32 THREADS, u32 LIMBS>
struct Reduce {
  using R = Resolve<THREADS, LIMBS>;
  static constexpr u32 FOUND = R::WORDS;

  // Returns the limb of quotient.
  template <class Rest, class Divisor>
  GPUINT_DEVICE static u32 run(u32 thread, u32* words, u32 length, const Rest& rest,
                               const Divisor& divisor) {
    constexpr double BASE = 4294967296.0, SLACK = 1e-15;
    u32 times = 0;
    GPUINT_UNROLL(1)
    while (true) {
      sync();
      const double above = rest(length);
      const double ratio =
          ((above * BASE + rest(length - 1)) * BASE + rest(length - 2) + rest(length - 3) / BASE) /
          (divisor(length - 1) * BASE + divisor(length - 2) + divisor(length - 3) / BASE);
      u32 estimate = static_cast<u32>(fmin(ratio * (1 - SLACK), BASE - 1));
      if (estimate == 0) {
        if (ratio < 1 - SLACK || is_less(thread, words, length, rest, divisor)) break;
        estimate = 1;
      }
      const u32 borrow = subtract(thread, words, length, estimate, rest, divisor);
      sync();
      if (thread == 0) rest(length) -= borrow;
      times += estimate;
      // A small ratio is right to 1e-9, and so is the new one.
      if (ratio < 1e6 && ratio - estimate < 1 - 1e-9) break;
    }
    sync();
    return times;
  }

 private:
  GPUINT_DEVICE static void sync() {
    if constexpr (THREADS > 32)
      __syncthreads();
    else
      __syncwarp();
  }

  // W < V, by the highest limb that differs. The limb above W is 0 where the ratio is near 1.
  template <class Rest, class Divisor>
  GPUINT_DEVICE static bool is_less(u32 thread, u32* words, u32 length, const Rest& rest,
                                    const Divisor& divisor) {
    if (thread == 0) {
      words[FOUND] = 0;
      GPUINT_RARE(FftCompared);
    }
    sync();
    if (rest(length) != 0) return false;
    for (i32 l = i32(length + thread) - i32(THREADS); l >= 0; l -= THREADS)
      if (rest(l) != divisor(l)) {
        atomicMax(words + FOUND, static_cast<u32>(l) + 1);
        break;
      }
    sync();
    const u32 found = words[FOUND];
    return found != 0 && rest(found - 1) < divisor(found - 1);
  }

  // Subtracts times V from W, except in the limb above; returns the amount to subtract from that.
  // The subtraction adds to the complement.
  template <class Rest, class Divisor>
  GPUINT_DEVICE static u32 subtract(u32 thread, u32* words, u32 length, u32 times, const Rest& rest,
                                    const Divisor& divisor) {
    u32 out = 0;
    GPUINT_UNROLL(1)
    for (u32 first = 0; first < length; first += LIMBS * THREADS) {
      u32 limb[LIMBS];
      u64 less = thread == 0 ? out : 0;
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < LIMBS; ++i) {
        const u32 l = first + LIMBS * thread + i, old = rest(l);
        less += u64(times) * divisor(l);
        limb[i] = ~(old - static_cast<u32>(less));
        less = (less >> 32) + (old < static_cast<u32>(less));
      }
      sync();
      out = static_cast<u32>(R::resolve_carries(thread, words, limb, static_cast<u32>(less)));
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < LIMBS; ++i) rest(first + LIMBS * thread + i) = ~limb[i];
    }
    return out;
  }
};

}  // namespace gpuint::fft_division
