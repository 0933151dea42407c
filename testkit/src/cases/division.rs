//! Divisions, their inverses and prepared divisors.

use std::collections::BTreeSet;

use gpuint::num_bigint::BigUint;
use gpuint::{Op, Shape};

use super::draws::Draws;
use super::row::{Expected, Row};
use crate::launch::Operands;
use crate::operands::{self, DIVISIONS, EXACT, INVERSES, low, power};
use crate::oracle;

/// One-digit divisors of a check.
pub(super) const DIGITS: usize = 11;

/// The quotient of an exact division. Other rows are determined only with a mask.
pub(super) fn exact(x: &Row<'_>) -> Expected {
    let (a, b) = (x.a(), x.b());
    let is_zero = b == BigUint::ZERO;
    let expected = match oracle::div_exact(&a, &b) {
        Some(q) => Expected::value(q),
        None if x.operands.mask => Expected::value(BigUint::ZERO).marked(true),
        None => Expected::none(),
    };
    expected.failing(is_zero)
}

pub(super) fn shifted_inverse(x: &Row<'_>) -> Expected {
    let v = x.a();
    let exponent = x.operands.params.exponent as usize;
    // Wider than the rows: 2^e / v >= 2^BITS.
    if power(exponent) >= &v << x.bits() {
        return Expected::value(BigUint::ZERO).failing(true);
    }
    Expected::value(oracle::inverse(&v, exponent))
}

/// The record of a divisor (`kernels/core/record.cuh`). The top `n + 1` words of the reciprocal,
/// `n` being the words of the divisor, are too small by more than 0 and less than 3 of their units.
pub(super) fn record(x: &Row<'_>) -> Expected {
    let (v, shape) = (x.a(), x.shape);
    if v == BigUint::ZERO {
        return Expected::none().failing(true);
    }
    Expected::such_that(move |[record, _]| is_record(record, &v, shape))
}

fn is_record(record: &BigUint, v: &BigUint, shape: Shape) -> bool {
    let word = if shape.bits.is_multiple_of(32) { 128 } else { 64 };
    let width = shape.bits.next_multiple_of(word);
    let bits = v.bits() as usize;
    let used = (bits.div_ceil(word) + 1) * word;
    let part = |from: usize, bits: usize| low(record >> from, bits);
    let reciprocal = part(8 * shape.prepared_bytes() - used, used);
    let normalized = v << (width - bits);
    let end = power(used + width - 1);
    part(0, 2 * word) == bits.into()
        && part(2 * word, width + word) == *v
        && &reciprocal * &normalized < end
        && (reciprocal + 3u32) * normalized > end
}

/// Exponents of inverted powers of two.
pub(super) fn exponents(shape: Shape) -> Vec<usize> {
    let (bits, word) = (shape.bits, shape.digit.bits());
    let digits = bits / word;
    let whole = [0, 1, digits / 2, digits - 1, digits, digits + 1, digits * 3 / 2, 2 * digits - 1];
    let mut exponents: BTreeSet<_> = whole.into_iter().map(|h| h * word).collect();
    exponents.extend([bits / 2 + 3, bits + 5]);
    exponents.into_iter().collect()
}

/// Rows of divisions by divisors that are not 0. `is_one`: by the first one.
pub(super) fn divisible(draws: &mut Draws<'_>, is_one: bool) -> Vec<operands::Row> {
    let mut rows = draws.rows(DIVISIONS);
    for row in rows.iter_mut().filter(|row| row.b == BigUint::ZERO) {
        row.b = 1u32.into();
    }
    if is_one {
        let divisor = rows[0].b.clone();
        rows.iter_mut().for_each(|row| row.b = divisor.clone());
    }
    rows
}

/// Makes the second numbers of some rows the divisors of a launch.
pub(super) fn divided_by<'a>(
    mut launch: Operands,
    divisors: impl IntoIterator<Item = &'a BigUint>,
    is_one: bool,
    draws: &Draws<'_>,
) -> Operands {
    launch.divisors = draws.column(divisors);
    if is_one {
        launch.divisors.truncate(draws.shape.bytes());
    }
    launch.params.broadcast_divisor = is_one;
    launch
}

/// Leaves out no result, the second, or the first.
fn wanted(mut launch: Operands, variant: usize) -> Operands {
    match variant {
        0 => {}
        1 => launch.outputs[1] = 0,
        _ => launch.outputs[0] = 0,
    }
    launch
}

