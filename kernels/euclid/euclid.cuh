// Euclid's algorithm for rows: the common part of gcd, half-gcds, inverses, fractions and Jacobi
// symbols.
//
// A row's pair (a, b) is in shared memory (rows.cuh), with its cofactors if they are wanted. A pass
// reads the leading 64 bits of both and applies the matrix of Lehmer's steps (leading.cuh). If not
// even one step is certain, it subtracts a multiple of b from a instead:
//     a -= q 2^s b,    q = floor(floor(x / 4) / (y + 1)), shifted right where s would be negative,
// with x the leading 64 bits of a and y the leading 32 bits of b, so that q 2^s b <= a; or a -= b
// if q would be 0. Every pass makes a + b smaller, so the loop ends for every operand. Both kinds
// of passes are unimodular, so it ends with b = 0 and a the greatest common divisor, unless an
// observer ends it before.
//
// Cofactors are magnitudes. With a = +-ca v and b = -+cb v modulo n, at the start (a, ca) = (n, 0)
// and (b, cb) = (v, 1), every pass keeps
//     ca b + cb a = n,
// so that ca <= n / b and cb <= n / a: they need no more limbs than n. The lengths of a and b
// shrink while those of ca and cb grow.
//
// A pass computes a bound of the length of the longer cofactor, which is at most two limbs too
// long, so that its leading zeros are counted in constant time:
// - Steps leave ca' <= cb' and cb' >= max(ca, cb), and add at most a limb.
// - A multiple with s = 0 adds at most a limb. For s > 0 the bound is that of n / b: as a' <= a / 2
//   and cb a <= n, ca' b = n - cb a' is at least n / 2. Only the first pass of a long quotient
//   lengthens ca.
// A pair of cofactors for each of two numbers n is bounded by the longer one.
#pragma once
#include "core/math.cuh"
#include "euclid/leading.cuh"
#include "euclid/numbers.cuh"
#include "euclid/rows.cuh"

namespace gpuint {

// Observer of the quotients that does nothing and stops at b = 0. Jacobi symbols need the
// quotients, rational numbers a remainder, half-gcds remainders above a bound.
struct Unobserved {
  // True if a and b keep their roles: b is the remainder after a.
  static constexpr bool IS_ORDERED = true;
  // True if `is_bounded(q, difference, a, b)` decides whether a - q 2^s b is a remainder. The
  // leading bits of a and b differ by `difference`.
  static constexpr bool IS_BOUNDED = false;

  GPUINT_DEVICE void begin(const EuclidNumber&, const EuclidNumber&) {}
  GPUINT_DEVICE void swap() {}
  GPUINT_DEVICE void subtract(u32) {}  // a -= q b, q modulo 4
  // Returns true if numbers of `top` limbs are their leading bits.
  GPUINT_DEVICE static bool is_exact(u32 top) { return top <= 2; }
  // Returns true if no pass follows on 0 < b <= a; a has `top` limbs less `shift` bits.
  GPUINT_DEVICE bool ends(const EuclidNumber&, u32, u32) const { return false; }
  // Returns true if a pass may take several steps on numbers of `top` limbs.
  GPUINT_DEVICE bool allows_steps(u32) const { return true; }
  // Returns the factor q to subtract, given that of the leading bits.
  GPUINT_DEVICE static u32 factor(u32 q) { return max_of(q, 1); }
  GPUINT_DEVICE static void count_multiple() { GPUINT_RARE(EuclidSubtraction); }
};

// Result of Euclid's algorithm: the greatest common divisor, or the remainder before the last, and
// the sign of its cofactor; the last remainder.
struct EuclidResult {
  EuclidNumber divisor;
  EuclidNumber remainder;
  u32 cofactor_length;  // of both cofactors
  bool negative;

  GPUINT_DEVICE bool is_one() const { return divisor.length == 1 && divisor.limbs[0] == 1; }
};

// Cofactors of each number of a pair: `COUNT` of at most `LIMBS` limbs, `STRIDE` limbs apart.
template <u32 COUNT_, u32 LIMBS_ = 0, u32 STRIDE_ = 0>
struct EuclidCofactors {
  static constexpr u32 COUNT = COUNT_, LIMBS = LIMBS_, STRIDE = STRIDE_;
  u32 *a, *b;  // the first one of each number

  // Returns the bits of the highest limbs of `length`.
  GPUINT_DEVICE static u32 top_limbs(const u32* of_a, const u32* of_b, u32 length) {
    u32 bits = 0;
    GPUINT_UNROLL(2)
    for (u32 k = 0; k < COUNT; ++k)
      bits |= of_a[k * STRIDE + length - 1] | of_b[k * STRIDE + length - 1];
    return bits;
  }
  // Returns `length` without leading zeros of the longer one.
  GPUINT_DEVICE static u32 trimmed(const u32* of_a, const u32* of_b, u32 length) {
    const u32 bound = length;
    while (length > 1 && top_limbs(of_a, of_b, length) == 0) --length;
    GPUINT_ASSERT(bound <= length + 2, "the bound of the cofactors is tight");
    return length;
  }

