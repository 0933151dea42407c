//! Products and squares of structured rows.

use gpuint::num_bigint::BigUint;
use gpuint::{
    Algorithm, Auto, BackendKind, Batch, Classical, Device, Fft, Karatsuba, Kernels, Mult, Ntt, Op,
    Product, TensorCore, Widen, WideningVisitor, is_offered, visit_widening,
};

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend, second, zip};
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
    /// Whether there are products by digits, which all but the widest shapes have.
    classical: bool,
    /// Whether tensor cores are tried.
    tensor: bool,
    /// Whether there are transforms of this width, and are tried.
    fft: bool,
    ntt: bool,
}

impl Products<'_> {
    fn check<T: Kernels, M: Mult<T>>(&self, tally: &mut Tally) {
        let Self { strategy, device, rows, expected, .. } = self;
        let what = format!("wrapping_mul by {strategy}");
        let what = Context::new::<T>(&what, device);
        tally.attempt(&what, rows.len(), |tally| {
            let a = Batch::<T>::from_biguints(device, &first(rows))?;
            let b = Batch::from_biguints(device, &second(rows))?;
            let dirty = Batch::splat(device, &ones(T::BITS), rows.len())?;

            let mut product = dirty.try_clone()?;
            a.wrapping_mul_with_into::<M>(&b, &mut product)?;
            let lows: Vec<_> = expected.iter().map(|(low, _)| low.clone()).collect();
            tally.values(&what, rows, &product.to_biguints()?, &lows);

            let what = format!("mul_lo_hi by {strategy}");
            let what = Context::new::<T>(&what, device);
            let (mut low, mut high) = (product, dirty.try_clone()?);
            a.mul_lo_hi_with_into::<M>(&b, &mut low, &mut high)?;
            tally.values(&what, rows, &zip(low.to_biguints()?, high.to_biguints()?), expected);

            let what = format!("wrapping_square by {strategy}");
            let what = Context::new::<T>(&what, device);
            let mut square = dirty;
            a.wrapping_square_with_into::<M>(&mut square)?;
            let squares: Vec<_> = rows.iter().map(|row| oracle::square(&row.a, T::BITS)).collect();
            tally.values(&what, rows, &square.to_biguints()?, &squares);
            Ok(())
        });
    }
}

/// The product in rows of twice the width, where these are built.
struct Wide<'a> {
    products: &'a Products<'a>,
    tally: &'a mut Tally,
}

impl WideningVisitor for Wide<'_> {
    type Output = ();
    fn visit<T: Widen>(self) {
        let Products { device, rows, expected, classical, tensor, fft, ntt, .. } = self.products;
        let what = Context::new::<T>("widening_mul", device);
        self.tally.attempt(&what, rows.len(), |tally| {
            let a = Batch::<T>::from_biguints(device, &first(rows))?;
            let b = Batch::from_biguints(device, &second(rows))?;
            let dirty = Batch::splat(device, &ones(2 * T::BITS), rows.len())?;
            let whole: Vec<_> =
                expected.iter().map(|(low, high)| low + (high << T::BITS)).collect();
            if *classical {
                let mut product = dirty.try_clone()?;
                a.widening_mul_with_into::<Classical, T::Wide>(&b, &mut product)?;
                tally.values(&what, rows, &product.to_biguints()?, &whole);
            }
            if *tensor {
                let mut product = dirty.try_clone()?;
                a.widening_mul_with_into::<TensorCore, T::Wide>(&b, &mut product)?;
                tally.values(&what, rows, &product.to_biguints()?, &whole);
            }
            if *ntt {
                let mut product = dirty.try_clone()?;
                a.widening_mul_with_into::<Ntt, T::Wide>(&b, &mut product)?;
                tally.values(&what, rows, &product.to_biguints()?, &whole);
            }
            if *fft {
                let mut product = dirty;
                a.widening_mul_with_into::<Fft, T::Wide>(&b, &mut product)?;
                tally.values(&what, rows, &product.to_biguints()?, &whole);
            }
            Ok(())
        });
    }
}

struct Structured;

impl Check for Structured {
    const NAME: &str = "products";

    fn check<T: Kernels>(setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, T::SHAPE);
        let [classical, fft, has_ntt] = [Product::Classical, Product::Fft, Product::Ntt]
            .map(|product| is_offered(Op::MulLo, Algorithm::By(product), T::SHAPE));
        for (part, device, rows) in setting.parts::<T>(PRODUCTS, count) {
            let expected: Vec<_> =
                rows.iter().map(|row| oracle::mul(&row.a, &row.b, T::BITS)).collect();
            // The shim takes a while for the matrices of long rows: there, one schedule of three.
            let tensor = classical
                && (setting.backend != BackendKind::Simt || T::BITS <= 1 << 15 || part % 3 == 1);
            let ntt = has_ntt && (setting.backend != BackendKind::Cpu || !classical);
            let (strategy, rows, expected) = ("Classical", &rows, &expected);
            let products =
                Products { strategy, device, rows, expected, classical, tensor, fft, ntt };
            if classical {
                products.check::<T, Classical>(tally);
            }
            if ntt {
                Products { strategy: "Ntt", ..products }.check::<T, Ntt>(tally);
            }
            if setting.backend != BackendKind::Cpu && classical {
                Products { strategy: "Karatsuba", ..products }.check::<T, Karatsuba>(tally);
                if tensor {
                    Products { strategy: "TensorCore", ..products }.check::<T, TensorCore>(tally);
                }
                if fft {
                    Products { strategy: "Fft", ..products }.check::<T, Fft>(tally);
                }
            }
            visit_widening(T::SHAPE, Wide { products: &products, tally });
            if setting.backend != BackendKind::Cpu && part % 4 == 0 {
                Products { strategy: "Auto", ..products }.check::<T, Auto>(tally);
            }
        }
    }
}

on_every_backend! { structured: Structured, }
