// Declarations shared by all kernels that multiply whole rows.
#pragma once
#include "core/abi.cuh"
#include "core/strategies.cuh"

namespace gpuint {

// The limbs of half 0 (low) or 1 (high) of a row's product, 32 bits each; null if that half is not
// wanted. A wide product has its halves in out[0] and out[1], or, with params.joined, side by side
// in out[0].
template <Extent E>
GPUINT_DEVICE u32* half_of_product(const Operands& o, u64 row, u32 half, u32 limbs) {
  u64 at = row * limbs;
  if (E == Extent::Wide && o.params.joined == 1) {
    at += (row + half) * limbs;
    half = 0;
  }
  return o.out[half] == nullptr ? nullptr : static_cast<u32*>(o.out[half]) + at;
}

// Rows of a product: the inputs, and the halves of the result. A product inside an operation has
// other rows. If IS_FIRST_SHIFTED, first_limbs(o, row) has the limbs of the first factor, which is
// factor(o, 0, row) if is_unshifted(o, row).
template <class S, Extent E>
struct ProductRows {
  static constexpr u32 ROW_BYTES = 0;  // of a workspace
  static constexpr u32 SCRATCH = 0;    // device memory of a block
  static constexpr bool IS_FIRST_SHIFTED = false;

  GPUINT_DEVICE static bool is_skipped(const Operands&, u64) { return false; }
  GPUINT_DEVICE static const u32* factor(const Operands& o, u32 i, u64 row) {
    return static_cast<const u32*>(o.in[i]) + row * (S::BITS / 32);
  }
  // Null if the half is not wanted.
  GPUINT_DEVICE static u32* half(const Operands& o, u64 row, u32 half) {
    return half_of_product<E>(o, row, half, S::BITS / 32);
  }
};

}  // namespace gpuint
