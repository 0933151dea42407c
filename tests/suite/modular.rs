//! Prepared divisors: division by them, and products, squares and powers modulo them; and division
//! by one digit.
//!
//! Divisors are those of the divisions, dividends and factors of any length: below the divisor,
//! equal to it, longer.

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Device, DigitKind, DynBatch, DynDivisor, Error, Op, Product, Result, Shape,
    Strategy, algorithms,
};
use num_traits::{One, ToPrimitive, Zero};

use crate::setting::{
    Check, Context, Rows, Setting, Tally, first, is_thorough, on_every_backend, second, seed,
};
use gpuint_testkit::operands::{DIVISIONS, PRODUCTS, Row, ones, power, rows};
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

const DIVIDED: Rows = Rows { threads: 60_000, least: 21 };
const MULTIPLIED: Rows = Rows { threads: 50_000, least: 15 };
/// A power takes as long as hundreds of products.
const RAISED: Rows = Rows { threads: 2_000, least: 5 };

/// Rows whose divisors of 0 are 1.
pub(crate) fn divisible(mut rows: Vec<Row>) -> Vec<Row> {
    for row in rows.iter_mut().filter(|row| row.b.is_zero()) {
        row.b = BigUint::one();
    }
    rows
}

/// Memory that held other values.
fn dirty(shape: Shape, device: &Device, rows: &[Row]) -> Result<DynBatch> {
    DynBatch::splat(device, shape, &ones(shape.bits), rows.len())
}

/// Returns the distinct algorithms of an operation on a device. The CPU has one. The shim takes
/// long for wide rows, except by transforms.
fn strategies(device: &Device, op: Op, shape: Shape) -> Vec<Strategy> {
    match device.backend() {
        BackendKind::Cpu => vec![Strategy::Auto],
        BackendKind::Simt if shape.bits > 16384 => {
            let by_fft = algorithms(op, shape).filter(|by| by.product() == Some(Product::Fft));
            [Strategy::Auto].into_iter().chain(by_fft.map(Strategy::from)).collect()
        }
        _ => algorithms(op, shape).map(Strategy::from).collect(),
    }
}

struct Divisions;

impl Check for Divisions {
    const NAME: &str = "div_rem_by";
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(DIVIDED, shape);
        for (part, device, rows) in setting.parts(shape, DIVISIONS, count) {
            let mut rows = divisible(rows);
            let what = Context::new(shape, "div_rem_by", device);
            tally.attempt(&what, rows.len(), |tally| {
                let v = DynBatch::from_biguints(device, shape, &second(&rows))?;
                let by = strategies(device, Op::DivRemBy, shape);
                for prepared_by in strategies(device, Op::Prepare, shape) {
                    let divisor = v.using(prepared_by).prepare()?;
                    divide_by(shape, &what, &rows, &divisor, &by, tally)?;
                }
                Ok(())
            });
            // One of the divisors, for all rows.
            let one = rows[part * 7 % rows.len()].b.clone();
            for row in &mut rows {
                row.b.clone_from(&one);
            }
            let what = Context::new(shape, "div_rem_by one divisor", device);
            tally.attempt(&what, rows.len(), |tally| {
                let by = strategies(device, Op::DivRemBy, shape);
                let v = DynDivisor::splat(device, shape, &one)?;
                divide_by(shape, &what, &rows, &v, &by, tally)
            });
        }
    }
}

/// Divides rows by prepared divisors, by each strategy.
pub(crate) fn divide_by(
    shape: Shape,
    what: &Context<'_>,
    rows: &[Row],
    divisor: &DynDivisor,
    strategies: &[Strategy],
    tally: &mut Tally,
) -> Result<()> {
    let device = divisor.device();
    let u = DynBatch::from_biguints(device, shape, &first(rows))?;
    let (mut q, mut r) = (dirty(shape, device, rows)?, dirty(shape, device, rows)?);
    for &by in strategies {
        u.using(by).div_rem_by_into(divisor, &mut q, &mut r)?;
        let results = q.to_biguints()?.into_iter().zip(r.to_biguints()?);
        for (row, got) in rows.iter().zip(results) {
            let expected = oracle::div_rem(&row.a, &row.b);
            let right = got == expected && oracle::is_division(&row.a, &row.b, &got.0, &got.1);
            tally.row(right, || {
                let row = what.row(row);
                format!("{row}, by {by:?}\n  q, r {got:x?}\n  expected {expected:x?}")
            });
        }
    }
    Ok(())
}

