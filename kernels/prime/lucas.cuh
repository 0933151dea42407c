// StrongLucas: strong and extra strong Lucas probable primes, one thread per row.
//
// A chain v_k = c^k + c^-k, v_0 = 2, v_1 = T, serves both tests (src/ops/prime/lucas.rs, where the
// condition is derived): T = P^2 / Q - 2 for the strong one with parameters P and Q, T = P for the
// extra strong one. With n + 1 = d 2^s, d odd, n passes if
//     c^d = 1 or -1,   or   c^(d 2^r) = -1, that is v_(d 2^(r-1)) = 0, for some 1 <= r < s.
// With d = 2 m + 1,
//     v_(m+1) - v_m = c^-(m+1) (c^d - 1) (c - 1),   v_(m+1) + v_m = c^-(m+1) (c^d + 1) (c + 1),
// and c - 1 and c + 1 are units, as (c - 1)^2 (c + 1)^2 = c^2 (T^2 - 4) is one. So c^d = 1 or -1 if
// v_m is v_(m+1) or its negative. In terms of the sequences with P and Q (R. Baillie, S. S.
// Wagstaff, Math. Comp. 35, 1980) these are U_d = 0 and V_d = 0.
//
// The condition is the same for -c in place of c, which negates T: the sign of T is free.
//
// Walk. For p from the top to 2 and k = floor((n+1) / 2^p), the pair (v_k, v_(k+1)) follows from
// the one before (P. L. Montgomery, "Speeding the Pollard and elliptic curve methods", Math. Comp.
// 48, 1987):
//     v_2k = v_k^2 - 2,   v_(2k+1) = v_k v_(k+1) - T,   v_(2k+2) = v_(k+1)^2 - 2.
// Bit p of n + 1 selects which square is taken: it is 1 at p = s, 0 below, and that of n above. As
// in strong.cuh, the squares after v_d are steps of the walk.
//
// By squares. The product is a square, too, as
//     (v_(k+1) - v_k)^2 = (T - 2) (v_(2k+1) - 2),   (v_(k+1) + v_k)^2 = (T + 2) (v_(2k+1) + 2):
// both sides of the first are c^-(2k+2) (c^(2k+1) - 1)^2 (c - 1)^2. Let T = a / u or -a / u with a,
// u > 0, and w = |a - 2 u|. If a > 2 u, T = a / u and T - 2 = w / u; else T = -a / u and T + 2 =
// w / u. Chains of y_k = v_k / w have small factors and no division:
//     y_2k = w y_k^2 - 2 / w,   y_(2k+1) = u (y_(k+1) - y_k)^2 + 2 / w   or
//                               y_(2k+1) = u (y_(k+1) + y_k)^2 - 2 / w.
// The strong test has P = 1, so w = 1 and u = |Q|; the extra strong one has u = 1, w = P - 2.
//
// 1 / (u w) modulo n: R mod n is divided where R + k n is a multiple, and the quotient g is added
// up to 2 u g = 2 / w and a g = |T| / w.
#pragma once
#include "prime/by_thread.cuh"

namespace gpuint::prime {

// Values of a row that few steps of a walk read, in shared memory.
struct Chain {
  float top_inverse;  // of the field
  u16 bits;           // of n
  u16 zeros;          // s
  u16 most;           // zeros of a row of the warp
  u8 factors[2];      // u, w
  bool is_difference;
  u8 squared;  // index of the place of the term that a step squares
  u8 kind;     // 0: does not pass, 1: passes, 2: as the walk finds
};

// in[0] = n, in[1] = T (terms.cuh), with u and w coprime to n and at most 50; mask: rows that pass.
template <class Field>
struct LucasTest : Rows<Field, 3, 4, Chain> {
  using Base = Rows<Field, 3, 4, Chain>;
  using S = typename Field::S;
  using Place = typename Base::Place;
  using Digit = typename Field::Digit;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const Place modulus = Base::first_place(shared);
    Base::each(o, [&](auto row) {
      const u32* const n = input_row<S>(o, 0, row());
      Lengths lengths = prime::lengths<S>(n);
      Term term(__ldg(static_cast<const u64*>(o.in[1]) + row()));
      const bool is_odd = __ldg(n) % 2 != 0 && lengths.bits > 1;
      const bool is_chain = is_odd && term.summands != 2 * term.denominator;
      const u32 kind = term.is_decided() ? term.passes() : is_chain ? 2 : 0;
      const bool is_tested = kind == 2;
      if (!is_tested) lengths.bits = 2, lengths.zeros_of_next = 2, term = Term(1ull << 32 | 1);
      const Field field(n, is_tested, modulus);
      Chain& chain = Base::kept(shared);
      chain.bits = static_cast<u16>(lengths.bits);
      chain.zeros = static_cast<u16>(lengths.zeros_of_next);
      chain.top_inverse = field.top_inverse();
      chain.kind = static_cast<u8>(kind);
      begin(o, field, chain, term.summands, term.denominator);
      walk(o, field, chain);
      return chain.kind == 1;
    });
  }

 private:
  // Places in device memory: constants of both steps, and the numbers of both residues.
  static constexpr u32 OF_SQUARE = 0, OF_MIDDLE = 1, LOWER = 2, UPPER = 3;

