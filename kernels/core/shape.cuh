// The shape of a kernel: the width of its rows, their digits, and how many threads share a row.
#pragma once
#include "core/digits.cuh"
#include "core/math.cuh"

namespace gpuint {

// BITS bits in digits of type Digit_, Q_ of them per thread; BLOCK is the target number of threads
// of a block for instances that need fewer.
template <class Digit_, u32 BITS_, u32 Q_, u32 BLOCK = 128>
struct Shape {
  using Digit = Digit_;
  using Limb = typename DigitTraits<Digit>::Limb;
  static constexpr u32 BITS = BITS_;
  static constexpr u32 Q = Q_;
  static constexpr u32 LIMB_BITS = LimbTraits<Limb>::BITS;
  static constexpr u32 N = BITS / LIMB_BITS;       // limbs of an instance
  static constexpr u32 WORDS = ceil_div(N, WORD);  // words of an instance, the last one zero-padded
  static constexpr u32 K = Q * DigitTraits<Digit>::LIMBS;  // limbs per thread
  static constexpr u32 OWNERS =
      N / K;  // threads that hold an instance, K limbs each (the paper's M/Q)
  // Threads that work on an instance: part of a warp, or whole warps.
  static constexpr u32 THREADS =
      OWNERS <= 32 ? power_of_two_at_least(OWNERS) : round_up(OWNERS, 32);
  // Instances per block: more than one only if an instance fits a warp, since a block has one
  // barrier.
  static constexpr u32 ROWS = THREADS > 32 || THREADS >= BLOCK ? 1 : BLOCK / THREADS;
  // Limbs that a thread resolves at a time, in whole words; one word for threads with the fewest
  // registers.
  static constexpr u32 CHUNK = THREADS > 512 ? WORD : min_of(round_up(K, WORD), 2 * WORD);

  static_assert(BITS % (Q * sizeof(Digit) * 8) == 0, "BITS must be divisible by Q digits");
  static_assert(OWNERS >= 1 && OWNERS <= 1024, "an instance takes 1 to 1024 threads");
};

// Default number of limbs per thread of an instance of n limbs: a divisor of n, at most 8 (two
// vector loads) if that takes no more than 1024 threads.
__host__ __device__ constexpr u32 limbs_per_thread(u32 n) {
  for (u32 k = min_of(8, n); k > 0; --k)
    if (n % k == 0 && n / k <= 1024) return k;
  u32 k = 9;
  while (n % k != 0 || n / k > 1024) ++k;
  return k;
}

// The shape for kernels whose result does not depend on digits: all digits have the same memory
// layout, so one kernel serves every shape of a width, in the widest limbs that fill it.
template <u32 BITS>
using Width = typename Conditional<BITS % 32 == 0, Shape<u32, BITS, limbs_per_thread(BITS / 32)>,
                                   Shape<u16, BITS, limbs_per_thread(BITS / 16)>>::Type;

// A shape of the same width with K_ limbs per thread.
template <class S, u32 K_, u32 BLOCK = 128>
struct Regrouped : S {
  static constexpr u32 K = K_;
  static constexpr u32 OWNERS = ceil_div(S::N, K);
  static constexpr u32 THREADS =
      OWNERS <= 32 ? power_of_two_at_least(OWNERS) : round_up(OWNERS, 32);
  static constexpr u32 ROWS = THREADS > 32 || THREADS >= BLOCK ? 1 : BLOCK / THREADS;
  static constexpr u32 CHUNK = THREADS > 512 ? WORD : min_of(round_up(K, WORD), 2 * WORD);
};

}  // namespace gpuint
