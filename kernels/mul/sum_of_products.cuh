// Sums of products: for each row the sum of a_i b_i over the pairs i of batches, low (mod 2^BITS)
// or wide (mod 2^(2 BITS), with a mask of the rows that overflowed).
//
// The products of a row are added column by column, and the carries of the sum are resolved once. A
// row of k pairs reads 2k rows of factors and writes the sum. By k products and k - 1 additions it
// would read 4k - 2 rows and write 2k - 1, so that rows bound by memory take a third of the time.
//
// - A lane to a row (lanes.cuh): the even and the odd columns of a low sum stay in registers. Every
//   chain of additions ends at the top of the number, where its carry is dropped, so that each of
//   the two is exact mod 2^BITS after any number of products. A wide product has no registers left,
//   so its limbs are added to the sum in shared memory.
// - Columns by a group (columns.cuh): each thread adds its tiles of a product to its stored tiles.
// A tile of k products of n limbs is below k n B^(R + 1), so R + 2 limbs hold it for k n <
//   B.
// - Tensor cores (toeplitz.cuh): the sums of a warp's tiles stay in registers. A column of k
//   products of n bytes is at most k n 255^2, which 32 bits hold for k n < 66051: 32 products of
//   2^14 bits.
#pragma once
#include "core/abi.cuh"
#include "core/frame.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"
#include "mul/columns.cuh"
#include "mul/lanes.cuh"
#include "mul/mul.cuh"
#include "mul/tensor/product.cuh"
#include "tuning/mul.cuh"

namespace gpuint {

// A row of a factor (0 or 1) of a pair.
template <class S>
GPUINT_DEVICE const typename S::Limb* factor_row(const Operands& o, u32 pair, u32 factor, u64 row) {
  const auto* const factors = static_cast<const typename S::Limb* const*>(o.in[0]);
  return factors[2 * pair + factor] + row * S::N;
}

// Number of pairs, at most ProductSumPolicy::MOST_PAIRS.
GPUINT_DEVICE u32 pairs_of(const Operands& o) {
  GPUINT_ASSERT(o.params.pairs >= 1 && o.params.pairs <= ProductSumPolicy::MOST_PAIRS,
                "columns are exact for few pairs");
  return o.params.pairs;
}

template <Extent E>
constexpr u32 HALVES = E == Extent::Wide ? 2 : 1;

// A row of the result.
template <class S, Extent E>
GPUINT_DEVICE typename S::Limb* sum_row(const Operands& o, u64 row) {
  return static_cast<typename S::Limb*>(o.out[0]) + row * (HALVES<E> * S::N);
}

// A lane to a row.
template <class S, Extent E>
struct LaneSum
    : LaneProduct<S, E, 2, 2 * HALVES<E>, ProductSumPolicy::lane_warps(S::N, 2 * HALVES<E>)> {
  using Base =
      LaneProduct<S, E, 2, 2 * HALVES<E>, ProductSumPolicy::lane_warps(S::N, 2 * HALVES<E>)>;
  static constexpr u32 N = S::N, ROWS = Base::ROWS, REGION = Base::REGION;
  static constexpr u32 MIN_BLOCKS =
      blocks_with_registers(ProductSumPolicy::lane_registers(N), Base::THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    u32* const region = Base::region(shared);
    u32* const own = region + ptx::thread() % 32 * Base::STRIDE;
    GPUINT_UNROLL(1)
    for (u64 of_block = u64(blockIdx.x) * ROWS; of_block < o.rows;
         of_block += u64(gridDim.x) * ROWS) {
      const u64 first = of_block + ptx::thread() / 32 * 32;
      const u32 rows = Base::rows_from(o.rows, first);
      const auto bring = [&](u32 pair) {
        GPUINT_UNROLL(2)
        for (u32 i = 0; i < 2; ++i)
          Base::bring(factor_row<S>(o, pair, i, first), rows, region + i * REGION);
        __syncwarp();
      };
      if constexpr (E == Extent::Low) {
        low(o, own, bring);
      } else {
        const bool overflows = wide(o, own, bring);
        if (o.mask != nullptr && overflows) set_mask(o.mask, first + ptx::thread() % 32);
      }
      __syncwarp();
      GPUINT_UNROLL(2)
      for (u32 half = 0; half < HALVES<E>; ++half)
        Base::take(region + (half + (E == Extent::Wide ? 2 : 0)) * REGION, rows,
                   sum_row<S, E>(o, first) + half * N, HALVES<E> * N);
      __syncwarp();
    }
  }

 private:
  // Overwrites the first factor's place.
  template <class Bring>
  GPUINT_DEVICE static void low(const Operands& o, u32* own, const Bring& bring) {
    u32 even[N] = {}, odd[N] = {};
    GPUINT_UNROLL(1)
    for (u32 pair = 0; pair < pairs_of(o); ++pair) {
      bring(pair);
      Base::template add_rows<N, false>(own, own + REGION, even, odd);
      __syncwarp();
    }
    u32 carry = 0;
    GPUINT_UNROLL()
    for (u32 k = 0; k < N; k += WORD) Base::finish_word(even, odd, k, carry, own + k);
  }

  // Writes the halves of the sum to the third and fourth places; returns true if it overflows. No
  // partial sum exceeds the sum, so it overflows if and only if an addition carries.
  template <class Bring>
  GPUINT_DEVICE static bool wide(const Operands& o, u32* own, const Bring& bring) {
    GPUINT_UNROLL(1)
    for (u32 k = 0; k < N; k += WORD) {
      clear_word(own + 2 * REGION + k);
      clear_word(own + 3 * REGION + k);
    }
    u32 overflow = 0;
    GPUINT_UNROLL(1)
    for (u32 pair = 0; pair < pairs_of(o); ++pair) {
      bring(pair);
      Base::wide(own, own + REGION);
      u32 carry = 0;
      GPUINT_UNROLL(2)
      for (u32 half = 0; half < 2; ++half) {
        GPUINT_UNROLL(1)
        for (u32 k = 0; k < N; k += WORD) add_word(own + half * REGION + k, carry);
      }
      overflow |= carry;
      __syncwarp();
    }
    return overflow != 0;
  }

  // Adds a word of a product to that of the sum.
  GPUINT_DEVICE static void add_word(u32* at, u32& carry) {
    u32 product[WORD], sum[WORD];
    load_word(at, product);
    load_word(at + 2 * REGION, sum);
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < WORD; ++i) sum[i] = add_carry(sum[i], product[i], carry);
    store_word(at + 2 * REGION, sum);
  }
};

