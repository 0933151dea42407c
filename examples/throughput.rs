//! How fast batches are multiplied and divided: a table of times over widths, algorithms and
//! lengths of the divisor.
//!
//! `cargo run --release --example throughput -- --help`
//!
//! Times are the device's (`Device::time`): operands are on the device before, results stay there
//! after. Dividends and factors have random digits in full width. Divisors, `M` being the digits
//! of 64 bits in the width, have
//! - `redrawn`: the length at which a loop ends that draws its bound anew, uniformly in `[2, M/2]`,
//!   before every digit (about `sqrt(pi M) / 2` digits: the generator of the published code);
//! - `uniform`: a length uniform in `[2, M/2]` digits;
//! - `half`: `M/2` digits;
//! - `full`: `M` digits.

use std::error::Error;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Batch, Blocked, Classical, Device, DigitKind, Kernels, Mask, ShapeVisitor,
    ShiftedInverse, shapes,
};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

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
enum Backend {
    Cuda,
    Cpu,
    Simt,
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

/// How long divisors are.
#[derive(Debug, Clone, Copy)]
enum Divisor {
    Redrawn,
    Uniform,
    Half,
}

impl Divisor {
    const ALL: [Self; 3] = [Self::Redrawn, Self::Uniform, Self::Half];

    fn name(self) -> &'static str {
        match self {
            Self::Redrawn => "redrawn",
            Self::Uniform => "uniform",
            Self::Half => "half",
        }
    }

    /// The length of a divisor in digits of 64 bits, of `digits` at most.
    fn length(self, digits: usize, rng: &mut SmallRng) -> usize {
        let half = (digits / 2).max(2);
        match self {
            Self::Redrawn => {
                let mut length = 0;
                while length < rng.random_range(2..=half) {
                    length += 1;
                }
                length
            }
            Self::Uniform => rng.random_range(2..=half),
            Self::Half => half,
        }
    }
}

/// The batches that are divided and multiplied, in digits of 64 bits on the host.
struct Operands {
    rng: SmallRng,
    left: Vec<u64>,
    right: Vec<u64>,
}

impl Operands {
    fn new(words: usize) -> Self {
        let mut rng = SmallRng::seed_from_u64(1);
        let left = (0..words).map(|_| rng.random()).collect();
        let right = (0..words).map(|_| rng.random()).collect();
        Self { rng, left, right }
    }

    /// The second operands, cut to lengths of a distribution.
    fn divisors(&mut self, divisor: Divisor, digits: usize) -> Vec<u64> {
        let mut words = self.right.clone();
        for row in words.chunks_exact_mut(digits) {
            let length = divisor.length(digits, &mut self.rng);
            row[length..].fill(0);
            // The leading digit is not zero.
            row[length - 1] |= 1;
        }
        words
    }
}

fn number(words: &[u64]) -> BigUint {
    BigUint::from_bytes_le(bytemuck::cast_slice(words))
}

/// Where lines of the table go.
struct Report {
    csv: Option<File>,
}