pub(super) fn operands(draws: &mut Draws<'_>) -> Operands {
    let (op, shape, count, variant) = (draws.op, draws.shape, draws.count, draws.variant);
    match op {
        Op::DivRem => {
            let mut rows = draws.rows(DIVISIONS);
            // Bytes below a short divisor are outside of its operand.
            if draws.random.one_in(2) {
                rows[0].b = draws.positive(2 * shape.digit.bits());
            }
            let division = draws.binary(&rows, 2);
            let (mask, without_status) = (variant != 1, variant == 2);
            wanted(Operands { mask, without_status, ..division }, variant)
        }
        Op::DivRemDigit => {
            let word = shape.digit.bits();
            let digits: [u64; DIGITS] = [
                1,
                3,
                0xffff,
                1 << 31,
                draws.random.word() | 1,
                (1 << 63) + 1,
                (draws.random.word() | 1) << 29,
                u64::MAX,
                u64::MAX >> (64 - word),
                1 << (word - 1),
                (1 << (word - 1)) + 1,
            ];
            let digit = digits[variant / 2];
            let mut rows = draws.rows(DIVISIONS);
            // No remainder.
            for row in rows.iter_mut().step_by(2) {
                let quotient_bits = shape.bits - (64 - digit.leading_zeros() as usize);
                row.a = draws.value(quotient_bits) * digit;
            }
            let mut division = draws.unary(&rows, 1);
            division.outputs[1] = 8 * count;
            division.params.digit = digit;
            wanted(division, if variant % 2 == 0 { 0 } else { 1 + variant / 2 % 2 })
        }
        Op::DivExact => {
            let mut rows = draws.rows(EXACT);
            if variant == 2 {
                let divisor = rows[0].b.clone();
                for row in rows.iter_mut().skip(1).step_by(2) {
                    let rest = shape.bits - divisor.bits() as usize;
                    row.a = draws.value(rest) * &divisor;
                }
            }
            let division = Operands { mask: variant != 1, ..draws.binary(&rows, 1) };
            draws.broadcast_rhs(division, variant == 2)
        }
        Op::InverseModPow2 => {
            let mut rows = draws.rows(EXACT);
            rows.iter_mut().for_each(|row| row.a = std::mem::take(&mut row.b));
            Operands { mask: true, ..draws.unary(&rows, 1) }
        }
        Op::ShiftedInverse => {
            let exponent = exponents(shape)[variant];
            let mut rows = draws.rows(INVERSES);
            for row in &mut rows {
                match draws.random.below(4) {
                    // The result just fits, or does not.
                    0 => {
                        let fits = shape.bits - draws.random.below(2);
                        row.a = power(exponent.saturating_sub(fits));
                        if draws.random.one_in(2) {
                            let bit = draws.random.below(row.a.bits() as usize) as u64;
                            row.a += power(bit as usize);
                        }
                    }
                    // The result is just above, or just below, a number of few bits.
                    1 => {
                        let few = 1 + draws.random.below(shape.bits);
                        let few = draws.positive(few);
                        row.a = oracle::inverse(&few, exponent) + draws.random.below(2);
                    }
                    2 => row.a = draws.value(shape.bits),
                    _ => {}
                }
                row.a = low(std::mem::take(&mut row.a), shape.bits);
            }
            let mut inverses = draws.unary(&rows, 1);
            inverses.params.exponent = exponent as u32;
            inverses
        }
        Op::Prepare => {
            let rows = draws.rows(DIVISIONS);
            let zero = BigUint::ZERO;
            let last = count.checked_sub(2);
            let divisor = |(index, row)| if Some(index) == last { &zero } else { second(row) };
            let divisors = draws.column(rows.iter().enumerate().map(divisor));
            let mut preparation = draws.launch([divisors, vec![], vec![]], 0);
            preparation.outputs[0] = count * shape.prepared_bytes();
            preparation
        }
        _ => {
            let is_one = variant % 2 == 1;
            let rows = divisible(draws, is_one);
            let launch = draws.unary(&rows, 2);
            let launch = divided_by(launch, rows.iter().map(second), is_one, draws);
            Operands { without_status: true, ..wanted(launch, variant / 2) }
        }
    }
}

fn second(row: &operands::Row) -> &BigUint {
    &row.b
}
