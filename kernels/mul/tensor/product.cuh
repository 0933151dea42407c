// Products by the tensor cores: low (mod 2^BITS), wide (2 * BITS) and the low square.
//
// A warp, or a block if a multiprocessor's shared memory holds few rows, brings a row's factors to
// shared memory in the forms of the fragments. It adds up the columns of the product NT tiles at a
// time (toeplitz.cuh) and resolves their carries upwards, tile by tile (tile_carries.cuh). Short
// rows are read while the previous row is computed; between long ones other warps fill the gap. The
// shortest low products read less of shared memory (short_rows.cuh). On GPUs with wgmma, low
// products of some lengths use it (warpgroup.cuh).
//
// A square is the product of a number with itself. Using each pair of digits once would save half
// of the mma, but blocks of s are not symmetric in the two operands (toeplitz.cuh), so half of the
// remaining rows would be masked: it does not pay. A square saves the reading of an operand.
#pragma once
#include "core/abi.cuh"
#include "core/group.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"
#include "mul/product_rows.cuh"
#include "mul/tensor/short_rows.cuh"
#include "mul/tensor/tile_carries.cuh"
#include "mul/tensor/toeplitz.cuh"
#include "mul/tensor/warpgroup.cuh"
#include "tuning/mul.cuh"

namespace gpuint {

template <class S, Extent E, u32 OPERANDS,
          class Policy = TensorProductPolicy<S::BITS / (8 * TILE_DIGITS), E>,
          class Rows = ProductRows<S, E>>
struct TensorProduct {
  static constexpr u32 LIMBS = S::BITS / 32;
  static constexpr u32 TILES = LIMBS / TILE_LIMBS;
  static_assert(S::BITS % (8 * TILE_DIGITS) == 0 && TILES <= 256,
                "whole tiles, whose sums stay below 2^31");
  static constexpr u32 NT = Policy::TILES_AT_A_TIME, WARPS = Policy::WARPS_PER_ROW;
  static_assert(Policy::ROWS == 1 || WARPS == 1, "a block has one barrier");
  using Forms = FactorForms<LIMBS, E == Extent::Wide>;
  using Engine = Toeplitz<TILES, NT, Policy::UNROLLED_STEPS, Forms>;
  using G = Group<32 * WARPS>;
  static constexpr u32 GROUPS = (E == Extent::Wide ? 2 : 1) * Engine::GROUPS;
  static constexpr u32 GROUP_LIMBS = NT * TILE_LIMBS;

  using Tiles = SharedTiles<WARPS, GROUPS, NT>;
  using Handover = typename Tiles::Handover;
  static constexpr u32 HANDOVERS = WARPS == 1 ? 0 : Tiles::HANDOVERS;
  static constexpr u32 ARENA = Forms::TOTAL + HANDOVERS;  // limbs of a row

  static constexpr u32 THREADS = G::THREADS * Policy::ROWS;
  static constexpr u32 SHARED = Policy::ROWS * ARENA * sizeof(u32);
  static constexpr u32 ROWS = Policy::ROWS;
  static constexpr u32 MIN_BLOCKS = max_of(1, Policy::RESIDENT_WARPS * 32 / THREADS);
  static constexpr u32 PERSISTENT = Policy::READS_AHEAD ? 1 : 0;
  static constexpr u32 SCRATCH = 0, ROW_BYTES = Rows::ROW_BYTES;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    each_row(o, shared,
             [&](const G& group, const Engine& engine, const Forms&, u64 row, Handover* handovers) {
               if constexpr (WARPS == 1)
                 by_one_warp(group, engine, o, row);
               else
                 by_warps(group, engine, o, row, handovers);
             });
  }

