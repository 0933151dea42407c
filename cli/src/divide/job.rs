//! Divides chunks of rows: parses, groups by width, divides, verifies and writes.
//!
//! Only a few chunks are in memory at a time. All devices divide the rows of a chunk. One thread
//! reads and parses the next chunk, and the calling thread writes the completed one. On GPUs, two
//! threads divide every other chunk, so that the devices have work while rows are grouped, verified
//! and formatted. Across MPI ranks, one chunk follows another.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use gpuint::{Error, Shape, narrowest, threads, widths};
use indicatif::ProgressBar;
use num_bigint::BigUint;
use num_traits::Zero;
use rayon::prelude::*;

use super::devices::{Divide, Done, Quotient, Rows};
use super::input::{Chunk, LineError, RawLine, Reader};
use crate::job::digits::push_hex;
use crate::job::output::{Lines, Position};

/// Reason why the job stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    #[error("this build of gpuint has no widths")]
    NoShapes,
    #[error("cannot read after line {line}: {source}")]
    Read { line: u64, source: io::Error },
    #[error("cannot write the results after line {line}: {source}")]
    Write { line: u64, source: io::Error },
    #[error("interrupted after line {line}")]
    Interrupted { line: u64 },
    #[error("cannot divide {rows} rows of {bits} bits: {source}")]
    Divide { rows: usize, bits: usize, source: Error },
    #[error("no thread starts: {0}")]
    Thread(io::Error),
}

/// Reason why a row has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RowError {
    #[error(transparent)]
    Line(#[from] LineError),
    /// Never expected, and never written as a result.
    #[error("the device's result is wrong: u = q v + r with r < v does not hold")]
    Wrong,
    #[error("the device returned no result")]
    Missing,
}

/// Options of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) hex: bool,
    pub(crate) verify: bool,
}

/// Time of each stage.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) read: Duration,
    pub(crate) parse: Duration,
    /// A first division in every used width, which loads or compiles kernels.
    pub(crate) setup: Duration,
    /// Copies of operands to the device and of results back.
    pub(crate) copy: Duration,
    pub(crate) divide: Duration,
    pub(crate) verify: Duration,
    pub(crate) format: Duration,
    pub(crate) write: Duration,
}

impl AddAssign for Times {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.parse += other.parse;
        self.setup += other.setup;
        self.copy += other.copy;
        self.divide += other.divide;
        self.verify += other.verify;
        self.format += other.format;
        self.write += other.write;
    }
}

/// Rows of one family.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) rows: u64,
    pub(crate) rejected: u64,
    pub(crate) verified: u64,
    /// Rows with remainder 0.
    pub(crate) exact: u64,
    /// Minimum and maximum bits of the dividends.
    pub(crate) bits: Option<(u64, u64)>,
}

impl Tally {
    fn add(&mut self, bits: u64, exact: bool, verified: bool) {
        self.rows += 1;
        self.exact += u64::from(exact);
        self.verified += u64::from(verified);
        self.widen(bits, bits);
    }

    fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.rejected += other.rejected;
        self.verified += other.verified;
        self.exact += other.exact;
        if let Some((least, most)) = other.bits {
            self.widen(least, most);
        }
    }

    fn widen(&mut self, least: u64, most: u64) {
        let bits = self.bits.unwrap_or((least, most));
        self.bits = Some((bits.0.min(least), bits.1.max(most)));
    }
}

/// Statistics of a job.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// By index of family.
    pub(crate) families: Vec<Tally>,
    /// Rows divided in each width.
    pub(crate) widths: BTreeMap<usize, u64>,
    pub(crate) times: Times,
    /// Devices that failed, with the error.
    pub(crate) failed: BTreeSet<String>,
}

impl Summary {
    /// Rows that were divided.
    pub(crate) fn rows(&self) -> u64 {
        self.families.iter().map(|tally| tally.rows).sum()
    }

    /// Rows that have no result.
    pub(crate) fn rejected(&self) -> u64 {
        self.families.iter().map(|tally| tally.rejected).sum()
    }

    /// Rows whose result was checked.
    pub(crate) fn verified(&self) -> u64 {
        self.families.iter().map(|tally| tally.verified).sum()
    }

    fn family(&mut self, index: usize) -> &mut Tally {
        if index >= self.families.len() {
            self.families.resize_with(index + 1, Tally::default);
        }
        &mut self.families[index]
    }

