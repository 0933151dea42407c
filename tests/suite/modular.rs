//! Prepared divisors: powers modulo them, and errors.
//!
//! Divisors are those of the divisions, bases of any length: below the divisor, equal to it,
//! longer.

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Device, DigitKind, DynBatch, DynDivisor, Error, Op, Product, Result, Shape,
    Strategy, algorithms,
};
use num_traits::{One, Zero};

use crate::setting::{Check, Part, Rows, Setting, Tally, is_thorough, on_every_backend, seed};
use gpuint_testkit::operands::{DIVISIONS, PRODUCTS, Row, ones, power, rows};
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

/// A power takes as long as hundreds of products.
const RAISED: Rows = Rows { threads: 2_000, least: 5 };

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

pub(crate) fn add(part: &Part<'_>, summands: &[BigUint], divisor: &DynDivisor) -> Result<()> {
    let (a, b, mut out) = (part.a()?, part.batch(summands)?, part.old()?);
    a.add_mod_into(&b, divisor, &mut out)?;
    part.each_with("add_mod", &out, summands, |row, b| oracle::add_mod(&row.a, b, &row.b))?;
    a.sub_mod_into(&b, divisor, &mut out)?;
    part.each_with("sub_mod", &out, summands, |row, b| oracle::sub_mod(&row.a, b, &row.b))?;
    a.neg_mod_into(divisor, &mut out)?;
    part.each("neg_mod", &out, |row| oracle::sub_mod(&BigUint::zero(), &row.a, &row.b))?;
    part.each("add_mod to itself", a.add_mod(&a, divisor)?, |row| {
        oracle::add_mod(&row.a, &row.a, &row.b)
    })
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

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(RAISED, shape);
        setting.each_part(shape, DIVISIONS, count, tally, |part| {
            let (device, mut part) = (part.device, part.divisible());
            reduce(&mut part.rows);
            let exponents = exponents(device, shape, &part.rows);
            let (v, a, e, mut out) = (part.b()?, part.a()?, part.batch(&exponents)?, part.old()?);
            for by in strategies(device, Op::PowMod, shape) {
                // If the algorithm does not prepare divisors, classical products do.
                let divisor = v.using(by).prepare()?;
                a.using(by).pow_mod_into(&e, &divisor, &mut out)?;
                part.each_with("pow_mod", &out, &exponents, power_of)?;
            }
            // One exponent for all of them.
            let one = &exponents[part.turn % exponents.len()];
            a.pow_mod_all_into(one, &DynDivisor::of_rows(&v)?, &mut out)?;
            part.each("pow_mod_all", &out, |row| power_of(row, one))?;
            // And one divisor for all rows.
            let mut divisor = factors(shape, &part.rows)[part.turn % exponents.len()].clone();
            divisor.set_bit(0, true);
            part.set_b(&divisor);
            let divisor = DynDivisor::splat(device, shape, &divisor)?;
            a.pow_mod_into(&e, &divisor, &mut out)?;
            part.each_with("pow_mod", &out, &exponents, power_of)?;
            a.pow_mod_all_into(one, &divisor, &mut out)?;
            part.each("pow_mod_all", &out, |row| power_of(row, one))
        });
    }
}

/// The power of a row, modulo its divisor.
pub(crate) fn power_of(row: &Row, exponent: &BigUint) -> BigUint {
    oracle::pow_mod(&row.a, exponent, &row.b)
}

struct PowerProducts;

impl Check for PowerProducts {
    const NAME: &str = "pow_product_mod";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(RAISED, shape);
        setting.each_part(shape, DIVISIONS, count, tally, |part| {
            let (device, mut part) = (part.device, part.divisible());
            let bases = [2, 1, 5, 3][part.turn % 4].min(part.rows.len());
            let groups = part.rows.len() / bases;
            part.rows.truncate(groups * bases);
            let mut exponents = exponents(device, shape, &part.rows);
            // All exponents of a group are 0.
            exponents[..bases].fill(BigUint::zero());
            let name = format!("pow_product_mod of {bases} bases");
            let (a, e) = (part.a()?, part.batch(&exponents)?);
            let v = part.b()?.slice(0..groups)?;
            let mut out = part.old()?.slice(0..groups)?;
            let expected = power_products(&part.rows, &exponents, bases);
            let strategies = strategies(device, Op::PowProductMod, shape);
            for by in strategies.into_iter().chain([Strategy::Auto]) {
                let divisor = v.using(by).prepare()?;
                a.using(by).pow_product_mod_into(&e, bases, &divisor, &mut out)?;
                part.compare(&name, &out, &expected)?;
            }
            // One divisor for all rows.
            let divisor = part.rows[part.turn % groups].b.clone();
            part.set_b(&divisor);
            let divisor = DynDivisor::splat(device, shape, &divisor)?;
            let products = a.pow_product_mod(&e, bases, &divisor)?;
            part.compare(&name, products, &power_products(&part.rows, &exponents, bases))
        });
    }
}

/// The products of the powers of each group of rows, modulo the divisors of the first rows.
pub(crate) fn power_products(rows: &[Row], exponents: &[BigUint], bases: usize) -> Vec<BigUint> {
    let groups = rows.chunks(bases).zip(exponents.chunks(bases));
    let product = |((group, exponents), Row { b: v, .. }): ((&[Row], &[BigUint]), &Row)| {
        let one = oracle::pow_mod(v, &BigUint::zero(), v);
        group.iter().zip(exponents).fold(one, |product, (row, e)| {
            oracle::mul_mod(&product, &oracle::pow_mod(&row.a, e, v), v)
        })
    };
    groups.zip(rows).map(product).collect()
}

struct Errors;

impl Check for Errors {
    const NAME: &str = "divisors that are none";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for device in setting.devices() {
            Part::run(shape, device, 0, vec![], tally, |part| errors(&part, setting.devices()));
        }
    }
}

fn errors(part: &Part<'_>, devices: &[Device]) -> Result<()> {
    let (device, shape) = (part.device, part.shape);
    let expect = |call: &str, got: Option<Error>, error| part.expect(call, got, Some(error));
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
            part.expect("the power 0", result.to_biguints()?, vec![expected.clone(); count]);
        }
    }
    for other in devices.iter().filter(|other| *other != device) {
        let divisor = DynDivisor::splat(other, shape, &BigUint::one())?;
        expect("div_by", a.div_by(&divisor).err(), Error::DeviceMismatch);
    }
    Ok(())
}

on_every_backend! {
    powers: Powers,
    power_products: PowerProducts,
    errors: Errors,
}
