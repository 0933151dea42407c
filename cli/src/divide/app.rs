//! From options to an exit status: opens the files and the device, runs the job and reports.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Instant;

use gpuint::{BackendKind, Device, Pool};
use indicatif::{ProgressBar, ProgressStyle};
use same_file::Handle;

use super::awaited::Awaited;
use super::devices::Divide;
use super::input::{Chunk, ChunkLimits, Reader};
use super::job::{Devices, Job, JobError, Settings};
use super::options::{BackendChoice, Options};
use super::output::{Lines, Names, OutputError, OutputFile, Progress};
use super::report::{Closing, Table};

/// The input when no other is named.
const BUNDLED: &[u8] = include_bytes!("../../data/divide.txt");

const BUFFER: usize = 1 << 20;

/// Rows of a chunk, which fill GPUs.
const GPU_ROWS: usize = 1 << 16;
/// Rows of a chunk on the CPU: few, so that a file is read, divided and written at the same time.
const CPU_ROWS: usize = 1 << 12;

/// The exit status of a job that ended early.
pub(crate) const STOPPED: u8 = 3;

/// Why there is nothing to report but this.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    #[error("cannot open {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("{written} is the input {input}: the job would write over it")]
    SameFile { input: String, written: String },
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
    /// Set by a signal handler, or after an error: the job stops early.
    pub(crate) stop: &'a AtomicBool,
    /// Installs the handler, before the first row: until then a signal ends the process.
    pub(crate) watch: &'a mut dyn FnMut(),
    /// Divide instead of the devices of the options.
    pub(crate) others: Option<&'a dyn Divide>,
}

/// Runs the job that the options describe.
pub(crate) fn run(options: &Options, streams: Streams<'_>) -> Result<Status, AppError> {
    let start = Instant::now();
    let Streams { stdin, stdout, stderr, progress, stop, watch, others } = streams;

    let mut opened;
    let mut bundled = BUNDLED;
    let (input, size): (&mut (dyn BufRead + Send), Option<u64>) = match options.input.as_deref() {
        None => (&mut bundled, Some(BUNDLED.len() as u64)),
        Some(path) if is_stream(path) => (stdin, None),
        Some(path) => {
            let size;
            (opened, size) = open(path, stop)?;
            (&mut opened, size)
        }
    };
    refuse_same_file(options)?;
    let opening = Instant::now();
    let pool;
    let (devices, name, rows) = match others {
        Some(others) => (Devices::InTurn(others), others.name(), GPU_ROWS),
        None => {
            pool = open_pool(options)?;
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
        Some(path) if !is_stream(path) => Output::open(path, options)?,
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
    let mut status = Status::Done;
    let mut done = 0;
    if let Output::File(file) = &mut output
        && let Some(Progress { position, rejected, .. }) = file.resumed().cloned()
    {
        let failed = |source| JobError::Read { line: 0, source };
        let mut rest = Chunk::default();
        let mut same = reader.skip(&position).map_err(failed)?;
        if same && file.is_complete() {
            reader.read(&mut rest).map_err(failed)?;
            same = rest.lines.is_empty();
        }
        if !same {
            return Err(file.other_input().into());
        }
        if rejected > 0 {
            status = Status::RowsRejected;
        }
        if file.is_complete() {
            file.finish()?;
            let _ = writeln!(stderr, "the output is complete: no line is left to divide");
            return Ok(status);
        }
        let _ = writeln!(stderr, "resuming after line {}", position.line);
        done = position.bytes;
    } else if options.resume {
        let _ = writeln!(stderr, "nothing to resume: starting at the first line");
    }
    watch();
    let bar = progress_bar(progress, size, done);
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
            _ => {
                let names = Names::of(path)?;
                let file = OutputFile::open(&names, options.hex, options.resume)?;
                Ok(Self::File(Box::new(file)))
            }
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
fn open<'a>(
    path: &Path,
    stop: &'a AtomicBool,
) -> Result<(BufReader<Awaited<'a>>, Option<u64>), AppError> {
    let failed = |source| AppError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    let size = metadata.is_file().then_some(metadata.len());
    Ok((BufReader::with_capacity(BUFFER, Awaited::new(file, stop)), size))
}

/// Refuses an input that the job would write over: a file of the job or a standard stream, under
/// any name.
fn refuse_same_file(options: &Options) -> Result<(), AppError> {
    let (input, handle) = match options.input.as_deref() {
        None => return Ok(()),
        Some(path) if is_stream(path) => ("on standard input".to_owned(), Handle::stdin()),
        Some(path) => (path.display().to_string(), file_handle(path)),
    };
    // All streams may well be one terminal.
    let is_file = |handle: &Handle| handle.as_file().metadata().is_ok_and(|data| data.is_file());
    let Some(handle) = handle.ok().filter(is_file) else { return Ok(()) };
    let mut written = vec![
        ("standard output".to_owned(), Handle::stdout()),
        ("standard error".to_owned(), Handle::stderr()),
    ];
    if let Some(path) = options.output.as_deref().filter(|path| !is_stream(path)) {
        let names = Names::of(path)?;
        let paths = [path].into_iter().chain(names.beside());
        written.extend(paths.map(|path| (path.display().to_string(), file_handle(path))));
    }
    match written.into_iter().find(|(_, other)| other.as_ref().is_ok_and(|other| *other == handle))
    {
        Some((written, _)) => Err(AppError::SameFile { input, written }),
        None => Ok(()),
    }
}

/// Opens a regular file for comparisons; opening a pipe would wait for its other end.
fn file_handle(path: &Path) -> io::Result<Handle> {
    if path.is_file() { Handle::from_path(path) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Returns true if this host starts threads.
fn starts_threads() -> bool {
    thread::Builder::new().spawn(|| ()).is_ok()
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

/// A bar over the bytes of the input, or a count if its size is unknown, of which `done` were
/// divided before.
fn progress_bar(visible: bool, size: Option<u64>, done: u64) -> ProgressBar {
    if !visible {
        return ProgressBar::hidden();
    }
    let (bar, template) = match size {
        Some(size) => (ProgressBar::new(size), "{wide_bar} {bytes} of {total_bytes}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}, {elapsed}"),
    };
    let bar = match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    bar.set_position(done);
    // The time left is that of the rows that follow.
    bar.reset_eta();
    bar
}
