// Barrett's reduction in digits of 52 bits (P. Barrett, CRYPTO '86), for any modulus v.
//
// Normalization. V = v 2^z with z even is in [2^(B-2), 2^B), B = L - G, so that G bits are free
// above it. A product is reduced modulo V with z zeros below it:
//     (x 2^z) y mod V = (x y mod v) 2^z,     (x 2^(z/2))^2 mod V = (x^2 mod v) 2^z.
//
// The reciprocal M has D digits: the leading bits of the record's (record.cuh), an underestimate:
//     0 < 2^(L+B-2) / V - M < 1 + 2^-64.
// For T < V 2^(L-3) with digits T_i and u_i = T_(D+i):
//     S = sum of u_i M_j beta^(i+j-(D-1)) over i + j >= D - 1, and of the high halves of i + j = D
//     - 2 q = floor(S / 2^(50-G)) R = T - q V, its low D digits
// Theorem. 0 <= R < 2 V.
// Proof. T M / 2^(L+B-2) < T / V, and S / 2^(50-G) has nonnegative terms of the left side only: q
// <= T / V. Losses: M, less than (1 + 2^-64) T / 2^(L+B-2) < 0.51; in units of S the low halves of
// i + j = D
// - 2, less than D, the products below, less than D, and the digits of T below D - 1, less than 1,
// together less than (2 D + 1) / 2^(50-G) < 0.01; the floor, less than 1. QED.
// Since 2 V < 2^L, D digits hold R.
//
// A lazy residue is x < 2 v. A factor may be longer, by SLACK bits, before T reaches V 2^(L-3):
//     x < 2^(len v + g), y < 2^BITS: x y / v < 2^(BITS + g + 1), and x 2^z < 2^(B + g)
//     x < 2^(len v + g): x^2 / v < 2^(BITS + 2 g + 1)
// A longer one is reduced first: x 2^z / V < 2^BITS.
#pragma once
#include "core/record.cuh"
#include "modular/fp64/digits.cuh"

namespace gpuint::fp64 {

template <class S>
struct Barrett {
  static constexpr u32 BITS = S::BITS;
  static constexpr u32 D = digits_of(BITS);
  static constexpr u32 LENGTH = DIGIT_BITS * D;
  static constexpr u32 SPARE = LENGTH - BITS;
  static constexpr u32 FREE = min_of(SPARE - 1, 16);  // G
  static constexpr u32 TOP = LENGTH - FREE;           // B
  static constexpr u32 FRACTION = 50 - FREE;
  static constexpr u32 FACTOR_SLACK = min_of(FREE, SPARE - 4);
  static constexpr u32 SQUARE_SLACK = (SPARE - 4) / 2;

  static_assert(S::LIMB_BITS == 32, "rows of 32-bit limbs");
  static_assert(SPARE >= MIN_SPARE_BITS && TOP > BITS, "z is not negative");
  static_assert(SQUARE_SLACK >= 1, "lazy residues are factors");
  static_assert((2 * D + 1) * 100 < 1u << min_of(FRACTION, 31), "what S drops");
  static_assert(u64(4 * D) << DIGIT_BITS <= 1ull << 60, "columns have room for carries");

  static_assert(S::WORDS <= PREPARED_BLOCK, "records hold the whole reciprocal");
  // The record's reciprocal has S::WORDS + 1 words, of which M takes the leading bits.
  static constexpr u32 RECIPROCAL_LIMBS = (S::WORDS + 1) * WORD;
  static constexpr u32 RECIPROCAL_OFFSET = 32 * RECIPROCAL_LIMBS - LENGTH;
  static_assert(32 * RECIPROCAL_LIMBS > LENGTH, "a reciprocal is longer than M");

  u32 bits;   // of v
  u32 zeros;  // z

  GPUINT_DEVICE explicit Barrett(u32 bits_) : bits(bits_), zeros((TOP - bits_) & ~1u) {}

  // x << distance, where limb(i) is limb i < N of x.
  template <class GetLimb>
  GPUINT_DEVICE static void shifted(GetLimb limb, u32 distance, double (&x)[D]) {
    // Addresses of limbs are not kept for the next use.
    const u32 at = ptx::rematerialize(distance);
    to_digits<0>([&](u32 i) { return shifted_up(limb, S::N, at, i); }, x);
  }

  // V, where limb(i) is limb i < N of v.
  template <class GetLimb>
  GPUINT_DEVICE void modulus(GetLimb limb, double (&v)[D]) const {
    shifted(limb, zeros, v);
  }

  // The bit of the record's reciprocal where M begins: one more where V >= 2^(B-1).
  GPUINT_DEVICE u32 reciprocal_from() const {
    return RECIPROCAL_OFFSET + (bits + zeros == TOP ? 1 : 0);
  }

  // M, where limb(i) is limb i < RECIPROCAL_LIMBS of the record's reciprocal.
  template <class GetLimb>
  GPUINT_DEVICE void reciprocal(GetLimb limb, double (&m)[D]) const {
    const u32 half = reciprocal_from() - RECIPROCAL_OFFSET;
    const auto limb_or_zero = [&](u32 i) { return i < RECIPROCAL_LIMBS ? limb(i) : 0; };
    to_digits<RECIPROCAL_OFFSET>(
        [&](u32 i) { return __funnelshift_r(limb_or_zero(i), limb_or_zero(i + 1), half); }, m);
  }

