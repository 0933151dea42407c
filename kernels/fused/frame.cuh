// Launches of kernels by fused products: one warp per row.
#pragma once
#include "core/rows.cuh"
#include "core/record.cuh"
#include "fused/products.cuh"

namespace gpuint {

// Rows assigned to warps with a grid stride.
template <class S, class Policy,
          class P = FusedProducts<S::BITS / (8 * TILE_DIGITS), Policy::SHARED_WIDE, Policy::KEPT>>
struct FusedFrame {
  static_assert(is_fused_width(S::BITS), "whole tiles, in the registers of a warp");
  static constexpr u32 TILES = S::BITS / (8 * TILE_DIGITS);
  using Products = P;
  using Forms = typename Products::Forms;
  using Limbs = typename Products::Limbs;
  static constexpr u32 ROWS = Policy::ROWS;
  static constexpr u32 THREADS = 32 * ROWS;
  static constexpr u32 SHARED = ROWS * Forms::TOTAL * sizeof(u32);
  static constexpr u32 MIN_BLOCKS = Policy::RESIDENT_WARPS / ROWS;

  // This warp's, with zeros around its forms.
  GPUINT_DEVICE static Products products(unsigned char* shared) {
    const Products own(reinterpret_cast<u32*>(shared) + threadIdx.x / 32 * Forms::TOTAL,
                       threadIdx.x % 32);
    own.clear();
    return own;
  }
  // Rows of this warp. Not a function that takes the work on a row as a lambda: that is too long
  // for compilers to inline by themselves.
  GPUINT_DEVICE static u64 first_row() { return u64(blockIdx.x) * ROWS + threadIdx.x / 32; }
  GPUINT_DEVICE static u64 row_stride() { return u64(gridDim.x) * ROWS; }
};

}  // namespace gpuint
