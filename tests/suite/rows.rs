//! Parts of batches, joins, selections and changes of width.

use std::fmt::Debug;

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Batch, Device, Error, GpuUint, Kernels, Mask, Result, Widen, WideningVisitor,
    visit_widening,
};

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend, second, seed};
use gpuint_testkit::operands::{Row, SUMS, ones};
use gpuint_testkit::random::Random;

const ROWS: Rows = Rows { threads: 30_000, least: 26 };

/// A device that is another one.
fn elsewhere(device: &Device) -> Device {
    if device.backend() == BackendKind::Cpu { Device::simt() } else { Device::cpu() }
}

/// Counts a result that is not one value for each row.
#[expect(clippy::needless_pass_by_value, reason = "the values are made for the comparison")]
fn expect<V: PartialEq + Debug>(tally: &mut Tally, what: &Context<'_>, got: V, expected: V) {
    tally.row(got == expected, || format!("{what}: {got:x?}, expected {expected:x?}"));
}

struct Parts;

impl Check for Parts {
    const NAME: &str = "rows by number, range and mask";

    fn check<T: Kernels>(setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, T::SHAPE);
        for (part, device, rows) in setting.parts::<T>(SUMS, count) {
            let what = Context::new::<T>("rows", device);
            tally.attempt(&what, rows.len(), |tally| {
                let mut random = Random::new(seed() ^ part as u64);
                ranges::<T>(device, &rows, tally)?;
                numbers::<T>(device, &rows, &mut random, tally)?;
                masks::<T>(device, &rows, &mut random, tally)
            });
        }
    }
}

fn ranges<T: Kernels>(device: &Device, rows: &[Row], tally: &mut Tally) -> Result<()> {
    let what = |name| Context::new::<T>(name, device);
    let values = first(rows);
    let n = values.len();
    let a = Batch::<T>::from_biguints(device, &values)?;
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
    let got = Batch::concat(&parts.each_ref())?.to_biguints()?;
    let expected = [&values[k..], &values[..k], &values[k..]].concat();
    expect(tally, &what("concat"), got, expected);
    let error = Batch::<T>::concat(&[]).err();
    expect(tally, &what("concat"), error, Some(Error::LengthMismatch { left: 0, right: 1 }));
    let other = Batch::<T>::zeros(&elsewhere(device), 1)?;
    let error = Batch::concat(&[&a, &other]).err();
    expect(tally, &what("concat"), error, Some(Error::DeviceMismatch));

    let backward: Vec<_> = values.iter().rev().cloned().collect();
    tally.values(&what("reverse"), rows, &a.reverse()?.to_biguints()?, &backward);
    Ok(())
}

fn numbers<T: Kernels>(
    device: &Device,
    rows: &[Row],
    random: &mut Random,
    tally: &mut Tally,
) -> Result<()> {
    let what = |name| Context::new::<T>(name, device);
    let (values, others) = (first(rows), second(rows));
    let n = values.len();
    let a = Batch::<T>::from_biguints(device, &values)?;
    let picked: Vec<usize> = (0..2 * n + 1).map(|_| random.below(n)).collect();
    let expected: Vec<_> = picked.iter().map(|&row| values[row].clone()).collect();
    expect(tally, &what("gather"), a.gather(&picked)?.to_biguints()?, expected);
    expect(tally, &what("gather"), a.gather(&[])?.len(), 0);
    let error = a.gather(&[0, n, n + 1]).err();
    expect(tally, &what("gather"), error, Some(Error::NoSuchRow { row: n, rows: n }));

    let mut out = Batch::<T>::from_biguints(device, &others)?;
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

fn masks<T: Kernels>(
    device: &Device,
    rows: &[Row],
    random: &mut Random,
    tally: &mut Tally,
) -> Result<()> {
    let what = |name| Context::new::<T>(name, device);
    let (values, others) = (first(rows), second(rows));
    let n = values.len();
    let a = Batch::<T>::from_biguints(device, &values)?;
    let b = Batch::from_biguints(device, &others)?;
    let mut out = Batch::splat(device, &ones(T::BITS), n)?;
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

    fn check<T: Kernels>(setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, T::SHAPE).div_ceil(4);
        for (_, device, rows) in setting.parts::<T>(SUMS, count) {
            resize::<T, GpuUint<1024>>(device, &rows, tally);
            resize::<T, GpuUint<1536, 3, u32>>(device, &rows, tally);
            resize::<T, GpuUint<4096, 2, u16>>(device, &rows, tally);
            resize::<T, GpuUint<32768>>(device, &rows, tally);
            visit_widening(T::SHAPE, Halves { device, rows: &rows, tally });
        }
    }
}

fn resize<T: Kernels, W: Kernels>(device: &Device, rows: &[Row], tally: &mut Tally) {
    let what = Context::new::<T>("narrow", device);
    tally.attempt(&what, rows.len(), |tally| {
        let values = first(rows);
        let wide = values.iter().position(|value| value.bits() > W::BITS as u64);
        let a = Batch::<T>::from_biguints(device, &values)?;
        let expected =
            wide.map(|row| Error::TooWide { row, bits: values[row].bits(), width: W::BITS });
        expect(tally, &what, a.narrow::<W>().err(), expected.clone());
        expect(tally, &what, a.widen::<W>().err(), expected);

        let fitting: Vec<BigUint> =
            values.iter().map(|value| value & ones(W::BITS.min(T::BITS))).collect();
        let a = Batch::<T>::from_biguints(device, &fitting)?;
        let mut out = Batch::<W>::splat(device, &ones(W::BITS), rows.len())?;
        a.narrow_into(&mut out)?;
        tally.values(&what, rows, &out.to_biguints()?, &fitting);
        Ok(())
    });
}

struct Halves<'a> {
    device: &'a Device,
    rows: &'a [Row],
    tally: &'a mut Tally,
}

impl WideningVisitor for Halves<'_> {
    type Output = ();
    fn visit<T: Widen>(self) {
        let Self { device, rows, tally } = self;
        let what = Context::new::<T>("join, split", device);
        tally.attempt(&what, rows.len(), |tally| {
            let low = Batch::<T>::from_biguints(device, &first(rows))?;
            let high = Batch::<T>::from_biguints(device, &second(rows))?;
            let wide = low.join(&high)?;
            let expected: Vec<_> = rows.iter().map(|row| &row.a + (&row.b << T::BITS)).collect();
            tally.values(&what, rows, &wide.to_biguints()?, &expected);
            let (l, h) = wide.split::<T>()?;
            expect(tally, &what, l.is_equal(&low)? && h.is_equal(&high)?, true);
            Ok(())
        });
    }
}

on_every_backend! { parts: Parts, widths: Widths, }
