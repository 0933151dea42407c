//! Exponents that are longer and shorter than the rows.

use std::time::{Duration, Instant};

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Device, DynBatch, DynDivisor, DynFixedBase, DynModulus, DynResidues, Error,
    Result, Shape, narrowest,
};
use num_traits::{One, Zero};

use crate::modular::{power_of, power_products};
use crate::setting::{Check, Part, Rows, Setting, Tally, is_thorough, on_every_backend, seed};
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

struct Exponents;

impl Check for Exponents {
    const NAME: &str = "exponents of any length";
    const WIDEST: bool = false;

    fn takes(shape: Shape, backend: BackendKind) -> bool {
        // The shim takes seconds for a power of 1024 bits.
        let is_slow = backend == BackendKind::Simt && !is_thorough();
        shape.bits <= if is_slow { 512 } else { 4096 }
    }

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(RAISED, shape);
        setting.each_part(shape, DIVISIONS, count, tally, |part| {
            let mut part = part.divisible();
            part.rows[0].b.set_bit(0, part.turn % 2 == 0);
            part.rows[0].b.set_bit(1, true);
            raise(&part, &DynDivisor::of_rows(&part.b()?)?)?;
            // One divisor for all rows: even, odd or 1.
            let one = [&part.rows[0].b, &BigUint::one()][part.turn / 2 % 2].clone();
            part.set_b(&one);
            raise(&part, &DynDivisor::splat(part.device, shape, &one)?)?;
            prepared(&part)
        });
    }
}

/// Compares powers modulo the divisors of the rows.
fn raise(part: &Part<'_>, divisor: &DynDivisor) -> Result<()> {
    let (a, device, bits) = (part.a()?, part.device, part.shape.bits);
    let exponents = exponents(bits, &part.rows);
    let powers = a.pow_mod_rows(&exponents, divisor)?;
    part.each_with("pow_mod_rows", powers, &exponents, power_of)?;
    let wide = narrowest(3 * bits).expect("the width is built");
    let e = DynBatch::from_biguints(device, wide, &exponents)?;
    part.each_with("pow_mod", a.pow_mod(&e, divisor)?, &exponents, power_of)?;

    // Short exponents in wide rows and in narrow ones.
    let short: Vec<_> = exponents.iter().map(|e| e & ones(bits.min(250))).collect();
    for other in [wide, narrowest(250).expect("the width is built")] {
        let e = DynBatch::from_biguints(device, other, &short)?;
        part.each_with("pow_mod", a.pow_mod(&e, divisor)?, &short, power_of)?;
    }

    let one = &exponents[seed() as usize % part.rows.len().min(3)];
    part.each("pow_mod_all", a.pow_mod_all(one, divisor)?, |row| power_of(row, one))?;
    for count in [0, 1, 2 * bits + 7] {
        let squares = a.square_mod_repeatedly(count, divisor)?;
        part.each("square_mod_repeatedly", squares, |row| power_of(row, &power(count)))?;
    }

    let (left, right) = (part.rows.len(), part.rows.len() - 1);
    let error = Some(Error::LengthMismatch { left, right });
    part.expect("pow_mod_rows", a.pow_mod_rows(&exponents[1..], divisor).err(), error);
    Ok(())
}

/// Compares products of powers, powers of residues and of a fixed base, modulo one number.
fn prepared(part: &Part<'_>) -> Result<()> {
    let (shape, device, v) = (part.shape, part.device, &part.rows[0].b);
    let (divisor, modulus) =
        (DynDivisor::splat(device, shape, v)?, DynModulus::splat(device, shape, v)?);
    let exponents = exponents(shape.bits, &part.rows);
    let a = part.a()?;
    let residues = DynResidues::new(&a, &modulus)?;
    part.each_with("pow_rows", residues.pow_rows(&exponents)?, &exponents, power_of)?;
    let exponent = power(shape.bits + 1);
    let squares = residues.square_repeatedly(shape.bits + 1)?;
    part.each("square_repeatedly", squares, |row| power_of(row, &exponent))?;
    part.each("pow_all", residues.pow_all(&exponent)?, |row| power_of(row, &exponent))?;

    for bases in [1, 3] {
        let count = part.rows.len() / bases * bases;
        let (rows, exponents) = (&part.rows[..count], &exponents[..count]);
        let a = a.slice(0..count)?;
        let expected = power_products(rows, exponents, bases);
        let products = a.pow_product_mod_rows(exponents, bases, &divisor)?;
        part.compare("pow_product_mod_rows", products, &expected)?;
        let wide = narrowest(3 * shape.bits).expect("the width is built");
        let e = DynBatch::from_biguints(device, wide, exponents)?;
        part.compare("pow_product_mod", a.pow_product_mod(&e, bases, &divisor)?, &expected)?;
    }

    // A table that is longer than the rows, where it is short enough for a test.
    let base = &part.rows[0].a;
    let exponent_bits = shape.bits + 40;
    if shape.bits <= 256 {
        let fixed = DynFixedBase::new(device, shape, base, v, exponent_bits)?;
        let exponents: Vec<_> = exponents.iter().map(|e| e & ones(exponent_bits)).collect();
        let expected: Vec<_> = exponents.iter().map(|e| oracle::pow_mod(base, e, v)).collect();
        part.compare("fixed base", fixed.pow_rows(&exponents)?, &expected)?;
        let wide = narrowest(exponent_bits).expect("the width is built");
        let e = DynBatch::from_biguints(device, wide, &exponents)?;
        part.compare("fixed base", fixed.pow(&e)?, &expected)?;
        let error = fixed.pow_rows(&[BigUint::one(), power(exponent_bits)]).err();
        let bits = exponent_bits as u64 + 1;
        let too_wide = Error::TooWide { row: 1, bits, width: exponent_bits };
        part.expect("fixed base", error, Some(too_wide));
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
