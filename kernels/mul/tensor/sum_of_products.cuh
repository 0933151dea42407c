// Sums of products by tensor cores: mul/sum_of_products.cuh.
#pragma once
#include "core/abi.cuh"
#include "mul/pairs.cuh"
#include "mul/tensor/product.cuh"
#include "tuning/mul.cuh"

namespace gpuint {

// By tensor cores, one warp per row.
template <class S, Extent E>
struct TensorSum : TensorProduct<S, E, 2, TensorSumPolicy<S::BITS / (8 * TILE_DIGITS), E>> {
  using Policy = TensorSumPolicy<S::BITS / (8 * TILE_DIGITS), E>;
  using Base = TensorProduct<S, E, 2, Policy>;
  using Engine = typename Base::Engine;
  using G = typename Base::G;
  static_assert(Base::WARPS == 1 && Engine::GROUPS == 1, "a warp has the sums of all tiles");
  static_assert(u64(ProductSumPolicy::MAX_PAIRS) * (S::BITS / 8) * (255 * 255) < u64(1) << 32,
                "a column has 32 bits");

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const G group(nullptr);
    const typename Base::Forms factors(reinterpret_cast<u32*>(shared) + G::index() * Base::ARENA);
    factors.clear(group);
    group.sync();
    const Engine engine(factors, group.lane);
    const u32 pairs = pairs_of(o);
    typename Base::Pairs next;
    const auto read = [&](u64 row, u32 pair, u32 from) {
      GPUINT_UNROLL(2)
      for (u32 i = 0; i < 2; ++i) next.read(group, i, factor_row<S>(o, pair, i, row), from);
    };
    const u64 stride = u64(gridDim.x) * Base::ROWS;
    u64 row = u64(blockIdx.x) * Base::ROWS + G::index();
    if (Policy::READS_AHEAD && row < o.rows) read(row, 0, 0);
    GPUINT_UNROLL(1)
    for (; row < o.rows; row += stride) {
      typename Engine::Sums sums[HALVES<E>];
      GPUINT_UNROLL(2)
      for (u32 half = 0; half < HALVES<E>; ++half) Engine::clear(sums[half]);
      GPUINT_UNROLL(1)
      for (u32 pair = 0; pair < pairs; ++pair) {
        if constexpr (Policy::READS_AHEAD) {
          next.put(group, 0, factors);
          group.sync();
          if (pair + 1 < pairs)
            read(row, pair + 1, 0);
          else if (row + stride < o.rows)
            read(row + stride, 0, 0);
        } else {
          GPUINT_UNROLL(1)
          for (u32 from = 0; from < Base::LIMBS; from += Base::Pairs::LIMBS_READ) {
            read(row, pair, from);
            next.put(group, from, factors);
          }
          group.sync();
        }
        engine.add_low(0, sums[0]);
        if constexpr (E == Extent::Wide) engine.add_high(1, sums[1]);
        group.sync();
      }
      TileCarry carry;
      GPUINT_UNROLL(2)
      for (u32 half = 0; half < HALVES<E>; ++half) {
        u32 limbs[Base::NT];
        resolve_tiles<LimbsInOrder>(sums[half], group.lane, carry, limbs);
        u32* const to = sum_row<S, E>(o, row) + half * S::N + group.lane;
        GPUINT_UNROLL(16)
        for (u32 tile = 0; tile < Base::NT; ++tile) __stcs(to + tile * TILE_LIMBS, limbs[tile]);
      }
      if (E == Extent::Wide && o.mask != nullptr && group.lane == 0 &&
          (carry.above | carry.bit) != 0)
        set_mask(o.mask, row);
    }
  }
};

}  // namespace gpuint
