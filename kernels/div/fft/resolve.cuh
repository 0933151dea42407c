// Columns of a product as limbs: carries between the threads of a row.
//
// A thread sums 2 LIMBS columns of 16 bits and, limb by limb, further signed numbers. The rest
// above its limbs, which is less than 2^30 in magnitude, is carried to the next thread. So that it
// is not negative there, every thread passes on 2^30 more, and all but the first start with -2^30.
// Carries of that addition are computed from ballots (core/lookahead.cuh) and from one word of each
// warp.
//
// A sum that is negative or longer than its limbs differs by a multiple of 2^(32 LIMBS THREADS),
// which is returned. If a sum is known modulo 2^(32 P) + 1, from its columns, and modulo 2^32, from
// the lowest limbs of its operands, it is known modulo their product. With the sum S of columns, k
// = (low - S) mod 2^32 as a signed number, S + k (2^(32 P) + 1) is the one number of magnitude
// below about 2^31 (2^(32 P) + 1) with both residues. k is added to column 0 and to the part above.
#pragma once
#include "core/limbs.cuh"
#include "core/lookahead.cuh"
#include "core/math.cuh"

namespace gpuint::fft_division {

template <u32 THREADS, u32 LIMBS>
struct Resolve {
  static constexpr u32 WARPS = THREADS > 32 ? THREADS / 32 : 1;
  static constexpr u32 WIDTH = min_of(THREADS, 32);  // threads of a row in a warp
  static constexpr i64 BIAS = 1ll << 30;
  // Words of shared memory that a resolution uses.
  static constexpr u32 MAX_WARPS = WARPS > 8 ? 16 : 8;
  static constexpr u32 HANDED = 0, FLAGS = MAX_WARPS, MULTIPLE = 2 * MAX_WARPS;
  static constexpr u32 WORDS = MULTIPLE + 1;
  static_assert(WARPS <= MAX_WARPS, "a word of each warp");

  // Place of column j: pairs of columns, spread over the banks for threads that read 2 LIMBS in a
  // row.
  GPUINT_DEVICE static u32 place(u32 j) { return j ^ (j / (2 * LIMBS) % 8) * 2; }

  // Resolves columns and add(i), thread by thread limb i. With WRAPPED, `low` is the lowest limb of
  // the sum, given by the first thread.
  template <bool WRAPPED, class Add>
  GPUINT_DEVICE static i64 run(const i64* columns, u32 thread, u32* words, u32 (&limb)[LIMBS],
                               u32 low, const Add& add) {
    i64 sum = thread == 0 ? 0 : -BIAS;
    i32 k = 0;
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < LIMBS; ++i) {
      const longlong2 pair =
          *reinterpret_cast<const longlong2*>(columns + place(2 * (LIMBS * thread + i)));
      sum += pair.x + pair.y * 65536 + add(i);
      if (WRAPPED && i == 0 && thread == 0) {
        k = static_cast<i32>(low - static_cast<u32>(sum));
        sum += k;
      }
      limb[i] = static_cast<u32>(sum);
      sum >>= 32;
    }
    GPUINT_ASSERT(sum >= -BIAS && sum < BIAS, "what a thread hands on fits the bias");
    if (WRAPPED && WARPS > 1 && thread == 0) words[MULTIPLE] = static_cast<u32>(k);
    const i64 above = resolve_carries(thread, words, limb, static_cast<u32>(sum + BIAS)) - BIAS;
    if constexpr (!WRAPPED) return above;
    return above + (WARPS > 1 ? static_cast<i32>(words[MULTIPLE])
                              : static_cast<i32>(__shfl_sync(~0u, static_cast<u32>(k), 0, WIDTH)));
  }

