//! Divides chunks of rows: parses, groups by width, divides, verifies and writes.
//!
//! Only a few chunks are in memory at a time. All devices divide the rows of a chunk. One thread
//! reads the next chunk, and the calling thread writes the completed one. On GPUs, two threads
//! parse, divide and format every other chunk, so that the devices have work meanwhile. Across MPI
//! ranks, one chunk follows another.
//!
//! A chunk and all that is made of it travel as one [`Work`], which returns to the reader when it
//! is written: memory is allocated and first touched for the first chunks only.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};
use std::mem;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use gpuint::{Error, Shape, digits, threads, widths};
use indicatif::ProgressBar;
use num_bigint::BigUint;
use rayon::prelude::*;

use super::devices::{Divide, Done, Rows};
use super::input::{Chunk, LineError, Operands, Parser, RawLine, Reader};
use crate::job::output::{Lines, Position};

/// Reason why the job stopped.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
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
    #[error("cannot write the results in decimal: {0}")]
    Format(Error),
    #[error("no thread starts: {0}")]
    Thread(io::Error),
}

/// Reason why a row has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
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
pub struct Settings {
    pub hex: bool,
    pub verify: bool,
}

/// Time of each stage.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    pub read: Duration,
    pub parse: Duration,
    /// A first division in every used width, which loads or compiles kernels.
    pub setup: Duration,
    /// Copies of operands to the device and of results back.
    pub copy: Duration,
    pub divide: Duration,
    pub verify: Duration,
    pub format: Duration,
    pub write: Duration,
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
pub struct Tally {
    pub rows: u64,
    pub rejected: u64,
    pub verified: u64,
    /// Rows with remainder 0.
    pub exact: u64,
    /// Minimum and maximum bits of the dividends.
    pub bits: Option<(u64, u64)>,
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
pub struct Summary {
    /// By index of family.
    pub families: Vec<Tally>,
    /// Rows divided in each width.
    pub widths: BTreeMap<usize, u64>,
    pub times: Times,
    /// Devices that failed, with the error.
    pub failed: BTreeSet<String>,
}

impl Summary {
    /// Rows that were divided.
    pub fn rows(&self) -> u64 {
        self.families.iter().map(|tally| tally.rows).sum()
    }

    /// Rows that have no result.
    pub fn rejected(&self) -> u64 {
        self.families.iter().map(|tally| tally.rejected).sum()
    }

    /// Rows whose result was checked.
    pub fn verified(&self) -> u64 {
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
pub enum Devices<'a> {
    /// They divide one chunk after another.
    InTurn(&'a dyn Divide),
    /// They divide this number of chunks at a time.
    SideBySide(&'a (dyn Divide + Sync), usize),
}

/// A file of rows to divide.
pub struct Job<'a> {
    devices: Devices<'a>,
    settings: Settings,
    /// Set by a signal or an error: the job stops after the chunks in progress.
    stop: &'a AtomicBool,
}

/// Divides one chunk at a time.
struct Divider<'a, D: ?Sized> {
    devices: &'a D,
    settings: Settings,
    /// Widths in which rows are divided, the narrowest first.
    widths: &'a [Shape],
    /// True if results are written, not only counted.
    writes: bool,
    /// Widths in which rows were divided.
    used: BTreeSet<usize>,
    /// Rows of the current chunk, or empty ones of the last chunk.
    groups: Vec<Group>,
    summary: Summary,
}

/// A chunk on its way from the reader to the writer.
#[derive(Debug)]
struct Work {
    chunk: Chunk,
    /// `Ok(true)` if more chunks follow.
    more: io::Result<bool>,
    /// The lines of the chunk, in order.
    parts: Vec<Part>,
    /// Results of the lines, until they are formatted.
    outcomes: Vec<Outcome>,
    /// Rows without a result.
    rejected: Vec<Rejected>,
}

impl Default for Work {
    fn default() -> Self {
        let (chunk, more) = (Chunk::default(), Ok(false));
        Self { chunk, more, parts: Vec::new(), outcomes: Vec::new(), rejected: Vec::new() }
    }
}

/// Lines that a thread parses and formats at a time.
#[derive(Debug, Default)]
struct Part {
    /// Operands of the lines.
    rows: Vec<Result<Operands, LineError>>,
    /// Their bytes.
    numbers: Vec<u8>,
    /// The result lines.
    text: Vec<u8>,
}

/// Rows of one width, in the order of the input.
#[derive(Debug)]
struct Group {
    shape: Shape,
    members: Vec<Member>,
    /// Bytes of dividends, divisors, quotients and remainders.
    u: Vec<u8>,
    v: Vec<u8>,
    q: Vec<u8>,
    r: Vec<u8>,
    /// Writes decimal numbers of at most `written` bits.
    writer: digits::Writer,
    written: u64,
}

/// A row of a group.
#[derive(Debug)]
struct Member {
    /// Index of the line in the chunk.
    line: usize,
    /// Index of the part that has the operands.
    part: usize,
    operands: Operands,
}

/// Place of a result.
#[derive(Debug, Clone, Copy)]
struct Place {
    group: usize,
    row: usize,
}

type Outcome = Result<Place, RowError>;

impl Group {
    /// Makes a group without rows.
    fn new(shape: Shape) -> Self {
        let [u, v, q, r] = [const { Vec::new() }; 4];
        let writer = digits::Writer::default();
        Self { shape, members: Vec::new(), u, v, q, r, writer, written: 0 }
    }

