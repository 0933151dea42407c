//! Powers in signed digits to any base: modulo generalized Fermat numbers `b^q + 1`
//! (`kernels/modular/fft/fermat_digits.cuh`) and numbers `k t^q + c`
//! (`kernels/modular/fft/base_digits.cuh`).
//!
//! The columns of a square are sums of products in the order of the digits: the library computes
//! general powers on the CPU, and these functions serve calls and checks of the kernels.

use super::fold::factor;
use super::rows::{Failed, Outcome, Row, Rows};
use crate::backend::Params;
use crate::error::Result;

const DIGIT_BITS: usize = 16;

/// Digits below `t^q` and `t^(2 q)` that tell the quotient.
const LEADING: usize = 8;

pub(super) fn pow_fermat(rows: Rows<'_>) -> Result<Failed> {
    powers(rows, |digits, columns, modulus, factor| {
        let (columns, above) = columns.split_at_mut(digits.len());
        for (column, above) in columns.iter_mut().zip(above) {
            *column -= *above;
        }
        reduce_fermat(digits, columns, modulus.base, factor);
    })
}

pub(super) fn pow_special_base(rows: Rows<'_>) -> Result<Failed> {
    powers(rows, reduce_by_quotient)
}

/// A modulus `k base^q + c`.
struct Modulus {
    k: i64,
    q: usize,
    c: i64,
    base: i64,
}

/// Squares digits for each bit of the exponent. `reduce` gets the columns of a square, twice as
/// many as digits, and a factor, and sets the digits.
fn powers(
    rows: Rows<'_>,
    reduce: impl Fn(&mut [i64], &mut [i64], &Modulus, i64),
) -> Result<Failed> {
    let Params { digit, distance, exponent_bits, .. } = rows.params;
    let count = rows.bits / DIGIT_BITS;
    rows.each(3 * count, |row, scratch| {
        let Row { ins: [a, exponent, record], outs: [out, _], .. } = row;
        let modulus = Modulus {
            k: i64::from(record[0] as u32),
            q: (record[0] >> 32) as usize,
            c: i64::from(record[1] as i32),
            base: (record[1] >> 32) as i64,
        };
        let (digits, columns) = bytemuck::cast_slice_mut::<u64, i64>(scratch).split_at_mut(count);
        for (digit, &half) in digits.iter_mut().zip(bytemuck::cast_slice::<u64, i16>(a)) {
            *digit = i64::from(half);
        }
        for bit in (distance..distance + exponent_bits).rev() {
            square(columns, digits);
            reduce(digits, columns, &modulus, factor(exponent, bit.into(), digit));
        }
        for (half, &digit) in bytemuck::cast_slice_mut::<u64, i16>(out).iter_mut().zip(&*digits) {
            *half = digit as i16;
        }
        Outcome::default()
    })
}

/// Sets the columns to the products of digits with themselves.
fn square(columns: &mut [i64], digits: &[i64]) {
    columns.fill(0);
    for (place, &digit) in digits.iter().enumerate().filter(|&(_, &digit)| digit != 0) {
        for (column, other) in columns[place..].iter_mut().zip(digits) {
            *column += digit * other;
        }
    }
}

/// Returns the nearest quotient, and the remainder, at most `base / 2`.
fn divide(number: i128, base: i64) -> (i128, i64) {
    let base = i128::from(base);
    let quotient = (number + base / 2).div_euclid(base);
    (quotient, (number - quotient * base) as i64)
}

/// Sets digits to the multiples of the columns, of at most `base / 2 + 1`.
fn reduce_fermat(digits: &mut [i64], columns: &[i64], base: i64, factor: i64) {
    let mut carry = 0;
    for (digit, &column) in digits.iter_mut().zip(columns) {
        (carry, *digit) = divide(carry + i128::from(factor * column), base);
    }
    carry = -carry;
    for digit in digits {
        if carry.abs() <= 1 {
            *digit += carry as i64;
            break;
        }
        (carry, *digit) = divide(carry + i128::from(*digit), base);
    }
}

/// Sets digits to those of the columns times `factor k`, less a multiple of the modulus: `y - Q N`
/// for `y = m k lo - m c hi`, where the columns are `hi t^q + lo`.
fn reduce_by_quotient(digits: &mut [i64], columns: &mut [i64], modulus: &Modulus, factor: i64) {
    let Modulus { k, q, c, base } = *modulus;
    let mut carry = 0;
    for column in &mut *columns {
        (carry, *column) = divide(carry + i128::from(*column), base);
    }
    let (lo, hi) = columns.split_at(q);
    let leading = |part: &[i64]| {
        let sum = part[q - LEADING..].iter().rev().fold(0.0, |sum, &digit| {
            let digit = digit as f64;
            sum * base as f64 + digit
        });
        sum / (base as f64).powi(LEADING as i32)
    };
    let ratio = c as f64 / k as f64;
    let quotient = i128::from((factor as f64 * (leading(lo) - ratio * leading(hi))).round() as i64);
    let mut carry = -quotient * i128::from(c);
    for (place, digit) in digits.iter_mut().enumerate() {
        let [low, high] = [lo, hi].map(|part| part.get(place).copied().unwrap_or(0));
        carry += i128::from(factor * k * low) - i128::from(factor * c * high);
        if place == q {
            carry -= quotient * i128::from(k);
        }
        (carry, *digit) = divide(carry, base);
    }
}
