//! The work of each operation: how much is multiplied, how long the chain of dependent products
//! is, what each pipe of the GPU has to do, and the time that this implies.
//!
//! `cargo bench -p gpuint-benches --bench work` prints a table, `cargo bench -p gpuint-benches
//! --bench work -- --csv` the same for machines. Needs nvcc (`scripts/cuda-toolchain`), no GPU: the
//! kernels, as nvcc compiles them, run in the PTX interpreter, which counts exactly and gives the
//! same numbers everywhere.
//!
//! Per row of a batch, the mean over a few rows:
//! - `full_mults`: products of digits, in the unit of the paper's full multiplication, the M^2/2
//!   digit products of the low half. One `mad.lo.cc`/`madc.hi.cc` pair is one product of two 32-bit
//!   limbs, a quarter of that of two 64-bit digits; a product of matrices is one of 4096 pairs of
//!   bytes; with 16-bit limbs each `mul.wide` is one product
//!   (addresses among them, which are few). Products with zeros around an operand count, as they
//!   are executed; those of the reciprocal's seed, of two words by one thread, do not.
//! - `paper_low`, `paper_high`: what the paper gives for its division.
//! - `steps`: products that each wait for the one before: two for each doubling of the reciprocal
//!   and two for each block of quotient, by the lengths of the row's operands.
//! - `barriers`: block barriers of its block, shared by the rows of the block.
//! - `wide`, `integer`, `double`, `tensor`, `memory`, `other`: instructions of the machine, of
//!   whole warps: products of 32 x 32 bits; other integer instructions; double precision; products
//!   of matrices; loads and stores; all others (sass.rs).
//! - `shared_wavefronts`: cycles of the shared memory. `global_sectors`: 32 bytes each, as asked
//!   for by loads and stores, before caches.
//! - `h200_ms`, `a100_ms`: the roofline for a batch of 2^32 bits: the time of what is busy longest
//!   (`_bound`: arithmetic, doubles, matrices, issue, shared memory and cache, device memory), all
//!   others and all waiting hidden behind it. Short products and few rows wait for latencies, and
//!   take longer. Both GPUs have the instructions of `sm_90` code, which has no `wgmma`.
//! - `h200_floor`: the least time for the operation by any kernel of the strategy (floor.rs), and
//!   `to_floor` how many times as much the roofline is.

use std::error::Error;
use std::time::Instant;

use clap::Parser;
use gpuint::{DigitKind, Op, Shape};
use gpuint_benches::count::{self, Unit, Work};
use gpuint_benches::operation::{COUNTED, workloads};
use gpuint_benches::roofline::{A100, H200};
use gpuint_benches::{enter_root, floor, sass};
use gpuint_catalogue::{BLOCK, Catalogue, Kernel};
use gpuint_testkit::ptx::{self, Result};
use rayon::prelude::*;

/// The paper's division, in full multiplications.
const PAPER: (f64, f64) = (5.0, 7.0);

/// Counts the work of every operation.
#[derive(Debug, Parser)]
struct Options {
    /// Comma-separated values with a line of headings.
    #[arg(long)]
    csv: bool,
    /// The widest integers, in bits.
    #[arg(long, default_value_t = 1 << 20)]
    max_bits: usize,
    /// Count few widths only: whether counting works.
    #[arg(long)]
    test: bool,
    /// `cargo bench` says this, and `cargo test --benches` does not.
    #[arg(long, hide = true)]
    bench: bool,
}

/// All widths by 64-bit digits, four to a thread as far as a block has threads, and the other
/// digits at one width.
fn shapes(max_bits: usize) -> Vec<Shape> {
    let mut shapes: Vec<_> = (10..=20)
        .map(|log| Shape {
            bits: 1 << log,
            q: if log <= 18 { 4 } else { 16 },
            digit: DigitKind::U64,
        })
        .collect();
    let others = [
        (1, DigitKind::U64),
        (2, DigitKind::U64),
        (2, DigitKind::U32),
        (4, DigitKind::U32),
        (2, DigitKind::U16),
        (4, DigitKind::U16),
    ];
    shapes.extend(others.map(|(q, digit)| Shape { bits: 4096, q, digit }));
    shapes.retain(|shape| shape.bits <= max_bits);
    shapes
}