/// A factor of a different kind for each row: as long as the width, below the divisor, or just
/// below it.
fn factors(shape: Shape, rows: &[Row]) -> Vec<BigUint> {
    let factor = |row: &Row| {
        let drawn = || {
            let list = self::rows(seed(), PRODUCTS, shape.into(), [row.index]);
            list[0].a.clone()
        };
        match row.index % 7 {
            0..3 => drawn(),
            3 | 4 => oracle::div_rem(&drawn(), &row.b).1,
            5 => &row.b - 1u32,
            _ => row.b.clone(),
        }
    };
    rows.iter().map(factor).collect()
}

/// The first factor: in every third row it is below the divisor, in some as far as possible.
fn reduce(rows: &mut [Row]) {
    for row in rows {
        match row.index % 9 {
            0 | 1 => row.a = oracle::div_rem(&row.a, &row.b).1,
            2 => row.a = &row.b - 1u32,
            3 => row.a = oracle::div_rem(&row.b, &BigUint::from(2u32)).0,
            _ => {}
        }
    }
}

/// Checks of rows and second operands modulo some divisors.
type Modulo = fn(Shape, &[Row], &[BigUint], &DynDivisor, &mut Tally) -> Result<()>;

/// Runs checks modulo a divisor for each row, and modulo one for all rows; an ordinary run does one
/// of the two for each part of wide rows on the shim.
fn by_each_and_by_one(
    shape: Shape,
    setting: &Setting,
    name: &str,
    checks: Modulo,
    tally: &mut Tally,
) {
    let count = setting.count(MULTIPLIED, shape);
    // Wide divisors are slow to prepare.
    let is_slow = setting.backend == BackendKind::Simt && !is_thorough();
    let is_shared = is_slow && shape.bits > 16384;
    let turn = shape.bits.ilog2() as usize;
    for (part, device, rows) in setting.parts(shape, DIVISIONS, count) {
        let is_even = (turn + part).is_multiple_of(2);
        let mut rows = divisible(rows);
        reduce(&mut rows);
        let others = factors(shape, &rows);
        if is_even || !is_shared {
            let what = Context::new(shape, name, device);
            tally.attempt(&what, rows.len(), |tally| {
                let v = DynBatch::from_biguints(device, shape, &second(&rows))?;
                checks(shape, &rows, &others, &DynDivisor::of_rows(&v)?, tally)
            });
        }
        if is_even && is_shared {
            continue;
        }
        let one = rows[part * 7 % rows.len()].b.clone();
        for row in &mut rows {
            row.b.clone_from(&one);
        }
        let name = format!("{name}, one divisor");
        let what = Context::new(shape, &name, device);
        tally.attempt(&what, rows.len(), |tally| {
            checks(shape, &rows, &others, &DynDivisor::splat(device, shape, &one)?, tally)
        });
    }
}

struct Sums;

impl Check for Sums {
    const NAME: &str = "add_mod, sub_mod, neg_mod";
    const WIDEST: bool = false;
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        by_each_and_by_one(shape, setting, "add_mod", add, tally);
    }
}

fn add(
    shape: Shape,
    rows: &[Row],
    summands: &[BigUint],
    divisor: &DynDivisor,
    tally: &mut Tally,
) -> Result<()> {
    let device = divisor.device();
    let a = DynBatch::from_biguints(device, shape, &first(rows))?;
    let b = DynBatch::from_biguints(device, shape, summands)?;
    let mut out = dirty(shape, device, rows)?;
    let mut check = |name, out: &DynBatch, of: fn(&Row, &BigUint) -> BigUint| {
        let expected: Vec<_> = rows.iter().zip(summands).map(|(row, b)| of(row, b)).collect();
        let what = Context::new(shape, name, device);
        tally.values(&what, rows, &out.to_biguints()?, &expected);
        Ok(())
    };
    a.add_mod_into(&b, divisor, &mut out)?;
    check("add_mod", &out, |row, b| oracle::add_mod(&row.a, b, &row.b))?;
    a.sub_mod_into(&b, divisor, &mut out)?;
    check("sub_mod", &out, |row, b| oracle::sub_mod(&row.a, b, &row.b))?;
    a.neg_mod_into(divisor, &mut out)?;
    check("neg_mod", &out, |row, _| oracle::sub_mod(&BigUint::zero(), &row.a, &row.b))?;
    check("add_mod to itself", &a.add_mod(&a, divisor)?, |row, _| {
        oracle::add_mod(&row.a, &row.a, &row.b)
    })
}

