// Sums of byte products by the tensor cores for the low product of short rows: toeplitz.cuh with
// fewer reads of shared memory.
//
// A multiprocessor reads one register of a warp from shared memory per cycle, and its tensor cores
// compute an mma in one and a half. The fewer tiles a row has, the fewer mma a register feeds: at
// four tiles toeplitz.cuh needs 96 reads for 40 mma, and shared memory is the limit. Here three
// eighths of those reads are byte permutations instead. That is faster only for short rows: on an
// H200 by 10 % at 2 to 4 tiles, and slower from 6 tiles on, where mma and permutations compete for
// issue slots.
//
// A lane can make the registers of a that are two bytes lower from the others if it has a limb and
// the limb below it. So the values of s in a lane's registers must be neighbours over all steps of
// a block, and its rows must not be far apart, or its reads would have bank conflicts. A tile of
// 128 columns has rows and columns
//     row(g, f) = 4g + 2f,   col(x, e) = 32x + e,
// and a and b are exchanged: with k = 128 tile + row + col,
//     c[k] = sum over s of A[row][s] * B[s][col],
//     A[row][s] = a[s + row],   B[s][col] = b[128 tile + col - s],
// where s starts at -30 and block m has s = 128m - 30 + 0..128. The columns of b depend on tile -
// m:
// registers hold those of all tiles, and each block of a is read once and feeds the tiles from m
// up.
//
// In byte e of register h of step j, lane (g, t) of A, or (2x + e', t) of B, place i = 2j + h holds
//     s = 32t + 4 (7 - i) + e   (less 30),
// A lane's registers of A with f = 1 are then limb 8t + g - i of block m, and those with f = 0 the
// same two bytes lower. Those of B are limb 8 (x - t) + i of tile - m with its bytes reversed, for
// odd columns, or the same one byte lower. Shared memory holds a unchanged, and b in both forms,
// whose permutations would outnumber the limbs.
//
// Banks: the lanes of a warp read 32 limbs of a in a row. Of each form of b, eight lanes read four
// vectors, eight limbs apart, and the forms begin four banks apart.
#pragma once
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"
#include "mul/tensor/tile_carries.cuh"

namespace gpuint {

// The operands in shared memory, LIMBS limbs each.
template <u32 LIMBS>
struct ShortForms {
  static constexpr u32 BELOW_A = 8, BELOW_B = 24;  // zeros
  static constexpr u32 B_LIMBS =
      round_up(BELOW_B + LIMBS, 8) + 4;  // from one form of b to the other
  static constexpr u32 TOTAL = BELOW_A + LIMBS + 2 * B_LIMBS;

  u32* a;  // limb 0
  u32* b;

  GPUINT_DEVICE explicit ShortForms(u32* at) : a(at + BELOW_A), b(a + LIMBS + BELOW_B) {}

  // Clears the limbs that rows do not overwrite.
  GPUINT_DEVICE void clear(u32 lane) const {
    if (lane < BELOW_A) *(a - BELOW_A + lane) = 0;
    if (lane < BELOW_B) *(b - BELOW_B + lane) = *(b - BELOW_B + B_LIMBS + lane) = 0;
  }

  // Limbs k .. k + 4, k a multiple of 4; of b also limb k - 1.
  GPUINT_DEVICE void put_a(u32 k, const uint4& limbs) const {
    *reinterpret_cast<uint4*>(a + k) = limbs;
  }

  GPUINT_DEVICE void put_b(u32 k, const uint4& limbs, u32 below) const {
    *reinterpret_cast<uint4*>(b + k) =
        make_uint4(reversed(limbs.x), reversed(limbs.y), reversed(limbs.z), reversed(limbs.w));
    *reinterpret_cast<uint4*>(b + B_LIMBS + k) =
        make_uint4(lower(limbs.x, below), lower(limbs.y, limbs.x), lower(limbs.z, limbs.y),
                   lower(limbs.w, limbs.z));
  }

 private:
  GPUINT_DEVICE static u32 reversed(u32 limb) { return __byte_perm(limb, 0, 0x0123); }
  GPUINT_DEVICE static u32 lower(u32 limb, u32 below) { return __byte_perm(limb, below, 0x7012); }
};

// All columns of a row. The warp's lanes have g = lane / 4 and t = lane % 4, as rows of a; as
// columns of b they have x = lane / 8 and e' = lane / 4 % 2.
template <u32 LIMBS>
struct ShortToeplitz {
  using Forms = ShortForms<LIMBS>;
  static constexpr u32 TILES = LIMBS / TILE_LIMBS;
  static constexpr u32 STEPS = TILE_DIGITS / 32;  // mma of a block and a tile
  static constexpr u32 PLACES = 2 * STEPS;

  using Sums = u32[TILES][4];  // of a tile: register 2f + e of a lane is column 2f + e of its limb

  // The limb of a tile whose columns a lane has.
  struct Limbs {
    static constexpr bool IN_ORDER = false;
    GPUINT_DEVICE static u32 limb(u32 lane) { return lane / 4 + lane % 4 * 8; }
    GPUINT_DEVICE static u32 lane(u32 limb) { return limb % 8 * 4 + limb / 8; }
  };

  const u32* a;  // this lane's limb of place 0 in block 0
  const u32* b;  // this lane's limb of place 0 for tile 0 in block 0

  GPUINT_DEVICE ShortToeplitz(const Forms& factors, u32 lane)
      : a(factors.a + lane % 4 * 8 + lane / 4),
        b(factors.b + (lane / 4 % 2 == 0 ? Forms::B_LIMBS : 0) + lane / 8 * 8 - lane % 4 * 8) {}

  GPUINT_DEVICE void low(Sums& sums) const {
    u32 columns[TILES][STEPS][2];
    GPUINT_UNROLL(4)
    for (u32 tile = 0; tile < TILES; ++tile) {
      sums[tile][0] = sums[tile][1] = sums[tile][2] = sums[tile][3] = 0;
      GPUINT_UNROLL(4)
      for (u32 step = 0; step < STEPS; step += 2) {
        u32 word[4];
        load_word(b + tile * TILE_LIMBS + 2 * step, word);
        columns[tile][step][0] = word[0], columns[tile][step][1] = word[1];
        columns[tile][step + 1][0] = word[2], columns[tile][step + 1][1] = word[3];
      }
    }
    GPUINT_UNROLL(4)
    for (u32 block = 0; block < TILES; ++block) {
      u32 rows[STEPS][4];
      u32 limb = a[block * TILE_LIMBS];
      GPUINT_UNROLL(8)
      for (u32 place = 0; place < PLACES; ++place) {
        const u32 below = *(a + block * TILE_LIMBS - (place + 1));
        rows[place / 2][place % 2 * 2] = __byte_perm(below, limb, 0x5432);
        rows[place / 2][place % 2 * 2 + 1] = limb;
        limb = below;
      }
      GPUINT_UNROLL(4)
      for (u32 step = 0; step < STEPS; ++step) {
        GPUINT_UNROLL(4)
        for (u32 tile = block; tile < TILES; ++tile)
          ptx::mma(sums[tile], rows[step], columns[tile - block][step]);
      }
    }
  }
};

}  // namespace gpuint
