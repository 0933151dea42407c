// Policies of products of rows: classical, Karatsuba's and by tensor cores.
#pragma once
#include "core/math.cuh"
#include "core/strategies.cuh"
#include "tuning/steps.cuh"

namespace gpuint {

// Classical products of long rows: tiles of WIDE_TILE columns, two per thread, a short one with a
// long one; for shapes with at least MIN_PER_THREAD limbs per thread. 7 digit products in 10
// instructions instead of 5. Measured on an H200, 2026-11-21.
struct WideTilePolicy {
  static constexpr u32 WIDE_TILE = 8;  // columns
  static constexpr u32 LIMBS_PER_THREAD = 2 * WIDE_TILE;
  static constexpr u32 MIN_LIMBS = 2048;          // of a row
  static constexpr u32 MIN_LIMBS_PER_THREAD = 8;  // of the shape
};

// Classical products of short rows by one lane each (mul/lanes.cuh), from MIN_Q digits per thread
// on: Q = 1 and 2 keep the paper's groups at every width. Measured on an H200, 2026-11-21.
struct LaneProductPolicy {
  static constexpr u32 MIN_Q = 3;
  static constexpr u32 MAX_LIMBS = 64;  // that a lane has registers for
  static constexpr u32 WARPS = 4;       // of a block

  // Registers of a thread, for rows of `limbs` limbs; an instruction can name 255.
  __host__ __device__ static constexpr u32 registers(u32 limbs) {
    return min_of(max_of(128, 4 * limbs), 255);
  }
};

// Karatsuba's products (mul/karatsuba.cuh).
struct KaratsubaPolicy {
  // Factors shorter than this are multiplied classically: the three tiles of a shorter product are
  // not enough work for the passes.
  static constexpr u32 MIN_LIMBS = 64;
  // Levels of the recursion; a fourth would leave most threads of a group without a tile.
  static constexpr u32 DEPTH = 3;
  // Shared memory of a block on every GPU of compute capability 8.0.
  static constexpr u32 SHARED_BYTES = 163 * 1024;
  // A thread of a larger group has too few registers.
  static constexpr u32 MAX_THREADS = 512;
};

// The largest divisor of a up to a limit.
__host__ __device__ constexpr u32 largest_divisor(u32 a, u32 limit) {
  u32 divisor = min_of(a, limit);
  while (a % divisor != 0) --divisor;
  return divisor;
}

// Warps of a row of TILES tiles: a multiprocessor holds about a dozen, and each has whole tiles to
// copy.
__host__ __device__ constexpr u32 warps_to_a_row(u32 tiles) {
  u32 warps = by_size(tiles, {{32, 1}, {64, 2}, {128, 4}, {ANY, 8}});
  while (warps > 1 && tiles % (2 * warps) != 0) warps /= 2;
  return warps;
}

// Products of rows of TILES tiles by tensor cores (mul/tensor/product.cuh). Reading ahead, and two
// steps in a row, need registers that the two halves of a long wide product do not leave. Measured
// on an H200, 2026-11-20, rows of up to 8 tiles 2026-11-21.
template <u32 TILES, Extent E>
struct TensorProductPolicy {
  static constexpr u32 TILES_AT_A_TIME = largest_divisor(TILES, 16);
  // Of the four steps of a block of columns (toeplitz.cuh).
  static constexpr u32 UNROLLED_STEPS = TILES_AT_A_TIME <= 8              ? 4
                                        : E == Extent::Low && TILES == 32 ? 2
                                                                          : 1;
  // The next row is read while one is computed.
  static constexpr bool READS_AHEAD = TILES <= 8;
  // Operand limbs of a lane on their way to shared memory otherwise, in pairs: where the steps of a
  // row are in turn, and elsewhere.
  static constexpr u32 PAIRS_IN_TURN = 8, PAIRS = 4;
  // Warps of a multiprocessor that must have registers: few have them to read a step ahead.
  static constexpr u32 RESIDENT_WARPS =
      by_size(TILES, {{2, 32}, {4, 24}, {E == Extent::Low ? 12 : 8, 16}, {ANY, 12}});
  // Rows of a block: short rows in large blocks, which read and write long stretches of memory.
  static constexpr u32 ROWS =
      READS_AHEAD ? by_size(TILES, {{4, RESIDENT_WARPS}, {ANY, RESIDENT_WARPS / 2}}) : 1;
  static constexpr u32 WARPS_PER_ROW = warps_to_a_row(TILES);
};

// Low products of short rows by tensor cores, one warp per row (mul/tensor/short_rows.cuh). More
// rows per block would have too few registers. Measured on an H200, 2026-11-21.
struct ShortTensorPolicy {
  static constexpr u32 MAX_BITS = 4096;

  // Of a block.
  __host__ __device__ static constexpr u32 rows(u32 limbs) {
    return by_size(limbs, {{64, 32}, {96, 28}, {ANY, 24}});
  }
};

// Sums of products (mul/sum_of_products.cuh). The host adds the sums of more pairs
// (src/ops/sum_of_products.rs).
struct ProductSumPolicy {
  static constexpr u32 MAX_PAIRS = 32;

  // Warps of a block whose lanes have a row each, in `places` places: the shared memory of a block
  // fits every GPU.
  __host__ __device__ static constexpr u32 lane_warps(u32 limbs, u32 places) {
    return limbs * places <= 128 ? LaneProductPolicy::WARPS : 2;
  }

  // Of a lane, which has both sums of columns and a factor at hand.
  __host__ __device__ static constexpr u32 lane_registers(u32 limbs) {
    return min_of(max_of(128, 5 * limbs), 255);
  }
};

// Sums of products of rows of TILES tiles by tensor cores: the sums of all tiles of the result are
// in registers, four each.
template <u32 TILES, Extent E>
struct TensorSumPolicy : TensorProductPolicy<TILES, E> {
  static constexpr u32 SUMS = (E == Extent::Wide ? 2 : 1) * TILES;
  // The next pair is read while one is multiplied.
  static constexpr bool READS_AHEAD = SUMS <= 8;
  static constexpr u32 RESIDENT_WARPS = by_size(SUMS, {{4, 24}, {8, 16}, {16, 12}, {ANY, 8}});
  static constexpr u32 ROWS = READS_AHEAD ? RESIDENT_WARPS / 2 : 1;
};

// Low products by wgmma (mul/tensor/warpgroup.cuh): for widths at which they are faster than by
// mma.sync, up to the width whose sums fill a warpgroup's registers. Measured on an H200,
// 2026-11-20.
struct WarpgroupPolicy {
  static constexpr u32 MIN_BITS = 32768, MAX_BITS = 65536;

  // Of a multiprocessor. With more the compiler would wait after every wgmma, for registers.
  __host__ __device__ static constexpr u32 blocks(u32 limbs) {
    return by_size(limbs, {{1024, 5}, {ANY, 4}});
  }
};

}  // namespace gpuint
