//! A state machine over the public interface: random programs of operations on a pool of batches,
//! on several devices at once. Every result and every error is compared with independent
//! arithmetic.
//!
//! `GPUINT_FUZZ_SECONDS` is the time for each shape (2), `GPUINT_FUZZ_SEED` the first seed (1), and
//! `GPUINT_FUZZ_CUDA=1` adds the first GPU. A program that fails is shrunk and stored in
//! `tests/fuzz.regressions`, whose programs run first. A new operation is a line of [`operations`].

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::time::{Duration, Instant};
use std::{env, panic};

use gpuint::num_bigint::{BigInt, BigUint, Sign};
use gpuint::{
    Auto, Batch, Blocked, Classical, Crt, Device, Divisor, Error, Fft, FixedBase, GpuUint,
    Karatsuba, Kernels, Mask, Modulus, Ntt, ProductTree, Residues, Result, ShiftedInverse,
    SignedBatch, SimtOptions, TensorCore, Widen,
};
use gpuint_testkit::random::Random;
use gpuint_testkit::skip::skip;
use gpuint_testkit::{oracle, primes};
use num_traits::{One, Zero};

/// Programs that failed once: `BITS:Q:DIGIT NAME:SEED NAME:SEED ...`.
const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz.regressions");
/// Number of operations of a program.
const STEPS: usize = 60;
/// Maximum number of batches in the pool.
const POOL: usize = 10;

/// Random operands and choices.
struct Source(Random);

impl Source {
    fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.word()
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound.max(1))
    }

    /// A value of at most `bits` bits: uniform, runs of ones and zeros, near a power of two, or
    /// small.
    fn value(&mut self, bits: usize) -> BigUint {
        let width = [bits, self.below(bits) + 1][self.below(2)];
        let mut value = BigUint::zero();
        match self.below(8) {
            0 => return BigUint::zero(),
            1 => return BigUint::from(self.next() % 9),
            2 => return (BigUint::one() << bits) - 1u32 - self.next() % 3,
            3 => {
                let power = BigUint::one() << (width - 1);
                let offset = BigUint::from(self.next() % 3);
                return if self.below(2) == 0 {
                    power + offset
                } else {
                    power - offset.min(1u32.into())
                };
            }
            4 | 5 => {
                while value.bits() < width as u64 {
                    let run = self.below(150) + 1;
                    let ones = BigUint::from(self.next() & 1);
                    value = (value << run) + ((BigUint::one() << run) - 1u32) * ones + 1u32;
                }
            }
            _ => {
                while value.bits() < width as u64 {
                    value = (value << 64) + self.next();
                }
            }
        }
        let extra = value.bits().saturating_sub(width as u64);
        value >> extra
    }

    /// A distance or a number of digits: around the limits of a row, or any.
    fn number(&mut self, bits: usize) -> u64 {
        let around = [0, 1, 16, 32, 64, bits / 2, bits, 2 * bits][self.below(8)] as u64;
        match self.below(8) {
            0 => u64::MAX - self.next() % 3,
            1..=3 => (around + self.next() % 3).saturating_sub(1),
            _ => self.next() % (2 * bits as u64 + 9),
        }
    }
}

/// A batch and its expected values.
struct Value<T: Kernels> {
    batch: Batch<T>,
    model: Vec<BigUint>,
}

/// Results of an operation, one for each row, and their batch.
struct Column<T: Kernels> {
    values: Vec<BigUint>,
    batch: Option<Batch<T>>,
}

type Columns<T> = Vec<Column<T>>;

/// Result of an operation.
trait Results<T: Kernels> {
    fn columns(self) -> Result<Columns<T>>;
}

impl<T: Kernels> Results<T> for Batch<T> {
    fn columns(self) -> Result<Columns<T>> {
        Ok(vec![Column { values: self.to_biguints()?, batch: Some(self) }])
    }
}

impl<T: Kernels> Results<T> for Mask {
    fn columns(self) -> Result<Columns<T>> {
        let bools = self.to_bools()?;
        assert_eq!(self.any()?, bools.contains(&true));
        assert_eq!(self.count()?, bools.iter().filter(|&&bit| bit).count());
        Ok(host(bools.into_iter().map(u64::from)))
    }
}

impl<T: Kernels, A: Results<T>, B: Results<T>> Results<T> for (A, B) {
    fn columns(self) -> Result<Columns<T>> {
        let mut columns = self.0.columns()?;
        columns.extend(self.1.columns()?);
        Ok(columns)
    }
}

impl<T: Kernels, A: Results<T>, B: Results<T>, C: Results<T>> Results<T> for (A, B, C) {
    fn columns(self) -> Result<Columns<T>> {
        ((self.0, self.1), self.2).columns()
    }
}

/// A column of numbers on the host.
fn host<T: Kernels, N: Into<BigUint>>(numbers: impl IntoIterator<Item = N>) -> Columns<T> {
    vec![Column { values: numbers.into_iter().map(Into::into).collect(), batch: None }]
}

fn orders<T: Kernels>(orders: Vec<Ordering>) -> Columns<T> {
    host(orders.into_iter().map(order))
}

fn order(order: Ordering) -> u64 {
    (order as i8 + 1) as u64
}

/// A column of digits of any kind.
fn digits<T: Kernels>(digits: Vec<T::Digit>) -> Columns<T> {
    host(digits.into_iter().map(|digit| num_traits::cast::<_, u64>(digit).unwrap_or(u64::MAX)))
}

/// Operands of a call. `out`, `out2` and `mask` hold old values.
struct Case<'a, T: Kernels> {
    a: &'a Batch<T>,
    b: &'a Batch<T>,
    c: &'a Batch<T>,
    /// First row of `c`, or 1.
    first: &'a BigUint,
    n: u64,
    out: Batch<T>,
    out2: Batch<T>,
    mask: Mask,
}

impl<T: Kernels> Case<'_, T> {
    /// One divisor for all rows, or one for each.
    fn divisor(&self) -> Result<Divisor<T>> {
        if is_one_divisor(self.n) {
            Divisor::splat(self.a.device(), self.first)
        } else {
            Divisor::new(self.c)
        }
    }

    /// The same as moduli of residues.
    fn modulus(&self) -> Result<Modulus<T>> {
        if is_one_divisor(self.n) {
            Modulus::splat(self.a.device(), self.first)
        } else {
            Modulus::new(self.c)
        }
    }

    fn distance(&self) -> usize {
        self.n as usize
    }

    /// Converts a number to a digit.
    fn digit(&self) -> T::Digit {
        num_traits::cast(self.n & digit_mask(T::DIGIT_BITS)).unwrap()
    }

    /// Short exponents, because powers take long.
    fn exponents(&self) -> Result<Batch<T>> {
        self.b.shr(T::BITS - 9)
    }
}

fn is_one_divisor(n: u64) -> bool {
    n.is_multiple_of(2)
}

fn digit_mask(digit_bits: usize) -> u64 {
    u64::MAX >> (64 - digit_bits)
}

/// Row of the operands, for the model.
struct Row<'a> {
    a: &'a BigUint,
    b: &'a BigUint,
    /// Prepared divisor of the row.
    v: &'a BigUint,
    n: u64,
    bits: usize,
    digit_bits: usize,
}

impl Row<'_> {
    fn distance(&self) -> usize {
        usize::try_from(self.n).unwrap_or(usize::MAX)
    }

    fn digits(&self) -> usize {
        self.distance().saturating_mul(self.digit_bits)
    }

    fn digit(&self) -> BigUint {
        BigUint::from(self.n & digit_mask(self.digit_bits))
    }

    fn exponent(&self) -> BigUint {
        oracle::shr(self.b, self.bits - 9)
    }
}

/// Reason why a row has no result.
#[derive(Clone, Copy, PartialEq)]
enum Fail {
    ZeroDivisor,
    /// Bits of the result; [`ANY`] if they are not computed.
    TooWide(u64),
}

/// Any number of bits beyond the width.
const ANY: u64 = u64::MAX;

/// Returns true if an error is an expected one.
fn is_expected(error: &Error, expected: &[Error]) -> bool {
    expected.iter().any(|expected| match (error, expected) {
        (
            Error::TooWide { row, bits, width },
            Error::TooWide { row: wanted, bits: ANY, width: of },
        ) => (row, width) == (wanted, of) && *bits > *width as u64,
        _ => error == expected,
    })
}

type Outcome = std::result::Result<Vec<BigUint>, Fail>;

/// Operands of an operation besides `a`.
#[derive(Clone, Copy, PartialEq)]
enum Uses {
    B,
    Divisor,
    Out,
    Out2,
    Mask,
}

