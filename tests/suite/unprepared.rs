//! Operations by divisors with kept reciprocals, at shapes without kernels that prepare them.

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Device, DynBatch, DynDivisor, DynModulus, DynResidues, Error, Op, Result, Shape,
    algorithms,
};
use num_traits::{One, Zero};

use crate::rows::expect;
use crate::setting::{
    Check, Context, Setting, Tally, doubled, first, no_double, on_every_backend, second, times,
};
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
            let mut rows = rows(2, DIVISIONS, shape.into(), list);
            rows.iter_mut().filter(|row| row.b.is_zero()).for_each(|row| row.b = BigUint::one());
            let what = Context::new(shape, "divisors with kept reciprocals", device);
            tally.attempt(&what, rows.len(), |tally| {
                if is_prepared {
                    let three = DynBatch::splat(device, shape, &BigUint::from(3u32), 1)?;
                    expect(
                        tally,
                        &what,
                        three.rem_all(&BigUint::from(2u32))?.row(0)?,
                        BigUint::one(),
                    );
                    return Ok(());
                }
                let v = DynBatch::from_biguints(device, shape, &second(&rows))?;
                modulo(shape, &what, &rows, &DynDivisor::of_rows(&v)?, tally)?;
                let zero =
                    DynBatch::from_biguints(device, shape, &[BigUint::one(), BigUint::zero()])?;
                let error = DynDivisor::of_rows(&zero).err();
                expect(tally, &what, error, Some(Error::DivisionByZero { row: 1 }));
                let (divisors, mask) = zero.prepare_masked()?;
                let quotient = zero.not()?.div_by(&divisors)?.to_biguints()?;
                expect(tally, &what, mask.to_bools()?, vec![false, true]);
                expect(tally, &what, quotient, vec![ones(shape.bits) - 1u32, ones(shape.bits)]);
                let one = rows[0].b.clone();
                rows.iter_mut().for_each(|row| row.b.clone_from(&one));
                modulo(shape, &what, &rows, &DynDivisor::splat(device, shape, &one)?, tally)?;
                // A divisor that is shifted far.
                let short = BigUint::from(7u32);
                rows.iter_mut().for_each(|row| row.b.clone_from(&short));
                modulo(shape, &what, &rows, &DynDivisor::splat(device, shape, &short)?, tally)?;
                if !is_slow {
                    let numbers = [3u32, 5].map(BigUint::from);
                    let modulus = ones(shape.bits) - 1u32;
                    let of = |number| oracle::inverse_mod(number, &modulus).unwrap_or_default();
                    let expected: Vec<_> = numbers.iter().map(of).collect();
                    let a = DynBatch::from_biguints(device, shape, &numbers)?;
                    let (inverses, _) = a.inverse_mod_all(&modulus)?;
                    expect(tally, &what, inverses.to_biguints()?, expected);
                }
                inverses(shape, &what, device, &rows, tally)
            });
        }
    }
}

