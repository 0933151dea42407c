// Arithmetic modulo one odd n of a thread in digits of 52 bits, for the tests of prime/: residues
// x R mod n, R = 2^RADIX_BITS, by Montgomery's products (montgomery.cuh).
//
// Bounds. A product is below 2 n for factors x y < n R. Doubled it is below 4 n, and (4 n)^2 < n R,
// as R >= 2^6 2^BITS. So no residue is compared.
//
// Chains by squares (prime/lucas.cuh), n < R / 2^16: residues are below 64 n. The square of a sum
// or difference below 128 n is below n / 4 + n, times 50 below 62.5 n, and with a constant below n
// below 63.5 n.
//
// Chains, n >= R / 2^16 (n < R / 2^8): residues are below 1.001 n. A sum or difference is below
// 3.001 n, and its square, times 50 and with a constant, below 53 n < R. The multiple q n is
// subtracted, for an estimate q from the top digit t of n and the top column T of the residue, to
// which carries below 2^13 are still to be added. As q <= T / (t + 1), no residue is negative. As
// t >= 2^36, and q + 1 > T / (t + 1) (1 - 2^-19), what is left is below (1 + 54 / 2^19 + 2^-22) n.
#pragma once
#include "modular/fp64/montgomery.cuh"

namespace gpuint::fp64 {

template <class S_>
struct Field {
  using S = S_;
  using Digit = u64;
  using Place = fp64::Place;
  static constexpr u32 COUNT = digits_of(S::BITS);
  static constexpr u32 DIGIT_BITS = fp64::DIGIT_BITS;
  static constexpr u32 RADIX_BITS = DIGIT_BITS * COUNT;
  static constexpr u32 PLACE_BYTES = COUNT * WARP * sizeof(u64);
  // x, n and the columns of two registers a digit; addresses weigh more where digits are few.
  static constexpr u32 REGISTERS = 6 * COUNT + (COUNT < 18 ? 64 : 48);
  // Bits of an exponent that `advance` takes at a time.
  static constexpr u32 WINDOW = 1;
  static constexpr bool BY_SQUARES = true;
  // True if n may be R / 2^16 or more.
  static constexpr bool IS_TIGHT = RADIX_BITS - S::BITS < 16;
  using Number = double[COUNT];

  Place modulus;
  double inverse;

  GPUINT_DEVICE static Place place(unsigned char* bytes, u32 lane) {
    return {reinterpret_cast<u64*>(bytes) + lane};
  }

  // Modulo the odd row `n`, or 3 where `is_row` is false.
  GPUINT_DEVICE Field(const u32* n, bool is_row, const Place& modulus_) : modulus(modulus_) {
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < COUNT; ++j)
      modulus[j] = is_row ? digit_at(n, S::N, static_cast<i32>(DIGIT_BITS * j)) : 3 * u64(j == 0);
    inverse = negative_inverse(modulus[0]);
  }

  // Bits p .. p + count of n, count < 32.
  GPUINT_DEVICE u32 bits_at(u32 p, u32 count) const {
    const u32 j = p / DIGIT_BITS, shift = p % DIGIT_BITS;
    const u64 low = j < COUNT ? modulus[j] : 0, high = j + 1 < COUNT ? modulus[j + 1] : 0;
    return static_cast<u32>(low >> shift | high << (DIGIT_BITS - shift)) & ((1u << count) - 1);
  }

  GPUINT_DEVICE static void load(const Place& from, Number& x) { load_digits(from, x); }
  GPUINT_DEVICE static void store(const Number& x, const Place& to) { store_integers(x, to); }
  GPUINT_DEVICE static u64 lowest(const Number& x) { return to_integer(x[0]); }
  GPUINT_DEVICE static u64 wrapped(u64 digit) { return digit & DIGIT_MASK; }
  GPUINT_DEVICE u64 inverse_digit() const { return to_integer(inverse); }
  // A little less than 1 / (t + 1) for the top digit t of n; 0 if n is below R / 2^16.
  GPUINT_DEVICE float top_inverse() const {
    const u64 top = IS_TIGHT ? modulus[COUNT - 1] : 0;
    return top >> (DIGIT_BITS - 16) == 0 ? 0 : (1 - 0x1p-20f) / static_cast<float>(top + 1);
  }

