//! From options to an exit status: opens the files and the device, runs the job, reports.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use gpuint::{BackendKind, Device};
use indicatif::{ProgressBar, ProgressStyle};

use crate::input::{ChunkLimits, Reader};
use crate::job::{Job, JobError, Settings};
use crate::options::{BackendChoice, Options};
use crate::report::{Closing, Table};

/// The input when no other is named.
const BUNDLED: &[u8] = include_bytes!("../data/divide.txt");

const BUFFER: usize = 1 << 20;

/// Why there is nothing to report but this.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    #[error("cannot open {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("cannot create {}: {source}", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("{} is both the input and the output", .0.display())]
    SameFile(PathBuf),
    #[error("cannot use --backend {backend}: {source}")]
    Device { backend: BackendChoice, source: gpuint::Error },
    #[error("--device is a number of a GPU: it needs --backend cuda")]
    DeviceNumber,
    #[error(transparent)]
    Job(#[from] JobError),
}

/// How the job ended, where it did not stop with an [`AppError`] (exit status 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Every row was divided.
    Done,
    /// Some rows have no result.
    RowsRejected,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::RowsRejected => Self::from(1),
        }
    }
}

/// What the process is connected to.
pub(crate) struct Streams<'a> {
    pub(crate) stdin: &'a mut (dyn BufRead + Send),
    pub(crate) stdout: &'a mut dyn Write,
    pub(crate) stderr: &'a mut dyn Write,
    /// Whether a progress bar may be drawn on the terminal behind standard error.
    pub(crate) progress: bool,
}

/// Does what the options ask for.
pub(crate) fn run(options: &Options, streams: Streams<'_>) -> Result<Status, AppError> {
    let start = Instant::now();
    let Streams { stdin, stdout, stderr, progress } = streams;

    let mut opened;
    let mut bundled = BUNDLED;
    let (input, size): (&mut (dyn BufRead + Send), Option<u64>) = match options.input.as_deref() {
        None => (&mut bundled, Some(BUNDLED.len() as u64)),
        Some(path) if is_stream(path) => (stdin, None),
        Some(path) => {
            let size;
            (opened, size) = open(path)?;
            (&mut opened, size)
        }
    };
    let opening = Instant::now();
    let devices = open_devices(options)?;
    let opening = opening.elapsed();

    let mut stdout = BufWriter::with_capacity(BUFFER, stdout);
    let mut created;
    let lines: Option<&mut dyn Write> = match options.output.as_deref() {
        Some(path) if !is_stream(path) => {
            created = create(path, options.input.as_deref())?;
            Some(&mut created)
        }
        _ if options.lines_to_stdout() => Some(&mut stdout),
        _ => None,
    };

    let settings = Settings { hex: options.hex, verify: options.verifies() };
    let limits =
        ChunkLimits { rows: options.chunk_rows.get(), bytes: (options.chunk_mib as usize) << 20 };
    let mut reader = Reader::new(input, limits);
    let bar = progress_bar(progress, size);
    let mut status = Status::Done;
    let result = Job::new(&devices, settings).run(
        &mut reader,
        lines,
        &mut |line, error| {
            status = Status::RowsRejected;
            // Standard error may be closed; the line stands in the output as well.
            bar.suspend(|| drop(writeln!(stderr, "error: line {line}: {error}")));
        },
        &bar,
    );
    bar.finish_and_clear();
    let mut summary = match result {
        Ok(summary) => summary,
        // Whoever read the results has had enough of them: `divide FILE | head`.
        Err(JobError::Write(error)) if is_broken_pipe(&error) => return Ok(status),
        Err(error) => return Err(error.into()),
    };
    summary.times.setup += opening;

    if options.summarizes() {
        let table = Table { summary: &summary, names: &reader.families };
        let target: &mut dyn Write =
            if options.lines_to_stdout() { &mut *stderr } else { &mut stdout };
        match write!(target, "{table}").and_then(|()| target.flush()) {
            Err(error) if !is_broken_pipe(&error) => return Err(JobError::Write(error).into()),
            _ => {}
        }
    }
    let device = devices[0].to_string();
    let closing = Closing { summary: &summary, device: &device, total: start.elapsed() };
    let _ = writeln!(stderr, "{closing}");
    Ok(status)
}

/// Whether a path stands for standard input or output.
fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn is_broken_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Opens an input file, and says how long it is if it is a plain one.
fn open(path: &Path) -> Result<(BufReader<File>, Option<u64>), AppError> {
    let failed = |source| AppError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    let size = metadata.is_file().then_some(metadata.len());
    Ok((BufReader::with_capacity(BUFFER, file), size))
}

/// Creates the output file, unless that would empty the input.
fn create(path: &Path, input: Option<&Path>) -> Result<BufWriter<File>, AppError> {
    let same = |input: &Path| match (path.canonicalize(), input.canonicalize()) {
        (Ok(output), Ok(input)) => output == input,
        _ => false,
    };
    if input.is_some_and(same) {
        return Err(AppError::SameFile(path.to_owned()));
    }
    match File::create(path) {
        Ok(file) => Ok(BufWriter::with_capacity(BUFFER, file)),
        Err(source) => Err(AppError::Create { path: path.to_owned(), source }),
    }
}

/// Handles to the device that is asked for: two to a GPU, each with a queue of its own.
fn open_devices(options: &Options) -> Result<Vec<Device>, AppError> {
    let first = open_device(options)?;
    let mut devices = vec![first];
    if devices[0].backend() == BackendKind::Cuda {
        devices.push(open_device(options)?);
    }
    Ok(devices)
}

fn open_device(options: &Options) -> Result<Device, AppError> {
    let backend = options.backend;
    if options.device.is_some() && backend != BackendChoice::Cuda {
        return Err(AppError::DeviceNumber);
    }
    match backend {
        BackendChoice::Auto => Device::new(),
        BackendChoice::Cuda => Device::cuda(options.device.unwrap_or(0)),
        BackendChoice::Cpu => Ok(Device::cpu()),
        BackendChoice::Simt => Ok(Device::simt()),
    }
    .map_err(|source| AppError::Device { backend, source })
}

/// A bar over the bytes of the input, or a count of them where its size is not known.
fn progress_bar(visible: bool, size: Option<u64>) -> ProgressBar {
    if !visible {
        return ProgressBar::hidden();
    }
    let (bar, template) = match size {
        Some(size) => (ProgressBar::new(size), "{wide_bar} {bytes} of {total_bytes}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}, {elapsed}"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
