//! Whole shifted inverses, for exponents that give results of every length and that fail.

use std::collections::BTreeSet;

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Device, DynBatch, Error, Product, Result, Shape, Strategy};
use num_traits::{One, Zero};

use crate::setting::{
    Check, Context, Part, Rows, Setting, Tally, is_thorough, on_every_backend, seed,
};
use gpuint_testkit::operands::{INVERSES, Row, ones, power, rows};
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

/// Number of rows for all exponents together.
const ROWS: Rows = Rows { threads: 100_000, least: 60 };

/// Exponents whose inverses some divisor keeps in range: all of them if there are few digits.
fn exponents(shape: Shape) -> BTreeSet<usize> {
    if shape.digits() <= 32 {
        return (0..2 * shape.digits()).collect();
    }
    let half = shape.digits() / 2;
    let mut exponents: BTreeSet<usize> =
        [0, 1, 2, 3, half - 1, half, shape.digits() - 1, shape.digits(), shape.digits() + 1].into();
    exponents.extend([shape.digits() + half, 2 * shape.digits() - 2, 2 * shape.digits() - 1]);
    let mut random = Random::new(seed());
    exponents.extend((0..8).map(|_| random.below(2 * shape.digits())));
    exponents
}

/// Expected inverse of one row alone.
fn single(shape: Shape, v: &BigUint, h: usize) -> Result<BigUint, Error> {
    if v.is_zero() {
        return Err(Error::DivisionByZero { row: 0 });
    }
    let inverse = oracle::inverse(v, h * shape.digit.bits());
    match inverse.bits() {
        bits if bits > shape.bits as u64 => Err(Error::TooWide { row: 0, bits, width: shape.bits }),
        _ => Ok(inverse),
    }
}

fn at_row(error: &Error, row: usize) -> Error {
    match *error {
        Error::TooWide { bits, width, .. } => Error::TooWide { row, bits, width },
        _ => Error::DivisionByZero { row },
    }
}

struct Structured;

impl Check for Structured {
    const NAME: &str = "shifted_inverse";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let exponents = exponents(shape);
        // Wide rows are slow. The algorithms take turns at the exponents of the widest.
        let is_wide = setting.backend != BackendKind::Cpu && shape.bits > 65536;
        let least = if is_wide && !is_thorough() { 1 } else { 3 };
        let count = setting.count(ROWS, shape).div_ceil(exponents.len()).max(least);
        for (turn, &h) in exponents.iter().enumerate() {
            let device = &setting.devices()[turn % setting.devices().len()];
            let list = (0..count).map(|row| turn * count + row);
            let mut rows = rows(seed(), INVERSES, shape.into(), list);
            for row in &mut rows {
                // Divisors whose inverses are too wide are increased.
                let missing =
                    (h * shape.digit.bits() + 1).saturating_sub(shape.bits + row.a.bits() as usize);
                row.a <<= missing.min(shape.bits - row.a.bits() as usize);
            }
            let results: Vec<_> = rows.iter().map(|row| single(shape, &row.a, h)).collect();
            let good: Vec<Row> = rows
                .iter()
                .zip(&results)
                .filter(|pair| pair.1.is_ok())
                .map(|pair| pair.0.clone())
                .collect();
            let expected: Vec<_> = results.iter().flatten().cloned().collect();
            let is_cpu = setting.backend == BackendKind::Cpu;
            let by = |product| Strategy::Product(product);
            for (by, is_in_turn) in [
                (by(Product::Classical), !is_wide || turn % 4 == 3 || is_thorough()),
                (by(Product::Karatsuba), !is_cpu && turn % 4 == 2),
                (by(Product::TensorCore), !is_cpu && shape.bits >= 16384 && turn % 4 == 1),
                (Strategy::Auto, !is_cpu && turn % 4 == 0),
            ] {
                if is_in_turn {
                    Part::run(shape, device, turn, good.clone(), tally, |part| {
                        inverses(&part, by, h, &expected)
                    });
                }
            }
            // One exponent for each device checks failures of wide rows.
            if shape.bits <= 8192 || turn % 5 == 3 || is_thorough() {
                failures(shape, device, h, &good, tally);
            }
        }
    }
}

fn inverses(part: &Part<'_>, by: Strategy, h: usize, expected: &[BigUint]) -> Result<()> {
    let name = format!("shifted_inverse({h}) by {by:?}");
    let numerator = power(h * part.shape.digit.bits());
    let mut out = part.old()?;
    part.a()?.using(by).shifted_inverse_into(h, &mut out)?;
    part.compare(&name, &out, expected)?;
    for (row, w) in part.rows.iter().zip(out.to_biguints()?) {
        let product = w * &row.a;
        let right = product <= numerator && numerator < product + &row.a;
        part.row(right, || format!("{}\n  by definition", part.what(&name).row(row)));
    }
    Ok(())
}

/// Rows without an inverse among the others: the error names the lowest of them.
fn failures(shape: Shape, device: &Device, h: usize, good: &[Row], tally: &mut Tally) {
    let what = format!("shifted_inverse({h}) where it fails");
    let what = Context::new(shape, &what, device);
    let bad =
        [BigUint::zero(), BigUint::one(), power(shape.digit.bits()), power(shape.bits / 2) + 1u32];
    let bad: Vec<_> =
        bad.iter().filter_map(|v| Some((v.clone(), single(shape, v, h).err()?))).collect();
    for (index, (v, error)) in bad.iter().enumerate() {
        tally.attempt(&what, 1, |tally| {
            let mut values: Vec<_> =
                good.iter().take(2 * index + 1).map(|row| row.a.clone()).collect();
            let row = values.len();
            values.push(v.clone());
            values.extend(bad.iter().map(|(v, _)| v.clone()));
            let got = DynBatch::from_biguints(device, shape, &values)?.shifted_inverse(h).err();
            let expected = Some(at_row(error, row));
            tally.row(got == expected, || format!("{what}: {got:?}, expected {expected:?}"));
            Ok(())
        });
    }
}

struct Impossible;

impl Check for Impossible {
    const NAME: &str = "shifted_inverse beyond the width";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for device in setting.devices() {
            let what = Context::new(shape, "shifted_inverse", device);
            tally.attempt(&what, 1, |tally| {
                let v = DynBatch::splat(device, shape, &ones(shape.bits), 3)?;
                for h in [2 * shape.digits(), 2 * shape.digits() + 1, usize::MAX / 64, usize::MAX] {
                    let error = v.shifted_inverse(h).err();
                    let width = shape.bits;
                    let right = matches!(error,
                        Some(Error::TooWide { row: 0, width: limit, .. }) if limit == width);
                    tally.row(right, || format!("{what}: h = {h}: {error:?}"));
                }
                let none = DynBatch::zeros(device, shape, 0)?;
                tally.row(none.shifted_inverse(usize::MAX).is_ok(), || format!("{what}: no rows"));
                Ok(())
            });
        }
    }
}

on_every_backend! { structured: Structured, impossible: Impossible, }
