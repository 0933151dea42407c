// Layout of a lane division (division.cuh): the lanes of a team, and their records in shared
// memory.
#pragma once
#include "core/digits.cuh"
#include "core/math.cuh"
#include "div/lanes/short_block.cuh"

namespace gpuint {

// The lanes of a warp that divide a row.
struct Team {
  u32 lanes;
  u32 base;  // first lane in its warp
  u32 rank;  // of this lane
};

// Packed lane indices and shifts of a quotient estimate, one limb.
struct LaneLayout {
  u32 bits;
  // Of a divisor with s leading zero bits and `above` limbs of zeros above it.
  GPUINT_DEVICE LaneLayout(const Team& team, u32 above, u32 s) {
    const u32 odd = team.rank % 2;
    const u32 top = (team.base + team.lanes - 1) % 32;
    // A lane with the other half of the reciprocal.
    const u32 partner =
        (team.base + team.rank + (odd != 0 || team.rank + 1 == team.lanes ? 31 : 1)) % 32;
    bits = top | partner << 5 | s << 10 | (WORD - 1 - above % WORD) << 15 | odd << 17 |
           (team.lanes == 1 ? 1u << 18 : 0u) | (above == WORD ? 1u << 19 : 0u);
  }
  GPUINT_DEVICE explicit LaneLayout(u32 given) : bits(given) {}
  GPUINT_DEVICE int top() const { return static_cast<int>(bits & 31); }
  GPUINT_DEVICE int partner() const { return static_cast<int>(bits >> 5 & 31); }
  GPUINT_DEVICE u32 bit_shift() const { return bits >> 10 & 31; }
  GPUINT_DEVICE bool two_limbs_up() const { return (bits & 1u << 16) != 0; }
  GPUINT_DEVICE bool one_limb_up() const { return (bits & 1u << 15) != 0; }
  GPUINT_DEVICE bool odd() const { return (bits & 1u << 17) != 0; }
  GPUINT_DEVICE bool alone() const { return (bits & 1u << 18) != 0; }
  GPUINT_DEVICE bool word_above() const { return (bits & 1u << 19) != 0; }
};

// Record of a lane that owns K limbs, in shared memory to save registers: constant over the blocks
// of a row's quotient. Offsets are in limbs; the length is an odd number of words, so that the
// records of lanes are in different banks.
template <u32 K>
struct LaneRecord {
  static constexpr u32 NEGATIVE = 0;               // its limbs of - V and the 8 below
  static constexpr u32 INVERSE = K + SHORT_BLOCK;  // its half of the reciprocal, and the other one
  static constexpr u32 ROW = INVERSE + 2 * HALF_ROWS;  // the row's place in the batch
  static constexpr u32 WORDS = ROW + 1;                // words that the divisor takes
  static constexpr u32 LANES = ROW + 2;                // of the team
  static constexpr u32 RANK = ROW + 3;                 // of the lane
  static constexpr u32 LAYOUT = ROW + 4;               // bits of a LaneLayout
  static constexpr u32 LONGEST = ROW + 5;              // words of the longest divisor of the warp
  static constexpr u32 LIMBS = (ceil_div(LONGEST + 1, WORD) | 1) * WORD;
};

}  // namespace gpuint