  // Adds the carry of the thread below to the limbs of a thread; returns the carry of the last
  // thread.
  GPUINT_DEVICE static i64 resolve_carries(u32 thread, u32* words, u32 (&limb)[LIMBS], u32 handed) {
    const u32 lane = thread % WIDTH, warp = thread / 32;
    u32 below = __shfl_up_sync(~0u, handed, 1, WIDTH);
    if constexpr (WARPS > 1) {
      if (lane == 31) words[HANDED + warp] = handed;
      __syncthreads();
      if (lane == 0 && warp > 0) below = words[HANDED + warp - 1];
    }
    if (thread == 0) below = 0;
    u32 carry = 0;
    limb[0] = add_carry<u32>(limb[0], below, carry);
    u32 all = limb[0];
    GPUINT_UNROLL(15)
    for (u32 i = 1; i < LIMBS; ++i) {
      limb[i] = add_carry<u32>(limb[i], 0, carry);
      all &= limb[i];
    }
    const bool generate = carry != 0;
    u32 g = __ballot_sync(~0u, generate), p = __ballot_sync(~0u, !generate && all == ~0u);
    i64 top;
    u32 into = 0;
    if constexpr (WARPS > 1) {
      const u32 out = CarryLookahead(g, p).out_of(32);
      if (lane == 0) words[FLAGS + warp] = out | (p == ~0u ? 2 : 0);
      __syncthreads();
      u32 warps_g = 0, warps_p = 0;
      GPUINT_UNROLL(16)
      for (u32 w = 0; w < WARPS; ++w) {
        const u32 word = words[FLAGS + w];
        warps_g |= (word & 1) << w, warps_p |= (word >> 1) << w;
      }
      const CarryLookahead warps(warps_g, warps_p);
      into = warps.into(warp);
      top = i64(words[HANDED + WARPS - 1]) + warps.out_of(WARPS);
    } else {
      // Groups of lanes with a row each, or one row for all lanes.
      const u32 shift = threadIdx.x % 32 / WIDTH * WIDTH;
      constexpr u32 MASK = static_cast<u32>((1ull << WIDTH) - 1);
      g = g >> shift & MASK, p = p >> shift & MASK;
      top = i64(__shfl_sync(~0u, handed, WIDTH - 1, WIDTH)) + CarryLookahead(g, p).out_of(WIDTH);
    }
    carry = CarryLookahead(g, p, into).into(lane);
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < LIMBS; ++i) limb[i] = add_carry<u32>(limb[i], 0, carry);
    return top;
  }
};

// Adds a number to limb `from` of x, by all threads of a row; longer carries are rare. `word` is a
// word of shared memory. x has `limit` limbs and does not overflow.
template <u32 THREADS, class At>
GPUINT_DEVICE void add_at(u32* x, u32 from, u32 limit, u32 value, u32* word, u32 thread,
                          const At& at) {
  if (thread == 0) {
    const u32 old = x[at(from)];
    x[at(from)] = old + value;
    *word = old + value < value ? limit : from;
  }
  if constexpr (THREADS < 32) {
    // Rows of one warp may diverge.
    if (thread == 0 && *word == limit) {
      GPUINT_RARE(FftCarryRuns);
      for (u32 l = from + 1; ++x[at(l)] == 0; ++l) {
      }
    }
    __syncwarp();
  } else {
    const auto sync = [] {
      if constexpr (THREADS > 32)
        __syncthreads();
      else
        __syncwarp();
    };
    sync();
    const bool carries = *word == limit;
    sync();
    if (!carries) return;
    // The carry ends at the first limb that is not all ones.
    if (thread == 0) GPUINT_RARE(FftCarryRuns);
    for (u32 l = from + 1 + thread; l < limit; l += THREADS)
      if (x[at(l)] != ~0u) {
        atomicMin(word, l);
        break;
      }
    sync();
    const u32 end = *word;
    GPUINT_ASSERT(end < limit, "a carry ends within its number");
    for (u32 l = from + 1 + thread; l < end; l += THREADS) x[at(l)] = 0;
    if (thread == 0) ++x[at(end)];
    sync();
  }
}

}  // namespace gpuint::fft_division
