//! How fast batches are multiplied and divided: a table of times over widths, algorithms and
//! lengths of the divisor.
//!
//! `cargo run --release --example throughput -- --help`
//!
//! Times are the device's (`Device::time`): operands are on the device before, results stay there
//! after, and some rows of each are checked. Algorithms are those of the catalogue that the shape
//! has; the column `Auto` marks those that are taken where nothing is said. Dividends and factors
//! have random digits in full width. Divisors, `M` being the digits of 64 bits in the width, have
//! - `repo`: the length at which a loop ends that draws its bound anew, uniformly in `[2, M/2]`,
//!   before every digit (about `sqrt(pi M) / 2` digits: the generator of the published code);
//! - `uniform`: a length uniform in `[2, M/2]` digits;
//! - `half`: `M/2` digits;
//! - `full`: `M` digits.

#[path = "../benches/support/mod.rs"]
#[allow(dead_code)]
mod batches;
mod support;

use std::error::Error;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use batches::operation::Operation;
use batches::workload::Workload;
use batches::{Batches, Operands, Times, Way, ways};
use clap::{Parser, ValueEnum};
use gpuint::{
    Auto, BackendKind, Device, DigitKind, Divisor, Kernels, Mult, Op, Product, Quotient,
    ShapeVisitor, shapes,
};
use support::Backend;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Times products, divisions and modular products of batches of random integers.
#[derive(Debug, Parser)]
struct Options {
    /// Where to run: the first GPU or else the processor where nothing is said.
    #[arg(long)]
    backend: Option<Backend>,
    /// Widths, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "8192,16384,32768,65536")]
    bits: Vec<usize>,
    /// Digit of the kernels.
    #[arg(long, value_enum, default_value_t = Digit::U64)]
    digit: Digit,
    /// Digits per thread.
    #[arg(long, default_value_t = 4)]
    q: usize,
    /// Bits of a whole batch, as a power of two: rows = 2^BATCH / width [default: 32 on a GPU, 25
    /// on the processor, 19 on simt].
    #[arg(long, value_name = "BATCH", value_parser = clap::value_parser!(u32).range(10..=40))]
    batch: Option<u32>,
    /// Measurements of each cell, at most.
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Seconds for each cell, about, after the third measurement.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Write the table as comma-separated values, too.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Digit {
    U16,
    U32,
    U64,
}

impl Digit {
    fn kind(self) -> DigitKind {
        match self {
            Self::U16 => DigitKind::U16,
            Self::U32 => DigitKind::U32,
            Self::U64 => DigitKind::U64,
        }
    }
}

/// Where lines of the table go.
struct Report {
    csv: Option<File>,
}

impl Report {
    const COLUMNS: [&str; 12] = [
        "bits",
        "digit",
        "Q",
        "rows",
        "operation",
        "algorithm",
        "Auto",
        "divisor",
        "runs",
        "median ms",
        "least ms",
        "rows/s",
    ];

    fn new(options: &Options) -> Result<Self> {
        let csv = options.csv.as_ref().map(File::create).transpose()?;
        let mut report = Self { csv };
        report.line(&Self::COLUMNS.map(String::from))?;
        println!("|{}", "---|".repeat(Self::COLUMNS.len()));
        Ok(report)
    }

    fn line(&mut self, cells: &[String]) -> Result<()> {
        println!("| {} |", cells.join(" | "));
        io::stdout().flush()?;
        if let Some(csv) = &mut self.csv {
            writeln!(csv, "{}", cells.join(","))?;
        }
        Ok(())
    }
}

/// The measurements at one shape.
struct AtShape<'a> {
    options: &'a Options,
    device: &'a Device,
    operands: &'a mut Operands,
    report: &'a mut Report,
}

