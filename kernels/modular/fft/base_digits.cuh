// Squares modulo N = k t^q + c, in digits to base t that stay in shared memory: special_digits.cuh
// has t = 2^16.
//
// With x^2 = hi t^q + lo,
//     y = m k lo - m c hi
// is congruent to m k x^2 modulo N (special.cuh). Rows are signed digits before and after, of x
// with |x| < 0.6 N. The host converts them, and takes N with t = b^e for numbers k' b^n + c' with
// any base b (`digit_form` of src/special.rs).
//
// Bounds (`takes_digits` there): 257 <= t <= 65532, 16 <= q, m <= 2^12, m k < 2^31, m |c| <= 2^20,
// m k |c| <= 2^40, m k c^2 <= 2^46; u digits from q on fit the row, for the least u with t^u > 2 k
// + 2, which is at most 4.
//
// Digits. |d| <= t / 2 + 1, which is less than 2^15. Columns are at most D (t / 2 + 1)^2 < 2^45.
//
// Chains over a chunk (digit_squares.cuh). Divisions by t (digit_rows.cuh) leave digits of lo, of
// hi and of y - Q N, and carries |L|, |H| <= D (t / 2 + 1)^2 / (t - 1) + 1 < 2^29 and E. At digit 0
// the sum has Q c, |Q| < m 2^29 + 4 m k |c|: less than 2^49 + 2^48. With m k t / 2 < 2^46, m |c| t
// / 2 < 2^36 and carries of less than 2^43, |sum| < 2^50 + 2^47.
//
// Carries. The chunk above continues the three chains until L and H are 0 and |E| <= 1. |L| becomes
// at most |L| / t + 1/2, so that it is 0 after 4 digits: 2^29 / 257^4 + 0.51 < 1. E becomes at most
// |E| / t + (m k + m |c|) / 2 + 1.01, after 4 digits less than 2^43 / 2^32 + 2^30.1, and then, with
// L and H 0, at most |E| / t + 1.01: below 2 after 4 more digits. The ninth one takes -1 .. 1. No
// chunk is shorter, except for the lowest one, which takes no carries.
//
// Quotient. y / N = m lo / t^q - (m c / k) hi / t^q but for a relative c / t^q. Columns more than 8
// digits below t^q, and t^(2q), add less than m D (t / 2 + 1)^2 / t^9 < 2^-30, and (m |c| / k) 40
// t^-7. Partial sums of lo / t^q are less than 2^29; those of hi are at most 10 times as large as
// x^2 (special_digits.cuh), and so 3.6 m k |c|. 27 roundings of these are below 0.02, 17 of m 2^29
// below 0.001. So for Q, the nearest integer, |y - Q N| < (1/2 + 1/16) N.
//
// Top. y - Q N is TOP t^q and the digits below; |TOP| < 0.6 k + 1. It is computed modulo 2^64. u
// digits take it: |TOP| / t^u <= 0.37, and 0.51 more of the divisions, are less than 1. hi has 2 u
// - 1 columns above.
#pragma once
#include "modular/fft/digit_rows.cuh"
#include "modular/fft/digit_squares.cuh"
#include "modular/special.cuh"

namespace gpuint {

struct BaseFormat {
  struct Modulus {
    DigitBase base;
    double ratio;  // c / k
    u32 k;
    i32 term;  // c
    u32 top;   // q
    u32 unused;
  };
  using Column = double;
  // Carries of the digits of y - Q N, lo and hi.
  struct Carry {
    double sum;
    i32 lo;
    i32 hi;
  };
  static constexpr u32 ABOVE = 7;
};

template <class S>
struct BaseDigits : DigitSquares<S, BaseFormat> {
  using Squares = DigitSquares<S, BaseFormat>;
  using Squares::ABOVE;
  using Squares::carries;
  using Squares::CHUNK;
  using Squares::column;
  using Squares::column_above;
  using Squares::column_of_hi;
  using Squares::digit;
  using Squares::DIGITS;
  using Squares::first_digit;
  using Squares::nearest;
  using Squares::set_digit;
  using Squares::THREADS;
  using typename Squares::Carry;
  using typename Squares::Modulus;
  using typename Squares::Quotient;
  static_assert(DIGITS <= 1 << 14, "columns are below 2^45");

  GPUINT_DEVICE BaseDigits(const Operands& o, unsigned char* bytes) : Squares(o, bytes) {}

  GPUINT_DEVICE void read(const u32* row, const SpecialModulus& modulus) const {
    read_digits<DIGITS, THREADS>(row,
                                 [&](u32 j, i32 value) { set_digit(static_cast<i32>(j), value); });
    if (threadIdx.x == 0) {
      Squares::modulus() = {DigitBase::of(modulus.base),
                            static_cast<double>(modulus.c) / modulus.k,
                            modulus.k,
                            modulus.c,
                            modulus.n,
                            0};
    }
    __syncthreads();
  }

  // Replaces the row x by m k x^2 modulo N, from -0.6 N to 0.6 N, for the factor m.
  GPUINT_DEVICE void square(u32 factor) const { Squares::square_by(*this, factor); }

  GPUINT_DEVICE void write(u32* row, const SpecialModulus&) const {
    write_digits<DIGITS, THREADS>(row, [&](u32 j) { return digit(j); });
    __syncthreads();  // nobody reads digits any more
  }

