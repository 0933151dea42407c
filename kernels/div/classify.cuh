// First phase of a division in phases: lengths of divisors and dividends, and the lists of rows.
#pragma once
#include "core/abi.cuh"
#include "core/group.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"
#include "div/row_lists.cuh"
#include "div/rows.cuh"

namespace gpuint {

// Plan is a RowLists with list_of(v, u), the list of a row with a divisor of v bits and a dividend
// of u bits. A warp reads a row from the top until it finds a nonzero limb.
template <class Plan>
struct Classify {
  using S = typename Plan::S;
  static constexpr u32 THREADS = 128, ROWS = THREADS / 32, SHARED = 0, SCRATCH = 0;
  static constexpr u32 MIN_BLOCKS = 4, PERSISTENT = 0, ROW_BYTES = Plan::ROW_BYTES;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char*) {
    const Plan plan(o);
    const Group<32> group(nullptr);
    for (u64 at = u64(blockIdx.x) * ROWS + threadIdx.x / 32; at < o.rows;
         at += u64(gridDim.x) * ROWS) {
      const u32 row = static_cast<u32>(at);
      const u32 v = divisor_bits(plan, row), u = dividend_bits(plan, row);
      if (!Plan::PREPARED && v == 0) {
        write_undefined<S>(group, o, row);
        continue;
      }
      if (group.rank != 0) continue;
      const u32 list = Plan::list_of(v, u);
      plan.lengths()[row] = {v, u};
      plan.list(list)[atomicAdd(&o.counters[list], 1)] = row;
    }
  }

 private:
  // Limbs of a row on their way at a time. Most dividends have their highest limb in the first few.
  static constexpr u32 CHUNK = 512, TOP = 128;
  static_assert(S::N % CHUNK == 0, "");

  GPUINT_DEVICE static u32 divisor_bits(const Plan& plan, u32 row) {
    if constexpr (Plan::PREPARED)
      return Prepared<S>(plan.o, row).bits();
    else
      return length(plan.divisor(row));
  }

  GPUINT_DEVICE static u32 dividend_bits(const Plan& plan, u32 row) {
    const u32 bits = length_of<TOP>(plan.dividend(row), S::N);
    return bits != 0 ? bits : length(plan.dividend(row));
  }

  GPUINT_DEVICE static u32 length(const u32* x) {
    u32 bits = 0;
    GPUINT_UNROLL(1)
    for (u32 end = S::N; end > 0 && bits == 0; end -= CHUNK) bits = length_of<CHUNK>(x, end);
    return bits;
  }

  // Bit length of x up to limb `end`, 0 if the COUNT limbs below it are zeros.
  template <u32 COUNT>
  GPUINT_DEVICE static u32 length_of(const u32* x, u32 end) {
    const u32 first = end - COUNT + WORD * (threadIdx.x % 32);
    u32 word[COUNT / 128][WORD], bits = 0;
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < COUNT / 128; ++i) read_word<S>(x, first + 128 * i, word[i]);
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < COUNT / 128; ++i)
      bits = max_of(bits, bits_of_word(word[i], first + 128 * i));
    return __reduce_max_sync(~0u, bits);
  }
};

}  // namespace gpuint
