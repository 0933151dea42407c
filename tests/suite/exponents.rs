//! Exponents that are longer and shorter than the rows.

use std::time::{Duration, Instant};

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Device, DynBatch, DynDivisor, DynFixedBase, DynModulus, DynResidues, Error,
    Result, Shape, narrowest,
};
use num_traits::{One, Zero};

use crate::modular::divisible;
use crate::rows::expect;
use crate::setting::{
    Check, Context, Rows, Setting, Tally, first, is_thorough, on_every_backend, second, seed,
};
use gpuint_testkit::operands::{DIVISIONS, Row, ones, power};
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

const RAISED: Rows = Rows { threads: 500, least: 7 };

/// An exponent of a different length for each row, up to three times the width.
fn exponents(bits: usize, rows: &[Row]) -> Vec<BigUint> {
    let mut random = Random::new(seed());
    let mut exponent = |row: &Row| match row.index % 7 {
        0 => random.bits(3 * bits - 5),
        1 => BigUint::zero(),
        2 => power(2 * bits),
        3 => random.bits(17),
        4 => ones(bits + 1),
        5 => random.bits(bits + 40),
        _ => ones(bits),
    };
    rows.iter().map(&mut exponent).collect()
}

fn powers(rows: &[Row], exponents: &[BigUint]) -> Vec<BigUint> {
    rows.iter().zip(exponents).map(|(row, e)| oracle::pow_mod(&row.a, e, &row.b)).collect()
}

struct Exponents;

impl Check for Exponents {
    const NAME: &str = "exponents of any length";
    const WIDEST: bool = false;
    const EVERY_SHAPE: bool = false;

    fn takes(shape: Shape, backend: BackendKind) -> bool {
        // The shim takes seconds for a power of 1024 bits.
        let is_slow = backend == BackendKind::Simt && !is_thorough();
        shape.bits <= if is_slow { 512 } else { 4096 }
    }

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(RAISED, shape);
        for (part, device, rows) in setting.parts(shape, DIVISIONS, count) {
            let mut rows = divisible(rows);
            rows[0].b.set_bit(0, part % 2 == 0);
            rows[0].b.set_bit(1, true);
            let what = Context::new(shape, "exponents of any length", device);
            tally.attempt(&what, rows.len(), |tally| {
                let v = DynBatch::from_biguints(device, shape, &second(&rows))?;
                raise(shape, &what, &rows, &DynDivisor::of_rows(&v)?, tally)?;
                // One divisor for all rows: even, odd or 1.
                let one = [&rows[0].b, &BigUint::one()][part / 2 % 2].clone();
                rows.iter_mut().for_each(|row| row.b.clone_from(&one));
                raise(shape, &what, &rows, &DynDivisor::splat(device, shape, &one)?, tally)?;
                prepared(shape, &what, device, &rows, tally)
            });
        }
    }
}

/// Compares powers modulo the divisors of the rows.
fn raise(
    shape: Shape,
    what: &Context<'_>,
    rows: &[Row],
    divisor: &DynDivisor,
    tally: &mut Tally,
) -> Result<()> {
    let (device, bits) = (divisor.device(), shape.bits);
    let exponents = exponents(bits, rows);
    let expected = powers(rows, &exponents);
    let a = DynBatch::from_biguints(device, shape, &first(rows))?;
    let results = a.pow_mod_rows(&exponents, divisor)?;
    tally.values(what, rows, &results.to_biguints()?, &expected);
    let wide = narrowest(3 * bits).expect("the width is built");
    let e = DynBatch::from_biguints(device, wide, &exponents)?;
    tally.values(what, rows, &a.pow_mod(&e, divisor)?.to_biguints()?, &expected);

    // Short exponents in wide rows and in narrow ones.
    let short: Vec<_> = exponents.iter().map(|e| e & ones(bits.min(250))).collect();
    let expected = powers(rows, &short);
    let narrow = narrowest(250).expect("the width is built");
    for other in [wide, narrow] {
        let e = DynBatch::from_biguints(device, other, &short)?;
        tally.values(what, rows, &a.pow_mod(&e, divisor)?.to_biguints()?, &expected);
    }

    let one = &exponents[seed() as usize % rows.len().min(3)];
    let expected = powers(rows, &vec![one.clone(); rows.len()]);
    tally.values(what, rows, &a.pow_mod_all(one, divisor)?.to_biguints()?, &expected);

    for count in [0, 1, 2 * bits + 7] {
        let squares = a.square_mod_repeatedly(count, divisor)?;
        let expected = powers(rows, &vec![power(count); rows.len()]);
        tally.values(what, rows, &squares.to_biguints()?, &expected);
    }

    let count = rows.len();
    let error = Some(Error::LengthMismatch { left: count, right: count - 1 });
    expect(tally, what, a.pow_mod_rows(&exponents[1..], divisor).err(), error);
    Ok(())
}

