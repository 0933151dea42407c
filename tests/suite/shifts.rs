//! Shifts by every distance at a boundary, and by every distance at one width.

use std::collections::BTreeSet;

use gpuint::{DigitKind, DynBatch, Shape};

use crate::setting::{Check, Context, Setting, Tally, first, is_thorough, on_every_backend, seed};
use gpuint_testkit::operands::{Row, SUMS, ones, rows};
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

/// Distances at and around the boundaries of digits, threads, warps and the whole integer, and some
/// others.
fn distances(shape: Shape) -> BTreeSet<usize> {
    // One width of each digit shows them all; `u64` has several of at most 1024 bits.
    let is_narrow = shape.bits <= 512 || shape.bits == 1024 && shape.digit != DigitKind::U64;
    if is_narrow || is_thorough() && shape.bits <= 1024 {
        return (0..=shape.bits + 1).collect();
    }
    let word = shape.digit.bits();
    let units = [1, 16, 32, 64, word, 2 * word, shape.q * word, 32 * word, 32 * shape.q * word];
    let mut distances: BTreeSet<usize> =
        units.into_iter().flat_map(|unit| [unit - 1, unit, unit + 1]).collect();
    for end in [shape.bits / 2, shape.bits - shape.q * word, shape.bits - word, shape.bits] {
        distances.extend([end - 1, end, end + 1]);
    }
    let mut random = Random::new(seed());
    distances.extend((0..8).map(|_| random.below(shape.bits)));
    distances.extend((0..8).map(|_| random.below(shape.digits()) * word));
    distances
}

struct Distances;

impl Check for Distances {
    const NAME: &str = "shifts";
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for (turn, distance) in distances(shape).into_iter().enumerate() {
            let device = &setting.devices()[turn % setting.devices().len()];
            // Each distance uses the next families of the list, in all lengths. Wide rows, which
            // take most of the time, are fewer.
            let count = if shape.bits > 65536 && !is_thorough() { 2 } else { 5 };
            let rows = rows(seed(), SUMS, shape.into(), (0..count).map(|row| turn * count + row));
            let what = format!("shl and shr by {distance}");
            let what = Context::new(shape, &what, device);
            tally.attempt(&what, 2 * rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let mut out = DynBatch::splat(device, shape, &ones(shape.bits), rows.len())?;
                a.shl_into(distance, &mut out)?;
                let left: Vec<_> =
                    rows.iter().map(|row| oracle::shl(&row.a, distance, shape.bits)).collect();
                tally.values(&what, &rows, &out.to_biguints()?, &left);
                a.shr_into(distance, &mut out)?;
                let right: Vec<_> = rows.iter().map(|row| oracle::shr(&row.a, distance)).collect();
                tally.values(&what, &rows, &out.to_biguints()?, &right);

                let turned = |left: usize| -> Vec<_> {
                    let halves = |row: &Row| {
                        let high = oracle::shl(&row.a, left, shape.bits);
                        high + oracle::shr(&row.a, shape.bits - left)
                    };
                    rows.iter().map(halves).collect()
                };
                let turn = distance % shape.bits;
                let counts = vec![distance; rows.len()];
                for rotated in [a.rotate_left(distance)?, a.rotate_left_rows(&counts)?] {
                    tally.values(&what, &rows, &rotated.to_biguints()?, &turned(turn));
                }
                for rotated in [a.rotate_right(distance)?, a.rotate_right_rows(&counts)?] {
                    let expected = turned(shape.bits - turn);
                    tally.values(&what, &rows, &rotated.to_biguints()?, &expected);
                }

                if distance % shape.digit.bits() == 0 {
                    let digits = distance / shape.digit.bits();
                    a.shl_digits_into(digits, &mut out)?;
                    tally.values(&what, &rows, &out.to_biguints()?, &left);
                    a.shr_digits_into(digits, &mut out)?;
                    tally.values(&what, &rows, &out.to_biguints()?, &right);
                }
                Ok(())
            });
        }
    }
}

on_every_backend! { distances: Distances, }
