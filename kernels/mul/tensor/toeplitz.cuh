// Sums of byte products by the tensor cores: the columns of a product of two numbers in shared
// memory, before carries.
//
// The bytes of the operands are digits in base 256, so column k of a * b is the sum of a[i] * b[k -
// i]. A tile is 128 consecutive columns, as the 16 x 8 results of one warp-wide matrix product: row
// (g, f) and matrix column (x, e), with g < 8, x < 4 and f, e < 2, stand for column
//     k = 128 tile + row(g, f) + col(x, e),   row(g, f) = 16g + 2f,   col(x, e) = 4x + e.
// With k - col(x, e) = row(g, f) + 128 tile the sum over i becomes a product of two Toeplitz
// matrices,
//     c[k] = sum over s of A[row][s] * B[s][col],
//     A[row][s] = a[128 tile + row - s],   B[s][col] = b[s + col],
// where s starts at -13, the lowest s with s + col >= 0, and digits outside of the operands are 0.
// One mma.sync takes 32 values of s; a block is 128 of them, s = 128m - 13 + 0..128. In block m the
// rows of a tile meet the digits
//     128 (tile - m) + row + 13 - 0..128
// of a: they depend on tile - m only. So a warp that works on NT tiles at a time and steps through
// the blocks of b needs one new set of rows of a per block. The other NT - 1 sets move on to the
// next tile (a ring in registers), and every block of b feeds NT products.
//
// Columns 0 .. n of n = 128 TILES digits take blocks 0 .. tile of each tile: TILES (TILES + 1) / 2
// blocks of 128 x 128 digit products, of which a share of 1 / (TILES + 1) is wasted on the corners
// of the triangle (20 % at 4 tiles, 3 % at 32). The high columns take blocks tile - TILES .. TILES.
//
// The values of s may be assigned to the 32 places of an mma in any order, as long as A and B
// agree. In byte e
// of register h, lane (g, t) of A, or (2x + e', t) of B, holds
//     s = 32 step + 8t + 4 (1 - h) + 3 - e   (less 13),
// A lane's two registers of A with f = 1 are then neighbouring limbs of 32 bits, and those with f =
// 0 the same two bytes lower. Those of B are neighbouring limbs with their bytes reversed, for odd
// columns, or the same one byte lower. `FactorForms` keeps both forms of each limb in shared
// memory: of a side by side, so that the four registers are one vector load and no permutations are
// needed between the mma; of b one after the other.
//
// Banks: a lane's vector of a is 32 bytes from that of the next g and 16 from that of the next t; a
// quarter of a warp reads six of them in a row. Of each form of b the lanes of a warp read ten
// limbs in a row, and the forms begin half of the banks apart.
//
// Exactness: a sum has at most n products of at most 255^2, so it is below 2^31 up to n = 2^15
// digits (2^18 bits).
#pragma once
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"
#include "mul/tensor/tile_carries.cuh"

namespace gpuint {

// The operands in shared memory, LIMBS limbs each. HIGH: with the zeros above that high columns
// need.
template <u32 LIMBS, bool HIGH>
struct FactorForms {
  static constexpr u32 BELOW_A = 2 * TILE_LIMBS;  // zeros
  static constexpr u32 BELOW_B = 4;
  static constexpr u32 ABOVE = HIGH ? TILE_LIMBS : 0;
  static constexpr u32 A_LIMBS = BELOW_A + 2 * (LIMBS + ABOVE);
  static constexpr u32 B_LIMBS =
      round_up(BELOW_B + LIMBS + ABOVE - 16, 32) + 16;  // from one form of b to the other
  static constexpr u32 TOTAL = A_LIMBS + 2 * B_LIMBS;

  u32* a;  // limb 0
  u32* b;

  GPUINT_DEVICE explicit FactorForms(u32* at) : a(at + BELOW_A), b(at + A_LIMBS + BELOW_B) {}

  // Clears the limbs that rows do not overwrite.
  template <class G>
  GPUINT_DEVICE void clear(const G& group) const {
    const auto zero = [&](u32* at, u32 limbs) {
      GPUINT_UNROLL(2)
      for (u32 i = 0; i < limbs; i += G::THREADS)
        if (i + group.rank < limbs) at[i + group.rank] = 0;
    };
    zero(a - BELOW_A, BELOW_A);
    zero(a + 2 * LIMBS, 2 * ABOVE);
    for (u32 form = 0; form < 2; ++form) {
      zero(b + form * B_LIMBS - BELOW_B, BELOW_B);
      zero(b + form * B_LIMBS + LIMBS, ABOVE);
    }
  }