  GPUINT_DEVICE static Place lower_place(const Field& field) {
    return Base::next_place(field.modulus, 1);
  }
  GPUINT_DEVICE static Place upper_place(const Field& field) {
    return Base::next_place(field.modulus, 2);
  }

  // Writes the residues of k = 0 and the constants, for T = a / u or -a / u.
  GPUINT_DEVICE static void begin(const Operands& o, const Field& field, Chain& chain, u32 a,
                                  u32 u) {
    const bool is_difference = a > 2 * u;
    const u32 w = is_difference ? a - 2 * u : 2 * u - a;
    chain.is_difference = is_difference;
    chain.factors[0] = static_cast<u8>(u), chain.factors[1] = static_cast<u8>(w);
    const Place lower = lower_place(field), upper = upper_place(field);
    const Place sum = Base::other_place(o, LOWER);
    set_power_of_two(field, Field::RADIX_BITS, chain.bits, upper);
    divide_modulo<Field::DIGIT_BITS>(
        Field::COUNT, [&](u32 j) -> Digit& { return upper[j]; },
        [&](u32 j) { return field.modulus[j]; }, Field::BY_SQUARES ? u* w : u);
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < Field::COUNT; ++j) sum[j] = 0;
    const u32 less = min_of(a, 2 * u);
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < less + w; ++i) {
      if (i == less) copy(sum, lower);
      add_modulo(field, sum, upper);
    }
    copy(is_difference ? sum : lower, upper);
    if (!is_difference) {
      copy(sum, lower);
      negate(field, upper);
    }
    field.set_constant(lower, Base::other_place(o, OF_SQUARE));
    const Place constant = Base::other_place(o, OF_MIDDLE);
    if (!Field::BY_SQUARES)
      field.set_constant(upper, constant);
    else if (is_difference)
      copy(lower, constant);
    else
      field.set_constant(lower, constant);
  }

  GPUINT_DEVICE static void copy(const Place& from, const Place& to) {
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < Field::COUNT; ++j) to[j] = from[j];
  }

  GPUINT_DEVICE static void walk(const Operands& o, const Field& field, Chain& chain) {
    chain.most = static_cast<u16>(__reduce_max_sync(ALL_LANES, u32{chain.zeros}));
    // n + 1 may have a bit more than n.
    u32 p = __reduce_max_sync(ALL_LANES, u32{chain.bits}) + 1;
    GPUINT_UNROLL(1)
    while (true) {
      --p;
      const bool is_set = p > chain.zeros ? field.bits_at(p, 1) != 0 : p == chain.zeros;
      chain.squared = is_set ? 2 : 1;
      step(o, field, chain);
      if (p <= chain.most + 1u) {
        const u32 s = chain.zeros;
        const Digit lower = lower_place(field)[0], upper = upper_place(field)[0];
        const bool may_pass = p == s + 1
                                  ? may_be_multiple(field, chain.bits, Digit(lower - upper)) ||
                                        may_be_multiple(field, chain.bits, Digit(lower + upper))
                                  : p <= s && may_be_multiple(field, chain.bits, lower);
        if (__any_sync(ALL_LANES, may_pass)) {
          const bool passes = compare(o, field, p > s) && p <= s + 1;
          if (passes && chain.kind == 2) chain.kind = 1;
        }
      }
      if (p == 2) return;
    }
  }

  // Leaves the residue of 2 k + 1 in the place of the residue that is not squared, and the square
  // in the other place.
  GPUINT_DEVICE static void step(const Operands& o, const Field& field, const Chain& chain) {
    const auto place = [&](u32 i) {
      return Base::next_place(field.modulus, ptx::rematerialize(i));
    };
    typename Field::Number x;
    if constexpr (Field::BY_SQUARES) {
      // A loop, so that there is one copy of the square.
      GPUINT_UNROLL(1)
      for (u32 i = 0; i < 2; ++i) {
        const u32 index = chain.squared;
        const Place to = place(i == 0 ? 3 - index : index);
        if (i == 0)
          field.load_sum(to, place(index), chain.is_difference, chain.top_inverse, x);
        else
          Field::load(to, x);
        field.square_and_add(x, to, chain.factors[i], chain.top_inverse,
                             [&] { return Base::other_place(o, i == 0 ? OF_MIDDLE : OF_SQUARE); });
        Field::store(x, to);
      }
    } else {
      const Place squared = place(chain.squared), other = place(3u - chain.squared);
      Field::load(squared, x);
      field.multiply_minus(x, other, [&] { return Base::other_place(o, OF_MIDDLE); });
      Field::store(x, other);
      Field::load(squared, x);
      field.square_minus(x, squared, [&] { return Base::other_place(o, OF_SQUARE); });
      Field::store(x, squared);
    }
  }

  // True if the residues are equal or negatives of each other, or if the lower one is 0.
  GPUINT_DEVICE static bool compare(const Operands& o, const Field& field, bool both) {
    const Place lower = Base::other_place(o, LOWER), upper = Base::other_place(o, UPPER);
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < 2; ++i) {
      typename Field::Number x;
      Field::load(Base::next_place(field.modulus, 1 + i), x);
      field.take_radix_out(x, Base::other_place(o, LOWER + i));
    }
    const Signs signs =
        compare_signs(field, lower, [&](u32 j) { return both ? u64(upper[j]) : u64(0); });
    return signs.is_positive || (both && signs.is_negative);
  }
};

}  // namespace gpuint::prime
