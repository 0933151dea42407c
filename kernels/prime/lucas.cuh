// StrongLucas: strong and extra strong Lucas probable primes, one thread per row.
//
// A chain v_k = c^k + c^-k, v_0 = 2, v_1 = T, serves both tests (src/ops/prime/lucas.rs, where the
// condition is derived): T = P^2 / Q - 2 for the strong one with parameters P and Q, T = P for the
// extra strong one. With n + 1 = d 2^s, d odd, n passes if
//     v_d = 2 and v_(d+1) = T,   or   v_d = -2 and v_(d+1) = -T,   or
//     v_(d 2^r) = 0 for some 0 <= r < s - 1.
// (u_d = 0 is 2 v_(d+1) = T v_d.)
//
// Walk. For p from the top to 1 and k = floor((n+1) / 2^p), the pair (v_k, v_(k+1)) follows from
// the one before by a square and a product (P. L. Montgomery, "Speeding the Pollard and elliptic
// curve methods", Math. Comp. 48, 1987):
//     v_2k = v_k^2 - 2,   v_(2k+1) = v_k v_(k+1) - T,   v_(2k+2) = v_(k+1)^2 - 2.
// Bit p of n + 1 selects which square is taken: it is 1 at p = s, 0 below, and that of n above. As
// in strong.cuh, the squares after v_d are steps of the walk.
//
// T = numerator / denominator modulo n for small numbers: z = R mod n is divided by the denominator
// where z + k n is its multiple, and the quotient is added up numerator times.
#pragma once
#include "prime/by_thread.cuh"

namespace gpuint::prime {

// in[0] = n, in[1] = T (terms.cuh), with a denominator coprime to n; mask: rows that pass.
template <class Field>
struct LucasTest : Rows<Field, 3, 4> {
  using Base = Rows<Field, 3, 4>;
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
      const u32 kind = term.is_decided() ? term.passes() : is_odd ? 2 : 0;
      const bool is_tested = kind == 2;
      if (!is_tested) lengths.bits = 2, lengths.zeros_of_next = 2, term = Term(1ull << 32 | 1);
      const Field field(n, is_tested, modulus);
      Kept<Field>& kept = Base::kept(shared);
      kept = {begin(o, field, lengths.bits, term), lengths.bits, lengths.zeros_of_next, kind};
      const bool passes = walk(o, field, kept);
      return kept.kind == 1 || (kept.kind == 2 && passes);
    });
  }

 private:
  // Places in device memory.
  static constexpr u32 TWO = 0, FIRST = 1, FIRST_AS_NUMBER = 2, COMPARED = 3;

  GPUINT_DEVICE static Place lower_place(const Field& field) {
    return Base::next_place(field.modulus, 1);
  }
  GPUINT_DEVICE static Place upper_place(const Field& field) {
    return Base::next_place(field.modulus, 2);
  }

  // Writes v_0 and v_1 and the constants; returns the lowest digit of v_0.
  GPUINT_DEVICE static Digit begin(const Operands& o, const Field& field, u32 bits,
                                   const Term& term) {
    const Place lower = lower_place(field), upper = upper_place(field);
    set_power_of_two(field, Field::RADIX_BITS, bits, upper);
    set_power_of_two(field, Field::RADIX_BITS + 1, bits, lower);
    field.set_constant(lower, Base::other_place(o, TWO));
    divide_modulo<Field::DIGIT_BITS>(
        Field::COUNT, [&](u32 j) -> Digit& { return upper[j]; },
        [&](u32 j) { return field.modulus[j]; }, term.denominator);
    const Place sum = Base::other_place(o, COMPARED);
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < Field::COUNT; ++j) sum[j] = 0;
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < term.summands; ++i) add_modulo(field, sum, upper);
    if (term.is_negative) negate(field, sum);
    typename Field::Number x;
    Field::load(sum, x);
    Field::store(x, upper);
    field.set_constant(upper, Base::other_place(o, FIRST));
    field.take_radix_out(x, Base::other_place(o, FIRST_AS_NUMBER));
    return lower[0];
  }

  GPUINT_DEVICE static bool walk(const Operands& o, const Field& field, const Kept<Field>& kept) {
    const u32 most = __reduce_max_sync(ALL_LANES, kept.zeros);
    // n + 1 may have a bit more than n.
    u32 p = __reduce_max_sync(ALL_LANES, kept.bits) + 1;
    bool passes = false;
    GPUINT_UNROLL(1)
    while (true) {
      --p;
      const bool is_set = p > kept.zeros ? field.bits_at(p, 1) != 0 : p == kept.zeros;
      const Place squared = Base::next_place(field.modulus, is_set ? 2 : 1);
      const Place other = Base::next_place(field.modulus, is_set ? 1 : 2);
      typename Field::Number x;
      Field::load(squared, x);
      field.multiply_minus(x, other, [&] { return Base::other_place(o, FIRST); });
      Field::store(x, other);
      Field::load(squared, x);
      field.square_minus(x, squared, [&] { return Base::other_place(o, TWO); });
      Field::store(x, squared);
      if (p <= most) {
        const u32 s = kept.zeros;
        const Digit value = lower_place(field)[0];
        const bool may_pass = (p == s && may_be_either(field, kept.bits, value, kept.lowest)) ||
                              (p <= s && p > 1 && may_be_either(field, kept.bits, value, Digit(0)));
        if (__any_sync(ALL_LANES, may_pass)) passes |= p <= s && compare(o, field, p, s);
      }
      if (p == 1) return passes;
    }
  }

  // Tests the condition at v_k and v_(k+1), k = floor((n+1) / 2^p), p <= s.
  GPUINT_DEVICE static bool compare(const Operands& o, const Field& field, u32 p, u32 s) {
    const Place place = Base::other_place(o, COMPARED);
    Signs both;
    bool is_zero = false;
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < 2; ++i) {
      typename Field::Number x;
      Field::load(Base::next_place(field.modulus, 1 + i), x);
      field.take_radix_out(x, place);
      const Place first = Base::other_place(o, FIRST_AS_NUMBER);
      const Signs signs = compare_signs(
          field, place, [&](u32 j) { return i != 0 ? u64(first[j]) : 2 * u64(j == 0); });
      both.is_positive &= signs.is_positive;
      both.is_negative &= signs.is_negative;
      if (i == 0) is_zero = compare_signs(field, place, [](u32) { return u64(0); }).is_positive;
    }
    return (p == s && (both.is_positive || both.is_negative)) || (p > 1 && is_zero);
  }
};

}  // namespace gpuint::prime
