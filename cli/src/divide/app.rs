//! From options to an exit status: opens the files and the device, runs the job and reports.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufWriter, Write};
use std::num::NonZeroUsize;
use std::thread;
use std::time::Instant;

use gpuint::BackendKind;

use super::devices::Divide;
use super::input::{Chunk, ChunkLimits, Reader};
use super::job::{Devices, Job, JobError, Settings};
use super::options::Options;
use super::report::{Closing, Table};
use crate::job::destination::{Output, written_files};
use crate::job::devices::DeviceError;
use crate::job::input::{BUFFER, InputError, is_stream, open, refuse_same_file};
use crate::job::output::{OutputError, OutputFile, Progress};
use crate::job::progress::progress_bar;
use crate::job::status::Status;
use crate::job::streams::Streams;

/// The input when no other is named.
const BUNDLED: &[u8] = include_bytes!("../../data/divide.txt");

/// Rows of a chunk, which fill GPUs.
const GPU_ROWS: usize = 1 << 16;
/// Rows of a chunk on the CPU: few, so that a file is read, divided and written at the same time.
const CPU_ROWS: usize = 1 << 12;

/// Why there is nothing to report but this.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Job(#[from] JobError),
}

/// Runs the job that the options describe, by `others` instead of the devices of the options if
/// there are any.
pub fn run(
    options: &Options,
    streams: Streams<'_>,
    others: Option<&dyn Divide>,
) -> Result<Status, AppError> {
    let start = Instant::now();
    let Streams { mut stdin, stdout, stderr, progress, stop, watch } = streams;

    let mut opened;
    let mut bundled = BUNDLED;
    let (input, size): (&mut (dyn BufRead + Send), Option<u64>) = match options.input.as_deref() {
        None => (&mut bundled, Some(BUNDLED.len() as u64)),
        Some(path) if is_stream(path) => (&mut *stdin, None),
        Some(path) => {
            let size;
            (opened, size) = open(path, stop)?;
            (&mut opened, size)
        }
    };
    if let Some(input) = options.input.as_deref() {
        refuse_same_file(input, &written_files(options.output.as_deref())?)?;
    }
    let opening = Instant::now();
    let pool;
    let (devices, name, rows) = match others {
        Some(others) => (Devices::InTurn(others), others.name(), GPU_ROWS),
        None => {
            pool = options.devices.open()?;
            let is_gpu = pool.devices()[0].backend() == BackendKind::Cuda;
            let (chunks, rows) = if is_gpu { (2, GPU_ROWS) } else { (1, CPU_ROWS) };
            let devices = match starts_threads() {
                true => Devices::SideBySide(&pool, chunks),
                false => Devices::InTurn(&pool),
            };
            (devices, pool.name(), rows)
        }
    };
    let opening = opening.elapsed();

    let mut stdout = BufWriter::with_capacity(BUFFER, stdout);
    let mut output = match options.output.as_deref() {
        Some(path) if !is_stream(path) => {
            Output::open(path, options.checkpoints(), options.resume)?
        }
        _ if options.lines_to_stdout() => Output::Stdout,
        _ => Output::None,
    };

    let settings = Settings { hex: options.hex, verify: options.verifies() };
    let limits = ChunkLimits {
        rows: options.chunk_rows.map_or(rows, NonZeroUsize::get),
        bytes: (options.chunk_mib as usize) << 20,
    };
    let resumable = matches!(output, Output::File(_));
    let mut reader = Reader::new(input, limits, resumable);
    let (mut status, done) = match &mut output {
        Output::File(file) if file.resumed().is_some() => {
            match resume(file, &mut reader, stderr)? {
                Resumed::Complete(status) => return Ok(status),
                Resumed::After(status, bytes) => (status, bytes),
            }
        }
        _ => {
            if options.resume {
                let _ = writeln!(stderr, "nothing to resume: starting at the first line");
            }
            (Status::Done, 0)
        }
    };
    watch();
    let bar = progress_bar(progress, size, done);
    let result = Job::new(devices, settings, stop).run(
        &mut reader,
        output.lines(&mut stdout),
        &mut |rejected| {
            status = Status::RowsRejected;
            let mut text = String::new();
            for (line, error) in rejected {
                let _ = writeln!(text, "error: line {line}: {error}");
            }
            // Standard error may be closed; the output contains the lines as well.
            bar.suspend(|| drop(stderr.write_all(text.as_bytes())));
        },
        &bar,
    );
    bar.finish_and_clear();
    let mut summary = match result {
        Ok(summary) => summary,
        Err(error) => {
            if let Output::File(file) = &mut output
                && file.suspend()
            {
                let _ = writeln!(stderr, "the results so far are kept: --resume goes on");
            }
            return stopped(error, stderr);
        }
    };
    if let Output::File(file) = &mut output {
        file.finish()?;
    }
    summary.times.setup += opening;

    if options.summarizes() {
        let table = Table { summary: &summary, names: &reader.families };
        let target: &mut dyn Write =
            if options.lines_to_stdout() { &mut *stderr } else { &mut stdout };
        if let Err(source) = write!(target, "{table}").and_then(|()| target.flush()) {
            let line = summary.rows();
            return stopped(JobError::Write { line, source }, stderr);
        }
    }
    for failed in &summary.failed {
        let _ = writeln!(stderr, "warning: others divided rows of {failed}");
    }
    let closing = Closing { summary: &summary, device: &name, total: start.elapsed() };
    let _ = writeln!(stderr, "{closing}");
    Ok(status)
}

/// A job that goes on.
enum Resumed {
    /// No line is left.
    Complete(Status),
    /// The lines so far have this status and number of bytes.
    After(Status, u64),
}

/// Skips the lines of the input that have results in a file.
///
/// # Errors
/// [`OutputError`] for the lines of another input.
fn resume<R: BufRead>(
    file: &mut OutputFile,
    reader: &mut Reader<R>,
    stderr: &mut dyn Write,
) -> Result<Resumed, AppError> {
    let Some(Progress { position, rejected, .. }) = file.resumed().cloned() else {
        return Ok(Resumed::After(Status::Done, 0));
    };
    let failed = |source| JobError::Read { line: 0, source };
    let mut is_same = reader.skip(&position).map_err(failed)?;
    if is_same && file.is_complete() {
        let mut rest = Chunk::default();
        reader.read(&mut rest).map_err(failed)?;
        is_same = rest.lines.is_empty();
    }
    if !is_same {
        return Err(file.other_input().into());
    }
    let status = if rejected > 0 { Status::RowsRejected } else { Status::Done };
    if file.is_complete() {
        file.finish()?;
        let _ = writeln!(stderr, "the output is complete: no line is left to divide");
        return Ok(Resumed::Complete(status));
    }
    let _ = writeln!(stderr, "resuming after line {}", position.line);
    Ok(Resumed::After(status, position.bytes))
}

/// Result of a job that stopped early: its status, or the error.
fn stopped(error: JobError, stderr: &mut dyn Write) -> Result<Status, AppError> {
    let reason = match error {
        // `divide FILE | head`
        JobError::Write { line, source } if source.kind() == io::ErrorKind::BrokenPipe => {
            format!("stopped after line {line}: nobody reads the results")
        }
        JobError::Interrupted { .. } => error.to_string(),
        error => return Err(error.into()),
    };
    let _ = writeln!(stderr, "divide: {reason}");
    Ok(Status::Stopped)
}

/// Returns true if this host starts threads.
fn starts_threads() -> bool {
    thread::Builder::new().spawn(|| ()).is_ok()
}
