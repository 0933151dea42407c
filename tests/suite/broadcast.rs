//! Sums of products.

use gpuint::{Device, DynBatch, Error, Shape, narrowest, shapes};

use crate::setting::{Check, Rows, Setting, Tally, doubled, on_every_backend};
use gpuint_testkit::operands::{PRODUCTS, Row};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 20_000, least: 26 };

struct SumsOfProducts;

impl Check for SumsOfProducts {
    const NAME: &str = "sums of products";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(4);
        setting.each_part(shape, PRODUCTS, count, tally, |part| {
            let (a, b) = (part.a()?, part.b()?);
            // Few pairs, among them squares of full rows, whose sums overflow, and more than a
            // launch adds.
            let pairs = [(&a, &b), (&b, &b), (&a, &a), (&b, &a), (&a, &a)];
            let pairs = &pairs[part.turn % 3..];
            let most = if shape.bits > 2048 { pairs.len() } else { 34 };
            for count in [1, 2 + part.turn % 2, most] {
                let pairs: Vec<_> = pairs.iter().copied().cycle().take(count).collect();
                let sum = |row: &Row| {
                    let value = |batch: &DynBatch| {
                        if std::ptr::eq(batch, &a) { row.a.clone() } else { row.b.clone() }
                    };
                    let products = pairs.iter().map(|(x, y)| [value(x), value(y)]);
                    oracle::sum(products.map(|factors| oracle::product(&factors)))
                };
                let low = DynBatch::wrapping_sum_of_products(&pairs)?;
                let low_sum = |row: &Row| oracle::shl(&sum(row), 0, shape.bits);
                part.each("wrapping_sum_of_products", low, low_sum)?;
                if doubled(shape).is_some() {
                    let wide = 2 * shape.bits;
                    let sums = DynBatch::widening_sum_of_products(&pairs)?;
                    part.each("widening_sum_of_products", sums, |row| {
                        let sum = sum(row);
                        (oracle::shl(&sum, 0, wide), oracle::bits(&sum) > wide as u64)
                    })?;
                }
            }
            Ok(())
        });
    }
}

on_every_backend! { sums_of_products: SumsOfProducts, }

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
