//! From options to an exit status: opens the files and the device, runs the job and reports.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use gpuint::{BackendKind, Device, Pool};
use indicatif::{ProgressBar, ProgressStyle};
use same_file::Handle;

use super::devices::Divide;
use super::input::{ChunkLimits, Reader};
use super::job::{Devices, Job, JobError, Settings};
use super::options::{BackendChoice, Options};
use super::output::{Lines, OutputError, OutputFile, Progress};
use super::report::{Closing, Table};

/// The input when no other is named.
const BUNDLED: &[u8] = include_bytes!("../../data/divide.txt");

const BUFFER: usize = 1 << 20;

/// The exit status of a job that ended early.
pub(crate) const STOPPED: u8 = 3;

/// Why there is nothing to report but this.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    #[error("cannot open {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("{0} is both the input and the output")]
    SameFile(String),
    #[error("cannot use --backend {backend}: {source}")]
    Device { backend: BackendChoice, source: gpuint::Error },
    #[error("--devices are numbers of GPUs: they need --backend cuda")]
    DeviceNumber,
    #[error(transparent)]
    Job(#[from] JobError),
}

/// End of a job that did not stop with an [`AppError`] (exit status 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Every row was divided.
    Done,
    /// Some rows have no result.
    RowsRejected,
    /// The job was interrupted, or its reader closed the pipe.
    Stopped,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::RowsRejected => Self::from(1),
            Status::Stopped => Self::from(STOPPED),
        }
    }
}

/// Surroundings of a job: the standard streams of the process, signals and other processes.
pub(crate) struct Streams<'a> {
    pub(crate) stdin: &'a mut (dyn BufRead + Send),
    pub(crate) stdout: &'a mut dyn Write,
    pub(crate) stderr: &'a mut dyn Write,
    /// True if a progress bar may be drawn on the terminal of standard error.
    pub(crate) progress: bool,
    /// Set by a signal handler: the job stops early.
    pub(crate) stop: &'a AtomicBool,
    /// Divide instead of the devices of the options.
    pub(crate) others: Option<&'a dyn Divide>,
}

/// Runs the job that the options describe.
pub(crate) fn run(options: &Options, streams: Streams<'_>) -> Result<Status, AppError> {
    let start = Instant::now();
    let Streams { stdin, stdout, stderr, progress, stop, others } = streams;

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
    refuse_same_file(options)?;
    let opening = Instant::now();
    let pool;
    let (devices, name) = match others {
        Some(others) => (Devices::InTurn(others), others.name()),
        None => {
            pool = open_pool(options)?;
            let is_gpu = pool.devices()[0].backend() == BackendKind::Cuda;
            let devices =
                if is_gpu { Devices::SideBySide(&pool, 2) } else { Devices::InTurn(&pool) };
            (devices, pool.name())
        }
    };
    let opening = opening.elapsed();

    let mut stdout = BufWriter::with_capacity(BUFFER, stdout);
    let mut output = match options.output.as_deref() {
        Some(path) if !is_stream(path) => Output::open(path, options)?,
        _ if options.lines_to_stdout() => Output::Stdout,
        _ => Output::None,
    };

    let settings = Settings { hex: options.hex, verify: options.verifies() };
    let limits =
        ChunkLimits { rows: options.chunk_rows.get(), bytes: (options.chunk_mib as usize) << 20 };
    let resumable = matches!(output, Output::File(_));
    let mut reader = Reader::new(input, limits, resumable);
    let mut status = Status::Done;
    if let Output::File(file) = &output
        && let Some(Progress { position, rejected, .. }) = file.resumed()
    {
        let same = reader.skip(position);
        if !same.map_err(|source| JobError::Read { line: 0, source })? {
            return Err(file.other_input().into());
        }
        if *rejected > 0 {
            status = Status::RowsRejected;
        }
        let _ = writeln!(stderr, "resuming after line {}", position.line);
    }
    let bar = progress_bar(progress, size);
    let result = Job::new(devices, settings, stop).run(
        &mut reader,
        output.lines(&mut stdout),
        &mut |line, error| {
            status = Status::RowsRejected;
            // Standard error may be closed; the output contains the line as well.
            bar.suspend(|| drop(writeln!(stderr, "error: line {line}: {error}")));
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
    if let Output::File(file) = output {
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

/// Returns true if a path means standard input or output.
fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
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

/// Destination of the result lines.
enum Output {
    None,
    Stdout,
    /// A device or a pipe, which cannot be replaced.
    Stream(BufWriter<File>),
    File(Box<OutputFile>),
}

impl Output {
    fn open(path: &Path, options: &Options) -> Result<Self, AppError> {
        let failed = |source| OutputError::Create { path: path.to_owned(), source };
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                Err(failed(io::ErrorKind::IsADirectory.into()).into())
            }
            Ok(metadata) if !metadata.is_file() => {
                let file = File::options().write(true).open(path).map_err(failed)?;
                Ok(Self::Stream(BufWriter::with_capacity(BUFFER, file)))
            }
            _ => Ok(Self::File(Box::new(OutputFile::open(path, options.hex, options.resume)?))),
        }
    }

    fn lines<'a, W: Write>(
        &'a mut self,
        stdout: &'a mut BufWriter<W>,
    ) -> Option<&'a mut dyn Lines> {
        match self {
            Self::None => None,
            Self::Stdout => Some(stdout),
            Self::Stream(file) => Some(file),
            Self::File(file) => Some(&mut **file),
        }
    }
}

