//! Times every operation at every width by `Auto`, and compares with an earlier measurement.
//!
//! `cargo bench -p gpuint-benches --bench speed` measures on the first GPU, else on the CPU with
//! fewer rows, and writes `speed.csv` and `speed.md` to `target/speed`; `-- --help` lists the
//! options. `--against FILE` reads the `speed.csv` of another commit and prints each operation that
//! became more than 3 % slower; the committed one of the H200 is `benches/results/h200/speed.csv`.
//! `--verified` times operations whose results are checked (`docs/verified.md`); with `--against`
//! a measurement without, the comparison is the cost of the checks.
//! `--plot FILE` draws the times of such a file beside other GPU code.
//!
//! Times are the device's: operands are on it before, results stay on it after. Milliseconds are
//! for a batch of 2^32 bits, whatever the number of rows timed. Operands are random in full width;
//! divisors are of the kinds of `benches/src/workload.rs`; exponents and moduli of powers have
//! full width, the moduli are odd, and squares from 2^15 bits on.

mod against;
mod measure;
#[path = "../paper/peers.rs"]
mod peers;
mod plot;
mod report;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use against::{Comparison, Measured};
use clap::Parser;
use gpuint::{BackendKind, DigitKind, Shape, shapes};
use gpuint_benches::batches::Operands;
use gpuint_benches::device::{self, Backend};
use gpuint_benches::enter_root;
use gpuint_benches::machine::Machine;
use measure::AtShape;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Times every operation at every width by `Auto`.
#[derive(Debug, Parser)]
#[command(name = "speed")]
struct Options {
    /// Device [default: the first GPU, else the CPU]
    #[arg(long)]
    backend: Option<Backend>,
    /// Widths, separated by commas [default: all that are built with 64-bit digits]
    #[arg(long, value_delimiter = ',')]
    bits: Vec<usize>,
    /// Operations, separated by commas, as in the CSV [default: all]
    #[arg(long, value_delimiter = ',')]
    ops: Vec<String>,
    /// Bits of a batch, as a power of two [default: 32 on a GPU, 22 on the CPU, 17 on simt]
    #[arg(long, value_name = "BATCH", value_parser = clap::value_parser!(u32).range(12..=40))]
    batch: Option<u32>,
    /// Measurements of each cell, at most
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Seconds for each cell, about, after the third measurement
    #[arg(long, default_value_t = 0.25)]
    seconds: f64,
    /// Checks all results on the device (`Device::verified`)
    #[arg(long)]
    verified: bool,
    /// A `speed.csv` to compare with
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Measures nothing: draws `speed.svg` and `speed.png` from a `speed.csv`, beside other GPU
    /// code
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Folder of the results [default: speed in cargo's target folder]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Measures only the widths that the folder's `speed.csv` of this commit and device lacks
    #[arg(long)]
    resume: bool,
    /// The commit that was built [default: `git describe`]
    #[arg(long)]
    commit: Option<String>,
    /// Measures two widths on few rows: a test of this program
    #[arg(long)]
    test: bool,
    /// Passed by `cargo bench` and not by `cargo test --benches`
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    fn cut_to_test(&mut self) {
        self.bits = vec![1024, 2048];
        self.batch = Some(14);
        self.runs = 1;
        self.seconds = 0.0;
        self.out.get_or_insert_with(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("speed"));
    }

    fn folder(&self) -> PathBuf {
        let default = || Path::new(env!("CARGO_TARGET_TMPDIR")).join("../speed");
        self.out.clone().unwrap_or_else(default)
    }

    /// One shape a width, the widest number of threads a row last.
    fn shapes(&self) -> Result<Vec<Shape>> {
        let mut built: Vec<Shape> =
            shapes().iter().copied().filter(|shape| shape.digit == DigitKind::U64).collect();
        // Q = 4 is the default; of the other Q, any stands for its width.
        built.sort_by_key(|shape| (shape.bits, shape.q != 4));
        built.dedup_by_key(|shape| shape.bits);
        let is_asked = |bits| self.bits.is_empty() || self.bits.contains(&bits);
        if let Some(bits) =
            self.bits.iter().find(|&&bits| built.iter().all(|shape| shape.bits != bits))
        {
            return Err(format!("{bits} bits are not built with 64-bit digits").into());
        }
        built.retain(|shape| is_asked(shape.bits));
        Ok(built)
    }
}

fn main() -> ExitCode {
    enter_root();
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("speed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut options: Options) -> Result<()> {
    if let Some(file) = &options.plot {
        let folder = options.folder();
        fs::create_dir_all(&folder)?;
        let measured = Measured::read(file)?;
        println!("gpuint: {}\nothers: {}", measured.source, peers::MEASURED);
        let figure = plot::figure(&measured);
        return figure.save(&folder.join("speed.svg"), &folder.join("speed.png"));
    }
    if options.test || !options.bench {
        options.cut_to_test();
    }
    device::start_log()?;
    let mut device = device::open(options.backend)?;
    if options.verified {
        device = device.verified();
    }
    let batch = options.batch.unwrap_or(match device.backend() {
        BackendKind::Cuda => 32,
        BackendKind::Simt => 17,
        _ => 22,
    });
    let before = options.against.as_deref().map(Measured::read).transpose()?;
    let machine = Machine::of(&device, options.commit.clone());
    let mut operands = Operands::new(1 << batch);
    let folder = options.folder();
    fs::create_dir_all(&folder)?;
    let mut measured = match options.resume {
        true => Measured::of_machine(&folder.join("speed.csv"), &machine)?,
        false => Measured::default(),
    };
    let mut shapes = options.shapes()?;
    shapes.retain(|shape| shape.bits <= 1 << batch && !measured.has(shape.bits));
    let outcome = shapes.into_iter().try_for_each(|shape| {
        let at = AtShape {
            options: &options,
            device: &device,
            operands: &mut operands,
            measured: &mut measured,
        };
        let outcome = at.measure(shape);
        // A width took seconds to minutes. A run that fails or is killed keeps its times.
        fs::write(folder.join("speed.csv"), measured.csv(&machine))?;
        fs::write(folder.join("speed.md"), report::markdown(&measured, &machine))?;
        outcome
    });
    print!("{}", report::markdown(&measured, &machine));
    if let Some(before) = before {
        let comparison = Comparison::of(&before, &measured);
        print!("{comparison}");
        fs::write(folder.join("slower.txt"), comparison.to_string())?;
    }
    outcome
}
