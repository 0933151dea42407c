// Resize: rows of another width, padded with zeros or cut.
#pragma once
#include "core/abi.cuh"
#include "core/frame.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"

namespace gpuint {

// in[0] = a; out[0] = a modulo 2^target_bits in rows of target_bits bits; rows that do not fit
// fail.
template <class S>
struct Resize : Frame<S, 0> {
  using Limb = typename S::Limb;
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 target = o.params.target_bits;
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const Limb* const a = input_row<S>(o, 0, row);
      if (o.status != nullptr && target < S::BITS) {
        const u32 bits = group.max(bits_seen<S>(group, a));
        if (bits > target && group.rank == 0) set_status(o.status, row);
      }
      if (target % S::LIMB_BITS == 0)
        copy<Limb>(group, a, static_cast<Limb*>(o.out[0]), row, target);
      else
        copy<u16>(group, reinterpret_cast<const u16*>(a), static_cast<u16*>(o.out[0]), row, target);
    });
  }

 private:
  template <class Unit>
  GPUINT_DEVICE static void copy(const G& group, const Unit* from, Unit* out, u64 row, u32 target) {
    constexpr u32 UNIT = 8 * sizeof(Unit);
    const u32 count = target / UNIT;
    Unit* const to = out + row * count;
    for (u32 i = group.rank; i < count; i += G::THREADS)
      to[i] = i < S::BITS / UNIT ? __ldg(from + i) : Unit(0);
  }
};

}  // namespace gpuint
