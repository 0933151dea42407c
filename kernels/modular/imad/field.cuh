// Arithmetic modulo one odd n of a thread in limbs of 32 bits, for the tests of prime/: residues
// x R mod n, R = 2^BITS, by Montgomery's products (montgomery.cuh). Residues are below R.
//
// Powers of two. A residue is divided by 2^e, e < 32, in one row of a product: with
// y = x 2^(32 - e), and m that makes the lowest limb of y + m n zero,
//     x 2^-e = (y + m n) / 2^32 < R + n.
// One such row follows a window of squares, where a doubling after each square would take a
// comparison with R for each.
#pragma once
#include "modular/imad/montgomery.cuh"

namespace gpuint::imad {

template <class S_>
struct Field {
  using S = S_;
  using Digit = u32;
  using Place = imad::Place;
  static constexpr u32 COUNT = S::N;
  static constexpr u32 DIGIT_BITS = 32;
  static constexpr u32 RADIX_BITS = S::BITS;
  static constexpr u32 PLACE_BYTES = COUNT * STAGE_STRIDE * sizeof(u32);
  static constexpr u32 REGISTERS = ImadPolicy<COUNT>::POWERS;
  // Bits of an exponent that `advance` takes at a time.
  static constexpr u32 WINDOW = 5;
  // A product takes fewer instructions than a square of a sum.
  static constexpr bool BY_SQUARES = false;
  using Number = u32[COUNT];

  Place modulus;
  u32 inverse;

  GPUINT_DEVICE static Place place(unsigned char* bytes, u32 lane) {
    return {reinterpret_cast<u32*>(bytes) + lane};
  }

  // Modulo the odd row `n`, or 3 where `is_row` is false.
  GPUINT_DEVICE Field(const u32* n, bool is_row, const Place& modulus_) : modulus(modulus_) {
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < COUNT; ++j) modulus[j] = is_row ? __ldg(n + j) : 3 * u32(j == 0);
    inverse = negative_inverse(modulus[0]);
  }

  // Bits p .. p + count of n, count < 32.
  GPUINT_DEVICE u32 bits_at(u32 p, u32 count) const {
    const u32 j = p / 32;
    const u32 low = j < COUNT ? modulus[j] : 0, high = j + 1 < COUNT ? modulus[j + 1] : 0;
    return __funnelshift_r(low, high, p % 32) & ((1u << count) - 1);
  }

  GPUINT_DEVICE static void load(const Place& from, Number& x) { load_limbs(from, x); }
  GPUINT_DEVICE static void store(const Number& x, const Place& to) { store_limbs(x, to); }
  GPUINT_DEVICE static u32 lowest(const Number& x) { return x[0]; }
  GPUINT_DEVICE static u32 wrapped(u32 limb) { return limb; }
  GPUINT_DEVICE u32 inverse_digit() const { return inverse; }
  GPUINT_DEVICE float top_inverse() const { return 0; }

  // Multiples of n that may stand in a residue: R < 4 n.
  GPUINT_DEVICE static bool has_few_multiples(u32 bits) { return bits + 1 >= S::BITS; }

  // The exponent of R of 2^-e, as `advance` continues it.
  GPUINT_DEVICE static u32 start(u32 e) { return RADIX_BITS - e; }

  // x = 2^-e becomes 2^-(e 2^count + bits), e being an exponent of R's multiples.
  GPUINT_DEVICE void advance(Number& x, const Place& room, u32 count, u32 bits) const {
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < count; ++i) montgomery().square(x, room);
    divide_by_power(x, bits);
  }

  // x <- x^2 / R - c and x y / R - c, for a constant below n whose place `constant` returns.
  template <class Constant>
  GPUINT_DEVICE void square_minus(Number& x, const Place& room, Constant constant) const {
    u32 n[COUNT];
    const u32 above = Montgomery<COUNT>::square_wide(
        x, room, n, inverse, [&](u32(&to)[COUNT]) { load_limbs(modulus, to); });
    subtract_constant(x, n, above, constant());
  }
  template <class Constant>
  GPUINT_DEVICE void multiply_minus(Number& x, const Place& y, Constant constant) const {
    u32 n[COUNT];
    load_limbs(modulus, n);
    const u32 above = Montgomery<COUNT>::multiply_wide(x, y, n, inverse);
    subtract_constant(x, n, above, constant());
  }
  // Writes the constant c, a number below n.
  GPUINT_DEVICE void set_constant(const Place& c, const Place& constant) const {
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < COUNT; ++j) constant[j] = c[j];
  }

  // x R^-1 mod n, below n, to the place.
  GPUINT_DEVICE void take_radix_out(Number& x, const Place& to) const {
    montgomery().take_radix_out(x, to);
  }

 private:
  GPUINT_DEVICE Montgomery<COUNT> montgomery() const { return {modulus, inverse}; }

  // x <- x 2^-e mod n.
  GPUINT_DEVICE void divide_by_power(Number& x, u32 e) const {
    const u32 distance = 32 - e;
    u32 n[COUNT], odd[COUNT] = {}, top = 0;
    load_limbs(modulus, n);
    odd[COUNT - 1] = __funnelshift_lc(x[COUNT - 1], 0, distance);
    GPUINT_UNROLL()
    for (u32 j = COUNT; j-- > 0;) x[j] = __funnelshift_lc(j > 0 ? x[j - 1] : 0, x[j], distance);
    add_row(x, odd, top, n, x[0] * inverse);
    u32 quotient[COUNT];
    resolve(odd, x, top, quotient);
    GPUINT_UNROLL()
    for (u32 j = 0; j < COUNT; ++j) x[j] = quotient[j];
    if (top != 0) subtract(x, n);
  }

  // x + above R, below R + n, less the constant: n is added where that is negative, and subtracted
  // where it is R or more.
  GPUINT_DEVICE static void subtract_constant(Number& x, const u32 (&n)[COUNT], u32 above,
                                              const Place& constant) {
    GPUINT_UNROLL()
    for (u32 j = 0; j < COUNT; ++j) {
      if (j == 0)
        ptx::sub_cc(x[j], constant[j]);
      else
        ptx::subc_cc(x[j], constant[j]);
    }
    above += ptx::borrow_mask();
    // Masks by arithmetic, so that a limb takes one logical instruction and no selection.
    const u32 some = 0u - (above & 1), flipped = 0u - ((above + 1) >> 1);
    ptx::set_carry(flipped & 1);
    GPUINT_UNROLL()
    for (u32 j = 0; j < COUNT; ++j) ptx::addc_cc(x[j], (n[j] ^ flipped) & some);
  }
};

}  // namespace gpuint::imad