// A group to a row.
template <class S, Extent E>
struct RowSum : Frame<S, ProductArena<S, Classical, E>::BYTES> {
  using Arena = ProductArena<S, Classical, E>;
  using Base = Frame<S, Arena::BYTES>;
  using Limb = typename S::Limb;
  static_assert(ROW_OF_WORDS<S>, "the width of a wide sum ends with a tile");
  static_assert(u64(ProductSumPolicy::MOST_PAIRS) * (Arena::OPERAND + WORD) < u64(1)
                                                                                  << S::LIMB_BITS,
                "a tile's sum has R + 2 limbs");

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](typename Base::G& group, u64 row, unsigned char* bytes) {
      const Arena arena(group, bytes);
      Columns<Limb> columns{};
      GPUINT_UNROLL(1)
      for (u32 pair = 0; pair < pairs_of(o); ++pair) {
        copy_in<S>(group, factor_row<S>(o, pair, 0, row), arena.a);
        copy_in<S>(group, factor_row<S>(o, pair, 1, row), arena.b);
        group.sync();
        const Factors<Limb> factors{arena.a, Arena::OPERAND, arena.b, Arena::OPERAND,
                                    0,       Arena::OUT};
        columns = pair == 0 ? Classical::multiply<Limb>(group, factors, arena.out, arena.overflow,
                                                        Arena::OVERFLOW, arena.scratch)
                            : Classical::add<Limb>(group, factors, arena.out, arena.overflow,
                                                   Arena::OVERFLOW);
        group.sync();
      }
      Limb* const sum = sum_row<S, E>(o, row);
      const u32 carry = write_product<S>(group, columns, sum, sum + S::N);
      if constexpr (E == Extent::Wide) {
        const Limb* const top = arena.overflow + 2 * (columns.width >> columns.log_tile) - 2;
        if (o.mask != nullptr && group.rank == 0 && (carry | top[0] | top[1]) != 0)
          set_mask(o.mask, row);
      }
    });
  }
};

// By tensor cores, a warp to a row.
template <class S, Extent E>
struct TensorSum : TensorProduct<S, E, 2, TensorSumPolicy<S::BITS / (8 * TILE_DIGITS), E>> {
  using Policy = TensorSumPolicy<S::BITS / (8 * TILE_DIGITS), E>;
  using Base = TensorProduct<S, E, 2, Policy>;
  using Engine = typename Base::Engine;
  using G = typename Base::G;
  static_assert(Base::WARPS == 1 && Engine::GROUPS == 1, "a warp has the sums of all tiles");
  static_assert(u64(ProductSumPolicy::MOST_PAIRS) * (S::BITS / 8) * (255 * 255) < u64(1) << 32,
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

template <class S, class M, Extent E>
struct SumBy;
template <class S, Extent E>
struct SumBy<S, Classical, E> {
  using Type = typename Conditional<ProductBy<S, Classical, E, 2>::SHORT,
                                    LaneSum<Width<S::BITS>, E>, RowSum<S, E>>::Type;
};
template <class S, Extent E>
struct SumBy<S, TensorCore, E> {
  using Type = TensorSum<S, E>;
};

// The sum of params.pairs products mod 2^BITS. in[0] = addresses of factors, out[0] = sums.
template <class S, class M>
struct SumOfProducts : SumBy<S, M, Extent::Low>::Type {};

// The same mod 2^(2 BITS) in rows of twice the width; mask: rows that overflowed.
template <class S, class M>
struct WideSumOfProducts : SumBy<S, M, Extent::Wide>::Type {};

}  // namespace gpuint