struct Products;

impl Check for Products {
    const NAME: &str = "mul_mod, square_mod";
    const WIDEST: bool = false;
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        by_each_and_by_one(shape, setting, "mul_mod", multiply, tally);
    }
}

fn multiply(
    shape: Shape,
    rows: &[Row],
    factors: &[BigUint],
    divisor: &DynDivisor,
    tally: &mut Tally,
) -> Result<()> {
    let device = divisor.device();
    let a = DynBatch::from_biguints(device, shape, &first(rows))?;
    let b = DynBatch::from_biguints(device, shape, factors)?;
    let mut out = dirty(shape, device, rows)?;

    let expected: Vec<_> =
        rows.iter().zip(factors).map(|(row, b)| oracle::mul_mod(&row.a, b, &row.b)).collect();
    for by in strategies(device, Op::MulMod, shape) {
        let name = format!("mul_mod by {by:?}");
        let what = Context::new(shape, &name, device);
        a.using(by).mul_mod_into(&b, divisor, &mut out)?;
        tally.values(&what, rows, &out.to_biguints()?, &expected);
    }

    let expected: Vec<_> = rows.iter().map(|row| oracle::mul_mod(&row.a, &row.a, &row.b)).collect();
    for by in strategies(device, Op::SquareMod, shape) {
        let name = format!("square_mod by {by:?}");
        let what = Context::new(shape, &name, device);
        a.using(by).square_mod_into(divisor, &mut out)?;
        tally.values(&what, rows, &out.to_biguints()?, &expected);
    }
    Ok(())
}

/// Exponents: 0, 1, lengths on both sides of each change of the window, all ones, and the whole
/// width if that does not take too long.
fn exponents(device: &Device, shape: Shape, rows: &[Row]) -> Vec<BigUint> {
    let is_slow = device.backend() == BackendKind::Simt && !is_thorough();
    let longest = match shape.bits {
        // Rows of u64 digits take all lengths of windows.
        513..=4096 if is_slow && shape.digit != DigitKind::U64 => 150,
        513..=1536 if is_slow => 400,
        0..=1536 => shape.bits,
        1537..=4096 => 400,
        4097..=16384 => 100,
        16385..=65536 => 7,
        _ => 3,
    };
    let lengths = [1, 2, 15, 16, 47, 48, 139, 140, 393, 394, longest, longest];
    let exponent = |row: &Row| {
        let mut random = Random::new(seed() ^ row.index as u64);
        let bits = lengths[random.below(lengths.len())].min(longest);
        match row.index % 8 {
            0 => BigUint::from(row.index % 3),
            1 => ones(bits),
            2 => power(bits - 1),
            3 => power(bits - 1) + 1u32,
            _ => random.bits(bits),
        }
    };
    rows.iter().map(exponent).collect()
}

struct Powers;

impl Check for Powers {
    const NAME: &str = "pow_mod";
    const WIDEST: bool = false;
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(RAISED, shape);
        for (part, device, rows) in setting.parts(shape, DIVISIONS, count) {
            let mut rows = divisible(rows);
            reduce(&mut rows);
            let exponents = exponents(device, shape, &rows);
            let what = Context::new(shape, "pow_mod", device);
            tally.attempt(&what, rows.len(), |tally| {
                let v = DynBatch::from_biguints(device, shape, &second(&rows))?;
                let (a, e) = (
                    DynBatch::from_biguints(device, shape, &first(&rows))?,
                    DynBatch::from_biguints(device, shape, &exponents)?,
                );
                let mut out = dirty(shape, device, &rows)?;
                let expected = powers(&rows, &exponents);
                for by in strategies(device, Op::PowMod, shape) {
                    // If the algorithm does not prepare divisors, classical products do.
                    let divisor = v.using(by).prepare()?;
                    a.using(by).pow_mod_into(&e, &divisor, &mut out)?;
                    tally.values(&what, &rows, &out.to_biguints()?, &expected);
                }

                // One exponent for all of them.
                let one = vec![exponents[part % rows.len()].clone(); rows.len()];
                a.pow_mod_all_into(&one[0], &DynDivisor::of_rows(&v)?, &mut out)?;
                tally.values(&what, &rows, &out.to_biguints()?, &powers(&rows, &one));
                // And one divisor for all rows.
                for row in &mut rows {
                    row.b.clone_from(&factors(shape, std::slice::from_ref(row))[0]);
                    row.b.set_bit(0, true);
                }
                let divisor = rows[part % rows.len()].b.clone();
                for row in &mut rows {
                    row.b.clone_from(&divisor);
                }
                let divisor = DynDivisor::splat(device, shape, &divisor)?;
                a.pow_mod_into(&e, &divisor, &mut out)?;
                tally.values(&what, &rows, &out.to_biguints()?, &powers(&rows, &exponents));
                a.pow_mod_all_into(&one[0], &divisor, &mut out)?;
                tally.values(&what, &rows, &out.to_biguints()?, &powers(&rows, &one));
                Ok(())
            });
        }
    }
}

