// InverseMod: the number c < n with c v = 1 modulo n, for rows v and moduli n without a common
// divisor.
//
// Euclid's algorithm (euclid.cuh) ends with 1 = +-c v modulo n, where c + (a part of n) = n by its
// invariant, so c < n for n > 1; a negative c is subtracted from n.
#pragma once
#include "euclid/euclid.cuh"

namespace gpuint {

// in[0] = v, in[1] = n; out[0] = the inverse, or 0 and the row's bit of the mask if there is none:
// gcd(v, n) != 1, or n = 0. Modulo 1 the inverse is 0.
template <class S, u32 PER_LANE = 32>
struct InverseMod : EuclidRows<S, 4, PER_LANE> {
  using Rows = EuclidRows<S, 4, PER_LANE>;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Rows rows(shared);
    rows.for_rows(o.rows, [&](u64 first, u32 count) {
      rows.load_with_cofactors(o.in[1], o.in[0], first, count);
      rows.team_sync();
      Unobserved nothing;
      const EuclidCofactors<1, Rows::N> cofactors{rows.number(2), rows.number(3)};
      const EuclidResult result = euclid(rows, cofactors, rows.own < count, nothing);
      bool found = result.is_one();
      rows.team_sync();
      rows.load(o.in[1], first, count, 0);
      rows.team_sync();
      u32* const n = rows.number(0);
      const u32* const c = result.divisor.cofactor;
      // The cofactor of 0 is n if the divisor is 1, so n is as long as the cofactors, unless it is
      // 0.
      const u32 length = result.cofactor_length;
      const bool tiny = length == 1 && n[0] <= 1;
      if (tiny && n[0] == 0) found = false;
      rows.team_sync();
      const bool subtract = rows.own < count && found && !tiny && result.negative;
      rows.add_shifted(n, c, subtract ? Rows::N : 0, 1, 0, 0, ~0u);
      if (rows.own < count) {
        if (!subtract) rows.put(0, c, found && !tiny ? length : 0);
        if (!found && rows.group.rank == 0) set_mask(o.mask, first + rows.own);
      }
      rows.team_sync();
      rows.store(o.out[0], first, count, 0);
    });
  }
};

}  // namespace gpuint
