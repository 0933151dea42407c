//! Operations that the library composes from those of the catalogue, and their expected results.
//!
//! The suite runs them at every shape, random programs on any operands.

use std::sync::LazyLock;

use gpuint::num_bigint::{BigInt, BigUint, Sign};
use gpuint::{
    DynBatch, DynCrt, DynFixedBase, DynModulus, DynProductTree, DynResidues, DynSignedBatch, Error,
    Result, Shape,
};
use num_traits::{One, Zero};

use crate::forms::{Arg, Call, Columns, Returned, Untyped};
use crate::operands::{DIVISIONS, EUCLID, EXACT, FRACTIONS, Family, PRODUCTS, ROOTS, SUMS};
use crate::random::Random;
use crate::{oracle, primes};

/// Bits of exponents: powers take long.
const EXPONENT_BITS: usize = 9;
/// Leaves of a product tree: their product fits in twice the width.
const LEAVES: usize = 2;
/// Any number of bits beyond the width, in an expected error.
const ANY: u64 = u64::MAX;

/// Operands of a call.
type Operands<'a> = Call<'a, Untyped>;

/// An operation, with its own expected results.
#[derive(Debug)]
pub struct Composition {
    pub name: &'static str,
    pub args: &'static [Arg],
    pub call: fn(Operands<'_>) -> Result<Columns<Untyped>>,
    pub reach: Reach,
    /// Families of operands with the cases of the operation.
    pub families: &'static [Family],
    model: Model,
}

/// Shapes of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// All, in the time of a few passes over the rows.
    Linear,
    /// Those with products of rows.
    Products,
    /// Those with twice the width; the name of the operation in the error elsewhere.
    Doubled(&'static str),
    /// Narrow ones: it takes tens of products.
    Narrow,
}

/// Expected results.
#[derive(Debug, Clone, Copy)]
enum Model {
    /// By row.
    Row(fn(&Row<'_>) -> Outcome),
    /// Of whole batches.
    All(fn(&Batches<'_>) -> Result<Vec<Vec<BigUint>>>),
}

/// Row of the operands.
struct Row<'a> {
    a: &'a BigUint,
    b: &'a BigUint,
    n: u64,
    bits: usize,
    digit_bits: usize,
}

/// The operands.
#[derive(Debug)]
pub struct Batches<'a> {
    pub a: &'a [BigUint],
    pub b: &'a [BigUint],
    pub n: u64,
    pub shape: Shape,
}

/// Reason why a row has no result.
enum Fail {
    ZeroDivisor,
    /// Bits of the result; [`ANY`] for an unknown number.
    TooWide(u64),
}

type Outcome = std::result::Result<Vec<BigUint>, Fail>;

impl Composition {
    /// Returns true if it has this argument.
    #[must_use]
    pub fn takes(&self, arg: Arg) -> bool {
        self.args.contains(&arg)
    }

    /// Expected columns; none for no rows.
    ///
    /// # Errors
    /// The expected error; see [`is_expected`].
    pub fn expected(&self, operands: &Batches<'_>) -> Result<Vec<Vec<BigUint>>> {
        let by_row = match self.model {
            Model::Row(by_row) => by_row,
            Model::All(all) => return all(operands),
        };
        let mut columns: Vec<Vec<BigUint>> = Vec::new();
        for row in 0..operands.a.len() {
            let values = by_row(&operands.row(row)).map_err(|fail| operands.error(row, &fail))?;
            columns.resize_with(values.len(), Vec::new);
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
        Ok(columns)
    }

    /// Returns true if the call fails by this row.
    #[must_use]
    pub fn fails_by(&self, operands: &Batches<'_>, row: usize) -> bool {
        matches!(self.model, Model::Row(by_row) if by_row(&operands.row(row)).is_err())
    }
}

/// Returns true if an error is the expected one.
#[must_use]
pub fn is_expected(error: &Error, expected: &Error) -> bool {
    match (error, expected) {
        (
            Error::TooWide { row, bits, width },
            Error::TooWide { row: wanted, bits: ANY, width: of },
        ) => (row, width) == (wanted, of) && *bits > *width as u64,
        _ => error == expected,
    }
}

/// Draws a distance or a number of digits: around the limits of a row, or any.
pub fn number(random: &mut Random, bits: usize) -> u64 {
    let around = random.pick(&[0, 1, 16, 32, 64, bits / 2, bits, 2 * bits]) as u64;
    match random.below(8) {
        0 => u64::MAX - random.word() % 3,
        1..=3 => (around + random.word() % 3).saturating_sub(1),
        _ => random.word() % (2 * bits as u64 + 9),
    }
}

impl Row<'_> {
    fn exponent(&self) -> BigUint {
        oracle::shr(self.b, self.bits - EXPONENT_BITS)
    }

    /// A value cut to the width, and a flag of values that are wider.
    fn cut(&self, value: &BigUint) -> [BigUint; 2] {
        [oracle::shl(value, 0, self.bits), flag(value.bits() > self.bits as u64)]
    }
}

impl<'a> Batches<'a> {
    fn row(&self, row: usize) -> Row<'_> {
        static ONE: LazyLock<BigUint> = LazyLock::new(BigUint::one);
        let Self { n, shape: Shape { bits, digit, .. }, .. } = *self;
        let b = self.b.get(row).unwrap_or(&ONE);
        Row { a: &self.a[row], b, n, bits, digit_bits: digit.bits() }
    }

    fn error(&self, row: usize, fail: &Fail) -> Error {
        match *fail {
            Fail::ZeroDivisor => Error::DivisionByZero { row },
            Fail::TooWide(bits) => Error::TooWide { row, bits, width: self.shape.bits },
        }
    }

    fn low(&self, value: &BigUint) -> BigUint {
        oracle::shl(value, 0, self.shape.bits)
    }

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

    /// Numbers of the rows in ascending order.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.a.len()).collect();
        order.sort_by(|&left, &right| oracle::cmp(&self.a[left], &self.a[right]));
        order
    }