/// The kernels that are counted at a shape.
fn kernels(catalogue: &'static Catalogue, shape: Shape) -> Vec<Kernel<'static>> {
    let counted = catalogue.rows().filter(|row| COUNTED.contains(&row.op) && row.is_offered(shape));
    counted.map(|row| Kernel { row, shape, block: BLOCK }).collect()
}

/// A column of the table: heading, width, and the text of a line.
type Column = (&'static str, usize, fn(&Work) -> String);

const COLUMNS: &[Column] = &[
    ("op", 15, |work| work.op.name().into()),
    ("strategy", 17, |work| work.algorithm.to_string()),
    ("bits", 6, |work| work.shape.bits.to_string()),
    ("digit", 5, |work| work.shape.digit.name().into()),
    ("q", 1, |work| work.shape.q.to_string()),
    ("workload", 10, |work| work.workload.name().into()),
    ("rows", 4, |work| work.rows.to_string()),
    ("full_mults", 10, |work| format!("{:.4}", work.full_mults)),
    ("paper_low", 9, |work| paper(work, PAPER.0)),
    ("paper_high", 10, |work| paper(work, PAPER.1)),
    ("steps", 5, |work| format!("{:.1}", work.steps)),
    ("barriers", 8, |work| format!("{:.1}", work.barriers)),
    ("wide", 9, |work| format!("{:.0}", work.pipes.wide)),
    ("integer", 9, |work| format!("{:.0}", work.pipes.integer)),
    ("double", 8, |work| format!("{:.0}", work.pipes.double)),
    ("tensor", 8, |work| format!("{:.0}", work.pipes.tensor)),
    ("memory", 8, |work| format!("{:.0}", work.pipes.memory)),
    ("other", 8, |work| format!("{:.0}", work.pipes.other)),
    ("shared_wavefronts", 17, |work| format!("{:.0}", work.wavefronts)),
    ("global_sectors", 14, |work| format!("{:.0}", work.sectors)),
    ("h200_ms", 8, |work| format!("{:.3}", H200.time(&work.load()).0)),
    ("h200_bound", 10, |work| H200.time(&work.load()).1.into()),
    ("h200_floor", 10, |work| number(h200_floor(work))),
    ("to_floor", 8, |work| number(h200_floor(work).map(|floor| H200.time(&work.load()).0 / floor))),
    ("a100_ms", 8, |work| format!("{:.3}", A100.time(&work.load()).0)),
    ("a100_bound", 10, |work| A100.time(&work.load()).1.into()),
];

fn paper(work: &Work, value: f64) -> String {
    if work.op == Op::DivRem { format!("{value:.0}") } else { String::new() }
}

fn h200_floor(work: &Work) -> Option<f64> {
    floor::floor(&H200, work.op, work.algorithm, work.shape.bits, work.row_sectors)
}

fn number(value: Option<f64>) -> String {
    value.map(|value| format!("{value:.3}")).unwrap_or_default()
}

fn print(works: &[Work], csv: bool) {
    let line = |cells: Vec<String>| {
        if csv {
            return cells.join(",");
        }
        let padded = cells.iter().zip(COLUMNS).map(|(cell, column)| {
            let width = column.1;
            // Words to the left, numbers to the right.
            let word = cell.starts_with(|first: char| first.is_alphabetic());
            if word && width > 9 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        padded.collect::<Vec<_>>().join(" ").trim_end().to_owned()
    };
    println!("{}", line(COLUMNS.iter().map(|column| column.0.to_owned()).collect()));
    for work in works {
        println!("{}", line(COLUMNS.iter().map(|column| (column.2)(work)).collect()));
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    enter_root();
    let options = Options::parse();
    let is_test = options.test || !options.bench;
    let max_bits = if is_test { options.max_bits.min(1024) } else { options.max_bits };
    let nvcc = match ptx::nvcc() {
        Ok(nvcc) => nvcc,
        Err(reason) => {
            eprintln!("nothing was counted: {reason}");
            return Ok(());
        }
    };
    let disassembler = sass::disassembler(&nvcc);
    match &disassembler {
        Some(path) => eprintln!("machine instructions by {}", path.display()),
        None => eprintln!(
            "machine instructions by rule: no nvdisasm in NVDISASM_PATH, beside nvcc or in PATH"
        ),
    }
    let catalogue = ptx::catalogue()?;
    let start = Instant::now();
    let units: Vec<Unit> = shapes(max_bits)
        .into_par_iter()
        .with_max_len(1)
        .map(|shape| count::unit(&nvcc, disassembler.as_deref(), &kernels(catalogue, shape), shape))
        .collect::<Result<_>>()?;
    eprintln!("{} shapes compiled, {:.0} s", units.len(), start.elapsed().as_secs_f64());
    let mut jobs = Vec::new();
    for unit in &units {
        for kernel in &unit.kernels {
            jobs.extend(workloads(kernel.row.op).iter().map(|workload| (unit, kernel, *workload)));
        }
    }
    let works: Vec<Work> = jobs
        .into_par_iter()
        .with_max_len(1)
        .map(|(unit, kernel, workload)| count::count(unit, kernel, workload))
        .collect::<Result<_>>()?;
    print(&works, options.csv);
    eprintln!("{} lines, {:.0} s", works.len(), start.elapsed().as_secs_f64());
    Ok(())
}
