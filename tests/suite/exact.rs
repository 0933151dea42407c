//! Exact division, inverses modulo `2^BITS`, and division of all rows by one value.

use gpuint::num_bigint::BigUint;
use gpuint::{DynBatch, Error, Shape};
use num_traits::Zero;

use crate::setting::{
    Check, Rows, Setting, Tally, doubled, masked, no_double, on_every_backend, widest,
};
use gpuint_testkit::operands::{EXACT, Row, ones, power};
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

struct OneDivisor;

impl Check for OneDivisor {
    const NAME: &str = "div_rem_all, div_exact_all";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(16);
        setting.each_part(shape, EXACT, count, tally, |part| {
            let u = part.a()?;
            let drawn = &part.rows[part.turn % part.rows.len()].b;
            for divisor in [drawn, &BigUint::from(10u32).pow(19)] {
                if divisor.is_zero() {
                    let error = || Some(Error::DivisionByZero { row: 0 });
                    part.expect("div_all", u.div_all(divisor).err(), error());
                    part.expect("div_exact_all", u.div_exact_all(divisor).err(), error());
                    continue;
                }
                let divide = |row: &Row| oracle::div_rem(&row.a, divisor);
                part.each("div_rem_all", u.div_rem_all(divisor)?, divide)?;
                let q = u.div_all(divisor)?;
                part.each("div_all, rem_all", (&q, u.rem_all(divisor)?), divide)?;
                let exact = q.wrapping_mul_all(divisor)?.div_exact_all(divisor)?;
                part.each("div_exact_all", exact, |row| divide(row).0)?;
            }
            Ok(())
        });
    }
}

struct Wide;

impl Check for Wide {
    const NAME: &str = "div_rem_wide";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(16);
        setting.each_part(shape, EXACT, count, tally, |mut part| {
            part.rows.iter_mut().for_each(|row| row.b.set_bit(0, true));
            let (low, v, count) = (part.a()?, part.b()?, part.rows.len());
            let high = low.not()?;
            let result = low.div_rem_wide(&high, &v);
            if doubled(shape).is_none() {
                let missing = no_double(shape, "divisions of twice the width");
                part.expect("div_rem_wide", result.err(), Some(missing));
                return Ok(());
            }
            let longer = DynBatch::zeros(part.device, shape, count + 1)?;
            let mismatch = Error::LengthMismatch { left: count, right: count + 1 };
            let error = low.div_rem_wide(&high, &longer).err();
            part.expect("div_rem_wide", error, Some(mismatch));
            if 2 * shape.bits > widest() {
                return Ok(());
            }
            part.each("div_rem_wide", result?, |row| {
                let high = ones(shape.bits) - &row.a;
                oracle::div_rem(&(&row.a + (high << shape.bits)), &row.b)
            })
        });
    }
}

on_every_backend! { exact: Exact, one_divisor: OneDivisor, wide: Wide, }
