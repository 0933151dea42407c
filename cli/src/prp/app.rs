//! From options to an exit status: opens the files and the devices, runs the job and reports.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpuint::{BackendKind, Pool, threads};
use rayon::prelude::*;

use super::engine::Engine;
use super::input::{self, Input, ReadError};
use super::job::{self, JobError, Settings, Summary};
use super::journal::{Journal, JournalError, Replay};
use super::options::{Format, Options};
use super::prepare::Row;
use super::verdict::{self, Style, Verdict};
use crate::job::devices::DeviceError;
use crate::job::event::{LineForm, Reports};
use crate::job::input::{BUFFER, InputError, is_stream, refuse_same_file};
use crate::job::progress::progress_bar;
use crate::job::status::Status;
use crate::job::streams::Streams;
use crate::job::units::{Rate, Time};

/// Tests of 1024 bits that devices compute in about two seconds: a GPU, and a core of a CPU.
const GPU_BATCH: f64 = 8e6;
const CORE_BATCH: f64 = 2e3;

/// Why there is nothing to report but this.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("cannot read {}: {source}", path.display())]
    Results { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Job(#[from] JobError),
}

/// Runs the job that the options describe, by `others` instead of the devices of the options if
/// there are any.
///
/// # Errors
/// [`AppError`] for arguments, files, devices and wrong results.
pub(crate) fn run(
    options: &Options,
    streams: Streams<'_>,
    others: Option<&dyn Engine>,
) -> Result<Status, AppError> {
    let start = Instant::now();
    let Streams { stdin, stdout, stderr, progress, stop, watch } = streams;
    let written: Vec<PathBuf> = options.output.iter().cloned().collect();
    options.files.iter().try_for_each(|path| refuse_same_file(path, &written))?;
    let pool;
    let devices = match others {
        Some(others) => others,
        None => {
            pool = options.devices.open()?;
            &pool
        }
    };
    let style = Style { format: options.format(), base: options.base };
    let mut input = Input::new(&options.files, stdin, stop);
    let mut done = Earlier::default();
    let mut output = match options.output.as_deref().filter(|path| !is_stream(path)) {
        None => Output::Stdout(BufWriter::with_capacity(BUFFER, stdout)),
        Some(path) => {
            let (journal, replay) = Journal::open(path, &header(options), options.resume)?;
            done = replayed(path, replay, &mut input, style)?;
            let mut journal = journal;
            let failed = |source| AppError::Results { path: path.to_owned(), source };
            journal.truncate(done.position).map_err(failed)?;
            Output::File(journal)
        }
    };
    if options.resume {
        let _ = match done.candidates {
            0 => writeln!(stderr, "nothing to resume: starting at the first candidate"),
            count => writeln!(stderr, "resuming after {count} candidates"),
        };
    }
    watch();
    let settings = Settings {
        base: options.base,
        sieve: options.sieve,
        stop_on_prime: options.stop_on_prime,
        verify: options.verify,
        batch: batch_cost(devices.pool()) * devices.processes() as f64,
        wave: wave(devices.pool()) * devices.processes(),
        batch_rows: options.batch_rows.map_or(usize::MAX, NonZeroUsize::get),
    };
    let size = input::size(&options.files);
    let bar = progress_bar(progress, size, input.bytes());
    let form = if options.format() == Format::Json { LineForm::Json } else { LineForm::Text };
    // Without a size there is no part that is done.
    let mut reports = size
        .filter(|_| options.progress && !progress)
        .map(|size| Reports::new(form, "tests", [input.bytes(), size]));
    let mut status = if done.has_rejected { Status::RowsRejected } else { Status::Done };
    let mut count = 0u64;
    let write = |rows: &[Row], bytes| {
        for row in rows {
            match row.verdict() {
                None | Some(Verdict::Recorded { .. }) => continue,
                Some(Verdict::Rejected(fault)) => {
                    status = Status::RowsRejected;
                    let line = verdict::rejection(&row.candidate, fault);
                    // Standard error may be closed; the output contains the line as well.
                    bar.suspend(|| drop(writeln!(stderr, "{line}")));
                }
                Some(_) => {}
            }
            count += 1;
        }
        bar.set_position(bytes);
        if let Some(reports) = &mut reports {
            reports.passed(bytes, &format!("{count} candidates"), None, stderr);
        }
        bar.set_message(format!(", {count} candidates{}", Rate(count, start.elapsed())));
        output.append(&lines(rows, style))
    };
    let result = job::run(devices, settings, &mut input, stop, done.found, write);
    bar.finish_and_clear();
    let finished = output.finish();
    let summary =
        match result.and_then(|summary| finished.map_err(JobError::Write).map(|()| summary)) {
            Ok(summary) => summary,
            Err(error) => {
                let reason = match &error {
                    JobError::Write(source) if source.kind() == io::ErrorKind::BrokenPipe => {
                        "stopped: nobody reads the results"
                    }
                    JobError::Interrupted => "interrupted",
                    _ => return Err(error.into()),
                };
                let kept = if options.output.is_some() { "; --resume goes on" } else { "" };
                let _ = writeln!(stderr, "prp: {reason} after {count} candidates{kept}");
                return Ok(Status::Stopped);
            }
        };
    if let Some(reports) = &reports {
        reports.ended(&format!("{count} candidates"), stderr);
    }
    for failed in &summary.failed {
        let _ = writeln!(stderr, "warning: others tested candidates of {failed}");
    }
    let closing = Closing { summary: &summary, name: devices.name(), total: start.elapsed() };
    let _ = writeln!(stderr, "{closing}");
    Ok(status)
}

/// Returns the result lines of rows.
fn lines(rows: &[Row], style: Style) -> String {
    /// Rows whose lines one thread makes at a time.
    const PIECE: usize = 1 << 12;
    let lines = |rows: &[Row]| {
        let mut text = String::new();
        for row in rows {
            match row.verdict() {
                None | Some(Verdict::Recorded { .. }) => {}
                Some(verdict) => style.push_line(&mut text, &row.candidate, verdict),
            }
        }
        text
    };
    let pieces: Vec<String> = threads::install(|| rows.par_chunks(PIECE).map(lines).collect());
    pieces.concat()
}

/// First line of a file of results: the options on which the lines depend.
fn header(options: &Options) -> String {
    let Options { base, sieve, .. } = options;
    match options.format() {
        Format::Json => {
            serde_json::json!({ "gpuint": "prp 1", "base": base, "sieve": sieve }).to_string()
        }
        format => {
            let format = if format == Format::Llr { "llr" } else { "pfgw" };
            format!("# gpuint prp 1: base {base}, sieve {sieve}, format {format}")
        }
    }
}

/// Results of an earlier job.
#[derive(Debug, Default)]
struct Earlier {
    candidates: u64,
    has_rejected: bool,
    /// Primes of each quota.
    found: HashMap<Arc<str>, u64>,
    /// End of the complete lines.
    position: u64,
}

/// Compares the lines of an earlier job with the candidates, and leaves the others in the input.
fn replayed(
    path: &Path,
    mut replay: Replay,
    input: &mut Input<'_>,
    style: Style,
) -> Result<Earlier, AppError> {
    let failed = |source| AppError::Results { path: path.to_owned(), source };
    let mut earlier = Earlier { position: replay.position(), ..Earlier::default() };
    let mut line = replay.next().map_err(failed)?;
    while line.is_some() {
        let mut candidates = Vec::new();
        if !input.next(&mut candidates)? {
            let line = line.unwrap_or_default();
            return Err(replay.mismatch(&line, None).into());
        }
        for candidate in &mut candidates {
            let Some(text) = line else { break };
            let recorded = style
                .recognize(&text, candidate)
                .ok_or_else(|| replay.mismatch(&text, Some(&candidate.text)))?;
            candidate.recorded = Some(recorded.is_prime);
            earlier.candidates += 1;
            earlier.has_rejected |= recorded.is_rejected;
            if let Some(quota) = candidate.quota.as_ref().filter(|_| recorded.is_prime) {
                *earlier.found.entry(Arc::clone(&quota.key)).or_default() += 1;
            }
            earlier.position = replay.position();
            line = replay.next().map_err(failed)?;
        }
        if candidates.last().is_some_and(|candidate| candidate.recorded.is_none()) {
            input.put_back(candidates);
        }
    }
    Ok(earlier)
}

/// Cost of a batch for these devices.
fn batch_cost(pool: &Pool) -> f64 {
    let cores = threads::install(rayon::current_num_threads) as f64;
    let cost = |device: &gpuint::Device| match device.backend() {
        BackendKind::Cuda => GPU_BATCH,
        _ => CORE_BATCH * cores,
    };
    pool.devices().iter().map(cost).sum()
}

/// Tests of `WAVE_BITS` bits that the GPUs compute at once: two blocks a multiprocessor.
fn wave(pool: &Pool) -> usize {
    let gpus = pool.devices().iter().filter_map(gpuint::Device::gpu);
    gpus.map(|gpu| 2 * gpu.multiprocessors as usize).sum()
}

/// Destination of the result lines.
enum Output<'a> {
    Stdout(BufWriter<&'a mut dyn Write>),
    File(Journal),
}

impl Output<'_> {
    fn append(&mut self, lines: &str) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => {
                stdout.write_all(lines.as_bytes())?;
                stdout.flush()
            }
            Self::File(journal) => journal.append(lines),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(journal) => journal.sync(),
        }
    }
}

