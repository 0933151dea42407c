// Kernels that compute long rows tile by tile, each by a block, with carry zero into the tile.
#pragma once
#include "core/abi.cuh"
#include "core/occupancy.cuh"
#include "long/grid_kernel.cuh"
#include "long/tiles.cuh"
#include "tuning/long.cuh"

namespace gpuint::long_rows {

// Arguments of the passes with carries. src/backend/long/arguments.rs has the Rust version.
struct Carrying {
  const u32* residues;  // [prime][plane][point], below 2 P
  const u32* in[2];     // operands of sums, rows of `limbs` limbs
  Parts out;
  Edge* edges;    // [row][tile]
  u32* mask;      // one bit a row: carries or borrows out of the rows; null if unwanted
  u64 limbs;      // of a row, an even number
  u64 first_row;  // of the mask
  u32 rows;
  u32 tiles;  // of a row
  u32 planes;
  u32 log_points;
  u32 is_cyclic;   // 1: the carry out of a row enters it at the bottom
  u32 carry_in;    // into each row otherwise
  u32 complement;  // of sums, 1: in[1] is complemented
  u32 broadcast;   // of sums, 1: in[1] has one row for all rows
};

// A kernel of the limbs of all tiles, with LIMBS limbs a thread.
template <u32 REGISTERS>
struct TileKernel : GridKernel {
  static constexpr u32 THREADS = CarryPolicy::THREADS, SHARED = sizeof(TileScratch);
  static constexpr u32 LIMBS = CarryPolicy::LIMBS, ROWS = TILE_LIMBS;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(REGISTERS, THREADS);

  // The tile of a block.
  struct Tile {
    u32 row, index;

    GPUINT_DEVICE explicit Tile(const Carrying& o)
        : row(blockIdx.x / o.tiles), index(blockIdx.x - row * o.tiles) {}

    // The first limb of the tile, and of the thread, in the row.
    GPUINT_DEVICE u64 first() const { return u64{index} * TILE_LIMBS; }
    GPUINT_DEVICE u64 own() const { return first() + threadIdx.x * LIMBS; }

    GPUINT_DEVICE void resolve(const Carrying& o, u32 (&limbs)[LIMBS], u64 excess,
                               unsigned char* shared) const {
      resolve_tile(limbs, excess, first(), RowOfParts(o.out, row), o.edges[blockIdx.x],
                   *reinterpret_cast<TileScratch*>(shared));
    }
  };
};

}  // namespace gpuint::long_rows
