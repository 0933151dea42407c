// Sums of byte products by the tensor cores: the columns of a product of two numbers in shared memory, before carries.
//
// The bytes of the operands are digits in base 256, so column k of a * b is the sum of a[i] * b[k - i]. A tile is 128
// consecutive columns, as the 16 x 8 results of one warp-wide matrix product: row (g, f) and matrix column (x, e), with
// g < 8, x < 4 and f, e < 2, stand for column
//     k = 128 tile + row(g, f) + col(x, e),   row(g, f) = 16g + 2f,   col(x, e) = 4x + e.
// With k - col(x, e) = row(g, f) + 128 tile the sum over i becomes a product of two Toeplitz matrices,
//     c[k] = sum over s of A[row][s] * B[s][col],   A[row][s] = a[128 tile + row - s],   B[s][col] = b[s + col],
// where s starts at -13, the lowest s with s + col >= 0, and digits outside of the operands are 0. One mma.sync takes 32 values
// of s; a block is 128 of them, s = 128m - 13 + 0..128. In block m the rows of a tile meet the digits
//     128 (tile - m) + row + 13 - 0..128
// of a: they depend on tile - m only. So a warp that works on NT tiles at a time and goes through the blocks of b needs one new
// set of rows of a per block; the other NT - 1 move on to the next tile (a ring in registers), and every block of b feeds NT
// products.
//
// Columns 0 .. n of n = 128 TILES digits take blocks 0 .. tile of each tile: TILES (TILES + 1) / 2 blocks of 128 x 128
// digit products, of which a share of 1 / (TILES + 1) is wasted on the corners of the triangle (20 % at 4 tiles, 3 % at 32).
// The high columns take blocks tile - TILES .. TILES.
//
// Which s stands at which of the 32 places of an mma is free, as long as A and B agree. A stripe is 32 STEPS of them, for STEPS
// mma in turn: lane (g, t) of A, or (2x + e, t) of B, holds
//     s = 32 STEPS stripe + 8 STEPS t + 4i + 0..4   (less 13),   i = 2 step + register < 2 STEPS,
// so that what a lane needs in a stripe is one run of bytes. The operands lie in shared memory as they are, and a lane reads its
// run in limbs of 32 bits: of a 2 STEPS limbs and one more below, where the registers with f = 0 are the run two bytes lower (one
// byte permutation each, which reverses the bytes too, since a counts down in s); of b likewise, where even matrix columns
// are the run one byte lower.
//
// Banks: a run of a begins at limb 4g - 2 STEPS t: neighbouring lanes 16 bytes apart, read as vectors without a conflict. The
// limb below collides in pairs (two wavefronts). A run of b begins at limb x + 2 STEPS t: for each of its limbs the lanes read
// at most 16 different limbs of 32, with no two in one bank.
//
// Exactness: a sum has at most n products of at most 255^2, so it is below 2^31 up to n = 2^15 digits (2^18 bits).
#pragma once
#include "limbs.cuh"
#include "ptx.cuh"

namespace gpuint {

constexpr u32 TILE_DIGITS = 128;
constexpr u32 TILE_LIMBS = TILE_DIGITS / 4;  // one a lane
// Zero limbs that must stand below a (above it too, and above b, where high columns are wanted), and below b.
constexpr u32 ZEROS_AROUND = TILE_LIMBS;
constexpr u32 ZEROS_BELOW_B = 4;

// Groups of NT tiles of the product of two numbers of TILES tiles. The warp's lanes have g = lane / 4 and t = lane % 4, as rows
// of a; as columns of b they have x = lane / 8 and e = lane / 4 % 2.
template <u32 TILES, u32 NT, u32 STEPS>
struct Toeplitz {
  static_assert(TILES % NT == 0, "tiles are worked on in whole groups");
  static_assert(STEPS == 1 || STEPS == 2 || STEPS == 4, "a block is whole stripes");
  static constexpr u32 GROUPS = TILES / NT;
  static constexpr u32 STRIPES = 4 / STEPS;
  static constexpr u32 RUN = 2 * STEPS;                  // limbs of a lane's run
  static constexpr u32 STRIPE_LIMBS = 4 * RUN;
  static constexpr u32 TOP_STEPS = STEPS == 1 ? 1 : 2;   // steps of the block above b that meet its top 13 digits

  using Rows = u32[NT][STEPS][4];  // of a ring: place (tile - m) mod NT has the rows of a that tile meets in block m
  using Sums = u32[NT][4];         // of a tile: register 2f + e of a lane is column 4 lane + 2f + e

  const u32* a;   // top limb of this lane's run in block 0 of tile 0
  const u32* b;   // lowest limb of this lane's run in block 0
  u32 selector;   // the bytes of two neighbouring limbs that are this lane's of b

  GPUINT_DEVICE Toeplitz(const u32* a_limbs, const u32* b_limbs, u32 lane)
      : a(a_limbs + (4 * (lane / 4) + 3) - RUN * (lane % 4)),
        b(b_limbs + (lane / 8 + RUN * (lane % 4)) - 3),
        selector(lane / 4 % 2 == 0 ? 0x6543 : 0x7654) {}

