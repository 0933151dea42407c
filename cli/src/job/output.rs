//! The output file, which is renamed when it is complete; an interrupted job can be continued.
//!
//! Results are written to `NAME.partial` in the folder of `NAME`. At the end that file is synced
//! and renamed, so that `NAME` never holds partial results and keeps its old content until then.
//! `NAME.checkpoint` records how much of the input the synced part of `NAME.partial` covers. It
//! identifies the input by the hash of the bytes read, so that results of two inputs are never
//! mixed, and has the options on which the results depend. A first record precedes the first
//! result: results without a record are of another program, and stay. Before the renaming it
//! records the time of the output, by which a job that was killed before the removal of the
//! checkpoint is known to be complete.

use std::fs::{self, File, Metadata, Permissions, TryLockError};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::files::{self, Refusal};

const BUFFER: usize = 1 << 20;
/// Time between two checkpoints, each of which waits for the disk.
const INTERVAL: Duration = Duration::from_secs(2);

/// End of the name of a file that is assembled.
const ASSEMBLED: &str = ".assembled";

/// Format of a job's checkpoints.
#[derive(Debug, Clone)]
pub struct Format {
    /// First line of a checkpoint: the program, and the version of the format.
    pub header: &'static str,
    /// Names and values of the options on which the results depend. A resumed job must have the
    /// same ones.
    pub options: Vec<(&'static str, String)>,
}

/// Position between two lines of the input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    /// Bytes before it.
    pub bytes: u64,
    /// Lines before it.
    pub line: u64,
    /// [`InputHash`](super::input::InputHash) of the bytes before it; empty if the reader does not
    /// hash.
    pub hash: String,
}

/// A destination of result lines.
pub trait Lines: Write {
    /// Records that the results of all lines of the input up to `position` were written and
    /// flushed, `rejected` of them without a result.
    fn passed(&mut self, _position: &Position, _rejected: u64) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Lines for BufWriter<W> {}

/// Reason why an output file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("cannot create {}: {source}", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("another job is writing {}", .0.display())]
    Busy(PathBuf),
    #[error("cannot resume from {}: {reason}", path.display())]
    Resume { path: PathBuf, reason: String },
    #[error("cannot finish {}: {source}; the results are in {}", path.display(), partial.display())]
    Finish { path: PathBuf, partial: PathBuf, source: io::Error },
}

/// Names of the files of a job.
#[derive(Debug, Clone)]
pub struct Names {
    target: PathBuf,
    partial: PathBuf,
    checkpoint: PathBuf,
    /// The next checkpoint, until it is complete.
    new_checkpoint: PathBuf,
}

impl Names {
    /// Returns the names for an output. A link stands for the file to which it leads.
    ///
    /// # Errors
    /// [`OutputError::Create`] for a link that leads to no file.
    pub fn of(path: &Path) -> Result<Self, OutputError> {
        let target = match path.canonicalize() {
            Ok(target) => target,
            // The renaming would replace the link.
            Err(_) if path.is_symlink() => {
                let source = Refusal::new(path, "is a symbolic link that leads to no file").into();
                return Err(OutputError::Create { path: path.to_owned(), source });
            }
            Err(_) => path.to_owned(),
        };
        Ok(Self {
            partial: with_end(&target, ".partial"),
            checkpoint: with_end(&target, ".checkpoint"),
            new_checkpoint: with_end(&target, ".checkpoint.new"),
            target,
        })
    }

    /// Name of a file that [`OutputFile::assemble`] makes.
    pub fn assembled(&self) -> PathBuf {
        with_end(&self.target, ASSEMBLED)
    }

    /// The name of the output with another end.
    pub fn with_end(&self, end: &str) -> PathBuf {
        with_end(&self.target, end)
    }

    /// The names beside that of the output.
    pub fn beside(&self) -> [&Path; 3] {
        [&self.partial, &self.checkpoint, &self.new_checkpoint]
    }
}

fn with_end(target: &Path, end: &str) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// A file that is replaced as a whole.
#[derive(Debug)]
pub struct OutputFile {
    target: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    /// Bytes written to the partial file.
    length: u64,
    checkpoint: CheckpointFile,
    /// Checkpoint that the job resumed from.
    resumed: Option<Progress>,
    /// True if the job resumed after its output was renamed.
    is_complete: bool,
    /// The latest recorded progress.
    passed: Option<Progress>,
    /// True if the checkpoint has some progress.
    is_saved: bool,
    saved: Instant,
}

