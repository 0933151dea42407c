// First phase: lengths of divisors and dividends, and lists of the rows of each class.
#pragma once
#include "div/fft/plan.cuh"
#include "core/group.cuh"
#include "core/rows.cuh"
#include "div/rows.cuh"

namespace gpuint::fft_division {

// A warp reads a row from the top until it finds a nonzero limb.
template <class S, bool PREPARED = false>
struct Classify {
  using Plan = fft_division::Plan<S, PREPARED>;
  static constexpr u32 THREADS = 128, ROWS = THREADS / 32, SHARED = 0, SCRATCH = 0;
  static constexpr u32 MIN_BLOCKS = 4, PERSISTENT = 0, ROW_BYTES = Plan::ROW_BYTES;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char*) {
    const Plan plan(o);
    const Group<32> group(nullptr);
    for (u64 at = u64(blockIdx.x) * ROWS + threadIdx.x / 32; at < o.rows;
         at += u64(gridDim.x) * ROWS) {
      const u32 row = static_cast<u32>(at);
      const u32 v = divisor_bits(plan, row), u = length(plan.dividend(row));
      if (!PREPARED && v == 0) {
        write_undefined<S>(group, o, row);
        continue;
      }
      if (group.rank != 0) continue;
      const u32 list = list_of(v, u);
      plan.lengths()[row] = {v, u};
      plan.list(list)[atomicAdd(&o.counters[list], 1)] = row;
    }
  }

 private:
  // The list of a row with a divisor of v bits and a dividend of u bits.
  GPUINT_DEVICE static u32 list_of(u32 v, u32 u) {
    if (u <= v + 32 * MOST_STEPS) return Plan::DIRECT;
    if (v <= 32 * SHORT_DIVISOR<S>) return Plan::SHORT;
    u32 list = 0;
    while (list < Plan::LONG && 32 * (Plan::SMALLEST << list) < v) ++list;
    return list;
  }

  static constexpr u32 CHUNK = 512;  // limbs of a row on their way at a time
  static_assert(S::N % CHUNK == 0, "");

  GPUINT_DEVICE static u32 divisor_bits(const Plan& plan, u32 row) {
    if constexpr (PREPARED)
      return Prepared<S>(plan.o, row).bits();
    else
      return length(plan.divisor(row));
  }

  GPUINT_DEVICE static u32 length(const u32* x) {
    const u32 lane = threadIdx.x % 32;
    GPUINT_UNROLL(1)
    for (u32 end = S::N; end > 0; end -= CHUNK) {
      u32 word[CHUNK / 128][WORD], bits = 0;
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < CHUNK / 128; ++i)
        read_word<S>(x, end - CHUNK + 128 * i + WORD * lane, word[i]);
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < CHUNK / 128; ++i)
        bits = max_of(bits, bits_of_word(word[i], end - CHUNK + 128 * i + WORD * lane));
      bits = __reduce_max_sync(~0u, bits);
      if (bits != 0) return bits;
    }
    return 0;
  }
};

}  // namespace gpuint::fft_division