    fn merge(&mut self, other: &Self) {
        for (index, tally) in other.families.iter().enumerate() {
            self.family(index).merge(tally);
        }
        for (&bits, rows) in &other.widths {
            *self.widths.entry(bits).or_default() += rows;
        }
        self.times += other.times;
        self.failed.extend(other.failed.iter().cloned());
    }
}

/// Devices of a job.
#[derive(Clone, Copy)]
pub(crate) enum Devices<'a> {
    /// They divide one chunk after another.
    InTurn(&'a dyn Divide),
    /// They divide this number of chunks at a time.
    SideBySide(&'a (dyn Divide + Sync), usize),
}

/// A file of rows to divide.
pub(crate) struct Job<'a> {
    devices: Devices<'a>,
    settings: Settings,
    /// Set by a signal or an error: the job stops after the chunks in progress.
    stop: &'a AtomicBool,
}

/// Divides one chunk at a time.
struct Divider<'a, D: ?Sized> {
    devices: &'a D,
    settings: Settings,
    /// True if results are written, not only counted.
    writes: bool,
    /// Widths in which rows were divided.
    used: BTreeSet<usize>,
    summary: Summary,
}

/// A parsed chunk.
struct Parsed {
    chunk: Chunk,
    operands: Vec<Result<(BigUint, BigUint), LineError>>,
    /// Whether more chunks follow.
    more: io::Result<bool>,
}

/// A divided chunk.
struct Divided {
    /// The result lines in parts; none if they are not written.
    texts: Vec<Vec<u8>>,
    /// Rows without a result.
    rejected: Vec<(u64, RowError)>,
    end: Position,
    more: io::Result<bool>,
}

/// Rows of one width, in the order of the input.
#[derive(Debug, Default)]
struct Group {
    /// Indices of the rows in the chunk.
    places: Vec<usize>,
    u: Vec<BigUint>,
    v: Vec<BigUint>,
}

type Outcome = Result<Quotient, RowError>;

impl<'a> Job<'a> {
    /// Makes a job of these devices.
    pub(crate) fn new(devices: Devices<'a>, settings: Settings, stop: &'a AtomicBool) -> Self {
        Self { devices, settings, stop }
    }

    /// Divides all rows of `reader`, writes the result lines to `lines` if it is given, and passes
    /// each row without a result to `reject`, in the order of the input.
    pub(crate) fn run<R: BufRead + Send>(
        &self,
        reader: &mut Reader<R>,
        lines: Option<&mut dyn Lines>,
        reject: &mut dyn FnMut(u64, &RowError),
        progress: &ProgressBar,
    ) -> Result<Summary, JobError> {
        let widest = widths().last().ok_or(JobError::NoShapes)?.bits;
        let writes = lines.is_some();
        let mut writer = Writer {
            lines,
            reject,
            stop: self.stop,
            line: 0,
            rejected: 0,
            times: Times::default(),
        };
        let mut summary = Summary::default();
        match self.devices {
            Devices::InTurn(devices) => {
                let mut divider = Divider::new(devices, self.settings, writes);
                loop {
                    let parsed = read_and_parse(reader, widest, &mut summary.times);
                    if !writer.take(divider.divide(parsed, progress)?)? {
                        break;
                    }
                }
                summary.merge(&divider.summary);
            }
            Devices::SideBySide(devices, chunks) => {
                let divider = |_| Divider::new(devices, self.settings, writes);
                let dividers = (0..chunks).map(divider).collect();
                side_by_side(reader, widest, dividers, &mut writer, progress, &mut summary)?;
            }
        }
        summary.times += writer.times;
        Ok(summary)
    }
}