impl OutputFile {
    /// Starts a new output or, with `resume`, continues an interrupted one if it exists.
    ///
    /// # Errors
    /// [`OutputError`] if the files cannot be made, belong to a running job, or do not match.
    pub fn open(names: &Names, format: Format, resume: bool) -> Result<Self, OutputError> {
        let Names { target, partial, checkpoint, new_checkpoint } = names.clone();
        let failed = |source| OutputError::Create { path: target.clone(), source };
        // Before the first file is made.
        for name in names.beside() {
            files::check_name(name).map_err(failed)?;
        }
        let permissions = fs::metadata(&target).ok().map(|metadata| metadata.permissions());
        let mut file = loop {
            let file = files::open_or_make(&partial, permissions.as_ref()).map_err(failed)?;
            match lock(&file, &partial) {
                Ok(true) => break file,
                Ok(false) => {}
                Err(TryLockError::WouldBlock) => return Err(OutputError::Busy(target)),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        };
        let checkpoint =
            CheckpointFile { path: checkpoint, new: new_checkpoint, permissions, format };
        checkpoint.check_headers().map_err(failed)?;
        let resumed = if resume { checkpoint.read()? } else { None };
        let length = resumed.as_ref().map_or(0, |progress| progress.length);
        let have = file.metadata().map_err(failed)?.len();
        if have > 0 && !checkpoint.path.exists() {
            let reason = "has content and no checkpoint of this command; remove or rename it";
            return Err(failed(Refusal::new(&partial, reason).into()));
        }
        let is_target = |progress: &Progress| progress.completed_as(&target);
        let is_complete = have == 0 && length > 0 && resumed.as_ref().is_some_and(is_target);
        if have < length && !is_complete {
            return Err(checkpoint
                .refuse(format!("{} has {have} bytes instead of {length}", partial.display())));
        }
        if resumed.is_none() {
            checkpoint.write(&Progress::default()).map_err(failed)?;
        }
        if !is_complete {
            file.set_len(length).map_err(failed)?;
            file.seek(SeekFrom::Start(length)).map_err(failed)?;
        }
        let is_saved = resumed.is_some();
        let file = BufWriter::with_capacity(BUFFER, file);
        let passed = resumed.clone();
        let saved = Instant::now();
        Ok(Self {
            target,
            partial,
            file,
            length,
            checkpoint,
            resumed,
            is_complete,
            passed,
            is_saved,
            saved,
        })
    }

    /// Progress at which the job continues; `None` for a new job.
    pub fn resumed(&self) -> Option<&Progress> {
        self.resumed.as_ref()
    }

    /// Returns true if the output was complete before: no line of the input is left.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Makes the error for an input that does not begin with the divided bytes, or goes on after
    /// those of a complete output.
    pub fn other_input(&self) -> OutputError {
        let lines = if self.is_complete { "consist of" } else { "begin with" };
        self.checkpoint.refuse(format!("the input does not {lines} the lines divided before"))
    }

    /// Records the progress of a job that stops early; returns true if the job can be resumed.
    pub fn suspend(&mut self) -> bool {
        self.passed.is_some() && self.save().is_ok()
    }

    /// Renames the complete output, and removes the checkpoint.
    ///
    /// # Errors
    /// [`OutputError::Finish`].
    pub fn finish(&mut self) -> Result<(), OutputError> {
        let published =
            if self.is_complete { fs::remove_file(&self.partial) } else { self.publish() };
        let finished = published.and_then(|()| {
            self.checkpoint.remove()?;
            sync_folder(&self.target)
        });
        finished.map_err(|source| OutputError::Finish {
            path: self.target.clone(),
            partial: self.partial.clone(),
            source,
        })
    }

    /// Completes the output by a file that `write` makes from the results, its arguments: first
    /// the partial file at its beginning, then the new one. A job that ends before can be resumed.
    ///
    /// # Errors
    /// [`OutputError::Finish`], and the errors of `write`.
    pub fn assemble<E: From<OutputError>>(
        &mut self,
        write: impl FnOnce(&File, &File) -> Result<(), E>,
    ) -> Result<(), E> {
        let (target, partial) = (self.target.clone(), self.partial.clone());
        let failed =
            |source| OutputError::Finish { path: target.clone(), partial: partial.clone(), source };
        let new = self.assembling().map_err(failed)?;
        write(self.file.get_ref(), &new)?;
        self.replace(&new).map_err(failed)?;
        Ok(())
    }

    /// Makes an empty file beside the results, which are on the disk from then on.
    fn assembling(&mut self) -> io::Result<File> {
        self.file.flush()?;
        self.save()?;
        self.file.seek(SeekFrom::Start(0))?;
        let new = files::open_or_make(
            &with_end(&self.target, ASSEMBLED),
            self.checkpoint.permissions.as_ref(),
        )?;
        new.set_len(0)?;
        Ok(new)
    }

    /// Renames an assembled file, and removes the results.
    fn replace(&mut self, new: &File) -> io::Result<()> {
        if let Ok(old) = fs::metadata(&self.target) {
            new.set_permissions(old.permissions())?;
        }
        new.sync_all()?;
        fs::rename(with_end(&self.target, ASSEMBLED), &self.target)?;
        sync_folder(&self.target)?;
        // A job that is killed from here on has nothing to resume.
        self.checkpoint.write(&Progress::default())?;
        fs::remove_file(&self.partial)?;
        self.checkpoint.remove()?;
        sync_folder(&self.target)
    }

    /// Removes the partial file and the checkpoint of a job that is not resumed.
    pub fn discard(&mut self) {
        // After a renaming the name is that of no file, or of another job's.
        if files::is_named(self.file.get_ref(), &self.partial).unwrap_or(false) {
            let _ = fs::remove_file(&self.partial).and_then(|()| self.checkpoint.remove());
        }
    }

    /// Renames the complete output.
    pub fn publish(&mut self) -> io::Result<()> {
        self.file.flush()?;
        let file = self.file.get_ref();
        // Windows sets the time of the last write when the file is closed.
        file.set_modified(SystemTime::now())?;
        file.sync_all()?;
        if let Some(progress) = &mut self.passed
            && self.is_saved
        {
            progress.completed = nanoseconds(&file.metadata()?);
            self.checkpoint.write(progress)?;
            sync_folder(&self.target)?;
        }
        if !files::is_named(file, &self.partial)? {
            return Err(Refusal::new(&self.partial, "was replaced by another program").into());
        }
        if let Ok(old) = fs::metadata(&self.target) {
            file.set_permissions(old.permissions())?;
        }
        fs::rename(&self.partial, &self.target)
    }

    fn save(&mut self) -> io::Result<()> {
        let Some(progress) = &self.passed else { return Ok(()) };
        self.file.get_ref().sync_data()?;
        self.checkpoint.write(progress)?;
        self.is_saved = true;
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
            completed: None,
        });
        if self.saved.elapsed() < INTERVAL { Ok(()) } else { self.save() }
    }
}

