// Roots of all primes: a thread for each prime.
//
// Residues of first and step are both scaled by R^-length (field.cuh), which cancels in the
// quotient. The inverse takes at most 62 products, the residues one reduction a limb each.
#pragma once
#include "core/abi.cuh"
#include "sieve/family.cuh"
#include "sieve/field.cuh"

namespace gpuint::sieve {

// Work: primes.
struct Roots : SieveKernel {
  static constexpr u32 SHARED = 0, MIN_BLOCKS = 1, ROWS = THREADS;

  GPUINT_DEVICE static void run(const Sieving& o, unsigned char*) {
    const u32 place = blockIdx.x * THREADS + threadIdx.x;
    if (place >= o.primes_count) return;
    const PrimeField field(__ldg(o.primes + place));
    for (u32 f = 0; f < o.families_count; ++f) {
      const u32* const limbs = o.limbs + u64{2} * f * o.length;
      const u32 first = field.scaled_residue(limbs, o.length);
      const u32 step = field.scaled_residue(limbs + o.length, o.length);
      u32 root = NO_ROOT;
      if (step != 0) {
        root = field.quotient(first, step);
        if (__ldg(&o.families[f].is_opposite) == 0 && root != 0) root = field.p - root;
      } else if (first == 0) {
        atomicMin(o.common + f, field.p);
      }
      o.roots[u64{f} * o.primes_count + place] = root;
    }
  }
};

}  // namespace gpuint::sieve