  // Multiples of n that may stand in a residue.
  GPUINT_DEVICE static bool has_few_multiples(u32) { return true; }

  // The exponent of R of 2^e, as `advance` continues it.
  GPUINT_DEVICE static u32 start(u32 e) { return RADIX_BITS + e; }

  // x = 2^e becomes 2^(2 e + bit), e being an exponent of R's multiples.
  GPUINT_DEVICE void advance(Number& x, const Place& room, u32, u32 bit) const {
    Montgomery<COUNT>::square(x, room, inverse, load_modulus(), [&](u64(&sum)[COUNT]) {
      GPUINT_UNROLL()
      for (u32 t = 0; t < COUNT; ++t) sum[t] <<= bit;
    });
  }

  // x <- factor x^2 / R + c, less a multiple of n, for a factor up to 50 and a constant below n.
  template <class Constant>
  GPUINT_DEVICE void square_and_add(Number& x, const Place& room, u32 factor, float top_inverse,
                                    Constant constant) const {
    Montgomery<COUNT>::square(x, room, inverse, load_modulus(), [&](u64(&sum)[COUNT]) {
      // Columns below 4 COUNT beta: carries are passed on once where a multiple would not fit.
      if constexpr (4 * COUNT * 50 >= 1 << (64 - DIGIT_BITS)) {
        GPUINT_UNROLL()
        for (u32 t = COUNT; t-- > 0;)
          sum[t] = (sum[t] & DIGIT_MASK) + (t > 0 ? sum[t - 1] >> DIGIT_BITS : 0);
      }
      const Place place = constant();
      GPUINT_UNROLL()
      for (u32 t = 0; t < COUNT; ++t) sum[t] = sum[t] * factor + place[t];
      if constexpr (IS_TIGHT) {
        // Minus q n is q times the complement of n, plus q, modulo R.
        const u32 q = static_cast<u32>(static_cast<float>(sum[COUNT - 1]) * top_inverse);
        GPUINT_UNROLL()
        for (u32 t = 0; t < COUNT; ++t) sum[t] += (DIGIT_MASK - modulus[t]) * q;
        sum[0] += q;
      }
    });
  }
  // x <- y + z, or y - z + 64 n; 2 n where residues are below 1.001 n.
  GPUINT_DEVICE void load_sum(const Place& y, const Place& z, bool is_difference, float top_inverse,
                              Number& x) const {
    const u32 shift = IS_TIGHT && top_inverse != 0 ? 1 : 6;
    i64 carry = 0;
    GPUINT_UNROLL()
    for (u32 j = 0; j < COUNT; ++j) {
      const u64 digit = is_difference ? (modulus[j] << shift) - z[j] : z[j];
      carry += static_cast<i64>(y[j] + digit);
      x[j] = to_digit(static_cast<u64>(carry));
      carry >>= DIGIT_BITS;
    }
  }
  // Writes the constant c, a number below n: n - c.
  GPUINT_DEVICE void set_constant(const Place& c, const Place& constant) const {
    i64 borrow = 0;
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < COUNT; ++j) {
      borrow += static_cast<i64>(modulus[j]) - static_cast<i64>(c[j]);
      constant[j] = static_cast<u64>(borrow) & DIGIT_MASK;
      borrow >>= DIGIT_BITS;
    }
  }

  // x R^-1 mod n, below n, to the place.
  GPUINT_DEVICE void take_radix_out(Number& x, const Place& to) const {
    Montgomery<COUNT>{modulus, inverse}.take_radix_out(x, to);
  }

 private:
  GPUINT_DEVICE auto load_modulus() const {
    return [this](Number& n) { load_digits(modulus, n); };
  }
};

}  // namespace gpuint::fp64
