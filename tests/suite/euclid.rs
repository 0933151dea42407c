//! Greatest common divisors, inverses and symbols.

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Shape};

use crate::setting::{
    Check, Part, Rows, Setting, Tally, is_thorough, masked, on_every_backend, seed, zip,
};
use gpuint_testkit::operands::{self, EUCLID, FRACTIONS, Row};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 60_000, least: 26 };

struct Structured;

impl Check for Structured {
    const NAME: &str = "overflowing_lcm, xgcd";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        setting.each_part(shape, EUCLID, count, tally, |part| {
            let (a, b) = (part.a()?, part.b()?);
            part.each("overflowing_lcm", a.overflowing_lcm(&b)?, |row| {
                let lcm = oracle::lcm(&row.a, &row.b);
                (oracle::shl(&lcm, 0, shape.bits), lcm.bits() > shape.bits as u64)
            })?;
            // It is made of the operations above.
            if !part.turn.is_multiple_of(4) {
                return Ok(());
            }
            let (gcd, x, y, is_negative) = a.xgcd(&b)?;
            let got = zip(zip(x.to_biguints()?, y.to_biguints()?), is_negative.to_bools()?);
            let rows = part.rows.iter().zip(gcd.to_biguints()?).zip(got);
            for ((row, gcd), ((x, y), is_negative)) in rows {
                let is_right = gcd == oracle::gcd(&row.a, &row.b)
                    && oracle::are_cofactors(&row.a, &row.b, &gcd, &x, &y, is_negative);
                part.row(is_right, || {
                    let row = part.what("xgcd").row(row);
                    format!("{row}\n  {gcd:x} {x:x} {y:x} {is_negative}")
                });
            }
            Ok(())
        });
    }
}

/// Common divisors and inverses, also at the widths that have them by half-gcds only.
struct EveryWidth;

impl Check for EveryWidth {
    const NAME: &str = "gcd, inverse_mod at every width";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let device = &setting.devices()[0];
        // The simt backend takes minutes for half-gcds of whole rows, and the cpu backend for the
        // steps of Euclid's algorithm, which are the same at every width.
        let is_slow = match device.backend() {
            BackendKind::Simt => true,
            BackendKind::Cpu => !is_thorough(),
            _ => false,
        };
        let bits = if is_slow { shape.bits.min(20_000) } else { shape.bits };
        let mut rows = operands::rows(seed(), EUCLID, shape.into(), 0..4);
        for row in &mut rows {
            row.a >>= shape.bits - bits;
            row.b >>= shape.bits - bits;
        }
        Part::run(shape, device, 0, rows, tally, |part| {
            let (a, b) = (part.a()?, part.b()?);
            part.each("gcd", a.gcd(&b)?, |row| oracle::gcd(&row.a, &row.b))?;
            part.each("inverse_mod", a.inverse_mod(&b)?, |row| {
                masked(oracle::inverse_mod(&row.a, &row.b))
            })
        });
    }
}

struct OneModulus;

impl Check for OneModulus {
    const NAME: &str = "inverse_mod_all";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(8);
        setting.each_part(shape, EUCLID, count, tally, |part| {
            let (rows, turn) = (&part.rows, part.turn);
            // Few rows have no inverse modulo a prime; many have none modulo even numbers.
            let prime = BigUint::from(if turn.is_multiple_of(2) { u64::MAX - 58 } else { 7 });
            let small = BigUint::from([0u32, 1, 2, 12][turn % 4]);
            let odd = &rows[rows.len() / 2].b | BigUint::from(1u32);
            for modulus in [prime, small, rows[0].b.clone(), odd] {
                part.each("inverse_mod_all", part.a()?.inverse_mod_all(&modulus)?, |row| {
                    masked(oracle::inverse_mod(&row.a, &modulus))
                })?;
            }
            Ok(())
        });
    }
}

struct Fractions;

impl Check for Fractions {
    const NAME: &str = "rational_reconstruction";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(4);
        setting.each_part(shape, FRACTIONS, count, tally, |part| {
            // Bounds that make fractions unique, or too large or too small ones.
            let bounds = |row: &Row| {
                let root = oracle::isqrt(&(&row.b >> 1));
                match (part.turn + row.index) % 4 {
                    0 => [root.clone() * 3u32, root],
                    1 => [&root >> 5, root << 4],
                    _ => [root.clone(), root],
                }
                .map(|bound| oracle::shl(&bound, 0, shape.bits))
            };
            let [numerators, denominators] =
                [0, 1].map(|side| part.column(|row| bounds(row)[side].clone()));
            let (n, d, is_negative, without) =
                part.a()?.rational_reconstruction(&part.b()?, &numerators?, &denominators?)?;
            let got = (((n, d), is_negative), without);
            part.each("rational_reconstruction", got, |row| {
                let [most, longest] = bounds(row);
                let (n, d, is_negative) = oracle::remainder_of(&row.a, &row.b, &most);
                match d <= longest && oracle::gcd(&n, &d) == 1u32.into() {
                    true => (((n, d), is_negative), false),
                    false => (((0u32.into(), 0u32.into()), false), true),
                }
            })
        });
    }
}

on_every_backend! {
    structured: Structured, every_width: EveryWidth, fractions: Fractions, one_modulus: OneModulus,
}
