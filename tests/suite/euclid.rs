//! Greatest common divisors, inverses and symbols.

use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Kernels};

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend, second, zip};
use gpuint_testkit::operands::{EUCLID, ones};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 60_000, least: 26 };

struct Structured;

impl Check for Structured {
    const NAME: &str = "gcd, inverse_mod, jacobi";
    const WIDEST: bool = false;

    fn check<T: Kernels>(setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, T::SHAPE);
        for (_, device, rows) in setting.parts::<T>(EUCLID, count) {
            let what = |name| Context::new::<T>(name, device);
            tally.attempt(&what("gcd"), rows.len(), |tally| {
                let a = Batch::<T>::from_biguints(device, &first(&rows))?;
                let b = Batch::from_biguints(device, &second(&rows))?;
                let mut out = Batch::splat(device, &ones(T::BITS), rows.len())?;
                a.gcd_into(&b, &mut out)?;
                let expected: Vec<_> = rows.iter().map(|row| oracle::gcd(&row.a, &row.b)).collect();
                tally.values(&what("gcd"), &rows, &out.to_biguints()?, &expected);

                let mut mask = a.eq_mask(&a)?;
                a.inverse_mod_into(&b, &mut out, &mut mask)?;
                let expected: Vec<(BigUint, bool)> = rows
                    .iter()
                    .map(|row| oracle::inverse_mod(&row.a, &row.b))
                    .map(|inverse| (inverse.clone().unwrap_or_default(), inverse.is_none()))
                    .collect();
                let got = zip(out.to_biguints()?, mask.to_bools()?);
                tally.values(&what("inverse_mod"), &rows, &got, &expected);

                for (row, symbol) in rows.iter().zip(a.jacobi(&b)?) {
                    let expected = oracle::kronecker(&row.a, &row.b);
                    tally.row(symbol == expected, || {
                        format!("{}\n  {symbol}, not {expected}", what("jacobi").row(row))
                    });
                }

                let (lcm, wrapped) = a.overflowing_lcm(&b)?;
                let expected: Vec<_> = rows
                    .iter()
                    .map(|row| {
                        let lcm = oracle::lcm(&row.a, &row.b);
                        let wraps = lcm.bits() > T::BITS as u64;
                        (oracle::shl(&lcm, 0, T::BITS), wraps)
                    })
                    .collect();
                let got = zip(lcm.to_biguints()?, wrapped.to_bools()?);
                tally.values(&what("overflowing_lcm"), &rows, &got, &expected);
                Ok(())
            });
        }
    }
}

on_every_backend! { structured: Structured, }