/// Compares products of powers, powers of residues and of a fixed base, modulo one number.
fn prepared(
    shape: Shape,
    what: &Context<'_>,
    device: &Device,
    rows: &[Row],
    tally: &mut Tally,
) -> Result<()> {
    let v = &rows[0].b;
    let (divisor, modulus) =
        (DynDivisor::splat(device, shape, v)?, DynModulus::splat(device, shape, v)?);
    let exponents = exponents(shape.bits, rows);
    let expected = powers(rows, &exponents);
    let a = DynBatch::from_biguints(device, shape, &first(rows))?;
    let residues = DynResidues::new(&a, &modulus)?;
    let results = residues.pow_rows(&exponents)?.to_batch()?;
    tally.values(what, rows, &results.to_biguints()?, &expected);
    let squares = residues.square_repeatedly(shape.bits + 1)?.to_batch()?;
    let power_all = residues.pow_all(&power(shape.bits + 1))?.to_batch()?;
    expect(tally, what, squares.is_equal(&power_all)?, true);
    tally.values(
        what,
        rows,
        &squares.to_biguints()?,
        &powers(rows, &vec![power(shape.bits + 1); rows.len()]),
    );

    for bases in [1, 3] {
        let groups = rows.len() / bases;
        let (rows, exponents) = (&rows[..groups * bases], &exponents[..groups * bases]);
        let a = a.slice(0..rows.len())?;
        let products = a.pow_product_mod_rows(exponents, bases, &divisor)?;
        let expected: Vec<_> = expected[..rows.len()]
            .chunks(bases)
            .map(|group| {
                let one = oracle::pow_mod(v, &BigUint::zero(), v);
                group.iter().fold(one, |product, power| oracle::mul_mod(&product, power, v))
            })
            .collect();
        tally.values(what, &rows[..groups], &products.to_biguints()?, &expected);
        let wide = narrowest(3 * shape.bits).expect("the width is built");
        let e = DynBatch::from_biguints(device, wide, exponents)?;
        let products = a.pow_product_mod(&e, bases, &divisor)?;
        tally.values(what, &rows[..groups], &products.to_biguints()?, &expected);
    }

    // A table that is longer than the rows, where it is short enough for a test.
    let base = &rows[0].a;
    let exponent_bits = shape.bits + 40;
    if shape.bits <= 256 {
        let fixed = DynFixedBase::new(device, shape, base, v, exponent_bits)?;
        let exponents: Vec<_> = exponents.iter().map(|e| e & ones(exponent_bits)).collect();
        let expected: Vec<_> = exponents.iter().map(|e| oracle::pow_mod(base, e, v)).collect();
        let results = fixed.pow_rows(&exponents)?;
        tally.values(what, rows, &results.to_biguints()?, &expected);
        let wide = narrowest(exponent_bits).expect("the width is built");
        let e = DynBatch::from_biguints(device, wide, &exponents)?;
        tally.values(what, rows, &fixed.pow(&e)?.to_biguints()?, &expected);
        let error = fixed.pow_rows(&[BigUint::one(), power(exponent_bits)]).err();
        let bits = exponent_bits as u64 + 1;
        let too_wide = Error::TooWide { row: 1, bits, width: exponent_bits };
        expect(tally, what, error, Some(too_wide));
    }
    Ok(())
}

#[test]
fn exponent_of_a_million_bits_is_that_of_its_row_alone() -> Result<()> {
    let device = Device::cpu();
    let shape = narrowest(256).expect("the width is built");
    let v = BigUint::from(1_000_003u32); // a prime
    let divisor = DynDivisor::splat(&device, shape, &v)?;
    let long = ones((1 << 20) + 5);
    let rows = 50_000;
    let mut exponents = vec![BigUint::from(65537u32); rows];
    exponents[rows / 2].clone_from(&long);
    let a = DynBatch::splat(&device, shape, 3, rows)?;
    let start = Instant::now();
    let powers = a.pow_mod_rows(&exponents, &divisor)?;
    // In step with the longest exponent, the rows would take 5e10 squares.
    assert!(start.elapsed() < Duration::from_secs(120));
    let three = BigUint::from(3u32);
    let by_fermat = &long % (&v - 1u32);
    assert_eq!(powers.row(rows / 2)?, oracle::pow_mod(&three, &by_fermat, &v));
    assert_eq!(powers.row(rows - 1)?, oracle::pow_mod(&three, &exponents[0], &v));
    assert_eq!(a.slice(0..1)?.pow_mod_all(&long, &divisor)?.row(0)?, powers.row(rows / 2)?);
    // One row for each divisor.
    let divisors = DynDivisor::of_rows(&DynBatch::splat(&device, shape, &v, rows)?)?;
    assert!(a.pow_mod_rows(&exponents, &divisors)?.is_equal(&powers)?);
    Ok(())
}

on_every_backend! { any_length: Exponents, }
