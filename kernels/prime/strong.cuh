// StrongBase2: strong probable primes to base 2, one thread per row.
//
// With n - 1 = d 2^s, d odd, a prime n has 2^d = 1 or 2^(d 2^r) = -1 mod n for some r < s (G. L.
// Miller, 1975; M. O. Rabin, J. Number Theory 12, 1980).
//
// Walk. For p from the top to 1 let x_p = 2^floor((n-1) / 2^p), so that
//     x_p = x_(p+1)^2 2^b,    b: bit p of n - 1, which is that of n for p >= 1.
// There is no table of powers and no product: a step is a square and a shift by b bits, or a shift
// by several bits after several squares. The squares of x_s = 2^d are x_(s-1), .., x_1, so they are
// steps of the walk, too: a row takes as many squares as n has bits, whatever s is. The condition
// is
//     x_s = 1 or -1,   or   x_p = -1 for some 1 <= p < s.
// It is the same for 2^-1 in place of 2, by which a field may shift instead (IMAD, field.cuh).
//
// Start. The first e = floor((n-1) / 2^p) is below 64 in all rows of a warp, and x_p R = 2^e R mod
// n is made by doublings, of which there are few where n has nearly all BITS.
//
// Comparison. At p <= s, which is at most about 6 steps of a warp, residues are compared with 1 and
// -1. The lowest digits decide nearly always; else R is taken out of the residue by a product.
#pragma once
#include "prime/by_thread.cuh"

namespace gpuint::prime {

// in[0] = n; mask: rows that pass.
template <class Field>
struct StrongTest : Rows<Field, 2, 2> {
  using Base = Rows<Field, 2, 2>;
  using S = typename Field::S;
  static constexpr u32 FIRST_BITS = 6;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const auto modulus = Base::first_place(shared);
    Base::each(o, [&](auto row) {
      const u32* const n = input_row<S>(o, 0, row());
      Lengths lengths = prime::lengths<S>(n);
      const bool is_tested = __ldg(n) % 2 != 0 && lengths.bits > 1;
      Kept<Field>& kept = Base::kept(shared);
      kept.kind = is_tested ? 2 : __ldg(n) == 2 && lengths.bits == 2;
      if (!is_tested) lengths.bits = 2, lengths.zeros_of_previous = 1;
      const bool passes = walk(o, Field(n, is_tested, modulus), lengths, kept);
      return kept.kind == 1 || (kept.kind == 2 && passes);
    });
  }

 private:
  GPUINT_DEVICE static bool walk(const Operands& o, const Field& field, const Lengths& lengths,
                                 Kept<Field>& kept) {
    const u32 longest = __reduce_max_sync(ALL_LANES, lengths.bits);
    const u32 most = __reduce_max_sync(ALL_LANES, lengths.zeros_of_previous);
    u32 p = max_of(most, longest > FIRST_BITS ? longest - FIRST_BITS : 0);
    const auto room = Base::next_place(field.modulus, 1);
    set_power_of_two(field, Field::RADIX_BITS, lengths.bits, room);
    kept.lowest = room[0], kept.bits = lengths.bits, kept.zeros = lengths.zeros_of_previous;
    set_power_of_two(field, Field::start(field.bits_at(p, FIRST_BITS)), lengths.bits, room);
    typename Field::Number x;
    Field::load(room, x);
    bool passes = false;
    GPUINT_UNROLL(1)
    while (true) {
      if (p <= most) {
        const u32 s = kept.zeros;
        const bool may_pass =
            p <= s && may_be_either(field, kept.bits, Field::lowest(x), kept.lowest);
        if (__any_sync(ALL_LANES, may_pass)) {
          const Signs signs = compare(o, field, x);
          passes |= p <= s && (signs.is_negative || (p == s && signs.is_positive));
        }
      }
      if (p == 1) return passes;
      const u32 count = p >= most + Field::WINDOW ? Field::WINDOW : 1;
      p -= count;
      field.advance(x, room, count, field.bits_at(p, count));
    }
  }

  // Compares x with 1 and -1.
  GPUINT_DEVICE static Signs compare(const Operands& o, const Field& field,
                                     typename Field::Number& x) {
    const auto place = Base::other_place(o, 0), saved = Base::other_place(o, 1);
    Field::store(x, saved);
    field.take_radix_out(x, place);
    Field::load(saved, x);
    return compare_signs(field, place, [](u32 j) { return u64(j == 0); });
  }
};

}  // namespace gpuint::prime
