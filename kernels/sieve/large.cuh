// Strikes by primes above the length of a segment: a thread for each prime clears bits in device
// memory. N indices have N log(log b / log a) hits of primes from a to b (F. Mertens 1874): 0.58 N
// for a = 2^18 and b = 2^32.
#pragma once
#include "core/abi.cuh"
#include "sieve/family.cuh"

namespace gpuint::sieve {

// Work: primes from `of_segments` on.
struct Large : SieveKernel {
  static constexpr u32 SHARED = 0, MIN_BLOCKS = 1, ROWS = THREADS;

  GPUINT_DEVICE static void run(const Sieving& o, unsigned char*) {
    const u32 place = o.of_segments + blockIdx.x * THREADS + threadIdx.x;
    if (place >= o.primes_count) return;
    const u32 prime = __ldg(o.primes + place);
    for (u32 f = 0; f < o.families_count; ++f) {
      const u32 root = o.roots[u64{f} * o.primes_count + place];
      // Most primes have no hit. NO_ROOT is above all indices.
      for (u64 hit = root; hit < o.bits; hit += prime) {
        const u32 index = static_cast<u32>(hit);
        if (!o.families[f].is_own(index, prime))
          atomicAnd(o.words + index / 32, ~(1u << (index % 32)));
      }
    }
  }
};

}  // namespace gpuint::sieve