/// Each divider takes the chunk after the previous divider's; a separate thread reads and parses.
fn side_by_side<R: BufRead + Send>(
    reader: &mut Reader<R>,
    widest: usize,
    dividers: Vec<Divider<'_, impl Divide + Sync + ?Sized>>,
    writer: &mut Writer<'_, '_>,
    progress: &ProgressBar,
    summary: &mut Summary,
) -> Result<(), JobError> {
    let stop = writer.stop;
    thread::scope(|scope| {
        let (mut parsed, mut divided, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        for mut divider in dividers {
            // Without buffering: each stage holds one chunk.
            let (to_divider, chunks) = mpsc::sync_channel(0);
            let (from_divider, results) = mpsc::sync_channel(0);
            let dividing = move || {
                for chunk in chunks {
                    let result = divider.divide(chunk, progress);
                    let failed = result.is_err();
                    // After a failed write nobody receives results.
                    if from_divider.send(result).is_err() || failed {
                        break;
                    }
                }
                divider.summary
            };
            let started = thread::Builder::new().spawn_scoped(scope, dividing);
            threads.push(started.map_err(JobError::Thread)?);
            parsed.push(to_divider);
            divided.push(results);
        }
        let reading = move || {
            let mut times = Times::default();
            for to_divider in parsed.iter().cycle() {
                let chunk = read_and_parse(reader, widest, &mut times);
                let last = !matches!(chunk.more, Ok(true));
                if to_divider.send(chunk).is_err() || last {
                    break;
                }
            }
            times
        };
        let reading = thread::Builder::new().spawn_scoped(scope, reading);
        let reading = reading.map_err(JobError::Thread)?;
        // Owns the ends of the channels: when it stops, all other threads stop.
        let result = (move || {
            for results in divided.iter().cycle() {
                let Ok(result) = results.recv() else { break };
                if !writer.take(result?)? {
                    break;
                }
            }
            Ok(())
        })();
        if result.is_err() {
            // The reader may wait for input.
            stop.store(true, Ordering::Relaxed);
        }
        for thread in threads {
            summary.merge(&join(thread));
        }
        summary.times += join(reading);
        result
    })
}

/// Returns a thread's result; a panic continues in the caller.
fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The next chunk.
fn read_and_parse<R: BufRead>(reader: &mut Reader<R>, widest: usize, times: &mut Times) -> Parsed {
    let mut chunk = Chunk::default();
    let more = timed(&mut times.read, || reader.read(&mut chunk));
    let operands = timed(&mut times.parse, || {
        let parse = |line| chunk.parse(line, widest);
        threads::install(|| chunk.lines.par_iter().map(parse).collect())
    });
    Parsed { chunk, operands, more }
}

/// Destination of the results.
struct Writer<'l, 'r> {
    lines: Option<&'l mut dyn Lines>,
    reject: &'r mut dyn FnMut(u64, &RowError),
    stop: &'r AtomicBool,
    /// The last line whose results were written.
    line: u64,
    /// Rows without a result so far.
    rejected: u64,
    times: Times,
}

impl Writer<'_, '_> {
    /// Writes a chunk; returns true if more may follow.
    fn take(&mut self, divided: Divided) -> Result<bool, JobError> {
        let Divided { texts, rejected, end, more } = divided;
        for (line, error) in &rejected {
            (self.reject)(*line, error);
        }
        self.rejected += rejected.len() as u64;
        let written = self.write(&texts, &end);
        written.map_err(|source| JobError::Write { line: self.line, source })?;
        self.line = end.line;
        // A stopped job may also fail to read.
        if !matches!(more, Ok(false)) && self.stop.load(Ordering::Relaxed) {
            return Err(JobError::Interrupted { line: self.line });
        }
        more.map_err(|source| JobError::Read { line: self.line, source })
    }

    fn write(&mut self, texts: &[Vec<u8>], end: &Position) -> io::Result<()> {
        let Some(output) = &mut self.lines else { return Ok(()) };
        timed(&mut self.times.write, || {
            for text in texts {
                output.write_all(text)?;
            }
            output.flush()?;
            output.passed(end, self.rejected)
        })
    }
}

impl<'a, D: Divide + ?Sized> Divider<'a, D> {
    fn new(devices: &'a D, settings: Settings, writes: bool) -> Self {
        let (used, summary) = (BTreeSet::new(), Summary::default());
        Self { devices, settings, writes, used, summary }
    }

    /// The results of a chunk, one for each of its lines.
    fn divide(&mut self, parsed: Parsed, progress: &ProgressBar) -> Result<Divided, JobError> {
        let Parsed { chunk, operands: parsed, more } = parsed;
        let mut outcomes = Vec::with_capacity(parsed.len());
        let mut groups: BTreeMap<Shape, Group> = BTreeMap::new();
        for (place, row) in parsed.into_iter().enumerate() {
            match row {
                Ok((u, v)) => {
                    let bits = u.bits().max(v.bits()) as usize;
                    // The widest width holds every parsed row.
                    if let Some(shape) = narrowest(bits) {
                        let group = groups.entry(shape).or_default();
                        group.places.push(place);
                        group.u.push(u);
                        group.v.push(v);
                    }
                    // A row has no result until it is divided.
                    outcomes.push(Err(RowError::Missing));
                }
                Err(error) => {
                    progress.inc(chunk.lines[place].bytes);
                    outcomes.push(Err(error.into()));
                }
            }
        }

        for (shape, group) in groups {
            let results = self.divide_group(shape, &group).map_err(|source| JobError::Divide {
                rows: group.places.len(),
                bits: shape.bits,
                source,
            })?;
            let right = self.verify(&group, &results);
            *self.summary.widths.entry(shape.bits).or_default() += group.places.len() as u64;
            for (i, (result, right)) in results.into_iter().zip(right).enumerate() {
                let line = &chunk.lines[group.places[i]];
                progress.inc(line.bytes);
                outcomes[group.places[i]] = if right {
                    let verified = self.settings.verify;
                    let tally = self.summary.family(line.family);
                    tally.add(group.u[i].bits(), result.1.is_zero(), verified);
                    Ok(result)
                } else {
                    Err(RowError::Wrong)
                };
            }
        }
        for (line, _) in chunk.lines.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_err()) {
            self.summary.family(line.family).rejected += 1;
        }
        let texts = if self.writes { self.format(&chunk.lines, &outcomes) } else { Vec::new() };
        let numbers = chunk.lines.iter().map(|line| line.number);
        let rejected = numbers.zip(outcomes).filter_map(|(line, row)| Some((line, row.err()?)));
        Ok(Divided { texts, rejected: rejected.collect(), end: chunk.end, more })
    }

    /// Returns the result lines of the rows.
    fn format(&mut self, lines: &[RawLine], outcomes: &[Outcome]) -> Vec<Vec<u8>> {
        /// Rows of a part.
        const PART: usize = 256;
        let hex = self.settings.hex;
        timed(&mut self.summary.times.format, || {
            let parts = lines.par_chunks(PART).zip(outcomes.par_chunks(PART));
            let format = |(lines, outcomes): (&[_], &[_])| result_lines(lines, outcomes, hex);
            threads::install(|| parts.map(format).collect())
        })
    }

    /// Returns the quotients and remainders of a group.
    fn divide_group(&mut self, shape: Shape, group: &Group) -> Result<Vec<Quotient>, Error> {
        let Group { places, u, v } = group;
        let mut results = vec![Quotient::default(); places.len()];
        let is_first = self.used.insert(shape.bits);
        let done = self.devices.divide(Rows { shape, u, v, is_first }, &mut results)?;
        let Done { setup, copy, divide, failed } = done;
        self.summary.times += Times { setup, copy, divide, ..Times::default() };
        self.summary.failed.extend(failed);
        Ok(results)
    }

    /// Returns which results are right; all if nothing is checked.
    fn verify(&mut self, group: &Group, results: &[Quotient]) -> Vec<bool> {
        if !self.settings.verify {
            return vec![true; results.len()];
        }
        timed(&mut self.summary.times.verify, || {
            let rows = group.u.par_iter().zip(&group.v).zip(results);
            threads::install(|| rows.map(|((u, v), (q, r))| is_division(u, v, q, r)).collect())
        })
    }
}

/// One line for each row.
fn result_lines(lines: &[RawLine], outcomes: &[Outcome], hex: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for (line, outcome) in lines.iter().zip(outcomes) {
        // Writing to a vector does not fail.
        let _ = match outcome {
            Ok((q, r)) if hex => {
                push_hex(&mut text, q);
                text.push(b' ');
                push_hex(&mut text, r);
                writeln!(text)
            }
            Ok((q, r)) => writeln!(text, "{q} {r}"),
            Err(error) => writeln!(text, "error: line {}: {error}", line.number),
        };
    }
    text
}

/// u = q v + r and r < v.
pub(crate) fn is_division(u: &BigUint, v: &BigUint, q: &BigUint, r: &BigUint) -> bool {
    r < v && q * v + r == *u
}

/// Adds the time of `work` to `total`.
fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *total += start.elapsed();
    result
}
