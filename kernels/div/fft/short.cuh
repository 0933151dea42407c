// Second phase: rows with short divisors, divided by lanes (div/lanes/division.cuh).
//
// A block of quotient by transforms costs the same for every divisor of the smallest class, whereas
// the work of lanes is proportional to the length of the divisor. But lanes divide a row in N / 8
// dependent blocks of quotient, however few rows there are: a batch with less than
// LEAST_ROWS rows for each block of threads lets them join the smallest class of transforms.
#pragma once
#include "div/fft/plan.cuh"
#include "div/lanes/division.cuh"
#include "tuning/division.cuh"

namespace gpuint::fft_division {

// The short rows, if they are enough for the grid. The number of blocks is that of the rows of the
// batch, or of the blocks that run at a time.
template <class S, bool PREPARED>
struct ShortRows {
  using Plan = fft_division::Plan<S, PREPARED>;
  static constexpr u32 MOST_WORDS = SHORT_DIVISOR<S> / WORD;
  static constexpr bool HAS_LENGTHS = true;

  GPUINT_DEVICE static u64 count(const Operands& o) {
    const u32 rows = Plan(o).count(Plan::SHORT);
    return rows >= ShortLanePolicy<S>::LEAST_ROWS * gridDim.x ? rows : 0;
  }
  GPUINT_DEVICE static u32 row(const Operands& o, u64 index) {
    return Plan(o).list(Plan::SHORT)[index];
  }
  GPUINT_DEVICE static const u32* divisor(const Operands& o, u64 row) {
    return Plan(o).divisor(static_cast<u32>(row));
  }
  GPUINT_DEVICE static uint2 lengths(const Operands& o, u64 row) { return Plan(o).lengths()[row]; }
};

template <class S, bool PREPARED = false>
struct DivideShort : LaneDivision<S, ShortRows<S, PREPARED>, ShortLanePolicy<S>> {
  using Plan = fft_division::Plan<S, PREPARED>;
  using Source = ShortRows<S, PREPARED>;
  using Base = LaneDivision<S, Source, ShortLanePolicy<S>>;
  static constexpr u32 ROW_BYTES = Plan::ROW_BYTES;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Plan plan(o);
    const u32 rows = plan.count(Plan::SHORT);
    const bool by_lanes = Source::count(o) > 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      if (by_lanes) GPUINT_RARE(FftShortByLanes);
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

}  // namespace gpuint::fft_division
