// Small factors of rows n, and of 2 n + 1: a warp for each row.
//
// A lane divides the row by a product of primes below 2^32, and its remainder by the primes. The
// residue is r = n R^-limbs modulo the product (field.cuh), zero where n is. A prime p divides
// 2 n + 1 if 2 r + R^-limbs is zero: with r and R^-limbs below p, if the sum is p or 2 p. A row
// with a factor ends after the products that the lanes of its warp have taken.
#pragma once
#include "core/abi.cuh"
#include "sieve/field.cuh"
#include "tuning/sieve.cuh"

namespace gpuint::sieve {

// src/backend/sieve.rs has the Rust version.
struct RowSieving {
  const u32* rows;
  const u32* moduli;  // products of odd primes
  const u32* ends;    // of each product, the number of primes in it and in those before
  const u32* primes;
  const u32* scales;  // R^-limbs modulo each prime
  u32* mask;          // one bit a row, zero at first: set if there is a factor
  u64 count;
  u32 limbs;
  u32 moduli_count;
  u32 is_joint;  // 1: 2 n + 1 has no factor either
  u32 padding;
};

// Work: rows.
struct Rows {
  using Arguments = RowSieving;
  static constexpr u32 SCRATCH = 0, PERSISTENT = 0, THREADS = SievePolicy::THREADS;
  static constexpr u32 SHARED = 0, MIN_BLOCKS = 1, ROWS = THREADS / 32;

  GPUINT_DEVICE static void run(const RowSieving& o, unsigned char*) {
    const u64 row = u64{blockIdx.x} * ROWS + threadIdx.x / 32;
    if (row >= o.count) return;
    const u32 lane = threadIdx.x % 32;
    const u32* const limbs = o.rows + row * o.limbs;
    // 2 n + 1 is odd.
    bool has_factor = (__ldg(limbs) & 1) == 0 && !is_number(o, limbs, 2);
    has_factor = __any_sync(~0u, has_factor) != 0;
    for (u32 first = 0; first < o.moduli_count && !has_factor; first += 32) {
      const u32 place = first + lane;
      if (place < o.moduli_count) has_factor = divides(o, limbs, place);
      has_factor = __any_sync(~0u, has_factor) != 0;
    }
    if (has_factor && lane == 0) set_mask(o.mask, row);
  }

 private:
  // True if a prime of a product divides one of the numbers, and is not the number.
  GPUINT_DEVICE static bool divides(const RowSieving& o, const u32* limbs, u32 place) {
    const PrimeField field(__ldg(o.moduli + place));
    const u32 residue = field.scaled_residue(limbs, o.limbs);
    const u32 end = __ldg(o.ends + place);
    for (u32 j = place == 0 ? 0 : __ldg(o.ends + place - 1); j < end; ++j) {
      const u32 prime = __ldg(o.primes + j), rest = residue % prime;
      if (rest == 0 && !is_number(o, limbs, prime)) return true;
      if (o.is_joint != 0) {
        const u64 sum = u64{2} * rest + __ldg(o.scales + j);
        if ((sum == prime || sum == u64{2} * prime) && !is_number(o, limbs, prime / 2)) return true;
      }
    }
    return false;
  }

  // True if the row has this value.
  GPUINT_DEVICE static bool is_number(const RowSieving& o, const u32* limbs, u32 value) {
    if (__ldg(limbs) != value) return false;
    for (u32 k = 1; k < o.limbs; ++k)
      if (__ldg(limbs + k) != 0) return false;
    return true;
  }
};

}  // namespace gpuint::sieve