/// Progress of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    pub position: Position,
    /// Bytes of the results so far.
    length: u64,
    /// Rows without a result so far.
    pub rejected: u64,
    /// Time of the complete output, in nanoseconds since 1970.
    completed: Option<u128>,
}

impl Progress {
    /// Returns true if the file is the complete output.
    fn completed_as(&self, target: &Path) -> bool {
        fs::metadata(target).is_ok_and(|metadata| {
            let completed = self.completed.is_some() && self.completed == nanoseconds(&metadata);
            completed && metadata.len() == self.length
        })
    }
}

/// Time of the last write, since 1970.
fn nanoseconds(metadata: &Metadata) -> Option<u128> {
    let time = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(time.as_nanos())
}

/// Locks a partial file; returns false if another job has completed and renamed it.
pub fn lock(file: &File, partial: &Path) -> Result<bool, TryLockError> {
    match file.try_lock() {
        // The second is of a file system without locks.
        Ok(()) | Err(TryLockError::Error(_)) => {}
        busy => return busy.map(|()| false),
    }
    files::is_named(file, partial).map_err(TryLockError::Error)
}

/// The file with the progress of a job.
#[derive(Debug)]
struct CheckpointFile {
    path: PathBuf,
    /// Name of the next record, until it is complete.
    new: PathBuf,
    /// Those of the output.
    permissions: Option<Permissions>,
    format: Format,
}

impl CheckpointFile {
    fn text(&self, progress: &Progress) -> String {
        let Progress { position: Position { bytes, line, hash }, length, rejected, completed } =
            progress;
        let completed = completed.map_or(String::new(), |time| format!("completed {time}\n"));
        let Format { header, options } = &self.format;
        let options: String =
            options.iter().map(|(name, value)| format!("{name} {value}\n")).collect();
        format!(
            "{header}\ninput bytes {bytes}\ninput lines {line}\ninput hash {hash}\n\
             output bytes {length}\noutput errors {rejected}\n{options}{completed}"
        )
    }

    /// Replaces the record.
    fn write(&self, progress: &Progress) -> io::Result<()> {
        let mut file = files::open_or_make(&self.new, self.permissions.as_ref())?;
        file.set_len(0)?;
        file.write_all(self.text(progress).as_bytes())?;
        file.sync_data()?;
        fs::rename(&self.new, &self.path)
    }

    /// Refuses files of other programs, which a job would replace or remove.
    fn check_headers(&self) -> io::Result<()> {
        for path in [&self.path, &self.new] {
            let file = match files::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            let header = self.format.header.as_bytes();
            let mut start = Vec::new();
            file.take(header.len() as u64).read_to_end(&mut start)?;
            // A record may be cut short.
            if !header.starts_with(&start) {
                return Err(Refusal::new(path, "is no checkpoint of this command").into());
            }
        }
        Ok(())
    }

    /// Returns the recorded progress; `None` without a record, or with the first one of a job.
    fn read(&self) -> Result<Option<Progress>, OutputError> {
        let text = files::open(&self.path).and_then(io::read_to_string);
        let text = match text {
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
                hash: field("input hash")?.to_owned(),
            };
            let (length, rejected) = (number("output bytes")?, number("output errors")?);
            let completed = field("completed").map(|time| time.parse().ok());
            let completed = completed.map_or(Some(None), |time| time.map(Some))?;
            Some(Progress { position, length, rejected, completed })
        };
        let damaged = || self.refuse("the file is damaged".to_owned());
        let progress = read().ok_or_else(damaged)?;
        for (name, value) in &self.format.options {
            if field(name) != Some(value) {
                return Err(self.refuse(format!("--{name} was not the same before")));
            }
        }
        if text != self.text(&progress) {
            return Err(damaged());
        }
        Ok(Some(progress).filter(|progress| *progress != Progress::default()))
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

/// Waits until the file's name is on the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
