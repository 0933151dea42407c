// Products of two rows: low (mod 2^BITS), wide (2 * BITS) and the low square.
//
// Both operands are copied to shared memory, the strategy M computes the columns (columns.cuh,
// karatsuba.cuh), and one resolution of carries writes them to global memory. A row that is short
// enough is multiplied by one lane (mul/lanes.cuh).
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/digits.cuh"
#include "core/frame.cuh"
#include "core/group.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"
#include "core/shape.cuh"
#include "mul/columns.cuh"
#include "mul/lanes.cuh"
#include "mul/product_rows.cuh"
#include "tuning/mul.cuh"

namespace gpuint {

// Shared memory of a product of two instances.
template <class S, class M, Extent E>
struct ProductArena {
  using Limb = typename S::Limb;
  static constexpr u32 OPERAND = S::WORDS * WORD;
  static constexpr u32 OUT = (E == Extent::Wide ? 2 : 1) * OPERAND;
  static constexpr u32 OVERFLOW = round_up(overflow_limbs(OUT), WORD);
  static constexpr u32 OWN_BYTES = (2 * OPERAND + 2 * M::ROW_PAD + OUT + OVERFLOW) * sizeof(Limb);
  static constexpr u32 SCRATCH =
      M::template scratch_limbs<S>(OPERAND, OUT, OWN_BYTES + Group<S::THREADS>::SCRATCH_BYTES);
  static constexpr u32 BYTES = OWN_BYTES + SCRATCH * sizeof(Limb);

  Limb *a, *b, *out, *overflow;
  Scratch<Limb, SCRATCH> scratch;

  template <class G>
  GPUINT_DEVICE ProductArena(const G& group, unsigned char* arena) {
    a = reinterpret_cast<Limb*>(arena);
    b = a + OPERAND + M::ROW_PAD;
    out = b + OPERAND + M::ROW_PAD;
    overflow = out + OUT;
    scratch.at = overflow + OVERFLOW;
    if (group.rank == 0) {
      GPUINT_UNROLL(2)
      for (u32 i = 0; i < M::ROW_PAD; i += WORD) {
        clear_word(b - M::ROW_PAD + i);
        clear_word(b + OPERAND + i);
      }
    }
  }
};

// Writes `columns` to a row, in chunks of whole words: limbs 0 .. N to low and the next N to high,
// either of which may be null. Returns the carry out.
template <class S, class G>
GPUINT_DEVICE u32 write_product(G& group, const Columns<typename S::Limb>& columns,
                                typename S::Limb* low, typename S::Limb* high) {
  using Limb = typename S::Limb;
  return resolve<Sign::Plus, LocalCarry::Binary, Limb, S::CHUNK>(
      group, columns.width, [&](u32 k, Limb(&x)[S::CHUNK]) { return columns.read(k, x); },
      [&](u32 k, Limb(&x)[S::CHUNK]) {
        GPUINT_UNROLL(S::CHUNK)
        for (u32 i = 0; i < S::CHUNK; i += WORD) {
          const u32 at = k + i;
          if constexpr (ROW_OF_WORDS<S>) {
            if (at < S::N) {
              if (low != nullptr) store_word(low + at, x + i);
            } else if (at < 2 * S::N) {
              if (high != nullptr) store_word(high + (at - S::N), x + i);
            }
          } else {
            GPUINT_UNROLL(4)
            for (u32 j = 0; j < WORD; ++j) {
              if (at + j < S::N) {
                if (low != nullptr) low[at + j] = x[i + j];
              } else if (at + j < 2 * S::N) {
                if (high != nullptr) high[at + j - S::N] = x[i + j];
              }
            }
          }
        }
      });
}

// The product of two rows, or of one by itself (OPERANDS = 1).
template <class S, class M, Extent E, u32 OPERANDS>
struct RowProduct : Frame<S, ProductArena<S, M, E>::BYTES> {
  using Arena = ProductArena<S, M, E>;
  using Base = Frame<S, Arena::BYTES>;
  using Limb = typename S::Limb;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](typename Base::G& group, u64 row, unsigned char* bytes) {
      const Arena arena(group, bytes);
      copy_in<S>(group, input_row<S>(o, 0, row), arena.a);
      if constexpr (OPERANDS == 2) copy_in<S>(group, input_row<S>(o, 1, row), arena.b);
      group.sync();
      const auto columns = multiply(group, arena);
      group.sync();
      Limb* low = output_row<S>(o, 0, row);
      Limb* high = nullptr;
      if constexpr (E == Extent::Wide) {
        high = output_row<S>(o, 1, row);
        if (o.params.joined == 1) {
          low = output_row<S>(o, 0, 2 * row);
          high = low + S::N;
        }
      }
      write_product<S>(group, columns, low, high);
    });
  }

 private:
  template <class G>
  GPUINT_DEVICE static Columns<Limb> multiply(G& group, const Arena& arena) {
    if constexpr (OPERANDS == 2)
      return M::template multiply<Limb>(
          group, {arena.a, Arena::OPERAND, arena.b, Arena::OPERAND, 0, Arena::OUT}, arena.out,
          arena.overflow, Arena::OVERFLOW, arena.scratch);
    else
      return M::template square<Limb>(group, {arena.a, Arena::OPERAND, nullptr, 0, 0, Arena::OUT},
                                      arena.out, arena.overflow, arena.scratch);
  }
};

// The classical product of two rows. One lane multiplies a short row, in limbs of 32 bits for every
// digit; long rows use wide tiles.
template <class S, Extent E, u32 OPERANDS>
struct ClassicalProduct {
  using Lanes = LaneProductPolicy;
  using Wide = WideTilePolicy;
  static constexpr bool SHORT =
      S::Q >= Lanes::MIN_Q && S::BITS % (32 * WORD) == 0 && S::BITS <= 32 * Lanes::MAX_LIMBS;
  static constexpr bool LONG = OPERANDS == 2 && S::LIMB_BITS == 32 && S::N >= Wide::MIN_LIMBS &&
                               S::N % Wide::LIMBS_PER_THREAD == 0 &&
                               S::K >= Wide::MIN_LIMBS_PER_THREAD && S::K <= Wide::LIMBS_PER_THREAD;
  using Tiled = RowProduct<Regrouped<S, Wide::LIMBS_PER_THREAD>, ClassicalTiles<Wide::WIDE_TILE>, E,
                           OPERANDS>;
  using Type = typename Conditional<
      SHORT, LaneProduct<Width<S::BITS>, E, OPERANDS>,
      typename Conditional<LONG, Tiled, RowProduct<S, Classical, E, OPERANDS>>::Type>::Type;
};

}  // namespace gpuint
