//! Operations that the library composes from others, at every shape.

use gpuint::num_bigint::BigUint;
use gpuint::{Algorithm, BackendKind, Op, Product, Result, Shape, is_offered};
use gpuint_testkit::compositions::{
    Batches, Composition, Reach, compositions, is_expected, number,
};
use gpuint_testkit::forms::{Arg, Call, Columns, Untyped};
use gpuint_testkit::operands::Row;
use gpuint_testkit::random::Random;

use crate::setting::{
    Check, Part, Rows, Setting, Tally, doubled, first, no_double, on_every_backend, second, seed,
    widest,
};

const LINEAR: Rows = Rows { threads: 6_000, least: 13 };
const PRODUCTS: Rows = Rows { threads: 2_000, least: 9 };
const NARROW: Rows = Rows { threads: 600, least: 5 };
/// Numbers of operations that take one.
const NUMBERS: usize = 3;

struct Compositions;

impl Check for Compositions {
    const NAME: &str = "compositions";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for (index, composition) in compositions().iter().enumerate() {
            let Some(rows) = reached(composition.reach, shape, setting.backend) else { continue };
            let numbers = if composition.takes(Arg::Number) { NUMBERS } else { 1 };
            let count = setting.count(rows, shape).div_ceil(numbers);
            let mut random = Random::new(seed() ^ (shape.bits * shape.q * 64 + index) as u64);
            for _ in 0..numbers {
                let n = number(&mut random, shape.bits);
                setting.each_part(shape, composition.families, count, tally, |mut part| {
                    resemble(&mut part.rows);
                    compose(&part, composition, n)?;
                    // The rows by which it failed would hide the others.
                    let (a, b) = (first(&part.rows), second(&part.rows));
                    let operands = Batches { a: &a, b: &b, n, shape };
                    let mut failing = (0..a.len()).map(|row| composition.fails_by(&operands, row));
                    let count = part.rows.len();
                    part.rows.retain(|_| failing.next() == Some(false));
                    let is_fewer = (1..count).contains(&part.rows.len());
                    if is_fewer { compose(&part, composition, n) } else { Ok(()) }
                });
            }
        }
    }
}

/// Number of rows at a shape; `None` if the operation does not reach it in the time of a test.
fn reached(reach: Reach, shape: Shape, backend: BackendKind) -> Option<Rows> {
    let has_products = is_offered(Op::MulLo, Algorithm::By(Product::Classical), shape);
    let most = if backend == BackendKind::Simt { 2048 } else { 8192 };
    match reach {
        Reach::Linear => Some(LINEAR),
        Reach::Products => has_products.then_some(PRODUCTS),
        Reach::Doubled(_) => (2 * shape.bits <= widest()).then_some(PRODUCTS),
        Reach::Narrow => (shape.bits <= most).then_some(NARROW),
    }
}

/// Makes some of the first operands those of other rows, or different from them in a low bit.
fn resemble(rows: &mut [Row]) {
    for index in (1..rows.len()).filter(|index| index % 5 == 1) {
        rows[index].a = rows[index / 2].a.clone();
        rows[index].a.set_bit((index % 7) as u64, index.is_multiple_of(2));
    }
}

/// Compares the results of an operation, or its error.
pub(crate) fn compose(part: &Part<'_>, composition: &Composition, n: u64) -> Result<()> {
    let (a, b) = (first(&part.rows), second(&part.rows));
    let operands = Batches { a: &a, b: &b, n, shape: part.shape };
    let expected = match composition.reach {
        Reach::Doubled(operation) if doubled(part.shape).is_none() => {
            Err(no_double(part.shape, operation))
        }
        _ => composition.expected(&operands),
    };
    let (a, b) = (part.a()?, part.b()?);
    match (Call::new(&a, &b, n).and_then(composition.call), expected) {
        (Ok(columns), Ok(expected)) => compare(part, composition, n, &columns, &expected),
        (got, Err(expected)) => {
            let error = got.map(drop).err();
            let is_right = error.as_ref().is_some_and(|error| is_expected(error, &expected));
            part.row(is_right, || {
                let what = part.what(composition.name);
                format!("{what}, n = {n}: {error:?}, expected {expected:?}")
            });
        }
        (Err(error), Ok(_)) => return Err(error),
    }
    Ok(())
}

fn compare(
    part: &Part<'_>,
    composition: &Composition,
    n: u64,
    columns: &Columns<Untyped>,
    expected: &[Vec<BigUint>],
) {
    let what = part.what(composition.name);
    part.row(columns.len() == expected.len(), || format!("{what}: {} results", columns.len()));
    for (index, (column, expected)) in columns.iter().zip(expected).enumerate() {
        let values = &column.values;
        part.row(values.len() == expected.len(), || format!("{what}: {} rows", values.len()));
        for (row, (got, wanted)) in values.iter().zip(expected).enumerate() {
            part.row(got == wanted, || {
                let row = part.rows.get(row).map_or(String::new(), |row| what.row(row));
                format!("{row}, n = {n}\n  result {index} {got:#x}\n  expected {wanted:#x}")
            });
        }
    }
}

on_every_backend! { every: Compositions, }
