//! The work of each operation: how much is multiplied, how long the chain of dependent products
//! is, what each pipe of the GPU has to do, and the time that this implies.
//!
//! `cargo bench --bench work` prints a table, `cargo bench --bench work -- --csv` the same for
//! machines. Needs nvcc (`scripts/cuda-toolchain`), no GPU: the kernels, as nvcc compiles them, run
//! in the PTX interpreter, which counts exactly and gives the same numbers everywhere.
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
//! - `wide`, `integer`, `tensor`, `memory`, `other`: instructions of the machine, of whole warps:
//!   products of 32 x 32 bits; other integer instructions; products of matrices; loads and stores;
//!   all others (sass.rs).
//! - `shared_wavefronts`: cycles of the shared memory. `global_sectors`: 32 bytes each, as asked for
//!   by loads and stores, before caches.
//! - `h200_ms`, `a100_ms`: the roofline for a batch of 2^32 bits: the time of the pipe that is busy
//!   longest (`_bound`: products, other integers, matrices, issue, shared memory and cache, device
//!   memory),
//!   all others and all waiting hidden behind it. A floor for this code, not a prediction: short
//!   products and few rows wait for latencies. Both GPUs have the instructions of `sm_90` code.

#[path = "../../src/codegen.rs"]
#[allow(dead_code, unused_imports)]
mod codegen;
#[path = "../../tests/ptx/compiled.rs"]
#[allow(dead_code)]
mod compiled;
mod roofline;
mod sass;
#[path = "../support/workload.rs"]
#[allow(dead_code)]
mod workload;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use clap::Parser;
use codegen::{Entry, Task};
use compiled::{Compiled, Facts, How, Operands, Outcome, Result};
use gpuint::num_bigint::BigUint;
use ptxi::Checks;
use rayon::prelude::*;
use roofline::{A100, H200, Load};
use sass::{Expansion, Pipes};
use workload::Workload;

/// The paper's division, in full multiplications.
const PAPER: (f64, f64) = (5.0, 7.0);

/// Counts the work of every operation.
#[derive(Debug, Parser)]
struct Options {
    /// Comma-separated values with a line of headings.
    #[arg(long)]
    csv: bool,
    /// The widest integers, in bits.
    #[arg(long, default_value_t = 1 << 18)]
    max_bits: usize,
    /// Count few widths only: whether counting works.
    #[arg(long)]
    test: bool,
    /// `cargo bench` says this, and `cargo test --benches` does not.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    bits: usize,
    q: usize,
    digit: &'static str,
}

impl Shape {
    /// Bits that the kernels multiply at a time.
    fn limb_bits(self) -> usize {
        if self.digit == "u16" { 16 } else { 32 }
    }
}

/// All widths by 64-bit digits, and the other digits at one width.
fn shapes(max_bits: usize) -> Vec<Shape> {
    let mut shapes: Vec<_> =
        (10..=18).map(|log| Shape { bits: 1 << log, q: 4, digit: "u64" }).collect();
    let others = [(1, "u64"), (2, "u64"), (2, "u32"), (4, "u32"), (2, "u16"), (4, "u16")];
    shapes.extend(others.map(|(q, digit)| Shape { bits: 4096, q, digit }));
    shapes.retain(|shape| shape.bits <= max_bits);
    shapes
}

/// What a kernel computes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    Add,
    MulLow,
    MulWide,
    Square,
    DivRem,
    ShiftedInverse,
}

impl Op {
    /// The operation and the strategy of a task of the catalogue; `None` where it is not counted.
    fn of(task: &str) -> Option<(Self, &str)> {
        if task == "add" {
            return Some((Self::Add, ""));
        }
        // Divisions whose divisors are of another kind.
        if task.starts_with("div_rem_by_") || task == "div_rem_digit" {
            return None;
        }
        let by_prefix = [
            ("mul_lo_", Self::MulLow),
            ("mul_wide_", Self::MulWide),
            ("sqr_lo_", Self::Square),
            ("div_rem_", Self::DivRem),
            ("shinv_", Self::ShiftedInverse),
        ];
        by_prefix.into_iter().find_map(|(prefix, op)| Some((op, task.strip_prefix(prefix)?)))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::MulLow => "mul_lo",
            Self::MulWide => "mul_wide",
            Self::Square => "sqr",
            Self::DivRem => "div_rem",
            Self::ShiftedInverse => "shifted_inverse",
        }
    }

    /// The work of the others does not depend on the values.
    fn workloads(self) -> &'static [Workload] {
        match self {
            Self::DivRem => &Workload::ALL,
            Self::ShiftedInverse => &[Workload::Uniform, Workload::Half, Workload::Structured],
            _ => &[Workload::Uniform],
        }
    }
}

/// A compiled shape.
struct Unit {
    shape: Shape,
    compiled: Compiled,
    kernels: Vec<Kernel>,
}

