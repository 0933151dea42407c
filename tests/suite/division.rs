//! Division of structured rows: all families, every strategy, zero divisors among the others.

use gpuint::num_bigint::BigUint;
use gpuint::{
    Algorithm, Auto, BackendKind, Batch, Blocked, Classical, Device, Division, Fft, Karatsuba,
    Kernels, Mask, Op, Product, Result, ShiftedInverse, TensorCore, is_offered,
};
use num_traits::Zero;

use crate::setting::{Check, Context, Hex, Rows, Setting, Tally, first, on_every_backend, second};
use gpuint_testkit::operands::{DIVISIONS, Row, ones};
use gpuint_testkit::oracle;

/// On 10^5 rows and more of each digit, most of them narrow.
const ROWS: Rows = Rows { threads: 480_000, least: 90 };

/// The quotient, the remainder, and whether the divisor is 0.
pub(crate) type Expected = [(BigUint, BigUint, bool)];

/// What the masked division must say of each row.
pub(crate) fn expected<T: Kernels>(rows: &[Row]) -> Box<Expected> {
    rows.iter().map(|row| oracle::div_rem_masked(&row.a, &row.b, T::BITS)).collect()
}

/// Divides rows by one strategy and checks both the values and their definition.
pub(crate) fn divide<T: Kernels, S: Division<T>>(
    strategy: &str,
    device: &Device,
    rows: &[Row],
    expected: &Expected,
    tally: &mut Tally,
) {
    let what = format!("div_rem by {strategy}");
    let what = Context::new::<T>(&what, device);
    tally.attempt(&what, rows.len(), |tally| {
        let (q, r, zero) = results::<T, S>(device, rows)?;
        let (q, r) = (q.to_biguints()?, r.to_biguints()?);
        let zero = zero.to_bools()?;
        for (index, row) in rows.iter().enumerate() {
            let got = (q[index].clone(), r[index].clone(), zero[index]);
            let expected = &expected[index];
            let divides = row.b.is_zero() || oracle::is_division(&row.a, &row.b, &got.0, &got.1);
            tally.row(got == *expected && divides, || {
                let (row, got, expected) = (what.row(row), got.hex(), expected.hex());
                format!("{row}\n  q, r, v = 0 {got}\n  expected    {expected}")
            });
        }
        Ok(())
    });
}

/// Results in memory that held other values before.
fn results<T: Kernels, S: Division<T>>(
    device: &Device,
    rows: &[Row],
) -> Result<(Batch<T>, Batch<T>, Mask)> {
    let u = Batch::<T>::from_biguints(device, &first(rows))?;
    let v = Batch::from_biguints(device, &second(rows))?;
    let mut q = Batch::splat(device, &ones(T::BITS), rows.len())?;
    let mut r = q.try_clone()?;
    let mut zero = q.eq_mask(&r)?;
    u.div_rem_masked_with_into::<S>(&v, &mut q, &mut r, &mut zero)?;
    Ok((q, r, zero))
}

struct Structured;

impl Check for Structured {
    const NAME: &str = "div_rem";
    const WIDEST: bool = false;

    fn check<T: Kernels>(setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, T::SHAPE);
        for (part, device, rows) in setting.parts::<T>(DIVISIONS, count) {
            let expected = expected::<T>(&rows);
            // The cpu backend divides in one way only, and Auto is one of the others.
            let (auto, named) = match setting.backend {
                BackendKind::Cpu => (true, part == 0),
                // Wide rows have their own kernel for it.
                _ => (part % 4 == 0 || T::BITS >= 32768, true),
            };
            if auto {
                divide::<T, Auto>("Auto", device, &rows, &expected, tally);
            }
            if named {
                divide::<T, Blocked<Classical>>("Blocked", device, &rows, &expected, tally);
                divide::<T, ShiftedInverse<Classical>>(
                    "ShiftedInverse",
                    device,
                    &rows,
                    &expected,
                    tally,
                );
            }
            if setting.backend != BackendKind::Cpu {
                divide::<T, ShiftedInverse<Karatsuba>>(
                    "ShiftedInverse<Karatsuba>",
                    device,
                    &rows,
                    &expected,
                    tally,
                );
                if T::BITS >= 16384 && part % 4 == 1 {
                    let name = "ShiftedInverse<TensorCore>";
                    divide::<T, ShiftedInverse<TensorCore>>(name, device, &rows, &expected, tally);
                }
                if part % 4 == 0 {
                    let name = "Blocked<Karatsuba>";
                    divide::<T, Blocked<Karatsuba>>(name, device, &rows, &expected, tally);
                }
            }
        }
    }
}

/// Division by cached transforms, at its own widths.
struct ByTransforms;

impl Check for ByTransforms {
    const NAME: &str = "div_rem by Blocked<Fft>";

    fn check<T: Kernels>(setting: &Setting, tally: &mut Tally) {
        let by_fft = Algorithm::Blocked(Product::Fft);
        // Elsewhere another algorithm takes its place.
        let is_own =
            is_offered(Op::DivRem, by_fft, T::SHAPE) && setting.backend != BackendKind::Cpu;
        let count = if is_own { setting.count(ROWS, T::SHAPE) } else { 4 };
        for (_, device, rows) in setting.parts::<T>(DIVISIONS, count) {
            divide::<T, Blocked<Fft>>("Blocked<Fft>", device, &rows, &expected::<T>(&rows), tally);
        }
    }
}

on_every_backend! { structured: Structured, by_transforms: ByTransforms, }
