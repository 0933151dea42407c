//! Sorted rows.

use gpuint::{DynBatch, Shape};

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend};
use gpuint_testkit::operands::SUMS;
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 100_000, least: 156 };

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

on_every_backend! { sorted: Sorted, }