    fn sorted(&self) -> Vec<BigUint> {
        self.order().into_iter().map(|row| self.a[row].clone()).collect()
    }

    /// The number for all rows: an odd `n`, or the first second operand.
    fn one(&self) -> BigUint {
        let first = || self.b.first().cloned().unwrap_or(BigUint::one());
        if self.n % 2 == 1 { self.n.into() } else { first() }
    }
}

/// The leaves of a call.
fn leaves(x: &Operands<'_>) -> Result<DynBatch> {
    x.a.slice(0..x.a.len().min(LEAVES))
}

/// Short exponents of a call.
fn exponents(x: &Operands<'_>) -> Result<DynBatch> {
    x.b.shr(x.a.shape().bits - EXPONENT_BITS)
}

/// The number for all rows of a call, whose operands must match.
fn one(x: &Operands<'_>) -> Result<BigUint> {
    x.a.eq_mask(x.b)?;
    match x.n % 2 {
        1 => Ok(x.n.into()),
        _ if x.b.is_empty() => Ok(BigUint::one()),
        _ => x.b.row(0),
    }
}

/// Signed operands of a call: a low bit of a row is its sign.
fn signed_operands(x: &Operands<'_>) -> Result<[DynSignedBatch; 2]> {
    let a = DynSignedBatch::from_parts(x.a.try_clone()?, &x.a.bit_mask(0)?)?;
    Ok([a, DynSignedBatch::from_parts(x.b.try_clone()?, &x.b.bit_mask(1)?)?])
}

/// The same for the model.
fn signed(x: &Row<'_>) -> [BigInt; 2] {
    [(x.a, 0), (x.b, 1)].map(|(value, bit)| {
        let sign = if value.bit(bit) { Sign::Minus } else { Sign::Plus };
        BigInt::from_biguint(sign, value.clone())
    })
}

/// Magnitude and sign.
fn parts(value: &BigInt) -> [BigUint; 2] {
    [value.magnitude().clone(), flag(value.sign() == Sign::Minus)]
}

/// `(a / v, a mod v)`.
fn quotient(a: &BigUint, v: &BigUint) -> std::result::Result<(BigUint, BigUint), Fail> {
    if v.is_zero() { Err(Fail::ZeroDivisor) } else { Ok(oracle::div_rem(a, v)) }
}

/// A number for all rows, not 0.
fn positive(x: &Operands<'_>) -> u64 {
    x.n.max(1)
}

fn flag(bit: bool) -> BigUint {
    u64::from(bit).into()
}

fn same(x: &Row<'_>) -> Outcome {
    Ok(vec![x.a.clone()])
}

/// `floor(B^n / a)`.
fn inverse(x: &Row<'_>) -> Outcome {
    if x.a.is_zero() {
        return Err(Fail::ZeroDivisor);
    }
    let distance = usize::try_from(x.n).unwrap_or(usize::MAX).saturating_mul(x.digit_bits);
    // Beyond this width no result fits, and no memory holds a power of two of that size.
    let inverse = oracle::inverse(x.a, distance.min(2 * x.bits));
    let bits = if distance > 2 * x.bits { ANY } else { inverse.bits() };
    if bits > x.bits as u64 { Err(Fail::TooWide(bits)) } else { Ok(vec![inverse]) }
}

fn rotated_left(x: &Row<'_>) -> Outcome {
    let bits = (x.n % x.bits as u64) as usize;
    Ok(vec![oracle::shl(x.a, bits, x.bits) + oracle::shr(x.a, x.bits - bits)])
}

/// The rows with a bit and without it, and their bits below it.
fn with_bit(x: &Batches<'_>) -> Result<Vec<Vec<BigUint>>> {
    if x.n >= x.shape.bits as u64 {
        return Err(x.error(0, &Fail::TooWide(x.shape.bits as u64 + 1)));
    }
    let with = |is_set: bool| {
        let rows = x.a.iter().cloned().map(move |mut row| {
            row.set_bit(x.n, is_set);
            row
        });
        rows.collect()
    };
    let low = x.a.iter().map(|row| oracle::shl(row, 0, x.n as usize)).collect();
    Ok(vec![with(true), with(false), low])
}

/// Rows of a batch, some of them several times.
fn picked(n: u64, rows: usize) -> impl Iterator<Item = usize> {
    (0..rows).map(move |row| ((n % 1009) as usize * row + row / 3) % rows)
}

/// Number of pairs of a sum of products: few, or more than one launch adds.
fn pairs_of_sum(n: u64, bits: usize) -> usize {
    let most = if bits > 2048 { 5 } else { 34 };
    [1, 2, 3, most][(n % 4) as usize]
}

/// Bounds of the numerator and of the denominator, with which fractions are unique, or too large
/// or too small ones.
fn bounds(x: &Operands<'_>) -> Result<[DynBatch; 2]> {
    let root = x.b.shr(1)?.isqrt()?;
    Ok(match x.n % 4 {
        0 => [root.wrapping_mul_all(3)?, root],
        1 => [root.shr(5)?, root.shl(4)?],
        _ => [root.try_clone()?, root],
    })
}

fn fraction(x: &Row<'_>) -> Outcome {
    let root = oracle::isqrt(&oracle::shr(x.b, 1));
    let [most, longest] = match x.n % 4 {
        0 => [oracle::shl(&(&root * 3u32), 0, x.bits), root],
        1 => [oracle::shr(&root, 5), oracle::shl(&root, 4, x.bits)],
        _ => [root.clone(), root],
    };
    let u = oracle::div_rem_masked(x.a, x.b, x.bits).1;
    let fraction = oracle::fraction(&u, x.b, [&most, &longest]).filter(|_| !x.b.is_zero());
    Ok(match fraction {
        Some((n, d, is_negative)) => vec![n, d, flag(is_negative), flag(false)],
        None => vec![BigUint::zero(), BigUint::zero(), flag(false), flag(true)],
    })
}

/// A magnitude cut to the width, its sign, and a flag of longer ones.
fn wrapped(x: &Row<'_>, value: &BigInt) -> [BigUint; 3] {
    let [magnitude, overflows] = x.cut(value.magnitude());
    let is_negative = value.sign() == Sign::Minus && !magnitude.is_zero();
    [magnitude, flag(is_negative), overflows]
}

fn signed_sums(x: &Row<'_>) -> Outcome {
    let [a, b] = signed(x);
    let sums = [oracle::signed_sum(&a, &b), oracle::signed_sum(&a, &-&b)];
    let order = oracle::signed_cmp(&a, &b);
    let orders = [(order as i8 as u8).into(), flag(order.is_lt()), flag(order.is_eq())];
    let differences = [BigUint::zero(), flag(false)];
    let sums = sums.iter().flat_map(|sum| wrapped(x, sum));
    Ok(sums.chain(parts(&-a)).chain(orders).chain(differences).collect())
}

fn signed_quotients(x: &Row<'_>) -> Outcome {
    let [a, b] = signed(x);
    if b.is_zero() {
        return Err(Fail::ZeroDivisor);
    }
    let rules = [oracle::div_rem_to_zero, oracle::div_rem_down, oracle::div_rem_euclid];
    let results = rules.iter().map(|divide| divide(&a, &b));
    Ok(results.flat_map(|(q, r)| [parts(&q), parts(&r)]).flatten().collect())
}

/// Declares a room of compositions with its reach and families: a name, the arguments, the call,
/// and the expected rows or (`all`) columns.
macro_rules! room {
    (
        $room:ident($reach:expr, $families:expr);
        $($name:literal($($arg:ident),*) = |$x:ident| $result:expr, $model:tt $of:expr;)*
    ) => {
        fn $room(all: &mut Vec<Composition>) {
            $(all.push(Composition {
                name: $name,
                args: &[$(Arg::$arg),*],
                call: |$x| {
                    let returned: Result<_> = $result;
                    returned?.columns()
                },
                reach: $reach,
                families: $families,
                model: room!(@ $model $of),
            });)*
        }
    };
    (@ row $of:expr) => { Model::Row($of) };
    (@ all $of:expr) => { Model::All($of) };
}

/// Returns every composition.
#[must_use]
pub fn compositions() -> Vec<Composition> {
    let rooms = [
        quotients,
        wide_quotients,
        residues,
        sums,
        all_sums,
        wide_sums,
        bits,
        divisors,
        fractions,
        roots,
        signs,
        signed_products,
        signed_divisions,
        wide_signs,
        trees,
        order,
        conversions,
        texts,
        joins,
    ];
    let mut all = Vec::new();
    rooms.iter().for_each(|room: &fn(&mut Vec<Composition>)| room(&mut all));
    all
}

room! { quotients(Reach::Products, EXACT);
    "div_exact"(B) = |x| x.a.div(x.b)?.wrapping_mul(x.b)?.div_exact(x.b),
        row |x| quotient(x.a, x.b).map(|(q, _)| vec![q]);
    "div_exact_into"(B, Out) = |x| {
        let mut x = x;
        x.a.div(x.b)?.wrapping_mul(x.b)?.div_exact_into(x.b, &mut x.out)?;
        Ok(x.out)
    }, row |x| quotient(x.a, x.b).map(|(q, _)| vec![q]);
    "div_exact_all"(B, Number) = |x| {
        let one = one(&x)?;
        x.a.div_all(&one)?.wrapping_mul_all(&one)?.div_exact_all(&one)
    }, all |x| match x.one() {
        one if one.is_zero() => Err(x.error(0, &Fail::ZeroDivisor)),
        one => Ok(vec![x.a.iter().map(|a| oracle::div_rem(a, &one).0).collect()]),
    };
    "shifted_inverse"(Number) = |x| x.a.shifted_inverse(x.n as usize), row inverse;
    "shifted_inverse_into"(Number, Out) = |x| {
        let mut x = x;
        x.a.shifted_inverse_into(x.n as usize, &mut x.out)?;
        Ok(x.out)
    }, row inverse;
}

room! { wide_quotients(Reach::Doubled("divisions of twice the width"), EXACT);
    "div_rem_wide"(B) = |x| {
        let (q, r) = x.a.div_rem_wide(&x.a.not()?, x.b)?;
        Ok((q.to_biguints()?, r))
    }, row |x| {
        let high = (BigUint::one() << x.bits) - 1u32 - x.a;
        quotient(&(x.a + (high << x.bits)), x.b).map(|(q, r)| vec![q, r])
    };
}

room! { residues(Reach::Narrow, DIVISIONS);
    "residues"(B, Number) = |x| {
        x.a.wrapping_add(x.b)?;
        let modulus = match x.n & 2 {
            0 => DynModulus::splat(x.a.device(), x.a.shape(), positive(&x))?,
            _ => DynModulus::of_rows(x.b)?,
        };
        let (a, b) = (DynResidues::new(x.a, &modulus)?, DynResidues::new(&x.a.not()?, &modulus)?);
        a.mul(&b)?.add(&a.square()?)?.sub(&b.neg()?)?.to_batch()
    }, row |x| {
        let modulus = if x.n & 2 == 0 { x.n.max(1).into() } else { x.b.clone() };
        let b = (BigUint::one() << x.bits) - 1u32 - x.a;
        quotient(&(x.a * &b + x.a * x.a + &b), &modulus).map(|(_, r)| vec![r])
    };
    "residues of an odd modulus"(B, Number) = |x| {
        let modulus = DynModulus::splat(x.a.device(), x.a.shape(), x.n | 1)?;
        let (a, b) = (DynResidues::new(x.a, &modulus)?, DynResidues::new(x.b, &modulus)?);
        let same = a.halve()?.double()?;
        let greater = a.select(&a.eq_mask(&same)?, &b)?;
        greater.pow(&exponents(&x)?)?.mul(&b.pow_all(5)?)?.to_batch()
    }, row |x| {
        let modulus = BigUint::from(x.n | 1);
        let power = oracle::pow_mod(x.a, &x.exponent(), &modulus);
        let other = oracle::pow_mod(x.b, &5u32.into(), &modulus);
        Ok(vec![oracle::mul_mod(&power, &other, &modulus)])
    };
    "fixed base"(B, Number) = |x| {
        let (base, modulus) = (BigUint::from(x.n % 1000), BigUint::from((x.n >> 10) | 1));
        let (device, shape) = (x.a.device(), x.a.shape());
        let base = DynFixedBase::new(device, shape, &base, &modulus, EXPONENT_BITS)?;
        x.a.wrapping_add(&base.pow(&exponents(&x)?)?)
    }, row |x| {
        let (base, modulus) = (BigUint::from(x.n % 1000), BigUint::from((x.n >> 10) | 1));
        let power = oracle::pow_mod(&base, &x.exponent(), &modulus);
        Ok(vec![oracle::add(&power, x.a, x.bits).0])
    };
}

room! { sums(Reach::Products, SUMS);
    "mul_add"(B) = |x| x.a.mul_add(x.b, x.b),
        row |x| Ok(vec![oracle::shl(&(x.a * x.b + x.b), 0, x.bits)]);
    "mul_sub"(B) = |x| x.a.mul_sub(x.b, x.a), row |x| {
        let product = oracle::mul(x.a, x.b, x.bits).0;
        Ok(vec![oracle::sub(&product, x.a, x.bits).0])
    };
    "negacyclic_mul"(B) = |x| x.a.negacyclic_mul(x.b), row |x| {
        let (product, is_minus_one) = oracle::mul_negacyclic(x.a, x.b, x.bits);
        Ok(vec![product, flag(is_minus_one)])
    };
    "wrapping_dot"(B) = |x| Ok(vec![x.a.wrapping_dot(x.b)?]), all |x| {
        let dot = x.a.iter().zip(x.b).fold(BigUint::zero(), |dot, (a, b)| dot + a * b);
        Ok(vec![vec![x.low(&dot)]])
    };
    "wrapping_polynomial"(B, Number) = |x| {
        let coefficients = [one(&x)?, 3u32.into(), (x.n >> 7).into()];
        x.a.wrapping_polynomial(&coefficients[..(x.n / 2 % 4) as usize])
    }, all |x| {
        let coefficients = [x.one(), 3u32.into(), (x.n >> 7).into()];
        let coefficients = &coefficients[..(x.n / 2 % 4) as usize];
        let value = |a: &BigUint| {
            let terms = coefficients.iter().rev();
            terms.fold(BigUint::zero(), |value, coefficient| x.low(&(value * a + coefficient)))
        };
        Ok(vec![x.a.iter().map(value).collect()])
    };
}

room! { all_sums(Reach::Linear, SUMS);
    "wrapping_sum"(Number) = |x| {
        let length = x.n as usize % (x.a.len() + 1);
        Ok(vec![x.a.slice(0..length)?.wrapping_sum()?])
    }, all |x| {
        let length = x.n as usize % (x.a.len() + 1);
        Ok(vec![vec![x.low(&x.a[..length].iter().sum())]])
    };
}

room! { wide_sums(Reach::Doubled("widening sums of products"), PRODUCTS);
    "sums of products"(B, Number) = |x| {
        let pairs = [(x.a, x.b), (x.b, x.b), (x.a, x.a)];
        let count = pairs_of_sum(x.n, x.a.shape().bits);
        let pairs: Vec<_> = pairs.into_iter().cycle().take(count).collect();
        let low = DynBatch::wrapping_sum_of_products(&pairs)?;
        let (wide, overflow) = DynBatch::widening_sum_of_products(&pairs)?;
        Ok((low, wide.to_biguints()?, overflow))
    }, row |x| {
        let products = [x.a * x.b, x.b * x.b, x.a * x.a];
        let sum: BigUint = products.iter().cycle().take(pairs_of_sum(x.n, x.bits)).sum();
        let overflows = flag(sum.bits() > 2 * x.bits as u64);
        Ok(vec![oracle::shl(&sum, 0, x.bits), oracle::shl(&sum, 0, 2 * x.bits), overflows])
    };
}

room! { bits(Reach::Linear, SUMS);
    "rotate_left"(Number) = |x| x.a.rotate_left(x.n as usize), row rotated_left;
    "rotate_left_rows"(Number) = |x| x.a.rotate_left_rows(&x.distances), row rotated_left;
    "rotate_right"(Number) = |x| {
        let right = x.a.rotate_right_rows(&x.distances)?;
        assert!(right.is_equal(&x.a.rotate_right(x.n as usize)?)?);
        right.rotate_left(x.n as usize)
    }, row same;
    "with_bit, without_bit, low_bits"(Number) = |x| {
        let bit = x.n as usize;
        Ok((x.a.with_bit(bit)?, x.a.without_bit(bit)?, x.a.low_bits(bit)?))
    }, all with_bit;
    "low_bits"(Number) = |x| x.a.low_bits(x.n as usize),
        row |x| Ok(vec![oracle::shl(x.a, 0, x.n.min(x.bits as u64) as usize)]);
    "leading_zeros"() = |x| x.a.leading_zeros(),
        row |x| Ok(vec![(x.bits as u64 - oracle::bits(x.a)).into()]);
    "select, select_into"(B, Out) = |x| {
        let mut x = x;
        let is_less = x.a.lt_mask(x.b)?;
        x.a.select_into(&is_less, x.b, &mut x.out)?;
        Ok((x.a.select(&is_less, x.b)?, x.out))
    }, row |x| Ok(vec![x.a.min(x.b).clone(), x.a.min(x.b).clone()]);
    "swap"(B) = |x| x.a.swap(&x.a.lt_mask(x.b)?, x.b),
        row |x| Ok(vec![x.a.max(x.b).clone(), x.a.min(x.b).clone()]);
}

room! { divisors(Reach::Products, EUCLID);
    "overflowing_lcm"(B) = |x| x.a.overflowing_lcm(x.b),
        row |x| Ok(x.cut(&oracle::lcm(x.a, x.b)).to_vec());
    "xgcd"(B) = |x| {
        let (gcd, by_a, by_b, is_negative) = x.a.xgcd(x.b)?;
        let pairs = x.a.to_biguints()?.into_iter().zip(x.b.to_biguints()?);
        let cofactors = by_a.to_biguints()?.into_iter().zip(by_b.to_biguints()?);
        let results = gcd.to_biguints()?.into_iter().zip(is_negative.to_bools()?);
        let are_right = pairs.zip(cofactors).zip(results).map(|(((a, b), (s, t)), (g, is))| {
            flag(oracle::are_cofactors(&a, &b, &g, &s, &t, is))
        });
        let are_right: Vec<_> = are_right.collect();
        Ok((gcd, are_right))
    }, row |x| Ok(vec![oracle::gcd(x.a, x.b), flag(true)]);
    "xgcd_signed"(B) = |x| {
        let (gcd, by_a, by_b) = x.a.xgcd_signed(x.b)?;
        let pairs = x.a.to_biguints()?.into_iter().zip(x.b.to_biguints()?);
        let cofactors = by_a.to_bigints()?.into_iter().zip(by_b.to_bigints()?);
        // The cofactors are those of `xgcd`.
        let sums = pairs.zip(cofactors).map(|((a, b), (s, t))| {
            let products =
                [(a, s), (b, t)].map(|(a, s)| oracle::signed_product(&BigInt::from(a), &s));
            oracle::signed_sum(&products[0], &products[1]).to_biguint().unwrap_or_default()
        });
        let sums: Vec<_> = sums.collect();
        Ok((gcd, sums))
    }, row |x| Ok(vec![oracle::gcd(x.a, x.b); 2]);
    "inverse_mod_all"(B, Number) = |x| x.a.inverse_mod_all(&one(&x)?), all |x| {
        let inverses: Vec<_> = x.a.iter().map(|a| oracle::inverse_mod(a, &x.one())).collect();
        let without = inverses.iter().map(|inverse| flag(inverse.is_none())).collect();
        Ok(vec![inverses.into_iter().map(Option::unwrap_or_default).collect(), without])
    };
}

room! { fractions(Reach::Products, FRACTIONS);
    "rational_reconstruction"(B, Number) = |x| {
        let [numerators, denominators] = bounds(&x)?;
        let (n, d, is_negative, without) =
            x.a.rational_reconstruction(x.b, &numerators, &denominators)?;
        Ok(((n, d), (is_negative, without)))
    }, row fraction;
}

room! { roots(Reach::Narrow, ROOTS);
    "nth_root_rem"(Number) = |x| x.a.nth_root_rem((x.n % 99) as usize + 1), row |x| {
        let root = oracle::nth_root(x.a, x.n % 99 + 1);
        let remainder = x.a - root.pow((x.n % 99) as u32 + 1);
        Ok(vec![root, remainder])
    };
    "perfect_powers"() = |x| {
        let a = x.a.shr(x.a.shape().bits - 90)?;
        Ok((a.perfect_powers()?, a.is_perfect_power()?))
    }, row |x| {
        let (base, exponent) = oracle::perfect_power(&oracle::shr(x.a, x.bits - 90));
        Ok(vec![base, exponent.into(), flag(exponent != 1)])
    };
    "overflowing_pow"(Number) = |x| {
        let (powers, overflowed) = x.a.overflowing_pow((x.n % 9) as usize)?;
        assert!(powers.is_equal(&x.a.wrapping_pow((x.n % 9) as usize)?)?);
        Ok((powers, overflowed))
    }, row |x| Ok(x.cut(&x.a.pow((x.n % 9) as u32)).to_vec());
    "is_probable_prime"() = |x| x.a.is_probable_prime(), row |x| {
        let is_prime = primes::is_strong(x.a, &2u32.into()) && primes::is_strong_lucas(x.a);
        Ok(vec![flag(is_prime)])
    };
    "is_strong_probable_prime_rows"(B) = |x| x.a.is_strong_probable_prime_rows(x.b),
        row |x| Ok(vec![flag(primes::is_strong(x.a, x.b))]);
    "is_square"() = |x| x.a.is_square(), row |x| {
        let root = oracle::isqrt(x.a);
        Ok(vec![flag(&root * &root == *x.a)])
    };
}

room! { signs(Reach::Linear, SUMS);
    "signed sums"(B) = |x| {
        let [a, b] = signed_operands(&x)?;
        let parts = |(rows, overflow): (DynSignedBatch, _)| (rows.into_parts(), overflow);
        let sums = (parts(a.overflowing_add(&b)?), parts(a.overflowing_sub(&b)?));
        let orders = (a.cmp(&b)?, a.lt_mask(&b)?, a.eq_mask(&b)?);
        let none = a.overflowing_sub(&a)?.0.into_parts();
        Ok((sums, (a.neg()?.into_parts(), orders, none)))
    }, row signed_sums;
}

room! { signed_products(Reach::Products, SUMS);
    "signed products"(B) = |x| {
        let [a, b] = signed_operands(&x)?;
        let (product, overflow) = a.overflowing_mul(&b)?;
        Ok((product.into_parts(), overflow))
    }, row |x| {
        let [a, b] = signed(x);
        Ok(wrapped(x, &oracle::signed_product(&a, &b)).to_vec())
    };
}

room! { signed_divisions(Reach::Products, DIVISIONS);
    "signed divisions"(B) = |x| {
        let [a, b] = signed_operands(&x)?;
        let parts = |(q, r): (DynSignedBatch, DynSignedBatch)| (q.into_parts(), r.into_parts());
        let truncated = parts(a.div_rem(&b)?);
        Ok((truncated, parts(a.div_rem_floor(&b)?), parts(a.div_rem_euclid(&b)?)))
    }, row signed_quotients;
}

room! { wide_signs(Reach::Doubled("widening products"), SUMS);
    "signed widening_mul"(B) = |x| {
        let [a, b] = signed_operands(&x)?;
        let (magnitude, negative) = a.widening_mul(&b)?.into_parts();
        Ok((magnitude.to_biguints()?, negative))
    }, row |x| {
        let [a, b] = signed(x);
        Ok(parts(&oracle::signed_product(&a, &b)).to_vec())
    };
}

room! { trees(Reach::Narrow, EUCLID);
    "product tree"(Number) = |x| {
        let tree = DynProductTree::new(&leaves(&x)?)?;
        Ok((tree.remainders(x.n)?, vec![tree.root()]))
    }, all |x| {
        let (leaves, root) = x.positive_leaves()?;
        let rests = leaves.iter().map(|leaf| oracle::div_rem(&x.n.into(), leaf).1).collect();
        Ok(vec![rests, vec![root]])
    };
    "batch_gcd"() = |x| leaves(&x)?.batch_gcd(), all |x| {
        let (leaves, root) = x.positive_leaves()?;
        let others = |leaf| oracle::div_rem(&root, leaf).0;
        Ok(vec![leaves.iter().map(|leaf| oracle::gcd(leaf, &others(leaf))).collect()])
    };
    "crt"() = |x| {
        let crt = DynCrt::new(&leaves(&x)?)?;
        crt.combine(&crt.residues(x.a)?)?.to_biguints()
    }, all |x| {
        let (leaves, root) = x.positive_leaves()?;
        match leaves {
            [] => Err(Error::LengthMismatch { left: 0, right: 1 }),
            [a, b] if !oracle::gcd(a, b).is_one() => Err(Error::CommonDivisor { row: 0 }),
            _ => Ok(vec![x.a.iter().map(|a| oracle::div_rem(a, &root).1).collect()]),
        }
    };
}

room! { order(Reach::Linear, SUMS);
    "sort"() = |x| x.a.sort(), all |x| Ok(vec![x.sorted()]);
    "unique"() = |x| x.a.unique(), all |x| {
        let mut rows = x.sorted();
        rows.dedup();
        Ok(vec![rows])
    };
    "reverse"() = |x| x.a.reverse(), all |x| Ok(vec![x.a.iter().rev().cloned().collect()]);
    "sort_indices, gather, scatter_into"() = |x| {
        let order = x.a.sort_indices()?;
        let sorted = x.a.gather(&order)?;
        let mut again = x.a.not()?;
        sorted.scatter_into(&order, &mut again)?;
        let order: Vec<_> = order.into_iter().map(|row| row as u64).collect();
        Ok((order, (sorted, again)))
    }, all |x| {
        let order = x.order().into_iter().map(BigUint::from).collect();
        Ok(vec![order, x.sorted(), x.a.to_vec()])
    };
    "gather, gather_into"(Number) = |x| {
        let rows: Vec<usize> = picked(x.n, x.a.len()).collect();
        let mut out = x.a.not()?;
        x.a.gather_into(&rows, &mut out)?;
        Ok((x.a.gather(&rows)?, out))
    }, all |x| {
        let rows: Vec<_> = picked(x.n, x.a.len()).map(|row| x.a[row].clone()).collect();
        Ok(vec![rows.clone(), rows])
    };
    "slice, concat"() = |x| {
        let middle = x.a.len() / 2;
        let halves = [x.a.slice(middle..x.a.len())?, x.a.slice(0..middle)?];
        DynBatch::concat(&[&halves[0], &halves[1]])
    }, all |x| {
        let (first, second) = x.a.split_at(x.a.len() / 2);
        Ok(vec![[second, first].concat()])
    };
    "filter"(B) = |x| x.a.filter(&x.a.lt_mask(x.b)?), all |x| {
        let rows = x.a.iter().zip(x.b).filter(|(a, b)| a < b);
        Ok(vec![rows.map(|(a, _)| a.clone()).collect()])
    };
}

room! { conversions(Reach::Linear, SUMS);
    "try_clone"() = |x| x.a.try_clone(), row same;
    "le_bytes"() = |x| DynBatch::from_le_bytes(x.a.device(), x.a.shape(), &x.a.to_le_bytes()?),
        row same;
    "be_bytes"() = |x| DynBatch::from_be_bytes(x.a.device(), x.a.shape(), &x.a.to_be_bytes()?),
        row same;
    "row"() = |x| {
        let rows = x.a.len();
        assert_eq!(x.a.row(rows).unwrap_err(), Error::NoSuchRow { row: rows, rows });
        (0..rows).map(|row| x.a.row(row)).collect::<Result<Vec<_>>>()
    }, row same;
    "zeros"() = |x| DynBatch::zeros(x.a.device(), x.a.shape(), x.a.len()),
        row |_| Ok(vec![BigUint::zero()]);
}

room! { texts(Reach::Narrow, SUMS);
    "decimal, hex"() = |x| {
        let (decimal, hex) = (x.a.to_decimal()?, x.a.to_hex()?);
        let [decimal, hex] =
            [&decimal, &hex].map(|rows| rows.iter().map(String::as_str).collect::<Vec<_>>());
        let (device, shape) = (x.a.device(), x.a.shape());
        let decimal = DynBatch::from_decimal(device, shape, &decimal)?;
        Ok((decimal, DynBatch::from_hex(device, shape, &hex)?))
    }, row |x| Ok(vec![x.a.clone(), x.a.clone()]);
}

room! { joins(Reach::Doubled("joins of rows"), SUMS);
    "join, split"(B) = |x| {
        let (low, high) = x.a.join(x.b)?.split()?;
        Ok((low.resized(x.a.shape())?, high.resized(x.a.shape())?))
    }, row |x| Ok(vec![x.a.clone(), x.b.clone()]);
}
