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
// Which s stands at which of the 32 places of an mma is free, as long as A and B agree. A stripe is 32 STEPS of them, for STEPS mma
// in turn: in byte e of register h, lane (g, t) of A, or (2x + e', t) of B, holds
//     s = 32 STEPS stripe + 8 STEPS t + 8 step + 4 (1 - h) + 3 - e   (less 13),
// so that a lane's registers of A with f = 1 are 2 STEPS neighbouring limbs of 32 bits as they are, those with f = 0 the same two
// bytes lower, and those of B are as many limbs with their bytes reversed, for odd columns, or the same one byte lower.
//
// `FactorForms` keeps both forms of b in shared memory. Of a it keeps both, side by side, so that the four registers of a step are one
// vector load; or one only, of which a lane reads its 2 STEPS limbs and one more as vectors and makes the other form itself: with
// longer stripes fewer bytes leave shared memory, for two byte permutations and two moves a step.
//
// Banks: lanes read vectors of a in one row, or 16 bytes apart for neighbouring g, a quarter of a warp within 128 bytes at a time;
// the single limb that follows collides in pairs. Of b the lanes of a warp read 10 or 16 limbs of each form, which begin so far
// apart that no two meet in a bank.
//
// Exactness: a sum has at most n products of at most 255^2, so it is below 2^31 up to n = 2^15 digits (2^18 bits).
#pragma once
#include "limbs.cuh"
#include "ptx.cuh"

namespace gpuint {

constexpr u32 TILE_DIGITS = 128;
constexpr u32 TILE_LIMBS = TILE_DIGITS / 4;  // one a lane

// The operands in shared memory, LIMBS limbs each, with FORMS forms of a, for stripes of STEPS. HIGH: with what high columns need
// above them.
template <u32 LIMBS, u32 FORMS_, u32 STEPS_, bool HIGH>
struct FactorForms {
  static constexpr u32 FORMS = FORMS_, STEPS = STEPS_;
  static_assert(FORMS == 1 || (FORMS == 2 && STEPS == 1), "two forms leave nothing to gain for longer stripes");
  static constexpr u32 BELOW_A = FORMS * TILE_LIMBS;  // zeros
  static constexpr u32 BELOW_B = 4;
  static constexpr u32 ABOVE = HIGH ? TILE_LIMBS : 0;
  static constexpr u32 A_LIMBS = BELOW_A + FORMS * (LIMBS + ABOVE);
  // From one form of b to the other.
  static constexpr u32 BANKS = STEPS == 4 ? 4 : 16;
  static constexpr u32 B_LIMBS = round_up(BELOW_B + LIMBS + ABOVE - BANKS, 32) + BANKS;
  static constexpr u32 TOTAL = A_LIMBS + 2 * B_LIMBS;

  u32* a;  // limb 0
  u32* b;

  GPUINT_DEVICE explicit FactorForms(u32* at) : a(at + BELOW_A), b(at + A_LIMBS + BELOW_B) {}

  // What does not change from row to row.
  template <class G>
  GPUINT_DEVICE void clear(const G& group) const {
    const auto zero = [&](u32* at, u32 limbs) {
      for (u32 i = group.rank; i < limbs; i += G::THREADS) at[i] = 0;
    };
    zero(a - BELOW_A, BELOW_A);
    zero(a + FORMS * LIMBS, FORMS * ABOVE);
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
    if constexpr (FORMS == 1) {
      *reinterpret_cast<uint2*>(a + k) = limbs;
    } else {
      *reinterpret_cast<uint4*>(a + 2 * k) = make_uint4(lower_a(limbs.x, below), limbs.x, lower_a(limbs.y, limbs.x), limbs.y);
      if (HIGH && k + 2 == LIMBS) a[2 * LIMBS] = lower_a(0, limbs.y);
    }
  }

  GPUINT_DEVICE void put_b(u32 k, uint2 limbs, u32 below) const {
    *reinterpret_cast<uint2*>(b + k) = make_uint2(reversed(limbs.x), reversed(limbs.y));
    *reinterpret_cast<uint2*>(b + B_LIMBS + k) = make_uint2(lower_b(limbs.x, below), lower_b(limbs.y, limbs.x));
    if (HIGH && k + 2 == LIMBS) b[B_LIMBS + LIMBS] = lower_b(0, limbs.y);
  }
};

// Groups of NT tiles of the product of two numbers of TILES tiles, UNROLL stripes of a block in a row. The warp's lanes have
// g = lane / 4 and t = lane % 4, as rows of a; as columns of b they have x = lane / 8 and e' = lane / 4 % 2.
template <u32 TILES, u32 NT, u32 UNROLL, class F>
struct Toeplitz {
  static_assert(TILES % NT == 0, "tiles are worked on in whole groups");
  static constexpr u32 GROUPS = TILES / NT;
  static constexpr u32 FORMS = F::FORMS;
  static constexpr u32 STEPS = F::STEPS;
  static constexpr u32 STRIPES = 4 / STEPS;
  static constexpr u32 RUN = 2 * STEPS;                 // limbs of a lane in a stripe
  static constexpr u32 TOP_STEPS = STEPS == 1 ? 1 : 2;  // steps of the block above b in which its first 13 values of s are
  static constexpr u32 A_TILE = FORMS * TILE_LIMBS;

  using Rows = u32[NT][STEPS][4];  // a ring: place (tile - m) mod NT has the rows of a that tile meets in block m
  using Sums = u32[NT][4];         // of a tile: register 2f + e' of a lane is column 4 lane + 2f + e'

  const u32* a;  // this lane's highest limb in block 0 of tile 0, stripe 0
  const u32* b;  // this lane's lowest limb in block 0, stripe 0