  // Q and TOP; q is digit `top` of the window.
  GPUINT_DEVICE Quotient divide(const Modulus& n, u32 top, u32 factor) const {
    constexpr u32 BELOW = 8;
    double lo = 0, hi = 0, upper = 0;
    GPUINT_UNROLL(1)
    for (u32 i = BELOW; i > 0; --i) {
      lo = (lo + column(top - i)) * n.base.inverse;
      hi = (hi + column_of_hi(top - i)) * n.base.inverse;
    }
    u64 sum = 0;
    GPUINT_UNROLL(1)
    for (u32 i = ABOVE; i-- > 0;) {
      const double above = column_above(n, top, i);
      upper = fma(upper, n.base.base, above);
      sum = sum * static_cast<u64>(n.base.base) + modulo_2_64(static_cast<i64>(above));
    }
    const i64 quotient = nearest(factor * fma(-n.ratio, hi + upper, lo));
    const u64 rest = modulo_2_64(quotient) * n.k + modulo_2_64(i64{n.term} * factor) * sum;
    return {quotient, static_cast<i64>(0 - rest)};
  }

  // Digits of y - Q N from the columns of a window that begins with a chunk, except for carries
  // between chunks.
  GPUINT_DEVICE void add_columns(const Modulus& n, u32 begin, u32 chunks, u32 factor,
                                 i64 quotient) const {
    const u32 thread = ptx::rematerialize(threadIdx.x), index = begin + thread;
    if (index >= chunks) return;
    const Terms terms(n, factor);
    const i32 first = first_digit(n, index, chunks);
    double lo = 0, hi = 0, sum = 0;
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < CHUNK; ++i) {
      const i32 j = first + static_cast<i32>(i);
      if (j == 0) sum -= static_cast<double>(quotient) * n.term;
      lo += column(CHUNK * thread + i);
      hi += column_of_hi(CHUNK * thread + i);
      set_digit(j, terms.add(lo, hi, sum));
    }
    carries()[index] = {sum, static_cast<i32>(lo), static_cast<i32>(hi)};
  }

  // Adds the carries between chunks, and sets the digits from q on.
  GPUINT_DEVICE void add_carries(const Modulus& n, u32 chunks, u32 factor, i64 top) const {
    const Terms terms(n, factor);
    const u32 thread = ptx::rematerialize(threadIdx.x);
    GPUINT_UNROLL(1)
    for (u32 index = thread == 0 ? THREADS : thread; index < chunks; index += THREADS) {
      const Carry carry = carries()[index - 1];
      double lo = carry.lo, hi = carry.hi, sum = carry.sum;
      i32 j = first_digit(n, index, chunks);
      GPUINT_UNROLL(1)
      for (; lo != 0 || hi != 0 || fabs(sum) > 1; ++j) {
        GPUINT_ASSERT(j < first_digit(n, index, chunks) + 8, "eight digits take the carries");
        sum += digit(j);
        set_digit(j, terms.add(lo, hi, sum));
      }
      set_digit(j, digit(j) + static_cast<i32>(sum));
    }
    if (thread == 0) {
      const Carry carry = carries()[chunks - 1];
      const u64 sum = modulo_2_64(top) + modulo_2_64(static_cast<i64>(carry.sum)) +
                      modulo_2_64(i64{n.k} * factor) * modulo_2_64(carry.lo) -
                      modulo_2_64(i64{n.term} * factor) * modulo_2_64(carry.hi);
      set_top(n, static_cast<i64>(sum));
    }
  }

 private:
  // The sums of chains: m k lo - m c hi.
  struct Terms {
    DigitBase by;
    double mk;
    double mc;

    GPUINT_DEVICE Terms(const Modulus& n, u32 factor)
        : by(n.base),
          mk(static_cast<double>(n.k) * factor),
          mc(static_cast<double>(n.term) * factor) {}

    // A digit of `sum`, to which the digits of lo and hi are added. All three become carries.
    GPUINT_DEVICE i32 add(double& lo, double& hi, double& sum) const {
      const double lo_carry = by.divide(lo), hi_carry = by.divide(hi);
      sum = fma(mk, lo, fma(-mc, hi, sum));
      lo = lo_carry, hi = hi_carry;
      const double carry = by.divide(sum);
      const i32 digit = static_cast<i32>(sum);
      sum = carry;
      return digit;
    }
  };

  GPUINT_DEVICE static u64 modulo_2_64(i64 x) { return static_cast<u64>(x); }

  GPUINT_DEVICE void set_top(const Modulus& n, i64 top) const {
    constexpr u32 TOPS = (ABOVE + 1) / 2;
    GPUINT_ASSERT(fabs(static_cast<double>(top)) < 0.6 * n.k + 1, "the nearest quotient");
    double rest = static_cast<double>(top);
    GPUINT_UNROLL(1)
    for (u32 j = n.top; j < min_of(n.top + TOPS, DIGITS); ++j) {
      const double carry = n.base.divide(rest);
      set_digit(static_cast<i32>(j), static_cast<i32>(rest));
      rest = carry;
    }
    GPUINT_ASSERT(rest == 0, "digits are left for the top");
  }
};

}  // namespace gpuint
