// Low products by the matrix instructions of a warpgroup: one block of four warps per row.
//
// The block brings a row's factors to shared memory in the forms of toeplitz_wgmma.cuh and adds up
// all columns of the product in registers. Neighbouring columns are then in different lanes, so the
// sums pass through shared memory once, overwriting the factors: each lane gets the four sums of a
// limb, and carries are resolved as in other tensor core products (tile_carries.cuh). While one
// block reads or resolves, others of the multiprocessor keep the matrix units busy.
//
// Banks: 64 sums and 4 limbs of padding to a column: the lanes (g, t) of a warp store at 8t + g; a
// lane reads four in a row.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/group.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"
#include "mul/product_rows.cuh"
#include "mul/tensor/tile_carries.cuh"
#include "mul/tensor/toeplitz_wgmma.cuh"
#include "tuning/mul.cuh"

namespace gpuint {

#if defined(GPUINT_WGMMA)

template <class S, u32 OPERANDS>
struct WarpgroupProduct {
  static constexpr u32 LIMBS = S::BITS / 32;
  using G = Group<128>;
  using Forms = WarpgroupForms<LIMBS>;
  using Engine = WarpgroupToeplitz<Forms>;
  static constexpr u32 NT = LIMBS / TILE_LIMBS / G::WARPS;  // tiles of a warp
  using Tiles = SharedTiles<G::WARPS, G::WARPS, NT>;
  static constexpr u32 PLACE = COLUMN_DIGITS + 4;  // of the sums of a column
  static constexpr u32 ARENA = max_of(Forms::TOTAL, Forms::COLUMNS* PLACE);

  static constexpr u32 THREADS = G::THREADS;
  static constexpr u32 SHARED = (ARENA + Tiles::HANDOVERS) * sizeof(u32);
  static constexpr u32 ROWS = 1;
  static constexpr u32 MIN_BLOCKS = WarpgroupPolicy::blocks(LIMBS);
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 SCRATCH = 0;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    u32* const arena = reinterpret_cast<u32*>(shared);
    auto* const handovers = reinterpret_cast<typename Tiles::Handover*>(arena + ARENA);
    G group(nullptr);
    GPUINT_UNROLL(1)
    for (u64 row = blockIdx.x; row < o.rows; row += gridDim.x) {
      group.renew();
      const Forms factors(arena);
      factors.clear(group);
      read(group, o, row, factors);
      ptx::publish_to_wgmma();
      group.sync();
      typename Engine::Sums sums;
      const Engine engine(factors, group.rank / 32, group.lane, static_cast<u32>(o.rows >> 63));
      engine.low(sums);
      group.sync();
      group.renew();
      put(group, sums, arena);
      group.sync();
      // Two columns to a tile.
      Tiles::resolve(
          group, handovers,
          [&](u32 i, typename Tiles::Sums& tiles) {
            const u32* const from =
                arena + (2 * NT * i + group.lane / 16) * PLACE + group.lane % 16 * 4;
            GPUINT_UNROLL(16)
            for (u32 tile = 0; tile < NT; ++tile) load_word(from + tile * (2 * PLACE), tiles[tile]);
          },
          [&](u32 i) {
            return half_of_product<Extent::Low>(o, row, 0, LIMBS) + i * (NT * TILE_LIMBS) +
                   group.lane;
          });
    }
  }

 private:
  GPUINT_DEVICE static void read(const G& group, const Operands& o, u64 row, const Forms& factors) {
    const u32* const a = static_cast<const u32*>(o.in[0]) + row * LIMBS;
    const u32* const b = static_cast<const u32*>(o.in[OPERANDS - 1]) + row * LIMBS;
    GPUINT_UNROLL(4)
    for (u32 k = WORD * group.rank; k < LIMBS; k += WORD * G::THREADS) {
      const uint4 of_a = __ldg(reinterpret_cast<const uint4*>(a + k));
      const uint4 of_b = OPERANDS == 1 ? of_a : __ldg(reinterpret_cast<const uint4*>(b + k));
      const u32 of_lane_below = __shfl_up_sync(~0u, of_a.w, 1);
      factors.put_a(k, of_a, group.lane > 0 ? of_lane_below : k > 0 ? __ldg(a + k - 1) : 0);
      factors.put_b(k, of_b);
    }
  }

  GPUINT_DEVICE static void put(const G& group, const typename Engine::Sums& sums, u32* arena) {
    u32* const place = arena + group.lane % 4 * (2 * PLACE) + group.rank / 32 * 8 + group.lane / 4;
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < Forms::COLUMNS / 8; ++i) {
      u32* const at = place + i * (8 * PLACE);
      at[0] = sums[4 * i], at[PLACE] = sums[4 * i + 1];
      at[32] = sums[4 * i + 2], at[PLACE + 32] = sums[4 * i + 3];
    }
  }
};

// Returns true if low products of `bits` bits use wgmma: each warp has whole tiles.
__host__ __device__ constexpr bool is_for_warpgroups(u32 bits) {
  return bits >= WarpgroupPolicy::MIN_BITS && bits <= WarpgroupPolicy::MAX_BITS && bits % 8192 == 0;
}

#else

__host__ __device__ constexpr bool is_for_warpgroups(u32) { return false; }

#endif

}  // namespace gpuint
