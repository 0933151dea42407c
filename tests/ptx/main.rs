//! Every kernel, as nvcc compiles it, in the PTX interpreter with all its checks: races and
//! unwritten words of shared memory, lane masks, divergent barriers, carry chains, bounds.
//!
//! The other suites run the kernels' source. This one runs the compiled kernels on the cases of
//! `gpuint_testkit::cases`, in one of two orders of the warps, by turns, and powers on few rows.
//! Each kernel runs at a third of the shapes of a family, and at one at least, by turns of days.
//! With `GPUINT_TEST_ROWS=1` it runs at all shapes in both orders, on all rows. The suite needs
//! nvcc but no GPU; without nvcc the tests are skipped.

mod hostile;
mod secret;

use std::ops::Range;
use std::path::PathBuf;

use gpuint::{Algorithm, DigitKind, Op, Product, Shape};
use gpuint_catalogue::{Architecture, BLOCK, Kernel, PREPARED, Row};
use gpuint_testkit::cases::{self, Machine, Task};
use gpuint_testkit::launch::{Grids, Operands, Outcome};
use gpuint_testkit::ptx::{self, How, LaunchBounds};
use gpuint_testkit::random::Random;
use gpuint_testkit::skip::skip;
use gpuint_testkit::turns::{is_in_turn, is_thorough};
use ptxi::{Checks, Module};

/// The architecture of the newest code of the default build.
const NEWEST: u32 = Architecture::NEWEST.capability;
/// An architecture of the newer code generator of nvcc, which gets fewer loops
/// (`kernels/core/unroll.cuh`).
const OF_NEWER_GENERATOR: u32 = 120;
const SEED: u64 = 0x7074_7869;
/// Seeds of the order of warps; 0 is ascending order.
const SCHEDULES: [u64; 2] = [0, 0x5eed];
/// Few blocks, so that each processes several rounds of rows.
const MAX_GRID: u32 = 2;
/// Checks the bounds that the kernels' headers prove: a violated bound is a `trap`.
const CHECKED: &[&str] = &["-DGPUINT_CHECKED"];
/// Launches of an operation with all rows. More launches have fewer rows each.
const FULL_LAUNCHES: usize = 2;
/// Kinds of numbers for tests for primes: a launch has them all.
const KINDS: usize = 9;

/// Compiled kernels in the interpreter.
struct Interpreter(Module);

impl Machine for Interpreter {
    fn rows_per_block(&mut self, kernel: &str) -> Option<usize> {
        LaunchBounds::read(&self.0, kernel).ok().map(|bounds| bounds.rows_per_block as usize)
    }

    fn launch(&mut self, kernel: &str, given: &Operands, turn: usize) -> Result<Outcome, String> {
        let seed = SCHEDULES[turn];
        let how = How { max_grid: MAX_GRID, seed, checks: Checks::default(), traced: false };
        ptx::run(&self.0, kernel, given, how).map(|run| run.outcome)
    }

    fn launch_grids(&mut self, grids: &Grids, turn: usize) -> Result<Vec<Vec<u8>>, String> {
        let seed = SCHEDULES[turn];
        let how = How { max_grid: u32::MAX, seed, checks: Checks::default(), traced: false };
        ptx::run_grids(&self.0, grids, how)
    }
}

/// Orders of the warps for a kernel.
fn turns(index: usize) -> Range<usize> {
    let turn = index % SCHEDULES.len();
    if is_thorough() { 0..SCHEDULES.len() } else { turn..turn + 1 }
}

/// Maximum number of rows of a launch. An ordinary run of a chain of products has one row more than
/// the blocks take at a time.
fn most_rows(op: Op, rows_per_block: usize) -> usize {
    let is_chain = matches!(
        op,
        Op::PowMod | Op::PowProductMod | Op::PowSecret | Op::StrongBase2 | Op::StrongLucas
    );
    if is_thorough() || !is_chain {
        return usize::MAX;
    }
    (MAX_GRID as usize * rows_per_block + 1).max(KINDS)
}

/// nvcc; `None` without it.
fn nvcc() -> Option<PathBuf> {
    ptx::nvcc().map_err(|reason| skip("nvcc", reason)).ok()
}

/// Compiles the kernels of a shape that `wanted` returns true for; `None` without nvcc.
fn compiled(
    capability: u32,
    shape: Shape,
    flags: &[&str],
    wanted: impl Fn(Op, Algorithm) -> bool,
) -> Option<(Vec<Kernel<'static>>, Module)> {
    let nvcc = nvcc()?;
    let rows = ptx::catalogue().expect("the catalogue").rows();
    let kernels: Vec<_> = rows
        .filter(|row| row.is_offered(shape) && wanted(row.op, row.algorithm))
        .map(|row| Kernel { row, shape, block: BLOCK })
        .collect();
    let compiled = ptx::compile(&nvcc, capability, kernels.iter().copied(), flags)
        .unwrap_or_else(|error| panic!("{error}"));
    Some((kernels, compiled.module))
}

