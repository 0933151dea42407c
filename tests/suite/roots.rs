//! Square roots.

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, DynBatch, Shape};
use num_traits::Zero;

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend, zip};
use gpuint_testkit::operands::ROOTS;
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 40_000, least: 28 };

struct Structured;

impl Check for Structured {
    const NAME: &str = "isqrt_rem, is_square";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        // A root takes all narrower widths, and the simt backend a second for each of the widest.
        if setting.backend == BackendKind::Simt && shape.bits > 32768 {
            return;
        }
        let count = setting.count(ROWS, shape);
        for (_, device, rows) in setting.parts(shape, ROOTS, count) {
            let what = |name| Context::new(shape, name, device);
            tally.attempt(&what("isqrt_rem"), rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let expected: Vec<(BigUint, BigUint)> = rows
                    .iter()
                    .map(|row| {
                        let root = oracle::isqrt(&row.a);
                        let remainder = &row.a - &root * &root;
                        (root, remainder)
                    })
                    .collect();
                let (roots, remainders) = a.isqrt_rem()?;
                let got = zip(roots.to_biguints()?, remainders.to_biguints()?);
                tally.values(&what("isqrt_rem"), &rows, &got, &expected);
                let squares: Vec<bool> = expected.iter().map(|(_, rest)| rest.is_zero()).collect();
                let got = a.is_square()?.to_bools()?;
                tally.values(&what("is_square"), &rows, &got, &squares);
                // Rows of one length need no shifts.
                let whole = a.with_bit(shape.bits - 1)?;
                let expected: Vec<_> = whole.to_biguints()?.iter().map(oracle::isqrt).collect();
                tally.values(&what("isqrt"), &rows, &whole.isqrt()?.to_biguints()?, &expected);
                Ok(())
            });
        }
    }
}

on_every_backend! { structured: Structured, }
