// Digits of 52 bits on the FP64 multipliers (N. Emmart, F. Zheng, C. Weems, "Faster modular
// exponentiation using double precision floating point arithmetic on the GPU", ARITH 2018).
//
// A digit is an integer below beta = 2^52, held as a double. A product of two digits is hi beta +
// lo, found by two fused multiply-adds that round toward zero:
//     h = a b + 2^104                   in [2^104, 2^105), unit 2^52: its mantissa is hi
//     l = a b + (2^104 + 2^52 - h)      in [2^52, 2^53), unit 1: its mantissa is lo
// The sum in parentheses is 2^52 (1 - hi), exact. Bit patterns of h and l are added to columns as
// 64-bit integers: a pattern is the mantissa plus a constant, HIGH or LOW, whose multiples are
// subtracted where a column begins. The constants are multiples of 2^52, so they do not change the
// lowest digit of a column. Patterns wrap modulo 2^64 without harm, since the true sums do not:
//     a column has at most 2 D low and 2 D high parts, so it is below 4 D beta.
//
// Numbers of BITS bits have D digits, an even number, since rows of a product are taken in pairs.
// L = 52 D is their length. Lazy residues and the estimates of barrett.cuh use the spare bits L -
// BITS.
#pragma once
#include "core/rows.cuh"
#include "modular/by_thread/stage.cuh"

namespace gpuint::fp64 {

using namespace by_thread;

constexpr u32 DIGIT_BITS = 52;
constexpr u64 DIGIT_MASK = (1ull << DIGIT_BITS) - 1;
constexpr double TWO_52 = 4503599627370496.0;
constexpr double TWO_104 = TWO_52 * TWO_52;
constexpr u64 HIGH = 0x467ull << DIGIT_BITS;  // exponent of a double in [2^104, 2^105)
constexpr u64 LOW = 0x433ull << DIGIT_BITS;   // exponent of a double in [2^52, 2^53)

// Spare bits that the bounds of barrett.cuh and montgomery.cuh require.
constexpr u32 MIN_SPARE_BITS = 6;

__host__ __device__ constexpr u32 digits_of(u32 bits) {
  return 2 * ceil_div(bits + MIN_SPARE_BITS, 2 * DIGIT_BITS);
}

GPUINT_DEVICE u64 pattern(double x) { return static_cast<u64>(__double_as_longlong(x)); }

// The low 52 bits of x as a digit.
GPUINT_DEVICE double to_digit(u64 x) {
  return __longlong_as_double(static_cast<i64>((x & DIGIT_MASK) | LOW)) - TWO_52;
}
GPUINT_DEVICE u64 to_integer(double digit) { return pattern(digit + TWO_52) & DIGIT_MASK; }

// Patterns of the halves of a product.
struct Halves {
  u64 high, low;
};
GPUINT_DEVICE Halves multiply_digits(double a, double b) {
  const double h = __fma_rz(a, b, TWO_104);
  const double l = __fma_rz(a, b, (TWO_104 + TWO_52) - h);
  return {pattern(h), pattern(l)};
}
GPUINT_DEVICE u64 high_half(double a, double b) { return pattern(__fma_rz(a, b, TWO_104)); }

// Minus the constants of `lows` low and `highs` high parts.
__host__ __device__ constexpr u64 without(u64 lows, u64 highs) {
  return 0 - lows * LOW - highs * HIGH;
}

// A thread's column of integers in shared memory; neighbouring threads are neighbours there.
struct Place {
  u64* at;
  GPUINT_DEVICE u64& operator[](u32 i) const { return at[i * 32]; }
};

template <u32 D>
GPUINT_DEVICE void load_digits(const Place& from, double (&x)[D]) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; ++j) x[j] = to_digit(from[j]);
}

// Digits as integers.
template <u32 D>
GPUINT_DEVICE void to_integers(const double (&x)[D], u64 (&to)[D]) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; ++j) to[j] = to_integer(x[j]);
}
template <u32 D>
GPUINT_DEVICE void store_integers(const double (&x)[D], const Place& to) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; ++j) to[j] = to_integer(x[j]);
}
template <u32 D>
GPUINT_DEVICE void load_integers(const Place& from, u64 (&x)[D]) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; ++j) x[j] = from[j];
}
template <u32 D>
GPUINT_DEVICE void store_integers(const u64 (&x)[D], const Place& to) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; ++j) to[j] = x[j];
}

