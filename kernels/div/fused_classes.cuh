// Classes of divisors that fused products divide by (div/fused.cuh).
#pragma once
#include "core/platform.cuh"
#include "mul/tensor/tile_carries.cuh"

namespace gpuint {

// Tiles of the classes' divisors, rising.
template <u32... TILES>
struct FusedClasses {
  static constexpr u32 COUNT = sizeof...(TILES);
  GPUINT_DEVICE static constexpr u32 tiles(u32 index) {
    const u32 all[] = {TILES...};
    return all[index];
  }
  // The class of a divisor of `bits` bits, COUNT if it is longer.
  GPUINT_DEVICE static u32 class_of(u32 bits) {
    return (0 + ... + (bits > 8 * TILE_DIGITS * TILES ? 1 : 0));
  }
};
// Of rows of LIMBS limbs.
template <u32 LIMBS>
struct FusedClassesOf {
  using Type = FusedClasses<4, 6, 8, 12, 16, 24, 32>;
};
template <>
struct FusedClassesOf<512> {
  using Type = FusedClasses<4, 6, 8, 12, 16>;
};

}  // namespace gpuint
