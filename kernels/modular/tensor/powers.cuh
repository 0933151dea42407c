// Powers modulo v by the phases of products (phases.cuh): all rows take a step after another.
//
// Left to right by windows of k bits (modular/pow_mod.cuh). A step is a product modulo v of each
// row, in three phases: T, the quotient and the remainder. The longest exponent, of E bits and n =
// ceil(E / k) digits, determines the steps:
//     2^k - 1 steps        power 1 of the table, which is 1 a, and power e - 1 times power 1
//     one step             the result times the power of digit n - 1
//     (n - 1) (k + 1)      for each digit below: k squares of the result, and a product
// A result begins as 1, in its row of the output. A row skips powers above its largest digit,
// squares of 1 and products by digit 0. So a row takes the products of its own exponent and one
// more, but its result is final only after the steps of the longest.
//
// All factors but a are at most v, and T = 1 a < R <= R^2 / 2^s: no factors are long.
//
// Against a warp or block that has a row to itself, rows are read and written for each product, but
// its phases have the registers and the parallelism of products of rows.
#pragma once
#include "core/group.cuh"
#include "core/rows.cuh"
#include "modular/pow_mod.cuh"
#include "modular/tensor/phases.cuh"

namespace gpuint::tensor_modular {

// Wider than `window_bits` from 2800 bits on: the table takes 65 steps more and saves more than
// that, 1 in 54 at 2^15 bits. The table of a row takes 127 residues.
__host__ __device__ constexpr u32 wide_window_bits(u32 exponent_bits) {
  return exponent_bits < 2800 ? window_bits(exponent_bits) : MAX_WINDOW + 1;
}

// A step, given the length of the longest exponent. counters[0] has the number of steps,
// counters[1] the length.
struct PowerStep {
  static constexpr u32 STEPS = 0, BITS = 1;

  enum Kind { POWER, SQUARE, PRODUCT } kind;
  u32 window, at;  // the power, or the position of the digit

  GPUINT_DEVICE explicit PowerStep(const Operands& o) : window(wide_window_bits(o.counters[BITS])) {
    const u32 powers = (1u << window) - 1;
    u32 step = static_cast<u32>(o.step);
    if (step < powers) {
      kind = POWER, at = step + 1;
      return;
    }
    step += window - powers;  // as if the top digit had squares
    at = ceil_div(o.counters[BITS], window) - 1 - step / (window + 1);
    kind = step % (window + 1) < window ? SQUARE : PRODUCT;
  }

  // Number of steps for exponents of `bits` bits; 0 for 0.
  GPUINT_DEVICE static u32 count(u32 bits) {
    const u32 window = wide_window_bits(bits);
    return (1u << window) - 1 - window + ceil_div(bits, window) * (window + 1);
  }
};

// The workspace: that of products, in which each row has a word, and the powers of each row.
template <class S>
struct PowerWorkspace : Workspace<S> {
  using Base = Workspace<S>;
  static constexpr u32 POWERS = (1u << wide_window_bits(S::BITS)) - 1;
  static constexpr u32 ROW_BYTES = Base::ROW_BYTES + POWERS * S::N * u32{sizeof(u32)};

  // Of the exponent of a row.
  GPUINT_DEVICE static u32* length(const Operands& o, u64 row) {
    return Base::dividend(o, o.rows) + row * WORD;
  }
  GPUINT_DEVICE static u32* largest_digit(const Operands& o, u64 row) { return length(o, row) + 1; }
  GPUINT_DEVICE static u32* power(const Operands& o, u64 row, u32 e) {
    return length(o, o.rows) + (row * POWERS + (e - 1)) * S::N;
  }

  GPUINT_DEVICE static const u32* exponent(const Operands& o, u64 row) {
    return input_row<S>(o, 1, o.params.broadcast_exponent != 0 ? 0 : row);
  }
};

// One warp per row.
template <class S>
struct PowerRows {
  static constexpr u32 THREADS = 128, ROWS = THREADS / 32, SHARED = 0, SCRATCH = 0;
  static constexpr u32 MIN_BLOCKS = 3, PERSISTENT = 0, ROW_BYTES = PowerWorkspace<S>::ROW_BYTES;

