// Lists of the rows of a batch by the lengths of their divisors, for divisions in phases.
//
// The first phase (classify.cuh) writes the lengths of a row and appends it to one list. Later
// phases divide the rows of a list. If few rows have short divisors, short_divisors.cuh appends
// them to list 0. Groups of threads divide the rows of list LONG of the plan.
#pragma once
#include "core/abi.cuh"
#include "core/frame.cuh"
#include "core/shape.cuh"
#include "core/record.cuh"

namespace gpuint {

// LISTS_ lists, and MORE_LIMBS limbs for each row after them. PREPARED_ if the divisors have
// records.
template <class Shape, bool PREPARED_, u32 LISTS_, u32 MORE_LIMBS = 0>
struct RowLists {
  using S = Shape;
  static constexpr bool PREPARED = PREPARED_;
  static constexpr u32 LIMBS = S::N, LISTS = LISTS_;
  static_assert(S::LIMB_BITS == 32, "limbs of 32 bits");

  // Maximum limbs of divisors whose lengths are recorded, others being in list LONG; 0: all are.
  static constexpr u32 LONG_LIMBS = 0;

  // The workspace: bit lengths of divisor and dividend, a list entry in each list.
  static constexpr u32 ROW_BYTES = sizeof(uint2) + 4 * (LISTS + MORE_LIMBS);

  // Counters: rows of a list; rows taken from it; short rows that have joined list 0; 1 if one
  // phase divides the rows of all classes of fused products (fused.cuh).
  static constexpr u32 TAKEN = 16, JOINED = 32, TOGETHER = 33;
  static_assert(LISTS <= TAKEN && TAKEN + LISTS <= JOINED && TOGETHER < COUNTERS, "");

  const Operands& o;
  GPUINT_DEVICE explicit RowLists(const Operands& operands) : o(operands) {}

  GPUINT_DEVICE uint2* lengths() const { return reinterpret_cast<uint2*>(o.workspace); }
  GPUINT_DEVICE u32* list(u32 index) const {
    return reinterpret_cast<u32*>(o.workspace + o.rows * sizeof(uint2)) + index * o.rows;
  }
  GPUINT_DEVICE u32 count(u32 list) const { return o.counters[list]; }
  // Rows of a list, after the second phase.
  GPUINT_DEVICE u32 rows(u32 list) const {
    return count(list) + (list == 0 ? o.counters[JOINED] : 0);
  }
  GPUINT_DEVICE u32& together() const { return o.counters[TOGETHER]; }
  GPUINT_DEVICE u32* taken(u32 list) const { return o.counters + TAKEN + list; }

  GPUINT_DEVICE const u32* dividend(u32 row) const {
    return static_cast<const u32*>(o.in[0]) + u64(row) * LIMBS;
  }
  GPUINT_DEVICE const u32* divisor(u32 row) const {
    if constexpr (PREPARED)
      return Prepared<S>(o, row).v();
    else
      return static_cast<const u32*>(o.in[1]) + u64(row) * LIMBS;
  }
};

// Entry `index` of list LONG, read anew at each use: kernels of such rows have no register for
// it.
template <class Plan>
struct ListedRow {
  const Operands& o;
  u32 index;
  GPUINT_DEVICE operator u64() const {
    return *static_cast<const volatile u32*>(Plan(o).list(Plan::LONG) + index);
  }
};

// The frame over list LONG of a plan; over all rows of the batch if Plan is void.
template <class S, u32 ARENA, class Plan>
struct ListFrame : Frame<S, ARENA> {
  using Base = Frame<S, ARENA>;
  using G = typename Base::G;
  static constexpr u32 ROW_BYTES = Plan::ROW_BYTES;

  template <class Work>
  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared, Work work) {
    unsigned char* const own = shared + G::index() * Base::STRIDE;
    G group(own);
    for (u32 index = blockIdx.x * Base::ROWS + G::index(); index < Plan(o).rows(Plan::LONG);
         index += gridDim.x * Base::ROWS) {
      work(group, ListedRow<Plan>{o, index}, own + G::SCRATCH_BYTES);
      group.sync();
    }
  }
};
template <class S, u32 ARENA>
struct ListFrame<S, ARENA, void> : Frame<S, ARENA> {};

}  // namespace gpuint
