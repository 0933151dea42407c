//! One value for all rows, products with a summand, sums of products, and sums down a batch.

use gpuint::num_bigint::BigUint;
use gpuint::{Device, DynBatch, Error, Shape, narrowest, shapes};
use num_traits::Zero;

use crate::setting::{
    Check, Context, Rows, Setting, Tally, doubled, first, on_every_backend, second, zip,
};
use gpuint_testkit::operands::{PRODUCTS, SUMS, power};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 20_000, least: 26 };

struct Values;

impl Check for Values {
    const NAME: &str = "wide values for all rows, sums of all rows";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (_, device, rows) in setting.parts(shape, SUMS, count) {
            let what = |name| Context::new(shape, name, device);
            tally.attempt(&what("wrapping_sum"), rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let wide =
                    Error::TooWide { row: 0, bits: shape.bits as u64 + 1, width: shape.bits };
                let error = a.cmp_all(&power(shape.bits)).err();
                tally.row(error == Some(wide), || format!("{}: {error:?}", what("cmp_all")));

                for length in [0, 1, 2, 3, rows.len()] {
                    let length = length.min(rows.len());
                    let expected = rows[..length]
                        .iter()
                        .fold(BigUint::zero(), |sum, row| oracle::add(&sum, &row.a, shape.bits).0);
                    let sum = a.slice(0..length)?.wrapping_sum()?;
                    tally.row(sum == expected, || {
                        format!("{}: {length} rows: {sum:#x}", what("wrapping_sum"))
                    });
                }
                Ok(())
            });
        }
    }
}

struct Products;

impl Check for Products {
    const NAME: &str = "products by one value, with a summand";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(4);
        for (part, device, rows) in setting.parts(shape, SUMS, count) {
            let what = |name| Context::new(shape, name, device);
            tally.attempt(&what("products"), rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let b = DynBatch::from_biguints(device, shape, &second(&rows))?;
                let value = &rows[part * 5 % rows.len()].b;
                let products: Vec<_> =
                    rows.iter().map(|row| oracle::mul(&row.a, value, shape.bits).0).collect();
                let got = a.wrapping_mul_all(value)?.to_biguints()?;
                tally.values(&what("wrapping_mul_all"), &rows, &got, &products);
                let sums: Vec<_> = rows
                    .iter()
                    .map(|row| {
                        let product = oracle::mul(&row.a, &row.b, shape.bits).0;
                        oracle::add(&product, &row.a, shape.bits).0
                    })
                    .collect();
                let got = a.mul_add(&b, &a)?.to_biguints()?;
                tally.values(&what("mul_add"), &rows, &got, &sums);
                let differences: Vec<_> = rows
                    .iter()
                    .map(|row| {
                        let product = oracle::mul(&row.a, &row.b, shape.bits).0;
                        oracle::sub(&product, &row.b, shape.bits).0
                    })
                    .collect();
                let got = a.mul_sub(&b, &b)?.to_biguints()?;
                tally.values(&what("mul_sub"), &rows, &got, &differences);

                let coefficients =
                    [part % 4, 1, 3].map(|count| second(&rows[..count.min(rows.len())]));
                for coefficients in &coefficients {
                    let polynomial = |x: &BigUint| {
                        coefficients.iter().rev().fold(BigUint::zero(), |value, coefficient| {
                            let product = oracle::mul(&value, x, shape.bits).0;
                            oracle::add(&product, coefficient, shape.bits).0
                        })
                    };
                    let expected: Vec<_> = rows.iter().map(|row| polynomial(&row.a)).collect();
                    let got = a.wrapping_polynomial(coefficients)?.to_biguints()?;
                    tally.values(&what("wrapping_polynomial"), &rows, &got, &expected);
                }
                let wide = [BigUint::zero(), power(shape.bits)];
                let error = a.wrapping_polynomial(&wide).err();
                let wide =
                    Error::TooWide { row: 1, bits: shape.bits as u64 + 1, width: shape.bits };
                tally.row(error == Some(wide), || format!("{error:?}"));
                let dot = rows.iter().fold(BigUint::zero(), |sum, row| {
                    let product = oracle::mul(&row.a, &row.b, shape.bits).0;
                    oracle::add(&sum, &product, shape.bits).0
                });
                let got = a.wrapping_dot(&b)?;
                tally.row(got == dot, || what("wrapping_dot").to_string());
                Ok(())
            });
        }
    }
}

