//! Arithmetic modulo an odd number below 2^63.
//!
//! P. L. Montgomery (1985): x is represented by x R modulo m, with R = 2^64. A product of
//! representatives is reduced by a multiple of m that makes its low word zero, and needs no
//! division. With m < 2^63 the reduced value is below 2 m, and one subtraction completes it.

use num_bigint::BigUint;

/// An odd modulus below 2^63.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    modulus: u64,
    /// -1 / m modulo 2^64.
    inverse: u64,
    /// R and R^2 modulo m.
    one: u64,
    square: u64,
}

/// Representative of a residue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Residue(pub(super) u64);

impl Field {
    /// Prepares an odd modulus from 3 to 2^63 - 1.
    pub(crate) fn new(modulus: u64) -> Self {
        debug_assert!(modulus % 2 == 1 && modulus > 1 && modulus < 1 << 63);
        // Newton: the number of right bits doubles. m is its own inverse modulo 8.
        let mut inverse = modulus;
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(modulus.wrapping_mul(inverse)));
        }
        let one = (u64::MAX % modulus + 1) % modulus;
        let square = (u128::from(one) * u128::from(one) % u128::from(modulus)) as u64;
        Self { modulus, inverse: inverse.wrapping_neg(), one, square }
    }

    pub(super) fn one(self) -> Residue {
        Residue(self.one)
    }

    /// Represents a number.
    pub(crate) fn from(self, number: u64) -> Residue {
        self.mul(Residue(number % self.modulus), Residue(self.square))
    }

    /// Represents a number of any length, by Horner's rule with base R.
    pub(super) fn residue_of(self, number: &BigUint) -> Residue {
        let mut residue = Residue(0);
        for digit in number.iter_u64_digits().rev() {
            // x R + digit: the product by R^2 is that of the number by R.
            residue = self.mul(residue, Residue(self.square));
            residue = self.add(residue, Residue(digit % self.modulus));
        }
        // The digits were not multiplied by R yet.
        self.mul(residue, Residue(self.square))
    }

    /// The residue from 0 to m - 1.
    pub(crate) fn value(self, residue: Residue) -> u64 {
        self.reduce(u128::from(residue.0))
    }

    pub(super) fn add(self, a: Residue, b: Residue) -> Residue {
        let sum = a.0 + b.0;
        Residue(if sum >= self.modulus { sum - self.modulus } else { sum })
    }

    pub(super) fn negate(self, a: Residue) -> Residue {
        Residue(if a.0 == 0 { 0 } else { self.modulus - a.0 })
    }

    pub(super) fn mul(self, a: Residue, b: Residue) -> Residue {
        Residue(self.reduce(u128::from(a.0) * u128::from(b.0)))
    }

    pub(crate) fn pow(self, mut base: Residue, mut exponent: u64) -> Residue {
        let mut power = self.one();
        while exponent > 0 {
            if exponent % 2 == 1 {
                power = self.mul(power, base);
            }
            base = self.mul(base, base);
            exponent /= 2;
        }
        power
    }

    /// Returns the inverse; the modulus is prime, and `a` is not zero.
    pub(super) fn inverse(self, a: Residue) -> Residue {
        // Fermat: a^(m - 2).
        self.pow(a, self.modulus - 2)
    }

    /// x / R modulo m, for x < m R.
    fn reduce(self, x: u128) -> u64 {
        let multiple = (x as u64).wrapping_mul(self.inverse);
        // x + multiple m < m R + m R < 2^128.
        let reduced = ((x + u128::from(multiple) * u128::from(self.modulus)) >> 64) as u64;
        if reduced >= self.modulus { reduced - self.modulus } else { reduced }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_agree_with_integers() {
        let moduli = [3, 5, 7, 97, 65_537, 4_294_967_291, (1 << 61) - 1, (1 << 63) - 25];
        for modulus in moduli {
            let field = Field::new(modulus);
            let big = BigUint::from(10u32).pow(500) + modulus;
            let expected = (&big % modulus).iter_u64_digits().next().unwrap_or(0);
            assert_eq!(field.value(field.residue_of(&big)), expected);
            for a in [0, 1, 2, modulus - 1, modulus, u64::MAX, 1 << 40] {
                let residue = field.from(a);
                assert_eq!(field.value(residue), a % modulus);
                assert_eq!(field.value(field.add(residue, field.negate(residue))), 0);
                let square = u128::from(a % modulus) * u128::from(a % modulus);
                let square = (square % u128::from(modulus)) as u64;
                assert_eq!(field.value(field.mul(residue, residue)), square);
                assert_eq!(field.pow(residue, 2), field.mul(residue, residue));
                if a % modulus != 0 {
                    assert_eq!(field.mul(residue, field.inverse(residue)), field.one());
                }
            }
        }
    }
}
