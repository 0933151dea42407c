//! Powers modulo generalized Fermat numbers `b^q + 1`, in digits to base `b`
//! (`kernels/modular/fft/fermat_digits.cuh`).
//!
//! The columns of a square are sums of products in the order of the digits: the library computes
//! general powers on the CPU, and this function serves calls and checks of the kernel.

use super::fold::factor;
use super::rows::{Failed, Outcome, Row, Rows};
use crate::backend::Params;
use crate::error::Result;

const DIGIT_BITS: usize = 16;

pub(super) fn pow_fermat(rows: Rows<'_>) -> Result<Failed> {
    let Params { digit, distance, exponent_bits, .. } = rows.params;
    let q = rows.bits / DIGIT_BITS;
    rows.each(2 * q, |row, scratch| {
        let Row { ins: [a, exponent, record], outs: [out, _], .. } = row;
        let base = i64::from((record[1] >> 32) as u32);
        let (digits, columns) = bytemuck::cast_slice_mut::<u64, i64>(scratch).split_at_mut(q);
        for (digit, &half) in digits.iter_mut().zip(bytemuck::cast_slice::<u64, i16>(a)) {
            *digit = i64::from(half);
        }
        for bit in (distance..distance + exponent_bits).rev() {
            square(columns, digits);
            reduce(digits, columns, base, factor(exponent, bit.into(), digit));
        }
        for (half, &digit) in bytemuck::cast_slice_mut::<u64, i16>(out).iter_mut().zip(&*digits) {
            *half = digit as i16;
        }
        Outcome::default()
    })
}

/// Sets the columns to the negacyclic convolution of digits with themselves.
fn square(columns: &mut [i64], digits: &[i64]) {
    columns.fill(0);
    for (place, &digit) in digits.iter().enumerate() {
        let (below, above) = digits.split_at(digits.len() - place);
        for (column, other) in columns[place..].iter_mut().zip(below) {
            *column += digit * other;
        }
        for (column, other) in columns.iter_mut().zip(above) {
            *column -= digit * other;
        }
    }
}

/// Sets digits to the multiples of the columns, of at most `base / 2 + 1`.
fn reduce(digits: &mut [i64], columns: &[i64], base: i64, factor: i64) {
    let mut carry = 0;
    let divide = |sum: i64| {
        let quotient = (sum + base / 2).div_euclid(base);
        (quotient, sum - quotient * base)
    };
    for (digit, &column) in digits.iter_mut().zip(columns) {
        (carry, *digit) = divide(factor * column + carry);
    }
    carry = -carry;
    for digit in digits {
        if carry.abs() <= 1 {
            *digit += carry;
            break;
        }
        (carry, *digit) = divide(*digit + carry);
    }
}
