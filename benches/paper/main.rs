//! The table of "On GPU Implementation for Multi-Precision Integer Division": times of the low half
//! of a product and of a division with remainder, and their ratio, for batches of 2^32 bits of
//! integers of 2^13 to 2^18 bits, in digits of 64 bits with Q = 4; the median of 25 runs.
//!
//! `cargo bench -p gpuint-benches --bench paper` measures on the first GPU, else on the CPU with
//! fewer integers, and writes Markdown, CSV, and a plot as SVG and PNG to `target/paper`; `--
//! --help` lists the options. With `--features gmp`, the GMP of this machine is timed too.
//!
//! Factors and dividends are random in full width. There are several kinds of divisors, since
//! results depend on them and the paper's text and code differ:
//! - `repo`, those of the published code: its loop draws its bound anew before every digit;
//! - `uniform`, as the paper says: a length uniform in `[2, M/2]` digits;
//! - `half`: `M/2` digits;
//! - `structured`, not of the paper: powers of two and their neighbours, with dividends to match,
//!   on which carries, borrows and corrections run over whole numbers.

#[cfg(feature = "gmp")]
#[path = "../../src/backend/cpu/gmp.rs"]
#[allow(dead_code, reason = "products and divisions are timed, the cpu backend takes more")]
mod gmp;
mod libraries;
mod peers;
mod report;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use gpuint::{BackendKind, Device, DigitKind, Op, Shape, shapes};
use gpuint_benches::batches::{Batches, Operands, Times, Way, ways};
use gpuint_benches::device::{self, Backend};
use gpuint_benches::enter_root;
use gpuint_benches::machine::Machine;
use gpuint_benches::workload::Workload;
use indicatif::{ProgressBar, ProgressStyle};
use report::Report;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The divisors, in the order of the columns.
const DIVISORS: [Workload; 4] =
    [Workload::Repo, Workload::Uniform, Workload::Half, Workload::Structured];

/// Measures the paper's table.
#[derive(Debug, Parser)]
#[command(name = "paper")]
struct Options {
    /// Device [default: the first GPU, else the CPU]
    #[arg(long)]
    backend: Option<Backend>,
    /// Widths, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "8192,16384,32768,65536,131072,262144")]
    bits: Vec<usize>,
    /// Bits of a batch, as a power of two [default: 32 on a GPU, 25 on the CPU, 19 on simt]
    #[arg(long, value_name = "BATCH", value_parser = clap::value_parser!(u32).range(13..=40))]
    batch: Option<u32>,
    /// Measurements of each cell, at most
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Seconds for each cell, about, after the third measurement
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Seconds for each operation of a CPU library
    #[arg(long, default_value_t = 0.2)]
    library_seconds: f64,
    /// Folder of the results [default: paper in cargo's target folder]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// The commit that was built [default: `git describe`]
    #[arg(long)]
    commit: Option<String>,
    /// Two widths, few numbers: whether measuring works
    #[arg(long)]
    test: bool,
    /// Passed by `cargo bench` and not by `cargo test --benches`.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    /// Applies `--test`.
    fn cut_to_test(&mut self) {
        self.bits.truncate(2);
        self.batch = Some(17);
        self.runs = 3;
        self.library_seconds = 0.0;
        self.out.get_or_insert_with(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("paper"));
    }
}

/// Rows whose results are checked.
const CHECKED: usize = 16;

/// The measurements at one width.
struct AtWidth<'a> {
    options: &'a Options,
    device: &'a Device,
    operands: &'a mut Operands,
    progress: &'a ProgressBar,
}

impl AtWidth<'_> {
    fn measure(self, shape: Shape) -> Result<Vec<Line>> {
        let mut batches = Batches::new(shape, self.device, self.operands)?;
        let rows = batches.u.len();
        let sets = Algorithms::on(self.device);
        let mut lines = Vec::new();
        for &algorithms in sets {
            let mul = self.cell(Op::MulLo, algorithms, &mut batches)?;
            batches.check(Op::MulLo, CHECKED)?;
            lines.push(Line { algorithms, bits: shape.bits, rows, mul, div: Vec::new() });
        }
        for workload in DIVISORS {
            batches.divide(self.operands, workload)?;
            for line in &mut lines {
                line.div.push(self.cell(Op::DivRem, line.algorithms, &mut batches)?);
                batches.check(Op::DivRem, CHECKED)?;
            }
        }
        Ok(lines)
    }
}