struct Kernel {
    task: &'static str,
    name: String,
    facts: Facts,
    expansion: Expansion,
}

fn unit(
    nvcc: &Path,
    disassembler: Option<&Path>,
    tasks: &[Task<'static>],
    shape: Shape,
) -> Result<Unit> {
    let Shape { bits, q, digit } = shape;
    let counted =
        tasks.iter().filter(|task| Op::of(task.name).is_some() && task.is_offered(bits, digit));
    let entries: Vec<_> = counted.map(|&task| Entry { task, bits, q, digit, block: 128 }).collect();
    let compiled = compiled::compile(nvcc, &entries)?;
    let names: Vec<_> = entries.iter().map(Entry::name).collect();
    let expansions = sass::expansions(nvcc, disassembler, &compiled, &names)?;
    let kernel = |((entry, name), expansion): ((&Entry<'static>, String), Expansion)| {
        let facts = Facts::read(&compiled.module, &name)?;
        Ok(Kernel { task: entry.task.name, name, facts, expansion })
    };
    let kernels = entries.iter().zip(names).zip(expansions).map(kernel).collect::<Result<_>>()?;
    Ok(Unit { shape, compiled, kernels })
}

/// One line of the table.
struct Work {
    shape: Shape,
    op: Op,
    strategy: String,
    workload: Workload,
    rows: usize,
    full_mults: f64,
    steps: f64,
    barriers: f64,
    pipes: Pipes,
    wavefronts: f64,
    sectors: f64,
    row_sectors: f64,
}

/// Rows that fill the warps of a block, and are enough for a mean.
fn row_count(op: Op, workload: Workload, facts: Facts, bits: usize) -> usize {
    let block = facts.rows_per_block as usize;
    match op {
        Op::DivRem | Op::ShiftedInverse => {
            // Blocks of several rows take them four times as many at a time, by length.
            let batch = if block > 1 && !by_thread(facts) { 4 * block } else { block };
            let few = matches!(workload, Workload::Half | Workload::Square);
            let wanted = (1usize << 20).div_ceil(bits).min(64).div_ceil(if few { 2 } else { 1 });
            wanted.next_multiple_of(batch)
        }
        _ => block,
    }
}

/// Whether each thread divides a row of its own.
fn by_thread(facts: Facts) -> bool {
    facts.rows_per_block > facts.threads
}

/// Dependent products of a division, as kernels/div.cuh and kernels/div_thread.cuh cut it.
fn division_steps(kernel: &Kernel, shape: Shape, u_bits: usize, v_bits: usize) -> usize {
    let blocked = kernel.task.contains("blocked");
    // Blocked division works on 32-bit limbs, whatever the digit; lengths are in words of 4 limbs.
    let unit = match (by_thread(kernel.facts), blocked) {
        (true, _) => 32,
        (false, true) => 128,
        (false, false) => 4 * shape.limb_bits(),
    };
    let n = v_bits.div_ceil(unit);
    let length = (u_bits + n * unit - v_bits).div_ceil(unit).saturating_sub(n);
    if length == 0 {
        return 0;
    }
    if by_thread(kernel.facts) {
        return 2 * length.div_ceil(8);
    }
    let most = if blocked { (shape.bits.div_ceil(unit) / 8).max(2) } else { length };
    let blocks = length.div_ceil(most);
    let doublings = length.div_ceil(blocks).next_power_of_two().trailing_zeros() as usize;
    2 * doublings + 2 * blocks
}

fn bytes_of<'a>(values: impl Iterator<Item = &'a BigUint>, bits: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        let end = bytes.len() + bits / 8;
        bytes.extend(value.to_bytes_le());
        bytes.resize(end, 0);
    }
    bytes
}

