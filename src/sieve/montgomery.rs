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
        // (3 m) xor 2 is the inverse modulo 2^5. Newton: the number of right bits doubles.
        let mut inverse = modulus.wrapping_mul(3) ^ 2;
        for _ in 0..4 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(modulus.wrapping_mul(inverse)));
        }
        let one = modulus.wrapping_neg() % modulus;
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

    /// Represents a number of any length.
    ///
    /// Horner's rule from the lowest digit on divides by R in place of a multiplication: one
    /// reduction of a sum a digit.
    pub(super) fn residue_of(self, number: &BigUint) -> Residue {
        let digits = number.iter_u64_digits();
        let length = digits.len() as u64;
        if length <= 1 {
            return self.from(digits.last().unwrap_or(0));
        }
        // x + digit < m R.
        let scaled = digits.fold(0, |x, digit| self.reduce(u128::from(x) + u128::from(digit)));
        // The number divided by R^length is to be multiplied by R^(length + 2) / R.
        self.mul(Residue(scaled), self.pow(Residue(self.square), length + 1))
    }

    /// The residue from 0 to m - 1.
    pub(crate) fn value(self, residue: Residue) -> u64 {
        self.reduce(u128::from(residue.0))
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

    /// Returns base^-exponent; the modulus is prime and does not divide the base.
    pub(super) fn pow_inverse(self, base: u64, exponent: u64) -> Residue {
        if base == 2 {
            return self.half_pow(exponent);
        }
        // Fermat: a^(m - 1) = 1.
        let order = self.modulus - 1;
        self.pow(self.from(base), order - exponent % order)
    }

    /// Returns 2^-exponent, by the bits of the exponent from the highest one on: up to six of them
    /// are a shift, and others a square and a halving each.
    fn half_pow(self, exponent: u64) -> Residue {
        let mut rest = (u64::BITS - exponent.leading_zeros()).saturating_sub(6);
        // 2^-e is represented by 2^(64 - e), for e < 64.
        let power = match exponent >> rest {
            0 => self.one,
            first => (1 << (64 - first)) % self.modulus,
        };
        let mut power = Residue(power);
        while rest > 0 {
            rest -= 1;
            power = self.mul(power, power);
            if exponent >> rest & 1 == 1 {
                // An odd x is that of the even number x + m < 2^64.
                let odd = power.0 & 1;
                power = Residue((power.0 + self.modulus * odd) / 2);
            }
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
                let opposite = (modulus - a % modulus) % modulus;
                assert_eq!(field.value(field.negate(residue)), opposite);
                let square = u128::from(a % modulus) * u128::from(a % modulus);
                let square = (square % u128::from(modulus)) as u64;
                assert_eq!(field.value(field.mul(residue, residue)), square);
                assert_eq!(field.pow(residue, 2), field.mul(residue, residue));
                if a % modulus != 0 {
                    assert_eq!(field.mul(residue, field.inverse(residue)), field.one());
                    for exponent in [0, 1, 5, 63, 64, 1000, 12_345, u64::MAX] {
                        let product =
                            field.mul(field.pow(residue, exponent), field.pow_inverse(a, exponent));
                        assert_eq!(product, field.one(), "{a}^{exponent} modulo {modulus}");
                    }
                }
            }
        }
    }
}
