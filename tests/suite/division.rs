//! Divisions by divisors of lengths that choose the way, and exact quotients.

use gpuint::{Algorithm, BackendKind, Device, Error, Op, Product, Shape, algorithms, is_offered};
use num_traits::Zero;

use crate::setting::{Check, Rows, Setting, Tally, on_every_backend};
use gpuint_testkit::cases::{self, Task};
use gpuint_testkit::launch::{Operands, bytes_of};
use gpuint_testkit::operands::{DIVISIONS, EXACT, Row, ones};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 480_000, least: 90 };

/// Divides rows by the kernel of an algorithm.
pub(crate) fn divide(
    op: Op,
    algorithm: Algorithm,
    shape: Shape,
    device: &Device,
    rows: &[Row],
    tally: &mut Tally,
) {
    let dividends = bytes_of(rows.iter().map(|row| &row.a), shape.bits);
    let divisors = bytes_of(rows.iter().map(|row| &row.b), shape.bits);
    let outputs = [rows.len() * shape.bytes(); 2];
    let results = Operands { outputs, rows: rows.len(), ..Operands::default() };
    let given = match op {
        Op::DivRem => Operands { inputs: [dividends, divisors, vec![]], mask: true, ..results },
        _ => Operands {
            inputs: [dividends, vec![], vec![]],
            divisors,
            without_status: true,
            ..results
        },
    };
    let task = Task::new(op, algorithm, shape);
    tally.launched(cases::check_operands(&mut device.clone(), &task, &given, 0..1), device);
}

/// Divides rows by an algorithm at its own shapes, and where it is offered also by prepared
/// divisors. Elsewhere another algorithm divides.
fn divide_by(
    algorithm: Algorithm,
    is_prepared: bool,
    shape: Shape,
    device: &Device,
    rows: &mut [Row],
    tally: &mut Tally,
) {
    let is_own = is_offered(Op::DivRem, algorithm, shape);
    let any = algorithms(Op::DivRem, shape).next().filter(|_| !is_own);
    divide(Op::DivRem, any.unwrap_or(algorithm), shape, device, rows, tally);
    if is_prepared && is_offered(Op::DivRemBy, algorithm, shape) {
        rows.iter_mut().filter(|row| row.b.is_zero()).for_each(|row| row.b.set_bit(0, true));
        divide(Op::DivRemBy, algorithm, shape, device, rows, tally);
    }
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
                divide_by(by_fft, short, shape, device, &mut rows, tally);
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
        for (_, device, mut rows) in setting.parts(shape, DIVISIONS, count) {
            for (index, row) in rows.iter_mut().enumerate().filter(|(index, _)| index % 4 != 3) {
                let bits = (1024 * (1 + index / 4 % tiles) + index % 4 - 1).min(shape.bits);
                row.b &= ones(bits);
                row.b.set_bit(bits as u64 - 1, true);
            }
            divide_by(by_fused, true, shape, device, &mut rows, tally);
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
    by_transforms: ByTransforms,
    by_fused: ByFused,
    exact: Exact,
}