/// Runs a kernel on a workload.
fn count(unit: &Unit, kernel: &Kernel, workload: Workload) -> Result<Work> {
    let shape = unit.shape;
    let bits = shape.bits;
    let (op, strategy) = Op::of(kernel.task).ok_or("not counted")?;
    let rows = row_count(op, workload, kernel.facts, bits);
    let pairs = match op {
        Op::DivRem | Op::ShiftedInverse => workload.divisions(bits, rows),
        _ => workload.pairs(bits, rows),
    };
    let [a, b] = [0, 1].map(|side| bytes_of(pairs.iter().map(|pair| &pair[side]), bits));
    let row_bytes = rows * bits / 8;
    let (inputs, outputs, scalar) = match op {
        Op::Add | Op::MulLow => ([a, b], [row_bytes, 0], 0),
        Op::MulWide => ([a, b], [2 * row_bytes, 0], 1),
        Op::Square => ([a, Vec::new()], [row_bytes, 0], 0),
        Op::DivRem => ([a, b], [row_bytes; 2], 0),
        // Of B^M, as the quotient of a full dividend needs it.
        Op::ShiftedInverse => ([b, Vec::new()], [row_bytes, 0], bits as i64),
    };
    let [first, second] = inputs;
    let inputs = [first, second, Vec::new()];
    let row_sectors =
        (inputs.iter().map(Vec::len).sum::<usize>() + outputs.iter().sum::<usize>()) / 32 / rows;
    let given = Operands { inputs, outputs, rows, mask: op == Op::DivRem, scalar };
    let how = How { max_grid: u32::MAX, seed: 0, checks: Checks::NONE };
    let Outcome { counts, status, .. } =
        compiled::run(&unit.compiled.module, &kernel.name, &given, how)?;
    if status != u64::MAX {
        return Err(format!("{}: row {status} failed", kernel.name));
    }
    let steps = match op {
        Op::Add => 0,
        Op::MulLow | Op::MulWide | Op::Square => rows,
        Op::DivRem | Op::ShiftedInverse => pairs
            .iter()
            .map(|[u, v]| {
                let u_bits = if op == Op::DivRem { u.bits() as usize } else { bits + 1 };
                division_steps(kernel, shape, u_bits, v.bits() as usize)
            })
            .sum(),
    };
    let mean = |sum: u64| sum as f64 / rows as f64;
    Ok(Work {
        shape,
        op,
        strategy: strategy.to_owned(),
        workload,
        rows,
        full_mults: mean(sass::product_bits(&counts, shape.limb_bits())) / (bits * bits / 2) as f64,
        steps: steps as f64 / rows as f64,
        barriers: mean(counts.barriers),
        pipes: kernel.expansion.executed(&counts) * (1.0 / rows as f64),
        wavefronts: mean(counts.shared.load_wavefronts + counts.shared.store_wavefronts),
        sectors: mean(counts.global.sectors_read + counts.global.sectors_written),
        row_sectors: row_sectors as f64,
    })
}

/// A column of the table: heading, width, and the text of a line.
type Column = (&'static str, usize, fn(&Work) -> String);

const COLUMNS: &[Column] = &[
    ("op", 15, |work| work.op.name().into()),
    ("strategy", 17, |work| work.strategy.clone()),
    ("bits", 6, |work| work.shape.bits.to_string()),
    ("digit", 5, |work| work.shape.digit.into()),
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
    ("tensor", 8, |work| format!("{:.0}", work.pipes.tensor)),
    ("memory", 8, |work| format!("{:.0}", work.pipes.memory)),
    ("other", 8, |work| format!("{:.0}", work.pipes.other)),
    ("shared_wavefronts", 17, |work| format!("{:.0}", work.wavefronts)),
    ("global_sectors", 14, |work| format!("{:.0}", work.sectors)),
    ("h200_ms", 8, |work| format!("{:.3}", H200.time(&work.load()).0)),
    ("h200_bound", 10, |work| H200.time(&work.load()).1.into()),
    ("a100_ms", 8, |work| format!("{:.3}", A100.time(&work.load()).0)),
    ("a100_bound", 10, |work| A100.time(&work.load()).1.into()),
];

fn paper(work: &Work, value: f64) -> String {
    if work.op == Op::DivRem { format!("{value:.0}") } else { String::new() }
}

impl Work {
    fn load(&self) -> Load {
        Load {
            bits: self.shape.bits,
            pipes: self.pipes,
            wavefronts: self.wavefronts,
            sectors: self.sectors,
            row_sectors: self.row_sectors,
        }
    }
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
    let options = Options::parse();
    let is_test = options.test || !options.bench;
    let max_bits = if is_test { options.max_bits.min(1024) } else { options.max_bits };
    let nvcc = match compiled::nvcc() {
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
    let tasks = compiled::tasks()?;
    let start = Instant::now();
    let units: Vec<Unit> = shapes(max_bits)
        .into_par_iter()
        .with_max_len(1)
        .map(|shape| unit(&nvcc, disassembler.as_deref(), &tasks, shape))
        .collect::<Result<_>>()?;
    eprintln!("{} shapes compiled, {:.0} s", units.len(), start.elapsed().as_secs_f64());
    let mut jobs = Vec::new();
    for unit in &units {
        for kernel in &unit.kernels {
            let workloads = Op::of(kernel.task).map_or(&[][..], |(op, _)| op.workloads());
            jobs.extend(workloads.iter().map(|workload| (unit, kernel, *workload)));
        }
    }
    let works: Vec<Work> = jobs
        .into_par_iter()
        .with_max_len(1)
        .map(|(unit, kernel, workload)| count(unit, kernel, workload))
        .collect::<Result<_>>()?;
    print(&works, options.csv);
    eprintln!("{} lines, {:.0} s", works.len(), start.elapsed().as_secs_f64());
    Ok(())
}
