//! Finds the fastest strategy, digit, Q and block size of every operation at every width.
//!
//! `cargo bench -p gpuint-benches --bench autotune` tries the search space of
//! `kernels/search.toml`, writes a tuning table (`tuning/<gpu>.toml`, which the build script reads:
//! docs/tuning.md) and plots, and prints the fastest variants. On a CUDA GPU it measures by events.
//! Without a GPU it uses the roofline model of `benches/work.rs` for an H200, which needs nvcc; the
//! table, the plots and their names then mention the model, and the table is not written to
//! `tuning/`.
//!
//! Measurements are kept in a state file, so that an interrupted run can be continued. Kernels
//! whose text has changed are measured again.

mod gpu;
mod model;
mod plots;
mod space;
mod state;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

use clap::{Parser, ValueEnum};
use gpu::GpuTimer;
use gpuint::{Device, Error, Op, shapes};
use gpuint_benches::batches::TIMED;
use gpuint_benches::{choose, device, enter_root};
use gpuint_catalogue::Row as KernelRow;
use gpuint_catalogue::architecture::GpuRates;
use gpuint_catalogue::tuning::{Row, Table};
use gpuint_testkit::ptx::{ROOT, Result, catalogue};
use indicatif::{ProgressBar, ProgressStyle};
use model::Model;
use space::Variant;
use state::State;