    /// Prepares the writer for the results of all rows.
    fn prepare_writer(&mut self) -> Result<(), Error> {
        // Neither the quotient nor the remainder is larger than the dividend.
        let bits = self.members.iter().map(|member| member.operands.u.bits).max().unwrap_or(0);
        if bits > self.written {
            self.writer = digits::Writer::new(bits as usize)?;
            self.written = bits;
        }
        Ok(())
    }

    /// Copies the operands from the parts to rows.
    fn fill(&mut self, parts: &[Part]) {
        let row_bytes = self.shape.bytes();
        for rows in [&mut self.u, &mut self.v, &mut self.q, &mut self.r] {
            rows.resize(self.members.len() * row_bytes, 0);
        }
        let operands =
            self.u.par_chunks_exact_mut(row_bytes).zip(self.v.par_chunks_exact_mut(row_bytes));
        threads::install(|| {
            operands.zip_eq(&self.members).for_each(|((u, v), member)| {
                let numbers = &parts[member.part].numbers;
                member.operands.u.write(numbers, u);
                member.operands.v.write(numbers, v);
            });
        });
    }

    /// Returns the quotient and the remainder of a row.
    fn result(&self, row: usize) -> (&[u8], &[u8]) {
        let bytes = row * self.shape.bytes()..(row + 1) * self.shape.bytes();
        (&self.q[bytes.clone()], &self.r[bytes])
    }

    /// Returns true if the result of a row is right.
    fn is_right(&self, row: usize) -> bool {
        let bytes = row * self.shape.bytes()..(row + 1) * self.shape.bytes();
        let [u, v, q, r] = [&self.u, &self.v, &self.q, &self.r]
            .map(|rows| BigUint::from_bytes_le(&rows[bytes.clone()]));
        is_division(&u, &v, &q, &r)
    }
}

impl<'a> Job<'a> {
    /// Makes a job of these devices.
    pub fn new(devices: Devices<'a>, settings: Settings, stop: &'a AtomicBool) -> Self {
        Self { devices, settings, stop }
    }

