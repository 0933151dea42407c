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
// Which s stands at which of the 32 places of an mma is free, as long as A and B agree. Lane (g, t) of A, or (2x + e, t) of B, holds
// in its register h
//     s = 32 step + 8t + 4 (1 - h) + 0..4   (less 13),
// so that its four registers of A, h = 0 and 1 with f = 0 and 1, are two neighbouring limbs of 32 bits: as they are for f = 1, two
// bytes lower for f = 0, and with their bytes reversed, since a counts down in s. `FactorForms` keeps them in shared memory in
// just that order, the two forms of each limb side by side, and the four registers are one vector load. Of b it keeps the limbs
// as they are, for odd matrix columns, and one byte lower, for even ones.
//
// Banks: the vectors of a are 32 bytes apart for neighbouring g and 16 for neighbouring t; a quarter of a warp reads six different
// ones in a row. Of b the lanes of a warp read ten limbs in a row in each of the two forms, which begin half of all banks apart.
//
// Exactness: a sum has at most n products of at most 255^2, so it is below 2^31 up to n = 2^15 digits (2^18 bits).
#pragma once
#include "limbs.cuh"
#include "ptx.cuh"

namespace gpuint {

constexpr u32 TILE_DIGITS = 128;
constexpr u32 TILE_LIMBS = TILE_DIGITS / 4;  // one a lane

// The operands in shared memory, LIMBS limbs each. HIGH: with what high columns need above them.
template <u32 LIMBS, bool HIGH>
struct FactorForms {
  static constexpr u32 BELOW_A = TILE_LIMBS;  // limbs of zeros
  static constexpr u32 BELOW_B = 4;
  static constexpr u32 ABOVE = HIGH ? TILE_LIMBS : 0;
  static constexpr u32 A_LIMBS = 2 * (BELOW_A + LIMBS + ABOVE);
  // Of one form of b; the next begins 16 banks on.
  static constexpr u32 B_LIMBS = (BELOW_B + LIMBS + ABOVE + 15) / 32 * 32 + 16;
  static constexpr u32 TOTAL = A_LIMBS + 2 * B_LIMBS;
  static_assert(LIMBS % TILE_LIMBS == 0 && B_LIMBS >= BELOW_B + LIMBS + ABOVE, "both forms of b have room");

  u32* a;  // of limb 0
  u32* b;

  GPUINT_DEVICE explicit FactorForms(u32* at) : a(at + 2 * BELOW_A), b(at + A_LIMBS + BELOW_B) {}

  // What does not change from row to row.
  template <class G>
  GPUINT_DEVICE void clear(const G& group) const {
    for (u32 i = group.rank; i < 2 * BELOW_A; i += G::THREADS) *(a - 1 - i) = 0;
    for (u32 i = group.rank; i < BELOW_B; i += G::THREADS) *(b - 1 - i) = *(b + B_LIMBS - 1 - i) = 0;
    if constexpr (HIGH) {
      for (u32 i = group.rank; i < 2 * ABOVE; i += G::THREADS) a[2 * LIMBS + i] = 0;
      for (u32 i = group.rank; i < ABOVE; i += G::THREADS) b[LIMBS + i] = b[B_LIMBS + LIMBS + i] = 0;
    }
  }

  // Limbs k and k + 1 of a, k even, and the limb below them.
  GPUINT_DEVICE void put_a(u32 k, uint2 limbs, u32 below) const {
    *reinterpret_cast<uint4*>(a + 2 * k) = make_uint4(__byte_perm(limbs.x, below, 0x6701), __byte_perm(limbs.x, 0, 0x0123),
                                                      __byte_perm(limbs.y, limbs.x, 0x6701), __byte_perm(limbs.y, 0, 0x0123));
    if (HIGH && k + 2 == LIMBS) a[2 * LIMBS] = __byte_perm(0, limbs.y, 0x6701);
  }

  GPUINT_DEVICE void put_b(u32 k, uint2 limbs, u32 below) const {
    *reinterpret_cast<uint2*>(b + k) = limbs;
    *reinterpret_cast<uint2*>(b + B_LIMBS + k) = make_uint2(__byte_perm(below, limbs.x, 0x6543), __byte_perm(limbs.x, limbs.y, 0x6543));
    if (HIGH && k + 2 == LIMBS) b[B_LIMBS + LIMBS] = __byte_perm(limbs.y, 0, 0x6543);
  }
};

// Groups of NT tiles of the product of two numbers of TILES tiles, UNROLL of the four steps of a block at a time. The warp's
// lanes have g = lane / 4 and t = lane % 4, as rows of a; as columns of b they have x = lane / 8 and e = lane / 4 % 2.
template <u32 TILES, u32 NT, u32 UNROLL>
struct Toeplitz {
  static_assert(TILES % NT == 0, "tiles are worked on in whole groups");
  static constexpr u32 GROUPS = TILES / NT;
  static constexpr u32 STEPS = 4;  // mma of a block of b and a tile

