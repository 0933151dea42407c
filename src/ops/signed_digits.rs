//! Conversions between integers and rows of signed digits of 16 bits, on the host.

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;

/// Digits that a conversion computes one after the other.
const LEAF_DIGITS: usize = 64;

/// Returns the powers of a base by which `count` digits, a power of two, are halved down to
/// [`LEAF_DIGITS`]: the least one first.
fn powers_of_parts(base: u32, count: usize) -> Vec<BigUint> {
    let mut powers = Vec::<BigUint>::new();
    for _ in 0..(count / LEAF_DIGITS).checked_ilog2().unwrap_or(0) {
        powers.push(match powers.last() {
            None => BigUint::from(base).pow(LEAF_DIGITS as u32),
            Some(power) => power * power,
        });
    }
    powers
}

/// Returns the number of these digits, a power of two, to a base.
pub(super) fn value_of(digits: &[i16], base: u32) -> BigInt {
    let leaf = |digits: &[i16]| {
        digits.iter().rev().fold(BigInt::ZERO, |value, &digit| value * base + digit)
    };
    let mut parts: Vec<BigInt> = digits.chunks(LEAF_DIGITS).map(leaf).collect();
    for power in powers_of_parts(base, digits.len()) {
        let power = BigInt::from(power);
        parts = parts.chunks(2).map(|pair| &pair[0] + &pair[1] * &power).collect();
    }
    parts.pop().unwrap_or_default()
}

/// Returns the number of the bytes of a row.
pub(super) fn value_of_row(bytes: &[u8], base: u32) -> BigInt {
    let halves = bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]));
    value_of(&halves.collect::<Vec<_>>(), base)
}

/// Returns the bytes of a row of `count` digits of at most `base / 2`, a power of two from 64 on,
/// which the number fits.
pub(super) fn row_of(value: &BigInt, base: u32, count: usize) -> Vec<u8> {
    let mut digits = vec![0; count];
    split(value.magnitude().clone(), base, &powers_of_parts(base, count), &mut digits);
    let sign = if value.sign() == Sign::Minus { -1 } else { 1 };
    let mut carry = 0;
    let balanced = digits.into_iter().map(|digit| {
        let sum = i64::from(digit) + carry;
        carry = i64::from(sum > i64::from(base / 2));
        sign * (sum - carry * i64::from(base))
    });
    balanced.flat_map(|digit| (digit as i16).to_le_bytes()).collect()
}

/// Sets the digits, from 0 to `base - 1`, of a number: halves by a division by each power.
fn split(mut value: BigUint, base: u32, powers: &[BigUint], digits: &mut [u32]) {
    let Some((power, powers)) = powers.split_last() else {
        for digit in digits {
            let (quotient, remainder) = value.div_rem(&base.into());
            *digit = remainder.iter_u32_digits().next().unwrap_or(0);
            value = quotient;
        }
        return;
    };
    let (high, low) = value.div_rem(power);
    let (lower, upper) = digits.split_at_mut(digits.len() / 2);
    split(low, base, powers, lower);
    split(high, base, powers, upper);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_numbers_have_their_values() {
        for base in [257, 10000, 59049, 65532] {
            for count in [64, 128, 1024] {
                let most: BigInt = BigInt::from(base).pow(count as u32 - 1) / 2;
                for value in [BigInt::ZERO, 1.into(), (base / 2).into(), most.clone(), &most / 3] {
                    for value in [value.clone(), -value] {
                        let row = row_of(&value, base, count);
                        assert_eq!(value_of_row(&row, base), value, "{count} digits to {base}");
                        let halves =
                            row.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]));
                        let most = halves.map(i16::unsigned_abs).max();
                        assert!(most <= Some((base / 2) as u16), "{count} digits to {base}");
                    }
                }
            }
        }
    }

    #[test]
    fn digits_have_a_power_for_each_halving() {
        let power = |digits| BigUint::from(10u32).pow(digits);
        let expected = [vec![], vec![], vec![power(64)], vec![power(64), power(128), power(256)]];
        assert_eq!([32, 64, 128, 512].map(|count| powers_of_parts(10, count)), expected);
    }

    #[test]
    fn values_are_sums_of_digits() {
        let number = |place: usize, digit: i16| {
            let mut digits = vec![0; 1024];
            digits[place] = digit;
            value_of(&digits, 10)
        };
        assert_eq!(number(0, -1), BigInt::from(-1));
        assert_eq!(number(1000, 6), BigInt::from(10).pow(1000) * 6);
        let ones = (BigInt::from(10).pow(1024) - 1) / 9;
        assert_eq!(value_of(&[-6; 1024], 10), ones * -6);
    }
}
