// Families of numbers n_i = first + i step, for indices i from 0 to `bits` - 1, and the arguments
// of kernels that strike indices.
//
// A prime p that does not divide the step divides the n_i with i = -first / step modulo p: its root
// and the multiples of p after it. An index is struck if a prime divides a number there of any
// family, unless that number is the prime itself.
#pragma once
#include "core/platform.cuh"
#include "tuning/sieve.cuh"

namespace gpuint::sieve {

// Root of a prime that divides no number, or all of them. It is above all residues: the largest
// prime below 2^32 is 2^32 - 5.
constexpr u32 NO_ROOT = ~0u;

// src/backend/sieve.rs has the Rust version.
struct Family {
  // The numbers below 2^32, which may be primes of the sieve: `small_count` of them from index
  // `small_first` on, and the first one.
  i64 small_value, step;  // the step if there are several
  u32 small_first, small_count;
  u32 is_opposite;  // 1 if the signs of first and step differ
  u32 padding;

  GPUINT_DEVICE bool is_own(u32 index, u32 prime) const {
    const u32 place = index - small_first;
    return place < small_count && small_value + static_cast<i64>(place) * step == i64{prime};
  }
};

// src/backend/sieve.rs has the Rust version.
struct Sieving {
  const u32* primes;  // odd primes in ascending order
  u32* roots;         // of each family, one for each prime
  const u32* limbs;   // of each family, the absolute values of first and step
  const Family* families;
  u32* common;  // of each family, the least prime that divides all numbers; initially all ones
  u32* words;   // bit i is cleared if index i is struck
  u32 primes_count, families_count;
  u32 length;  // limbs of a number
  u32 bits;    // at most 2^31
  // Number of primes below 32, SievePolicy::WARP_LIMIT and SievePolicy::SEGMENT_BITS.
  u32 tiny, of_warps, of_segments;
  u32 padding;
};

struct SieveKernel {
  using Arguments = Sieving;
  static constexpr u32 SCRATCH = 0, PERSISTENT = 0, THREADS = SievePolicy::THREADS;
};

}  // namespace gpuint::sieve