  GPUINT_DEVICE Toeplitz(const F& factors, u32 lane)
      : a(factors.a + FORMS * (4 * (lane / 4) + 3) - FORMS * RUN * (lane % 4)),
        b(factors.b + (lane / 4 % 2 == 0 ? F::B_LIMBS : 0) + (lane / 8 + RUN * (lane % 4)) - 3) {}

  GPUINT_DEVICE static void read_rows(const u32* top, u32 (&rows)[STEPS][4]) {
    if constexpr (FORMS == 2) {
      const uint4 v = *reinterpret_cast<const uint4*>(top - 2);
      rows[0][0] = v.x, rows[0][1] = v.y, rows[0][2] = v.z, rows[0][3] = v.w;
    } else {
      u32 limbs[RUN + 1];  // from the lowest up; one more below
      limbs[0] = *(top - RUN);
      if constexpr (STEPS == 1) {
        const uint2 v = *reinterpret_cast<const uint2*>(top - 1);
        limbs[1] = v.x, limbs[2] = v.y;
      } else {
        GPUINT_UNROLL(2)
        for (u32 i = 1; i < RUN; i += 4) load_word(top - RUN + i, limbs + i);
      }
      GPUINT_UNROLL(4)
      for (u32 step = 0; step < STEPS; ++step) {
        GPUINT_UNROLL(2)
        for (u32 h = 0; h < 2; ++h) {
          const u32 i = RUN - 1 - 2 * step + h;
          rows[step][2 * h] = F::lower_a(limbs[i], limbs[i - 1]);
          rows[step][2 * h + 1] = limbs[i];
        }
      }
    }
  }

  // A stripe of block M of the blocks that begin at `top` and `columns`, or its first LIMIT steps: adds its products to the tiles
  // FIRST .. LAST of the group; the rows for tile 0 are new if READ.
  template <u32 M, u32 FIRST, u32 LAST, bool READ, u32 LIMIT = STEPS>
  GPUINT_DEVICE static void add_block(const u32* top, const u32* columns, Rows& rows, Sums& sums) {
    if constexpr (READ) read_rows(top - M * A_TILE, rows[(NT - M) % NT]);
    GPUINT_UNROLL(4)
    for (u32 step = 0; step < LIMIT; ++step) {
      const u32 column[2] = {columns[M * TILE_LIMBS + 2 * step + 1], columns[M * TILE_LIMBS + 2 * step]};
      // From the top: the last tile's rows are those that the next block reads anew.
      GPUINT_UNROLL(16)
      for (u32 tile = LAST + 1; tile-- > FIRST;) ptx::mma(sums[tile], rows[(tile + NT - M) % NT][step], column);
    }
  }

  enum class Part { Whole, Below, Above };  // all tiles; those from the block on; those up to the block

  // NT blocks in turn.
  template <Part P, u32 M = 0>
  GPUINT_DEVICE static void add_blocks(const u32* top, const u32* columns, Rows& rows, Sums& sums) {
    if constexpr (M < NT) {
      constexpr u32 FIRST = P == Part::Below ? M : 0;
      constexpr u32 LAST = P == Part::Above ? M : NT - 1;
      add_block<M, FIRST, LAST, P != Part::Below || M == 0>(top, columns, rows, sums);
      add_blocks<P, M + 1>(top, columns, rows, sums);
    }
  }

  // The columns of tiles NT * group .. NT * (group + 1), which are below TILES.
  GPUINT_DEVICE void low(u32 group, Sums& sums) const {
    clear(sums);
    GPUINT_UNROLL(UNROLL)
    for (u32 stripe = 0; stripe < STRIPES; ++stripe) {
      const u32* top = a + group * (NT * A_TILE) - stripe * (4 * FORMS * RUN);
      const u32* columns = b + stripe * (4 * RUN);
      Rows rows;
      GPUINT_UNROLL(16)
      for (u32 tile = 1; tile < NT; ++tile) read_rows(top + tile * A_TILE, rows[tile]);
      if constexpr (GROUPS > 1) {
        GPUINT_UNROLL(1)
        for (u32 i = 0; i < group; ++i, top -= NT * A_TILE, columns += NT * TILE_LIMBS)
          add_blocks<Part::Whole>(top, columns, rows, sums);
      }
      add_blocks<Part::Below>(top, columns, rows, sums);
    }
  }

  // The same for tiles from TILES on.
  GPUINT_DEVICE void high(u32 group, Sums& sums) const {
    clear(sums);
    GPUINT_UNROLL(UNROLL)
    for (u32 stripe = 0; stripe < STRIPES; ++stripe) {
      const u32* top = a + TILES * A_TILE - stripe * (4 * FORMS * RUN);
      const u32* columns = b + (group - GROUPS) * (NT * TILE_LIMBS) + stripe * (4 * RUN);
      Rows rows;
      add_blocks<Part::Above>(top, columns, rows, sums);
      top -= NT * A_TILE, columns += NT * TILE_LIMBS;
      if constexpr (GROUPS > 1) {
        GPUINT_UNROLL(1)
        for (u32 i = group + 1; i < 2 * GROUPS; ++i, top -= NT * A_TILE, columns += NT * TILE_LIMBS)
          add_blocks<Part::Whole>(top, columns, rows, sums);
      }
      if (stripe == 0) add_block<0, 0, NT - 1, true, TOP_STEPS>(top, columns, rows, sums);
    }
  }

 private:
  GPUINT_DEVICE static void clear(Sums& sums) {
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < NT; ++tile) sums[tile][0] = sums[tile][1] = sums[tile][2] = sums[tile][3] = 0;
  }
};

}  // namespace gpuint
