//! Checks of the results of other operations modulo the prime `2^61 - 1`, by the equations of
//! `kernels/verify/equation.cuh`.

use std::cmp::Ordering;

use gpuint_catalogue::Equation;

use super::limbs::{LIMB_BITS, bit, compare, shift_left};
use super::prepared::Prepared;
use super::rows::{Failed, Outcome, Row, Rows};
use crate::error::Result;

/// The modulus.
const P: u64 = (1 << 61) - 1;

/// The second prime, for equations with a factor that may be a multiple of the first.
const SECOND: u64 = (1 << 32) - 5;

/// The residue of a row modulo the second prime.
fn second(row: &[u64]) -> u64 {
    row.iter().rev().fold(0, |sum, &limb| {
        ((u128::from(sum) << 64 | u128::from(limb)) % u128::from(SECOND)) as u64
    })
}

/// Returns true if `a = c y + d` modulo the second prime, for residues `y` and `d`.
fn is_balanced_again(a: &[u64], c: &[u64], y: u64, d: u64) -> bool {
    (second(c) * y + d) % SECOND == second(a)
}

/// The residue of `x`.
const fn fold(x: u64) -> u64 {
    let x = (x & P) + (x >> 61);
    if x >= P { x - P } else { x }
}

fn add(x: u64, y: u64) -> u64 {
    fold(x + y)
}

fn negate(x: u64) -> u64 {
    fold(P - x)
}

fn multiply(x: u64, y: u64) -> u64 {
    let product = u128::from(x) * u128::from(y);
    add(product as u64 & P, (product >> 61) as u64)
}

/// The residue of `2^bits x`.
fn shift(x: u64, bits: usize) -> u64 {
    multiply(x, 1 << (bits % 61))
}

/// The residue of a row, by Horner's rule: `2^64 = 2^3` modulo `2^61 - 1`.
fn residue(row: &[u64]) -> u64 {
    row.iter().rev().fold(0, |sum, &limb| {
        let shifted = (sum << 3 & P) | sum >> 58;
        fold(shifted + (limb & P) + (limb >> 61))
    })
}

fn is_zero(a: &[u64]) -> bool {
    a.iter().all(|&limb| limb == 0)
}

/// Returns true if `u = q v + r` and `r < v`, or the results are those of `v = 0`.
fn is_quotient(u: &[u64], v: &[u64], q: &[u64], r: &[u64], bits: usize) -> bool {
    let rest = add(residue(r), negate(residue(u)));
    if is_zero(v) {
        return rest == 0 && residue(q) == add(shift(1, bits), P - 1);
    }
    let divisor = residue(v);
    compare(r, v).is_lt()
        && add(multiply(residue(q), divisor), rest) == 0
        && (divisor != 0 || is_balanced_again(u, q, second(v), second(r)))
}

/// The outcome of a row that fails if it is not right.
fn checked(is_right: bool) -> Outcome {
    Outcome { flag: false, failed: !is_right }
}

pub(super) fn check_equation(rows: Rows<'_>) -> Result<Failed> {
    let (bits, params) = (rows.bits, rows.params);
    let limbs = rows.limbs();
    rows.each(limbs + 1, |row, scratch| {
        let Row { ins: [a, b, _], outs: [c, d], all: [_, _, rest], index } = row;
        let is_marked = || rest[index / 8] >> (index % 8) & 1 == 1;
        let carry = || if is_marked() { shift(1, bits) } else { 0 };
        checked(match params.equation {
            Equation::Sum => add(residue(a), residue(b)) == add(residue(c), carry()),
            Equation::Difference => add(residue(a), carry()) == add(residue(b), residue(c)),
            Equation::Product => {
                let product = multiply(residue(a), residue(b));
                let high = if params.joined { 0 } else { shift(residue(d), bits) };
                product == add(residue(c), high)
            }
            Equation::Quotient => {
                // The digit is the lowest row with b = 0, or all ones.
                let is_reported = match (index as u64).cmp(&params.digit) {
                    Ordering::Less => !is_zero(b),
                    Ordering::Equal => is_zero(b),
                    Ordering::Greater => true,
                };
                is_reported && is_quotient(a, b, c, d, bits)
            }
            Equation::MaskedQuotient => is_marked() == is_zero(b) && is_quotient(a, b, c, d, bits),
            Equation::Root => {
                let root = residue(c);
                let (double, _) = scratch.split_at_mut(limbs + 1);
                shift_left(double, c, 1);
                compare(&double[..limbs], d).is_ge() | bit(double, limbs * LIMB_BITS)
                    && residue(a) == add(multiply(root, root), residue(d))
                    && is_balanced_again(a, c, second(c), second(d))
            }
            Equation::DigitQuotient => {
                let bytes = &rest[8 * index..][..8];
                let r = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
                let product = multiply(residue(c), fold(params.digit));
                r < params.digit
                    && residue(a) == add(product, fold(r))
                    && is_balanced_again(a, c, params.digit % SECOND, r % SECOND)
            }
        })
    })
}

pub(super) fn check_div_rem_by(rows: Rows<'_>) -> Result<Failed> {
    let (bits, limbs) = (rows.bits, rows.limbs());
    rows.each(limbs, |row, v| {
        let Row { ins: [u, _, record], outs: [q, r], .. } = row;
        Prepared::new(record).write_divisor(v);
        checked(is_quotient(u, v, q, r, bits))
    })
}

pub(super) fn check_equal(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, b, _], .. }, _| checked(a == b))
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    #[test]
    fn residues_are_those_of_integers() {
        let rows: [&[u64]; 5] = [
            &[0, 0],
            &[P, 0],
            &[u64::MAX, u64::MAX, u64::MAX],
            &[P - 1, 1, 2, 3, 4, 5, 6, u64::MAX],
            &[1 << 63, 1 << 60, 1 << 61],
        ];
        for row in rows {
            let words: Vec<u32> = bytemuck::cast_slice(row).to_vec();
            let value = BigUint::new(words);
            assert_eq!(BigUint::from(residue(row)), &value % P, "{row:?}");
            for bits in [0, 1, 60, 61, 62, 2048] {
                let expected = (&value << bits) % P;
                assert_eq!(BigUint::from(shift(residue(row), bits)), expected, "{row:?} {bits}");
            }
            assert_eq!(add(residue(row), negate(residue(row))), 0, "{row:?}");
        }
    }
}
