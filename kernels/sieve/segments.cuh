// Strikes by primes below the length of a segment: a block for each segment, whose table is in
// shared memory.
//
// The number of hits of a prime p in a segment of N indices is N / p. Primes below 32 are patterns
// of a word: with the first hit of a word at o < p, the word is (1 + 2^p + 4^p + ...) 2^o. The
// threads of a warp share a prime below WARP_LIMIT, and a thread has larger ones of its own.
#pragma once
#include "core/abi.cuh"
#include "sieve/family.cuh"

namespace gpuint::sieve {

// Work: indices.
struct Segments : SieveKernel {
  static constexpr u32 BITS = SievePolicy::SEGMENT_BITS, WORDS = BITS / 32;
  static constexpr u32 SHARED = BITS / 8, MIN_BLOCKS = 6, ROWS = BITS;

  GPUINT_DEVICE static void run(const Sieving& o, unsigned char* shared) {
    u32* const table = reinterpret_cast<u32*>(shared);
    const u32 base = blockIdx.x * BITS, length = min(BITS, o.bits - base);
    for (u32 w = threadIdx.x; w < WORDS; w += THREADS) table[w] = 0;
    for (u32 f = 0; f < o.families_count; ++f)
      if (!has_small(o, f)) strike_patterns(o, f, base, table);
    __syncthreads();
    for (u32 f = 0; f < o.families_count; ++f) {
      const Family family = o.families[f];
      const u32* const roots = o.roots + u64{f} * o.primes_count;
      const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
      const u32 first = has_small(o, f) ? 0 : o.tiny;
      for (u32 j = first + warp; j < o.of_warps; j += THREADS / 32) {
        const u32 prime = __ldg(o.primes + j), root = roots[j];
        if (root != NO_ROOT)
          strike(family, table, prime, base, first_hit(root, prime, base) + lane * prime,
                 32 * prime, length);
      }
      for (u32 j = o.of_warps + threadIdx.x; j < o.of_segments; j += THREADS) {
        const u32 prime = __ldg(o.primes + j), root = roots[j];
        if (root != NO_ROOT)
          strike(family, table, prime, base, first_hit(root, prime, base), prime, length);
      }
    }
    __syncthreads();
    for (u32 w = threadIdx.x; 32 * w < length; w += THREADS) o.words[base / 32 + w] &= ~table[w];
  }

 private:
  // True if numbers of the family may be primes of the sieve.
  GPUINT_DEVICE static bool has_small(const Sieving& o, u32 f) {
    return __ldg(&o.families[f].small_count) != 0;
  }

  // Distance of the first hit from `base` on.
  GPUINT_DEVICE static u32 first_hit(u32 root, u32 prime, u32 base) {
    const u32 over = base % prime;
    return root >= over ? root - over : root + (prime - over);
  }

  // A thread has the words that it has cleared.
  GPUINT_DEVICE static void strike_patterns(const Sieving& o, u32 f, u32 base, u32* table) {
    for (u32 j = 0; j < o.tiny; ++j) {
      const u32 prime = __ldg(o.primes + j), root = o.roots[u64{f} * o.primes_count + j];
      if (root == NO_ROOT) continue;
      u32 pattern = 0;
      for (u32 bit = 0; bit < 32; bit += prime) pattern |= 1u << bit;
      u32 hit = first_hit(root, prime, base + 32 * threadIdx.x);
      const u32 step = 32 * THREADS % prime;
      for (u32 w = threadIdx.x; w < WORDS; w += THREADS) {
        table[w] |= pattern << hit;
        hit = hit >= step ? hit - step : hit + (prime - step);
      }
    }
  }

  GPUINT_DEVICE static void strike(const Family& family, u32* table, u32 prime, u32 base, u32 hit,
                                   u32 stride, u32 length) {
    for (; hit < length; hit += stride)
      if (!family.is_own(base + hit, prime)) atomicOr(table + hit / 32, 1u << (hit % 32));
  }
};

}  // namespace gpuint::sieve
