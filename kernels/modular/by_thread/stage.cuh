// Rows of a warp in shared memory: row r in column r, limbs of 32 bits 33 apart. Also the launch
// configuration of kernels with a row to a thread.
//
// A row's limbs are copied by neighbouring threads, and its own thread reads them one after
// another: with 33 limbs from one limb of a row to the next, both reach 32 banks.
//
// Copies to a stage are asynchronous. A prefetch begins after the warp has read the stage, with
// __syncwarp() between. `wait_for_stages` ends all copies of the warp, to any stage. Between the
// two, no thread reads or writes the stage; arithmetic and other stages are not affected.
#pragma once
#include "core/rows.cuh"

namespace gpuint::by_thread {

constexpr u32 WARP = 32;
constexpr u32 ALL_LANES = ~0u;
constexpr u32 STAGE_STRIDE = WARP + 1;

// The first of the 32 rows of a warp, and how many of them are there.
struct WarpRows {
  u64 first;
  u32 count;
  GPUINT_DEVICE WarpRows(u64 first_, u64 rows)
      : first(first_), count(rows - first_ < WARP ? static_cast<u32>(rows - first_) : WARP) {}
};

// Launch configuration of kernels with a row to a thread. A warp takes 32 consecutive rows in each
// turn.
struct ThreadRows {
  static constexpr u32 WARPS = 4;
  static constexpr u32 THREADS = WARP * WARPS;
  static constexpr u32 ROWS = THREADS;
  static constexpr u32 SCRATCH = 0;
  static constexpr u32 PERSISTENT = 1;

  // First row of the warp in its first turn, and rows from turn to turn.
  GPUINT_DEVICE static u64 first_row() {
    return u64(blockIdx.x) * ROWS + ptx::thread() / WARP * WARP;
  }
  GPUINT_DEVICE static u64 step() { return u64(gridDim.x) * ROWS; }
};

// Calls visit(row, limb) for COUNT limbs of each of 32 rows, in turns of the warp's threads: first
// 32 limbs of a row at a time, then the rest of several rows.
template <u32 COUNT, class Visit>
GPUINT_DEVICE void for_each_limb(Visit visit) {
  constexpr u32 WHOLE = COUNT / WARP * WARP, REST = COUNT % WARP;
  const u32 lane = ptx::thread() % WARP;
  if constexpr (WHOLE != 0) {
    GPUINT_UNROLL()
    for (u32 limb = 0; limb < WHOLE; limb += WARP) {
      GPUINT_UNROLL(4)
      for (u32 row = 0; row < WARP; ++row) visit(row, limb + lane);
    }
  }
  if constexpr (REST != 0) {
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < REST; ++i) {
      const u32 k = i * WARP + lane;
      visit(k / REST, WHOLE + k % REST);
    }
  }
}

// Starts to copy COUNT limbs of each row to a stage. Rows begin `stride` limbs apart; the last of
// `rows` rows is repeated up to 32. `to` must not be in use by any thread of the warp.
template <u32 COUNT>
GPUINT_DEVICE void prefetch_rows(const u32* first_row, u32 stride, u32 rows, u32* to) {
  for_each_limb<COUNT>([&](u32 row, u32 limb) {
    ptx::copy_async_limb(first_row + u64(min_of(row, rows - 1)) * stride + limb,
                         to + limb * STAGE_STRIDE + row);
  });
}

// Waits for the copies of all threads of the warp, and makes them visible to the warp.
GPUINT_DEVICE void wait_for_stages() {
  ptx::await_copies();
  __syncwarp();
}

// Copies the rows of a warp, COUNT limbs each, from a stage to an output of consecutive rows.
template <u32 COUNT>
GPUINT_DEVICE void store_rows(const u32* from, const WarpRows& rows, void* output) {
  u32* const first_row = static_cast<u32*>(output) + rows.first * COUNT;
  for_each_limb<COUNT>([&](u32 row, u32 limb) {
    if (row < rows.count) first_row[row * COUNT + limb] = from[limb * STAGE_STRIDE + row];
  });
}

// Limb i of 32 bits of x << distance, where x has `count` limbs.
template <class GetLimb>
GPUINT_DEVICE u32 shifted_up(GetLimb limb, u32 count, u32 distance, u32 i) {
  const u32 at = i - distance / 32;  // wraps below the number
  const u32 high = at < count ? limb(at) : 0, low = at - 1 < count ? limb(at - 1) : 0;
  return __funnelshift_l(low, high, distance % 32);
}

// True if x >> distance is not 0, x of `count` limbs.
template <u32 COUNT, class GetLimb>
GPUINT_DEVICE bool has_bits_from(GetLimb limb, u32 distance) {
  u32 any = 0;
  GPUINT_UNROLL(4)
  for (u32 i = 0; i < COUNT; ++i)
    any |= i * 32 + 32 <= distance ? 0 : i * 32 >= distance ? limb(i) : limb(i) >> distance % 32;
  return any != 0;
}

}  // namespace gpuint::by_thread
