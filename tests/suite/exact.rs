//! Exact division, inverses modulo `2^BITS`, and division of all rows by one value.

use gpuint::num_bigint::BigUint;
use gpuint::{DynBatch, Error, Shape};
use num_traits::Zero;

use crate::rows::expect;
use crate::setting::{
    Check, Context, Rows, Setting, Tally, doubled, first, no_double, on_every_backend, second,
    widest, zip,
};
use gpuint_testkit::operands::{EXACT, ones, power};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 120_000, least: 24 };

struct Exact;

impl Check for Exact {
    const NAME: &str = "div_exact, inverse_mod_pow2";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (_, device, rows) in setting.parts(shape, EXACT, count) {
            let what = |name| Context::new(shape, name, device);
            tally.attempt(&what("div_exact"), rows.len(), |tally| {
                let u = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let v = DynBatch::from_biguints(device, shape, &second(&rows))?;
                let expected: Vec<_> =
                    rows.iter().map(|row| oracle::div_exact(&row.a, &row.b)).collect();

                let mut out = DynBatch::splat(device, shape, &ones(shape.bits), rows.len())?;
                let mut mask = u.eq_mask(&u)?;
                u.div_exact_masked_into(&v, &mut out, &mut mask)?;
                let masked: Vec<(BigUint, bool)> = expected
                    .iter()
                    .map(|quotient| (quotient.clone().unwrap_or_default(), quotient.is_none()))
                    .collect();
                let got = zip(out.to_biguints()?, mask.to_bools()?);
                tally.values(&what("div_exact_masked"), &rows, &got, &masked);

                // Without a mask the other quotients are unspecified.
                let zero = rows.iter().position(|row| row.b.is_zero());
                let result = u.div_exact_into(&v, &mut out);
                let error = zero.map(|row| Error::DivisionByZero { row });
                expect(tally, &what("div_exact"), result.err(), error);
                for ((row, got), expected) in rows.iter().zip(out.to_biguints()?).zip(&expected) {
                    let is_right = expected.as_ref().is_none_or(|expected| got == *expected);
                    tally.row(is_right, || {
                        let what = what("div_exact");
                        format!("{}\n  {got:x}, not {expected:x?}", what.row(row))
                    });
                }

                v.inverse_mod_pow2_into(&mut out, &mut mask)?;
                let modulus = power(shape.bits);
                let inverses: Vec<(BigUint, bool)> = rows
                    .iter()
                    .map(|row| oracle::inverse_mod(&row.b, &modulus))
                    .map(|inverse| (inverse.clone().unwrap_or_default(), inverse.is_none()))
                    .collect();
                let got = zip(out.to_biguints()?, mask.to_bools()?);
                tally.values(&what("inverse_mod_pow2"), &rows, &got, &inverses);
                Ok(())
            });
        }
    }
}

struct OneDivisor;

impl Check for OneDivisor {
    const NAME: &str = "div_rem_all, div_exact_all";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(16);
        for (part, device, rows) in setting.parts(shape, EXACT, count) {
            let what = |name| Context::new(shape, name, device);
            for divisor in [&rows[part % rows.len()].b, &BigUint::from(10u32).pow(19)] {
                tally.attempt(&what("div_rem_all"), rows.len(), |tally| {
                    let u = DynBatch::from_biguints(device, shape, &first(&rows))?;
                    if divisor.is_zero() {
                        let error = || Some(Error::DivisionByZero { row: 0 });
                        expect(tally, &what("div_all"), u.div_all(divisor).err(), error());
                        let result = u.div_exact_all(divisor);
                        expect(tally, &what("div_exact_all"), result.err(), error());
                        return Ok(());
                    }
                    let expected: Vec<_> =
                        rows.iter().map(|row| oracle::div_rem(&row.a, divisor)).collect();
                    let (q, r) = u.div_rem_all(divisor)?;
                    let got = zip(q.to_biguints()?, r.to_biguints()?);
                    tally.values(&what("div_rem_all"), &rows, &got, &expected);
                    let (q, r) = (u.div_all(divisor)?, u.rem_all(divisor)?);
                    let got = zip(q.to_biguints()?, r.to_biguints()?);
                    tally.values(&what("div_all, rem_all"), &rows, &got, &expected);
                    let exact = q.wrapping_mul_all(divisor)?.div_exact_all(divisor)?;
                    let quotients: Vec<_> = expected.into_iter().map(|(q, _)| q).collect();
                    let got = exact.to_biguints()?;
                    tally.values(&what("div_exact_all"), &rows, &got, &quotients);
                    Ok(())
                });
            }
        }
    }
}

struct Wide;

impl Check for Wide {
    const NAME: &str = "div_rem_wide";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(16);
        for (_, device, rows) in setting.parts(shape, EXACT, count) {
            let what = Context::new(shape, "div_rem_wide", device);
            tally.attempt(&what, rows.len(), |tally| {
                let low = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let divisors: Vec<_> =
                    rows.iter().map(|row| &row.b | BigUint::from(1u32)).collect();
                let v = DynBatch::from_biguints(device, shape, &divisors)?;
                let high = low.not()?;
                let result = low.div_rem_wide(&high, &v);
                let wide = Shape { bits: 2 * shape.bits, ..shape };
                if doubled(shape).is_none() {
                    let missing = no_double(shape, "divisions of twice the width");
                    expect(tally, &what, result.err(), Some(missing));
                    return Ok(());
                }
                let longer = DynBatch::zeros(device, shape, rows.len() + 1)?;
                let mismatch = Error::LengthMismatch { left: rows.len(), right: rows.len() + 1 };
                expect(tally, &what, low.div_rem_wide(&high, &longer).err(), Some(mismatch));
                if wide.bits > widest() {
                    return Ok(());
                }
                let (q, r) = result?;
                let expected: Vec<_> = rows
                    .iter()
                    .zip(&divisors)
                    .map(|(row, v)| {
                        let high = ones(shape.bits) - &row.a;
                        oracle::div_rem(&(&row.a + (high << shape.bits)), v)
                    })
                    .collect();
                let got = zip(q.to_biguints()?, r.to_biguints()?);
                tally.values(&what, &rows, &got, &expected);
                Ok(())
            });
        }
    }
}

on_every_backend! { exact: Exact, one_divisor: OneDivisor, wide: Wide, }
