//! Values of expressions, with a bound on their size that is checked before each operation.
//!
//! A bound on the number of bits follows from the operands: `bits(a b) <= bits(a) + bits(b)`,
//! `bits(a^n) <= n bits(a)`, `n! < n^n`, and `n# < 2^(1.4662 n)`, since `theta(n) < 1.01624 n`
//! (J. B. Rosser, L. Schoenfeld 1962, theorem 9).

use std::collections::HashMap;

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::syntax::{At, Expression, Operator};

/// Maximum number of primorials, factorials and powers that are kept for later expressions.
const MAX_KEPT: usize = 64;

/// Reason why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {fault}")]
pub struct ValueError {
    /// Column of the operator.
    pub column: usize,
    pub fault: Fault,
}

/// Kind of a [`ValueError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the division has a remainder")]
    Inexact,
    #[error("the divisor is zero")]
    ZeroDivisor,
    #[error("the exponent is negative")]
    NegativeExponent,
    #[error("the number before {0} is negative")]
    NegativeArgument(char),
    #[error("the value may have more than {limit} bits")]
    TooLarge { limit: u64 },
    #[error("the value is negative")]
    Negative,
}

impl Fault {
    fn at(self, column: usize) -> ValueError {
        ValueError { column, fault: self }
    }
}

impl ValueError {
    /// Moves the column, for a text that starts `columns` after the first one of its line.
    pub fn shifted(self, columns: usize) -> Self {
        Self { column: self.column + columns, ..self }
    }
}

/// A power, factorial or primorial.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Kept {
    Power(BigUint, u64),
    Factorial(u64, u64),
    Primorial(u64),
}

/// Evaluates expressions, and keeps values that many expressions share.
#[derive(Debug)]
pub struct Evaluator {
    /// Maximum number of bits of each intermediate value.
    limit: u64,
    kept: HashMap<Kept, BigUint>,
}

impl Evaluator {
    /// Makes an evaluator of values of at most `limit` bits, intermediate values included.
    pub fn new(limit: u64) -> Self {
        Self { limit, kept: HashMap::new() }
    }

    /// Returns the value of an expression.
    ///
    /// # Errors
    /// [`ValueError`] for a division with a remainder or by zero, a negative value, and a value
    /// that may have more bits than the limit.
    pub fn evaluate(&mut self, expression: &Expression) -> Result<BigUint, ValueError> {
        self.signed(expression)?.to_biguint().ok_or(Fault::Negative.at(1))
    }

    fn signed(&mut self, expression: &Expression) -> Result<BigInt, ValueError> {
        match expression {
            Expression::Number(number) => self.checked(1, number.bits(), || number.clone().into()),
            Expression::Negative(value) => Ok(-self.signed(value)?),
            Expression::Sum(terms) => {
                let mut sum = BigInt::ZERO;
                for term in terms {
                    let value = self.signed(&term.value)?;
                    sum = if term.is_subtracted { sum - value } else { sum + value };
                }
                Ok(sum)
            }
            Expression::Product(first, operands) => {
                let mut product = self.signed(first)?;
                for operand in operands {
                    let At { column, value } = &operand.value;
                    let value = self.signed(value)?;
                    product = self.combine(product, operand.operator, *column, &value)?;
                }
                Ok(product)
            }
            Expression::Power(base, exponents) => {
                let mut power = self.signed(base)?;
                for At { column, value } in exponents {
                    let exponent = self.signed(value)?;
                    power = self.power(&power, *column, &exponent)?;
                }
                Ok(power)
            }
            Expression::Factorial { of, step } => {
                let n = self.argument(of, '!')?;
                // At most n / step + 1 factors of at most bits(n) bits.
                let bits = (n / step + 1).saturating_mul(u64::from(64 - n.leading_zeros()));
                self.check(of.column, bits)?;
                Ok(self.keep(Kept::Factorial(n, *step), || factorial(n, *step)).into())
            }
            Expression::Primorial(of) => {
                let n = self.argument(of, '#')?;
                self.check(of.column, (n as f64 * 1.4662) as u64)?;
                Ok(self.keep(Kept::Primorial(n), || primorial(n)).into())
            }
        }
    }

