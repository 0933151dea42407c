//! Products and squares of structured rows.

use gpuint::num_bigint::BigUint;
use gpuint::{Algorithm, BackendKind, Device, DynBatch, Op, Product, Shape, Strategy, is_offered};

use crate::rows::expect;
use crate::setting::{
    Check, Context, Rows, Setting, Tally, doubled, first, on_every_backend, second, zip,
};
use gpuint_testkit::operands::{PRODUCTS, Row, ones};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 80_000, least: 42 };

/// All products of some rows.
struct Products<'a> {
    strategy: &'static str,
    device: &'a Device,
    rows: &'a [Row],
    /// Both halves of each product.
    expected: &'a [(BigUint, BigUint)],
    /// True if products by digits exist: for all but the widest shapes.
    classical: bool,
    /// True if tensor cores are tested.
    tensor: bool,
    /// True if transforms of this width exist and are tested.
    fft: bool,
    ntt: bool,
}

impl Products<'_> {
    fn check(&self, shape: Shape, by: Strategy, tally: &mut Tally) {
        let Self { strategy, device, rows, expected, .. } = self;
        let what = format!("wrapping_mul by {strategy}");
        let what = Context::new(shape, &what, device);
        tally.attempt(&what, rows.len(), |tally| {
            let a = DynBatch::from_biguints(device, shape, &first(rows))?;
            let b = DynBatch::from_biguints(device, shape, &second(rows))?;
            let dirty = DynBatch::splat(device, shape, &ones(shape.bits), rows.len())?;

            let mut product = dirty.try_clone()?;
            a.using(by).wrapping_mul_into(&b, &mut product)?;
            let lows: Vec<_> = expected.iter().map(|(low, _)| low.clone()).collect();
            tally.values(&what, rows, &product.to_biguints()?, &lows);

            let what = format!("mul_lo_hi by {strategy}");
            let what = Context::new(shape, &what, device);
            let (mut low, mut high) = (product, dirty.try_clone()?);
            a.using(by).mul_lo_hi_into(&b, &mut low, &mut high)?;
            tally.values(&what, rows, &zip(low.to_biguints()?, high.to_biguints()?), expected);

            let what = format!("cyclic_mul by {strategy}");
            let what = Context::new(shape, &what, device);
            let mut cyclic = dirty.try_clone()?;
            a.using(by).cyclic_mul_into(&b, &mut cyclic)?;
            let expected: Vec<_> =
                rows.iter().map(|row| oracle::mul_cyclic(&row.a, &row.b, shape.bits)).collect();
            tally.values(&what, rows, &cyclic.to_biguints()?, &expected);
            let what = format!("negacyclic_mul by {strategy}");
            let (negacyclic, is_minus_one) = a.using(by).negacyclic_mul(&b)?;
            let of = |row: &Row| oracle::mul_negacyclic(&row.a, &row.b, shape.bits);
            let (expected, flags): (Vec<_>, Vec<_>) = rows.iter().map(of).unzip();
            let what = Context::new(shape, &what, device);
            tally.values(&what, rows, &negacyclic.to_biguints()?, &expected);
            expect(tally, &what, is_minus_one.to_bools()?, flags);

            let what = format!("wrapping_square by {strategy}");
            let what = Context::new(shape, &what, device);
            let mut square = dirty;
            a.using(by).wrapping_square_into(&mut square)?;
            let squares: Vec<_> =
                rows.iter().map(|row| oracle::square(&row.a, shape.bits)).collect();
            tally.values(&what, rows, &square.to_biguints()?, &squares);
            Ok(())
        });
    }
}

/// Full products in rows of twice the width.
fn wide([shape, wide]: [Shape; 2], products: &Products<'_>, tally: &mut Tally) {
    let Products { device, rows, expected, classical, tensor, fft, ntt, .. } = *products;
    let what = Context::new(shape, "widening_mul", device);
    tally.attempt(&what, rows.len(), |tally| {
        let a = DynBatch::from_biguints(device, shape, &first(rows))?;
        let b = DynBatch::from_biguints(device, shape, &second(rows))?;
        let dirty = DynBatch::splat(device, wide, &ones(wide.bits), rows.len())?;
        let whole: Vec<_> = expected.iter().map(|(low, high)| low + (high << shape.bits)).collect();
        let strategies = [
            (Product::Classical, classical),
            (Product::TensorCore, tensor),
            (Product::Ntt, ntt),
            (Product::Fft, fft),
        ];
        for (by, _) in strategies.into_iter().filter(|strategy| strategy.1) {
            let mut product = dirty.try_clone()?;
            a.using(by).widening_mul_into(&b, &mut product)?;
            tally.values(&what, rows, &product.to_biguints()?, &whole);
        }
        Ok(())
    });
}

struct Structured;

impl Check for Structured {
    const NAME: &str = "products";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        let [classical, fft, has_ntt] = [Product::Classical, Product::Fft, Product::Ntt]
            .map(|product| is_offered(Op::MulLo, Algorithm::By(product), shape));
        for (part, device, rows) in setting.parts(shape, PRODUCTS, count) {
            let expected: Vec<_> =
                rows.iter().map(|row| oracle::mul(&row.a, &row.b, shape.bits)).collect();
            // The shim takes long for the matrices of long rows, so those have one schedule of
            // three.
            let tensor = classical
                && (setting.backend != BackendKind::Simt || shape.bits <= 1 << 15 || part % 3 == 1);
            let ntt = has_ntt && (setting.backend != BackendKind::Cpu || !classical);
            let (strategy, rows, expected) = ("Classical", &rows, &expected);
            let products =
                Products { strategy, device, rows, expected, classical, tensor, fft, ntt };
            if classical {
                products.check(shape, Strategy::Product(Product::Classical), tally);
            }
            if ntt {
                Products { strategy: "Ntt", ..products }.check(
                    shape,
                    Strategy::Product(Product::Ntt),
                    tally,
                );
            }
            if setting.backend != BackendKind::Cpu && classical {
                Products { strategy: "Karatsuba", ..products }.check(
                    shape,
                    Strategy::Product(Product::Karatsuba),
                    tally,
                );
                if tensor {
                    Products { strategy: "TensorCore", ..products }.check(
                        shape,
                        Strategy::Product(Product::TensorCore),
                        tally,
                    );
                }
                if fft {
                    Products { strategy: "Fft", ..products }.check(
                        shape,
                        Strategy::Product(Product::Fft),
                        tally,
                    );
                }
            }
            if let Some(doubled) = doubled(shape) {
                wide([shape, doubled], &products, tally);
            }
            if setting.backend != BackendKind::Cpu && part % 4 == 0 {
                Products { strategy: "Auto", ..products }.check(shape, Strategy::Auto, tally);
            }
        }
    }
}

on_every_backend! { structured: Structured, }
