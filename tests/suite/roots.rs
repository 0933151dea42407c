//! Square roots, powers, and roots of any degree.

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, DynBatch, Shape};
use num_traits::Zero;

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend, zip};
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
        for (part, device, rows) in setting.parts(shape, POWERS, count) {
            let what = |name| Context::new(shape, name, device);
            let of_row = |row: &Row| usize::try_from(&row.b).unwrap();
            let mut degrees: Vec<usize> = rows.iter().map(of_row).collect();
            degrees.sort_unstable();
            degrees.dedup();
            for n in degrees {
                let rows: Vec<Row> = rows.iter().filter(|row| of_row(row) == n).cloned().collect();
                tally.attempt(&what("nth_root_rem"), rows.len(), |tally| {
                    let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                    let expected: Vec<(BigUint, BigUint)> = rows
                        .iter()
                        .map(|row| {
                            let root = oracle::nth_root(&row.a, n as u64);
                            let remainder = &row.a - root.pow(n as u32);
                            (root, remainder)
                        })
                        .collect();
                    let (roots, remainders) = a.nth_root_rem(n)?;
                    let got = zip(roots.to_biguints()?, remainders.to_biguints()?);
                    tally.values(&what("nth_root_rem"), &rows, &got, &expected);

                    // The power of the next number, and of the number.
                    for base in [roots.wrapping_add_all(1)?, a] {
                        let expected: Vec<(BigUint, bool)> = base
                            .to_biguints()?
                            .iter()
                            .map(|base| {
                                // Its length is known beforehand, and long ones are not computed.
                                let wraps = base.bits().saturating_sub(1) * n as u64
                                    >= shape.bits as u64
                                    || base.pow(n as u32).bits() > shape.bits as u64;
                                let modulus = BigUint::from(1u32) << shape.bits;
                                (base.modpow(&n.into(), &modulus), wraps)
                            })
                            .collect();
                        let (powers, overflowed) = base.overflowing_pow(n)?;
                        assert!(base.wrapping_pow(n)?.is_equal(&powers)?);
                        let got = zip(powers.to_biguints()?, overflowed.to_bools()?);
                        tally.values(&what("overflowing_pow"), &rows, &got, &expected);
                    }
                    Ok(())
                });
            }
            // A root for each prime.
            if shape.bits > 2048 || !part.is_multiple_of(2) {
                continue;
            }
            tally.attempt(&what("perfect_powers"), rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let expected: Vec<_> =
                    rows.iter().map(|row| oracle::perfect_power(&row.a)).collect();
                let (bases, exponents) = a.perfect_powers()?;
                let got = zip(bases.to_biguints()?, exponents);
                tally.values(&what("perfect_powers"), &rows, &got, &expected);
                let are_powers: Vec<bool> = expected.iter().map(|(_, n)| *n != 1).collect();
                let got = a.is_perfect_power()?.to_bools()?;
                tally.values(&what("is_perfect_power"), &rows, &got, &are_powers);
                Ok(())
            });
        }
    }
}

on_every_backend! { structured: Structured, powers: Powers, }
