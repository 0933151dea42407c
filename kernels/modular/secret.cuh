// Operands that are secret: the instructions, branches and addresses of their kernels depend on
// shapes, rows and lengths alone. tests/ptx compares the traces of pairs of secrets.
#pragma once
#include "core/abi.cuh"
#include "core/rows.cuh"

namespace gpuint {

// Records of secret odd moduli: n, 2^(2 BITS) mod n, and for COUNT = 3 a factor times 2^(2 BITS)
// mod n.
template <class S, u32 COUNT>
struct SecretModulus {
  static constexpr u32 LIMBS = COUNT * S::N;
  const u32* record;

  GPUINT_DEVICE SecretModulus(const Operands& o, u64 row)
      : record(static_cast<const u32*>(o.in[2]) +
               (o.params.broadcast_divisor != 0 ? 0 : row * LIMBS)) {}

  GPUINT_DEVICE const u32* n() const { return record; }
  GPUINT_DEVICE const u32* square() const { return record + S::N; }
  GPUINT_DEVICE const u32* factor() const {
    static_assert(COUNT == 3);
    return record + 2 * S::N;
  }
};

}  // namespace gpuint
