//! Shifts by every distance at a boundary, and by every distance at one width.

use std::collections::BTreeSet;

use gpuint::{DigitKind, Result, Shape};

use crate::setting::{Check, Part, Setting, Tally, is_thorough, on_every_backend, seed};
use gpuint_testkit::operands::{Row, SUMS, rows};
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

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for (turn, distance) in distances(shape).into_iter().enumerate() {
            let device = &setting.devices()[turn % setting.devices().len()];
            // Each distance uses the next families of the list, in all lengths. Wide rows, which
            // take most of the time, are fewer.
            let count = if shape.bits > 65536 && !is_thorough() { 2 } else { 5 };
            let rows = rows(seed(), SUMS, shape.into(), (0..count).map(|row| turn * count + row));
            Part::run(shape, device, distance, rows, tally, |part| shift(&part, distance));
        }
    }
}

fn shift(part: &Part<'_>, distance: usize) -> Result<()> {
    let (a, mut out, bits) = (part.a()?, part.old()?, part.shape.bits);
    let name = |name| format!("{name} by {distance}");
    let left = |row: &Row| oracle::shl(&row.a, distance, bits);
    let right = |row: &Row| oracle::shr(&row.a, distance);
    a.shl_into(distance, &mut out)?;
    part.each(&name("shl"), &out, left)?;
    a.shr_into(distance, &mut out)?;
    part.each(&name("shr"), &out, right)?;

    if distance.is_multiple_of(part.shape.digit.bits()) {
        let digits = distance / part.shape.digit.bits();
        a.shl_digits_into(digits, &mut out)?;
        part.each(&name("shl_digits"), &out, left)?;
        a.shr_digits_into(digits, &mut out)?;
        part.each(&name("shr_digits"), &out, right)?;
    }
    Ok(())
}

on_every_backend! { distances: Distances, }
