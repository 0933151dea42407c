//! Sorted rows.

use gpuint::Shape;

use crate::setting::{Check, Rows, Setting, Tally, on_every_backend};
use gpuint_testkit::operands::SUMS;
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 100_000, least: 156 };

struct Sorted;

impl Check for Sorted {
    const NAME: &str = "sort, unique";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(4);
        setting.each_part(shape, SUMS, count, tally, |mut part| {
            let rows = &mut part.rows;
            // Equal rows, and rows that differ in a low bit only.
            for index in 1..rows.len() {
                if index % 3 == part.turn % 2 {
                    rows[index].a = rows[index / 2].a.clone();
                    rows[index].a.set_bit((index % 5) as u64, index.is_multiple_of(2));
                }
            }
            let (a, rows) = (part.a()?, &part.rows);
            let mut order: Vec<usize> = (0..rows.len()).collect();
            order.sort_by(|&a, &b| oracle::cmp(&rows[a].a, &rows[b].a));
            let mut values: Vec<_> = order.iter().map(|&row| rows[row].a.clone()).collect();
            part.expect("sort_indices", a.sort_indices()?, order);
            part.compare("sort", a.sort()?, &values)?;
            values.dedup();
            part.expect("unique", a.unique()?.to_biguints()?, values);
            part.expect("unique", a.slice(0..0)?.unique()?.len(), 0);
            Ok(())
        });
    }
}

on_every_backend! { sorted: Sorted, }
