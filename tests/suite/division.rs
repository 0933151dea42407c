//! Division of structured rows: all families, every strategy, zero divisors among the others.

use gpuint::num_bigint::BigUint;
use gpuint::{
    Algorithm, BackendKind, Device, DynBatch, DynDivisor, Error, Mask, Op, Product, Result, Shape,
    Strategy, is_offered,
};
use num_traits::Zero;

use crate::modular::divide_by;
use crate::setting::{
    Check, Context, Hex, Part, Rows, Setting, Tally, first, on_every_backend, second,
};
use gpuint_testkit::operands::{DIVISIONS, EXACT, Row, ones};
use gpuint_testkit::oracle;

/// On at least 10^5 rows of each digit, most of them narrow.
const ROWS: Rows = Rows { threads: 480_000, least: 90 };

/// The quotient, the remainder, and whether the divisor is 0.
pub(crate) type Expected = [(BigUint, BigUint, bool)];

/// Expected result of the masked division for each row.
pub(crate) fn expected(shape: Shape, rows: &[Row]) -> Box<Expected> {
    rows.iter().map(|row| oracle::div_rem_masked(&row.a, &row.b, shape.bits)).collect()
}

/// Both divisions by classical products.
pub(crate) const CLASSICAL: &[Strategy] = &[
    Strategy::Blocked(Some(Product::Classical)),
    Strategy::ShiftedInverse(Some(Product::Classical)),
];