/// Row of the table of operations.
struct Operation<T: Kernels> {
    name: &'static str,
    uses: &'static [Uses],
    /// The call.
    run: fn(Case<'_, T>) -> Result<Columns<T>>,
    model: Model,
}

/// Expected results.
#[derive(Clone, Copy)]
enum Model {
    /// By row.
    Row(fn(&Row<'_>) -> Outcome),
    /// Of whole batches.
    All(fn(&Batches<'_>) -> Result<Vec<Vec<BigUint>>>),
}

/// The operands, for the model.
struct Batches<'a> {
    a: &'a [BigUint],
    b: &'a [BigUint],
    n: u64,
    bits: usize,
}

/// Leaves of a product tree: their product fits in twice the width.
const LEAVES: usize = 2;

impl<'a> Batches<'a> {
    /// The leaves and their product.
    fn leaves(&self) -> (&'a [BigUint], BigUint) {
        let leaves = &self.a[..self.a.len().min(LEAVES)];
        (leaves, oracle::product(leaves))
    }

    /// The leaves and their product, if no leaf is zero.
    fn positive_leaves(&self) -> Result<(&'a [BigUint], BigUint)> {
        match self.a.iter().take(LEAVES).position(Zero::is_zero) {
            Some(row) => Err(Error::DivisionByZero { row }),
            None => Ok(self.leaves()),
        }
    }

    fn sorted(&self) -> Vec<BigUint> {
        let mut rows = self.a.to_vec();
        rows.sort_by(oracle::cmp);
        rows
    }
}

/// The leaves of a case.
fn leaves<T: Kernels>(x: &Case<'_, T>) -> Result<Batch<T>> {
    x.a.slice(0..x.a.len().min(LEAVES))
}

/// Signed operands of a case: a low bit of a row is its sign.
fn signed_operands<T: Kernels>(x: &Case<'_, T>) -> Result<(SignedBatch<T>, SignedBatch<T>)> {
    let a = SignedBatch::from_parts(x.a.try_clone()?, &x.a.bit_mask(0)?)?;
    Ok((a, SignedBatch::from_parts(x.b.try_clone()?, &x.b.bit_mask(1)?)?))
}

/// The same for the model.
fn signed(value: &BigUint, bit: u64) -> BigInt {
    let sign = if value.bit(bit) { Sign::Minus } else { Sign::Plus };
    BigInt::from_biguint(sign, value.clone())
}

/// `(a / v, a mod v)`.
fn quotient(a: &BigUint, v: &BigUint) -> std::result::Result<(BigUint, BigUint), Fail> {
    if v.is_zero() { Err(Fail::ZeroDivisor) } else { Ok(oracle::div_rem(a, v)) }
}

fn inverse(x: &Row<'_>) -> Outcome {
    if x.a.is_zero() {
        return Err(Fail::ZeroDivisor);
    }
    // Beyond this width no result fits, and no memory holds a power of two of that size.
    let inverse = oracle::inverse(x.a, x.digits().min(2 * x.bits));
    let bits = if x.digits() > 2 * x.bits { ANY } else { inverse.bits() };
    if bits > x.bits as u64 { Err(Fail::TooWide(bits)) } else { Ok(vec![inverse]) }
}

/// Every operation: its name, its operands besides `a`, its call, and the expected result for a
/// row.
fn operations<T: Kernels + Widen>() -> Vec<Operation<T>> {
    use Uses::{B, Divisor, Mask, Out, Out2};
    let mut table: Vec<Operation<T>> = Vec::new();
    macro_rules! operation {
        ($name:literal, [$($uses:ident),*], $run:expr, $row:expr) => {
            table.push(Operation {
                name: $name,
                uses: &[$($uses),*],
                run: $run,
                model: Model::Row($row),
            });
        };
        ($name:literal, [$($uses:ident),*], $run:expr, all: $all:expr) => {
            table.push(Operation {
                name: $name,
                uses: &[$($uses),*],
                run: $run,
                model: Model::All($all),
            });
        };
    }
    // Sums.
    operation!("wrapping_add", [B], |x| x.a.wrapping_add(x.b)?.columns(), sum);
    operation!(
        "wrapping_add_into",
        [B, Out],
        |mut x| {
            x.a.wrapping_add_into(x.b, &mut x.out)?;
            x.out.columns()
        },
        sum
    );
    operation!("overflowing_add", [B], |x| x.a.overflowing_add(x.b)?.columns(), sum_carry);
    operation!(
        "overflowing_add_into",
        [B, Out, Mask],
        |mut x| {
            x.a.overflowing_add_into(x.b, &mut x.out, &mut x.mask)?;
            (x.out, x.mask).columns()
        },
        sum_carry
    );
    operation!("wrapping_sub", [B], |x| x.a.wrapping_sub(x.b)?.columns(), difference);
    operation!(
        "wrapping_sub_into",
        [B, Out],
        |mut x| {
            x.a.wrapping_sub_into(x.b, &mut x.out)?;
            x.out.columns()
        },
        difference
    );
    operation!("overflowing_sub", [B], |x| x.a.overflowing_sub(x.b)?.columns(), difference_borrow);
    operation!(
        "overflowing_sub_into",
        [B, Out, Mask],
        |mut x| {
            x.a.overflowing_sub_into(x.b, &mut x.out, &mut x.mask)?;
            (x.out, x.mask).columns()
        },
        difference_borrow
    );
    operation!(
        "a + b",
        [B],
        |x| {
            x.a.wrapping_add(x.b)?;
            let mut sum = x.a + x.b;
            sum -= x.b;
            sum += x.b;
            sum.columns()
        },
        sum
    );
    // Products.
    operation!("wrapping_mul", [B], |x| x.a.wrapping_mul(x.b)?.columns(), product);
    operation!(
        "wrapping_mul_with classical",
        [B],
        |x| { x.a.using::<Classical>().wrapping_mul(x.b)?.columns() },
        product
    );
    operation!(
        "wrapping_mul_with karatsuba",
        [B],
        |x| { x.a.using::<Karatsuba>().wrapping_mul(x.b)?.columns() },
        product
    );
    operation!(
        "wrapping_mul_with tensor",
        [B],
        |x| { x.a.using::<TensorCore>().wrapping_mul(x.b)?.columns() },
        product
    );
    operation!(
        "wrapping_mul_with fft",
        [B],
        |x| x.a.using::<Fft>().wrapping_mul(x.b)?.columns(),
        product
    );
    operation!(
        "wrapping_mul_with ntt",
        [B],
        |x| x.a.using::<Ntt>().wrapping_mul(x.b)?.columns(),
        product
    );
    operation!(
        "wrapping_mul_into",
        [B, Out],
        |mut x| {
            x.a.wrapping_mul_into(x.b, &mut x.out)?;
            x.out.columns()
        },
        product
    );
    operation!(
        "a * b",
        [B],
        |x| {
            x.a.wrapping_mul(x.b)?;
            (x.a * x.b).columns()
        },
        product
    );
    operation!("wrapping_square", [], |x| x.a.wrapping_square()?.columns(), square);
    operation!(
        "wrapping_square_into",
        [Out],
        |mut x| {
            x.a.wrapping_square_into(&mut x.out)?;
            x.out.columns()
        },
        square
    );
    operation!("cyclic_mul", [B], |x| x.a.cyclic_mul(x.b)?.columns(), cyclic);
    operation!("negacyclic_mul", [B], |x| x.a.negacyclic_mul(x.b)?.columns(), |x| {
        let (product, is_minus_one) = oracle::mul_negacyclic(x.a, x.b, x.bits);
        Ok(vec![product, flag(is_minus_one)])
    });
    operation!("mul_lo_hi", [B], |x| x.a.mul_lo_hi(x.b)?.columns(), halves);
    operation!(
        "mul_lo_hi_with_into karatsuba",
        [B, Out, Out2],
        |mut x| {
            x.a.using::<Karatsuba>().mul_lo_hi_into(x.b, &mut x.out, &mut x.out2)?;
            (x.out, x.out2).columns()
        },
        halves
    );
    operation!(
        "widening_mul",
        [B],
        |x| { Ok(host(x.a.widening_mul::<T::Wide>(x.b)?.to_biguints()?)) },
        |x| Ok(vec![x.a * x.b])
    );
    // Quotients.
    operation!("div_rem", [B], |x| x.a.div_rem(x.b)?.columns(), division);
    operation!(
        "div_rem_with shifted inverse",
        [B],
        |x| { x.a.using::<ShiftedInverse<Classical>>().div_rem(x.b)?.columns() },
        division
    );
    operation!(
        "div_rem_with blocked",
        [B],
        |x| { x.a.using::<Blocked<Auto>>().div_rem(x.b)?.columns() },
        division
    );
    operation!(
        "div_rem_into",
        [B, Out, Out2],
        |mut x| {
            x.a.div_rem_into(x.b, &mut x.out, &mut x.out2)?;
            (x.out, x.out2).columns()
        },
        division
    );
    operation!("div, rem", [B], |x| (x.a.div(x.b)?, x.a.rem(x.b)?).columns(), division);
    operation!(
        "div_into",
        [B, Out],
        |mut x| {
            x.a.div_into(x.b, &mut x.out)?;
            x.out.columns()
        },
        |x| quotient(x.a, x.b).map(|(q, _)| vec![q])
    );
    operation!(
        "rem_into",
        [B, Out],
        |mut x| {
            x.a.rem_into(x.b, &mut x.out)?;
            x.out.columns()
        },
        |x| quotient(x.a, x.b).map(|(_, r)| vec![r])
    );
    operation!(
        "a / b, a % b",
        [B],
        |x| {
            x.a.div(x.b)?;
            (x.a / x.b, x.a % x.b).columns()
        },
        division
    );
    operation!("div_rem_masked", [B], |x| x.a.div_rem_masked(x.b)?.columns(), masked_division);
    operation!(
        "div_rem_masked_into",
        [B, Out, Out2, Mask],
        |mut x| {
            x.a.div_rem_masked_into(x.b, &mut x.out, &mut x.out2, &mut x.mask)?;
            (x.out, x.out2, x.mask).columns()
        },
        masked_division
    );
    operation!(
        "div_exact_masked",
        [B, Out, Mask],
        |mut x| {
            x.a.div_exact_masked_into(x.b, &mut x.out, &mut x.mask)?;
            (x.out, x.mask).columns()
        },
        exact_division
    );
    operation!(
        "div_exact",
        [B],
        |x| {
            let q = x.a.div(x.b)?;
            q.wrapping_mul(x.b)?.div_exact(x.b)?.columns()
        },
        |x| quotient(x.a, x.b).map(|(q, _)| vec![q])
    );
    operation!(
        "div_exact_all, div_rem_all",
        [],
        |x| {
            // One divisor is refused if it is 0, whatever rows there are.
            let n = if x.a.is_empty() { 1 } else { x.n };
            let (q, r) = x.a.div_rem_all(n)?;
            let exact = q.wrapping_mul_all(n)?.div_exact_all(n)?;
            (exact, r).columns()
        },
        |x| quotient(x.a, &x.n.into()).map(|(q, r)| vec![q, r])
    );
    operation!(
        "div_rem_wide",
        [B],
        |x| {
            let (q, r) = x.a.div_rem_wide::<T::Wide>(x.b, x.b)?;
            let mut columns = host(q.to_biguints()?);
            columns.extend(r.columns()?);
            Ok(columns)
        },
        |x| quotient(&(x.a + (x.b << x.bits)), x.b).map(|(q, r)| vec![q, r])
    );
    operation!("inverse_mod_pow2", [], |x| x.a.inverse_mod_pow2()?.columns(), |x| {
        let inverse = oracle::inverse_mod(x.a, &(BigUint::one() << x.bits));
        let even = flag(inverse.is_none());
        Ok(vec![inverse.unwrap_or_default(), even])
    });
    operation!("shifted_inverse", [], |x| x.a.shifted_inverse(x.distance())?.columns(), inverse);
    operation!(
        "shifted_inverse_into",
        [Out],
        |mut x| {
            x.a.shifted_inverse_into(x.distance(), &mut x.out)?;
            x.out.columns()
        },
        inverse
    );
    operation!(
        "div_rem_digit",
        [],
        |x| {
            let (quotient, remainders) = x.a.div_rem_digit(x.digit())?;
            let mut columns = quotient.columns()?;
            columns.extend(digits::<T>(remainders));
            Ok(columns)
        },
        |x| quotient(x.a, &x.digit()).map(|(q, r)| vec![q, r])
    );
    operation!("rem_digit", [], |x| Ok(digits::<T>(x.a.rem_digit(x.digit())?)), |x| quotient(
        x.a,
        &x.digit()
    )
    .map(|(_, r)| vec![r]));
    // Prepared divisors.
    operation!(
        "div_rem_by",
        [Divisor],
        |x| x.a.div_rem_by(&x.divisor()?)?.columns(),
        prepared_division
    );
    operation!(
        "div_rem_by_into",
        [Divisor, Out, Out2],
        |mut x| {
            let divisor = x.divisor()?;
            x.a.div_rem_by_into(&divisor, &mut x.out, &mut x.out2)?;
            (x.out, x.out2).columns()
        },
        prepared_division
    );
    operation!(
        "div_by, rem_by",
        [Divisor],
        |x| {
            let divisor = x.divisor()?;
            (x.a.div_by(&divisor)?, x.a.rem_by(&divisor)?).columns()
        },
        prepared_division
    );
    operation!("mul_mod", [B, Divisor], |x| x.a.mul_mod(x.b, &x.divisor()?)?.columns(), |x| {
        quotient(&(x.a * x.b), x.v).map(|(_, r)| vec![r])
    });
    operation!("square_mod", [Divisor], |x| x.a.square_mod(&x.divisor()?)?.columns(), |x| {
        quotient(&(x.a * x.a), x.v).map(|(_, r)| vec![r])
    });
    operation!(
        "residues",
        [B, Divisor],
        |x| {
            let modulus = x.modulus()?;
            let (a, b) = (Residues::new(x.a, &modulus)?, Residues::new(x.b, &modulus)?);
            a.mul(&b)?.add(&a.square()?)?.sub(&b.neg()?)?.to_batch()?.columns()
        },
        |x| quotient(&(x.a * x.b + x.a * x.a + x.b), x.v).map(|(_, r)| vec![r])
    );
    operation!(
        "residues of an odd modulus",
        [B],
        |x| {
            let modulus = Modulus::splat(x.a.device(), x.n | 1)?;
            let (a, b) = (Residues::new(x.a, &modulus)?, Residues::new(x.b, &modulus)?);
            let same = a.halve()?.double()?;
            let greater = a.select(&a.eq_mask(&same)?, &b)?;
            let power = greater.pow(&x.exponents()?)?.mul(&b.pow_all(5)?)?;
            power.to_batch()?.columns()
        },
        |x| {
            let modulus = BigUint::from(x.n | 1);
            let power = oracle::pow_mod(x.a, &x.exponent(), &modulus);
            let other = oracle::pow_mod(x.b, &5u32.into(), &modulus);
            Ok(vec![oracle::mul_mod(&power, &other, &modulus)])
        }
    );
    operation!(
        "fixed base",
        [B],
        |x| {
            let (base, modulus) = (x.n % 1000, (x.n >> 10) | 1);
            let base = FixedBase::new(x.a.device(), &base.into(), &modulus.into(), 9)?;
            let powers = base.pow(&x.exponents()?)?;
            x.a.wrapping_add(&powers)?.columns()
        },
        |x| {
            let (base, modulus) = (BigUint::from(x.n % 1000), BigUint::from((x.n >> 10) | 1));
            let power = oracle::pow_mod(&base, &x.exponent(), &modulus);
            Ok(vec![oracle::add(&power, x.a, x.bits).0])
        }
    );
    operation!(
        "add_mod_into, sub_mod_into",
        [B, Divisor, Out, Out2],
        |mut x| {
            let divisor = x.divisor()?;
            x.a.add_mod_into(x.b, &divisor, &mut x.out)?;
            x.a.sub_mod_into(x.b, &divisor, &mut x.out2)?;
            (x.out, x.out2).columns()
        },
        |x| {
            quotient(x.a, x.v)?;
            Ok(vec![oracle::add_mod(x.a, x.b, x.v), oracle::sub_mod(x.a, x.b, x.v)])
        }
    );
    operation!(
        "mul_mod_into, square_mod_into",
        [B, Divisor, Out, Out2],
        |mut x| {
            let divisor = x.divisor()?;
            x.a.mul_mod_into(x.b, &divisor, &mut x.out)?;
            x.a.square_mod_into(&divisor, &mut x.out2)?;
            (x.out, x.out2).columns()
        },
        |x| {
            quotient(x.a, x.v)?;
            Ok(vec![oracle::mul_mod(x.a, x.b, x.v), oracle::mul_mod(x.a, x.a, x.v)])
        }
    );
    operation!(
        "pow_mod_into, neg_mod_into",
        [B, Divisor, Out, Out2],
        |mut x| {
            let divisor = x.divisor()?;
            x.a.pow_mod_into(&x.exponents()?, &divisor, &mut x.out)?;
            x.a.neg_mod_into(&divisor, &mut x.out2)?;
            (x.out, x.out2).columns()
        },
        |x| {
            quotient(x.a, x.v)?;
            let power = oracle::pow_mod(x.a, &x.exponent(), x.v);
            Ok(vec![power, oracle::sub_mod(&BigUint::zero(), x.a, x.v)])
        }
    );
    operation!("add_mod", [B, Divisor], |x| x.a.add_mod(x.b, &x.divisor()?)?.columns(), |x| {
        quotient(x.a, x.v).map(|_| vec![oracle::add_mod(x.a, x.b, x.v)])
    });
    operation!("sub_mod", [B, Divisor], |x| x.a.sub_mod(x.b, &x.divisor()?)?.columns(), |x| {
        quotient(x.a, x.v).map(|_| vec![oracle::sub_mod(x.a, x.b, x.v)])
    });
    operation!("neg_mod", [Divisor], |x| x.a.neg_mod(&x.divisor()?)?.columns(), |x| {
        quotient(x.a, x.v).map(|_| vec![oracle::sub_mod(&BigUint::zero(), x.a, x.v)])
    });
    operation!(
        "pow_mod",
        [B, Divisor],
        |x| x.a.pow_mod(&x.exponents()?, &x.divisor()?)?.columns(),
        |x| quotient(x.a, x.v).map(|_| vec![oracle::pow_mod(x.a, &x.exponent(), x.v)])
    );
    operation!(
        "pow_product_mod",
        [B, Divisor],
        |x| x.a.pow_product_mod(&x.exponents()?, 1, &x.divisor()?)?.columns(),
        |x| quotient(x.a, x.v).map(|_| vec![oracle::pow_mod(x.a, &x.exponent(), x.v)])
    );
    operation!(
        "pow_mod_all",
        [Divisor],
        |x| { x.a.pow_mod_all(&BigUint::from(x.n % 999), &x.divisor()?)?.columns() },
        |x| quotient(x.a, x.v).map(|_| vec![oracle::pow_mod(x.a, &BigUint::from(x.n % 999), x.v)])
    );
    // Shifts.
    operation!("shl", [], |x| x.a.shl(x.distance())?.columns(), shifted_left);
    operation!(
        "shl_into",
        [Out],
        |mut x| {
            x.a.shl_into(x.distance(), &mut x.out)?;
            x.out.columns()
        },
        shifted_left
    );
    operation!("shr", [], |x| x.a.shr(x.distance())?.columns(), |x| Ok(vec![oracle::shr(
        x.a,
        x.distance().min(x.bits)
    )]));
    operation!("shl_digits", [], |x| x.a.shl_digits(x.distance())?.columns(), |x| Ok(vec![
        oracle::shl(x.a, x.digits(), x.bits)
    ]));
    operation!("shr_digits", [], |x| x.a.shr_digits(x.distance())?.columns(), |x| Ok(vec![
        oracle::shr(x.a, x.digits().min(x.bits))
    ]));
    operation!(
        "shr_into, shl_digits_into",
        [Out, Out2],
        |mut x| {
            x.a.shr_into(x.distance(), &mut x.out)?;
            x.a.shl_digits_into(x.distance(), &mut x.out2)?;
            (x.out, x.out2).columns()
        },
        |x| {
            let right = oracle::shr(x.a, x.distance().min(x.bits));
            Ok(vec![right, oracle::shl(x.a, x.digits(), x.bits)])
        }
    );
    operation!(
        "shr_digits_into",
        [Out],
        |mut x| {
            x.a.shr_digits_into(x.distance(), &mut x.out)?;
            x.out.columns()
        },
        |x| Ok(vec![oracle::shr(x.a, x.digits().min(x.bits))])
    );
    operation!(
        "shl_rows, shr_rows",
        [Out, Out2],
        |mut x| {
            let distances = vec![x.distance(); x.a.len()];
            x.a.shl_rows_into(&distances, &mut x.out)?;
            x.a.shr_rows_into(&distances, &mut x.out2)?;
            assert!(x.out.is_equal(&x.a.shl_rows(&distances)?)?);
            assert!(x.out2.is_equal(&x.a.shr_rows(&distances)?)?);
            (x.out, x.out2).columns()
        },
        |x| {
            let right = oracle::shr(x.a, x.distance().min(x.bits));
            Ok(vec![oracle::shl(x.a, x.distance(), x.bits), right])
        }
    );
    operation!("rotate_left", [], |x| x.a.rotate_left(x.distance())?.columns(), turned_left);
    operation!(
        "rotate_left_rows",
        [],
        |x| x.a.rotate_left_rows(&vec![x.distance(); x.a.len()])?.columns(),
        turned_left
    );
    operation!(
        "rotate_right",
        [],
        |x| {
            let bits = x.distance();
            let right = x.a.rotate_right_rows(&vec![bits; x.a.len()])?;
            assert!(right.is_equal(&x.a.rotate_right(bits)?)?);
            right.rotate_left(bits)?.columns()
        },
        same
    );
    // Sums, products and comparisons with one value for all rows.
    operation!(
        "wrapping_add_all, wrapping_sub_all, wrapping_mul_all",
        [],
        |x| {
            let (sum, difference) = (x.a.wrapping_add_all(x.n)?, x.a.wrapping_sub_all(x.n)?);
            (sum, difference, x.a.wrapping_mul_all(x.n)?).columns()
        },
        |x| {
            let n = BigUint::from(x.n);
            let sum = oracle::add(x.a, &n, x.bits).0;
            let difference = oracle::sub(x.a, &n, x.bits).0;
            Ok(vec![sum, difference, oracle::mul(x.a, &n, x.bits).0])
        }
    );
    operation!(
        "eq_mask_all, lt_mask_all, cmp_all",
        [],
        |x| {
            let mut columns = (x.a.eq_mask_all(x.n)?, x.a.lt_mask_all(x.n)?).columns()?;
            columns.extend(orders(x.a.cmp_all(x.n)?));
            Ok(columns)
        },
        |x| {
            let found = oracle::cmp(x.a, &x.n.into());
            Ok(vec![flag(found.is_eq()), flag(found.is_lt()), order(found).into()])
        }
    );
    operation!("mul_add", [B], |x| x.a.mul_add(x.b, x.b)?.columns(), |x| Ok(vec![oracle::shl(
        &(x.a * x.b + x.b),
        0,
        x.bits
    )]));
    operation!("mul_sub", [B], |x| x.a.mul_sub(x.b, x.a)?.columns(), |x| {
        let product = oracle::mul(x.a, x.b, x.bits).0;
        Ok(vec![oracle::sub(&product, x.a, x.bits).0])
    });
    operation!(
        "sums of products",
        [B],
        |x| {
            let pairs = [(x.a, x.b), (x.b, x.b), (x.a, x.a)];
            let low = Batch::wrapping_sum_of_products(&pairs)?;
            let (wide, overflow) = Batch::widening_sum_of_products::<T::Wide>(&pairs)?;
            let mut columns = low.columns()?;
            columns.extend(host(wide.to_biguints()?));
            columns.extend(Results::<T>::columns(overflow)?);
            Ok(columns)
        },
        |x| {
            let sum = x.a * x.b + x.b * x.b + x.a * x.a;
            let overflows = flag(sum.bits() > 2 * x.bits as u64);
            Ok(vec![oracle::shl(&sum, 0, x.bits), oracle::shl(&sum, 0, 2 * x.bits), overflows])
        }
    );
    operation!(
        "wrapping_sum",
        [],
        |x| Ok(host([x.a.wrapping_sum()?])),
        all: |x| Ok(vec![vec![oracle::shl(&x.a.iter().sum(), 0, x.bits)]])
    );
    // Bits.
    operation!(
        "and, or, xor",
        [B],
        |x| (x.a.and(x.b)?, x.a.or(x.b)?, x.a.xor(x.b)?).columns(),
        |x| Ok(oracle::bitwise(x.a, x.b).to_vec())
    );
    operation!(
        "and_into, or_into",
        [B, Out, Out2],
        |mut x| {
            x.a.and_into(x.b, &mut x.out)?;
            x.a.or_into(x.b, &mut x.out2)?;
            (x.out, x.out2).columns()
        },
        |x| Ok(oracle::bitwise(x.a, x.b)[..2].to_vec())
    );
    operation!(
        "xor_into, not_into",
        [B, Out, Out2],
        |mut x| {
            x.a.xor_into(x.b, &mut x.out)?;
            x.a.not_into(&mut x.out2)?;
            assert!(x.out2.is_equal(&x.a.not()?)?);
            (x.out, x.out2).columns()
        },
        |x| {
            let [_, _, different] = oracle::bitwise(x.a, x.b);
            Ok(vec![different, (BigUint::one() << x.bits) - 1u32 - x.a])
        }
    );
    operation!(
        "and_all, or_all, xor_all",
        [],
        |x| (x.a.and_all(x.n)?, x.a.or_all(x.n)?, x.a.xor_all(x.n)?).columns(),
        |x| Ok(oracle::bitwise(x.a, &x.n.into()).to_vec())
    );
    operation!(
        "with_bit, without_bit, low_bits",
        [],
        |x| {
            let bit = x.distance() % T::BITS;
            (x.a.with_bit(bit)?, x.a.without_bit(bit)?, x.a.low_bits(bit)?).columns()
        },
        |x| {
            let bit = x.distance() % x.bits;
            let [with, without] = [true, false].map(|is_set| {
                let mut value = x.a.clone();
                value.set_bit(bit as u64, is_set);
                value
            });
            Ok(vec![with, without, oracle::shl(x.a, 0, bit)])
        }
    );
    operation!("bit_mask", [], |x| x.a.bit_mask(x.distance())?.columns(), |x| Ok(vec![flag(
        x.a.bit(x.n)
    )]));
    operation!(
        "count_ones, trailing_zeros, leading_zeros",
        [],
        |x| {
            let counts = [x.a.count_ones()?, x.a.trailing_zeros()?, x.a.leading_zeros()?];
            Ok(counts.into_iter().flat_map(host).collect())
        },
        |x| {
            let below = oracle::trailing_zeros(x.a).unwrap_or(x.bits as u64);
            let above = x.bits as u64 - oracle::bits(x.a);
            Ok([oracle::count_ones(x.a), below, above].map(BigUint::from).to_vec())
        }
    );
    operation!(
        "select_into",
        [B, Out],
        |mut x| {
            let is_less = x.a.lt_mask(x.b)?;
            x.a.select_into(&is_less, x.b, &mut x.out)?;
            assert!(x.out.is_equal(&x.a.select(&is_less, x.b)?)?);
            x.out.columns()
        },
        |x| Ok(vec![x.a.min(x.b).clone()])
    );
    // Common divisors and inverses.
    operation!("gcd", [B], |x| x.a.gcd(x.b)?.columns(), divisor);
    operation!(
        "gcd_into",
        [B, Out],
        |mut x| {
            x.a.gcd_into(x.b, &mut x.out)?;
            x.out.columns()
        },
        divisor
    );
    operation!("overflowing_lcm", [B], |x| x.a.overflowing_lcm(x.b)?.columns(), |x| {
        let multiple = oracle::lcm(x.a, x.b);
        let wraps = multiple.bits() > x.bits as u64;
        Ok(vec![oracle::shl(&multiple, 0, x.bits), flag(wraps)])
    });
    operation!(
        "xgcd",
        [B],
        |x| {
            let (gcd, by_a, by_b, is_negative) = x.a.xgcd(x.b)?;
            let pairs = x.a.to_biguints()?.into_iter().zip(x.b.to_biguints()?);
            let cofactors = by_a.to_biguints()?.into_iter().zip(by_b.to_biguints()?);
            let results = gcd.to_biguints()?.into_iter().zip(is_negative.to_bools()?);
            let are_right = pairs.zip(cofactors).zip(results).map(|(((a, b), (s, t)), (g, is))| {
                flag(oracle::are_cofactors(&a, &b, &g, &s, &t, is))
            });
            let are_right = host(are_right);
            Ok(gcd.columns()?.into_iter().chain(are_right).collect())
        },
        |x| Ok(vec![oracle::gcd(x.a, x.b), flag(true)])
    );
    operation!(
        "rational_reconstruction",
        [B],
        |x| {
            let bound = x.b.shr(T::BITS / 2)?;
            let u = x.a.div_rem_masked(x.b)?.1;
            let (n, d, is_negative, without) = u.rational_reconstruction(x.b, &bound, &bound)?;
            ((n, d), (is_negative, without)).columns()
        },
        |x| {
            let bound = oracle::shr(x.b, x.bits / 2);
            let u = oracle::div_rem_masked(x.a, x.b, x.bits).1;
            let (n, d, is_negative) = oracle::remainder_of(&u, x.b, &bound);
            let is_fraction =
                !x.b.is_zero() && d <= bound && oracle::gcd(&n, &d).is_one() && !d.is_zero();
            Ok(match is_fraction {
                true => vec![n, d, flag(is_negative), flag(false)],
                false => vec![BigUint::zero(), BigUint::zero(), flag(false), flag(true)],
            })
        }
    );
    operation!("inverse_mod", [B], |x| x.a.inverse_mod(x.b)?.columns(), modular_inverse);
    operation!(
        "inverse_mod_into",
        [B, Out, Mask],
        |mut x| {
            x.a.inverse_mod_into(x.b, &mut x.out, &mut x.mask)?;
            (x.out, x.mask).columns()
        },
        modular_inverse
    );
    operation!(
        "jacobi",
        [B],
        |x| Ok(host(x.a.jacobi(x.b)?.into_iter().map(|symbol| (symbol + 1) as u64))),
        |x| Ok(vec![BigUint::from((oracle::kronecker(x.a, x.b) + 1) as u64)])
    );
    operation!("isqrt", [], |x| x.a.isqrt()?.columns(), |x| Ok(vec![oracle::isqrt(x.a)]));
    // Roots, inverses and polynomials.
    operation!("isqrt_rem", [], |x| x.a.isqrt_rem()?.columns(), |x| {
        let root = oracle::isqrt(x.a);
        let remainder = x.a - &root * &root;
        Ok(vec![root, remainder])
    });
    operation!("nth_root_rem", [], |x| x.a.nth_root_rem((x.n % 99) as usize + 1)?.columns(), |x| {
        let root = oracle::nth_root(x.a, x.n % 99 + 1);
        let remainder = x.a - root.pow((x.n % 99) as u32 + 1);
        Ok(vec![root, remainder])
    });
    operation!(
        "perfect_powers",
        [],
        |x| {
            let powers = x.a.shr(T::BITS - 90)?;
            let (bases, exponents) = powers.perfect_powers()?;
            Ok([bases.columns()?, host(exponents)].into_iter().flatten().collect())
        },
        |x| {
            let (base, exponent) = oracle::perfect_power(&oracle::shr(x.a, x.bits - 90));
            Ok(vec![base, exponent.into()])
        }
    );
    operation!(
        "overflowing_pow",
        [],
        |x| {
            let (powers, overflowed) = x.a.overflowing_pow((x.n % 9) as usize)?;
            assert!(powers.is_equal(&x.a.wrapping_pow((x.n % 9) as usize)?)?);
            (powers, overflowed).columns()
        },
        |x| {
            let power = x.a.pow((x.n % 9) as u32);
            Ok(vec![oracle::shl(&power, 0, x.bits), flag(power.bits() > x.bits as u64)])
        }
    );
    operation!("is_probable_prime", [], |x| x.a.is_probable_prime()?.columns(), |x| {
        let is_prime = primes::is_strong(x.a, &2u32.into()) && primes::is_strong_lucas(x.a);
        Ok(vec![flag(is_prime)])
    });
    operation!(
        "is_strong_probable_prime_rows",
        [B],
        |x| x.a.is_strong_probable_prime_rows(x.b)?.columns(),
        |x| Ok(vec![flag(primes::is_strong(x.a, x.b))])
    );
    operation!("is_square", [], |x| x.a.is_square()?.columns(), |x| {
        let root = oracle::isqrt(x.a);
        Ok(vec![flag(&root * &root == *x.a)])
    });
    operation!("inverse_mod_all", [], |x| x.a.inverse_mod_all(x.n)?.columns(), |x| {
        let inverse = oracle::inverse_mod(x.a, &x.n.into());
        let without = flag(inverse.is_none());
        Ok(vec![inverse.unwrap_or_default(), without])
    });
    operation!(
        "wrapping_polynomial",
        [],
        |x| {
            let coefficients = [x.n, 3, x.n >> 7].map(BigUint::from);
            x.a.wrapping_polynomial(&coefficients)?.columns()
        },
        |x| {
            let value = BigUint::from(x.n) + x.a * 3u32 + x.a * x.a * (x.n >> 7);
            Ok(vec![oracle::shl(&value, 0, x.bits)])
        }
    );
    operation!(
        "wrapping_dot",
        [B],
        |x| Ok(host([x.a.wrapping_dot(x.b)?])),
        all: |x| {
            let dot = x.a.iter().zip(x.b).fold(BigUint::zero(), |dot, (a, b)| dot + a * b);
            Ok(vec![vec![oracle::shl(&dot, 0, x.bits)]])
        }
    );
    // Signed integers.
    operation!(
        "signed sums and products",
        [B],
        |x| {
            let (a, b) = signed_operands(&x)?;
            let results = [a.overflowing_add(&b)?, a.overflowing_sub(&b)?, a.overflowing_mul(&b)?];
            let columns = results.into_iter().map(|(rows, overflow)| {
                let ((magnitude, negative), is_less) = (rows.into_parts(), a.lt_mask(&b)?);
                ((magnitude, negative), (overflow, is_less)).columns()
            });
            Ok(columns.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
        },
        |x| {
            let (a, b) = (signed(x.a, 0), signed(x.b, 1));
            let sums = [oracle::signed_sum(&a, &b), oracle::signed_sum(&a, &-&b)];
            let results = sums.into_iter().chain([oracle::signed_product(&a, &b)]);
            let columns = results.flat_map(|value| {
                let magnitude = oracle::shl(value.magnitude(), 0, x.bits);
                let overflows = oracle::bits(value.magnitude()) > x.bits as u64;
                let negative = value.sign() == Sign::Minus && !magnitude.is_zero();
                [magnitude, flag(negative), flag(overflows), flag(a < b)]
            });
            Ok(columns.collect())
        }
    );
    operation!(
        "signed divisions",
        [B],
        |x| {
            let (a, b) = signed_operands(&x)?;
            let results = [a.div_rem(&b)?, a.div_rem_floor(&b)?, a.div_rem_euclid(&b)?];
            let columns =
                results.into_iter().map(|(q, r)| (q.into_parts(), r.into_parts()).columns());
            Ok(columns.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
        },
        |x| {
            let (a, b) = (signed(x.a, 0), signed(x.b, 1));
            if b.is_zero() {
                return Err(Fail::ZeroDivisor);
            }
            let rules = [oracle::div_rem_to_zero, oracle::div_rem_down, oracle::div_rem_euclid];
            let results = rules.iter().flat_map(|divide| {
                let (q, r) = divide(&a, &b);
                [q, r].map(|value| (value.magnitude().clone(), value.sign() == Sign::Minus))
            });
            Ok(results.flat_map(|(magnitude, negative)| [magnitude, flag(negative)]).collect())
        }
    );
    // Trees.
    operation!(
        "product tree",
        [],
        |x| {
            let tree = ProductTree::new(&leaves(&x)?)?;
            let (rests, root) = (tree.remainders(x.n)?.columns()?, host([tree.root()]));
            Ok(rests.into_iter().chain(root).collect())
        },
        all: |x| {
            let (leaves, root) = x.positive_leaves()?;
            let rests = leaves.iter().map(|leaf| oracle::div_rem(&x.n.into(), leaf).1).collect();
            Ok(vec![rests, vec![root]])
        }
    );
    operation!(
        "batch_gcd",
        [],
        |x| leaves(&x)?.batch_gcd()?.columns(),
        all: |x| {
            let (leaves, root) = x.positive_leaves()?;
            let others = |leaf| oracle::div_rem(&root, leaf).0;
            Ok(vec![leaves.iter().map(|leaf| oracle::gcd(leaf, &others(leaf))).collect()])
        }
    );
    operation!(
        "crt",
        [],
        |x| {
            let crt = Crt::new(&leaves(&x)?)?;
            let residues = crt.residues(x.a.as_dyn())?;
            Ok(host(crt.combine(&residues)?.to_biguints()?))
        },
        all: |x| {
            let (leaves, root) = x.positive_leaves()?;
            match leaves {
                [] => Err(Error::LengthMismatch { left: 0, right: 1 }),
                [a, b] if !oracle::gcd(a, b).is_one() => Err(Error::CommonDivisor { row: 0 }),
                _ => Ok(vec![x.a.iter().map(|a| oracle::div_rem(a, &root).1).collect()]),
            }
        }
    );
    // Order and exchange.
    operation!("sort", [], |x| x.a.sort()?.columns(), all: |x| Ok(vec![x.sorted()]));
    operation!(
        "unique",
        [],
        |x| x.a.unique()?.columns(),
        all: |x| {
            let mut rows = x.sorted();
            rows.dedup();
            Ok(vec![rows])
        }
    );
    operation!("reverse", [], |x| x.a.reverse()?.columns(), all: |x| {
        Ok(vec![x.a.iter().rev().cloned().collect()])
    });
    operation!(
        "sort_indices, gather, scatter_into",
        [],
        |x| {
            let order = x.a.sort_indices()?;
            let sorted = x.a.gather(&order)?;
            let mut again = x.a.not()?;
            sorted.scatter_into(&order, &mut again)?;
            (sorted, again).columns()
        },
        all: |x| Ok(vec![x.sorted(), x.a.to_vec()])
    );
    operation!(
        "gather_into",
        [],
        |x| {
            let rows: Vec<usize> = (0..x.a.len()).map(|row| row / 2).collect();
            let mut out = x.a.not()?;
            x.a.gather_into(&rows, &mut out)?;
            out.columns()
        },
        all: |x| Ok(vec![(0..x.a.len()).map(|row| x.a[row / 2].clone()).collect()])
    );
    operation!(
        "slice, concat",
        [],
        |x| {
            let middle = x.a.len() / 2;
            let halves = [x.a.slice(middle..x.a.len())?, x.a.slice(0..middle)?];
            Batch::concat(&[&halves[0], &halves[1]])?.columns()
        },
        all: |x| {
            let (first, second) = x.a.split_at(x.a.len() / 2);
            Ok(vec![[second, first].concat()])
        }
    );
    operation!(
        "filter",
        [B],
        |x| x.a.filter(&x.a.lt_mask(x.b)?)?.columns(),
        all: |x| {
            let rows = x.a.iter().zip(x.b).filter(|(a, b)| a < b);
            Ok(vec![rows.map(|(a, _)| a.clone()).collect()])
        }
    );
    operation!("swap", [B], |x| x.a.swap(&x.a.lt_mask(x.b)?, x.b)?.columns(), |x| Ok(vec![
        x.a.max(x.b).clone(),
        x.a.min(x.b).clone()
    ]));
    // Comparisons.
    operation!("cmp", [B], |x| Ok(orders(x.a.cmp(x.b)?)), |x| Ok(vec![
        order(oracle::cmp(x.a, x.b)).into()
    ]));
    operation!("eq_mask", [B], |x| x.a.eq_mask(x.b)?.columns(), |x| Ok(vec![flag(x.a == x.b)]));
    operation!(
        "cmp_into, bit_lengths_into",
        [B],
        |x| {
            let mut found = vec![Ordering::Less; x.a.len()];
            let mut lengths = vec![u64::MAX; x.a.len()];
            x.a.cmp_into(x.b, &mut found)?;
            x.a.bit_lengths_into(&mut lengths)?;
            Ok([orders(found), host(lengths)].into_iter().flatten().collect())
        },
        |x| Ok(vec![order(oracle::cmp(x.a, x.b)).into(), oracle::bits(x.a).into()])
    );
    operation!(
        "eq_mask_into",
        [B, Mask],
        |mut x| {
            x.a.eq_mask_into(x.b, &mut x.mask)?;
            x.mask.columns()
        },
        |x| Ok(vec![flag(x.a == x.b)])
    );
    operation!(
        "is_zero_mask_into",
        [Mask],
        |mut x| {
            x.a.is_zero_mask_into(&mut x.mask)?;
            x.mask.columns()
        },
        |x| Ok(vec![flag(x.a.is_zero())])
    );
    operation!("lt_mask", [B], |x| x.a.lt_mask(x.b)?.columns(), less);
    operation!(
        "lt_mask_into",
        [B, Mask],
        |mut x| {
            x.a.lt_mask_into(x.b, &mut x.mask)?;
            x.mask.columns()
        },
        less
    );
    operation!("is_zero_mask", [], |x| x.a.is_zero_mask()?.columns(), |x| Ok(vec![flag(
        x.a.is_zero()
    )]));
    operation!("bit_lengths", [], |x| Ok(host(x.a.bit_lengths()?)), |x| Ok(vec![
        oracle::bits(x.a).into()
    ]));
    // Conversions.
    operation!("try_clone", [], |x| x.a.try_clone()?.columns(), same);
    operation!(
        "digits",
        [],
        |x| Batch::from_digits(x.a.device(), &x.a.to_digits()?)?.columns(),
        same
    );
    operation!(
        "decimal, hex",
        [],
        |x| {
            let (decimal, hex) = (x.a.to_decimal()?, x.a.to_hex()?);
            let [decimal, hex] =
                [&decimal, &hex].map(|rows| rows.iter().map(String::as_str).collect::<Vec<_>>());
            let device = x.a.device();
            (Batch::from_decimal(device, &decimal)?, Batch::from_hex(device, &hex)?).columns()
        },
        |x| Ok(vec![x.a.clone(), x.a.clone()])
    );
    operation!("widen, narrow", [], |x| x.a.widen::<T::Wide>()?.narrow::<T>()?.columns(), same);
    operation!("join, split", [B], |x| x.a.join::<T::Wide>(x.b)?.split::<T>()?.columns(), |x| Ok(
        vec![x.a.clone(), x.b.clone()]
    ));
    operation!(
        "le_bytes",
        [],
        |x| Batch::from_le_bytes(x.a.device(), &x.a.to_le_bytes()?)?.columns(),
        same
    );
    operation!(
        "be_bytes",
        [],
        |x| Batch::from_be_bytes(x.a.device(), &x.a.to_be_bytes()?)?.columns(),
        same
    );
    operation!(
        "row",
        [],
        |x| {
            let rows = x.a.len();
            assert_eq!(x.a.row(rows).unwrap_err(), Error::NoSuchRow { row: rows, rows });
            Ok(host((0..rows).map(|row| x.a.row(row)).collect::<Result<Vec<_>>>()?))
        },
        same
    );
    operation!("zeros", [], |x| Batch::zeros(x.a.device(), x.a.len())?.columns(), |_| Ok(vec![
        BigUint::zero()
    ]));
    table
}

fn flag(bit: bool) -> BigUint {
    u64::from(bit).into()
}
fn same(x: &Row<'_>) -> Outcome {
    Ok(vec![x.a.clone()])
}
fn sum(x: &Row<'_>) -> Outcome {
    Ok(vec![oracle::add(x.a, x.b, x.bits).0])
}
fn sum_carry(x: &Row<'_>) -> Outcome {
    let (sum, carry) = oracle::add(x.a, x.b, x.bits);
    Ok(vec![sum, flag(carry)])
}
fn difference(x: &Row<'_>) -> Outcome {
    Ok(vec![oracle::sub(x.a, x.b, x.bits).0])
}
fn difference_borrow(x: &Row<'_>) -> Outcome {
    let (difference, borrow) = oracle::sub(x.a, x.b, x.bits);
    Ok(vec![difference, flag(borrow)])
}
fn product(x: &Row<'_>) -> Outcome {
    Ok(vec![oracle::mul(x.a, x.b, x.bits).0])
}
fn cyclic(x: &Row<'_>) -> Outcome {
    Ok(vec![oracle::mul_cyclic(x.a, x.b, x.bits)])
}
fn square(x: &Row<'_>) -> Outcome {
    Ok(vec![oracle::square(x.a, x.bits)])
}
fn halves(x: &Row<'_>) -> Outcome {
    let (low, high) = oracle::mul(x.a, x.b, x.bits);
    Ok(vec![low, high])
}
fn division(x: &Row<'_>) -> Outcome {
    quotient(x.a, x.b).map(|(q, r)| vec![q, r])
}
fn prepared_division(x: &Row<'_>) -> Outcome {
    quotient(x.a, x.v).map(|(q, r)| vec![q, r])
}
fn divisor(x: &Row<'_>) -> Outcome {
    Ok(vec![oracle::gcd(x.a, x.b)])
}
fn modular_inverse(x: &Row<'_>) -> Outcome {
    let inverse = oracle::inverse_mod(x.a, x.b);
    let without = flag(inverse.is_none());
    Ok(vec![inverse.unwrap_or_default(), without])
}
fn masked_division(x: &Row<'_>) -> Outcome {
    let (q, r, zero) = oracle::div_rem_masked(x.a, x.b, x.bits);
    Ok(vec![q, r, flag(zero)])
}
fn exact_division(x: &Row<'_>) -> Outcome {
    let quotient = oracle::div_exact(x.a, x.b);
    let inexact = flag(quotient.is_none());
    Ok(vec![quotient.unwrap_or_default(), inexact])
}
fn shifted_left(x: &Row<'_>) -> Outcome {
    Ok(vec![oracle::shl(x.a, x.distance(), x.bits)])
}
fn turned_left(x: &Row<'_>) -> Outcome {
    let bits = x.distance() % x.bits;
    Ok(vec![oracle::shl(x.a, bits, x.bits) + oracle::shr(x.a, x.bits - bits)])
}
fn less(x: &Row<'_>) -> Outcome {
    Ok(vec![flag(oracle::cmp(x.a, x.b) == Ordering::Less)])
}

/// An operation of a program; the seed determines its operands.
#[derive(Clone, PartialEq)]
struct Step {
    name: String,
    seed: u64,
}

/// Name of the step that makes a batch from new values.
const MAKE: &str = "make";

/// A pool of batches and the steps on them.
struct World<'a, T: Kernels> {
    devices: &'a [Device],
    operations: &'a [Operation<T>],
    pool: Vec<Value<T>>,
}

impl<T: Kernels> World<'_, T> {
    /// Executes a step.
    fn step(&mut self, step: &Step) -> std::result::Result<(), String> {
        let mut source = Source::new(step.seed);
        if self.pool.is_empty() || step.name == MAKE {
            return self.make(&mut source);
        }
        let table = self.operations;
        let operation = table.iter().find(|operation| operation.name == step.name);
        let operation = operation.ok_or_else(|| format!("no operation \"{}\"", step.name))?;
        self.call(operation, &mut source).map_err(|error| format!("{}: {error}", operation.name))
    }

    fn make(&mut self, source: &mut Source) -> std::result::Result<(), String> {
        let device = &self.devices[source.below(self.devices.len())];
        let rows = [0, 1, 2, 5, 31, 32, 33, 65][source.below(8)];
        let model: Vec<BigUint> = (0..rows).map(|_| source.value(T::BITS)).collect();
        let batch = match (source.below(3), model.first()) {
            (0, Some(first)) => Batch::splat(device, first, rows),
            _ => Batch::from_biguints(device, &model),
        };
        let batch = batch.map_err(|error| format!("make: {error}"))?;
        let model = batch.to_biguints().map_err(|error| format!("make: {error}"))?;
        self.keep(source, Value { batch, model });
        Ok(())
    }

    fn keep(&mut self, source: &mut Source, value: Value<T>) {
        if self.pool.len() < POOL {
            self.pool.push(value);
        } else {
            let at = source.below(POOL);
            self.pool[at] = value;
        }
    }

    /// A batch that usually matches another one: same device, same number of rows.
    fn partner(&self, a: usize, source: &mut Source) -> usize {
        let goes = |&at: &usize| {
            let (a, b) = (&self.pool[a].batch, &self.pool[at].batch);
            a.device() == b.device() && a.len() == b.len()
        };
        let partners: Vec<usize> = (0..self.pool.len()).filter(goes).collect();
        if source.below(12) == 0 {
            return source.below(self.pool.len());
        }
        partners[source.below(partners.len())]
    }

    fn call(
        &mut self,
        operation: &Operation<T>,
        source: &mut Source,
    ) -> std::result::Result<(), String> {
        let a = source.below(self.pool.len());
        let (b, c) = (self.partner(a, source), self.partner(a, source));
        let outs = [self.partner(a, source), self.partner(a, source), self.partner(a, source)];
        let n = source.number(T::BITS);
        let one = BigUint::one();
        let (results, expected) = {
            let [a, b, c] = [a, b, c].map(|at| &self.pool[at]);
            let [out, out2, mask] = outs.map(|at| &self.pool[at].batch);
            let first = c.model.first().unwrap_or(&one);
            let uses = |what| operation.uses.contains(&what);
            let mut others: Vec<&Batch<T>> = Vec::new();
            let by_rows = uses(Uses::Divisor) && !is_one_divisor(n);
            for (used, batch) in [
                (uses(Uses::B), &b.batch),
                (by_rows, &c.batch),
                (uses(Uses::Out), out),
                (uses(Uses::Out2), out2),
                (uses(Uses::Mask), mask),
            ] {
                others.extend(used.then_some(batch));
            }
            let expected = expected::<T>(operation, (a, b, c), n, &others);
            let case = || -> Result<Case<'_, T>> {
                let dirty = mask.is_zero_mask()?;
                let (out, out2) = (out.try_clone()?, out2.try_clone()?);
                let (a, b, c) = (&a.batch, &b.batch, &c.batch);
                Ok(Case { a, b, c, first, n, out, out2, mask: dirty })
            };
            let case = case().map_err(|error| error.to_string())?;
            ((operation.run)(case), expected)
        };
        match (results, expected) {
            (Err(error), Err(errors)) if is_expected(&error, &errors) => Ok(()),
            (Err(error), Err(errors)) => Err(format!("{error:?} instead of one of {errors:?}")),
            (Err(error), Ok(_)) => Err(format!("{error:?} instead of results")),
            (Ok(_), Err(errors)) => Err(format!("results instead of one of {errors:?}")),
            (Ok(columns), Ok(expected)) => {
                for (index, (column, model)) in columns.into_iter().zip(expected).enumerate() {
                    for row in 0..model.len().max(column.values.len()) {
                        let (got, wanted) = (column.values.get(row), model.get(row));
                        if got != wanted {
                            return Err(format!(
                                "result {index} of row {row} is {got:x?} instead of {wanted:x?}; \
                                 n = {n}"
                            ));
                        }
                    }
                    if let Some(batch) = column.batch {
                        self.keep(source, Value { batch, model });
                    }
                }
                Ok(())
            }
        }
    }
}

/// Expected result of an operation: columns, or one of some errors.
fn expected<T: Kernels>(
    operation: &Operation<T>,
    (a, b, c): (&Value<T>, &Value<T>, &Value<T>),
    n: u64,
    others: &[&Batch<T>],
) -> std::result::Result<Vec<Vec<BigUint>>, Vec<Error>> {
    let rows = a.batch.len();
    let divides = operation.uses.contains(&Uses::Divisor);
    let one_divisor = is_one_divisor(n);
    let one = BigUint::one();
    let first = c.model.first().unwrap_or(&one);
    // Divisors are prepared first.
    if divides && one_divisor && first.is_zero() {
        return Err(vec![Error::DivisionByZero { row: 0 }]);
    }
    if divides
        && !one_divisor
        && let Some(row) = c.model.iter().position(Zero::is_zero)
    {
        return Err(vec![Error::DivisionByZero { row }]);
    }
    let mut errors = Vec::new();
    for other in others {
        if other.device() != a.batch.device() {
            errors.push(Error::DeviceMismatch);
        } else if other.len() != rows {
            errors.push(Error::LengthMismatch { left: rows, right: other.len() });
            // Those of the second operand are made of it alone.
            if operation.name == "residues" {
                errors.push(Error::LengthMismatch { left: other.len(), right: rows });
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let by_row = match operation.model {
        Model::Row(by_row) => by_row,
        Model::All(all) => {
            let operands = Batches { a: &a.model, b: &b.model, n, bits: T::BITS };
            return all(&operands).map_err(|error| vec![error]);
        }
    };
    let row = |row: usize| Row {
        a: &a.model[row],
        b: b.model.get(row).unwrap_or(&one),
        v: if one_divisor { first } else { c.model.get(row).unwrap_or(&one) },
        n,
        bits: T::BITS,
        digit_bits: T::DIGIT_BITS,
    };
    let mut columns: Vec<Vec<BigUint>> = Vec::new();
    for index in 0..rows {
        match by_row(&row(index)) {
            Ok(values) => {
                columns.resize_with(values.len(), Vec::new);
                for (column, value) in columns.iter_mut().zip(values) {
                    column.push(value);
                }
            }
            Err(Fail::ZeroDivisor) => return Err(vec![Error::DivisionByZero { row: index }]),
            Err(Fail::TooWide(bits)) => {
                return Err(vec![Error::TooWide { row: index, bits, width: T::BITS }]);
            }
        }
    }
    // Zero is rejected before the rows are read.
    if rows == 0 && (operation.name == "div_rem_digit" || operation.name == "rem_digit") {
        return if n & digit_mask(T::DIGIT_BITS) == 0 {
            Err(vec![Error::DivisionByZero { row: 0 }])
        } else {
            Ok(columns)
        };
    }
    Ok(columns)
}

/// Runs a program in a new world; an error is the step's text.
fn run<T: Kernels>(
    devices: &[Device],
    operations: &[Operation<T>],
    steps: &[Step],
) -> std::result::Result<(), String> {
    let program = panic::AssertUnwindSafe(|| {
        let mut world = World { devices, operations, pool: Vec::new() };
        steps.iter().try_for_each(|step| world.step(step))
    });
    panic::catch_unwind(program).unwrap_or_else(|_| Err("it panicked".to_owned()))
}

/// Removes steps while the program still fails.
fn shrink(mut steps: Vec<Step>, fails: impl Fn(&[Step]) -> bool) -> Vec<Step> {
    let mut size = steps.len() / 2;
    while size > 0 {
        let mut start = 0;
        while start < steps.len() {
            let end = (start + size).min(steps.len());
            let fewer = [&steps[..start], &steps[end..]].concat();
            if fails(&fewer) {
                steps = fewer;
            } else {
                start = end;
            }
        }
        size /= 2;
    }
    steps
}

fn text<T: Kernels>(steps: &[Step]) -> String {
    let mut text = T::SHAPE.to_string();
    for Step { name, seed } in steps {
        let _ = write!(text, "; {name}: {seed:x}");
    }
    text
}

/// Stored failing programs of a shape.
fn regressions<T: Kernels>() -> Vec<Vec<Step>> {
    let kept = fs::read_to_string(REGRESSIONS).unwrap_or_default();
    let lines = kept.lines().filter(|line| !line.starts_with('#'));
    let steps = |line: &str| -> Option<Vec<Step>> {
        let rest = line.strip_prefix(&T::SHAPE.to_string())?.strip_prefix("; ")?;
        let step = |step: &str| {
            let (name, seed) = step.rsplit_once(": ").unwrap();
            Step { name: name.to_owned(), seed: u64::from_str_radix(seed, 16).unwrap() }
        };
        Some(rest.split("; ").map(step).collect())
    };
    lines.filter_map(steps).collect()
}

fn number(name: &str, default: u64) -> u64 {
    let Some(text) = env::var_os(name) else { return default };
    let text = text.to_string_lossy();
    text.parse().unwrap_or_else(|_| panic!("{name}=\"{text}\" is not a number"))
}

/// Devices with kernels for a shape.
fn devices<T: Kernels>() -> Vec<Device> {
    let simt = |seed| Device::simt_with(SimtOptions { seed, ..SimtOptions::default() });
    let mut devices = vec![Device::cpu(), simt(0), simt(7)];
    if number("GPUINT_FUZZ_CUDA", 0) == 1 {
        devices.push(Device::cuda(0).unwrap());
        devices.push(Device::cuda(0).unwrap());
    }
    devices.retain(|device| {
        let ones = Batch::<T>::splat(device, &BigUint::one(), 1).unwrap();
        match ones.div_rem(&ones) {
            Err(error @ Error::KernelMissing { .. }) => {
                skip("cxx", error);
                false
            }
            _ => true,
        }
    });
    devices
}

/// Runs the stored programs of a shape and then new ones, until the time is over.
fn fuzz<T: Kernels + Widen>() {
    let (devices, operations) = (devices::<T>(), operations::<T>());
    let fails = |steps: &[Step]| run(&devices, &operations, steps).is_err();
    let check = |steps: Vec<Step>, is_new: bool| {
        let Err(_) = run(&devices, &operations, &steps) else { return };
        let steps = shrink(steps, fails);
        let error = run(&devices, &operations, &steps).err().unwrap_or_default();
        let line = text::<T>(&steps);
        if is_new
            && let Ok(mut file) = OpenOptions::new().append(true).create(true).open(REGRESSIONS)
        {
            let _ = writeln!(file, "{line}");
        }
        panic!("{error}\n{line}");
    };
    for steps in regressions::<T>() {
        check(steps, false);
    }
    let seconds = number("GPUINT_FUZZ_SECONDS", 2);
    let mut source = Source::new(number("GPUINT_FUZZ_SEED", 1) ^ (T::BITS * T::Q) as u64);
    // The first program is not timed: it waits for kernels of the shim that are not on the disk.
    let mut start = None::<Instant>;
    let mut steps_done = 0;
    while start.is_none_or(|start| start.elapsed() < Duration::from_secs(seconds)) {
        let step = |_| {
            let known = source.below(operations.len() + operations.len() / 8);
            let name = operations.get(known).map_or(MAKE, |operation| operation.name);
            Step { name: name.to_owned(), seed: source.next() }
        };
        let steps: Vec<Step> = (0..STEPS).map(step).collect();
        steps_done += steps.len();
        check(steps, true);
        start.get_or_insert_with(Instant::now);
    }
    println!("{}: {steps_done} operations on {} devices", T::SHAPE, devices.len());
}

#[test]
fn programs_of_1024_bits_in_u64_digits_are_right() {
    fuzz::<GpuUint<1024>>();
}

#[test]
fn programs_of_2048_bits_in_two_u16_digits_are_right() {
    fuzz::<GpuUint<2048, 2, u16>>();
}

#[test]
fn programs_of_1024_bits_in_single_u32_digits_are_right() {
    fuzz::<GpuUint<1024, 1, u32>>();
}

#[test]
fn programs_of_1536_bits_in_three_u64_digits_are_right() {
    fuzz::<GpuUint<1536, 3>>();
}

#[test]
fn programs_of_8192_bits_are_right() {
    fuzz::<GpuUint<8192>>();
}

#[test]
fn shrinking_keeps_failing_steps() {
    let step = |seed| Step { name: MAKE.to_owned(), seed };
    let steps: Vec<Step> = (0..60).map(step).collect();
    let fails = |steps: &[Step]| [7, 31].iter().all(|&seed| steps.contains(&step(seed)));
    assert!(shrink(steps, fails) == [step(7), step(31)]);
}