  // A limb of a with f = 0, a limb of b with e' = 0, from the limb and the one below it.
  GPUINT_DEVICE static u32 lower_a(u32 limb, u32 below) { return __byte_perm(below, limb, 0x5432); }
  GPUINT_DEVICE static u32 lower_b(u32 limb, u32 below) { return __byte_perm(limb, below, 0x7012); }
  GPUINT_DEVICE static u32 reversed(u32 limb) { return __byte_perm(limb, 0, 0x0123); }

  // Limbs k and k + 1, k even, where `below` is limb k - 1.
  GPUINT_DEVICE void put_a(u32 k, uint2 limbs, u32 below) const {
    *reinterpret_cast<uint4*>(a + 2 * k) =
        make_uint4(lower_a(limbs.x, below), limbs.x, lower_a(limbs.y, limbs.x), limbs.y);
    if (HIGH && k + 2 == LIMBS) a[2 * LIMBS] = lower_a(0, limbs.y);
  }

  GPUINT_DEVICE void put_b(u32 k, uint2 limbs, u32 below) const {
    *reinterpret_cast<uint2*>(b + k) = make_uint2(reversed(limbs.x), reversed(limbs.y));
    *reinterpret_cast<uint2*>(b + B_LIMBS + k) =
        make_uint2(lower_b(limbs.x, below), lower_b(limbs.y, limbs.x));
    if (HIGH && k + 2 == LIMBS) b[B_LIMBS + LIMBS] = lower_b(0, limbs.y);
  }
};

// Groups of NT tiles of the product of two numbers of TILES tiles, UNROLL of the four steps of a
// block in a row. The warp's lanes have g = lane / 4 and t = lane % 4, as rows of a; as columns of
// b they have x = lane / 8 and e' = lane / 4 % 2.
template <u32 TILES, u32 NT, u32 UNROLL, class Forms>
struct Toeplitz {
  static_assert(TILES % NT == 0, "tiles are worked on in whole groups");
  static constexpr u32 GROUPS = TILES / NT;
  static constexpr u32 STEPS = TILE_DIGITS / 32;  // mma of a block and a tile
  static constexpr u32 A_TILE = 2 * TILE_LIMBS;

  // One group of many tiles: the later blocks of a step need the rows of ever fewer tiles. The loop
  // over steps turns between block 0 and the others, so that the compiler can read all rows of the
  // next step in the meantime.
  static constexpr bool IN_TURN = GROUPS == 1 && NT > 8 && Forms::ABOVE == 0;

  using Rows =
      u32[NT][4];  // a ring: place (tile - m) mod NT has the rows of a that tile meets in block m
  using Sums = u32[NT][4];  // of a tile: register 2f + e' of a lane is column 4 lane + 2f + e'

  const u32* a;  // this lane's limbs in block 0 of tile 0, step 0
  const u32* b;  // this lane's lower limb in block 0, step 0

  GPUINT_DEVICE Toeplitz(const Forms& factors, u32 lane)
      : a(factors.a + 2 * (4 * (lane / 4) + 2) - 4 * (lane % 4)),
        b(factors.b + (lane / 4 % 2 == 0 ? Forms::B_LIMBS : 0) + (lane / 8 + 2 * (lane % 4)) - 3) {}

  // Adds the products of block M, counted from `at` and `columns`, to the tiles FIRST .. LAST of
  // the group; the rows for tile 0 are new if READ.
  template <u32 M, u32 FIRST, u32 LAST, bool READ>
  GPUINT_DEVICE static void add_block(const u32* at, const u32* columns, Rows& rows, Sums& sums) {
    if constexpr (READ) load_word(at - M * A_TILE, rows[(NT - M) % NT]);
    const u32 column[2] = {columns[M * TILE_LIMBS + 1], columns[M * TILE_LIMBS]};
    // From the top: the last tile's rows are the ones that the next block reads again.
    GPUINT_UNROLL(16)
    for (u32 tile = LAST + 1; tile-- > FIRST;)
      ptx::mma(sums[tile], rows[(tile + NT - M) % NT], column);
  }