  // Applies a matrix of steps, or adds a multiple of b's cofactors to a's, in `length` limbs.
  template <class R>
  GPUINT_DEVICE static void transform(R& rows, u32* of_a, u32* of_b, u32 length,
                                      const Cofactors& matrix) {
    GPUINT_UNROLL(2)
    for (u32 k = 0; k < COUNT; ++k)
      rows.template transform<false>(of_a + k * STRIDE, of_b + k * STRIDE, length, matrix);
  }
  template <class R>
  GPUINT_DEVICE static void add_multiple(R& rows, u32* of_a, const u32* of_b, u32 length, u32 q,
                                         u32 s) {
    GPUINT_UNROLL(2)
    for (u32 k = 0; k < COUNT; ++k)
      rows.add_shifted(of_a + k * STRIDE, of_b + k * STRIDE, length, q, s / 32, s % 32, 0);
  }
};

// Repeats passes on numbers 0 and 1 of the group's row until the observer or b = 0 ends them.
// `active` groups have a row; all threads of a team call it. Of the result, the numbers may be
// overwritten at once, its cofactors after a barrier.
template <class C, class R, class Observer>
GPUINT_DEVICE EuclidResult euclid(R& rows, const C& cofactors, bool active, Observer& observer) {
  EuclidNumber a{rows.number(0), R::N, cofactors.a};
  EuclidNumber b{rows.number(1), R::N, cofactors.b};
  u32 cofactor_length = 1;
  u32 longest = 0;       // limbs of n
  bool negative = true;  // the cofactor of a
  while (R::any(active)) {
    if constexpr (Observer::IS_ORDERED) rows.group.sync();
    Cofactors c;
    u32 top = 0, q = 0, s = 0;
    if (active) {
      const EuclidTop leading(a, b);
      top = leading.length;
      if (longest == 0) longest = C::COUNT == 1 ? a.length : top;
      const u32 shift = leading.shift();
      u64 x = EuclidTop::leading(leading.a, shift), y = EuclidTop::leading(leading.b, shift);
      observer.begin(a, b);
      const bool exact = observer.is_exact(top);
      if (x < y || (x == y && !exact && is_less_from_top(a, b))) {
        exchange(a, b);
        exchange(x, y);
        negative = !negative;
        observer.swap();
      }
      active = b.length != 0 && !observer.ends(b, top, shift);
      if (active && observer.allows_steps(top))
        c = leading_steps(x, y, exact, [&](u32 quotient) {
          observer.subtract(quotient);
          observer.swap();
        });
      if (active && c.u1 == 0) {
        if (rows.group.rank == 0) observer.count_multiple();
        const EuclidMultiple multiple(x, top, shift, b);
        q = observer.factor(multiple.q), s = multiple.s;
        observer.subtract(s > 1 ? 0 : q << s);
        if constexpr (Observer::IS_BOUNDED) active = observer.is_bounded(q, x - y, a, b);
      }
    }
    rows.group.sync();
    // Groups that do not take part in a pass use none of its limbs.
    const bool steps = active && c.u1 != 0, subtracts = active && c.u1 == 0;
    if (R::any(steps)) {
      // Both combinations of an odd number of steps are negative: each is stored as the other one.
      const bool odd = c.odd != 0;
      const Cofactors m{odd ? c.u1 : c.u0, odd ? c.v1 : c.v0, odd ? c.u0 : c.u1, odd ? c.v0 : c.v1};
      rows.template transform<true>(a.limbs, b.limbs, steps ? top : 0, m);
      if constexpr (C::COUNT > 0) {
        const u32 length = min_of(cofactor_length + 1, C::LIMBS);
        C::transform(rows, a.cofactor, b.cofactor, steps ? length : 0, m);
        if (steps) cofactor_length = length;
      }
      if (steps) {
        a.length = b.length = top;
        if (Observer::IS_ORDERED && odd) {
          exchange(a, b);
          negative = !negative;
        }
      }
    }
    if (R::any(subtracts)) {
      rows.add_shifted(a.limbs, b.limbs, subtracts ? top : 0, q, s / 32, s % 32, ~0u);
      if constexpr (C::COUNT > 0) {
        const u32 limbs = s == 0 ? cofactor_length + 1 : longest - b.length + 1;
        const u32 length = min_of(limbs, C::LIMBS);
        C::add_multiple(rows, a.cofactor, b.cofactor, subtracts ? length : 0, q, s);
        if (subtracts) cofactor_length = length;
      }
    }
    if constexpr (C::COUNT > 0) {
      rows.group.sync();
      cofactor_length = C::trimmed(a.cofactor, b.cofactor, cofactor_length);
    }
  }
  return {a, b, cofactor_length, negative};
}

}  // namespace gpuint