/// Compares sums, products and powers modulo divisors, and residues.
fn modulo(
    shape: Shape,
    what: &Context<'_>,
    rows: &[Row],
    divisor: &DynDivisor,
    tally: &mut Tally,
) -> Result<()> {
    let device = divisor.device();
    let a = DynBatch::from_biguints(device, shape, &first(rows))?;
    let other: Vec<BigUint> = rows.iter().map(|row| ones(shape.bits) ^ &row.a).collect();
    let b = DynBatch::from_biguints(device, shape, &other)?;
    let of = |result: fn(&Row, &BigUint) -> BigUint| -> Vec<BigUint> {
        rows.iter().zip(&other).map(|(row, b)| result(row, b)).collect()
    };
    let sums = of(|row, b| oracle::add_mod(&row.a, b, &row.b));
    tally.values(what, rows, &a.add_mod(&b, divisor)?.to_biguints()?, &sums);
    let differences = of(|row, b| oracle::sub_mod(&row.a, b, &row.b));
    tally.values(what, rows, &a.sub_mod(&b, divisor)?.to_biguints()?, &differences);
    let negatives = of(|row, _| oracle::sub_mod(&BigUint::zero(), &row.a, &row.b));
    tally.values(what, rows, &a.neg_mod(divisor)?.to_biguints()?, &negatives);

    let products = of(|row, b| oracle::mul_mod(&row.a, b, &row.b));
    tally.values(what, rows, &a.mul_mod(&b, divisor)?.to_biguints()?, &products);
    // The shim takes seconds for each product and division of long rows.
    let is_long = doubled(shape).is_some_and(Shape::is_long);
    if is_long && device.backend() == BackendKind::Simt {
        return Ok(());
    }
    let squares = of(|row, _| oracle::mul_mod(&row.a, &row.a, &row.b));
    tally.values(what, rows, &a.square_mod(divisor)?.to_biguints()?, &squares);
    let exponents: Vec<BigUint> = (0..rows.len()).map(|row| (5 * row % 7).into()).collect();
    let e = DynBatch::from_biguints(device, shape, &exponents)?;
    let powers: Vec<BigUint> =
        rows.iter().zip(&exponents).map(|(row, e)| oracle::pow_mod(&row.a, e, &row.b)).collect();
    tally.values(what, rows, &a.pow_mod(&e, divisor)?.to_biguints()?, &powers);
    let cubes = of(|row, _| oracle::pow_mod(&row.a, &BigUint::from(3u32), &row.b));
    let cube = a.pow_mod_all(&BigUint::from(3u32), divisor)?;
    tally.values(what, rows, &cube.to_biguints()?, &cubes);

    // Residues that are not in Montgomery's form.
    if divisor.rows().is_none() {
        let modulus = DynModulus::splat(device, shape, &rows[0].b)?;
        let residue = DynResidues::new(&a, &modulus)?;
        let product = residue.mul(&DynResidues::new(&b, &modulus)?)?;
        tally.values(what, rows, &product.to_batch()?.to_biguints()?, &products);
    }
    Ok(())
}

/// Compares shifted inverses on both sides of the width.
fn inverses(
    shape: Shape,
    what: &Context<'_>,
    device: &Device,
    rows: &[Row],
    tally: &mut Tally,
) -> Result<()> {
    // As long as the width, so that all inverses fit.
    let long: Vec<BigUint> =
        rows.iter().map(|row| &row.a | BigUint::one() << (shape.bits - 1)).collect();
    let v = DynBatch::from_biguints(device, shape, &long)?;
    let digits = shape.digits();
    for h in [digits / 2, digits - 1, digits, digits + 3, 2 * digits - 1] {
        // The shim takes seconds for each division of long rows.
        let is_long = doubled(shape).is_some_and(Shape::is_long);
        if h > digits && is_long && device.backend() == BackendKind::Simt {
            continue;
        }
        if h > digits && doubled(shape).is_none() {
            let missing = no_double(shape, "shifted inverses beyond the width");
            expect(tally, what, v.shifted_inverse(h).err(), Some(missing));
            continue;
        }
        let expected: Vec<BigUint> =
            long.iter().map(|v| oracle::inverse(v, h * shape.digit.bits())).collect();
        tally.values(what, rows, &v.shifted_inverse(h)?.to_biguints()?, &expected);
    }
    let small = [BigUint::from(5u32), BigUint::zero()];
    let small = DynBatch::from_biguints(device, shape, &small)?;
    let error = small.shifted_inverse(1).err();
    expect(tally, what, error, Some(Error::DivisionByZero { row: 1 }));
    if shape.bits < 1 << 20 {
        let bits = (2 * shape.bits - shape.digit.bits() - 2) as u64;
        let error = Some(Error::TooWide { row: 0, bits, width: shape.bits });
        expect(tally, what, small.shifted_inverse(2 * digits - 1).err(), error);
    }
    Ok(())
}

on_every_backend! { unprepared: Unprepared, }
