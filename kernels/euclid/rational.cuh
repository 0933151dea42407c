// Rational: the fraction n / d with n = d u modulo m and a bounded numerator.
//
// Euclid's algorithm on (m, u) has remainders r_i with cofactors t_i, r_i = t_i u modulo m. The
// result is the first r_i <= N, and |t_i|. If 2 N D < m and there are n and d without a common
// divisor, |n| <= N, 0 < d <= D, then they are these (P. S. Wang, "A p-adic algorithm for
// univariate partial fractions", SYMSAC 1981; J. von zur Gathen and J. Gerhard, "Modern Computer
// Algebra", 3rd edition, theorem 5.26).
//
// The passes of euclid.cuh keep b a remainder of Euclid's sequence, and a the one before it, from
// which multiples of b may have been subtracted. A pass of steps maps (a, b) to remainders with a =
// v1 a' + v0 b' and v0 <= v1 < 2^31, so that a' > a / 2^32. It passes no remainder below N if a has
// two limbs more than N; otherwise multiples are subtracted. The passes of one quotient compare b
// with N once: a comparison reads the limbs that agree, one after another.
#pragma once
#include "euclid/euclid.cuh"

namespace gpuint {

// Ends at the first remainder that is not above a bound.
template <class S>
struct NumeratorBound : Unobserved {
  const typename S::Limb* row;
  u32 length = 0;
  bool is_above = false;  // b is known to be above the bound

  GPUINT_DEVICE NumeratorBound(const typename S::Limb* row_, u32 limbs) : row(row_) {
    while (limbs > 0 && limb_of_32<S>(row, limbs - 1) == 0) --limbs;
    length = limbs;
  }
  GPUINT_DEVICE void swap() { is_above = false; }
  GPUINT_DEVICE bool ends(const EuclidNumber& b, u32, u32) {
    is_above = is_above || !is_in_bound(b);
    return !is_above;
  }
  GPUINT_DEVICE bool allows_steps(u32 top) const { return top >= length + 2; }

 private:
  GPUINT_DEVICE bool is_in_bound(const EuclidNumber& b) const {
    if (b.length != length) return b.length < length;
    u32 i = length;
    while (i > 0 && b.limbs[i - 1] == limb_of_32<S>(row, i - 1)) --i;
    return i == 0 || b.limbs[i - 1] < limb_of_32<S>(row, i - 1);
  }
};

// in[0] = u, in[1] = m > u, in[2] = N; out[0] = |n|, out[1] = d; the row's bit of the mask if n is
// negative.
template <class S, u32 PER_LANE = 32>
struct Rational : EuclidRows<S, 4, PER_LANE> {
  using Rows = EuclidRows<S, 4, PER_LANE>;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Rows rows(shared);
    rows.for_rows(o.rows, [&](u64 first, u32 count) {
      rows.load_with_cofactors(o.in[1], o.in[0], first, count);
      rows.team_sync();
      const bool active = rows.own < count;
      NumeratorBound<S> bound(input_row<S>(o, 2, first + (active ? rows.own : 0)),
                              active ? Rows::N : 0);
      const EuclidCofactors<1, Rows::N> cofactors{rows.number(2), rows.number(3)};
      const EuclidResult result = euclid(rows, cofactors, active, bound);
      const EuclidNumber& n = result.remainder;
      rows.team_sync();
      if (active) {
        if (n.limbs != rows.number(0)) rows.put(0, n.limbs, n.length);
        if (n.cofactor != rows.number(2)) rows.put(2, n.cofactor, result.cofactor_length);
        // The cofactors of neighbours differ in sign.
        if (!result.negative && n.length != 0 && rows.group.rank == 0)
          set_mask(o.mask, first + rows.own);
      }
      rows.team_sync();
      rows.store(o.out[0], first, count, 0);
      rows.store(o.out[1], first, count, 2);
    });
  }
};

}  // namespace gpuint
