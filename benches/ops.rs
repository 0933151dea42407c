//! Every operation at every shape that is built, by every algorithm that the shape has.
//!
//! `cargo bench -p gpuint-benches --bench ops` measures all; `cargo bench -p gpuint-benches --bench
//! ops -- '(mul|square)_lo/8192'` measures the matching names (`-- --help` lists criterion's
//! options). Names are `OPERATION/BITS/DIGIT/Q/ALGORITHM`; `auto` is the algorithm of `Auto`. Times
//! are the device's (CUDA events; the clock elsewhere): operands are on the device before, results
//! stay there after. `transfer` is apart: the clock's time of copies from and to the host, as bytes
//! and as numbers.
//!
//! Operands are random in full width, the same every time; divisors have a length uniform in
//! `[2, M/2]` digits of 64 bits, and are inverted at `M/2` digits, for `B^M / v`.
//!
//! | variable | |
//! |---|---|
//! | `GPUINT_BENCH_BACKEND` | `cuda`, `cpu` or `simt`; by default the first GPU, or else the CPU |
//! | `GPUINT_BENCH_BATCH` | bits of a batch, as a power of two: 30 on GPUs, 21 on cpu, 18 on simt |
//!
//! The CPU has one algorithm, for which digits and Q make no difference: there, every other
//! width is measured, in digits of 64 bits with Q = 4.

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};
use gpuint::{BackendKind, Device, DigitKind, DynBatch, Op, Shape, shapes};
use gpuint_benches::batches::{Batches, Operands, TIMED, WIDEST_POWERS, ways};
use gpuint_benches::{device, enter_root};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The measurements at one shape.
struct AtShape<'a> {
    criterion: &'a mut Criterion,
    device: &'a Device,
    operands: &'a mut Operands,
}

impl AtShape<'_> {
    fn measure(self, shape: Shape) -> Result<()> {
        let Self { criterion, device, operands } = self;
        for op in TIMED {
            let ways = ways(shape, usize::MAX, device, op);
            if ways.is_empty() || (op == Op::PowMod && shape.bits > WIDEST_POWERS) {
                continue;
            }
            let mut batches = Batches::of(op, shape, device, operands)?;
            let rows = batches.u.len();
            let mut group = group(criterion, op.name());
            group.throughput(Throughput::Elements(rows as u64));
            let several = ways.len() > 1;
            for way in &ways {
                let auto = (several && way.is_auto).then_some("auto");
                for name in [Some(way.name.as_str()), auto].into_iter().flatten() {
                    measure(&mut group, &id(shape, name), |iterations| {
                        let work = || (0..iterations).try_for_each(|_| way.run(&mut batches));
                        device.time(work).map(|((), time)| time)
                    })?;
                }
            }
            group.finish();
        }
        if is_plain(shape) {
            transfers(criterion, device, &Batches::new(shape, device, operands)?.u)?;
        }
        Ok(())
    }
}

/// `8192/u64/4/NAME`.
fn id(shape: Shape, name: &str) -> String {
    let Shape { bits, q, digit } = shape;
    let slash = if name.is_empty() { "" } else { "/" };
    format!("{bits}/{digit}/{q}{slash}{name}")
}

/// Copies from the host and to it: each waits until it has ended.
fn transfers(criterion: &mut Criterion, device: &Device, batch: &DynBatch) -> Result<()> {
    let shape = batch.shape();
    let bytes = batch.to_le_bytes()?;
    let numbers = batch.to_biguints()?;
    let mut group = group(criterion, "transfer");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    let mut copy = |name: &str, work: &mut dyn FnMut() -> gpuint::Result<()>| {
        measure(&mut group, &id(shape, name), |iterations| {
            let start = Instant::now();
            for _ in 0..iterations {
                work()?;
                device.synchronize()?;
            }
            Ok(start.elapsed())
        })
    };
    copy("from_le_bytes", &mut || DynBatch::from_le_bytes(device, shape, &bytes).map(drop))?;
    copy("to_le_bytes", &mut || batch.to_le_bytes().map(drop))?;
    copy("from_biguints", &mut || DynBatch::from_biguints(device, shape, &numbers).map(drop))?;
    copy("to_biguints", &mut || batch.to_biguints().map(drop))?;
    group.finish();
    Ok(())
}

fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat);
    group
}

/// Has criterion call `work` with numbers of iterations, whose time it returns; after an error, no
/// more.
fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    mut work: impl FnMut(u64) -> gpuint::Result<Duration>,
) -> Result<()> {
    let mut loaded = false;
    let mut failure = None;
    group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
        bencher.iter_custom(|iterations| {
            // A kernel is loaded by its first launch.
            let first = if loaded { Ok(Duration::ZERO) } else { work(1) };
            loaded = true;
            match first.and_then(|_| work(iterations)) {
                Ok(time) if failure.is_none() => time,
                Ok(_) => Duration::from_secs(1),
                Err(error) => {
                    failure = Some(error);
                    Duration::from_secs(1)
                }
            }
        });
    });
    failure.map_or(Ok(()), |error| Err(format!("{name}: {error}").into()))
}

/// The shapes that stand for their width where digits and Q make no difference.
fn is_plain(shape: Shape) -> bool {
    shape.digit == DigitKind::U64 && shape.q == 4 && shape.bits.ilog2().is_multiple_of(2)
}

/// A variable of the environment, read by `parse`.
fn variable<T>(name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>> {
    let Ok(text) = env::var(name) else { return Ok(None) };
    match parse(&text) {
        Some(value) => Ok(Some(value)),
        None => Err(format!("{name}={text} is not understood").into()),
    }
}

fn main() -> ExitCode {
    enter_root();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ops: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    device::start_log()?;
    let backend =
        variable("GPUINT_BENCH_BACKEND", |text| device::Backend::from_str(text, true).ok())?;
    let device = device::open(backend)?;
    let kind = device.backend();
    // As criterion does: without these, each measurement is only tried.
    let is_test = !env::args().any(|argument| argument == "--bench")
        || env::args().any(|argument| argument == "--test");
    let batch = variable("GPUINT_BENCH_BATCH", |text| {
        text.parse().ok().filter(|log| (10..=40).contains(log))
    })?;
    let batch: u32 = batch.unwrap_or(match kind {
        _ if is_test => 12,
        BackendKind::Cuda => 30,
        BackendKind::Simt => 18,
        _ => 21,
    });
    let is_measured = |shape: &&Shape| {
        (kind != BackendKind::Cpu || is_plain(**shape))
            && shape.bits.is_multiple_of(64)
            && shape.bits <= 1 << batch
    };
    let shapes: Vec<_> = shapes().iter().filter(is_measured).collect();
    let all = if kind == BackendKind::Cpu { ", one algorithm each" } else { "" };
    println!("{device}: batches of 2^{batch} bits, {} shapes{all}", shapes.len());
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let mut operands = Operands::new(1 << batch);
    for &shape in shapes {
        let at = AtShape { criterion: &mut criterion, device: &device, operands: &mut operands };
        at.measure(shape)?;
    }
    criterion.final_summary();
    Ok(())
}
