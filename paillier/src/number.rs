//! Fixed-point numbers: a mantissa times a power of 16, as the Python package `phe` encodes them.

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};

use crate::error::{Error, Result};
use crate::key::PublicKey;

/// Bits of a digit of base 16.
pub(crate) const DIGIT_BITS: u32 = 4;
/// Bits of the mantissa of a `f64`.
const MANTISSA_BITS: i64 = 53;
/// Exponent of the least positive `f64`.
const MIN_EXPONENT: i64 = -1074;
/// Largest power of two by which a mantissa is multiplied: no key has plaintexts of this length.
const LARGEST_SHIFT: u64 = 1 << 20;

/// A number `mantissa * 16^exponent`.
///
/// ```
/// use gpuint_paillier::Number;
///
/// let price = Number::rounded(9.99, -4).unwrap();
/// assert_eq!(price.mantissa(), &654705.into());
/// assert_eq!(Number::exact(-0.1).unwrap().to_f64(), Some(-0.1));
/// assert_eq!(Number::from(7).to_f64(), Some(7.0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    mantissa: BigInt,
    exponent: i32,
}

impl<T: Into<BigInt>> From<T> for Number {
    /// Converts an integer, with exponent 0.
    fn from(integer: T) -> Self {
        Self::new(integer.into(), 0)
    }
}

impl Number {
    /// Makes the number `mantissa * 16^exponent`.
    #[must_use]
    pub fn new(mantissa: BigInt, exponent: i32) -> Self {
        Self { mantissa, exponent }
    }

    /// Converts a `f64` exactly, with the exponent that `phe` gives it: the largest one at which
    /// 53 bits from the leading one are a whole number. Returns `None` if it is not finite.
    #[must_use]
    pub fn exact(value: f64) -> Option<Self> {
        let (mantissa, power) = parts(value)?;
        // The value is in `[2^(leading - 1), 2^leading)`.
        let leading = if mantissa.is_zero() { 0 } else { mantissa.bits() as i64 + power };
        let exponent = (leading - MANTISSA_BITS).div_euclid(i64::from(DIGIT_BITS));
        scaled(&mantissa, power, exponent as i32)
    }

    /// Rounds a `f64` to a multiple of `16^exponent`, ties to even. Returns `None` if it is not
    /// finite, or if the mantissa would have more than 2^20 bits. All numbers of a column should
    /// have one exponent: it is not encrypted, and sums are faster.
    #[must_use]
    pub fn rounded(value: f64, exponent: i32) -> Option<Self> {
        let (mantissa, power) = parts(value)?;
        scaled(&mantissa, power, exponent)
    }

    /// The mantissa.
    #[must_use]
    pub fn mantissa(&self) -> &BigInt {
        &self.mantissa
    }

    /// The exponent of 16.
    #[must_use]
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// Returns the value as an integer; `None` if the exponent is negative, or so large that the
    /// integer has over 2^20 bits more than the mantissa.
    #[must_use]
    pub fn to_integer(&self) -> Option<BigInt> {
        let digits = u64::try_from(self.exponent).ok()?;
        let shift = digits * u64::from(DIGIT_BITS);
        (shift <= LARGEST_SHIFT).then(|| &self.mantissa << shift)
    }

    /// Returns the value as an `i64`; `None` if it has a fraction or more bits.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        if self.mantissa.is_zero() {
            return Some(0);
        }
        if self.exponent >= 0 {
            return self.to_integer()?.to_i64();
        }
        let shift = u64::from(self.exponent.unsigned_abs()) * u64::from(DIGIT_BITS);
        let is_whole = self.mantissa.trailing_zeros()? >= shift;
        is_whole.then(|| &self.mantissa >> shift)?.to_i64()
    }

    /// Returns the nearest `f64`, ties to even; `None` if it is infinite.
    #[must_use]
    pub fn to_f64(&self) -> Option<f64> {
        let magnitude = self.mantissa.magnitude();
        if magnitude.is_zero() {
            return Some(0.0);
        }
        let power = i64::from(self.exponent) * i64::from(DIGIT_BITS);
        // Subnormal results have fewer bits.
        let bits = magnitude.bits() as i64;
        let dropped = (bits - MANTISSA_BITS).max(MIN_EXPONENT - power);
        let (digits, power) = if dropped > 0 {
            (shifted_down(magnitude, dropped as u64), power + dropped)
        } else {
            (magnitude.clone(), power)
        };
        // At most 53 bits, or 2^53.
        let digits = digits.to_u64()? as f64;
        // Two powers of two, as one may be out of range where the product is not. The products are
        // exact: `power` is not below the exponent of the unit in the last place of the result.
        let power = power.min(1100) as i32;
        let value = digits * 2f64.powi(power / 2) * 2f64.powi(power - power / 2);
        let value = if self.mantissa.sign() == Sign::Minus { -value } else { value };
        value.is_finite().then_some(value)
    }
}

/// Returns the mantissa and the power of two of a `f64`.
fn parts(value: f64) -> Option<(BigInt, i64)> {
    if !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let (fraction, biased) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i64);
    let mantissa = if biased == 0 { fraction } else { fraction | 1 << 52 };
    let sign = if value.is_sign_negative() { Sign::Minus } else { Sign::Plus };
    Some((BigInt::from_biguint(sign, mantissa.into()), biased.max(1) - 1 + MIN_EXPONENT))
}

/// Returns `mantissa * 2^power` rounded to a multiple of `16^exponent`.
fn scaled(mantissa: &BigInt, power: i64, exponent: i32) -> Option<Number> {
    let shift = power - i64::from(exponent) * i64::from(DIGIT_BITS);
    let magnitude = match u64::try_from(shift) {
        Ok(_) if mantissa.is_zero() => BigUint::ZERO,
        Ok(up) if up > LARGEST_SHIFT => return None,
        Ok(up) => mantissa.magnitude() << up,
        Err(_) => shifted_down(mantissa.magnitude(), shift.unsigned_abs()),
    };
    Some(Number::new(BigInt::from_biguint(mantissa.sign(), magnitude), exponent))
}

/// Returns `value / 2^shift` rounded to an integer, ties to even; `shift` is positive.
fn shifted_down(value: &BigUint, shift: u64) -> BigUint {
    if shift > value.bits() {
        return BigUint::ZERO;
    }
    let quotient = value >> shift;
    let half = value.bit(shift - 1);
    let is_tie = half && value.trailing_zeros() == Some(shift - 1);
    if half && (!is_tie || quotient.is_odd()) { quotient + 1u32 } else { quotient }
}

/// Returns the mantissas modulo `n`.
pub(crate) fn residues(key: &PublicKey, numbers: &[Number]) -> Result<Vec<BigUint>> {
    let (n, max) = (key.modulus(), key.max_int());
    let residue = |(row, number): (usize, &Number)| {
        let magnitude = number.mantissa().magnitude();
        if magnitude > &max {
            return Err(Error::PlaintextRange { row });
        }
        Ok(match number.mantissa().sign() {
            Sign::Minus => n - magnitude,
            Sign::NoSign | Sign::Plus => magnitude.clone(),
        })
    };
    numbers.iter().enumerate().map(residue).collect()
}
