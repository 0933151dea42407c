//! Zero divisors among others, more rows than a grid has blocks, threads of the host.

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Device, DynBatch, Error, Product, Result, Shape, Strategy};
use num_traits::{One, Zero};

use crate::forms::counts;
use crate::setting::{
    Check, Column, Context, Part, Setting, Tally, is_ordinary, is_thorough, on_every_backend, seed,
};
use gpuint_testkit::operands::{DIVISIONS, ones, rows};
use gpuint_testkit::oracle;

struct ZeroDivisors;

impl Check for ZeroDivisors {
    const NAME: &str = "zero divisors";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let mut strategies = vec![(Strategy::Auto, "Auto")];
        if setting.backend != BackendKind::Cpu && shape.bits <= 4096 {
            let classical = Some(Product::Classical);
            strategies.push((Strategy::Blocked(classical), "Blocked"));
            strategies.push((Strategy::ShiftedInverse(classical), "ShiftedInverse"));
        }
        let devices = setting.devices();
        for (schedule, device) in devices.iter().enumerate() {
            // Each place of the zeros has one schedule in an ordinary run.
            let takes = |turn| !is_ordinary() || turn % devices.len() == schedule;
            for (by, strategy) in &strategies {
                zero_divisors(shape, *by, strategy, device, takes, tally);
            }
        }
    }
}

/// The error names the lowest row, wherever there are others. The memory then holds the results of
/// the masked form, which are right on all rows.
fn zero_divisors(
    shape: Shape,
    by: Strategy,
    strategy: &str,
    device: &Device,
    takes: impl Fn(usize) -> bool,
    tally: &mut Tally,
) {
    let count = counts(shape)[4];
    let places: [&[usize]; 5] =
        [&[count - 1, 0], &[1, 2, 3], &[0], &[count - 1], &[count / 2, count - 2]];
    let is_slow = device.backend() == BackendKind::Simt && shape.bits > 65536 && !is_thorough();
    let most = if is_slow { 2 } else { places.len() };
    let turns = places.into_iter().take(most).enumerate();
    for (turn, places) in turns.filter(|(turn, _)| takes(*turn)) {
        let first_row = 1 + 7 * turn;
        let mut rows = rows(seed(), DIVISIONS, shape.into(), first_row..first_row + count);
        for (index, row) in rows.iter_mut().enumerate() {
            if places.contains(&index) {
                row.b = BigUint::zero();
            } else if row.b.is_zero() {
                row.b = BigUint::one();
            }
        }
        let name = format!("div_rem by {strategy} with zeros at {places:?}");
        Part::run(shape, device, turn, rows, tally, |part| {
            let (u, v, mut q, mut r) = (part.a()?, part.b()?, part.old()?, part.old()?);
            let lowest = places.iter().min().copied().unwrap_or(usize::MAX);
            let by = || u.using(by);
            let left = by().div_rem_into(&v, &mut q, &mut r).err();
            for found in [left, by().div_rem(&v).err(), by().div(&v).err(), by().rem(&v).err()] {
                part.expect(&name, found, Some(Error::DivisionByZero { row: lowest }));
            }
            let masked = by().div_rem_masked(&v)?;
            part.expect("left in memory", masked.0.is_equal(&q)? && masked.1.is_equal(&r)?, true);
            part.each(&name, masked, |row| oracle::div_rem_masked(&row.a, &row.b, shape.bits))
        });
    }
}

/// More rows than a grid has blocks for in one of its smaller dimensions, and than the memory
/// through which integers are converted holds.
const MANY: usize = 140_001;

struct ManyRows;

impl Check for ManyRows {
    const NAME: &str = "many rows";
    const WIDEST: bool = false;

    fn takes(shape: Shape, _: BackendKind) -> bool {
        shape.bits <= 1024
    }

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let device = &setting.devices()[0];
        let what = Context::new(shape, "many rows", device);
        tally.attempt(&what, MANY, |tally| {
            // Row i holds i, then i + 2^BITS - 1: all but row 0 carry.
            let values: Vec<_> = (0..MANY).map(BigUint::from).collect();
            let a = DynBatch::from_biguints(device, shape, &values)?;
            let b = DynBatch::splat(device, shape, &ones(shape.bits), MANY)?;
            let (sum, carry) = a.overflowing_add(&b)?;
            let carry = carry.to_bools()?;
            let sum = sum.to_biguints()?;
            for row in 0..MANY {
                let expected = oracle::add(&values[row], &ones(shape.bits), shape.bits);
                let right = expected.0 == sum[row] && expected.1 == carry[row];
                tally.row(right, || format!("{what}: row {row} of {MANY}"));
            }
            let less = a.lt_mask(&DynBatch::splat(device, shape, &values[MANY - 1], MANY)?)?;
            let last = a.row(MANY - 1)?;
            tally.row(less.count()? == MANY - 1 && last == values[MANY - 1], || {
                format!("{what}: the last row")
            });
            Ok(())
        });
    }
}

/// One device and its batches, used by several threads at a time.
struct Threads;

impl Check for Threads {
    const NAME: &str = "threads of the host";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        if shape.bits > 2048 {
            return;
        }
        let device = &setting.devices()[0];
        let rows = rows(seed(), &DIVISIONS[..20], shape.into(), 0..23);
        Part::run(shape, device, 0, rows, tally, |part| {
            let (u, v) = (part.a()?, part.b()?);
            let divide = || u.div_rem(&v)?.values();
            let results: Vec<Result<_>> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(divide)).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
            });
            for result in results {
                part.each("div_rem", result?, |row| oracle::div_rem(&row.a, &row.b))?;
            }
            Ok(())
        });
    }
}

on_every_backend! { many_rows: ManyRows, threads: Threads, zero_divisors: ZeroDivisors, }
