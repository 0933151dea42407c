// Second phase: rows with short divisors, divided by lanes (div/lanes/division.cuh).
//
// A block of quotient by transforms or by tensor cores costs nearly the same for every short
// divisor, whereas the work of lanes is proportional to the length of the divisor. But lanes divide
// a row in N / 8 dependent blocks of quotient, however few rows there are: a batch with less than
// MIN_ROWS rows for each block of threads lets them join list 0.
#pragma once
#include "core/abi.cuh"
#include "div/lanes/division.cuh"
#include "div/row_lists.cuh"
#include "tuning/division.cuh"

namespace gpuint {

// The short rows, if they are enough for the grid. The number of blocks is that of the rows of the
// batch, or of the blocks that run at a time.
template <class Plan>
struct ShortRows {
  static constexpr u32 MAX_WORDS = Plan::ShortPolicy::MAX_LIMBS / WORD;
  static constexpr bool HAS_LENGTHS = true, DIVIDES_POWER = false;

  GPUINT_DEVICE static u64 count(const Operands& o) {
    const u32 rows = Plan(o).count(Plan::SHORT);
    return rows >= Plan::ShortPolicy::MIN_ROWS * gridDim.x ? rows : 0;
  }
  GPUINT_DEVICE static u32 row(const Operands& o, u64 index) {
    return Plan(o).list(Plan::SHORT)[index];
  }
  GPUINT_DEVICE static const u32* divisor(const Operands& o, u64 row) {
    return Plan(o).divisor(static_cast<u32>(row));
  }
  GPUINT_DEVICE static uint2 lengths(const Operands& o, u64 row) { return Plan(o).lengths()[row]; }
};

template <class Plan>
struct DivideShort : LaneDivision<typename Plan::S, ShortRows<Plan>, typename Plan::ShortPolicy> {
  using Source = ShortRows<Plan>;
  using Base = LaneDivision<typename Plan::S, Source, typename Plan::ShortPolicy>;
  static constexpr u32 ROW_BYTES = Plan::ROW_BYTES;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Plan plan(o);
    const u32 rows = plan.count(Plan::SHORT);
    const bool by_lanes = Source::count(o) > 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      if (by_lanes) GPUINT_RARE(ShortByLanes);
      o.counters[Plan::JOINED] = by_lanes ? 0 : rows;
    }
    if (!by_lanes) {
      u32* const joined = plan.list(0) + plan.count(0);
      for (u32 i = blockIdx.x * Base::THREADS + threadIdx.x; i < rows;
           i += gridDim.x * Base::THREADS)
        joined[i] = plan.list(Plan::SHORT)[i];
      return;
    }
    Base::run(o, shared);
  }
};

}  // namespace gpuint
