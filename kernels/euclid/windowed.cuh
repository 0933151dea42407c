// GcdWindowed and InverseModWindowed: the operations of gcd.cuh and inverse_mod.cuh by windows
// (windows.cuh).
#pragma once
#include "euclid/windows.cuh"
#include "tuning/euclid.cuh"

namespace gpuint {

// out[0] = gcd(in[0], in[1]).
template <class S, u32 WINDOW_BITS = WindowPolicy<S::BITS>::GCD_BITS>
struct GcdWindowed : WindowedRows<S, 2, WINDOW_BITS> {
  static __device__ void run(const Operands& o, unsigned char* shared) {
    WindowedRows<S, 2, WINDOW_BITS> rows(o, shared);
    rows.for_units(o.rows, [&](u64 first, u32 count) {
      rows.fetch(o.in[0], first, count, 0);
      rows.fetch(o.in[1], first, count, 1);
      rows.run(count);
      const u32 limbs = max_of(rows.length[0], rows.length[1]);
      rows.write(o.out[0], first, count, {rows.length[0] != 0 ? 0u : 1u, limbs, 0, 0});
      __syncwarp(~0u);
    });
  }
};

// in[0] = v, in[1] = n; out[0] = the inverse, or 0 and the row's bit of the mask if there is none.
// Windows end with (a, b) = (0, 1) and the inverse t, or with (1, 0), where t = n and the inverse
// is t - s.
template <class S, u32 WINDOW_BITS = WindowPolicy<S::BITS>::INVERSE_BITS>
struct InverseModWindowed : WindowedRows<S, 4, WINDOW_BITS> {
  static __device__ void run(const Operands& o, unsigned char* shared) {
    WindowedRows<S, 4, WINDOW_BITS> rows(o, shared);
    rows.for_units(o.rows, [&](u64 first, u32 count) {
      rows.fetch(o.in[1], first, count, 0);
      rows.fetch(o.in[0], first, count, 1);
      __syncwarp(~0u);
      const bool exists = rows.rank < count;
      const bool is_zero = rows.length[0] == 0;
      const bool is_one = exists && rows.length[0] == 1 && rows.at(0, rows.rank)[0] == 1;
      rows.run(count);
      const bool ends_with_a = exists && rows.is_one(0);
      const bool found = !is_zero && (ends_with_a || (exists && rows.is_one(1)));
      const bool is_wanted = found && !is_one;
      rows.write(
          o.out[0], first, count,
          {3, is_wanted ? rows.length[3] : 0, 2, is_wanted && ends_with_a ? rows.length[2] : 0});
      if (exists && !found) set_mask(o.mask, first + rows.rank);
      __syncwarp(~0u);
    });
  }
};

}  // namespace gpuint
