// Late bits of Barrett's reductions: missing top bits of a modulus that the quotient is shifted by,
// instead of the operands.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

// l, given s.
template <u32 MOST>
GPUINT_DEVICE u32 late_bits(u32 shift) {
  return shift <= MOST ? shift : 0;
}

}  // namespace gpuint