  template <class Work>
  GPUINT_DEVICE static void each_row(const Operands& o, Work work) {
    Group<32> group(nullptr);
    for (u64 row = u64(blockIdx.x) * ROWS + threadIdx.x / 32; row < o.rows;
         row += u64(gridDim.x) * ROWS)
      work(group, row);
  }
};

// First phase: results of 1, and the lengths of exponents.
template <class S>
struct BeginPowers : PowerRows<S> {
  GPUINT_DEVICE static void run(const Operands& o, unsigned char*) {
    PowerRows<S>::each_row(o, [&](Group<32>& group, u64 row) {
      using Space = PowerWorkspace<S>;
      const u32 bits = group.max(bits_seen<S>(group, Space::exponent(o, row)));
      const u32 one = Prepared<S>(o, row).bits() > 1 ? 1 : 0;  // 0 modulo 1
      u32* const result = output_row<S>(o, 0, row);
      for (u32 k = group.rank; k < S::N; k += 32) result[k] = k == 0 ? one : 0;
      if (group.rank != 0) return;
      *Space::length(o, row) = bits;
      atomicMax(o.counters + PowerStep::BITS, bits);
    });
  }
};

// Second phase: the largest digits, and the number of steps.
template <class S>
struct FindLargestDigits : PowerRows<S> {
  GPUINT_DEVICE static void run(const Operands& o, unsigned char*) {
    const u32 most = o.counters[PowerStep::BITS];
    PowerRows<S>::each_row(o, [&](Group<32>& group, u64 row) {
      using Space = PowerWorkspace<S>;
      const u32 largest = gpuint::largest_digit<S>(group, Space::exponent(o, row),
                                                   *Space::length(o, row), wide_window_bits(most));
      if (group.rank != 0) return;
      *Space::largest_digit(o, row) = largest;
      if (row == 0) o.counters[PowerStep::STEPS] = PowerStep::count(most);
    });
  }
};

// The dividend of a step, and its factors.
template <class S>
struct PowerDividend {
  using Space = PowerWorkspace<S>;
  static constexpr u32 ROW_BYTES = Space::ROW_BYTES;
  static constexpr bool IS_FIRST_SHIFTED = false;

  GPUINT_DEVICE static bool is_product(const Operands&) { return true; }
  GPUINT_DEVICE static bool is_skipped(const Operands& o, u64 row) {
    const PowerStep step(o);
    if (step.kind == PowerStep::POWER) return step.at > *Space::largest_digit(o, row);
    if (step.kind == PowerStep::SQUARE)
      return *Space::length(o, row) <= (step.at + 1) * step.window;
    return digit(o, row, step) == 0;
  }
  GPUINT_DEVICE static u32 limbs(const Operands&) { return 2 * S::N; }
  GPUINT_DEVICE static const u32* at(const Operands& o, u64 row) { return Space::dividend(o, row); }
  GPUINT_DEVICE static u32* result(const Operands& o, u64 row) {
    const PowerStep step(o);
    return step.kind == PowerStep::POWER ? Space::power(o, row, step.at) : output_row<S>(o, 0, row);
  }

  // Rows of T.
  GPUINT_DEVICE static const u32* factor(const Operands& o, u32 i, u64 row) {
    const PowerStep step(o);
    const u32* const result = output_row<S>(o, 0, row);
    if (step.kind == PowerStep::POWER) {
      if (step.at == 1) return i == 0 ? result : input_row<S>(o, 0, row);
      return Space::power(o, row, i == 0 ? step.at - 1 : 1);
    }
    return i == 0 || step.kind == PowerStep::SQUARE ? result
                                                    : Space::power(o, row, digit(o, row, step));
  }
  GPUINT_DEVICE static u32* half(const Operands& o, u64 row, u32 half) {
    return Space::dividend(o, row) + half * S::N;
  }

 private:
  GPUINT_DEVICE static u32 digit(const Operands& o, u64 row, const PowerStep& step) {
    return exponent_digit<S>(Space::exponent(o, row), step.at, step.window);
  }
};

template <class Phase>
struct OfStep : Phase {
  static constexpr u32 REPEATED = 1;
};

// in[0] = a, in[1] = e, in[2] = records, out[0] = a^e mod v.
template <class S, class Dividend = PowerDividend<S>>
struct PowerPhases
    : Sequence<BeginPowers<S>, FindLargestDigits<S>, OfStep<Product<S, Extent::Wide, 2, Dividend>>,
               OfStep<Quotient<S, Dividend>>, OfStep<Remainder<S, Dividend>>> {};

}  // namespace gpuint::tensor_modular