// Digits of WIDTH bits from bit OFFSET on of the number whose limb i of 32 bits is limb(i).
template <u32 OFFSET, u32 WIDTH = DIGIT_BITS, u32 D, class GetLimb>
GPUINT_DEVICE void to_digits(GetLimb limb, double (&x)[D]) {
  constexpr u32 LIMBS = (OFFSET + WIDTH * D - 1) / 32 + 1 - OFFSET / 32;
  u32 limbs[LIMBS];
  GPUINT_UNROLL()
  for (u32 i = 0; i < LIMBS; ++i) limbs[i] = limb(i + OFFSET / 32);
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; ++j) {
    const u32 bit = OFFSET % 32 + WIDTH * j, i = bit / 32, shift = bit % 32;
    u64 digit = limbs[i] >> shift | u64(limbs[i + 1]) << (32 - shift);
    if (shift > 64 - WIDTH) digit |= u64(limbs[i + 2]) << (64 - shift);
    x[j] = to_digit(digit & ((1ull << WIDTH) - 1));
  }
}

// Limb i of 32 bits of the digits x, which are integers.
template <u32 D>
GPUINT_DEVICE u32 limb_of(const u64 (&x)[D], u32 i) {
  const u32 j = 32 * i / DIGIT_BITS, shift = 32 * i % DIGIT_BITS;
  const u64 above = shift > DIGIT_BITS - 32 && j + 1 < D ? x[j + 1] << (DIGIT_BITS - shift) : 0;
  return static_cast<u32>(x[j] >> shift | above);
}

// Writes x, whose digits are integers, as rows of an output. The stage takes the place of digits
// that the warp has read.
template <u32 N, u32 D>
GPUINT_DEVICE void store_rows_of_digits(const u64 (&x)[D], u32* stage, u32 lane,
                                        const WarpRows& rows, void* output) {
  static_assert(N * STAGE_STRIDE <= 2 * D * WARP, "rows stand in the place of digits");
  __syncwarp();  // the places of the digits are read
  GPUINT_UNROLL()
  for (u32 i = 0; i < N; ++i) stage[i * STAGE_STRIDE + lane] = limb_of(x, i);
  __syncwarp();
  store_rows<N>(stage, rows, output);
}

// The digit at bit `from` of the number of `count` limbs at `limbs`; zeros outside.
GPUINT_DEVICE u64 digit_at(const u32* limbs, u32 count, i32 from) {
  const u32 first = static_cast<u32>(from >> 5), shift = static_cast<u32>(from) % 32;
  const auto limb = [&](u32 i) { return i < count ? u64(__ldg(limbs + i)) : 0; };
  const u64 low = limb(first) | limb(first + 1) << 32;
  const u64 above = shift > 64 - DIGIT_BITS ? limb(first + 2) << (64 - shift) : 0;
  return (low >> shift | above) & DIGIT_MASK;
}

// Integer digit j of x >> distance.
template <u32 D>
GPUINT_DEVICE u64 shifted_down(const Place& x, u32 distance, u32 j) {
  const u32 at = j + distance / DIGIT_BITS, shift = distance % DIGIT_BITS;
  const u64 low = at < D ? x[at] : 0, high = at + 1 < D ? x[at + 1] : 0;
  return (low >> shift | high << (DIGIT_BITS - shift)) & DIGIT_MASK;
}
// x >> distance, as integers and as digits. (The places of digits are not kept for the next use:
// they would cost a register each.)
template <u32 D>
GPUINT_DEVICE void shift_down(const Place& from, u32 distance, u64 (&x)[D]) {
  const u32 by = ptx::rematerialize(distance);
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; ++j) x[j] = shifted_down<D>(from, by, j);
}
template <u32 D>
GPUINT_DEVICE void shift_down(const Place& from, u32 distance, double (&x)[D]) {
  const u32 by = ptx::rematerialize(distance);
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; ++j) x[j] = to_digit(shifted_down<D>(from, by, j));
}

// The digits of columns, in place of them.
template <u32 D>
GPUINT_DEVICE void resolve_columns(const u64 (&sum)[D], double (&x)[D]) {
  u64 carry = 0;
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; ++j) {
    carry += sum[j];
    x[j] = to_digit(carry);
    carry >>= DIGIT_BITS;
  }
}