impl AtWidth<'_> {
    fn cell(&self, op: Op, algorithms: Algorithms, batches: &mut Batches) -> Result<Cell> {
        let Options { runs, seconds, .. } = *self.options;
        let (shape, rows) = (batches.u.shape(), batches.u.len());
        let way = ways(shape, rows, self.device, op).into_iter().find(|way| algorithms.takes(way));
        let way = way.ok_or("the algorithm is not built")?;
        self.progress.set_message(format!("{} bits, {}", shape.bits, way.name));
        let times = Times::of(runs, seconds, || {
            self.device.time(|| way.run(batches)).map(|((), time)| time)
        })?;
        self.progress.inc(1);
        Ok(Cell { algorithm: way.name, times })
    }
}

/// Algorithms of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithms {
    /// The algorithms of `Auto`.
    Auto,
    /// Classical products, and quotients by the whole shifted inverse.
    Papers,
}

impl Algorithms {
    /// The CPU has one algorithm for each operation.
    fn on(device: &Device) -> &'static [Self] {
        match device.backend() {
            BackendKind::Cpu => &[Self::Auto],
            _ => &[Self::Auto, Self::Papers],
        }
    }

    fn takes(self, way: &Way) -> bool {
        match self {
            Self::Auto => way.is_auto,
            Self::Papers => matches!(way.name.as_str(), "classical" | "shifted_inverse_classical"),
        }
    }
}

/// Measurements at a width.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) algorithms: Algorithms,
    pub(crate) bits: usize,
    /// The integers of a batch.
    pub(crate) rows: usize,
    pub(crate) mul: Cell,
    /// By divisors, in the order of [`DIVISORS`].
    pub(crate) div: Vec<Cell>,
}

#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) algorithm: String,
    pub(crate) times: Times,
}

fn main() -> ExitCode {
    enter_root();
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("paper: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut options: Options) -> Result<()> {
    if options.test || !options.bench {
        options.cut_to_test();
    }
    device::start_log()?;
    let device = device::open(options.backend)?;
    let batch = options.batch.unwrap_or(match device.backend() {
        BackendKind::Cuda => 32,
        BackendKind::Simt => 19,
        _ => 25,
    });
    let sets = Algorithms::on(&device).len();
    let progress = progress_bar(options.bits.len() * (sets * (1 + DIVISORS.len()) + 1))?;
    let mut operands = Operands::new(1 << batch);
    let mut report = Report::new(Machine::of(&device, options.commit.clone()), batch);
    for &bits in &options.bits {
        let shape = shapes()
            .iter()
            .find(|shape| (shape.bits, shape.q, shape.digit) == (bits, 4, DigitKind::U64))
            .filter(|_| bits <= 1 << batch)
            .ok_or_else(|| {
                format!("{bits} bits with Q = 4 are not built, or wider than a batch")
            })?;
        let at = AtWidth {
            options: &options,
            device: &device,
            operands: &mut operands,
            progress: &progress,
        };
        report.lines.extend(at.measure(*shape)?);
        progress.set_message(format!("{bits} bits, libraries"));
        let (libraries, missing) = libraries::times(bits, options.runs, options.library_seconds);
        report.libraries.extend(libraries);
        report.missing = missing;
        progress.inc(1);
    }
    progress.finish_and_clear();

    let folder =
        options.out.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("../paper"));
    fs::create_dir_all(&folder)?;
    let file = |name: &str| folder.join(name);
    let text = report.markdown();
    print!("{text}");
    fs::write(file("paper.md"), text)?;
    fs::write(file("paper.csv"), report.csv())?;
    report.figure().save(&file("paper.svg"), &file("paper.png"))?;
    println!(
        "\nin {}: paper.md, paper.csv, paper.svg, paper.png",
        folder.canonicalize()?.display()
    );
    Ok(())
}

/// On a terminal only.
fn progress_bar(steps: usize) -> Result<ProgressBar> {
    let style = "{wide_bar} {pos} of {len}, {eta} left, {msg}";
    Ok(ProgressBar::new(steps as u64).with_style(ProgressStyle::with_template(style)?))
}
