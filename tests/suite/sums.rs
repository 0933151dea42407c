//! Sums and differences of structured rows: carries and borrows of every length.

use gpuint::num_bigint::BigUint;
use gpuint::{Device, DynBatch, Shape};

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend, second, zip};
use gpuint_testkit::operands::{Row, SUMS, ones};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 160_000, least: 156 };

struct Structured;

impl Check for Structured {
    const NAME: &str = "sums and differences";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (_, device, rows) in setting.parts(shape, SUMS, count) {
            let what = Context::new(shape, "overflowing_add", device);
            let expected: Vec<_> =
                rows.iter().map(|row| oracle::add(&row.a, &row.b, shape.bits)).collect();
            sums(shape, &what, device, &rows, &expected, tally, true);
            let what = Context::new(shape, "overflowing_sub", device);
            let expected: Vec<_> =
                rows.iter().map(|row| oracle::sub(&row.a, &row.b, shape.bits)).collect();
            sums(shape, &what, device, &rows, &expected, tally, false);
        }
    }
}

fn sums(
    shape: Shape,
    what: &Context<'_>,
    device: &Device,
    rows: &[Row],
    expected: &[(BigUint, bool)],
    tally: &mut Tally,
    plus: bool,
) {
    tally.attempt(what, rows.len(), |tally| {
        let a = DynBatch::from_biguints(device, shape, &first(rows))?;
        let b = DynBatch::from_biguints(device, shape, &second(rows))?;
        let mut out = DynBatch::splat(device, shape, &ones(shape.bits), rows.len())?;
        let mut mask = out.eq_mask(&out)?;
        if plus {
            a.overflowing_add_into(&b, &mut out, &mut mask)?;
        } else {
            a.overflowing_sub_into(&b, &mut out, &mut mask)?;
        }
        let got = zip(out.to_biguints()?, mask.to_bools()?);
        tally.values(what, rows, &got, expected);
        Ok(())
    });
}

on_every_backend! { structured: Structured, }
