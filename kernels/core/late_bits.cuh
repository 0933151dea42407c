// Late bits of Barrett's reductions: missing top bits of a modulus that the quotient is shifted by,
// instead of the operands.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

// l, given s.
template <u32 MAX_SHIFT>
GPUINT_DEVICE u32 late_bits(u32 shift) {
  return shift <= MAX_SHIFT ? shift : 0;
}

}  // namespace gpuint
