// Policies of modular arithmetic by fused int8 products (modular/tensor/kernels.cuh), a warp to a
// row of TILES tiles of 1024 bits. Measured on an H200, 2026-11-22.
//   SHARED_WIDE      the halves of a wide product read rows and columns together, where registers
//                    hold the sums of both
//   ROWS             of a block
//   KEPT             rows of the modulus stay in registers from product to product
//   RESIDENT_WARPS   that a multiprocessor has registers for
//   PREFETCHES       the next row to the L2 cache
//   SEEDS            rows whose reciprocals a warp begins together: as many as shared memory has
//                    room for beside the forms of as many warps as registers suffice for
#pragma once
#include "core/platform.cuh"
#include "tuning/steps.cuh"

namespace gpuint {

template <u32 TILES, u32 CAPABILITY = POLICIES>
struct FusedProductPolicy {
  static constexpr bool SHARED_WIDE = TILES <= 6;
  static constexpr bool KEPT = false;
  static constexpr u32 ROWS = 4;
  static constexpr u32 OF_FOUR = by_capability(CAPABILITY, {{80, 16}, {90, 20}});
  static constexpr u32 RESIDENT_WARPS =
      by_size(TILES, {{2, 24}, {3, 20}, {4, OF_FOUR}, {8, 12}, {ANY, 8}});
  static constexpr bool PREFETCHES = TILES == 2 || (TILES > 4 && TILES <= 8);
};

// Products of residues.
template <u32 TILES>
struct FusedResiduePolicy {
  static constexpr bool SHARED_WIDE = TILES <= 4;
  static constexpr bool KEPT = false;
  static constexpr u32 ROWS = 4;
  static constexpr u32 RESIDENT_WARPS =
      by_size(TILES, {{2, 24}, {3, 20}, {4, 16}, {8, 12}, {ANY, 8}});
  static constexpr bool PREFETCHES = TILES >= 4;
};

template <u32 TILES>
struct FusedPowerPolicy {
  static constexpr bool SHARED_WIDE = TILES <= 8;
  static constexpr bool KEPT = TILES <= 2;
  static constexpr u32 ROWS = 4;
  static constexpr u32 RESIDENT_WARPS =
      by_size(TILES, {{2, 16}, {3, 20}, {4, 16}, {8, 12}, {ANY, 8}});
};

// Chains of Lucas tests.
template <u32 TILES>
struct FusedLucasPolicy {
  static constexpr bool SHARED_WIDE = TILES <= 8;
  static constexpr bool KEPT = false;
  static constexpr u32 ROWS = 4;
  static constexpr u32 RESIDENT_WARPS =
      by_size(TILES, {{2, 16}, {3, 20}, {4, 16}, {8, 12}, {ANY, 8}});
};

// Limbs of a reciprocal that a thread computes in registers, at most: little more than a tile, so
// that the first stage has three tiles where the row has a power of two of them, and two elsewhere.
constexpr u32 MAX_SEED_LIMBS = 35;

template <u32 TILES, u32 CAPABILITY = POLICIES>
struct FusedPreparePolicy {
  static constexpr u32 ROWS = 4;
  static constexpr u32 RESIDENT_WARPS = by_size(TILES, {{2, 20}, {8, 16}, {ANY, 8}});
  static constexpr u32 SEEDS = by_capability(
      CAPABILITY,
      {{80, by_size(TILES, {{8, 16}, {ANY, 8}})}, {90, by_size(TILES, {{4, 32}, {ANY, 16}})}});
};

}  // namespace gpuint