    /// Divides all rows of `reader`, writes the result lines to `lines` if it is given, and passes
    /// the lines of rows without a result to `reject`, chunk by chunk in the order of the input.
    pub fn run<R: BufRead + Send>(
        &self,
        reader: &mut Reader<R>,
        lines: Option<&mut dyn Lines>,
        reject: &mut dyn FnMut(&[Rejected]),
        progress: &ProgressBar,
    ) -> Result<Summary, JobError> {
        let widths: Vec<Shape> = widths().collect();
        if widths.is_empty() {
            return Err(JobError::NoShapes);
        }
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
                let mut divider = Divider::new(devices, self.settings, &widths, writes);
                let mut work = Work::default();
                loop {
                    read(reader, &mut work, &mut summary.times);
                    divider.divide(&mut work, progress)?;
                    if !writer.take(&mut work)? {
                        break;
                    }
                }
                summary.merge(&divider.summary);
            }
            Devices::SideBySide(devices, chunks) => {
                let divider = |_| Divider::new(devices, self.settings, &widths, writes);
                let dividers = (0..chunks).map(divider).collect();
                side_by_side(reader, dividers, &mut writer, progress, &mut summary)?;
            }
        }
        summary.times += writer.times;
        Ok(summary)
    }
}

/// Each divider takes the chunk after the previous divider's; a separate thread reads.
fn side_by_side<R: BufRead + Send>(
    reader: &mut Reader<R>,
    dividers: Vec<Divider<'_, impl Divide + Sync + ?Sized>>,
    writer: &mut Writer<'_, '_>,
    progress: &ProgressBar,
    summary: &mut Summary,
) -> Result<(), JobError> {
    let stop = writer.stop;
    thread::scope(|scope| {
        let (mut unread, mut divided, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        let (to_reader, written) = mpsc::channel();
        for mut divider in dividers {
            // Without buffering: each stage holds one chunk.
            let (to_divider, chunks) = mpsc::sync_channel(0);
            let (from_divider, results) = mpsc::sync_channel(0);
            let dividing = move || {
                for mut work in chunks {
                    let result = divider.divide(&mut work, progress).map(|()| work);
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
            unread.push(to_divider);
            divided.push(results);
        }
        let reading = move || {
            let mut times = Times::default();
            for to_divider in unread.iter().cycle() {
                let mut work: Work = written.try_recv().unwrap_or_default();
                read(reader, &mut work, &mut times);
                let last = !matches!(work.more, Ok(true));
                if to_divider.send(work).is_err() || last {
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
                let mut work = result?;
                if !writer.take(&mut work)? {
                    break;
                }
                // At the end of the input there is no reader.
                let _ = to_reader.send(work);
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

/// Reads the next chunk.
fn read<R: BufRead>(reader: &mut Reader<R>, work: &mut Work, times: &mut Times) {
    work.more = timed(&mut times.read, || reader.read(&mut work.chunk));
}

/// Line of a row without a result, and the reason.
pub type Rejected = (u64, RowError);

/// Destination of the results.
struct Writer<'l, 'r> {
    lines: Option<&'l mut dyn Lines>,
    reject: &'r mut dyn FnMut(&[Rejected]),
    stop: &'r AtomicBool,
    /// The last line whose results were written.
    line: u64,
    /// Rows without a result so far.
    rejected: u64,
    times: Times,
}

impl Writer<'_, '_> {
    /// Writes a chunk; returns true if more may follow.
    fn take(&mut self, work: &mut Work) -> Result<bool, JobError> {
        let Work { chunk, more, parts, rejected, .. } = work;
        self.rejected += rejected.len() as u64;
        if !rejected.is_empty() {
            (self.reject)(rejected);
            rejected.clear();
        }
        let written = self.write(parts, &chunk.end);
        written.map_err(|source| JobError::Write { line: self.line, source })?;
        self.line = chunk.end.line;
        // A stopped job may also fail to read.
        if !matches!(more, Ok(false)) && self.stop.load(Ordering::Relaxed) {
            return Err(JobError::Interrupted { line: self.line });
        }
        let more = mem::replace(more, Ok(false));
        more.map_err(|source| JobError::Read { line: self.line, source })
    }

    fn write(&mut self, parts: &[Part], end: &Position) -> io::Result<()> {
        let Some(output) = &mut self.lines else { return Ok(()) };
        timed(&mut self.times.write, || {
            for part in parts {
                output.write_all(&part.text)?;
            }
            output.flush()?;
            output.passed(end, self.rejected)
        })
    }
}

impl<'a, D: Divide + ?Sized> Divider<'a, D> {
    fn new(devices: &'a D, settings: Settings, widths: &'a [Shape], writes: bool) -> Self {
        let (used, summary) = (BTreeSet::new(), Summary::default());
        Self { devices, settings, widths, writes, used, groups: Vec::new(), summary }
    }

    /// Writes the results of a chunk, one for each of its lines, to its parts.
    fn divide(&mut self, work: &mut Work, progress: &ProgressBar) -> Result<(), JobError> {
        let widest = self.widths.last().map_or(0, |shape| shape.bits);
        timed(&mut self.summary.times.parse, || parse(work, widest));
        self.group(work);
        for index in 0..self.groups.len() {
            if self.groups[index].members.is_empty() {
                continue;
            }
            self.divide_group(index, &work.parts).map_err(|source| {
                let Group { shape, members, .. } = &self.groups[index];
                JobError::Divide { rows: members.len(), bits: shape.bits, source }
            })?;
            let wrong = self.wrong_rows(index);
            let Group { shape, members, .. } = &self.groups[index];
            *self.summary.widths.entry(shape.bits).or_default() += members.len() as u64;
            for row in wrong {
                work.outcomes[members[row].line] = Err(RowError::Wrong);
            }
        }
        self.count(work);
        progress.inc(work.chunk.lines.iter().map(|line| line.bytes).sum());
        if self.writes {
            let Self { groups, settings, summary, .. } = self;
            let format = || format(work, groups, settings.hex);
            timed(&mut summary.times.format, format).map_err(JobError::Format)?;
        }
        let numbers = work.chunk.lines.iter().map(|line| line.number);
        let outcomes = numbers.zip(work.outcomes.drain(..));
        work.rejected.extend(outcomes.filter_map(|(line, row)| Some((line, row.err()?))));
        Ok(())
    }

    /// Assigns the parsed rows to groups, and sets their outcomes to the places of their results.
    fn group(&mut self, work: &mut Work) {
        // Memory of widths that the last chunk did not have is freed.
        self.groups.retain(|group| !group.members.is_empty());
        self.groups.iter_mut().for_each(|group| group.members.clear());
        let outcomes = &mut work.outcomes;
        outcomes.clear();
        for (part, rows) in work.parts.iter_mut().map(|part| &mut part.rows).enumerate() {
            for row in rows.drain(..) {
                let operands = match row {
                    Ok(operands) => operands,
                    Err(error) => {
                        outcomes.push(Err(error.into()));
                        continue;
                    }
                };
                let bits = operands.u.bits.max(operands.v.bits) as usize;
                let width = self.widths.partition_point(|shape| shape.bits < bits);
                // The widest width holds every parsed row.
                let Some(&shape) = self.widths.get(width) else {
                    outcomes.push(Err(RowError::Missing));
                    continue;
                };
                let same = self.groups.iter().position(|group| group.shape == shape);
                let group = same.unwrap_or_else(|| {
                    self.groups.push(Group::new(shape));
                    self.groups.len() - 1
                });
                let members = &mut self.groups[group].members;
                outcomes.push(Ok(Place { group, row: members.len() }));
                members.push(Member { line: outcomes.len() - 1, part, operands });
            }
        }
    }

    /// Divides the rows of a group.
    fn divide_group(&mut self, index: usize, parts: &[Part]) -> Result<(), Error> {
        let group = &mut self.groups[index];
        group.fill(parts);
        let is_first = self.used.insert(group.shape.bits);
        let rows = Rows { shape: group.shape, u: &group.u, v: &group.v, is_first };
        let done = self.devices.divide(rows, [&mut group.q, &mut group.r])?;
        let Done { setup, copy, divide, failed } = done;
        self.summary.times += Times { setup, copy, divide, ..Times::default() };
        self.summary.failed.extend(failed);
        Ok(())
    }

    /// Returns the rows of a group with wrong results; none if nothing is checked.
    fn wrong_rows(&mut self, index: usize) -> Vec<usize> {
        if !self.settings.verify {
            return Vec::new();
        }
        let group = &self.groups[index];
        let rows = (0..group.members.len()).into_par_iter();
        let wrong = || rows.filter(|&row| !group.is_right(row)).collect();
        timed(&mut self.summary.times.verify, || threads::install(wrong))
    }

    /// Counts the rows of the families.
    fn count(&mut self, work: &Work) {
        for (line, outcome) in work.chunk.lines.iter().zip(&work.outcomes) {
            let tally = self.summary.family(line.family);
            match outcome {
                Ok(place) => {
                    let group = &self.groups[place.group];
                    let (_, remainder) = group.result(place.row);
                    let is_exact = remainder.iter().all(|&byte| byte == 0);
                    let bits = group.members[place.row].operands.u.bits;
                    tally.add(bits, is_exact, self.settings.verify);
                }
                Err(_) => tally.rejected += 1,
            }
        }
    }
}

/// Writes the result lines of the parts.
fn format(work: &mut Work, groups: &mut [Group], hex: bool) -> Result<(), Error> {
    if !hex {
        groups.iter_mut().try_for_each(Group::prepare_writer)?;
    }
    let Work { chunk, parts, outcomes, .. } = work;
    let size = part_lines(chunk);
    let lines = chunk.lines.par_chunks(size).zip(outcomes.par_chunks(size));
    let parts = parts.par_iter_mut().zip(lines);
    threads::install(|| {
        parts.try_for_each(|(part, (lines, outcomes))| {
            part.text.clear();
            push_lines(part, lines, outcomes, groups, hex)
        })
    })
}

/// Appends one line for each row to the text of a part.
fn push_lines(
    part: &mut Part,
    lines: &[RawLine],
    outcomes: &[Outcome],
    groups: &[Group],
    hex: bool,
) -> Result<(), Error> {
    let text = &mut part.text;
    for (line, outcome) in lines.iter().zip(outcomes) {
        match outcome {
            Ok(place) => {
                let group = &groups[place.group];
                let (q, r) = group.result(place.row);
                for (number, end) in [(q, b' '), (r, b'\n')] {
                    if hex {
                        text.extend(b"0x");
                        digits::push_hex(text, number);
                    } else {
                        group.writer.push(number, text)?;
                    }
                    text.push(end);
                }
            }
            // Writing to a vector does not fail.
            Err(error) => drop(writeln!(text, "error: line {}: {error}", line.number)),
        }
    }
    Ok(())
}

/// Number of lines of the parts of a chunk, at most 64 of them where lines are few.
fn part_lines(chunk: &Chunk) -> usize {
    chunk.lines.len().div_ceil(64).clamp(1, 256)
}

/// Parses the lines of a chunk to parts.
fn parse(work: &mut Work, widest: usize) {
    let Work { chunk, parts, .. } = work;
    let size = part_lines(chunk);
    parts.resize_with(chunk.lines.len().div_ceil(size), Part::default);
    let parser = Parser::new(chunk, widest);
    let lines = parts.par_iter_mut().zip_eq(chunk.lines.par_chunks(size));
    threads::install(|| {
        lines.for_each(|(part, lines)| {
            part.numbers.clear();
            let Part { rows, numbers, .. } = part;
            rows.extend(lines.iter().map(|line| chunk.parse(line, &parser, numbers)));
        });
    });
}

/// u = q v + r and r < v.
pub fn is_division(u: &BigUint, v: &BigUint, q: &BigUint, r: &BigUint) -> bool {
    r < v && q * v + r == *u
}

/// Adds the time of `work` to `total`.
fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *total += start.elapsed();
    result
}