fn powers(rows: &[Row], exponents: &[BigUint]) -> Vec<BigUint> {
    rows.iter().zip(exponents).map(|(row, e)| oracle::pow_mod(&row.a, e, &row.b)).collect()
}

struct PowerProducts;

impl Check for PowerProducts {
    const NAME: &str = "pow_product_mod";
    const WIDEST: bool = false;
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(RAISED, shape);
        for (part, device, mut rows) in setting.parts(shape, DIVISIONS, count) {
            let bases = [2, 1, 5, 3][part % 4].min(rows.len());
            let groups = rows.len() / bases;
            rows.truncate(groups * bases);
            rows = divisible(rows);
            let mut exponents = exponents(device, shape, &rows);
            // All exponents of a group are 0.
            exponents[..bases].fill(BigUint::zero());
            let name = format!("pow_product_mod of {bases} bases");
            let what = Context::new(shape, &name, device);
            tally.attempt(&what, rows.len(), |tally| {
                let batch = |values: &[BigUint]| DynBatch::from_biguints(device, shape, values);
                let (a, e) = (batch(&first(&rows))?, batch(&exponents)?);
                let v = batch(&second(&rows[..groups]))?;
                let mut out = dirty(shape, device, &rows[..groups])?;
                let expected = power_products(&rows, &exponents, bases);
                let strategies = strategies(device, Op::PowProductMod, shape);
                for by in strategies.into_iter().chain([Strategy::Auto]) {
                    let divisor = v.using(by).prepare()?;
                    a.using(by).pow_product_mod_into(&e, bases, &divisor, &mut out)?;
                    tally.values(&what, &rows[..groups], &out.to_biguints()?, &expected);
                }
                // One divisor for all rows.
                let divisor = rows[part % groups].b.clone();
                for row in &mut rows {
                    row.b.clone_from(&divisor);
                }
                let divisor = DynDivisor::splat(device, shape, &divisor)?;
                let products = a.pow_product_mod(&e, bases, &divisor)?;
                let expected = power_products(&rows, &exponents, bases);
                tally.values(&what, &rows[..groups], &products.to_biguints()?, &expected);
                Ok(())
            });
        }
    }
}

/// The products of the powers of each group of rows, modulo the divisors of the first rows.
fn power_products(rows: &[Row], exponents: &[BigUint], bases: usize) -> Vec<BigUint> {
    let groups = rows.chunks(bases).zip(exponents.chunks(bases));
    let product = |((group, exponents), Row { b: v, .. }): ((&[Row], &[BigUint]), &Row)| {
        let one = oracle::pow_mod(v, &BigUint::zero(), v);
        group.iter().zip(exponents).fold(one, |product, (row, e)| {
            oracle::mul_mod(&product, &oracle::pow_mod(&row.a, e, v), v)
        })
    };
    groups.zip(rows).map(product).collect()
}

struct Digits;

impl Check for Digits {
    const NAME: &str = "div_rem_digit";
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(DIVIDED, shape).div_ceil(4) | 1;
        for (part, device, rows) in setting.parts(shape, DIVISIONS, count) {
            let mut random = Random::new(seed() ^ part as u64);
            let largest = ones(shape.digit.bits()).to_u64().unwrap_or(u64::MAX);
            let half = largest / 2;
            let any = random.word() >> (64 - shape.digit.bits()) | 1;
            for digit in [1, 2, 3, 10, half, half + 1, half + 2, largest - 1, largest, any] {
                let what = Context::new(shape, "div_rem_digit", device);
                tally.attempt(&what, rows.len(), |tally| {
                    by_digit(shape, &what, device, &rows, digit, tally)
                });
            }
        }
    }
}

