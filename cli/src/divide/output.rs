//! The output file, which is renamed when it is complete; an interrupted job can be continued.
//!
//! Results are written to `NAME.partial` in the folder of `NAME`. At the end that file is synced
//! and renamed, so that `NAME` never holds partial results and keeps its old content until then.
//! `NAME.checkpoint` records how much of the input the synced part of `NAME.partial` covers. It
//! identifies the input by the hash of the bytes read, so that results of two inputs are never
//! mixed.
//! the input by the hash of the bytes that were read, so results of two inputs are never mixed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::input::Position;

const BUFFER: usize = 1 << 20;
/// Time between two checkpoints, each of which waits for the disk.
const INTERVAL: Duration = Duration::from_secs(2);
/// First line of a checkpoint; the number is the version of the format.
const HEADER: &str = "gpuint divide checkpoint 1";

/// A destination of result lines.
pub(crate) trait Lines: Write {
    /// Records that the results of all lines of the input up to `position` were written and
    /// flushed, `rejected` of them without a result.
    fn passed(&mut self, _position: &Position, _rejected: u64) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Lines for BufWriter<W> {}

/// Reason why an output file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    #[error("cannot create {}: {source}", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("another job is writing {}", .0.display())]
    Busy(PathBuf),
    #[error("cannot resume from {}: {reason}", path.display())]
    Resume { path: PathBuf, reason: String },
    #[error("cannot finish {}: {source}; the results are in {}", path.display(), partial.display())]
    Finish { path: PathBuf, partial: PathBuf, source: io::Error },
}

/// A file that is replaced as a whole.
#[derive(Debug)]
pub(crate) struct OutputFile {
    target: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    /// Bytes written to the partial file.
    length: u64,
    checkpoint: CheckpointFile,
    /// Checkpoint that the job resumed from.
    resumed: Option<Progress>,
    /// The latest recorded progress.
    passed: Option<Progress>,
    saved: Instant,
}

impl OutputFile {
    /// Starts a new output or, with `resume`, continues an interrupted one if it exists.
    ///
    /// # Errors
    /// [`OutputError`] if the files cannot be made, belong to a running job, or do not match.
    pub(crate) fn open(target: &Path, hex: bool, resume: bool) -> Result<Self, OutputError> {
        // A link still points to the replaced file.
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        let partial = with_suffix(&target, ".partial");
        let failed = |source| OutputError::Create { path: target.clone(), source };
        let checkpoint = CheckpointFile { path: with_suffix(&target, ".checkpoint"), hex };
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(&partial);
        let mut file = file.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OutputError::Busy(target)),
            // A file system without locks.
            Err(TryLockError::Error(_)) => {}
        }
        let resumed = if resume { checkpoint.read()? } else { None };
        let length = resumed.as_ref().map_or(0, |progress| progress.length);
        let have = file.metadata().map_err(failed)?.len();
        if have < length {
            return Err(checkpoint
                .refuse(format!("{} has {have} bytes instead of {length}", partial.display())));
        }
        if resumed.is_none() {
            checkpoint.remove().map_err(failed)?;
        }
        file.set_len(length).map_err(failed)?;
        file.seek(SeekFrom::Start(length)).map_err(failed)?;
        let file = BufWriter::with_capacity(BUFFER, file);
        let passed = resumed.clone();
        let saved = Instant::now();
        Ok(Self { target, partial, file, length, checkpoint, resumed, passed, saved })
    }

    /// Progress at which the job continues; `None` for a new job.
    pub(crate) fn resumed(&self) -> Option<&Progress> {
        self.resumed.as_ref()
    }

    /// Makes the error for an input that does not begin with the divided bytes.
    pub(crate) fn other_input(&self) -> OutputError {
        self.checkpoint.refuse("the input does not begin with the lines divided before".to_owned())
    }

    /// Records the progress of a job that stops early; returns true if the job can be resumed.
    pub(crate) fn suspend(&mut self) -> bool {
        self.passed.is_some() && self.save().is_ok()
    }

    /// Renames the complete output.
    ///
    /// # Errors
    /// [`OutputError::Finish`].
    pub(crate) fn finish(mut self) -> Result<(), OutputError> {
        self.publish().map_err(|source| OutputError::Finish {
            path: self.target.clone(),
            partial: self.partial.clone(),
            source,
        })
    }

    fn publish(&mut self) -> io::Result<()> {
        self.file.flush()?;
        if let Ok(old) = fs::metadata(&self.target) {
            self.file.get_ref().set_permissions(old.permissions())?;
        }
        self.file.get_ref().sync_all()?;
        fs::rename(&self.partial, &self.target)?;
        self.checkpoint.remove()?;
        sync_folder(&self.target)
    }

    fn save(&mut self) -> io::Result<()> {
        let Some(progress) = &self.passed else { return Ok(()) };
        self.file.get_ref().sync_data()?;
        self.checkpoint.write(progress)?;
        self.saved = Instant::now();
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Lines for OutputFile {
    fn passed(&mut self, position: &Position, rejected: u64) -> io::Result<()> {
        let before = self.resumed.as_ref().map_or(0, |progress| progress.rejected);
        self.passed = Some(Progress {
            position: position.clone(),
            length: self.length,
            rejected: before + rejected,
        });
        if self.saved.elapsed() < INTERVAL { Ok(()) } else { self.save() }
    }
}

/// Progress of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) position: Position,
    /// Bytes of the results so far.
    length: u64,
    /// Rows without a result so far.
    pub(crate) rejected: u64,
}

/// The file with the progress of a job.
#[derive(Debug)]
struct CheckpointFile {
    path: PathBuf,
    /// Format of the results, which a resumed job must use too.
    hex: bool,
}

impl CheckpointFile {
    fn text(&self, progress: &Progress) -> String {
        let Progress { position: Position { bytes, line, hash }, length, rejected } = progress;
        format!(
            "{HEADER}\ninput bytes {bytes}\ninput lines {line}\ninput sha256 {hash}\n\
             output bytes {length}\noutput errors {rejected}\nhex {}\n",
            self.hex
        )
    }

    /// Replaces the record.
    fn write(&self, progress: &Progress) -> io::Result<()> {
        let new = with_suffix(&self.path, ".new");
        let mut file = File::create(&new)?;
        file.write_all(self.text(progress).as_bytes())?;
        file.sync_data()?;
        fs::rename(new, &self.path)
    }

    /// Returns the recorded progress; `None` without a record.
    fn read(&self) -> Result<Option<Progress>, OutputError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.refuse(error.to_string())),
        };
        let field =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let number = |name: &str| field(name)?.parse().ok();
        let read = || {
            let position = Position {
                bytes: number("input bytes")?,
                line: number("input lines")?,
                hash: field("input sha256")?.to_owned(),
            };
            let (length, rejected) = (number("output bytes")?, number("output errors")?);
            Some(Progress { position, length, rejected })
        };
        let damaged = || self.refuse("the file is damaged".to_owned());
        let progress = read().ok_or_else(damaged)?;
        if field("hex") != Some(if self.hex { "true" } else { "false" }) {
            return Err(self.refuse("--hex was not the same before".to_owned()));
        }
        if text != self.text(&progress) {
            return Err(damaged());
        }
        Ok(Some(progress))
    }

    fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn refuse(&self, reason: String) -> OutputError {
        OutputError::Resume { path: self.path.clone(), reason }
    }
}

/// Appends to the name of a file.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Waits until the file's name is on the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