 protected:
  // multiply(group, engine, factors, row, handovers) for each row, whose factors are in place.
  template <class Multiply>
  GPUINT_DEVICE static void each_row(const Operands& o, unsigned char* shared,
                                     const Multiply& multiply) {
    u32* const arena = reinterpret_cast<u32*>(shared) + G::index() * ARENA;
    const G group(nullptr);
    const Forms factors(arena);
    factors.clear(group);
    group.sync();
    const u64 stride = u64(gridDim.x) * ROWS;
    u64 row = u64(blockIdx.x) * ROWS + G::index();
    Pairs next;
    const auto is_wanted = [&](u64 r) { return r < o.rows && !Rows::is_skipped(o, r); };
    if (Policy::READS_AHEAD && is_wanted(row)) next.read(group, o, row, 0);
    GPUINT_UNROLL(1)
    for (; row < o.rows; row += stride) {
      const bool is_skipped = Rows::is_skipped(o, row);
      if constexpr (Policy::READS_AHEAD) {
        if (!is_skipped) next.put(group, 0, factors);
        group.sync();
        if (is_wanted(row + stride)) next.read(group, o, row + stride, 0);
      }
      if (is_skipped) continue;
      if constexpr (!Policy::READS_AHEAD) {
        GPUINT_UNROLL(1)
        for (u32 from = 0; from < LIMBS; from += Pairs::LIMBS_READ) {
          next.read(group, o, row, from);
          next.put(group, from, factors);
        }
        group.sync();
      }
      multiply(group, Engine(factors, group.lane), factors, row,
               reinterpret_cast<Handover*>(arena + Forms::TOTAL));
    }
  }

  // Neighbouring limbs of the operands, two per lane and round, before they are written to shared
  // memory.
  struct Pairs {
    static constexpr u32 LIMBS_OF_ROUND = 2 * G::THREADS;
    static constexpr bool WHOLE =
        LIMBS % LIMBS_OF_ROUND == 0;  // or lanes have nothing to do in the last round
    static_assert(WHOLE || WARPS == 1, "the rows of a block are whole rounds");
    static constexpr u32 AT_A_TIME = Policy::READS_AHEAD ? LIMBS
                                     : Engine::IN_TURN   ? Policy::PAIRS_IN_TURN
                                                         : Policy::PAIRS;
    static constexpr u32 ROUNDS = largest_divisor(ceil_div(LIMBS, LIMBS_OF_ROUND), AT_A_TIME);
    static constexpr u32 LIMBS_READ = ROUNDS * LIMBS_OF_ROUND;
    uint2 pair[OPERANDS][ROUNDS];
    u32 below[OPERANDS][WARPS == 1 ? 1 : ROUNDS];  // lane 0: of the limb below its pair

    // Limbs from .. from + LIMBS_READ of a row.
    GPUINT_DEVICE void read(const G& group, const Operands& o, u64 row, u32 from) {
      if constexpr (Rows::IS_FIRST_SHIFTED)
        read(group, 0, Rows::first_limbs(o, row), from);
      else
        read(group, 0, Rows::factor(o, 0, row), from);
      if constexpr (OPERANDS == 2) read(group, 1, Rows::factor(o, 1, row), from);
    }

    template <class Limbs>
    GPUINT_DEVICE void read(const G& group, u32 i, const Limbs& limbs, u32 from) {
      GPUINT_UNROLL(16)
      for (u32 round = 0; round < ROUNDS; ++round) {
        const u32 k = from + round * LIMBS_OF_ROUND + 2 * group.rank;
        pair[i][round] = WHOLE || k < LIMBS ? pair_of(limbs, k) : make_uint2(0, 0);
        if constexpr (WARPS > 1)
          below[i][round] = group.lane == 0 && k > 0 ? limb_below(limbs, k) : 0;
      }
      if (WARPS == 1 && from == 0) below[i][0] = 0;
    }

    // Limbs k and k + 1 of a row, and limb k - 1. The overloads below take a row that shifts its
    // limbs on access.
    GPUINT_DEVICE static uint2 pair_of(const u32* limbs, u32 k) {
      return __ldg(reinterpret_cast<const uint2*>(limbs + k));
    }
    GPUINT_DEVICE static u32 limb_below(const u32* limbs, u32 k) { return __ldg(limbs + k - 1); }
    template <class Limbs>
    GPUINT_DEVICE static uint2 pair_of(const Limbs& limbs, u32 k) {
      return make_uint2(limbs[k], limbs[k + 1]);
    }
    template <class Limbs>
    GPUINT_DEVICE static u32 limb_below(const Limbs& limbs, u32 k) {
      return limbs[k - 1];
    }

