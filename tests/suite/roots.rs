//! Square roots, powers, and roots of any degree.

use std::collections::BTreeSet;

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Result, Shape};
use num_traits::Zero;

use crate::setting::{Check, Part, Rows, Setting, Tally, on_every_backend};
use gpuint_testkit::operands::{POWERS, ROOTS, Row};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 40_000, least: 28 };

struct Structured;

impl Check for Structured {
    const NAME: &str = "isqrt_rem, is_square";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        // Wider roots take many operations, and the simt backend a second for each row.
        if setting.backend == BackendKind::Simt && shape.bits > 32768 {
            return;
        }
        let count = setting.count(ROWS, shape);
        setting.each_part(shape, ROOTS, count, tally, |part| {
            let a = part.a()?;
            let root = |row: &Row| {
                let root = oracle::isqrt(&row.a);
                let rest = &row.a - &root * &root;
                (root, rest)
            };
            part.each("isqrt_rem", a.isqrt_rem()?, root)?;
            part.each("is_square", a.is_square()?, |row| root(row).1.is_zero())?;
            // Rows of one length need no shifts.
            let whole = a.with_bit(shape.bits - 1)?;
            let expected: Vec<_> = whole.to_biguints()?.iter().map(oracle::isqrt).collect();
            part.compare("isqrt", whole.isqrt()?, &expected)
        });
    }
}

/// Roots take many operations, most of them for each degree.
const FEW_ROWS: Rows = Rows { threads: 3_000, least: 12 };

struct Powers;

impl Check for Powers {
    const NAME: &str = "nth_root_rem, overflowing_pow, perfect_powers";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        if setting.backend == BackendKind::Simt && shape.bits > 4096 {
            return;
        }
        let count = setting.count(FEW_ROWS, shape);
        for (turn, device, rows) in setting.parts(shape, POWERS, count) {
            let of_row = |row: &Row| usize::try_from(&row.b).unwrap();
            for n in rows.iter().map(of_row).collect::<BTreeSet<_>>() {
                let rows = rows.iter().filter(|row| of_row(row) == n).cloned().collect();
                Part::run(shape, device, turn, rows, tally, |part| powers(&part, n));
            }
            // A root for each prime.
            if shape.bits > 2048 || !turn.is_multiple_of(2) {
                continue;
            }
            Part::run(shape, device, turn, rows, tally, |part| {
                let a = part.a()?;
                part.each("perfect_powers", a.perfect_powers()?, |row| {
                    oracle::perfect_power(&row.a)
                })?;
                part.each("is_perfect_power", a.is_perfect_power()?, |row| {
                    oracle::perfect_power(&row.a).1 != 1
                })
            });
        }
    }
}

/// Compares roots of degree `n`, and powers of the next number and of the number.
fn powers(part: &Part<'_>, n: usize) -> Result<()> {
    let a = part.a()?;
    let (roots, remainders) = a.nth_root_rem(n)?;
    part.each("nth_root_rem", (&roots, remainders), |row| {
        let root = oracle::nth_root(&row.a, n as u64);
        let remainder = &row.a - root.pow(n as u32);
        (root, remainder)
    })?;
    let bits = part.shape.bits;
    for base in [roots.wrapping_add_all(1)?, a] {
        let power = |base: &BigUint| {
            // Its length is known beforehand, and long ones are not computed.
            let wraps = base.bits().saturating_sub(1) * n as u64 >= bits as u64
                || base.pow(n as u32).bits() > bits as u64;
            (base.modpow(&n.into(), &(BigUint::from(1u32) << bits)), wraps)
        };
        let expected: Vec<_> = base.to_biguints()?.iter().map(power).collect();
        let (powers, overflowed) = base.overflowing_pow(n)?;
        assert!(base.wrapping_pow(n)?.is_equal(&powers)?);
        part.compare("overflowing_pow", (powers, overflowed), &expected)?;
    }
    Ok(())
}

on_every_backend! { structured: Structured, powers: Powers, }
