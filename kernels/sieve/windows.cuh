// Windows above rows n: which of the numbers n + start + 2 i, for i below BITS, have small factors.
// A warp has a row, and its window in shared memory.
//
// A lane finds the residue of n modulo a product of primes, n R^-limbs (field.cuh), and modulo each
// of them by the factor R^limbs. All numbers exceed the primes, so that a prime never strikes
// itself.
#pragma once
#include "core/abi.cuh"
#include "sieve/field.cuh"
#include "tuning/sieve.cuh"

namespace gpuint::sieve {

// src/backend/sieve.rs has the Rust version.
struct WindowSieving {
  const u32* rows;
  const u32* moduli;  // products of odd primes below 2^16
  const u32* ends;    // of each product, the number of primes in it and in those before
  const u32* primes;
  const u32* powers;  // R^limbs modulo each prime
  const u64* starts;  // of each row
  u32* words;         // of each row, BITS bits: set for numbers with a factor
  u64 count;
  u32 limbs;
  u32 moduli_count;
};

// Work: rows.
struct Windows {
  using Arguments = WindowSieving;
  static constexpr u32 BITS = SievePolicy::WINDOW_BITS, WORDS = BITS / 32;
  static constexpr u32 SCRATCH = 0, PERSISTENT = 0, THREADS = SievePolicy::THREADS;
  static constexpr u32 ROWS = THREADS / 32, SHARED = ROWS * BITS / 8, MIN_BLOCKS = 1;
  static_assert(WORDS <= 32, "a lane has a word");

  GPUINT_DEVICE static void run(const WindowSieving& o, unsigned char* shared) {
    const u64 row = u64{blockIdx.x} * ROWS + threadIdx.x / 32;
    if (row >= o.count) return;
    const u32 lane = threadIdx.x % 32;
    u32* const window = reinterpret_cast<u32*>(shared) + threadIdx.x / 32 * WORDS;
    if (lane < WORDS) window[lane] = 0;
    __syncwarp();
    const u32* const limbs = o.rows + row * o.limbs;
    const u64 start = __ldg(o.starts + row);
    for (u32 place = lane; place < o.moduli_count; place += 32) {
      const PrimeField field(__ldg(o.moduli + place));
      const u32 scaled = field.scaled_residue(limbs, o.limbs), end = __ldg(o.ends + place);
      for (u32 j = place == 0 ? 0 : __ldg(o.ends + place - 1); j < end; ++j) {
        const u32 prime = __ldg(o.primes + j);
        // Products of numbers below 2^16.
        const u32 residue = scaled % prime * __ldg(o.powers + j) % prime;
        const u32 over = (residue + static_cast<u32>(start % prime)) % prime;
        u32 distance = over == 0 ? 0 : prime - over;
        if (distance % 2 == 1) distance += prime;
        for (u32 hit = distance / 2; hit < BITS; hit += prime)
          atomicOr(window + hit / 32, 1u << (hit % 32));
      }
    }
    __syncwarp();
    if (lane < WORDS) o.words[row * WORDS + lane] = window[lane];
  }
};

}  // namespace gpuint::sieve