struct SumsOfProducts;

impl Check for SumsOfProducts {
    const NAME: &str = "sums of products";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(4);
        for (part, device, rows) in setting.parts(shape, PRODUCTS, count) {
            let what = |name| Context::new(shape, name, device);
            tally.attempt(&what("sums of products"), rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let b = DynBatch::from_biguints(device, shape, &second(&rows))?;
                // Few pairs, among them squares of full rows, whose sums overflow, and more than a
                // launch adds.
                let pairs = &[(&a, &b), (&b, &b), (&a, &a), (&b, &a), (&a, &a)][part % 3..];
                let most = if shape.bits > 2048 { pairs.len() } else { 34 };
                for count in [1, 2 + part % 2, most] {
                    let pairs: Vec<_> = pairs.iter().copied().cycle().take(count).collect();
                    let pairs = &pairs[..];
                    let sums: Vec<BigUint> = rows
                        .iter()
                        .map(|row| {
                            let value = |batch: &DynBatch| match std::ptr::eq(batch, &a) {
                                true => row.a.clone(),
                                false => row.b.clone(),
                            };
                            let products = pairs.iter().map(|(x, y)| [value(x), value(y)]);
                            oracle::sum(products.map(|factors| oracle::product(&factors)))
                        })
                        .collect();
                    let low: Vec<_> =
                        sums.iter().map(|sum| oracle::shl(sum, 0, shape.bits)).collect();
                    let got = DynBatch::wrapping_sum_of_products(pairs)?.to_biguints()?;
                    tally.values(&what("wrapping_sum_of_products"), &rows, &got, &low);
                    if doubled(shape).is_some() {
                        let wide = 2 * shape.bits;
                        let (sum, overflow) = DynBatch::widening_sum_of_products(pairs)?;
                        let got = zip(sum.to_biguints()?, overflow.to_bools()?);
                        let expected: Vec<_> = sums
                            .iter()
                            .map(|sum| (oracle::shl(sum, 0, wide), oracle::bits(sum) > wide as u64))
                            .collect();
                        tally.values(&what("widening_sum_of_products"), &rows, &got, &expected);
                    }
                }
                Ok(())
            });
        }
    }
}

on_every_backend! { values: Values, products: Products, sums_of_products: SumsOfProducts, }

#[test]
fn sums_of_products_of_mismatched_batches_are_rejected() {
    let device = Device::cpu();
    let shape = shapes()[0];
    let none = Some(Error::LengthMismatch { left: 0, right: 1 });
    assert_eq!(DynBatch::wrapping_sum_of_products(&[]).err(), none);
    assert_eq!(DynBatch::widening_sum_of_products(&[]).err(), none);
    let [two, three] = [2, 3].map(|rows| DynBatch::zeros(&device, shape, rows).unwrap());
    let error = Some(Error::LengthMismatch { left: 2, right: 3 });
    let pairs = [(&two, &two), (&two, &three)];
    assert_eq!(DynBatch::wrapping_sum_of_products(&pairs).err(), error);
    assert_eq!(DynBatch::widening_sum_of_products(&pairs).err(), error);
    let other = DynBatch::zeros(&device, narrowest(shape.bits + 1).unwrap(), 2).unwrap();
    let error = Some(Error::ShapeMismatch { left: shape, right: other.shape() });
    assert_eq!(DynBatch::wrapping_sum_of_products(&[(&two, &other)]).err(), error);
    assert_eq!(two.mul_sub(&two, &other).err(), error);
}
