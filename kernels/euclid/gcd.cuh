// Gcd: the greatest common divisor of two rows; gcd(a, 0) = a.
#pragma once
#include "euclid/binary.cuh"
#include "euclid/euclid.cuh"
#include "tuning/euclid.cuh"

namespace gpuint {

// out[0] = gcd(in[0], in[1]).
template <class S, u32 PER_LANE = 64>
struct LehmerGcd : EuclidRows<S, 2, PER_LANE> {
  using Rows = EuclidRows<S, 2, PER_LANE>;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Rows rows(shared);
    rows.for_rows(o.rows, [&](u64 first, u32 count) {
      rows.load_pair(o.in[0], o.in[1], first, count);
      rows.team_sync();
      Unobserved nothing;
      const EuclidResult result = euclid(rows, EuclidCofactors<0>{}, rows.own < count, nothing);
      // The other number is zero here.
      if (result.divisor.limbs != rows.number(0) && rows.own < count)
        rows.put(0, result.divisor.limbs, result.divisor.length);
      rows.team_sync();
      rows.store(o.out[0], first, count, 0);
    });
  }
};

template <class S>
struct Gcd : Conditional<(S::BITS <= GcdPolicy::BINARY_BITS), BinaryGcd<S>, LehmerGcd<S>>::Type {};

}  // namespace gpuint