    /// Returns the argument of a factorial or primorial.
    fn argument(&mut self, of: &At<Expression>, sign: char) -> Result<u64, ValueError> {
        let At { column, ref value } = *of;
        let n = self.signed(value)?;
        if n.is_negative() {
            return Err(Fault::NegativeArgument(sign).at(column));
        }
        // Of larger ones every result exceeds the limit.
        n.to_u64().ok_or(self.too_large(column))
    }

    fn combine(
        &self,
        left: BigInt,
        operator: Operator,
        column: usize,
        right: &BigInt,
    ) -> Result<BigInt, ValueError> {
        match operator {
            Operator::Multiply => self.checked(column, left.bits() + right.bits(), || left * right),
            _ if right.is_zero() => Err(Fault::ZeroDivisor.at(column)),
            Operator::Divide => {
                let quotient = &left / right;
                match &quotient * right == left {
                    true => Ok(quotient),
                    false => Err(Fault::Inexact.at(column)),
                }
            }
            Operator::Remainder => {
                let remainder = left % right;
                // From 0 to |right| - 1.
                Ok(match remainder.is_negative() {
                    true => remainder + right.abs(),
                    false => remainder,
                })
            }
        }
    }

    fn power(
        &mut self,
        base: &BigInt,
        column: usize,
        exponent: &BigInt,
    ) -> Result<BigInt, ValueError> {
        if exponent.is_negative() {
            return Err(Fault::NegativeExponent.at(column));
        }
        let is_odd = exponent.bit(0);
        let magnitude = if base.magnitude() <= &BigUint::one() {
            let is_one = exponent.is_zero() || base.magnitude().is_one();
            BigUint::from(u32::from(is_one))
        } else {
            let too_large = self.too_large(column);
            let exponent = exponent.to_u64().ok_or(too_large)?;
            // 2^n has n + 1 bits, and a power of b at most n log2(b) + 1.
            let is_power_of_two = base.magnitude().trailing_zeros() == Some(base.bits() - 1);
            let bits = if is_power_of_two { base.bits() - 1 } else { base.bits() };
            self.check(column, bits.saturating_mul(exponent))?;
            if base.bits() == 2 && is_power_of_two {
                BigUint::one() << exponent
            } else {
                let key = Kept::Power(base.magnitude().clone(), exponent);
                // The limit is below 2^32.
                self.keep(key, || base.magnitude().pow(exponent as u32))
            }
        };
        let sign = if base.is_negative() && is_odd { Sign::Minus } else { Sign::Plus };
        Ok(BigInt::from_biguint(sign, magnitude))
    }

    fn too_large(&self, column: usize) -> ValueError {
        Fault::TooLarge { limit: self.limit }.at(column)
    }

    fn check(&self, column: usize, bits: u64) -> Result<(), ValueError> {
        match bits > self.limit {
            true => Err(self.too_large(column)),
            false => Ok(()),
        }
    }

    /// Computes a value of at most `bits` bits.
    fn checked(
        &self,
        column: usize,
        bits: u64,
        compute: impl FnOnce() -> BigInt,
    ) -> Result<BigInt, ValueError> {
        self.check(column, bits).map(|()| compute())
    }

    fn keep(&mut self, key: Kept, compute: impl FnOnce() -> BigUint) -> BigUint {
        if let Some(value) = self.kept.get(&key) {
            return value.clone();
        }
        let value = compute();
        if self.kept.len() == MAX_KEPT {
            self.kept.clear();
        }
        self.kept.insert(key, value.clone());
        value
    }
}

/// n (n - step) (n - 2 step) ...
fn factorial(n: u64, step: u64) -> BigUint {
    let factors: Vec<BigUint> =
        (0..n.div_ceil(step)).map(|i| BigUint::from(n - i * step)).collect();
    product(&factors)
}

/// The product of the primes up to n.
fn primorial(n: u64) -> BigUint {
    let primes: Vec<BigUint> = gpuint::sieve::primes(0..n + 1).map(BigUint::from).collect();
    product(&primes)
}

/// Multiplies by halves, so that most products are of equal lengths.
fn product(factors: &[BigUint]) -> BigUint {
    match factors {
        [] => BigUint::one(),
        [factor] => factor.clone(),
        _ => {
            let (low, high) = factors.split_at(factors.len() / 2);
            product(low) * product(high)
        }
    }
}
