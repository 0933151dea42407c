// First phase of a division in phases: lengths of divisors and dividends, and the lists of rows.
#pragma once
#include "core/abi.cuh"
#include "core/group.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"
#include "div/row_lists.cuh"
#include "div/stores.cuh"
#include "tuning/division.cuh"

namespace gpuint {

// Plan is a RowLists with list_of(v, u), the list of a row with a divisor of v bits and a dividend
// of u bits. A warp reads a row from the top until it finds a nonzero limb. It appends ROWS_OF_WARP
// rows to a list at a time: atomic additions to one counter are serialized.
//
// If Plan::LONG_LIMBS is not 0, no lengths are recorded of rows whose divisors have more limbs.
template <class Plan>
struct Classify {
  using S = typename Plan::S;
  static constexpr u32 ROWS_OF_WARP = CLASSIFIED_ROWS<S, Plan::PREPARED>;
  static constexpr u32 THREADS = 128, ROWS = THREADS / 32 * ROWS_OF_WARP, SHARED = 0, SCRATCH = 0;
  static constexpr u32 MIN_BLOCKS = 4, PERSISTENT = 0, ROW_BYTES = Plan::ROW_BYTES;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char*) {
    const Plan plan(o);
    const Group<32> group(nullptr);
    for (u64 first = u64(blockIdx.x) * ROWS + threadIdx.x / 32 * ROWS_OF_WARP; first < o.rows;
         first += u64(gridDim.x) * ROWS) {
      u32 own = NO_LIST;
      GPUINT_UNROLL(1)
      for (u32 i = 0; i < ROWS_OF_WARP && first + i < o.rows; ++i) {
        const u32 list = list_of(plan, group, static_cast<u32>(first + i));
        if (group.rank == i) own = list;
      }
      GPUINT_UNROLL(1)
      for (u32 list = 0; list < Plan::LISTS; ++list) {
        const u32 rows = __ballot_sync(~0u, own == list);
        if (rows == 0) continue;
        u32 at = 0;
        if (group.rank == 0) at = atomicAdd(&o.counters[list], __popc(rows));
        at = __shfl_sync(~0u, at, 0);
        if (own == list)
          plan.list(list)[at + __popc(rows & ((1u << group.rank) - 1))] =
              static_cast<u32>(first + group.rank);
      }
    }
  }

 private:
  static constexpr u32 NO_LIST = ~0u;

  // The list of a row.
  GPUINT_DEVICE static u32 list_of(const Plan& plan, const Group<32>& group, u32 row) {
    const u32 v = divisor_bits(plan, row);
    if (Plan::LONG_LIMBS != 0 && v > 32 * Plan::LONG_LIMBS) return Plan::LONG;
    const u32 u = dividend_bits(plan, row);
    if (!Plan::PREPARED && v == 0) {
      write_undefined<S>(group, plan.o, row);
      return NO_LIST;
    }
    if (group.rank == 0) plan.lengths()[row] = {v, u};
    return Plan::list_of(v, u);
  }

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
