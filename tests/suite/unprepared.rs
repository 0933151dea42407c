//! Operations by divisors with kept reciprocals, at shapes without kernels that prepare them.

use gpuint::Shape;
use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, DynBatch, DynDivisor, DynModulus, DynResidues, Error, Op, Result, algorithms,
};
use num_traits::{One, Zero};

use crate::modular::{add, power_of};
use crate::setting::{Check, Part, Setting, Tally, doubled, no_double, on_every_backend, times};
use gpuint_testkit::operands::{DIVISIONS, Row, ones, rows};
use gpuint_testkit::oracle;

struct Unprepared;

impl Check for Unprepared {
    const NAME: &str = "divisors with kept reciprocals";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let is_prepared = algorithms(Op::Prepare, shape).next().is_some();
        // The shim takes a second for each division of the widest rows.
        let is_slow = setting.backend == BackendKind::Simt;
        let count = if is_slow { 1 } else { (3.0 * times()).ceil() as usize };
        for (turn, device) in setting.devices().iter().enumerate().take(if is_slow { 1 } else { 2 })
        {
            let list = turn * count..(turn + 1) * count;
            let rows = rows(2, DIVISIONS, shape.into(), list);
            Part::run(shape, device, turn, rows, tally, |part| {
                if is_prepared {
                    let three = DynBatch::splat(device, shape, 3, 1)?;
                    part.expect("rem_all", three.rem_all(2)?.row(0)?, BigUint::one());
                    return Ok(());
                }
                let mut part = part.divisible();
                modulo(&part, &DynDivisor::of_rows(&part.b()?)?)?;
                let zero = part.batch(&[BigUint::one(), BigUint::zero()])?;
                let error = Some(Error::DivisionByZero { row: 1 });
                part.expect("of_rows", DynDivisor::of_rows(&zero).err(), error);
                let (divisors, mask) = zero.prepare_masked()?;
                let quotient = zero.not()?.div_by(&divisors)?.to_biguints()?;
                part.expect("prepare_masked", mask.to_bools()?, vec![false, true]);
                part.expect("div_by", quotient, vec![ones(shape.bits) - 1u32, ones(shape.bits)]);
                // One divisor, and one that is shifted far.
                for one in [part.rows[0].b.clone(), 7u32.into()] {
                    part.set_b(&one);
                    modulo(&part, &DynDivisor::splat(device, shape, &one)?)?;
                }
                if !is_slow {
                    let numbers = [3u32, 5].map(BigUint::from);
                    let modulus = ones(shape.bits) - 1u32;
                    let of = |number| oracle::inverse_mod(number, &modulus).unwrap_or_default();
                    let expected: Vec<_> = numbers.iter().map(of).collect();
                    let (inverses, _) = part.batch(&numbers)?.inverse_mod_all(&modulus)?;
                    part.expect("inverse_mod_all", inverses.to_biguints()?, expected);
                }
                inverses(&part)
            });
        }
    }
}

/// Returns true if the shim takes seconds for each product and division of rows of twice the width.
fn is_long_on_shim(part: &Part<'_>) -> bool {
    let is_long = doubled(part.shape).is_some_and(Shape::is_long);
    is_long && part.device.backend() == BackendKind::Simt
}

/// Compares sums, products and powers modulo divisors, and residues.
fn modulo(part: &Part<'_>, divisor: &DynDivisor) -> Result<()> {
    let (device, shape, rows) = (part.device, part.shape, &part.rows);
    let other: Vec<BigUint> = rows.iter().map(|row| ones(shape.bits) ^ &row.a).collect();
    add(part, &other, divisor)?;
    let (a, b) = (part.a()?, part.batch(&other)?);
    let product = |row: &Row, b: &BigUint| oracle::mul_mod(&row.a, b, &row.b);
    part.each_with("mul_mod", a.mul_mod(&b, divisor)?, &other, product)?;
    if is_long_on_shim(part) {
        return Ok(());
    }
    part.each("square_mod", a.square_mod(divisor)?, |row| product(row, &row.a))?;
    let exponents: Vec<BigUint> = (0..rows.len()).map(|row| (5 * row % 7).into()).collect();
    let e = part.batch(&exponents)?;
    part.each_with("pow_mod", a.pow_mod(&e, divisor)?, &exponents, power_of)?;
    part.each("pow_mod_all", a.pow_mod_all(3, divisor)?, |row| power_of(row, &3u32.into()))?;

    // Residues that are not in Montgomery's form.
    if divisor.rows().is_none() {
        let modulus = DynModulus::splat(device, shape, &rows[0].b)?;
        let residue = DynResidues::new(&a, &modulus)?.mul(&DynResidues::new(&b, &modulus)?)?;
        part.each_with("residues", residue, &other, product)?;
    }
    Ok(())
}

/// Compares shifted inverses on both sides of the width.
fn inverses(part: &Part<'_>) -> Result<()> {
    let shape = part.shape;
    // As long as the width, so that all inverses fit.
    let long = |row: &Row| &row.a | BigUint::one() << (shape.bits - 1);
    let v = part.column(long)?;
    let digits = shape.digits();
    for h in [digits / 2, digits - 1, digits, digits + 3, 2 * digits - 1] {
        if h > digits && is_long_on_shim(part) {
            continue;
        }
        if h > digits && doubled(shape).is_none() {
            let missing = no_double(shape, "shifted inverses beyond the width");
            part.expect("shifted_inverse", v.shifted_inverse(h).err(), Some(missing));
            continue;
        }
        part.each("shifted_inverse", v.shifted_inverse(h)?, |row| {
            oracle::inverse(&long(row), h * shape.digit.bits())
        })?;
    }
    let small = part.batch(&[BigUint::from(5u32), BigUint::zero()])?;
    let error = Some(Error::DivisionByZero { row: 1 });
    part.expect("shifted_inverse", small.shifted_inverse(1).err(), error);
    if shape.bits < 1 << 20 {
        let bits = (2 * shape.bits - shape.digit.bits() - 2) as u64;
        let error = Some(Error::TooWide { row: 0, bits, width: shape.bits });
        part.expect("shifted_inverse", small.shifted_inverse(2 * digits - 1).err(), error);
    }
    Ok(())
}

on_every_backend! { unprepared: Unprepared, }