// x < 2 n becomes x mod n, as integers.
template <u32 D>
GPUINT_DEVICE void subtract_once(u64 (&x)[D], const double (&n)[D]) {
  u64 difference[D];
  i64 borrow = 0;
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; ++j) {
    borrow += static_cast<i64>(x[j]) - static_cast<i64>(to_integer(n[j]));
    difference[j] = static_cast<u64>(borrow) & DIGIT_MASK;
    borrow >>= DIGIT_BITS;
  }
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; ++j) x[j] = borrow < 0 ? x[j] : difference[j];
}

// The columns of x^2 from the lowest to column 2 D - 1, each without constants, to sink(k, column).
// A product of different digits is added once and doubled: D (D + 1) / 2 products.
template <u32 D, u32 K = 0, class Sink>
GPUINT_DEVICE void square_columns(const double (&x)[D], Sink sink, u64 pairs = 0, u64 own = 0) {
  if constexpr (K < 2 * D) {
    // Products i, K - i with i < K - i, and of the column below, whose high parts are here.
    constexpr u32 FIRST = K < D ? 0 : K - D + 1, END = (K + 1) / 2;
    constexpr u32 FIRST_BELOW = K < D + 1 ? 0 : K - D, END_BELOW = K / 2;
    constexpr u64 LOWS = END > FIRST ? END - FIRST : 0;
    constexpr u64 HIGHS = END_BELOW > FIRST_BELOW ? END_BELOW - FIRST_BELOW : 0;
    u64 pairs_above = 0, own_above = 0;
    GPUINT_UNROLL()
    for (u32 i = END; i-- > FIRST;) {
      const Halves product = multiply_digits(x[i], x[K - i]);
      pairs += product.low, pairs_above += product.high;
    }
    if constexpr (K % 2 == 0) {
      const Halves product = multiply_digits(x[K / 2], x[K / 2]);
      own += product.low, own_above = product.high;
    }
    constexpr u64 CONSTANT =
        K % 2 == 0 ? without(2 * LOWS + 1, 2 * HIGHS) : without(2 * LOWS, 2 * HIGHS + 1);
    sink(K, 2 * pairs + own + CONSTANT);
    square_columns<D, K + 1>(x, sink, pairs_above, own_above);
  }
}

// The same by halves of the digits, x = l + h beta^(D/2): twice the columns of l h, made by rows in
// a loop, are added to the columns of l^2 and h^2. The number of products is the same, and half of
// the code; that of `square_columns` exceeds the instruction cache where digits are many. The
// columns of l h stand in `room` until the column in their place is read: `sink` may write columns
// k >= D to room[k - D].
template <u32 D, class Sink>
GPUINT_DEVICE void square_columns_by_halves(const double (&x)[D], const Place& room, Sink sink) {
  static_assert(D % 2 == 0, "two halves");
  constexpr u32 H = D / 2;
  double low[H], high[H];
  u64 sum[H];
  GPUINT_UNROLL()
  for (u32 t = 0; t < H; ++t) {
    low[t] = x[t], high[t] = x[H + t], sum[t] = 0;
    room[t] = to_integer(low[t]);
  }
  GPUINT_UNROLL(1)
  for (u32 i = 0; i < H; ++i) {
    const double factor = to_digit(room[i]);
    Halves product = multiply_digits(high[0], factor);
    room[i] = sum[0] + product.low;
    GPUINT_UNROLL()
    for (u32 t = 1; t < H; ++t) {
      const u64 above = sum[t] + product.high;
      product = multiply_digits(high[t], factor);
      sum[t - 1] = above + product.low;
    }
    sum[H - 1] = product.high;
  }
  GPUINT_UNROLL()
  for (u32 t = 0; t < H; ++t) room[H + t] = sum[t];
  // Twice column k of l h, without constants.
  const auto mixed = [&](u32 k) {
    return 2 * (room[k] + (k < H ? without(k + 1, k) : without(D - 1 - k, D - k)));
  };
  square_columns<H>(low,
                    [&](u32 k, u64 column) { sink(k, k < H ? column : column + mixed(k - H)); });
  square_columns<H>(
      high, [&](u32 k, u64 column) { sink(D + k, k < H ? column + mixed(H + k) : column); });
}

}  // namespace gpuint::fp64
