// Sums of products: for each row the sum of a_i b_i over the pairs i of batches, low (mod 2^BITS)
// or wide (mod 2^(2 BITS), with a mask of the rows that overflowed).
//
// The products of a row are added column by column, and the carries of the sum are resolved once. A
// row of k pairs reads 2k rows of factors and writes the sum. By k products and k - 1 additions it
// would read 4k - 2 rows and write 2k - 1, so that rows bound by memory take a third of the time.
//
// - One thread per row (lanes.cuh): the even and the odd columns of a low sum stay in registers.
//   Every chain of additions ends at the top of the number, where its carry is dropped, so that
//   each of the two is exact mod 2^BITS after any number of products. A wide product has no
//   registers left, so its limbs are added to the sum in shared memory.
// - Columns by a group (columns.cuh): each thread adds its tiles of a product to its stored tiles.
//   A tile of k products of n limbs is below k n B^(R + 1), so R + 2 limbs hold it for k n < B.
// - Tensor cores (tensor/sum_of_products.cuh): the sums of a warp's tiles stay in registers. A
//   column of k products of n bytes is at most k n 255^2, which 32 bits hold for k n < 66051: 32
//   products of 2^14 bits.
#pragma once
#include "core/abi.cuh"
#include "core/frame.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"
#include "mul/columns.cuh"
#include "mul/lanes.cuh"
#include "mul/mul.cuh"
#include "mul/pairs.cuh"
#include "tuning/mul.cuh"

namespace gpuint {

// One thread per row.
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
  static_assert(u64(ProductSumPolicy::MAX_PAIRS) * (Arena::OPERAND + WORD) < u64(1) << S::LIMB_BITS,
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

// The classical sum: by lanes for rows whose products are, else by groups.
template <class S, Extent E>
using ClassicalSum = typename Conditional<ClassicalProduct<S, E, 2>::SHORT,
                                          LaneSum<Width<S::BITS>, E>, RowSum<S, E>>::Type;

}  // namespace gpuint
