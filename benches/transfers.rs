//! Times every path of rows between the host and a device, conversions of integers and text, short
//! calls of one thread and of several, a pipeline that overlaps copies and kernels, and a pool of
//! one and of all GPUs.
//!
//! `cargo bench -p gpuint-benches --bench transfers` runs on the first GPU, else on the CPU with
//! fewer rows; `-- --help` lists the options. Throughput counts the bytes of the rows once. `host
//! copy` is a `memcpy` of the rows on all cores: the upper bound of a conversion. Each figure is
//! the median of several runs; the first run, which allocates, is not among them.

use std::error::Error;
use std::hint::black_box;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Device, DynBatch, DynDivisor, HostBatch, Pool, Shape, narrowest};
use gpuint_benches::device::{self, Backend};
use gpuint_benches::enter_root;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rayon::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Times copies, conversions and their overlap with kernels.
#[derive(Debug, Parser)]
#[command(name = "transfers")]
struct Options {
    /// Device [default: the first GPU, else the CPU]
    #[arg(long)]
    backend: Option<Backend>,
    /// Width of the rows
    #[arg(long, default_value_t = 1024)]
    bits: usize,
    /// MiB of rows [default: 512 on a GPU, 16 elsewhere]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    mib: Option<u32>,
    /// Runs of each figure
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Measures few rows once: a test of this program
    #[arg(long)]
    test: bool,
    /// Passed by `cargo bench` and not by `cargo test --benches`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    enter_root();
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("transfers: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a time.
fn line(name: &str, time: Duration, more: &str) {
    println!("{name:<36}{:>12.3} ms{more}", time.as_secs_f64() * 1e3);
}

/// Figures of one size.
struct Bench {
    runs: u32,
    bytes: usize,
}

impl Bench {
    /// The median time of `work`.
    fn time(&self, mut work: impl FnMut() -> gpuint::Result<()>) -> Result<Duration> {
        work()?;
        let mut times = Vec::new();
        for _ in 0..self.runs {
            let start = Instant::now();
            work()?;
            times.push(start.elapsed());
        }
        times.sort();
        Ok(times[times.len() / 2])
    }

    /// Prints the throughput of `work`, which moves all rows.
    fn rate(&self, name: &str, work: impl FnMut() -> gpuint::Result<()>) -> Result<Duration> {
        let time = self.time(work)?;
        let rate = self.bytes as f64 / time.as_secs_f64().max(1e-9) / 1e9;
        line(name, time, &format!("{rate:>10.2} GB/s"));
        Ok(time)
    }
}

fn run(options: &Options) -> Result<()> {
    let is_test = options.test || !options.bench;
    device::start_log()?;
    let start = Instant::now();
    let device = device::open(options.backend)?;
    let opened = start.elapsed();
    let shape = narrowest(options.bits).ok_or("no such width is built")?;
    let mib = match (options.mib, device.backend()) {
        _ if is_test => 1,
        (Some(mib), _) => mib as usize,
        (None, BackendKind::Cuda) => 512,
        (None, _) => 16,
    };
    let rows = (mib << 20) / shape.bytes();
    let bench = Bench { runs: if is_test { 1 } else { options.runs }, bytes: rows * shape.bytes() };
    println!("{device}: {rows} rows of {} bits, {mib} MiB", shape.bits);
    println!("{} threads of the host", rayon::current_num_threads());

    line("open the device", opened, "");
    let start = Instant::now();
    let one = DynBatch::splat(&device, shape, 1, 1)?;
    one.wrapping_add(&one)?;
    device.synchronize()?;
    line("first addition of one row", start.elapsed(), "");
    calls(&bench, &device, &one)?;
    threads(&bench, &device, shape)?;
    drop(one);
    let mut rng = SmallRng::seed_from_u64(1);
    let batch = DynBatch::random(&device, shape, rows, &mut rng)?;
    texts(&bench, &batch)?;
    copies(&bench, batch)?;
    overlap(&bench, &device, shape, rows)?;
    let all = match device.backend() {
        BackendKind::Cuda => Pool::new()?,
        _ => Pool::of([device.clone(), device])?,
    };
    pools(&bench, &all, shape, rows)
}

/// Times calls on the host, without the work of the device.
fn calls(bench: &Bench, device: &Device, one: &DynBatch) -> Result<()> {
    const CALLS: u32 = 100;
    let each = |name: &str, work: &mut dyn FnMut() -> gpuint::Result<()>| -> Result<()> {
        let time = bench.time(|| {
            (0..CALLS).try_for_each(|_| work())?;
            Ok(())
        })?;
        device.synchronize()?;
        println!("{name:<36}{:>12.3} us", time.as_secs_f64() * 1e6 / f64::from(CALLS));
        Ok(())
    };
    each("div_rem of one row", &mut || one.div_rem(one).map(drop))?;
    each("div_rem_masked of one row, queued", &mut || one.div_rem_masked(one).map(drop))?;
    each("wrapping_add of one row, queued", &mut || one.wrapping_add(one).map(drop))?;
    each("record", &mut || device.record().map(drop))?;
    each("queue", &mut || device.queue().map(drop))
}

/// Times divisions of one row by several threads, on one queue and on one each.
fn threads(bench: &Bench, device: &Device, shape: Shape) -> Result<()> {
    const CALLS: u32 = 100;
    const THREADS: u32 = 8;
    for (name, has_own) in [("one queue", false), ("a queue each", true)] {
        let one = |_| {
            let queue = if has_own { device.queue()? } else { device.clone() };
            DynBatch::splat(&queue, shape, 1, 1)
        };
        let ones = (0..THREADS).map(one).collect::<gpuint::Result<Vec<_>>>()?;
        let divide = |one: &DynBatch| (0..CALLS).try_for_each(|_| one.div_rem(one).map(drop));
        let time = bench.time(|| {
            let results: Vec<gpuint::Result<()>> = thread::scope(|scope| {
                let threads: Vec<_> =
                    ones.iter().map(|one| scope.spawn(move || divide(one))).collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
                    .collect()
            });
            results.into_iter().collect()
        })?;
        let rate = f64::from(CALLS * THREADS) / time.as_secs_f64().max(1e-9);
        println!("{:<36}{rate:>12.0} calls/s", format!("div_rem, {THREADS} threads, {name}"));
    }
    Ok(())
}

/// Conversions of some of the rows to decimal and back, beside the host's.
fn texts(bench: &Bench, batch: &DynBatch) -> Result<()> {
    const MAX_BYTES: usize = 32 << 20;
    let (device, shape) = (batch.device(), batch.shape());
    let rows = batch.len().min((MAX_BYTES / shape.bytes()).max(1));
    let batch = batch.slice(0..rows)?;
    let bench = Bench { bytes: rows * shape.bytes(), ..*bench };
    println!("text of {rows} rows:");
    bench.rate("to_decimal", || batch.to_decimal().map(drop))?;
    let texts = batch.to_decimal()?;
    let digits: Vec<&str> = texts.iter().map(String::as_str).collect();
    bench.rate("from_decimal", || DynBatch::from_decimal(device, shape, &digits).map(drop))?;
    let values = batch.to_biguints()?;
    let once = Bench { runs: 1, ..bench };
    once.rate("num-bigint to decimal, all cores", || {
        black_box(values.par_iter().map(BigUint::to_string).collect::<Vec<_>>());
        Ok(())
    })?;
    once.rate("num-bigint from decimal, all cores", || {
        let parse = |text: &&str| BigUint::parse_bytes(text.as_bytes(), 10);
        black_box(digits.par_iter().map(parse).collect::<Vec<_>>());
        Ok(())
    })?;
    Ok(())
}

/// Copies of all rows by every path, and conversions.
fn copies(bench: &Bench, mut batch: DynBatch) -> Result<()> {
    let (device, shape, rows) = (batch.device().clone(), batch.shape(), batch.len());
    let mut host = HostBatch::new(&device, shape, rows)?;
    bench.rate("upload, pinned", || batch.upload(0, &mut host)?.wait())?;
    bench.rate("download, pinned", || batch.download(0, &mut host)?.wait())?;

    let mut bytes = batch.to_le_bytes()?;
    bench.rate("write_le_bytes", || {
        batch.write_le_bytes(0, &bytes)?;
        device.synchronize()
    })?;
    bench.rate("read_le_bytes", || batch.read_le_bytes(0, &mut bytes))?;
    bench.rate("from_le_bytes", || {
        DynBatch::from_le_bytes(&device, shape, &bytes)?;
        device.synchronize()
    })?;
    bench.rate("to_le_bytes", || batch.to_le_bytes().map(drop))?;

    let mut values = batch.to_biguints()?;
    bench.rate("from_biguints", || {
        DynBatch::from_biguints(&device, shape, &values)?;
        device.synchronize()
    })?;
    // The integers of the run before are freed outside the time.
    let mut times = Vec::new();
    for _ in 0..=bench.runs {
        drop(std::mem::take(&mut values));
        let start = Instant::now();
        values = batch.to_biguints()?;
        times.push(start.elapsed());
    }
    times.sort();
    let mut times = times.into_iter().skip(1);
    let median = Bench { runs: 1, ..*bench };
    let time = times.nth(bench.runs as usize / 2).unwrap_or_default();
    let rate = median.bytes as f64 / time.as_secs_f64().max(1e-9) / 1e9;
    line("to_biguints", time, &format!("{rate:>10.2} GB/s"));
    bench.rate("set_biguints (host only)", || host.set_biguints(&values))?;
    let source = host.as_bytes()?;
    bench.rate("host copy", || {
        const PART: usize = 1 << 17;
        let parts = bytes.par_chunks_mut(PART).zip(source.par_chunks(PART));
        parts.for_each(|(target, source)| target.copy_from_slice(source));
        black_box(&mut bytes);
        Ok(())
    })?;
    Ok(())
}

/// A part of the rows in the pipeline, with a separate queue.
struct Slot {
    source: HostBatch,
    target: HostBatch,
    rows: DynBatch,
    squares: DynBatch,
}

impl Slot {
    fn new(device: &Device, shape: Shape, rows: usize) -> gpuint::Result<Self> {
        let queue = device.queue()?;
        let host = || HostBatch::new(device, shape, rows);
        let batch = || DynBatch::zeros(&queue, shape, rows);
        Ok(Self { source: host()?, target: host()?, rows: batch()?, squares: batch()? })
    }

    fn upload(&mut self) -> gpuint::Result<()> {
        self.rows.upload(0, &mut self.source).map(drop)
    }

    fn square(&mut self) -> gpuint::Result<()> {
        self.rows.wrapping_square_into(&mut self.squares)
    }

    fn download(&mut self) -> gpuint::Result<()> {
        self.squares.download(0, &mut self.target).map(drop)
    }
}

/// Upload, kernel and download of all rows in parts, each alone and all at once.
fn overlap(bench: &Bench, device: &Device, shape: Shape, rows: usize) -> Result<()> {
    const SLOTS: usize = 8;
    /// Long enough that the calls for a part are short beside its copies; short, because the first
    /// upload and the last download have nothing beside them.
    const PART: usize = 4 << 20;
    let part = (PART / shape.bytes()).min(rows.div_ceil(SLOTS));
    let parts = rows / part;
    let mut slots =
        (0..SLOTS).map(|_| Slot::new(device, shape, part)).collect::<gpuint::Result<Vec<_>>>()?;
    let bench = Bench { bytes: parts * part * shape.bytes(), ..*bench };
    let mut each = |name: &str, steps: &[fn(&mut Slot) -> gpuint::Result<()>]| {
        bench.rate(name, || {
            for index in 0..parts {
                let slot = &mut slots[index % SLOTS];
                // A user reads the results before the slot is used again.
                slot.target.as_bytes()?;
                steps.iter().try_for_each(|step| step(slot))?;
            }
            slots.iter().try_for_each(|slot| slot.rows.device().synchronize())
        })
    };
    let alone = [
        each("upload in parts", &[Slot::upload])?,
        each("squares in parts", &[Slot::square])?,
        each("download in parts", &[Slot::download])?,
    ];
    each("both copies, overlapped", &[Slot::upload, Slot::download])?;
    let all = each("all three, overlapped", &[Slot::upload, Slot::square, Slot::download])?;
    let slowest = alone.iter().max().map_or(1.0, Duration::as_secs_f64);
    println!("overlapped / slowest of the three: {:.2}", all.as_secs_f64() / slowest.max(1e-9));
    Ok(())
}

/// The same work from and to ordinary memory by pools of one and of all devices.
fn pools(bench: &Bench, all: &Pool, shape: Shape, rows: usize) -> Result<()> {
    // One row in `part` rows is raised to a power.
    let part = if all.devices()[0].backend() == BackendKind::Cuda { 8 } else { 256 };
    let row = shape.bytes();
    let mut u = vec![0; rows * row];
    SmallRng::seed_from_u64(2).fill_bytes(&mut u);
    // Half as wide, and odd.
    let mut v = u.clone();
    v.par_chunks_mut(row).for_each(|value| {
        value[row / 2..].fill(0);
        value[0] |= 1;
    });
    let (mut q, mut r) = (vec![0; u.len()], vec![0; u.len()]);
    let mut times = Vec::new();
    let counts = if all.devices().len() > 1 { vec![1, all.devices().len()] } else { vec![1] };
    for devices in counts.into_iter().map(|count| &all.devices()[..count]) {
        let pool = Pool::of(devices.iter().cloned())?;
        let count = devices.len();
        let squares = bench.rate(&format!("squares by {count}"), || {
            let done = pool.run(
                shape,
                rows,
                &mut q[..],
                |_| Ok(()),
                |(), chunk, squares| {
                    let u = DynBatch::from_le_bytes(chunk.device(), shape, chunk.part(&u)?)?;
                    u.wrapping_square()?.read_le_bytes(0, squares)
                },
            );
            done.map(drop)
        })?;
        let divisions = bench.rate(&format!("divisions by {count}"), || {
            let results = [&mut q[..], &mut r[..]];
            let done = pool.run(
                shape,
                rows,
                results,
                |_| Ok(()),
                |(), chunk, [q, r]| {
                    let u = DynBatch::from_le_bytes(chunk.device(), shape, chunk.part(&u)?)?;
                    let v = DynBatch::from_le_bytes(chunk.device(), shape, chunk.part(&v)?)?;
                    let (quotients, remainders) = u.div_rem(&v)?;
                    quotients.read_le_bytes(0, q)?;
                    remainders.read_le_bytes(0, r)
                },
            );
            done.map(drop)
        })?;
        let rows = rows / part;
        let (u, q) = (&u[..rows * row], &mut q[..rows * row]);
        let few = Bench { bytes: u.len(), ..*bench };
        let modulus = BigUint::from_bytes_le(&v[..row / 2]);
        let powers = few.rate(&format!("powers of 1/{part} of the rows by {count}"), || {
            let prepare = |device: &Device| DynDivisor::splat(device, shape, &modulus);
            let done = pool.run(shape, rows, &mut *q, prepare, |modulus, chunk, powers| {
                let u = DynBatch::from_le_bytes(chunk.device(), shape, chunk.part(u)?)?;
                u.pow_mod(&u, modulus)?.read_le_bytes(0, powers)
            });
            done.map(drop)
        })?;
        times.push([squares, divisions, powers].map(|time| time.as_secs_f64().max(1e-9)));
    }
    let [one, all_times] = &times[..] else { return Ok(()) };
    for (name, (one, all_times)) in
        ["squares", "divisions", "powers"].iter().zip(one.iter().zip(all_times))
    {
        println!(
            "{name}: {} devices are {:.2} times as fast as one",
            all.devices().len(),
            one / all_times
        );
    }
    Ok(())
}