/// The closing line.
struct Closing<'a> {
    summary: &'a Summary,
    /// Names of the devices.
    name: String,
    total: Duration,
}

impl fmt::Display for Closing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { summary, name, total } = self;
        write!(
            f,
            "{} candidates on {name}: {} primes, {} composite, {} with factors, {} not tested, {} \
             rejected",
            summary.candidates,
            summary.primes,
            summary.composites,
            summary.factors,
            summary.untested,
            summary.rejected
        )?;
        if summary.verified > 0 {
            write!(f, ", {} verified", summary.verified)?;
        }
        let tests: u64 = summary.widths.values().sum();
        let widths: Vec<String> =
            summary.widths.iter().map(|(bits, count)| format!("{count} of {bits} bits")).collect();
        let widths = if widths.is_empty() { "none".to_owned() } else { widths.join(", ") };
        write!(
            f,
            "; {} in all{}; tests: {widths}, {}{}; read {}, sieve {}, evaluate {}, verify {}, \
             write {}",
            Time(*total),
            Rate(summary.candidates, *total),
            Time(summary.test),
            Rate(tests, summary.test),
            Time(summary.read),
            Time(summary.sieve),
            Time(summary.evaluate),
            Time(summary.verify),
            Time(summary.write)
        )
    }
}
