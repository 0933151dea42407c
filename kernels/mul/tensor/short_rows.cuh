// Low products of short rows by the tensor cores: one warp per row, in blocks of as many warps as a
// multiprocessor holds, which read and write long stretches of memory.
//
// A row is read into registers while the previous one is computed, four limbs per lane, so it has
// at most 128 limbs (toeplitz_short.cuh, tile_carries.cuh).
#pragma once
#include "core/abi.cuh"
#include "core/group.cuh"
#include "mul/product_rows.cuh"
#include "mul/tensor/toeplitz_short.cuh"
#include "tuning/mul.cuh"

namespace gpuint {

template <class S, u32 OPERANDS>
struct ShortTensorProduct {
  static constexpr u32 LIMBS = S::BITS / 32;
  using G = Group<32>;
  using Forms = ShortForms<LIMBS>;
  using Engine = ShortToeplitz<LIMBS>;
  static_assert(LIMBS % TILE_LIMBS == 0 && LIMBS <= 4 * G::THREADS,
                "whole tiles, four limbs to a lane at most");

  static constexpr u32 ROWS = ShortTensorPolicy::rows(LIMBS);
  static constexpr u32 THREADS = G::THREADS * ROWS;
  static constexpr u32 SHARED = ROWS * Forms::TOTAL * sizeof(u32);
  static constexpr u32 MIN_BLOCKS = 1;
  static constexpr u32 PERSISTENT = 1;
  static constexpr u32 SCRATCH = 0;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const G group(nullptr);
    const Forms factors(reinterpret_cast<u32*>(shared) + G::index() * Forms::TOTAL);
    factors.clear(group.lane);
    const u64 stride = u64(gridDim.x) * ROWS;
    u64 row = u64(blockIdx.x) * ROWS + G::index();
    Limbs next;
    if (row < o.rows) next.read(group, o, row);
    GPUINT_UNROLL(1)
    for (; row < o.rows; row += stride) {
      next.put(group, factors);
      group.sync();
      if (row + stride < o.rows) next.read(group, o, row + stride);
      const Engine engine(factors, group.lane);
      typename Engine::Sums sums;
      engine.low(sums);
      TileCarry carry;
      u32 limbs[Engine::TILES];
      resolve_tiles<typename Engine::Limbs>(sums, group.lane, carry, limbs);
      u32* const to = static_cast<u32*>(o.out[0]) + row * LIMBS + Engine::Limbs::limb(group.lane);
      GPUINT_UNROLL(4)
      for (u32 tile = 0; tile < Engine::TILES; ++tile) __stcs(to + tile * TILE_LIMBS, limbs[tile]);
      group.sync();
    }
  }

 private:
  // This lane's limbs of the operands, before they are written to shared memory.
  struct Limbs {
    uint4 limbs[OPERANDS];

    GPUINT_DEVICE static bool has_any(const G& group) {
      return LIMBS == 4 * G::THREADS || 4 * group.lane < LIMBS;
    }

    GPUINT_DEVICE void read(const G& group, const Operands& o, u64 row) {
      GPUINT_UNROLL(2)
      for (u32 i = 0; i < OPERANDS; ++i) {
        const uint4* const words = static_cast<const uint4*>(o.in[i]) + row * (LIMBS / 4);
        limbs[i] = has_any(group) ? __ldg(words + group.lane) : make_uint4(0, 0, 0, 0);
      }
    }

    GPUINT_DEVICE void put(const G& group, const Forms& factors) const {
      const uint4& b = limbs[OPERANDS - 1];
      const u32 below = __shfl_up_sync(~0u, b.w, 1);
      if (!has_any(group)) return;
      factors.put_a(4 * group.lane, limbs[0]);
      factors.put_b(4 * group.lane, b, group.lane == 0 ? 0 : below);
    }
  };
};

}  // namespace gpuint
