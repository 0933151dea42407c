//! Times batch greatest common divisors of collections of keys, from rows in the memory of the
//! device to divisors there.
//!
//! `cargo bench -p gpuint-benches --bench trees` runs on the first GPU, else on the CPU with fewer
//! keys; `-- --help` lists the options. Keys are random odd numbers with the top bit. Some pairs of
//! them, one key in each half of the collection, have a planted common factor of half their length.
//!
//! | column | meaning |
//! |---|---|
//! | `upload` | ms of the copy of the keys to the device |
//! | `first` | ms of the first run, in which kernels are loaded |
//! | `ms` | median of the runs after it, by the clock, until the device is idle |
//! | `launches` | operations that one run queues on the device |
//! | `copied` | MB that one run copies between host and device, in either direction |
//! | `allocated` | GB of all allocations of one run on the device |
//! | `planted` | planted keys whose divisor is a multiple of the planted factor |
//! | `exact` | other keys whose divisor is that by a direct product of all other keys |
//!
//! The program fails if a result is wrong. `--stages` adds the time of each stage of one more run,
//! in which the host waits for the device before and after each stage. `--pool` adds the times of
//! `Pool::batch_gcd` on the first GPU and on all GPUs, from integers of the host to integers; with
//! `--stages` also the start and end of each stage on each thread, without waits.
//!
//! `--write FILE` writes keys as hexadecimal lines for `gpuint batch-gcd` instead: coprime numbers
//! (`coprime.rs`) with planted pairs.

mod coprime;
mod timeline;

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Device, DynBatch, Pool};
use gpuint_benches::device::{self, Backend};
use gpuint_benches::enter_root;
use num_integer::Integer;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rayon::prelude::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use self::coprime::CoprimeKeys;
use self::timeline::Timeline;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Times batch greatest common divisors.
#[derive(Debug, Parser)]
#[command(name = "trees")]
struct Options {
    /// Device [default: the first GPU, else the CPU]
    #[arg(long)]
    backend: Option<Backend>,
    /// Bits of a key
    #[arg(long, default_value_t = 2048, value_parser = clap::value_parser!(u32).range(64..=65536))]
    bits: u32,
    /// Numbers of keys, with commas [default: 2500,10000,100000,1000000 on a GPU, else 500,2500]
    #[arg(long, value_delimiter = ',')]
    keys: Vec<usize>,
    /// Runs after the first one
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Prints the time of each stage
    #[arg(long)]
    stages: bool,
    /// Times a pool of one and of all GPUs
    #[arg(long)]
    pool: bool,
    /// Writes keys to FILE, and measures nothing
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Measures few keys once: a test of this program
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
            eprintln!("trees: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let is_test = options.test || !options.bench;
    if let Some(path) = &options.write {
        let &[count] = &options.keys[..] else { return Err("--write takes one --keys".into()) };
        return write(path, count, options.bits);
    }
    let timeline = Timeline::default();
    match options.stages && options.pool || is_test {
        true => tracing::subscriber::set_global_default(timeline.clone())?,
        false if options.stages => {}
        false => device::start_log()?,
    }
    let device = device::open(options.backend)?;
    let counts = match device.backend() {
        _ if is_test => vec![2, 40],
        _ if !options.keys.is_empty() => options.keys.clone(),
        BackendKind::Cuda => vec![2500, 10_000, 100_000, 1_000_000],
        _ => vec![500, 2500],
    };
    let runs = if is_test { 1 } else { options.runs };
    println!("{device}: keys of {} bits, {} runs", options.bits, runs);
    println!(
        "{:>9} {:>8} {:>9} {:>9} {:>8} {:>9} {:>9} {:>9} {:>7}",
        "keys", "upload", "first", "ms", "launches", "copied", "allocated", "planted", "exact"
    );
    for count in counts {
        let keys = Keys::random(count, options.bits as usize);
        measure(&device, &keys, runs, options.stages || is_test)?;
        if options.pool || is_test {
            pools(&device, &keys, &timeline)?;
        }
    }
    if is_test {
        coprime::check();
    }
    Ok(())
}

/// Writes a file of keys of which some pairs share a factor.
fn write(path: &Path, count: usize, bits: u32) -> Result<()> {
    const MAX_PAIRS: usize = 20;
    let start = Instant::now();
    let keys = CoprimeKeys::new(count, bits.into(), MAX_PAIRS.min(count / 2))?;
    let made = start.elapsed();
    keys.write(path)?;
    let name = path.display();
    println!("{name}: {count} keys of {bits} bits, {} pairs share a factor", keys.pairs());
    let [sieve, all] = [made, start.elapsed()].map(milliseconds);
    println!("sieve {sieve:.0} ms, in all {all:.0} ms");
    Ok(())
}

/// Keys in memory of the host.
struct Keys {
    bits: usize,
    /// Least significant byte first, `row_bytes` a key.
    bytes: Vec<u8>,
    row_bytes: usize,
    /// Pairs of keys with a common factor.
    planted: Vec<([usize; 2], BigUint)>,
}

impl Keys {
    /// Makes `count` keys of `bits` bits.
    fn random(count: usize, bits: usize) -> Self {
        const MAX_PLANTED: usize = 20;
        let row_bytes = bits.div_ceil(8);
        let mut bytes = vec![0; count * row_bytes];
        let number = |bytes: &mut [u8], bits: usize, seed: u64| {
            SmallRng::seed_from_u64(seed).fill_bytes(bytes);
            bytes[0] |= 1;
            let top = bits - 1;
            bytes[top / 8] &= u8::MAX >> (7 - top % 8);
            // Products of two such numbers have all their bits.
            bytes[top / 8] |= 1 << (top % 8);
            bytes[(top - 1) / 8] |= 1 << ((top - 1) % 8);
        };
        let rows = bytes.par_chunks_mut(row_bytes).enumerate();
        rows.for_each(|(row, bytes)| number(bytes, bits, row as u64));
        let factor = |bits: usize, seed: usize| {
            let mut bytes = vec![0; bits.div_ceil(8)];
            number(&mut bytes, bits, u64::MAX - seed as u64);
            BigUint::from_bytes_le(&bytes)
        };
        let pairs = MAX_PLANTED.min(count / 2);
        let planted = (0..pairs).map(|pair| {
            let row = pair * (count / 2 / pairs);
            let shared = factor(bits - bits / 2, 3 * pair);
            let rows = [row, count - 1 - row];
            for (side, row) in rows.into_iter().enumerate() {
                let key = &shared * factor(bits / 2, 3 * pair + 1 + side);
                let target = &mut bytes[row * row_bytes..][..row_bytes];
                target.fill(0);
                let key = key.to_bytes_le();
                target[..key.len()].copy_from_slice(&key);
            }
            (rows, shared)
        });
        let planted = planted.collect();
        Self { bits, bytes, row_bytes, planted }
    }

