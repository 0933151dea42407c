// Declarations shared by all kernels that multiply whole rows.
#pragma once
#include "core/abi.cuh"

namespace gpuint {

// The extent of a product: mod 2^BITS, or 2 * BITS.
enum class Extent { Low, Wide };

template <class S, class M>
struct MulLow;
template <class S, class M>
struct MulWide;
template <class S, class M>
struct SquareLow;

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

}  // namespace gpuint
