//! Parts of batches, joins, selections and changes of width.

use gpuint::{BackendKind, Device, DigitKind, DynBatch, Error, Mask, Result, Shape, shapes};

use crate::setting::{Check, Part, Rows, Setting, Tally, first, on_every_backend, second, seed};
use gpuint_testkit::operands::{Row, SUMS, ones};
use gpuint_testkit::random::Random;

const ROWS: Rows = Rows { threads: 30_000, least: 26 };

/// A second device.
fn elsewhere(device: &Device) -> Device {
    if device.backend() == BackendKind::Cpu { Device::simt() } else { Device::cpu() }
}

struct Parts;

impl Check for Parts {
    const NAME: &str = "rows by number, range and mask";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        setting.each_part(shape, SUMS, count, tally, |part| {
            let mut random = Random::new(seed() ^ part.turn as u64);
            ranges(&part)?;
            numbers(&part, &mut random)?;
            masks(&part, &mut random)
        });
    }
}

fn ranges(part: &Part<'_>) -> Result<()> {
    let (shape, device, values, a) = (part.shape, part.device, first(&part.rows), part.a()?);
    let n = values.len();
    for range in [0..0, 0..n, n - 1..n, n..n] {
        let got = a.slice(range.clone())?.to_biguints()?;
        part.expect("slice", got, values[range].to_vec());
    }
    #[expect(clippy::reversed_empty_ranges, reason = "it is an empty one here")]
    part.expect("slice", a.slice(1..0)?.len(), 0);
    let error = a.slice(0..n + 1).err();
    part.expect("slice", error, Some(Error::NoSuchRow { row: n, rows: n }));

    let k = n / 3;
    let parts = [a.slice(k..n)?, a.slice(0..0)?, a.slice(0..k)?, a.slice(k..n)?];
    let got = DynBatch::concat(&parts.each_ref())?.to_biguints()?;
    let expected = [&values[k..], &values[..k], &values[k..]].concat();
    part.expect("concat", got, expected);
    let error = DynBatch::concat(&[]).err();
    part.expect("concat", error, Some(Error::LengthMismatch { left: 0, right: 1 }));
    if shapes().contains(&shape) {
        let other = DynBatch::zeros(&elsewhere(device), shape, 1)?;
        let error = DynBatch::concat(&[&a, &other]).err();
        part.expect("concat", error, Some(Error::DeviceMismatch));
    }

    Ok(())
}

fn numbers(part: &Part<'_>, random: &mut Random) -> Result<()> {
    let (values, others, a) = (first(&part.rows), second(&part.rows), part.a()?);
    let n = values.len();
    let picked: Vec<usize> = (0..2 * n + 1).map(|_| random.below(n)).collect();
    let expected: Vec<_> = picked.iter().map(|&row| values[row].clone()).collect();
    part.expect("gather", a.gather(&picked)?.to_biguints()?, expected);
    part.expect("gather", a.gather(&[])?.len(), 0);
    let error = a.gather(&[0, n, n + 1]).err();
    part.expect("gather", error, Some(Error::NoSuchRow { row: n, rows: n }));

    let mut out = part.b()?;
    let targets: Vec<usize> = (0..n).map(|_| random.below(n)).collect();
    let mut expected = others;
    for (value, &target) in values.iter().zip(&targets) {
        expected[target].clone_from(value);
    }
    a.scatter_into(&targets, &mut out)?;
    part.compare("scatter_into", &out, &expected)?;
    let error = a.scatter_into(&targets[1..], &mut out).err();
    part.expect("scatter_into", error, Some(Error::LengthMismatch { left: n, right: n - 1 }));
    let error = a.scatter_into(&vec![n; n], &mut out).err();
    part.expect("scatter_into", error, Some(Error::NoSuchRow { row: n, rows: n }));
    part.expect("is_equal", a.is_equal(&a.try_clone()?)?, true);
    part.expect("is_equal", a.is_equal(&a.slice(0..n - 1)?)?, false);
    part.expect("is_equal", a.is_equal(&out)?, values == expected);
    Ok(())
}

fn masks(part: &Part<'_>, random: &mut Random) -> Result<()> {
    let (device, values, others) = (part.device, first(&part.rows), second(&part.rows));
    let (n, a, b, mut out) = (values.len(), part.a()?, part.b()?, part.old()?);
    let bits: Vec<bool> = (0..n).map(|_| random.one_in(3)).collect();
    let more: Vec<bool> = (0..n).map(|_| random.one_in(2)).collect();
    for bits in [bits.clone(), vec![false; n], vec![true; n]] {
        let mask = Mask::from_bools(device, &bits)?;
        part.compare("from_bools", &mask, &bits)?;
        let indices: Vec<usize> = (0..n).filter(|&row| bits[row]).collect();
        let kept: Vec<_> = indices.iter().map(|&row| values[row].clone()).collect();
        part.expect("indices", mask.indices()?, indices);
        part.expect("filter", a.filter(&mask)?.to_biguints()?, kept);
        let expected: Vec<_> = (0..n)
            .map(|row| if bits[row] { values[row].clone() } else { others[row].clone() })
            .collect();
        a.select_into(&mask, &b, &mut out)?;
        let (first, second) = b.swap(&mask, &a)?;
        part.expect("swap", first.is_equal(&out)?, true);
        part.expect("swap", second.is_equal(&b.select(&mask, &a)?)?, true);
        part.compare("select", &out, &expected)?;

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
            part.expect(name, got.count()?, count);
            part.compare(name, &got, &expected)?;
        }
    }
    let short = Mask::none(device, n - 1)?;
    let mismatch = Some(Error::LengthMismatch { left: n, right: n - 1 });
    part.expect("filter", a.filter(&short).err(), mismatch.clone());
    part.expect("select", a.select(&short, &b).err(), mismatch.clone());
    let mask = Mask::none(device, n)?;
    part.expect("mask and", mask.and(&short).err(), mismatch);
    let away = Mask::none(&elsewhere(device), n)?;
    part.expect("mask or", mask.or(&away).err(), Some(Error::DeviceMismatch));
    part.expect("select", a.select(&away, &b).err(), Some(Error::DeviceMismatch));
    Ok(())
}

struct Widths;

impl Check for Widths {
    const NAME: &str = "rows of other widths";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(4);
        setting.each_part(shape, SUMS, count, tally, |part| {
            for (bits, q, digit) in [
                (1024, 4, DigitKind::U64),
                (1536, 3, DigitKind::U32),
                (4096, 2, DigitKind::U16),
                (32768, 4, DigitKind::U64),
            ] {
                resize(&part, Shape { bits, q, digit })?;
            }
            Ok(())
        });
    }
}

fn resize(part: &Part<'_>, target: Shape) -> Result<()> {
    let values = first(&part.rows);
    let wide = values.iter().position(|value| value.bits() > target.bits as u64);
    let error =
        wide.map(|row| Error::TooWide { row, bits: values[row].bits(), width: target.bits });
    part.expect("resized", part.a()?.resized(target).err(), error);

    let fitting = |row: &Row| &row.a & ones(target.bits.min(part.shape.bits));
    let mut out = DynBatch::splat(part.device, target, &ones(target.bits), values.len())?;
    part.column(fitting)?.resized_into(&mut out)?;
    part.each("resized", &out, fitting)
}

on_every_backend! { parts: Parts, widths: Widths, }
