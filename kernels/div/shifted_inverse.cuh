// Shinv: the whole shifted inverse, floor(2^e / v), exactly (the paper's shinv_h(v) with e = h *
// digit bits).
//
// By a group: one block of quotient of the dividend 2^e, which is never stored, since limb i of it
// is known. The estimate is the floor or one less, as the remainder 2^e - w v shows, of which n + 1
// words are computed.
//
// By lanes: the division of div/lanes/division.cuh, whose dividend is never stored either.
//
// A row fails (lowest row in status) if v = 0 or the result needs more than BITS bits.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/frame.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"
#include "div/div.cuh"
#include "div/lanes/division.cuh"
#include "div/stores.cuh"
#include "tuning/division.cuh"

namespace gpuint {

template <class Policy>
struct GroupInverse : InverseFrame<Policy> {
  using Base = InverseFrame<Policy>;
  using Product = typename Policy::Product;
  using typename Base::Arena;
  using typename Base::Limb;
  using typename Base::S;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](typename Base::G& group, u64 row, const Arena& arena, u32 v_bits) {
      const u64 exponent = o.params.exponent;
      // 2^e / v < 2^BITS: surely if e < BITS + v_bits - 1, surely not if e is larger; if equal,
      // unless v is a power of two.
      bool fits = v_bits != 0 && exponent + 1 < u64(S::BITS) + v_bits;
      if (v_bits != 0 && exponent + 1 == u64(S::BITS) + v_bits)
        fits = !power_of_two(group, arena.v, v_bits);
      if (!fits) {
        write_quotient<S>(group, output_row<S>(o, 0, row), 0, S::WORDS, nullptr);
        if (group.rank == 0) set_status(o.status, row);
        return;
      }
      invert(group, arena, NormalizedDivisor<S>(v_bits), o, row);
    });
  }

 private:
  template <class G>
  GPUINT_DEVICE static bool power_of_two(G& group, const Limb* v, u32 bits) {
    bool other = false;
    for (u32 k = group.rank; k < S::WORDS * WORD; k += G::THREADS) {
      const bool top = k == (bits - 1) / S::LIMB_BITS;
      const Limb expected =
          top ? static_cast<Limb>(Limb(1) << ((bits - 1) % S::LIMB_BITS)) : Limb(0);
      other = other || v[k] != expected;
    }
    return group.max(other ? 1 : 0) == 0;
  }

  template <class G>
  GPUINT_DEVICE static void invert(G& group, const Arena& arena,
                                   const NormalizedDivisor<S>& divisor, const Operands& o,
                                   u64 row) {
    const auto power = [&](i32 i) {
      const u32 exponent = o.params.exponent;
      return i == static_cast<i32>(exponent / S::LIMB_BITS)
                 ? static_cast<Limb>(Limb(1) << (exponent % S::LIMB_BITS))
                 : Limb(0);
    };
    divide_in_one_block<S, Product>(
        group, arena, divisor, divisor.quotient_words(o.params.exponent + 1), power,
        [&](u32 p) { refine<S, Product>(group, arena, divisor, p); }, o, row);
  }
};

// The rows of the only operand as divisors of 2^exponent.
template <class S>
struct FirstOperand {
  GPUINT_DEVICE static const u32* at(const Operands& o, u64 row) { return input_row<S>(o, 0, row); }
};
template <class S>
struct InvertedRows : EveryRow<S, FirstOperand<S>> {
  static constexpr bool DIVIDES_POWER = true;
};

template <class S>
using LaneInverse = LaneDivision<S, InvertedRows<S>>;

}  // namespace gpuint
