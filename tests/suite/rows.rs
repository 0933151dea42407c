//! Parts of batches, joins, selections and changes of width.

use std::fmt::Debug;

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Device, DigitKind, DynBatch, Error, Mask, Result, Shape, shapes};

use crate::setting::{
    Check, Context, Rows, Setting, Tally, doubled, first, no_double, on_every_backend, second, seed,
};
use gpuint_testkit::operands::{Row, SUMS, ones};
use gpuint_testkit::random::Random;

const ROWS: Rows = Rows { threads: 30_000, least: 26 };

/// A second device.
fn elsewhere(device: &Device) -> Device {
    if device.backend() == BackendKind::Cpu { Device::simt() } else { Device::cpu() }
}

/// Counts a result that is not one value a row.
#[expect(clippy::needless_pass_by_value, reason = "the values are made for the comparison")]
pub(crate) fn expect<V: PartialEq + Debug>(
    tally: &mut Tally,
    what: &Context<'_>,
    got: V,
    expected: V,
) {
    tally.row(got == expected, || format!("{what}: {got:x?}, expected {expected:x?}"));
}

struct Parts;

impl Check for Parts {
    const NAME: &str = "rows by number, range and mask";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (part, device, rows) in setting.parts(shape, SUMS, count) {
            let what = Context::new(shape, "rows", device);
            tally.attempt(&what, rows.len(), |tally| {
                let mut random = Random::new(seed() ^ part as u64);
                ranges(shape, device, &rows, tally)?;
                numbers(shape, device, &rows, &mut random, tally)?;
                masks(shape, device, &rows, &mut random, tally)
            });
        }
    }
}

fn ranges(shape: Shape, device: &Device, rows: &[Row], tally: &mut Tally) -> Result<()> {
    let what = |name| Context::new(shape, name, device);
    let values = first(rows);
    let n = values.len();
    let a = DynBatch::from_biguints(device, shape, &values)?;
    for range in [0..0, 0..n, n / 3..n, 0..n / 2, n - 1..n, n..n] {
        let got = a.slice(range.clone())?.to_biguints()?;
        expect(tally, &what("slice"), got, values[range].to_vec());
    }
    #[expect(clippy::reversed_empty_ranges, reason = "it is an empty one here")]
    expect(tally, &what("slice"), a.slice(1..0)?.len(), 0);
    let error = a.slice(0..n + 1).err();
    expect(tally, &what("slice"), error, Some(Error::NoSuchRow { row: n, rows: n }));

    let k = n / 3;
    let parts = [a.slice(k..n)?, a.slice(0..0)?, a.slice(0..k)?, a.slice(k..n)?];
    let got = DynBatch::concat(&parts.each_ref())?.to_biguints()?;
    let expected = [&values[k..], &values[..k], &values[k..]].concat();
    expect(tally, &what("concat"), got, expected);
    let error = DynBatch::concat(&[]).err();
    expect(tally, &what("concat"), error, Some(Error::LengthMismatch { left: 0, right: 1 }));
    if shapes().contains(&shape) {
        let other = DynBatch::zeros(&elsewhere(device), shape, 1)?;
        let error = DynBatch::concat(&[&a, &other]).err();
        expect(tally, &what("concat"), error, Some(Error::DeviceMismatch));
    }

    let backward: Vec<_> = values.iter().rev().cloned().collect();
    tally.values(&what("reverse"), rows, &a.reverse()?.to_biguints()?, &backward);
    Ok(())
}

fn numbers(
    shape: Shape,
    device: &Device,
    rows: &[Row],
    random: &mut Random,
    tally: &mut Tally,
) -> Result<()> {
    let what = |name| Context::new(shape, name, device);
    let (values, others) = (first(rows), second(rows));
    let n = values.len();
    let a = DynBatch::from_biguints(device, shape, &values)?;
    let picked: Vec<usize> = (0..2 * n + 1).map(|_| random.below(n)).collect();
    let expected: Vec<_> = picked.iter().map(|&row| values[row].clone()).collect();
    expect(tally, &what("gather"), a.gather(&picked)?.to_biguints()?, expected);
    expect(tally, &what("gather"), a.gather(&[])?.len(), 0);
    let error = a.gather(&[0, n, n + 1]).err();
    expect(tally, &what("gather"), error, Some(Error::NoSuchRow { row: n, rows: n }));

    let mut out = DynBatch::from_biguints(device, shape, &others)?;
    let targets: Vec<usize> = (0..n).map(|_| random.below(n)).collect();
    let mut expected = others;
    for (value, &target) in values.iter().zip(&targets) {
        expected[target].clone_from(value);
    }
    a.scatter_into(&targets, &mut out)?;
    tally.values(&what("scatter_into"), rows, &out.to_biguints()?, &expected);
    let error = a.scatter_into(&targets[1..], &mut out).err();
    expect(
        tally,
        &what("scatter_into"),
        error,
        Some(Error::LengthMismatch { left: n, right: n - 1 }),
    );
    let error = a.scatter_into(&vec![n; n], &mut out).err();
    expect(tally, &what("scatter_into"), error, Some(Error::NoSuchRow { row: n, rows: n }));
    expect(tally, &what("is_equal"), a.is_equal(&a.try_clone()?)?, true);
    expect(tally, &what("is_equal"), a.is_equal(&a.slice(0..n - 1)?)?, false);
    expect(tally, &what("is_equal"), a.is_equal(&out)?, values == expected);
    Ok(())
}

