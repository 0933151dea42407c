//! One value for all rows, products with a summand, and sums down a batch.

use gpuint::num_bigint::BigUint;
use gpuint::{DynBatch, Error, Shape};
use num_traits::Zero;

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend, second};
use gpuint_testkit::operands::{SUMS, power};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 20_000, least: 26 };

struct Values;

impl Check for Values {
    const NAME: &str = "one value for all rows";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (part, device, rows) in setting.parts(shape, SUMS, count) {
            let what = |name| Context::new(shape, name, device);
            tally.attempt(&what("one value"), rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let value = &rows[part * 5 % rows.len()].b;
                let sums: Vec<_> =
                    rows.iter().map(|row| oracle::add(&row.a, value, shape.bits).0).collect();
                let got = a.wrapping_add_all(value)?.to_biguints()?;
                tally.values(&what("wrapping_add_all"), &rows, &got, &sums);
                let differences: Vec<_> =
                    rows.iter().map(|row| oracle::sub(&row.a, value, shape.bits).0).collect();
                let got = a.wrapping_sub_all(value)?.to_biguints()?;
                tally.values(&what("wrapping_sub_all"), &rows, &got, &differences);
                let order: Vec<_> = rows.iter().map(|row| oracle::cmp(&row.a, value)).collect();
                tally.values(&what("cmp_all"), &rows, &a.cmp_all(value)?, &order);
                let less: Vec<_> = order.iter().map(|order| order.is_lt()).collect();
                let got = a.lt_mask_all(value)?.to_bools()?;
                tally.values(&what("lt_mask_all"), &rows, &got, &less);
                let equal: Vec<_> = order.iter().map(|order| order.is_eq()).collect();
                let got = a.eq_mask_all(value)?.to_bools()?;
                tally.values(&what("eq_mask_all"), &rows, &got, &equal);
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

on_every_backend! { values: Values, products: Products, }