  enum class Part {
    Whole,
    Below,
    Above
  };  // all tiles; those from the block on; those up to the block

  // NT blocks in turn.
  template <Part P, u32 M = 0>
  GPUINT_DEVICE static void add_blocks(const u32* at, const u32* columns, Rows& rows, Sums& sums) {
    if constexpr (M < NT) {
      constexpr u32 FIRST = P == Part::Below ? M : 0;
      constexpr u32 LAST = P == Part::Above ? M : NT - 1;
      add_block<M, FIRST, LAST, P != Part::Below || M == 0>(at, columns, rows, sums);
      add_blocks<P, M + 1>(at, columns, rows, sums);
    }
  }

  // The columns of tiles NT * group .. NT * (group + 1), which are below TILES.
  GPUINT_DEVICE void low(u32 group, Sums& sums) const {
    clear(sums);
    add_low(group, sums);
  }

  // Adds them to `sums`.
  GPUINT_DEVICE void add_low(u32 group, Sums& sums) const {
    if constexpr (IN_TURN)
      low_in_turn(sums);
    else
      low_by_steps(group, sums);
  }

  // The same for tiles from TILES on.
  GPUINT_DEVICE void high(u32 group, Sums& sums) const {
    clear(sums);
    add_high(group, sums);
  }

  GPUINT_DEVICE void add_high(u32 group, Sums& sums) const {
    GPUINT_UNROLL(UNROLL)
    for (u32 step = 0; step < STEPS; ++step) {
      const u32* at = a + TILES * A_TILE - step * 16;
      const u32* columns = b + (group - GROUPS) * (NT * TILE_LIMBS) + step * 8;
      Rows rows;
      add_blocks<Part::Above>(at, columns, rows, sums);
      at -= NT * A_TILE, columns += NT * TILE_LIMBS;
      if constexpr (GROUPS > 1) {
        GPUINT_UNROLL(1)
        for (u32 i = group + 1; i < 2 * GROUPS; ++i, at -= NT * A_TILE, columns += NT * TILE_LIMBS)
          add_blocks<Part::Whole>(at, columns, rows, sums);
      }
      // Of the block above b only the first 13 values of s meet digits.
      if (step == 0) add_block<0, 0, NT - 1, true>(at, columns, rows, sums);
    }
  }

  GPUINT_DEVICE static void clear(Sums& sums) {
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < NT; ++tile)
      sums[tile][0] = sums[tile][1] = sums[tile][2] = sums[tile][3] = 0;
  }

 private:
  GPUINT_DEVICE void low_by_steps(u32 group, Sums& sums) const {
    GPUINT_UNROLL(UNROLL)
    for (u32 step = 0; step < STEPS; ++step) {
      const u32* at = a + group * (NT * A_TILE) - step * 16;
      const u32* columns = b + step * 8;
      Rows rows;
      GPUINT_UNROLL(16)
      for (u32 tile = 1; tile < NT; ++tile) load_word(at + tile * A_TILE, rows[tile]);
      if constexpr (GROUPS > 1) {
        GPUINT_UNROLL(1)
        for (u32 i = 0; i < group; ++i, at -= NT * A_TILE, columns += NT * TILE_LIMBS)
          add_blocks<Part::Whole>(at, columns, rows, sums);
      }
      add_blocks<Part::Below>(at, columns, rows, sums);
    }
  }

  GPUINT_DEVICE void low_in_turn(Sums& sums) const {
    const u32* at = a;
    const u32* columns = b;
    Rows rows;
    add_first_block(at, columns, rows, sums);
    GPUINT_UNROLL(1)
    for (u32 step = 1; step < STEPS; ++step) {
      add_blocks<Part::Below, 1>(at, columns, rows, sums);
      at -= 16, columns += 8;
      add_first_block(at, columns, rows, sums);
    }
    add_blocks<Part::Below, 1>(at, columns, rows, sums);
  }

  GPUINT_DEVICE static void add_first_block(const u32* at, const u32* columns, Rows& rows,
                                            Sums& sums) {
    GPUINT_UNROLL(16)
    for (u32 tile = NT; tile-- > 0;) load_word(at + tile * A_TILE, rows[tile]);
    add_block<0, 0, NT - 1, false>(at, columns, rows, sums);
  }
};

}  // namespace gpuint