    GPUINT_DEVICE void put(const G& group, u32 from, const Forms& factors) {
      GPUINT_UNROLL(2)
      for (u32 i = 0; i < OPERANDS; ++i) {
        GPUINT_UNROLL(16)
        for (u32 round = 0; round < ROUNDS; ++round) {
          const u32 k = from + round * LIMBS_OF_ROUND + 2 * group.rank;
          const uint2 limbs = pair[i][round];
          // Lane 0 gets the top lane's limb, which is below its next pair if a warp has the row to
          // itself.
          const u32 rotated = __shfl_sync(~0u, limbs.y, (group.lane + 31) % 32);
          const u32 beneath = group.lane == 0 ? below[i][WARPS == 1 ? 0 : round] : rotated;
          if constexpr (WARPS == 1) below[i][0] = rotated;
          if (!WHOLE && k >= LIMBS) continue;
          if (i == 0) factors.put_a(k, limbs, beneath);
          if (i == OPERANDS - 1) factors.put_b(k, limbs, beneath);
        }
      }
    }
  };

  // This lane's limb in the lowest tile of a group of a row's result; null if that half is not
  // wanted.
  GPUINT_DEVICE static u32* place(const G& group, const Operands& o, u64 row, u32 i) {
    const u32 half = i / Engine::GROUPS;
    u32* const limbs = Rows::half(o, row, half);
    return limbs == nullptr ? nullptr
                            : limbs + (i - half * Engine::GROUPS) * GROUP_LIMBS + group.lane;
  }

  GPUINT_DEVICE static bool is_wanted(const u32* place) {
    return E == Extent::Low || place != nullptr;
  }

  GPUINT_DEVICE static void add_up(const Engine& engine, u32 i, typename Engine::Sums& sums) {
    if (E == Extent::Low || i < Engine::GROUPS)
      engine.low(i, sums);
    else if constexpr (E == Extent::Wide)
      engine.high(i, sums);
  }

  // All groups of tiles from the lowest up.
  GPUINT_DEVICE static void by_one_warp(const G& group, const Engine& engine, const Operands& o,
                                        u64 row) {
    TileCarry carry;
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < GROUPS; ++i) {
      typename Engine::Sums sums;
      add_up(engine, i, sums);
      u32 limbs[NT];
      // Wide products have no register to spare for the lane index, so it is read again.
      resolve_tiles<LimbsInOrder>(sums, E == Extent::Wide ? ptx::thread() % 32 : group.lane, carry,
                                  limbs);
      u32* const to = place(group, o, row, i);
      if (is_wanted(to)) {
        GPUINT_UNROLL(16)
        for (u32 tile = 0; tile < NT; ++tile) __stcs(to + tile * TILE_LIMBS, limbs[tile]);
      }
    }
    group.sync();
  }

  // For the block's warps. The next barrier is the one after the next row is in place. Writing that
  // row may start at once, since nothing reads the factors of this row any more.
  GPUINT_DEVICE static void by_warps(const G& group, const Engine& engine, const Operands& o,
                                     u64 row, Handover* handovers) {
    Tiles::resolve(
        group, handovers, [&](u32 i, typename Engine::Sums& sums) { add_up(engine, i, sums); },
        [&](u32 i) { return place(group, o, row, i); });
  }
};

// Low products: of short rows, of long rows by warpgroups in code for GPUs with wgmma, and of
// others.
template <class S, u32 OPERANDS, bool = S::BITS <= ShortTensorPolicy::MAX_BITS,
          bool = is_for_warpgroups(S::BITS)>
struct LowTensorProduct : TensorProduct<S, Extent::Low, OPERANDS> {};
template <class S, u32 OPERANDS>
struct LowTensorProduct<S, OPERANDS, true, false> : ShortTensorProduct<S, OPERANDS> {};
#if defined(GPUINT_WGMMA)
template <class S, u32 OPERANDS>
struct LowTensorProduct<S, OPERANDS, false, true> : WarpgroupProduct<S, OPERANDS> {};
#endif

}  // namespace gpuint
