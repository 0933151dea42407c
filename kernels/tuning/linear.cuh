// Policies of operations that go through a row once.
#pragma once
#include "core/digits.cuh"
#include "core/rows.cuh"
#include "core/shape.cuh"
#include "tuning/steps.cuh"

namespace gpuint {

// Sums and differences (linear/add.cuh). A word a thread at a time: neighbouring threads then read
// neighbouring words, at the memory limit at every width. Registers: of a thread in a block of
// several warps, all threads that a multiprocessor holds. Measured on an H200, 2026-11-21.
template <class S>
struct SumPolicy {
  static constexpr u32 LIMBS_PER_ROUND =
      S::THREADS >= 8 && S::K > WORD&& ROW_OF_WORDS<S> ? WORD : S::K;
  static constexpr u32 REGISTERS = 32;
};

// Sums modulo prepared divisors (modular/linear.cuh): a word to a thread where rows are short, so
// that neighbouring threads read neighbouring words. Measured on an H200, 2026-11-22.
template <class S>
struct ModularSumPolicy {
  static constexpr bool BY_WORDS = ROW_OF_WORDS<S> && S::N <= 8 * WORD;
  using Rows = typename Conditional<BY_WORDS, Regrouped<S, WORD>, S>::Type;
  // With 40, code for 8.0 spills.
  static constexpr u32 WORD_REGISTERS = by_capability(POLICIES, {{80, 48}, {90, 40}});
  static constexpr u32 REGISTERS = BY_WORDS ? WORD_REGISTERS : 64;
};

// Division by one digit (linear/div_rem_digit.cuh).
struct DigitDivisionPolicy {
  static constexpr u32 THREADS = 128;
  static constexpr u32 WORDS_PER_LANE = 4;  // of 64 bits, a power of two
  static constexpr u32 REGISTERS = 64;
};

// Decimal digits (rows/decimal.cuh): the limbs of a row, and as many registers for a step.
struct DecimalPolicy {
  static constexpr u32 THREADS = 128;
  template <class S>
  __host__ __device__ static constexpr u32 registers() {
    return S::BITS <= 512 ? 48 : S::BITS <= 768 ? 64 : 80;
  }
};

}  // namespace gpuint
