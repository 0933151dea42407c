//! Shifts by every distance that is a boundary of something, and at one width by every distance.

use std::collections::BTreeSet;

use gpuint::{Batch, Kernels};

use crate::setting::{Check, Context, Setting, Tally, first, on_every_backend, seed};
use gpuint_testkit::operands::{SUMS, ones, rows};
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

/// Distances at and around the boundaries of digits, threads, warps and the whole integer, and
/// some others.
fn distances<T: Kernels>() -> BTreeSet<usize> {
    if T::BITS <= 1024 {
        return (0..=T::BITS + 1).collect();
    }
    let word = T::DIGIT_BITS;
    let units = [1, 16, 32, 64, word, 2 * word, T::Q * word, 32 * word, 32 * T::Q * word];
    let mut distances: BTreeSet<usize> =
        units.into_iter().flat_map(|unit| [unit - 1, unit, unit + 1]).collect();
    for end in [T::BITS / 2, T::BITS - T::Q * word, T::BITS - word, T::BITS] {
        distances.extend([end - 1, end, end + 1]);
    }
    let mut random = Random::new(seed());
    distances.extend((0..8).map(|_| random.below(T::BITS)));
    distances.extend((0..8).map(|_| random.below(T::DIGITS) * word));
    distances
}

struct Distances;

impl Check for Distances {
    const NAME: &str = "shifts";

    fn check<T: Kernels>(setting: &Setting, tally: &mut Tally) {
        for (turn, distance) in distances::<T>().into_iter().enumerate() {
            let device = &setting.devices()[turn % setting.devices().len()];
            // Every distance has the families of one third of the list, of all lengths.
            let rows = rows(seed(), SUMS, T::SHAPE.into(), (0..5).map(|row| turn * 5 + row));
            let what = format!("shl and shr by {distance}");
            let what = Context::new::<T>(&what, device);
            tally.attempt(&what, 2 * rows.len(), |tally| {
                let a = Batch::<T>::from_biguints(device, &first(&rows))?;
                let mut out = Batch::splat(device, &ones(T::BITS), rows.len())?;
                a.shl_into(distance, &mut out)?;
                let left: Vec<_> =
                    rows.iter().map(|row| oracle::shl(&row.a, distance, T::BITS)).collect();
                tally.values(&what, &rows, &out.to_biguints()?, &left);
                a.shr_into(distance, &mut out)?;
                let right: Vec<_> = rows.iter().map(|row| oracle::shr(&row.a, distance)).collect();
                tally.values(&what, &rows, &out.to_biguints()?, &right);

                if distance % T::DIGIT_BITS == 0 {
                    let digits = distance / T::DIGIT_BITS;
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
