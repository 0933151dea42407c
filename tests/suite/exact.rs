//! Exact division, and inverses modulo `2^BITS`.

use gpuint::{Error, Shape};
use num_traits::Zero;

use crate::setting::{Check, Rows, Setting, Tally, masked, on_every_backend};
use gpuint_testkit::operands::{EXACT, power};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 120_000, least: 24 };

struct Exact;

impl Check for Exact {
    const NAME: &str = "div_exact, inverse_mod_pow2";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        setting.each_part(shape, EXACT, count, tally, |part| {
            let (u, v, mut out) = (part.a()?, part.b()?, part.old()?);
            let mut mask = u.eq_mask(&u)?;
            u.div_exact_masked_into(&v, &mut out, &mut mask)?;
            part.each("div_exact_masked", (&out, &mask), |row| {
                masked(oracle::div_exact(&row.a, &row.b))
            })?;

            // Without a mask the other quotients are unspecified.
            let zero = part.rows.iter().position(|row| row.b.is_zero());
            let error = zero.map(|row| Error::DivisionByZero { row });
            part.expect("div_exact", u.div_exact_into(&v, &mut out).err(), error);
            for (row, got) in part.rows.iter().zip(out.to_biguints()?) {
                let expected = oracle::div_exact(&row.a, &row.b);
                part.row(expected.as_ref().is_none_or(|expected| got == *expected), || {
                    let row = part.what("div_exact").row(row);
                    format!("{row}\n  {got:x}, not {expected:x?}")
                });
            }

            v.inverse_mod_pow2_into(&mut out, &mut mask)?;
            let modulus = power(shape.bits);
            part.each("inverse_mod_pow2", (&out, &mask), |row| {
                masked(oracle::inverse_mod(&row.b, &modulus))
            })
        });
    }
}

on_every_backend! { exact: Exact, }