    fn len(&self) -> usize {
        self.bytes.len() / self.row_bytes
    }

    fn key(&self, row: usize) -> BigUint {
        BigUint::from_bytes_le(&self.bytes[row * self.row_bytes..][..self.row_bytes])
    }

    /// Makes the rows of the keys on a device.
    fn upload(&self, device: &Device) -> gpuint::Result<DynBatch> {
        let shape = device.shape_for(self.bits)?;
        let row = shape.bits / 8;
        let mut bytes = vec![0; self.len() * row];
        let rows = bytes.par_chunks_mut(row).zip(self.bytes.par_chunks(self.row_bytes));
        rows.for_each(|(target, source)| target[..source.len()].copy_from_slice(source));
        let rows = DynBatch::from_le_bytes(device, shape, &bytes)?;
        device.synchronize()?;
        Ok(rows)
    }

    /// Computes the greatest common divisor of a key and the product of all others directly.
    fn divisor(&self, row: usize) -> BigUint {
        const CHUNK: usize = 256;
        let key = self.key(row);
        let one = || BigUint::from(1u32);
        let product = |a: BigUint, b: BigUint| a * b % &key;
        let others = (0..self.len().div_ceil(CHUNK)).into_par_iter().map(|chunk| {
            let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(self.len());
            rows.filter(|&other| other != row).map(|other| self.key(other)).fold(one(), product)
        });
        key.gcd(&others.reduce(one, product))
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Measures the divisors of a collection, checks them, and prints a line.
fn measure(device: &Device, keys: &Keys, runs: u32, has_stages: bool) -> Result<()> {
    const CHECKED: usize = 3;
    let start = Instant::now();
    let rows = keys.upload(device)?;
    let upload = start.elapsed();
    let run = || -> gpuint::Result<(Duration, DynBatch)> {
        let start = Instant::now();
        let divisors = rows.batch_gcd()?;
        device.synchronize()?;
        Ok((start.elapsed(), divisors))
    };
    let (first, divisors) = run()?;
    let mut times = Vec::new();
    for _ in 0..runs {
        times.push(run()?.0);
    }
    times.sort();

    let counter = Counter::new(has_stages.then(|| device.clone()));
    let (total, again) = tracing::subscriber::with_default(counter.clone(), run)?;
    let counted = counter.counts();
    let is_equal = again.is_equal(&divisors)?;

    let mut planted = 0;
    for (rows, factor) in &keys.planted {
        for &row in rows {
            planted += usize::from(divisors.row(row)?.is_multiple_of(factor));
        }
    }
    let others = (0..CHECKED.min(keys.len())).map(|index| (2 * index + 1) * keys.len() / 7);
    let checked: Vec<usize> = others.filter(|&row| row < keys.len()).collect();
    let mut exact = 0;
    for &row in &checked {
        exact += usize::from(divisors.row(row)? == keys.divisor(row));
    }
    println!(
        "{:>9} {:>8.1} {:>9.1} {:>9.2} {:>8} {:>9.2} {:>9.3} {:>9} {:>7}",
        keys.len(),
        milliseconds(upload),
        milliseconds(first),
        milliseconds(times[times.len() / 2]),
        counted.launches,
        counted.copied as f64 / 1e6,
        counted.allocated as f64 / 1e9,
        format!("{planted}/{}", 2 * keys.planted.len()),
        format!("{exact}/{}", checked.len()),
    );
    if has_stages {
        for (name, (count, time)) in &counted.stages {
            println!("{:>28} {:>9.2} ms, {count} times", name, milliseconds(*time));
        }
        println!("{:>28} {:>9.2} ms", "all, with waits", milliseconds(total));
    }
    if planted != 2 * keys.planted.len() || exact != checked.len() || !is_equal {
        return Err(format!("wrong divisors of {} keys", keys.len()).into());
    }
    Ok(())
}

/// Times pools of one and of all devices, and compares their results.
fn pools(device: &Device, keys: &Keys, timeline: &Timeline) -> Result<()> {
    let values: Vec<BigUint> = (0..keys.len()).into_par_iter().map(|row| keys.key(row)).collect();
    let all = match device.backend() {
        BackendKind::Cuda => Pool::new()?,
        _ => Pool::of([device.clone(), device.clone()])?,
    };
    let mut results = Vec::new();
    for devices in [&all.devices()[..1], all.devices()] {
        let pool = Pool::of(devices.iter().cloned())?;
        // Kernels are loaded by the first run.
        let divisors = pool.batch_gcd(&values)?;
        timeline.begin();
        let start = Instant::now();
        let again = pool.batch_gcd(&values)?;
        let time = milliseconds(start.elapsed());
        println!("{:>28} {time:>9.2} ms, {} devices", "pool", devices.len());
        for stage in timeline.end() {
            println!("{:>28} {stage}", "");
        }
        if divisors != again {
            return Err("a pool has other divisors in its second run".into());
        }
        results.push(divisors);
    }
    match results[0] == results[1] {
        true => Ok(()),
        false => Err("one device and all devices have different divisors".into()),
    }
}

/// Work of a run.
#[derive(Debug, Clone, Default)]
struct Counts {
    launches: u64,
    copied: u64,
    allocated: u64,
    /// Number and time of the spans of each stage.
    stages: BTreeMap<&'static str, (u32, Duration)>,
}

/// Subscriber that counts the work of the library by its spans.
#[derive(Debug, Clone)]
struct Counter {
    /// Device that stages wait for; stages are not timed without it.
    device: Option<Device>,
    counts: Arc<Mutex<Counts>>,
    /// Names of the spans of stages, and their starts.
    stages: Arc<Mutex<HashMap<u64, (&'static str, Instant)>>>,
    spans: Arc<AtomicU64>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Counter {
    fn new(device: Option<Device>) -> Self {
        Self {
            device,
            counts: Arc::default(),
            stages: Arc::default(),
            spans: Arc::new(AtomicU64::new(1)),
        }
    }

    fn counts(&self) -> Counts {
        locked(&self.counts).clone()
    }

    /// Waits for the device, and returns the time then.
    fn idle(&self) -> Instant {
        if let Some(device) = &self.device {
            // An error returns from the next call of the work.
            let _ = device.synchronize();
        }
        Instant::now()
    }
}

/// Fields of a span.
#[derive(Default)]
struct Fields {
    bytes: u64,
    is_of_host: bool,
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "bytes" {
            self.bytes = value;
        }
    }

    fn record_str(&mut self, _: &Field, value: &str) {
        self.is_of_host |= value == "host";
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl Subscriber for Counter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("gpuint")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.spans.fetch_add(1, Ordering::Relaxed);
        let mut fields = Fields::default();
        span.record(&mut fields);
        let mut counts = locked(&self.counts);
        match span.metadata().name() {
            "launch" => counts.launches += 1,
            "copy" if fields.is_of_host => counts.copied += fields.bytes,
            "alloc" => counts.allocated += fields.bytes,
            name if self.device.is_some() && span.metadata().target().contains("::tree") => {
                locked(&self.stages).insert(id, (name, Instant::now()));
            }
            _ => {}
        }
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        if locked(&self.stages).contains_key(&id.into_u64()) {
            let start = self.idle();
            if let Some(stage) = locked(&self.stages).get_mut(&id.into_u64()) {
                stage.1 = start;
            }
        }
    }

    fn exit(&self, id: &Id) {
        let stage = locked(&self.stages).remove(&id.into_u64());
        if let Some((name, start)) = stage {
            let time = self.idle() - start;
            let mut counts = locked(&self.counts);
            let (count, sum) = counts.stages.entry(name).or_default();
            *count += 1;
            *sum += time;
        }
    }
}