  using Rows = u32[NT][4];  // a ring: place (tile - m) mod NT has the rows of a that tile meets in block m
  using Sums = u32[NT][4];  // of a tile: register 2f + e of a lane is column 4 lane + 2f + e

  const u32* a;  // this lane's rows in block 0 of tile 0, step 0
  const u32* b;  // this lane's columns in block 0, step 0

  template <bool HIGH>
  GPUINT_DEVICE Toeplitz(const FactorForms<TILES * TILE_LIMBS, HIGH>& factors, u32 lane)
      : a(factors.a + 2 * (4 * (lane / 4) + 2) - 4 * (lane % 4)),
        b(factors.b + (lane / 4 % 2 == 0 ? factors.B_LIMBS : 0) + (lane / 8 + 2 * (lane % 4)) - 3) {}

  GPUINT_DEVICE static void read_rows(const u32* at, u32 (&rows)[4]) {
    const uint4 v = *reinterpret_cast<const uint4*>(at);
    rows[0] = v.x, rows[1] = v.y, rows[2] = v.z, rows[3] = v.w;
  }

  // A step in block M of the blocks at `rows_at` and `columns_at`: adds its products to the tiles FIRST .. LAST of the group; the
  // rows for tile 0 are new if READ.
  template <u32 M, u32 FIRST, u32 LAST, bool READ>
  GPUINT_DEVICE static void add_block(const u32* rows_at, const u32* columns_at, Rows& rows, Sums& sums) {
    if constexpr (READ) read_rows(rows_at - 2 * M * TILE_LIMBS, rows[(NT - M) % NT]);
    const u32 columns[2] = {columns_at[M * TILE_LIMBS + 1], columns_at[M * TILE_LIMBS]};
    // From the top: the last tile's rows are those that the next block reads anew.
    GPUINT_UNROLL(16)
    for (u32 tile = LAST + 1; tile-- > FIRST;) ptx::mma(sums[tile], rows[(tile + NT - M) % NT], columns);
  }

  enum class Part { Whole, Below, Above };  // all tiles; those from the block on; those up to the block

  // NT blocks in turn.
  template <Part P, u32 M = 0>
  GPUINT_DEVICE static void add_blocks(const u32* rows_at, const u32* columns_at, Rows& rows, Sums& sums) {
    if constexpr (M < NT) {
      constexpr u32 FIRST = P == Part::Below ? M : 0;
      constexpr u32 LAST = P == Part::Above ? M : NT - 1;
      add_block<M, FIRST, LAST, P != Part::Below || M == 0>(rows_at, columns_at, rows, sums);
      add_blocks<P, M + 1>(rows_at, columns_at, rows, sums);
    }
  }

  // The columns of tiles NT * group .. NT * (group + 1), which are below TILES.
  GPUINT_DEVICE void low(u32 group, Sums& sums) const {
    clear(sums);
    GPUINT_UNROLL(UNROLL)
    for (u32 step = 0; step < STEPS; ++step) {
      const u32* rows_at = a + group * (2 * NT * TILE_LIMBS) - step * 16;
      const u32* columns_at = b + step * 8;
      Rows rows;
      GPUINT_UNROLL(16)
      for (u32 tile = 1; tile < NT; ++tile) read_rows(rows_at + 2 * tile * TILE_LIMBS, rows[tile]);
      if constexpr (GROUPS > 1) {
        GPUINT_UNROLL(1)
        for (u32 i = 0; i < group; ++i, rows_at -= 2 * NT * TILE_LIMBS, columns_at += NT * TILE_LIMBS)
          add_blocks<Part::Whole>(rows_at, columns_at, rows, sums);
      }
      add_blocks<Part::Below>(rows_at, columns_at, rows, sums);
    }
  }

  // The same for tiles from TILES on.
  GPUINT_DEVICE void high(u32 group, Sums& sums) const {
    clear(sums);
    GPUINT_UNROLL(UNROLL)
    for (u32 step = 0; step < STEPS; ++step) {
      const u32* rows_at = a + 2 * TILES * TILE_LIMBS - step * 16;
      const u32* columns_at = b + (group - GROUPS) * (NT * TILE_LIMBS) + step * 8;
      Rows rows;
      add_blocks<Part::Above>(rows_at, columns_at, rows, sums);
      rows_at -= 2 * NT * TILE_LIMBS, columns_at += NT * TILE_LIMBS;
      if constexpr (GROUPS > 1) {
        GPUINT_UNROLL(1)
        for (u32 i = group + 1; i < 2 * GROUPS; ++i, rows_at -= 2 * NT * TILE_LIMBS, columns_at += NT * TILE_LIMBS)
          add_blocks<Part::Whole>(rows_at, columns_at, rows, sums);
      }
      // Of the block above b only the first 13 values of s meet digits.
      if (step == 0) add_block<0, 0, NT - 1, true>(rows_at, columns_at, rows, sums);
    }
  }

 private:
  GPUINT_DEVICE static void clear(Sums& sums) {
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < NT; ++tile) sums[tile][0] = sums[tile][1] = sums[tile][2] = sums[tile][3] = 0;
  }
};

}  // namespace gpuint