/// Finds the fastest strategies, shapes and block sizes, and writes a tuning table.
#[derive(Debug, Parser)]
struct Options {
    /// Operations, separated by commas [default: all that are timed].
    #[arg(long, value_delimiter = ',', value_parser = TIMED.map(Op::name))]
    ops: Vec<String>,
    /// Widths, separated by commas [default: all that are built].
    #[arg(long, value_delimiter = ',')]
    bits: Vec<usize>,
    /// Seconds after which no new variant is tried; the next run continues.
    #[arg(long, default_value_t = 600.0)]
    budget: f64,
    /// Source of the times [default: the first GPU, or else the model]. `simt` is for tests of the
    /// measurement itself.
    #[arg(long)]
    source: Option<SourceKind>,
    /// Bits of a batch that is timed, as a power of two.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(18..=36))]
    batch: u32,
    /// The tuning table, whose other rows are kept [default: tuning/<gpu>.toml of this repository,
    /// or the folder of the state if that does not exist or for the model].
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Folder of the state and the plots [default: target/autotune, or autotune without a target
    /// folder].
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Only batches of few rows, for the choices there.
    #[arg(long)]
    few_rows: bool,
    /// Try a few variants on the shim only, as a test of tuning.
    #[arg(long)]
    test: bool,
    /// Passed by `cargo bench` and not by `cargo test --benches`.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    /// Tries a few variants, in a separate folder that is empty at the start.
    fn trial() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("autotune");
        // A missing folder is an empty one.
        let _ = fs::remove_dir_all(&folder);
        Self {
            ops: ["add", "mul_lo", "prepare", "mul_mod"].map(String::from).into(),
            bits: vec![1024],
            budget: f64::INFINITY,
            source: Some(SourceKind::Simt),
            batch: 18,
            table: None,
            folder: Some(folder),
            few_rows: false,
            test: true,
            bench: false,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SourceKind {
    Cuda,
    Model,
    Simt,
}

/// Result of a source for a variant.
enum Timing {
    /// Milliseconds for a batch of 2^32 bits.
    Ms(f64),
    /// The variant cannot run there, for this reason.
    Skipped(String),
}

/// Source of the times.
enum Source {
    Gpu(Box<GpuTimer>),
    Model(Box<Model>),
}

impl Source {
    /// `None`, with a message on standard output, if no source was requested and there is none.
    fn new(options: &Options) -> Result<Option<Self>> {
        let on = |device| Ok(Some(Self::Gpu(Box::new(GpuTimer::new(device, options.batch)))));
        let model = || Ok(Some(Self::Model(Box::new(Model::new()?))));
        let words = |error: Error| error.to_string();
        match options.source {
            Some(SourceKind::Cuda) => on(Device::cuda(0).map_err(words)?),
            Some(SourceKind::Simt) => on(Device::simt()),
            Some(SourceKind::Model) => model(),
            None => match Device::cuda(0) {
                Ok(device) => on(device),
                Err(Error::NoDevice) => model().or_else(|reason: String| {
                    println!(
                        "nothing was tuned: there is no GPU, and the model needs nvcc: {reason}"
                    );
                    Ok(None)
                }),
                Err(error) => Err(words(error)),
            },
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Gpu(gpu) => gpu.name(),
            Self::Model(_) => Model::NAME.to_owned(),
        }
    }

    /// The device that defines the defaults.
    fn device(&self) -> Device {
        match self {
            Self::Gpu(gpu) => gpu.device(),
            Self::Model(_) => Device::cpu(),
        }
    }

    /// GPU of the table; a source without a GPU uses the H200 of the model.
    fn described(&self) -> choose::TunedGpu {
        let gpu = match self {
            Self::Gpu(gpu) => gpu.properties(),
            Self::Model(_) => None,
        };
        let modelled = GpuRates::MEASURED;
        let (capability, multiprocessors) = gpu
            .map_or((modelled.capability, modelled.multiprocessors), |gpu| {
                (gpu.capability, gpu.multiprocessors)
            });
        choose::TunedGpu { name: self.name(), capability, multiprocessors }
    }

    fn is_a_gpu(&self) -> bool {
        matches!(self, Self::Gpu(gpu) if gpu.is_cuda())
    }

    fn time(&mut self, variant: &Variant) -> Result<Timing> {
        match self {
            Self::Gpu(gpu) => gpu.time(variant),
            Self::Model(model) => model.time(variant),
        }
    }
}

/// Name of a GPU in file names: `h200`, `h200-roofline-model`.
fn file_name(gpu: &str) -> String {
    let name = gpu.trim_start_matches("NVIDIA ").to_lowercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

fn main() -> ExitCode {
    enter_root();
    let mut options = Options::parse();
    if options.test || !options.bench {
        options = Options::trial();
    }
    let done = device::start_log().map_err(|error| error.to_string()).and_then(|()| run(&options));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("autotune: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    if let Some(bits) = options.bits.iter().find(|&&bits| shapes().iter().all(|s| s.bits != bits)) {
        return Err(format!("{bits} bits are not built"));
    }
    let Some(mut source) = Source::new(options)? else { return Ok(()) };
    let gpu = source.name();
    let name = file_name(&gpu);
    let folder = options.folder.clone().unwrap_or_else(default_folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let file = options.table.clone().unwrap_or_else(|| {
        let tables = Path::new(ROOT).join("tuning");
        let tables = if source.is_a_gpu() && tables.is_dir() { &tables } else { &folder };
        tables.join(format!("{name}.toml"))
    });
    let kernels: Vec<_> = catalogue()?.rows().collect();
    let before = read(&file, &kernels)?;

    let mut state = State::open(&folder.join(format!("{name}.state")))?;
    let mut variants = space::variants(&options.ops, &options.bits, &source.device())?;
    variants.retain(|variant| variant.few_rows.is_some() || !options.few_rows);
    println!("{} variants on {gpu}", variants.len());
    let known = measure(options, &mut source, &gpu, &mut state, &variants)?;

    if known.is_empty() {
        return Ok(());
    }
    print(&known);
    let rows: Vec<Row> = known.into_iter().map(|(_, row)| row).collect();
    let files = plots::draw(&folder, &name, &gpu, &rows)?;
    println!("\n{} plots: {}", files.len(), folder.join(format!("{name}-*.{{svg,png}}")).display());
    let (choices, before) = before.map(|table| (table.choices, table.rows)).unwrap_or_default();
    let table = choose::table(&source.described(), choose::merged(before, rows), &choices);
    let text = table.to_string();
    // The checks of the build script.
    Table::parse(&text, &kernels)?;
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("the tuning table: {}", file.display());
    println!("to build with it: GPUINT_TUNING={} cargo build --release", file.display());
    Ok(())
}

fn default_folder() -> PathBuf {
    // `CARGO_TARGET_TMPDIR` is a folder in the target folder; on another machine it does not exist.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().filter(|target| target.is_dir());
    target.map_or_else(|| "autotune".into(), |target| target.join("autotune"))
}

/// Reads a table that may not exist.
fn read(file: &Path, kernels: &[KernelRow<'_>]) -> Result<Option<Table>> {
    if !file.is_file() {
        return Ok(None);
    }
    let text = fs::read_to_string(file).map_err(|error| error.to_string());
    let table = text.and_then(|text| Table::parse(&text, kernels));
    table.map(Some).map_err(|error| format!("{}: {error}", file.display()))
}

/// Tries all variants without a measurement until the budget is used; returns all measurements.
fn measure<'a>(
    options: &Options,
    source: &mut Source,
    gpu: &str,
    state: &mut State,
    variants: &'a [Variant],
) -> Result<Vec<(&'a Variant, Row)>> {
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let bar = progress(variants.len());
    let start = Instant::now();
    let (mut known, mut new, mut left, mut skipped) = (Vec::new(), 0, 0, BTreeMap::new());
    for variant in variants {
        let key = variant.key();
        if let Some(row) = state.get(&key) {
            known.push((variant, row.clone()));
            // Weight of the first measurement, which is not part of the speed that the progress bar
            // predicts.
            bar.set_length(bar.length().unwrap_or_default().saturating_sub(1));
            continue;
        }
        if start.elapsed().as_secs_f64() >= options.budget {
            left += 1;
            continue;
        }
        bar.set_message(variant.to_string());
        match source.time(variant).inspect_err(|_| bar.abandon())? {
            Timing::Ms(ms) => {
                let row = row(variant, ms, gpu, &today);
                state.add(key, row.clone())?;
                known.push((variant, row));
                new += 1;
            }
            Timing::Skipped(reason) => {
                skipped.entry(reason).or_insert_with(Vec::new).push(variant);
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!(
        "{} variants are known, {new} of them from this run ({:.0} s); {left} are left for the \
         next",
        known.len(),
        start.elapsed().as_secs_f64()
    );
    for (reason, variants) in skipped {
        println!("skipped {} (the first: {}): {reason}", variants.len(), variants[0]);
    }
    Ok(known)
}

fn row(variant: &Variant, ms: f64, gpu: &str, date: &str) -> Row {
    let one_of_many = !variant.row.per_width;
    Row {
        kernel: variant.row.to_string(),
        bits: variant.shape.bits,
        digit: one_of_many.then(|| variant.shape.digit.name().to_owned()),
        q: one_of_many.then_some(variant.shape.q),
        block: one_of_many.then_some(variant.block),
        rows: variant.few_rows,
        // Two runs agree in fewer than four digits.
        ms: format!("{ms:.3e}").parse().unwrap_or(ms),
        gpu: gpu.to_owned(),
        date: date.to_owned(),
    }
}

fn progress(length: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length as u64);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len}, {eta} left  {msg:48!}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Prints the fastest variant at each width and number of rows, and its ratio to the default.
fn print(known: &[(&Variant, Row)]) {
    type Key<'a> = (&'a str, usize, Option<usize>);
    let mut by_width: BTreeMap<Key<'_>, Vec<&(&Variant, Row)>> = BTreeMap::new();
    for entry in known {
        let Variant { row, shape, few_rows, .. } = entry.0;
        by_width.entry((row.op.name(), shape.bits, *few_rows)).or_default().push(entry);
    }
    println!("\n| operation | bits | rows | fastest | ms | by default | ms | times as fast |");
    println!("|{}", "---|".repeat(8));
    for ((op, bits, rows), entries) in by_width {
        let fastest = entries.iter().min_by(|a, b| a.1.ms.total_cmp(&b.1.ms));
        let Some((variant, best)) = fastest else { continue };
        let default = entries.iter().find(|(variant, _)| variant.is_default());
        let (by_default, ms, gain) = match default {
            Some((variant, row)) => {
                (how(variant), format!("{:.3}", row.ms), format!("{:.2}", row.ms / best.ms))
            }
            None => ("not measured".to_owned(), String::new(), String::new()),
        };
        let rows = rows.map_or_else(|| "many".to_owned(), |rows| rows.to_string());
        println!(
            "| {op} | {bits} | {rows} | {} | {:.3} | {by_default} | {ms} | {gain} |",
            how(variant),
            best.ms
        );
    }
}

/// A variant without its operation and width.
fn how(variant: &Variant) -> String {
    let Variant { row, shape, block, .. } = variant;
    let strategy = row.algorithm.to_string();
    if row.per_width {
        return strategy;
    }
    let separator = if strategy.is_empty() { "" } else { ", " };
    format!("{strategy}{separator}{}, Q = {}, block {block}", shape.digit, shape.q)
}