  GPUINT_DEVICE static void read_rows(const u32* top, u32 (&rows)[STEPS][4]) {
    u32 run[RUN + 1];  // from the top down
    if constexpr (STEPS == 1) {
      const uint2 v = *reinterpret_cast<const uint2*>(top - 1);
      run[1] = v.x, run[0] = v.y;
    } else {
      GPUINT_UNROLL(2)
      for (u32 i = 0; i < RUN; i += 4) {
        const uint4 v = *reinterpret_cast<const uint4*>(top - i - 3);
        run[i + 3] = v.x, run[i + 2] = v.y, run[i + 1] = v.z, run[i] = v.w;
      }
    }
    run[RUN] = *(top - RUN);
    GPUINT_UNROLL(4)
    for (u32 step = 0; step < STEPS; ++step) {
      GPUINT_UNROLL(2)
      for (u32 i = 0; i < 2; ++i) {
        const u32 limb = run[2 * step + i];
        rows[step][2 * i] = __byte_perm(limb, run[2 * step + i + 1], 0x6701);
        rows[step][2 * i + 1] = __byte_perm(limb, 0, 0x0123);
      }
    }
  }

  // Block m of all groups: adds its products to the tiles FIRST .. LAST of the group, with the rows for tile 0 read from `top`
  // where it is not null, and b from `run`. Only the first LIMIT steps.
  template <u32 M, u32 FIRST, u32 LAST, bool READ, u32 LIMIT>
  GPUINT_DEVICE void add_block(const u32* top, const u32* run, Rows& rows, Sums& sums) const {
    if constexpr (READ) read_rows(top - M * TILE_LIMBS, rows[(NT - M) % NT]);
    u32 limbs[2 * LIMIT + 1];
    GPUINT_UNROLL(9)
    for (u32 i = 0; i < 2 * LIMIT + 1; ++i) limbs[i] = *(run + M * TILE_LIMBS + i - 1);
    GPUINT_UNROLL(4)
    for (u32 step = 0; step < LIMIT; ++step) {
      u32 column[2];
      GPUINT_UNROLL(2)
      for (u32 i = 0; i < 2; ++i)
        column[i] = __byte_perm(limbs[2 * step + i], limbs[2 * step + i + 1], selector);
      // From the top: the last tile's rows are those that the next block reads anew.
      GPUINT_UNROLL(16)
      for (u32 tile = LAST + 1; tile-- > FIRST;) ptx::mma(sums[tile], rows[(tile + NT - M) % NT][step], column);
    }
  }

  enum class Part { Whole, Below, Above };  // all tiles; those from the block on; those up to the block

  // NT blocks in turn.
  template <Part P, u32 M = 0>
  GPUINT_DEVICE void add_blocks(const u32* top, const u32* run, Rows& rows, Sums& sums) const {
    if constexpr (M < NT) {
      constexpr u32 FIRST = P == Part::Below ? M : 0;
      constexpr u32 LAST = P == Part::Above ? M : NT - 1;
      add_block<M, FIRST, LAST, P != Part::Below || M == 0, STEPS>(top, run, rows, sums);
      add_blocks<P, M + 1>(top, run, rows, sums);
    }
  }

  // The columns of tiles NT * group .. NT * (group + 1), which are below TILES.
  GPUINT_DEVICE void low(u32 group, Sums& sums) const {
    clear(sums);
    GPUINT_UNROLL(1)
    for (u32 stripe = 0; stripe < STRIPES; ++stripe) {
      const u32* top = a + group * NT * TILE_LIMBS - stripe * STRIPE_LIMBS;
      const u32* run = b + stripe * STRIPE_LIMBS;
      Rows rows;
      GPUINT_UNROLL(16)
      for (u32 tile = 1; tile < NT; ++tile) read_rows(top + tile * TILE_LIMBS, rows[tile]);
      if constexpr (GROUPS > 1) {
        GPUINT_UNROLL(1)
        for (u32 i = 0; i < group; ++i, top -= NT * TILE_LIMBS, run += NT * TILE_LIMBS)
          add_blocks<Part::Whole>(top, run, rows, sums);
      }
      add_blocks<Part::Below>(top, run, rows, sums);
    }
  }

  // The same for tiles from TILES on.
  GPUINT_DEVICE void high(u32 group, Sums& sums) const {
    clear(sums);
    GPUINT_UNROLL(1)
    for (u32 stripe = 0; stripe < STRIPES; ++stripe) {
      const u32* top = a + TILES * TILE_LIMBS - stripe * STRIPE_LIMBS;
      const u32* run = b + (group - GROUPS) * NT * TILE_LIMBS + stripe * STRIPE_LIMBS;
      Rows rows;
      add_blocks<Part::Above>(top, run, rows, sums);
      if constexpr (GROUPS > 1) {
        GPUINT_UNROLL(1)
        for (u32 i = group + 1; i < 2 * GROUPS; ++i) {
          top -= NT * TILE_LIMBS, run += NT * TILE_LIMBS;
          add_blocks<Part::Whole>(top, run, rows, sums);
        }
      }
      top -= NT * TILE_LIMBS, run += NT * TILE_LIMBS;
      if (stripe == 0) add_block<0, 0, NT - 1, true, TOP_STEPS>(top, run, rows, sums);
    }
  }

 private:
  GPUINT_DEVICE static void clear(Sums& sums) {
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < NT; ++tile) sums[tile][0] = sums[tile][1] = sums[tile][2] = sums[tile][3] = 0;
  }
};

}  // namespace gpuint