impl Report {
    const COLUMNS: [&str; 11] = [
        "bits",
        "digit",
        "Q",
        "rows",
        "operation",
        "algorithm",
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

/// A batch to divide, its divisors (on the host, too), and where results go.
struct Division<'a, T: Kernels> {
    divisor: Divisor,
    divisors: &'a [u64],
    u: &'a Batch<T>,
    v: &'a Batch<T>,
    out: &'a mut [Batch<T>; 2],
    zero: &'a mut Mask,
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
        let digits = T::BITS / 64;
        let words = self.operands.left.len() / digits * digits;
        let upload =
            |words: &[u64]| Batch::<T>::from_le_bytes(self.device, bytemuck::cast_slice(words));
        let u = upload(&self.operands.left[..words])?;
        let mut out = [Batch::zeros(self.device, u.len())?, Batch::zeros(self.device, u.len())?];
        let mut zero = Mask::none(self.device, u.len())?;

        let v = upload(&self.operands.right[..words])?;
        let [low, high] = &mut out;
        self.cell::<T>("mul low", "classical", "", u.len(), || {
            u.wrapping_mul_with_into::<Classical>(&v, low)
        })?;
        self.cell::<T>("mul low and high", "classical", "", u.len(), || {
            u.mul_lo_hi_with_into::<Classical>(&v, low, high)
        })?;
        self.cell::<T>("square low", "classical", "", u.len(), || {
            u.wrapping_square_with_into::<Classical>(low)
        })?;
        // Modulo the second operand, prepared; the halves of a product are the factors.
        self.cell::<T>("prepare divisor", "classical", "full", u.len(), || {
            gpuint::Divisor::new(&v).map(drop)
        })?;
        let prepared = gpuint::Divisor::new(&v)?;
        self.cell::<T>("mul mod", "classical", "full", u.len(), || {
            u.mul_mod_into(high, &prepared, low)
        })?;
        self.cell::<T>("square mod", "classical", "full", u.len(), || {
            u.square_mod_into(&prepared, low)
        })?;
        drop((v, prepared));
        for divisor in Divisor::ALL {
            let divisors = self.operands.divisors(divisor, digits);
            let v = upload(&divisors[..words])?;
            let mut task = Division {
                divisor,
                divisors: &divisors,
                u: &u,
                v: &v,
                out: &mut out,
                zero: &mut zero,
            };
            self.division::<T, Blocked<Classical>>("blocked", &mut task)?;
            // The processor has one algorithm, num-bigint's.
            if self.device.backend() != BackendKind::Cpu {
                self.division::<T, ShiftedInverse<Classical>>("shifted inverse", &mut task)?;
            }
            let prepared = gpuint::Divisor::new(&v)?;
            let [q, r] = &mut out;
            self.cell::<T>("div_rem", "prepared divisor", divisor.name(), u.len(), || {
                u.div_rem_by_into(&prepared, q, r)
            })?;
        }
        Ok(())
    }
}

impl AtShape<'_> {
    /// Times a division, and checks some of its rows.
    fn division<T: Kernels, S: gpuint::Division<T>>(
        &mut self,
        algorithm: &str,
        task: &mut Division<'_, T>,
    ) -> Result<()> {
        let Division { divisor, divisors, u, v, out: [q, r], zero } = task;
        // The masked form, since the other one waits for the device.
        self.cell::<T>("div_rem", algorithm, divisor.name(), u.len(), || {
            u.div_rem_masked_with_into::<S>(v, q, r, zero)
        })?;
        let digits = T::BITS / 64;
        for row in (0..u.len()).step_by(u.len().div_ceil(16)) {
            let words = row * digits..(row + 1) * digits;
            let (u, v) = (number(&self.operands.left[words.clone()]), number(&divisors[words]));
            let (q, r) = (q.row(row)?, r.row(row)?);
            if r >= v || q * v + r != u {
                return Err(format!("row {row} of {} is wrong", T::SHAPE).into());
            }
        }
        Ok(())
    }

    /// Times some work and reports it.
    fn cell<T: Kernels>(
        &mut self,
        operation: &str,
        algorithm: &str,
        divisor: &str,
        rows: usize,
        mut work: impl FnMut() -> gpuint::Result<()>,
    ) -> Result<()> {
        let algorithm = match self.device.backend() {
            BackendKind::Cpu => "num-bigint",
            _ => algorithm,
        };
        // Loads the kernel.
        work()?;
        let start = Instant::now();
        let mut times = Vec::new();
        while times.len() < self.options.runs as usize
            && (times.len() < 3 || start.elapsed().as_secs_f64() < self.options.seconds)
        {
            times.push(self.device.time(&mut work)?.1);
        }
        times.sort_unstable();
        let median = times[times.len() / 2];
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
            text(&divisor),
            text(&times.len()),
            milliseconds(median),
            milliseconds(times[0]),
            format!("{:.0}", rows as f64 / median.as_secs_f64()),
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
    let device = match options.backend {
        None => Device::new()?,
        Some(Backend::Cuda) => Device::cuda(0)?,
        Some(Backend::Cpu) => Device::cpu(),
        Some(Backend::Simt) => Device::simt(),
    };
    let batch = options.batch.unwrap_or(match device.backend() {
        BackendKind::Cuda => 32,
        BackendKind::Simt => 19,
        _ => 25,
    });
    println!("{device}, batches of 2^{batch} bits\n");
    let mut operands = Operands::new((1usize << batch) / 64);
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
