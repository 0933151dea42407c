// Policies of divisions: their products, the threads of a row, and the registers of a thread.
//
// A policy of S, the shape of the kernel, and M, the strategy of its products, has
//   Product           the products inside of the division
//   Rows              the shape by which threads share a row
//   REGISTERS         of a thread, the bound given to the compiler
//   WARP_REGISTERS    the same where several rows share a warp
// Measured on an H200, 2026-11-20 and 2026-11-21 (whole shifted inverses by tensor cores, tiles of
// lanes).
#pragma once
#include "core/math.cuh"
#include "core/shape.cuh"
#include "core/strategies.cuh"
#include "tuning/steps.cuh"

namespace gpuint {

template <class M>
struct DivisionRegisters;
template <>
struct DivisionRegisters<Classical> {
  static constexpr u32 REGISTERS = 80;
  static constexpr u32 WARP_REGISTERS = 112;
};
template <>
struct DivisionRegisters<Karatsuba> {
  static constexpr u32 REGISTERS = 128;
  static constexpr u32 WARP_REGISTERS = 128;
};
template <>
struct DivisionRegisters<TensorCore> {
  static constexpr u32 REGISTERS = 128;
  static constexpr u32 WARP_REGISTERS = 128;
};

// Products of fewer than MIN_TENSOR_COLUMNS columns do not have tiles for all warps of a block.
// Rows of fewer than MIN_TENSOR_LIMBS limbs have classical products only.
constexpr u32 DIVISION_TILES_AT_A_TIME = 4, MIN_TENSOR_COLUMNS = 32, MIN_TENSOR_LIMBS = 64;
using TensorDivisionColumns = TensorColumns<DIVISION_TILES_AT_A_TIME, MIN_TENSOR_COLUMNS>;

// With products by tensor cores, most of the remaining time is in the passes between them: carries,
// barriers, the reciprocal's short steps, and instruction fetches. So few threads share a row, one
// warp for each 2^15 bits, and a block has one row: rows take unequal times, and would wait for
// the others of their block. Short rows have a warp too: groups of a warp would wait for each
// other.
template <class S, class Base = Regrouped<S, min_of(32, ceil_div(S::N, 32)), 32>>
struct TensorRows : Base {
  static constexpr u32 THREADS = max_of(32, Base::THREADS), ROWS = 1;
};

// Division in blocks by groups of threads (div/div.cuh). Few threads: most divisors are short, and
// the serial parts (the seed, the ends of small products) then leave fewer threads waiting.
//   LIMBS_PER_THREAD   of a row
//   BLOCKS             of the longest quotient by the shortest divisor: longer blocks cost more
//                      reciprocal than they save in steps
template <class S, class M>
struct BlockedDivisionPolicy : DivisionRegisters<M> {
  using Product = M;
  static constexpr u32 LIMBS_PER_THREAD = 32;
  static constexpr u32 BLOCKS = 8;
  using Rows = Regrouped<S, min_of(LIMBS_PER_THREAD, S::N)>;
};
// Padded products of four tiles (H200, 2026-11-22, 2^16 bits): 6.5 % less time than unpadded ones,
// three tiles 2.5 %; at 2^15 bits three tiles take 10 % less than four. The longest rows, whose
// times were not measured with padded factors, have factors without zeros around them.
template <class S>
struct BlockedDivisionPolicy<S, TensorCore> : DivisionRegisters<TensorCore> {
  static constexpr u32 TILES = by_size(S::N, {{1024, 3}, {ANY, DIVISION_TILES_AT_A_TIME}});
  using Product = TensorColumns<TILES, MIN_TENSOR_COLUMNS, (S::N < 4096)>;
  static constexpr u32 LIMBS_PER_THREAD = 32;
  static constexpr u32 BLOCKS = by_size(S::N, {{4095, 4}, {ANY, 8}});
  using Rows = Regrouped<S, min_of(LIMBS_PER_THREAD, S::N)>;
};

// Exact division, one thread per row (div/exact.cuh). Blocks are small, so that their rows fit
// shared memory several times.
template <class S>
struct LaneExactPolicy {
  using Rows = Regrouped<S, S::N, 64>;
  static constexpr u32 REGISTERS = 128;
};

// The whole reciprocal, to the length of the quotient: shifted inverses (div/shifted_inverse.cuh)
// and divisions by them (div/div.cuh).
template <class S, class M>
struct InversePolicy : DivisionRegisters<M> {
  using Product = M;
  using Rows = S;
};
// If a multiprocessor's shared memory holds one row, the row has twice the warps.
template <class S>
struct InversePolicy<S, TensorCore> : DivisionRegisters<TensorCore> {
  using Product =
      typename Conditional<(S::N < MIN_TENSOR_LIMBS), Classical, TensorDivisionColumns>::Type;
  static constexpr u32 LIMBS_PER_THREAD = by_size(S::N, {{8191, TensorRows<S>::K}, {ANY, 16}});
  using Rows = TensorRows<S, Regrouped<S, LIMBS_PER_THREAD, 32>>;
};

// Rows of a batch that a block sorts by the lengths of their divisors, for each of its groups, if
// groups share a warp.
constexpr u32 SORTED_ROWS_PER_GROUP = 4;

// The preparation of divisors (div/prepare.cuh).
template <class S, class M>
struct PreparePolicy : DivisionRegisters<M> {
  using Product = M;
  using Rows = S;
};
template <class S>
struct PreparePolicy<S, TensorCore> : DivisionRegisters<TensorCore> {
  using Product = TensorDivisionColumns;
  using Rows = TensorRows<S>;
};

// Division by prepared divisors by groups of threads (div/by_prepared.cuh).
template <class S, class M>
struct PreparedDivisionPolicy : DivisionRegisters<M> {
  using Product = M;
  using Rows = S;
};
// Short products waste less with few tiles at a time, long ones read less with many. The number of
// registers is the least that avoids spills around the call of a product.
template <class S>
struct PreparedDivisionPolicy<S, TensorCore> {
  using Product = typename Conditional<
      (S::N < MIN_TENSOR_LIMBS), Classical,
      PaddedTensorColumns<by_size(S::N, {{1023, 2}, {4095, 3}, {ANY, 4}})>>::Type;
  using Rows = TensorRows<S>;
  static constexpr u32 REGISTERS = by_size(S::N, {{1023, 104}, {4095, 128}, {ANY, 168}});
};

// Maximum width of rows that a few lanes divide: the longest divisor must fit a warp, and with
// prepared divisors the lanes must be faster than a group with a reciprocal.
constexpr u32 LANE_DIVISION_BITS = 32768;
constexpr u32 LANE_DIVISION_BY_BITS = 16384;

// Division by a few lanes (div/lanes/division.cuh). Measured on an H100, 2026-11-25
// (benches/notebook/2026-11-25-divisions.md).
//   LIMBS_PER_LANE  limbs of the divisor. Long lanes spend less on estimates, short ones have more
//                   warps. Lanes of 16, 24, 32 and 48 limbs are full with divisors of half a row.
//   TILE            columns multiplied at a time; longer where registers suffice. A tile more costs
//                   2 to 3 % of the time. At 256 bits the lower of two tiles has products by zeros
//                   alone and is skipped: 0.944 of the time (H200, 2026-11-27).
//   SORTED_ROWS     rows that a block sorts at a time: for long rows about the share of a
//                   multiprocessor in a batch of 2^32 bits.
//   EQUAL_SHARES    true: as many blocks as run at a time have equal shares of the rows, fewer
//                   blocks if rows are few. false: each block takes one batch after another.
//   MIN_SHARE     minimum rows of a block before further blocks are launched.
//   BLOCKS          blocks that share a multiprocessor's threads: one if it surely has the shared
//                   memory.
//   WARP_CORRECTS   true: all lanes of a warp add 1 to a quotient together, where the carry may run
//                   over all of it; false: one lane does. For structured divisors the warp takes
//                   0.91 to 0.95 of the time from 6144 bits on, 0.94 to 1.27 below, and for others
//                   1.00 and 1.01 to 1.10 (H200, 2026-11-24).
template <class S, u32 CAPABILITY = POLICIES>
struct LaneDivisionPolicy {
  static constexpr u32 LIMBS_PER_LANE =
      by_size(S::N, {{128, 16}, {192, 24}, {256, 32}, {384, 48}, {ANY, 52}});
  static constexpr u32 LONG_TILE = power_of_two_at_least(S::N) == S::N ? 16 : 12;
  static constexpr u32 TILE =
      by_size(S::N, {{8, 8}, {128, 16}, {192, 12}, {256, 16}, {384, 24}, {ANY, LONG_TILE}});
  static constexpr u32 REGISTERS = by_size(S::N, {{128, 80}, {192, 96}, {256, 128}, {ANY, 168}});
  static constexpr bool EQUAL_SHARES = S::N > 192;
  static constexpr u32 MIN_SHARE = 64;
  static constexpr u32 BLOCKS = !EQUAL_SHARES ? 4 : by_capability(CAPABILITY, {{80, 2}, {90, 1}});
  static constexpr u32 THREADS = by_size(S::N, {{256, 512}, {ANY, 384}}) / BLOCKS;
  static constexpr u32 SORTED_ROWS =
      by_size(S::N, {{24, 256}, {64, 128}, {192, 256}, {256, 4096}, {512, 2048}, {ANY, 1024}});
  static constexpr bool WARP_CORRECTS = S::N > 128;
};

// Words of divisors that a lane loads at a time to search their lengths: as its registers hold.
template <class Policy>
constexpr u32 SCANNED_LOADS = Policy::REGISTERS < 96 ? 8 : 16;

// Words of zeros above a remainder from which on all lanes of a warp store them together.
constexpr u32 MIN_CLEARED_WORDS = 40;

// Rows that a warp classifies before it appends them to lists (div/classify.cuh). Lengths are
// searched faster by more warps; records hold them. Short rows wait more for each other's additions
// to the lists.
template <class S, bool PREPARED>
constexpr u32 CLASSIFIED_ROWS = PREPARED ? by_size(S::N, {{2048, 8}, {ANY, 1}})
                                         : by_size(S::N, {{512, 8}, {1024, 4}, {ANY, 1}});

// Division by lanes of rows with short divisors, within a division by transforms or tensor cores
// (div/short_divisors.cuh). Measured on an H200, 2026-11-22 and 2026-11-23.
//   MAX_LIMBS  limbs of a short divisor
//   MIN_ROWS  rows for each block of the grid below which lanes are slower, since they divide a
//               row one block of quotient after another
struct ShortLanePolicy {
  static constexpr u32 LIMBS_PER_LANE = 36;
  static constexpr u32 TILE = 12;
  static constexpr u32 REGISTERS = 128;
  static constexpr bool EQUAL_SHARES = true;
  static constexpr u32 MIN_SHARE = 1;
  static constexpr u32 THREADS = 256;
  static constexpr u32 SORTED_ROWS = 1024;
  static constexpr bool WARP_CORRECTS = true;
};

// By transforms: a warp holds five rows with divisors of 208 limbs, eight with 140; rows of 2^18
// bits are few in a batch, and take more time in two rounds.
template <class S, class M, bool PREPARED>
struct ShortRowPolicy : ShortLanePolicy {
  static constexpr u32 MAX_LIMBS = by_size(S::N, {{4096, 208}, {ANY, 140}});
  static constexpr u32 MIN_ROWS = 36;
};
template <class S, bool PREPARED>
struct ShortRowPolicy<S, TensorCore, PREPARED> : ShortLanePolicy {
  static constexpr u32 MAX_LIMBS = by_size(S::N, {{1024, 140}, {ANY, 208}});
  static constexpr u32 MIN_ROWS = !PREPARED ? 44 : by_size(S::N, {{1024, 51}, {ANY, 34}});
};

// Divisions by fused products of rows of ROW_LIMBS limbs, by divisors of TILES tiles
// (div/fused.cuh). Measured on an H200, 2026-11-23; MAX_TILES by counts.
//   BLOCK_TILES      of a block of quotient. Short blocks need less of a reciprocal and fewer
//                    registers.
//   MAX_TILES       of the remainder whose sums a warp has registers for
//   ROWS             of a block of threads
//   RESIDENT_WARPS   that a multiprocessor has registers for
//   SEEDS            rows whose reciprocals a warp begins together
template <u32 TILES, u32 ROW_LIMBS, bool PREPARED>
struct FusedDivisionPolicy {
  static constexpr u32 MAX_BLOCK_TILES =
      PREPARED ? 8 : by_size(ROW_LIMBS, {{512, 3}, {2048, 4}, {ANY, 8}});
  static constexpr u32 BLOCK_TILES = min_of(TILES / 2, MAX_BLOCK_TILES);
  static constexpr u32 MAX_TILES = 8;
  static constexpr u32 ROWS = 4;
  static constexpr u32 RESIDENT_WARPS = 16;
  static constexpr u32 SEEDS = by_size(TILES, {{8, 32}, {ANY, 16}});
};
template <class S, bool PREPARED>
struct ShortRowPolicy<S, Fused, PREPARED> : ShortLanePolicy {
  static constexpr u32 LIMBS_PER_LANE = 20;
  static constexpr u32 MAX_LIMBS = 64, MIN_ROWS = 36;
};

// Rows for each warp and class below which all classes are one phase. Measured on an H200,
// 2026-11-23: with 0.9 and 1.9 rows (2^18 and 2^17 bits), one phase takes 0.88 and 0.95 of the
// time; with 3.9 and 8.9 rows (2^16 and 2^15 bits), 1.16 and 1.07.
constexpr u32 MIN_ROWS_OF_PHASE = 3;

// Limbs of rows in whose divisions by transforms fused products divide by the shorter divisors.
constexpr u32 MIN_FUSED_LIMBS = 4096;

// Maximum points of a transform in a division, whose block has 25 bytes of shared memory for each.
constexpr u32 MAX_DIVISION_POINTS = BLOCK_KIB >= 8 * 25 + 2 ? 8192 : 4096;

// Widths at which lanes divide short divisors before tensor cores divide the others
// (div/by_length.cuh). At 2^15 bits lanes divide all rows without records in less time.
template <class S, bool PREPARED>
constexpr bool DIVIDES_SHORT_FIRST =
    S::LIMB_BITS == 32 && S::N % 512 == 0 && S::N <= 2048 && (PREPARED || S::N > 1024);

}  // namespace gpuint