fn by_digit(
    shape: Shape,
    what: &Context<'_>,
    device: &Device,
    rows: &[Row],
    digit: u64,
    tally: &mut Tally,
) -> Result<()> {
    let divisor = digit;
    let u = DynBatch::from_biguints(device, shape, &first(rows))?;
    let mut q = dirty(shape, device, rows)?;
    let mut r = vec![divisor; rows.len()];
    u.div_rem_digit_into(divisor, &mut q, &mut r)?;
    let alone = u.rem_digit(divisor)?;
    let q = q.to_biguints()?;
    for (index, row) in rows.iter().enumerate() {
        let v = BigUint::from(digit);
        let got_r = BigUint::from(r[index].to_u64().unwrap_or_default());
        let right = oracle::is_division(&row.a, &v, &q[index], &got_r) && alone[index] == r[index];
        tally.row(right, || {
            format!("{}\n  by {digit:#x}: q {:#x}, r {got_r:#x}", what.row(row), q[index])
        });
    }
    Ok(())
}

struct Errors;

impl Check for Errors {
    const NAME: &str = "divisors that are none";
    const WIDEST: bool = false;
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for device in setting.devices() {
            let what = Context::new(shape, "divisors that are none", device);
            tally.attempt(&what, 1, |tally| errors(shape, device, &what, tally));
        }
    }
}

fn errors(shape: Shape, device: &Device, what: &Context<'_>, tally: &mut Tally) -> Result<()> {
    let mut expect = |call: &str, got: Option<Error>, expected: Error| {
        let right = got.as_ref() == Some(&expected);
        tally.row(right, || format!("{what}: {call}: {got:?}, expected {expected:?}"));
    };
    let count = 7;
    for zeros in [&[0][..], &[6], &[3, 5], &[2, 1]] {
        let value = |row| if zeros.contains(&row) { BigUint::zero() } else { power(row) };
        let v = DynBatch::from_biguints(device, shape, &(0..count).map(value).collect::<Vec<_>>())?;
        let row = zeros.iter().min().copied().unwrap_or_default();
        for by in strategies(device, Op::Prepare, shape) {
            let divisor = v.using(by).prepare();
            expect("prepare", divisor.err(), Error::DivisionByZero { row });
        }
    }
    let zero = Error::DivisionByZero { row: 0 };
    let splat = DynDivisor::splat(device, shape, &BigUint::zero());
    expect("Divisor::splat", splat.err(), zero.clone());
    let wide = Error::TooWide { row: 0, bits: shape.bits as u64 + 1, width: shape.bits };
    expect("Divisor::splat", DynDivisor::splat(device, shape, &power(shape.bits)).err(), wide);
    let a = DynBatch::splat(device, shape, &power(5), count)?;
    let one = DynDivisor::splat(device, shape, &BigUint::one())?;
    for (bases, right) in [(0, 0), (2, 6), (8, 0), (usize::MAX, 0)] {
        let wrong = Error::LengthMismatch { left: count, right };
        expect("pow_product_mod", a.pow_product_mod(&a, bases, &one).err(), wrong);
    }
    expect("div_rem_digit", a.div_rem_digit(0).err(), zero.clone());
    expect("rem_digit", a.rem_digit(0).err(), zero);

    // Modulo 1 everything is 0, even the power 0; modulo other divisors the power 0 is 1.
    let none = DynBatch::zeros(device, shape, count)?;
    for (modulus, expected) in [(BigUint::one(), BigUint::zero()), (power(70), BigUint::one())] {
        let divisor = DynDivisor::splat(device, shape, &modulus)?;
        for result in [a.pow_mod(&none, &divisor)?, none.pow_mod(&none, &divisor)?] {
            let right = result.to_biguints()? == vec![expected.clone(); count];
            tally.row(right, || format!("{what}: the power 0 modulo {modulus}"));
        }
    }
    Ok(())
}

on_every_backend! {
    divisions: Divisions,
    sums: Sums,
    products: Products,
    powers: Powers,
    power_products: PowerProducts,
    digits: Digits,
    errors: Errors,
}
