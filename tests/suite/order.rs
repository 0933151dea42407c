//! Comparisons, masks and bit lengths of structured rows.

use std::cmp::Ordering;

use gpuint::{DynBatch, Shape};
use num_traits::Zero;

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend, second};
use gpuint_testkit::operands::{Row, SUMS};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 100_000, least: 156 };

struct Structured;

impl Check for Structured {
    const NAME: &str = "comparisons and bit lengths";
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (_, device, rows) in setting.parts(shape, SUMS, count) {
            let what = |name| Context::new(shape, name, device);
            tally.attempt(&what("comparison"), rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let b = DynBatch::from_biguints(device, shape, &second(&rows))?;
                let order: Vec<_> = rows.iter().map(|row| oracle::cmp(&row.a, &row.b)).collect();
                let is = |wanted: Ordering| -> Vec<bool> {
                    order.iter().map(|order| *order == wanted).collect()
                };

                tally.values(&what("cmp"), &rows, &a.cmp(&b)?, &order);

                // One mask for all tests: its old content must not matter.
                let mut mask = a.eq_mask(&a)?;
                a.lt_mask_into(&b, &mut mask)?;
                let less = is(Ordering::Less);
                tally.values(&what("lt_mask"), &rows, &mask.to_bools()?, &less);
                let count = less.iter().filter(|less| **less).count();
                tally.row(mask.count()? == count && mask.any()? == (count > 0), || {
                    format!("{}: the count", what("lt_mask"))
                });
                a.eq_mask_into(&b, &mut mask)?;
                tally.values(&what("eq_mask"), &rows, &mask.to_bools()?, &is(Ordering::Equal));
                a.is_zero_mask_into(&mut mask)?;
                let zero: Vec<_> = rows.iter().map(|row| row.a.is_zero()).collect();
                tally.values(&what("is_zero_mask"), &rows, &mask.to_bools()?, &zero);

                let lengths = |rows: &[Row]| -> Vec<u64> {
                    rows.iter().map(|row| oracle::bits(&row.b)).collect()
                };
                tally.values(&what("bit_lengths"), &rows, &b.bit_lengths()?, &lengths(&rows));
                Ok(())
            });
        }
    }
}

struct Sorted;

impl Check for Sorted {
    const NAME: &str = "sort, unique";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(4);
        for (part, device, mut rows) in setting.parts(shape, SUMS, count) {
            let what = |name| Context::new(shape, name, device);
            // Equal rows, and rows that differ in a low bit only.
            for index in 1..rows.len() {
                if index % 3 == part % 2 {
                    rows[index].a = rows[index / 2].a.clone();
                    rows[index].a.set_bit((index % 5) as u64, index.is_multiple_of(2));
                }
            }
            tally.attempt(&what("sort"), rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let mut order: Vec<usize> = (0..rows.len()).collect();
                order.sort_by(|&a, &b| oracle::cmp(&rows[a].a, &rows[b].a));
                let mut values: Vec<_> = order.iter().map(|&row| rows[row].a.clone()).collect();
                let indices = a.sort_indices()?;
                tally.row(indices == order, || what("sort_indices").to_string());
                tally.values(&what("sort"), &rows, &a.sort()?.to_biguints()?, &values);
                values.dedup();
                let unique = a.unique()?.to_biguints()?;
                tally.row(unique == values, || what("unique").to_string());
                let none = a.slice(0..0)?;
                tally.row(none.unique()?.is_empty(), || what("unique").to_string());
                Ok(())
            });
        }
    }
}

on_every_backend! { structured: Structured, sorted: Sorted, }