impl ShapeVisitor for AtShape<'_> {
    type Output = Result<()>;

    fn visit<T: Kernels>(mut self) -> Result<()> {
        let mut batches = Batches::<T>::new(self.device, self.operands)?;
        for (task, name) in [
            (Operation::Add, "add"),
            (Operation::MulLow, "mul low"),
            (Operation::MulWide, "mul low and high"),
            (Operation::Square, "square low"),
        ] {
            for way in ways(self.device, task) {
                self.cell(name, &way, "", &mut batches)?;
                if task == Operation::MulLow {
                    batches.check_product()?;
                }
            }
        }
        if !Quotient::Blocked(Product::Classical).is_offered(Op::DivRem, T::SHAPE) {
            return Ok(()); // the widest rows are not divided
        }
        // Modulo the second operand, prepared; the factors are below it or not, as they come.
        let rows = batches.u.len();
        let auto = |op| <Auto as Mult<T>>::product(op).offered(op, T::SHAPE).to_string();
        let prepared = Divisor::new(&batches.v)?;
        let Batches { u, v, out: [first, second], .. } = &mut batches;
        self.timed::<T>("prepare divisor", &auto(Op::Prepare), "full", rows, || {
            Divisor::new(v).map(drop)
        })?;
        self.timed::<T>("mul mod", &auto(Op::MulMod), "full", rows, || {
            u.mul_mod_into(v, &prepared, first)
        })?;
        self.timed::<T>("square mod", &auto(Op::SquareMod), "full", rows, || {
            u.square_mod_into(&prepared, second)
        })?;
        for workload in [Workload::Repo, Workload::Uniform, Workload::Half] {
            batches.divide_by(&self.operands.divisors::<T>(workload))?;
            for way in ways(self.device, Operation::DivRem) {
                self.cell("div_rem", &way, workload.name(), &mut batches)?;
                batches.check_division()?;
            }
            let prepared = Divisor::new(&batches.v)?;
            let Batches { u, out: [q, r], .. } = &mut batches;
            self.timed::<T>("div_rem", "prepared divisor", workload.name(), rows, || {
                u.div_rem_by_into(&prepared, q, r)
            })?;
            batches.check_division()?;
        }
        Ok(())
    }
}

impl AtShape<'_> {
    /// Times a way to do an operation.
    fn cell<T: Kernels>(
        &mut self,
        operation: &str,
        way: &Way<T>,
        divisor: &str,
        batches: &mut Batches<T>,
    ) -> Result<()> {
        let rows = batches.u.len();
        let auto = if way.is_auto { "yes" } else { "" };
        self.line::<T>([operation, &way.name, auto, divisor], rows, || way.run(batches))
    }

    /// Times an operation that can be done in one way only.
    fn timed<T: Kernels>(
        &mut self,
        operation: &str,
        algorithm: &str,
        divisor: &str,
        rows: usize,
        work: impl FnMut() -> gpuint::Result<()>,
    ) -> Result<()> {
        self.line::<T>([operation, algorithm, "yes", divisor], rows, work)
    }

    fn line<T: Kernels>(
        &mut self,
        [operation, algorithm, auto, divisor]: [&str; 4],
        rows: usize,
        mut work: impl FnMut() -> gpuint::Result<()>,
    ) -> Result<()> {
        let Options { runs, seconds, .. } = *self.options;
        let times =
            Times::of(runs, seconds, || self.device.time(&mut work).map(|((), time)| time))?;
        let milliseconds = |time: Duration| format!("{:.4}", time.as_secs_f64() * 1e3);
        let shape = T::SHAPE;
        let text = |cell: &dyn Display| cell.to_string();
        self.report.line(&[
            text(&shape.bits),
            text(&shape.digit),
            text(&shape.q),
            text(&rows),
            text(&operation),
            text(&algorithm),
            text(&auto),
            text(&divisor),
            text(&times.runs()),
            milliseconds(times.median()),
            milliseconds(times.least()),
            format!("{:.0}", rows as f64 / times.median().as_secs_f64()),
        ])
    }
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("throughput: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    support::start_log()?;
    let device = support::open(options.backend)?;
    let batch = options.batch.unwrap_or(match device.backend() {
        BackendKind::Cuda => 32,
        BackendKind::Simt => 19,
        _ => 25,
    });
    println!("{device}, batches of 2^{batch} bits\n");
    let mut operands = Operands::new(1 << batch);
    let mut report = Report::new(options)?;
    for &bits in &options.bits {
        let (q, digit) = (options.q, options.digit.kind());
        let shape = shapes()
            .iter()
            .find(|shape| (shape.bits, shape.q, shape.digit) == (bits, q, digit))
            .filter(|shape| shape.bits % 64 == 0 && bits <= 1 << batch)
            .ok_or_else(|| format!("{bits} bits with Q = {q} and {digit} digits are not built"))?;
        let at = AtShape { options, device: &device, operands: &mut operands, report: &mut report };
        shape.visit(at).ok_or("the shape is listed and not built")??;
    }
    Ok(())
}