fn masks(
    shape: Shape,
    device: &Device,
    rows: &[Row],
    random: &mut Random,
    tally: &mut Tally,
) -> Result<()> {
    let what = |name| Context::new(shape, name, device);
    let (values, others) = (first(rows), second(rows));
    let n = values.len();
    let a = DynBatch::from_biguints(device, shape, &values)?;
    let b = DynBatch::from_biguints(device, shape, &others)?;
    let mut out = DynBatch::splat(device, shape, &ones(shape.bits), n)?;
    let bits: Vec<bool> = (0..n).map(|_| random.one_in(3)).collect();
    let more: Vec<bool> = (0..n).map(|_| random.one_in(2)).collect();
    for bits in [bits.clone(), vec![false; n], vec![true; n]] {
        let mask = Mask::from_bools(device, &bits)?;
        tally.values(&what("from_bools"), rows, &mask.to_bools()?, &bits);
        let indices: Vec<usize> = (0..n).filter(|&row| bits[row]).collect();
        let kept: Vec<_> = indices.iter().map(|&row| values[row].clone()).collect();
        expect(tally, &what("indices"), mask.indices()?, indices);
        expect(tally, &what("filter"), a.filter(&mask)?.to_biguints()?, kept);
        let expected: Vec<_> = (0..n)
            .map(|row| if bits[row] { values[row].clone() } else { others[row].clone() })
            .collect();
        a.select_into(&mask, &b, &mut out)?;
        let (first, second) = b.swap(&mask, &a)?;
        tally.row(first.is_equal(&out)?, || what("swap").to_string());
        tally.row(second.is_equal(&b.select(&mask, &a)?)?, || what("swap").to_string());
        tally.values(&what("select"), rows, &out.to_biguints()?, &expected);

        let other = Mask::from_bools(device, &more)?;
        let both = |function: fn(bool, bool) -> bool| -> Vec<bool> {
            bits.iter().zip(&more).map(|(&a, &b)| function(a, b)).collect()
        };
        for (name, got, expected) in [
            ("mask and", mask.and(&other)?, both(|a, b| a && b)),
            ("mask or", mask.or(&other)?, both(|a, b| a || b)),
            ("mask xor", mask.xor(&other)?, both(|a, b| a != b)),
            ("mask not", mask.not()?, both(|a, _| !a)),
        ] {
            let count = expected.iter().filter(|bit| **bit).count();
            expect(tally, &what(name), got.count()?, count);
            tally.values(&what(name), rows, &got.to_bools()?, &expected);
        }
    }
    let short = Mask::none(device, n - 1)?;
    let mismatch = Some(Error::LengthMismatch { left: n, right: n - 1 });
    expect(tally, &what("filter"), a.filter(&short).err(), mismatch.clone());
    expect(tally, &what("select"), a.select(&short, &b).err(), mismatch.clone());
    let mask = Mask::none(device, n)?;
    expect(tally, &what("mask and"), mask.and(&short).err(), mismatch);
    let away = Mask::none(&elsewhere(device), n)?;
    expect(tally, &what("mask or"), mask.or(&away).err(), Some(Error::DeviceMismatch));
    expect(tally, &what("select"), a.select(&away, &b).err(), Some(Error::DeviceMismatch));
    Ok(())
}

struct Widths;

impl Check for Widths {
    const NAME: &str = "rows of other widths";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(4);
        for (_, device, rows) in setting.parts(shape, SUMS, count) {
            for (bits, q, digit) in [
                (1024, 4, DigitKind::U64),
                (1536, 3, DigitKind::U32),
                (4096, 2, DigitKind::U16),
                (32768, 4, DigitKind::U64),
            ] {
                resize(shape, Shape { bits, q, digit }, device, &rows, tally);
            }
            halves(shape, device, &rows, tally);
        }
    }
}

fn resize(shape: Shape, target: Shape, device: &Device, rows: &[Row], tally: &mut Tally) {
    let what = Context::new(shape, "resized", device);
    tally.attempt(&what, rows.len(), |tally| {
        let values = first(rows);
        let wide = values.iter().position(|value| value.bits() > target.bits as u64);
        let a = DynBatch::from_biguints(device, shape, &values)?;
        let expected =
            wide.map(|row| Error::TooWide { row, bits: values[row].bits(), width: target.bits });
        expect(tally, &what, a.resized(target).err(), expected);

        let fitting: Vec<BigUint> =
            values.iter().map(|value| value & ones(target.bits.min(shape.bits))).collect();
        let a = DynBatch::from_biguints(device, shape, &fitting)?;
        let mut out = DynBatch::splat(device, target, &ones(target.bits), rows.len())?;
        a.resized_into(&mut out)?;
        tally.values(&what, rows, &out.to_biguints()?, &fitting);
        Ok(())
    });
}

fn halves(shape: Shape, device: &Device, rows: &[Row], tally: &mut Tally) {
    let what = Context::new(shape, "join, split", device);
    tally.attempt(&what, rows.len(), |tally| {
        let low = DynBatch::from_biguints(device, shape, &first(rows))?;
        let high = DynBatch::from_biguints(device, shape, &second(rows))?;
        if doubled(shape).is_none() {
            let missing = Some(no_double(shape, "joins of rows"));
            expect(tally, &what, low.join(&high).err(), missing);
            return Ok(());
        }
        let wide = low.join(&high)?;
        let expected: Vec<_> = rows.iter().map(|row| &row.a + (&row.b << shape.bits)).collect();
        tally.values(&what, rows, &wide.to_biguints()?, &expected);
        let (l, h) = wide.split()?;
        for (half, expected) in [(l, &low), (h, &high)] {
            expect(tally, &what, half.resized(shape)?.is_equal(expected)?, true);
            expect(tally, &what, half.shape().bits, shape.bits);
        }
        Ok(())
    });
}

on_every_backend! { parts: Parts, widths: Widths, }