  // T = x 2^z for x of N limbs: low digits to `low`, high ones to u.
  template <class GetLimb>
  GPUINT_DEVICE void load_shifted(GetLimb limb, const Place& low, double (&u)[D]) const {
    shifted(limb, zeros, u);
    GPUINT_UNROLL()
    for (u32 j = 0; j < D; ++j) low[j] = to_integer(u[j]);
    const u32 at = ptx::rematerialize(zeros);
    to_digits<LENGTH>([&](u32 i) { return shifted_up(limb, S::N, at, i); }, u);
  }

  // R for T, whose low digits are integers at `low` and high ones u. R takes the place of the low
  // digits. `m` and `v` write M and V to the digits that they are given.
  template <class WriteReciprocal, class WriteModulus>
  GPUINT_DEVICE static void reduce(const double (&u)[D], const Place& low, WriteReciprocal m,
                                   WriteModulus v, double (&modulus)[D]) {
    double q[D];
    {
      double reciprocal[D];
      m(reciprocal);
      estimate(u, to_digit(low[D - 1]), reciprocal, q);
    }
    v(modulus);
    subtract_multiple(q, modulus, low);
  }

 private:
  // q from u, T_(D-1) and M.
  GPUINT_DEVICE static void estimate(const double (&u)[D], double below, const double (&m)[D],
                                     double (&q)[D]) {
    u64 above = high_half(below, m[D - 1]);  // high halves that belong to the next column
    GPUINT_UNROLL()
    for (u32 i = 0; i < D - 1; ++i) above += high_half(u[i], m[D - 2 - i]);
    u64 column = 0, previous = 0;
    GPUINT_UNROLL()
    for (u32 k = D - 1; k < 2 * D; ++k) {
      // Products i + j = k from i = k - (D - 1) on; column D - 1 has one more high part.
      const u32 lows = 2 * D - 1 - k;
      column += above + without(lows, k == D - 1 ? D : lows + 1);
      above = 0;
      GPUINT_UNROLL()
      for (u32 i = 0; i < D; ++i) {
        if (i + D - 1 < k || i > k) continue;
        const Halves product = multiply_digits(u[i], m[k - i]);
        column += product.low, above += product.high;
      }
      const u64 digit = column & DIGIT_MASK;
      if (k >= D) q[k - D] = to_digit(previous >> FRACTION | digit << (DIGIT_BITS - FRACTION));
      previous = digit;
      column >>= DIGIT_BITS;
    }
  }

  // low -= q v, its low D digits.
  GPUINT_DEVICE static void subtract_multiple(const double (&q)[D], const double (&v)[D],
                                              const Place& low) {
    u64 below = 0;
    i64 carry = 0;
    GPUINT_UNROLL()
    for (u32 k = 0; k < D; ++k) {
      u64 column = below + without(k + 1, k);
      below = 0;
      GPUINT_UNROLL()
      for (u32 i = 0; i < D; ++i) {
        if (i > k) continue;
        const Halves product = multiply_digits(q[i], v[k - i]);
        column += product.low, below += product.high;
      }
      carry += static_cast<i64>(low[k] - column);
      low[k] = static_cast<u64>(carry) & DIGIT_MASK;
      carry >>= DIGIT_BITS;
    }
  }
};

// T = x y: the low digits as integers in the place of y, which holds integers, and the high ones in
// u. Rows of the product are added in pairs; two columns are complete after each, and the others go
// two digits to the right by naming.
template <u32 D>
GPUINT_DEVICE void multiply_wide(const double (&x)[D], const Place& y, double (&u)[D]) {
  // When complete, column k < D has k + 1 low and k high parts. A column that begins in the loop
  // would get D of each, and lacks t + 1 and t of them in the end in place t.
  u64 sum[D];
  GPUINT_UNROLL()
  for (u32 t = 0; t < D; ++t) sum[t] = without(t + 1, t);
  GPUINT_UNROLL(1)
  for (u32 i = 0; i < D; i += 2) {
    const double y0 = to_digit(y[i]), y1 = to_digit(y[i + 1]);
    Halves even = multiply_digits(x[0], y0), odd = {};
    const u64 first = sum[0] + even.low;
    u64 second = first >> DIGIT_BITS;
    GPUINT_UNROLL()
    for (u32 t = 1; t < D; ++t) {
      const u64 above = sum[t] + even.high + odd.high;
      even = multiply_digits(x[t], y0), odd = multiply_digits(x[t - 1], y1);
      const u64 column = above + even.low + odd.low;
      if (t == 1)
        second += column;
      else
        sum[t - 2] = column;
    }
    sum[D - 2] = even.high + odd.high + without(D, D);
    odd = multiply_digits(x[D - 1], y1);
    sum[D - 2] += odd.low;
    sum[D - 1] = odd.high + without(D, D);
    y[i] = first & DIGIT_MASK, y[i + 1] = second & DIGIT_MASK;
    sum[0] += second >> DIGIT_BITS;
  }
  GPUINT_UNROLL()
  for (u32 t = 0; t < D; ++t) sum[t] -= without(t + 1, t);
  resolve_columns(sum, u);
}

// T = x^2, likewise.
template <u32 D>
GPUINT_DEVICE void square_wide(const double (&x)[D], const Place& low, double (&u)[D]) {
  u64 carry = 0;
  square_columns<D>(x, [&](u32 k, u64 column) {
    carry += column;
    if (k < D)
      low[k] = carry & DIGIT_MASK;
    else
      u[k - D] = to_digit(carry);
    carry >>= DIGIT_BITS;
  });
}

}  // namespace gpuint::fp64
