//! Operations, their operands, and num-bigint with rayon.

use gpuint::num_bigint::BigUint;
use gpuint::{Device, DynBatch, narrowest};
use gpuint_testkit::random::Random;
use num_integer::Integer;
use num_traits::ToPrimitive;
use rayon::prelude::*;

use crate::Result;

/// The divisor of divisions by one digit.
pub(crate) const DIGIT: u64 = 0x9e37_79b9_7f4a_7c15;

/// The distance of shifts.
pub(crate) const DISTANCE: usize = 77;

macro_rules! operations {
    ($($operation:ident = $name:literal),* $(,)?) => {
        /// An operation that is compared.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Operation {
            $($operation),*
        }

        impl Operation {
            pub(crate) const ALL: &[Self] = &[$(Self::$operation),*];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$operation => $name),*
                }
            }
        }
    };
}

operations! {
    Add = "add",
    Sub = "sub",
    Shl = "shl",
    Less = "lt_mask",
    And = "and",
    DivRemDigit = "div_rem_digit",
    MulLo = "mul_lo",
    MulWide = "mul_wide",
    Square = "square_lo",
    DivRem = "div_rem",
    Prepare = "prepare",
    DivRemBy = "div_rem_by",
    MulMod = "mul_mod",
    PowModOdd = "pow_mod",
    PowModEven = "pow_mod, even",
    Gcd = "gcd",
    InverseMod = "inverse_mod",
    Jacobi = "jacobi",
    StrongBase2 = "strong_base2",
    StrongLucas = "strong_lucas",
    ProbablePrime = "is_probable_prime",
}

/// Widest primes that are tested.
const WIDEST_PRIME: usize = 4096;

impl Operation {
    /// Rows of a batch; fewer where an operation takes longer than a product.
    pub(crate) fn rows(self, bits: usize, batch: usize) -> usize {
        let rows = match self {
            Self::PowModOdd | Self::PowModEven => batch / bits / bits.min(1 << 14) * 16,
            _ if self.is_test() => batch / bits / bits * 16,
            Self::Gcd | Self::InverseMod | Self::Jacobi => batch / bits / 16,
            _ => batch / bits,
        };
        rows.max(4)
    }

    /// Returns true for a test of primes.
    pub(crate) fn is_test(self) -> bool {
        matches!(self, Self::StrongBase2 | Self::StrongLucas | Self::ProbablePrime)
    }

    /// Returns true if the operation is timed at the width.
    pub(crate) fn has_width(self, bits: usize) -> bool {
        !self.is_test() || bits <= WIDEST_PRIME
    }

    /// Returns true if num-bigint has the operation.
    pub(crate) fn has_num_bigint(self) -> bool {
        !matches!(self, Self::Prepare | Self::Jacobi) && !self.is_test()
    }

    /// Returns true if the results of the backend and of num-bigint are one number a row.
    pub(crate) fn is_compared(self) -> bool {
        !matches!(
            self,
            Self::Less | Self::DivRemDigit | Self::Prepare | Self::InverseMod | Self::Jacobi
        ) && !self.is_test()
    }
}

/// Replaces numbers of one width by the primes above the first few of them.
fn primes(numbers: &[BigUint]) -> Result<Vec<BigUint>> {
    let bits = numbers[0].bits() as usize;
    let few = &numbers[..numbers.len().min(WIDEST_PRIME.div_ceil(bits))];
    let shape = narrowest(bits).ok_or("no width")?;
    let (primes, _) = DynBatch::from_biguints(&Device::cpu(), shape, few)?.next_prime()?;
    let primes = primes.to_biguints()?;
    Ok((0..numbers.len()).map(|row| primes[row % primes.len()].clone()).collect())
}

/// Rows of operands.
#[derive(Debug)]
pub(crate) struct Operands {
    pub(crate) operation: Operation,
    pub(crate) bits: usize,
    pub(crate) a: Vec<BigUint>,
    pub(crate) b: Vec<BigUint>,
    /// Divisors and moduli.
    pub(crate) v: Vec<BigUint>,
}

impl Operands {
    pub(crate) fn new(operation: Operation, bits: usize, rows: usize) -> Result<Self> {
        let mut random = Random::new(bits as u64);
        let mut full = |bits| (0..rows).map(|_| random.full(bits)).collect::<Vec<_>>();
        let a = full(bits);
        let (b, v) = match operation {
            Operation::PowModOdd | Operation::PowModEven => (full(bits.min(4096)), full(bits)),
            Operation::DivRem | Operation::DivRemBy => (full(bits), full(bits / 2)),
            _ => (full(bits), full(bits)),
        };
        let v = if operation.is_test() { primes(&v)? } else { v };
        let is_even = operation == Operation::PowModEven;
        let v = v.into_iter().map(|mut v| {
            v.set_bit(0, !is_even);
            v
        });
        Ok(Self { operation, bits, a, b, v: v.collect() })
    }

    /// Every row by num-bigint.
    pub(crate) fn compute(&self, results: &mut [BigUint]) {
        let rows = self.a.par_iter().zip(&self.b).zip(&self.v).zip(results);
        rows.for_each(|(((a, b), v), result)| *result = self.row(a, b, v));
    }

    fn row(&self, a: &BigUint, b: &BigUint, v: &BigUint) -> BigUint {
        let bits = self.bits as u64;
        // The cheapest reduction modulo the width that num-bigint has.
        let cut = |mut value: BigUint| {
            while value.bits() > bits {
                value.set_bit(value.bits() - 1, false);
            }
            value
        };
        let low = |value: BigUint| match value.bits() > bits + 1 {
            true => value & ((BigUint::from(1u32) << bits) - 1u32),
            false => cut(value),
        };
        match self.operation {
            Operation::Add => cut(a + b),
            Operation::Sub if a < b => (BigUint::from(1u32) << bits) + a - b,
            Operation::Sub => a - b,
            Operation::Shl => low(a << DISTANCE),
            Operation::Less => BigUint::from(u32::from(a < b)),
            Operation::And => a & b,
            Operation::DivRemDigit => {
                let (q, r) = a.div_rem(&BigUint::from(DIGIT));
                std::hint::black_box(r.to_u64());
                q
            }
            Operation::MulLo | Operation::MulWide => low(a * b),
            Operation::Square => low(a.pow(2)),
            Operation::DivRem | Operation::DivRemBy => {
                let (q, r) = a.div_rem(v);
                std::hint::black_box(r);
                q
            }
            Operation::MulMod => a * b % v,
            Operation::PowModOdd | Operation::PowModEven => a.modpow(b, v),
            Operation::Gcd => a.gcd(b),
            Operation::InverseMod => a.modinv(v).unwrap_or_default(),
            Operation::Prepare
            | Operation::Jacobi
            | Operation::StrongBase2
            | Operation::StrongLucas
            | Operation::ProbablePrime => BigUint::default(),
        }
    }
}