/// Runs the kernels with arguments of their own, of long rows and of sieves, whose names `wanted`
/// returns true for. `beside` are the names of others that the library launches with them.
fn kernels_with_grids(wanted: impl Fn(&str) -> bool, beside: &[&str]) {
    let Some(nvcc) = nvcc() else { return };
    let catalogue = ptx::catalogue().expect("the catalogue");
    let all = catalogue.long_kernels();
    let compiled: Vec<_> =
        all.filter(|kernel| wanted(kernel.name) || beside.contains(&kernel.name)).collect();
    let kernels: Vec<_> = compiled.iter().filter(|kernel| wanted(kernel.name)).collect();
    let compiled = ptx::compile(&nvcc, NEWEST, compiled.iter().copied(), CHECKED);
    let mut machine = Interpreter(compiled.unwrap_or_else(|error| panic!("{error}")).module);
    let (mut rows, mut wrong) = (0, Vec::new());
    for (index, kernel) in kernels.iter().enumerate() {
        let random = &mut Random::new(SEED);
        match cases::check_grids(&mut machine, &kernel.to_string(), turns(index), true, random) {
            Ok(checked) => rows += checked,
            Err(errors) => wrong.extend(errors),
        }
    }
    eprintln!("{} kernels, {rows} rows", kernels.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Runs the kernels of the catalogue for which `wanted` returns true at the shape `family[index]`,
/// on `count` rows a launch. An ordinary run has the kernels of an operation by an algorithm at a
/// third of the shapes of the family, by turns, and at one at least.
fn kernels(family: &[Shape], index: usize, count: usize, wanted: impl Fn(Op, Algorithm) -> bool) {
    kernels_of(NEWEST, family, index, count, wanted);
}

/// As [`kernels`], of a compute capability.
fn kernels_of(
    capability: u32,
    family: &[Shape],
    index: usize,
    count: usize,
    wanted: impl Fn(Op, Algorithm) -> bool,
) {
    let shape = family[index];
    let catalogue = ptx::catalogue().expect("the catalogue");
    let in_turn = |(place, row): &(usize, Row<'_>)| {
        let offered = |shapes: &[Shape]| shapes.iter().filter(|&&at| row.is_offered(at)).count();
        row.is_offered(shape)
            && wanted(row.op, row.algorithm)
            && is_in_turn(*place, offered(&family[..index]), offered(family))
    };
    let rows = catalogue.rows().enumerate().filter(in_turn);
    let checked: Vec<_> = rows.map(|(_, row)| (row.op, row.algorithm)).collect();
    // Kernels with prepared divisors are launched with those that prepare them.
    let takes_records = |op: Op, by: Algorithm| {
        let takes = |&(of, algorithm): &(Op, Algorithm)| {
            has_prepared(of) && (prepares(op, by) || op == Op::Prepare && by == algorithm)
        };
        checked.iter().any(takes)
    };
    let is_launched = |op, by| checked.contains(&(op, by)) || takes_records(op, by);
    let Some((kernels, module)) = compiled(capability, shape, CHECKED, is_launched) else {
        return;
    };
    let mut machine = Interpreter(module);
    let (mut rows, mut wrong) = (0, Vec::new());
    let is_checked =
        |kernel: &&Kernel<'_>| checked.contains(&(kernel.row.op, kernel.row.algorithm));
    for (index, kernel) in kernels.iter().filter(is_checked).enumerate() {
        let mut task = Task::parse(&kernel.name()).expect("the name of a kernel");
        task.shape = shape;
        let rows_per_block = machine.rows_per_block(&task.kernel).expect("a compiled kernel");
        let most = count.min(most_rows(task.op, rows_per_block));
        let count = |variants| (count * FULL_LAUNCHES).div_ceil(variants).min(most);
        let random = &mut Random::new(SEED);
        match cases::check(&mut machine, &task, count, turns(index), true, random) {
            Ok(checked) => rows += checked,
            Err(errors) => wrong.extend(errors),
        }
    }
    eprintln!("{shape}: {} kernels, {rows} rows", checked.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Runs the kernels of the catalogue at the shape [`OF_DIGITS`]`[index]` that depend on its digits
/// or Q: the others are those of [`plain`].
fn kernels_of_shape(index: usize, count: usize) {
    let catalogue = ptx::catalogue().expect("the catalogue");
    let is_of_width = |op, algorithm| {
        catalogue.rows().any(|row| row.per_width && (row.op, row.algorithm) == (op, algorithm))
    };
    kernels(&OF_DIGITS, index, count, |op, algorithm| !is_of_width(op, algorithm));
}

/// A shape of 64-bit digits, four to a thread.
const fn plain(bits: usize) -> Shape {
    Shape { bits, q: 4, digit: DigitKind::U64 }
}

/// Rows of 4 and of 8 threads, and of a whole block.
const OF_U64: [Shape; 3] = [plain(1024), plain(2048), plain(16384)];

/// Rows of few and of many threads.
const OF_DIGITS: [Shape; 3] = [
    Shape { bits: 1024, q: 2, digit: DigitKind::U32 },
    Shape { bits: 1024, q: 1, digit: DigitKind::U16 },
    Shape { bits: 1024, q: 4, digit: DigitKind::U16 },
];

#[test]
fn u64_q4_1024() {
    kernels(&OF_U64, 0, 330, |_, _| true);
}

#[test]
fn u64_q4_2048() {
    kernels(&OF_U64, 1, 93, |_, _| true);
}

#[test]
fn u32_q2_1024() {
    kernels_of_shape(0, 170);
}

#[test]
fn u16_q1_1024() {
    kernels_of_shape(1, 90);
}

#[test]
fn u16_q4_1024() {
    kernels_of_shape(2, 170);
}

/// The levels of square roots: rows of a part of a warp.
#[test]
fn levels_of_roots() {
    kernels(&[plain(4096)], 0, 60, |op, _| {
        matches!(op, Op::RootDividend | Op::RootRemainder | Op::RootCorrect)
    });
}

/// A row takes a whole block.
#[test]
fn u64_q4_16384() {
    kernels(&OF_U64, 2, 31, |op, by| !prepares(op, by) && !has_prepared(op));
}

#[test]
fn u64_q4_16384_prepared() {
    kernels(&OF_U64, 2, 31, |op, by| prepares(op, by) || has_prepared(op));
}

/// Products by transforms, of one part and of two.
#[test]
fn fft() {
    let family = [65536, 131_072].map(plain);
    for index in 0..family.len() {
        kernels(&family, index, 9, |op, by| by == Algorithm::By(Product::Fft) && !has_prepared(op));
    }
}

/// Modular arithmetic and divisions by transforms.
#[test]
fn fft_prepared() {
    kernels(&[plain(32768)], 0, 5, |op, by| {
        prepares(op, by) || (by.product() == Some(Product::Fft) && has_prepared(op))
    });
}

/// Products by number-theoretic transforms: columns of 4 points in the first pass.
#[test]
fn ntt() {
    kernels(&[plain(131_072)], 0, 9, |_, by| by == Algorithm::By(Product::Ntt));
}

/// Products by the tensor cores: tiles in one group, of 4, 8 and 12; in two groups; and in four,
/// shared by two warps.
#[test]
fn tensor() {
    let family = [4096, 8192, 12288, 32768, 65536].map(plain);
    for (index, count) in [66, 45, 33, 9, 9].into_iter().enumerate() {
        kernels(&family, index, count, |op, by| is_by_tensor_cores(by) && !has_prepared(op));
    }
}

/// Prepared divisors by the tensor cores: one warp per row, whose products have few tiles at a
/// time; at 16384 bits they have many.
#[test]
fn tensor_prepared() {
    kernels(&[plain(8192)], 0, 9, |op, by| {
        prepares(op, by) || (is_by_tensor_cores(by) && has_prepared(op))
    });
}

#[test]
fn tensor_prepared_by_the_newer_generator() {
    kernels_of(OF_NEWER_GENERATOR, &[plain(4096)], 0, 9, |op, by| {
        prepares(op, by) || (is_by_tensor_cores(by) && has_prepared(op))
    });
}

/// Sums, moves and reductions of long rows.
#[test]
fn long_rows() {
    let is_of_products = |name: &str| {
        let parts = ["first_", "second_", "products_", "remainders_", "carries"];
        parts.iter().any(|part| name.starts_with(part))
    };
    kernels_with_grids(|name| !is_of_products(name) && !name.starts_with("sieve_"), &["carries"]);
}

#[test]
fn sieves() {
    kernels_with_grids(|name| name.starts_with("sieve_"), &[]);
}

/// Transforms of 2^14 and 2^16 points. Passes of other levels differ in unrolled loops only.
#[test]
fn long_products() {
    let is_wanted = |name: &str| {
        let ends = ["_small_7", "_small_8", "_large_8", "remainders_small", "remainders_large"];
        let is_of_plan = ends.iter().any(|end| name.ends_with(end)) && !name.starts_with("second_");
        name == "carries" || is_of_plan
    };
    kernels_with_grids(is_wanted, &["sums"]);
}

fn is_by_tensor_cores(by: Algorithm) -> bool {
    by.product() == Some(Product::TensorCore)
}

/// Returns true for the kernels whose results are operands of those with prepared divisors.
fn prepares(op: Op, by: Algorithm) -> bool {
    (op, by) == (Op::Prepare, Algorithm::By(Product::Classical)) || op == Op::PrepareOdd
}

/// Returns true if an operation has prepared divisors as an operand.
fn has_prepared(op: Op) -> bool {
    op.signature().inputs[PREPARED].is_some()
}