/// Opens an input file, and returns its length if it is a regular file.
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

/// Refuses to read and write one file under any of its names: the results would replace the input,
/// or be read as input.
fn refuse_same_file(options: &Options) -> Result<(), AppError> {
    let input = match options.input.as_deref() {
        None => return Ok(()),
        Some(path) if is_stream(path) => Handle::stdin(),
        Some(path) if path.is_file() => Handle::from_path(path),
        Some(_) => return Ok(()),
    };
    let (name, output) = match options.output.as_deref() {
        Some(path) if is_stream(path) => ("standard output".to_owned(), Handle::stdout()),
        Some(path) if path.is_file() => (path.display().to_string(), Handle::from_path(path)),
        Some(_) => return Ok(()),
        None => ("standard output".to_owned(), Handle::stdout()),
    };
    // A closed stream is not a file, and both streams may well be one terminal.
    let is_file = |handle: &Handle| handle.as_file().metadata().is_ok_and(|data| data.is_file());
    match (input, output) {
        (Ok(input), Ok(output)) if input == output && is_file(&input) => {
            Err(AppError::SameFile(name))
        }
        _ => Ok(()),
    }
}

/// Opens the requested devices.
fn open_pool(options: &Options) -> Result<Pool, AppError> {
    let backend = options.backend;
    let numbers = &options.devices;
    if !numbers.is_empty() && backend != BackendChoice::Cuda {
        return Err(AppError::DeviceNumber);
    }
    let of = |device: gpuint::Result<Device>| Pool::of([device?]);
    match backend {
        BackendChoice::Auto => Pool::new(),
        // Without a GPU, not the CPU.
        BackendChoice::Cuda if numbers.is_empty() => Device::cuda(0).and_then(|_| Pool::new()),
        BackendChoice::Cuda => {
            let devices: gpuint::Result<Vec<_>> =
                numbers.iter().copied().map(Device::cuda).collect();
            devices.and_then(Pool::of)
        }
        BackendChoice::Cpu => of(Ok(Device::cpu())),
        #[cfg(feature = "simt")]
        BackendChoice::Simt => of(Ok(Device::simt())),
    }
    .map_err(|source| AppError::Device { backend, source })
}

/// A bar over the bytes of the input, or a count if its size is unknown.
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
