// Operands of modular products with a row to a thread, and their copies to stages.
#pragma once
#include "core/record.cuh"
#include "modular/by_thread/stage.cuh"
#include "modular/odd_modulus.cuh"

namespace gpuint::by_thread {

// Operands of a product, as indices of `Operands::in`.
enum Input : u32 { LHS, RHS, MODULUS };

// The last factor of a product, and the only one of a square.
template <u32 FACTORS>
constexpr Input LAST_FACTOR = FACTORS == 2 ? RHS : LHS;

// Operands of MulResidues and SquareResidues. One row of a modulus or of the second factor may
// serve all rows.
template <class S>
struct ResidueOperands {
  const Operands& o;
  u32 modulus_stride, rhs_stride;

  GPUINT_DEVICE explicit ResidueOperands(const Operands& operands)
      : o(operands),
        modulus_stride(o.params.broadcast_divisor != 0 ? 0 : OddModulus<S>::LIMBS),
        rhs_stride(o.params.broadcast_rhs != 0 ? 0 : S::N) {}

  // Limbs from a row to the next; 0 if one row serves all.
  GPUINT_DEVICE u32 stride(Input input) const {
    return input == MODULUS ? modulus_stride : input == RHS ? rhs_stride : S::N;
  }
  GPUINT_DEVICE const u32* row(Input input, u64 i) const {
    return static_cast<const u32*>(o.in[input]) + i * stride(input);
  }
  // Starts to copy a warp's rows.
  GPUINT_DEVICE void prefetch(Input input, const WarpRows& rows, u32* stage) const {
    prefetch_rows<S::N>(row(input, rows.first), stride(input), rows.count, stage);
  }
  // Starts to copy the 32 rows from row `from` on, if there are any.
  GPUINT_DEVICE void prefetch(Input input, u64 from, u32* stage) const {
    if (from >= o.rows) return;
    prefetch_rows<S::N>(row(input, from), stride(input), WarpRows(from, o.rows).count, stage);
  }
};

// The records of the warp's rows in a turn.
template <class S>
struct WarpRecords {
  const u32* first;
  u32 stride, count;

  // Bit length of a lane's divisor; lanes without a row have that of the last one.
  GPUINT_DEVICE u32 bits(u32 lane) const { return __ldg(first + min_of(lane, count - 1) * stride); }
  // Starts to copy the top LIMBS limbs of the reciprocals.
  template <u32 LIMBS>
  GPUINT_DEVICE void prefetch_reciprocal(u32* stage) const {
    prefetch_rows<LIMBS>(first + Record<S>::Y_END - LIMBS, stride, count, stage);
  }
  GPUINT_DEVICE void prefetch_modulus(u32* stage) const {
    prefetch_rows<S::N>(first + Record<S>::V, stride, count, stage);
  }
};

// Operands of MulMod and SquareMod. One record may serve all rows.
template <class S>
struct RecordOperands {
  const Operands& o;
  u32 stride;

  GPUINT_DEVICE explicit RecordOperands(const Operands& operands)
      : o(operands), stride(o.params.broadcast_divisor != 0 ? 0 : Record<S>::LIMBS) {}

  // Starts to copy the 32 rows from row `from` on, if there are any.
  GPUINT_DEVICE void prefetch(Input factor, u64 from, u32* stage) const {
    if (from >= o.rows) return;
    prefetch_rows<S::N>(static_cast<const u32*>(o.in[factor]) + from * S::N, S::N,
                        WarpRows(from, o.rows).count, stage);
  }
  GPUINT_DEVICE WarpRecords<S> records(const WarpRows& rows) const {
    return {static_cast<const u32*>(o.in[MODULUS]) + rows.first * stride, stride, rows.count};
  }
};

}  // namespace gpuint::by_thread
