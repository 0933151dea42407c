//! Products and squares of structured rows.

use gpuint::num_bigint::BigUint;
use gpuint::{Algorithm, BackendKind, DynBatch, Op, Product, Result, Shape, Strategy, is_offered};

use crate::setting::{Check, Part, Rows, Setting, Tally, doubled, on_every_backend};
use gpuint_testkit::operands::{PRODUCTS, Row, ones};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 80_000, least: 42 };

/// Both halves of the product of each row.
type Expected = [(BigUint, BigUint)];

/// Compares all products of rows by one strategy.
fn products(part: &Part<'_>, by: Strategy, expected: &Expected) -> Result<()> {
    let (a, b, mut low, mut high) = (part.a()?, part.b()?, part.old()?, part.old()?);
    let (name, bits) = (|name| format!("{name} by {by:?}"), part.shape.bits);
    let lows: Vec<_> = expected.iter().map(|(low, _)| low.clone()).collect();
    a.using(by).wrapping_mul_into(&b, &mut low)?;
    part.compare(&name("wrapping_mul"), &low, &lows)?;
    a.using(by).mul_lo_hi_into(&b, &mut low, &mut high)?;
    part.compare(&name("mul_lo_hi"), (&low, &high), expected)?;
    a.using(by).cyclic_mul_into(&b, &mut low)?;
    part.each(&name("cyclic_mul"), &low, |row| oracle::mul_cyclic(&row.a, &row.b, bits))?;
    part.each(&name("negacyclic_mul"), a.using(by).negacyclic_mul(&b)?, |row| {
        oracle::mul_negacyclic(&row.a, &row.b, bits)
    })?;
    a.using(by).wrapping_square_into(&mut high)?;
    part.each(&name("wrapping_square"), &high, |row: &Row| oracle::square(&row.a, bits))
}

struct Structured;

impl Check for Structured {
    const NAME: &str = "products";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let [classical, fft, has_ntt] = [Product::Classical, Product::Fft, Product::Ntt]
            .map(|product| is_offered(Op::MulLo, Algorithm::By(product), shape));
        let long = is_offered(Op::MulLo, Algorithm::Long, shape);
        let is_cpu = setting.backend == BackendKind::Cpu;
        let ntt = has_ntt && (!is_cpu || !classical);
        setting.each_part(shape, PRODUCTS, setting.count(ROWS, shape), tally, |part| {
            let (rows, bits) = (&part.rows, shape.bits);
            let expected: Vec<_> =
                rows.iter().map(|row| oracle::mul(&row.a, &row.b, bits)).collect();
            // The shim takes long for the matrices of long rows, so those have one schedule of
            // three.
            let is_slow = setting.backend == BackendKind::Simt && bits > 1 << 15;
            let tensor = classical && (!is_slow || part.turn % 3 == 1);
            for (by, is_tested) in [
                (Product::Classical.into(), classical),
                (Product::Ntt.into(), ntt),
                (Product::Karatsuba.into(), !is_cpu && classical),
                (Product::TensorCore.into(), !is_cpu && tensor),
                (Product::Fft.into(), !is_cpu && classical && fft),
                (Strategy::Long, !is_cpu && long),
            ] {
                if is_tested {
                    products(&part, by, &expected)?;
                }
            }
            if !is_cpu && part.turn % 4 == 0 {
                products(&part, Strategy::Auto, &expected)?;
            }
            // Full products in rows of twice the width.
            let Some(wide) = doubled(shape) else { return Ok(()) };
            let (a, b) = (part.a()?, part.b()?);
            let whole: Vec<_> = expected.iter().map(|(low, high)| low + (high << bits)).collect();
            for (by, is_tested) in [
                (Product::Classical.into(), classical),
                (Product::TensorCore.into(), tensor),
                (Product::Ntt.into(), ntt),
                (Product::Fft.into(), fft),
                (Strategy::Long, !is_cpu && long),
            ] {
                if is_tested {
                    let mut product =
                        DynBatch::splat(part.device, wide, &ones(wide.bits), rows.len())?;
                    a.using(by).widening_mul_into(&b, &mut product)?;
                    part.compare(&format!("widening_mul by {by:?}"), &product, &whole)?;
                }
            }
            Ok(())
        });
    }
}

on_every_backend! { structured: Structured, }
