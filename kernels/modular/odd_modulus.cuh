// PrepareOdd: records of odd moduli, for Montgomery's products from memory to memory.
//
// Record: n, and -1 / n mod 2^BITS where the kernels of the width take it (modular/tensor); zeros
// in place of it where they take the lowest digit's only (modular/fp64, modular/imad).
//
// A row with even n is reported (lowest row in status) and has no record.
#pragma once
#include "core/abi.cuh"
#include "core/frame.cuh"
#include "core/rows.cuh"

namespace gpuint {

template <class S>
struct OddModulus {
  static constexpr u32 LIMBS = 2 * S::N;
  const typename S::Limb* record;

  GPUINT_DEVICE OddModulus(const Operands& o, u64 row)
      : record(static_cast<const typename S::Limb*>(o.in[2]) +
               (o.params.broadcast_divisor != 0 ? 0 : row * LIMBS)) {}

  GPUINT_DEVICE const typename S::Limb* n() const { return record; }
  GPUINT_DEVICE const typename S::Limb* inverse() const { return record + S::N; }
};

// Tests for an odd modulus, and reports others.
template <class S>
GPUINT_DEVICE bool is_odd_modulus(const Operands& o, u64 row, bool reports) {
  if ((__ldg(input_row<S>(o, 0, row)) & 1) != 0) return true;
  if (reports) set_status(o.status, row);
  return false;
}

// in[0] = n, out[0] = records without inverses.
template <class S>
struct CopyOdd : Frame<S, 0> {
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      if (!is_odd_modulus<S>(o, row, group.rank == 0)) return;
      typename S::Limb* const record =
          static_cast<typename S::Limb*>(o.out[0]) + row * OddModulus<S>::LIMBS;
      for (u32 i = group.rank; i < OddModulus<S>::LIMBS; i += G::THREADS)
        record[i] = i < S::N ? __ldg(input_row<S>(o, 0, row) + i) : 0;
    });
  }
};

}  // namespace gpuint