/// Divides rows by one strategy and checks the values and their definition.
pub(crate) fn divide(
    shape: Shape,
    by: Strategy,
    device: &Device,
    rows: &[Row],
    expected: &Expected,
    tally: &mut Tally,
) {
    let what = format!("div_rem by {by:?}");
    let what = Context::new(shape, &what, device);
    tally.attempt(&what, rows.len(), |tally| {
        let (q, r, zero) = results(shape, by, device, rows)?;
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

/// Results overwrite memory that held other values.
fn results(
    shape: Shape,
    by: Strategy,
    device: &Device,
    rows: &[Row],
) -> Result<(DynBatch, DynBatch, Mask)> {
    let u = DynBatch::from_biguints(device, shape, &first(rows))?;
    let v = DynBatch::from_biguints(device, shape, &second(rows))?;
    let mut q = DynBatch::splat(device, shape, &ones(shape.bits), rows.len())?;
    let mut r = q.try_clone()?;
    let mut zero = q.eq_mask(&r)?;
    u.using(by).div_rem_masked_into(&v, &mut q, &mut r, &mut zero)?;
    Ok((q, r, zero))
}

struct Structured;

impl Check for Structured {
    const NAME: &str = "div_rem";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (part, device, rows) in setting.parts(shape, DIVISIONS, count) {
            let expected = expected(shape, &rows);
            for by in strategies(setting.backend, shape, part) {
                divide(shape, by, device, &rows, &expected, tally);
            }
        }
    }
}

/// The strategies that divide a part of the rows.
fn strategies(backend: BackendKind, shape: Shape, part: usize) -> Vec<Strategy> {
    // It has one algorithm.
    if backend == BackendKind::Cpu {
        return if part == 0 {
            [&[Strategy::Auto], CLASSICAL].concat()
        } else {
            vec![Strategy::Auto]
        };
    }
    let mut strategies =
        [CLASSICAL, &[Strategy::ShiftedInverse(Some(Product::Karatsuba))]].concat();
    // Auto uses one of the others, but wide rows have separate kernels.
    if part.is_multiple_of(4) || shape.bits >= 32768 {
        strategies.push(Strategy::Auto);
    }
    if part.is_multiple_of(4) {
        strategies.push(Strategy::Blocked(Some(Product::Karatsuba)));
    }
    if part % 4 == 1 && shape.bits >= 16384 {
        strategies.push(Strategy::ShiftedInverse(Some(Product::TensorCore)));
    }
    strategies
}

/// Divides by prepared divisors.
fn divide_prepared(part: Part<'_>, by: Strategy) -> Result<()> {
    let part = part.divisible();
    divide_by(&part, &DynDivisor::of_rows(&part.b()?)?, &[by])
}

/// Bits of a divisor by which lanes divide (kernels/tuning/division.cuh).
const SHORT_DIVISOR: usize = 6656;

/// Division by cached transforms, at its own widths.
struct ByTransforms;

impl Check for ByTransforms {
    const NAME: &str = "div_rem by Blocked<Fft>";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let by_fft = Algorithm::Blocked(Product::Fft);
        // Elsewhere another algorithm replaces it.
        let is_own = is_offered(Op::DivRem, by_fft, shape) && setting.backend != BackendKind::Cpu;
        let count = if is_own { setting.count(ROWS, shape) } else { 4 };
        // Lanes divide by short divisors on devices with few blocks.
        for short in [false, true] {
            for (_, device, mut rows) in setting.parts(shape, DIVISIONS, count) {
                if short {
                    rows.iter_mut().for_each(|row| row.b &= ones(SHORT_DIVISOR));
                }
                let by = Strategy::Blocked(Some(Product::Fft));
                divide(shape, by, device, &rows, &expected(shape, &rows), tally);
                if short && is_offered(Op::DivRemBy, by_fft, shape) {
                    Part::run(shape, device, 0, rows, tally, |part| divide_prepared(part, by));
                }
            }
        }
    }
}

/// Division by fused products, at its own widths and at one where transforms divide by the longer
/// divisors, by divisors of every length in tiles of 1024 bits, a bit more and a bit less.
struct ByFused;

/// Bits of rows in whose divisions by transforms fused products divide by divisors of up to
/// `MAX_FUSED_TILES` (kernels/tuning/division.cuh).
const FUSED_WITHIN_TRANSFORMS: usize = 131_072;
const MAX_FUSED_TILES: usize = 32;

impl Check for ByFused {
    const NAME: &str = "div_rem by Blocked<Fused>";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let is_within_transforms = shape.bits == FUSED_WITHIN_TRANSFORMS;
        let product = if is_within_transforms { Product::Fft } else { Product::Fused };
        let by_fused = Algorithm::Blocked(product);
        // Elsewhere another algorithm replaces it.
        let is_own = is_offered(Op::DivRem, by_fused, shape) && setting.backend != BackendKind::Cpu;
        let most = if is_within_transforms { MAX_FUSED_TILES } else { usize::MAX };
        let tiles = shape.bits.div_ceil(1024).min(most);
        let count = if is_own { setting.count(ROWS, shape).max(4 * tiles) } else { 4 };
        let is_own_by = is_offered(Op::DivRemBy, by_fused, shape);
        for (_, device, mut rows) in setting.parts(shape, DIVISIONS, count) {
            for (index, row) in rows.iter_mut().enumerate().filter(|(index, _)| index % 4 != 3) {
                let bits = (1024 * (1 + index / 4 % tiles) + index % 4 - 1).min(shape.bits);
                row.b &= ones(bits);
                row.b.set_bit(bits as u64 - 1, true);
            }
            let by = Strategy::Blocked(Some(product));
            divide(shape, by, device, &rows, &expected(shape, &rows), tally);
            if is_own_by {
                Part::run(shape, device, 0, rows, tally, |part| divide_prepared(part, by));
            }
        }
    }
}

/// Exact quotients beside rows that their divisors do not divide, whose quotients are unspecified
/// without a mask.
struct Exact;

impl Check for Exact {
    const NAME: &str = "div_exact";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(16);
        setting.each_part(shape, EXACT, count, tally, |part| {
            let (u, v, mut quotients) = (part.a()?, part.b()?, part.old()?);
            let zero = part.rows.iter().position(|row| row.b.is_zero());
            let error = zero.map(|row| Error::DivisionByZero { row });
            part.expect("div_exact", u.div_exact_into(&v, &mut quotients).err(), error);
            for (row, got) in part.rows.iter().zip(quotients.to_biguints()?) {
                let expected = oracle::div_exact(&row.a, &row.b);
                part.row(expected.as_ref().is_none_or(|expected| got == *expected), || {
                    let row = part.what("div_exact").row(row);
                    format!("{row}\n  {got:x}, not {expected:x?}")
                });
            }
            Ok(())
        });
    }
}

on_every_backend! {
    structured: Structured,
    by_transforms: ByTransforms,
    by_fused: ByFused,
    exact: Exact,
}
