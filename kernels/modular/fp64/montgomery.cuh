// Montgomery's products in digits of 52 bits (P. Montgomery, Math. Comp. 44, 1985), for odd n <
// 2^BITS: x y / R mod n with R = beta^D = 2^L.
//
// Rows: sum <- (sum + x y_i + q n) / beta, where q = sum n' mod beta and n' = -1 / n mod beta make
// the lowest digit 0. A row goes a digit to the right by naming; carries out of columns wait until
// the end. The quotient of the next row follows from its lowest column, which is complete after two
// products of a row: its chain of dependent instructions runs beside the others.
//
// Lazy residues are below 2 n. As R >= 2^6 2^BITS > 4 n, (x y + q n) / R < 4 n^2 / R + n < 2 n for
// all q < R: nothing is compared between products. With y = 1 the result is at most n.
#pragma once
#include "modular/fp64/digits.cuh"
#include "tuning/fp64.cuh"

namespace gpuint::fp64 {

// -1 / n modulo 2^52 for an odd digit: Newton's iteration from 5 bits.
GPUINT_DEVICE double negative_inverse(u64 n) {
  u64 x = 3 * n ^ 2;
  GPUINT_UNROLL()
  for (u32 i = 0; i < 4; ++i) x *= 2 - n * x;
  return to_digit(0 - x);
}

// Changes nothing in the columns of a product before their carries are resolved.
struct Unchanged {
  template <u32 D>
  GPUINT_DEVICE void operator()(u64 (&)[D]) const {}
};

template <u32 D>
struct Montgomery {
  Place modulus;   // n, integers: read for each product, and in registers only while it is used
  double inverse;  // n'

  // x <- x y / R. y: integers.
  GPUINT_DEVICE void multiply(double (&x)[D], const Place& y) const {
    double n[D];
    load_digits(modulus, n);
    multiply(x, y, n, inverse);
  }
  // The same with the modulus in registers. `change` may double the columns of the result, or add
  // digits to them.
  template <class Change = Unchanged>
  GPUINT_DEVICE static void multiply(double (&x)[D], const Place& y, const double (&n)[D],
                                     double inverse, Change change = {}) {
    // A column that begins in a row gets 2 D low and 2 D high parts until it is complete; at the
    // end, 2 (t + 1) and 2 t of them are missing in place t. One that is there from the start gets
    // just these.
    u64 sum[D];
    GPUINT_UNROLL()
    for (u32 t = 0; t < D; ++t) sum[t] = without(2 * (t + 1), 2 * t);
    double factor = to_digit(y[0]);
    Halves product = multiply_digits(x[0], factor);
    double q = quotient(sum[0] + product.low, inverse);
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < D; ++i) {
      Halves multiple = multiply_digits(n[0], q), next_product = {};
      const u64 carry = (sum[0] + product.low + multiple.low) >> DIGIT_BITS;
      double next_factor = 0, next_q = 0;
      GPUINT_UNROLL()
      for (u32 t = 1; t < D; ++t) {
        const u64 above = sum[t] + product.high + multiple.high;
        product = multiply_digits(x[t], factor), multiple = multiply_digits(n[t], q);
        sum[t - 1] = above + product.low + multiple.low;
        if (t == 1) {
          sum[0] += carry;
          next_factor = to_digit(y[min_of(i + 1, D - 1)]);
          next_product = multiply_digits(x[0], next_factor);
          next_q = quotient(sum[0] + next_product.low, inverse);
        }
      }
      sum[D - 1] = product.high + multiple.high + without(2 * D, 2 * D);
      factor = next_factor, product = next_product, q = next_q;
    }
    GPUINT_UNROLL()
    for (u32 t = 0; t < D; ++t) sum[t] -= without(2 * (t + 1), 2 * t);
    change(sum);
    resolve_columns(sum, x);
  }

  // Leaves x / R mod n, below n, in the place.
  GPUINT_DEVICE void take_radix_out(double (&x)[D], const Place& to) const {
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D; ++j) to[j] = j == 0;
    double n[D];
    load_digits(modulus, n);
    multiply(x, to, n, inverse);
    u64 result[D];
    to_integers(x, result);
    subtract_once(result, n);
    store_integers(result, to);
  }

  // x <- x^2 / R. `high`: room for the upper columns of x^2.
  GPUINT_DEVICE void square(double (&x)[D], const Place& high) const {
    square(x, high, inverse, [&](double(&n)[D]) { load_digits(modulus, n); });
  }
  // The same with a modulus that `load` writes to the digits that it is given, after the columns.
  template <class LoadModulus, class Change = Unchanged>
  GPUINT_DEVICE static void square(double (&x)[D], const Place& high, double inverse,
                                   LoadModulus load, Change change = {}) {
    u64 sum[D];
    const auto sink = [&](u32 k, u64 column) {
      if (k < D)
        sum[k] = column + without(k + 1, k);
      else
        high[k - D] = column;
    };
    if constexpr (Fp64Policy<D>::HALVED_SQUARE)
      square_columns_by_halves<D>(x, high, sink);
    else
      square_columns<D>(x, sink);
    double n[D];
    load(n);
    double q = quotient(sum[0], inverse);
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < D; ++i) {
      Halves multiple = multiply_digits(n[0], q);
      const u64 carry = (sum[0] + multiple.low) >> DIGIT_BITS;
      double next_q = 0;
      GPUINT_UNROLL()
      for (u32 t = 1; t < D; ++t) {
        const u64 above = sum[t] + multiple.high;
        multiple = multiply_digits(n[t], q);
        sum[t - 1] = above + multiple.low;
        if (t == 1) {
          sum[0] += carry;
          next_q = quotient(sum[0], inverse);
        }
      }
      sum[D - 1] = high[i] + multiple.high + without(D, D);
      q = next_q;
    }
    GPUINT_UNROLL()
    for (u32 t = 0; t < D; ++t) sum[t] -= without(t + 1, t);
    change(sum);
    resolve_columns(sum, x);
  }

 private:
  // column n' mod beta.
  GPUINT_DEVICE static double quotient(u64 column, double inverse) {
    return __longlong_as_double(static_cast<i64>(multiply_digits(to_digit(column), inverse).low)) -
           TWO_52;
  }
};

}  // namespace gpuint::fp64
