//! Greatest common divisors, inverses and symbols.

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, DynBatch, Shape};

use crate::setting::{
    Check, Context, Rows, Setting, Tally, first, is_thorough, on_every_backend, second, seed, zip,
};
use gpuint_testkit::operands::{self, EUCLID, FRACTIONS, Row};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 60_000, least: 26 };

struct Structured;

impl Check for Structured {
    const NAME: &str = "overflowing_lcm, xgcd";
    const WIDEST: bool = false;
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (part, device, rows) in setting.parts(shape, EUCLID, count) {
            let what = |name| Context::new(shape, name, device);
            tally.attempt(&what("overflowing_lcm"), rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let b = DynBatch::from_biguints(device, shape, &second(&rows))?;
                let (lcm, wrapped) = a.overflowing_lcm(&b)?;
                let expected: Vec<_> = rows
                    .iter()
                    .map(|row| {
                        let lcm = oracle::lcm(&row.a, &row.b);
                        let wraps = lcm.bits() > shape.bits as u64;
                        (oracle::shl(&lcm, 0, shape.bits), wraps)
                    })
                    .collect();
                let got = zip(lcm.to_biguints()?, wrapped.to_bools()?);
                tally.values(&what("overflowing_lcm"), &rows, &got, &expected);

                // It is made of the operations above.
                if !part.is_multiple_of(4) {
                    return Ok(());
                }
                let (gcd, x, y, is_negative) = a.xgcd(&b)?;
                let got = zip(zip(x.to_biguints()?, y.to_biguints()?), is_negative.to_bools()?);
                for ((row, gcd), ((x, y), is_negative)) in
                    rows.iter().zip(gcd.to_biguints()?).zip(got)
                {
                    let is_right = gcd == oracle::gcd(&row.a, &row.b)
                        && oracle::are_cofactors(&row.a, &row.b, &gcd, &x, &y, is_negative);
                    tally.row(is_right, || {
                        let what = what("xgcd");
                        format!("{}\n  {gcd:x} {x:x} {y:x} {is_negative}", what.row(row))
                    });
                }
                Ok(())
            });
        }
    }
}

/// Common divisors and inverses, also at the widths that have them by half-gcds only.
struct EveryWidth;

impl Check for EveryWidth {
    const NAME: &str = "gcd, inverse_mod at every width";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let device = &setting.devices()[0];
        let what = |name| Context::new(shape, name, device);
        // The simt backend takes minutes for half-gcds of whole rows, and the cpu backend for the
        // steps of Euclid's algorithm, which are the same at every width.
        let is_slow = match device.backend() {
            BackendKind::Simt => true,
            BackendKind::Cpu => !is_thorough(),
            _ => false,
        };
        let bits = if is_slow { shape.bits.min(20_000) } else { shape.bits };
        let rows = operands::rows(seed(), EUCLID, shape.into(), 0..4);
        let cut = |column: Vec<BigUint>| -> Vec<BigUint> {
            column.into_iter().map(|value| value >> (shape.bits - bits)).collect()
        };
        let (a, b) = (cut(first(&rows)), cut(second(&rows)));
        tally.attempt(&what("gcd"), rows.len(), |tally| {
            let x = DynBatch::from_biguints(device, shape, &a)?;
            let y = DynBatch::from_biguints(device, shape, &b)?;
            let expected: Vec<_> = a.iter().zip(&b).map(|(a, b)| oracle::gcd(a, b)).collect();
            tally.values(&what("gcd"), &rows, &x.gcd(&y)?.to_biguints()?, &expected);

            let (inverses, without) = x.inverse_mod(&y)?;
            let expected: Vec<_> = a
                .iter()
                .zip(&b)
                .map(|(a, b)| oracle::inverse_mod(a, b))
                .map(|inverse| (inverse.clone().unwrap_or_default(), inverse.is_none()))
                .collect();
            let got = zip(inverses.to_biguints()?, without.to_bools()?);
            tally.values(&what("inverse_mod"), &rows, &got, &expected);
            Ok(())
        });
    }
}

struct OneModulus;

impl Check for OneModulus {
    const NAME: &str = "inverse_mod_all";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(8);
        for (part, device, rows) in setting.parts(shape, EUCLID, count) {
            let what = Context::new(shape, "inverse_mod_all", device);
            // Few rows have no inverse modulo a prime; many have none modulo even numbers.
            let prime = BigUint::from(if part.is_multiple_of(2) { u64::MAX - 58 } else { 7 });
            let small = [0u32, 1, 2, 12].map(BigUint::from);
            let drawn = [rows[0].b.clone(), &rows[rows.len() / 2].b | BigUint::from(1u32)];
            let moduli = [[prime, small[part % 4].clone()], drawn].concat();
            for modulus in &moduli {
                tally.attempt(&what, rows.len(), |tally| {
                    let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                    let (inverses, without) = a.inverse_mod_all(modulus)?;
                    let expected: Vec<(BigUint, bool)> = rows
                        .iter()
                        .map(|row| oracle::inverse_mod(&row.a, modulus))
                        .map(|inverse| (inverse.clone().unwrap_or_default(), inverse.is_none()))
                        .collect();
                    let got = zip(inverses.to_biguints()?, without.to_bools()?);
                    tally.values(&what, &rows, &got, &expected);
                    Ok(())
                });
            }
        }
    }
}

struct Fractions;

impl Check for Fractions {
    const NAME: &str = "rational_reconstruction";
    const WIDEST: bool = false;
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(4);
        for (part, device, rows) in setting.parts(shape, FRACTIONS, count) {
            let what = Context::new(shape, "rational_reconstruction", device);
            // Bounds that make fractions unique, or too large or too small ones.
            let bounds = |row: &Row| {
                let root = oracle::isqrt(&(&row.b >> 1));
                match (part + row.index) % 4 {
                    0 => [root.clone() * 3u32, root],
                    1 => [&root >> 5, root << 4],
                    _ => [root.clone(), root],
                }
                .map(|bound| oracle::shl(&bound, 0, shape.bits))
            };
            tally.attempt(&what, rows.len(), |tally| {
                let column = |of: &dyn Fn(&Row) -> BigUint| {
                    let values: Vec<BigUint> = rows.iter().map(of).collect();
                    DynBatch::from_biguints(device, shape, &values)
                };
                let (u, m) = (column(&|row| row.a.clone())?, column(&|row| row.b.clone())?);
                let numerators = column(&|row| bounds(row)[0].clone())?;
                let denominators = column(&|row| bounds(row)[1].clone())?;
                let (n, d, is_negative, without) =
                    u.rational_reconstruction(&m, &numerators, &denominators)?;
                let expected: Vec<_> = rows
                    .iter()
                    .map(|row| {
                        let [most, longest] = bounds(row);
                        let (n, d, is_negative) = oracle::remainder_of(&row.a, &row.b, &most);
                        let is_fraction = d <= longest && oracle::gcd(&n, &d) == 1u32.into();
                        match is_fraction {
                            true => (((n, d), is_negative), false),
                            false => (((0u32.into(), 0u32.into()), false), true),
                        }
                    })
                    .collect();
                let fractions = zip(n.to_biguints()?, d.to_biguints()?);
                let got = zip(zip(fractions, is_negative.to_bools()?), without.to_bools()?);
                tally.values(&what, &rows, &got, &expected);
                Ok(())
            });
        }
    }
}

on_every_backend! {
    structured: Structured, every_width: EveryWidth, fractions: Fractions, one_modulus: OneModulus,
}
