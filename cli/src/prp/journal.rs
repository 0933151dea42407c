//! The file of results, to which a job appends.
//!
//! Lines are appended in the order of the candidates and synced in intervals. A job that ends at
//! any time leaves complete lines and at most one incomplete line. A job that goes on compares the
//! lines with its candidates, so that it needs no other record.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::job::files::{self, Refusal};
use crate::job::output::lock;

/// Time between two syncs, each of which waits for the disk.
const INTERVAL: Duration = Duration::from_secs(2);

/// Reason why a file of results is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    #[error("cannot write {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("{} exists; --resume continues it", .0.display())]
    Exists(PathBuf),
    #[error("another job is writing {}", .0.display())]
    Busy(PathBuf),
    #[error("cannot resume {}: {reason}", path.display())]
    Resume { path: PathBuf, reason: String },
}

/// A file of results.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    synced: Instant,
}

/// Complete lines of a file of results.
pub(crate) struct Replay {
    path: PathBuf,
    lines: BufReader<File>,
    /// End of the lines that were returned.
    position: u64,
    number: u64,
}

impl Journal {
    /// Opens a new file, or with `resume` one of an earlier job, whose first line must be `header`.
    ///
    /// # Errors
    /// [`JournalError`] for a file that exists, of another user, in use, or of other options.
    pub(crate) fn open(
        path: &Path,
        header: &str,
        resume: bool,
    ) -> Result<(Self, Replay), JournalError> {
        let failed = |source| JournalError::Open { path: path.to_owned(), source };
        let mut file = files::open_or_make(path, None).map_err(failed)?;
        match lock(&file, path) {
            Ok(true) => {}
            Ok(false) => {
                let replaced = Refusal::new(path, "was replaced by another program");
                return Err(failed(replaced.into()));
            }
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(JournalError::Busy(path.to_owned()));
            }
            Err(std::fs::TryLockError::Error(source)) => return Err(failed(source)),
        }
        let length = file.metadata().map_err(failed)?.len();
        if length > 0 && !resume {
            return Err(JournalError::Exists(path.to_owned()));
        }
        let mut replay = Replay {
            path: path.to_owned(),
            lines: BufReader::new(file.try_clone().map_err(failed)?),
            position: 0,
            number: 0,
        };
        match replay.next().map_err(failed)? {
            Some(line) if line == header => {}
            Some(line) => {
                let reason = format!("its first line is {line:?}, not {header:?}");
                return Err(JournalError::Resume { path: path.to_owned(), reason });
            }
            None => {
                // A job that ended before its first line, or another file.
                let mut start = String::new();
                file.seek(SeekFrom::Start(0)).map_err(failed)?;
                let read = (&file).take(header.len() as u64 + 1).read_to_string(&mut start);
                if read.is_err() || !header.starts_with(&start) {
                    let reason = "it is no file of results".to_owned();
                    return Err(JournalError::Resume { path: path.to_owned(), reason });
                }
                file.set_len(0).map_err(failed)?;
                file.seek(SeekFrom::Start(0)).map_err(failed)?;
                writeln!(file, "{header}").map_err(failed)?;
                file.sync_all().map_err(failed)?;
                replay.position = header.len() as u64 + 1;
            }
        }
        Ok((Self { file, synced: Instant::now() }, replay))
    }

    /// Removes what follows `position`, the end of the lines that are kept.
    pub(crate) fn truncate(&mut self, position: u64) -> io::Result<()> {
        self.file.set_len(position)?;
        self.file.seek(SeekFrom::Start(position)).map(drop)
    }

    /// Appends lines.
    pub(crate) fn append(&mut self, lines: &str) -> io::Result<()> {
        self.file.write_all(lines.as_bytes())?;
        if self.synced.elapsed() >= INTERVAL {
            self.sync()?;
        }
        Ok(())
    }

    /// Waits until the lines are on the disk.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.synced = Instant::now();
        Ok(())
    }
}

impl Replay {
    /// Returns the next complete line.
    pub(crate) fn next(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        let length = self.lines.read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Ok(None);
        }
        self.position += length as u64;
        self.number += 1;
        Ok(Some(String::from_utf8_lossy(&line).into_owned()))
    }

    /// End of the lines that were returned.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Makes the error for a line that belongs to no candidate, or to another one.
    pub(crate) fn mismatch(&self, line: &str, expected: Option<&str>) -> JournalError {
        let number = self.number;
        let reason = match expected {
            Some(expected) => {
                format!("line {number}, {line:?}, is no result of the candidate {expected:?}")
            }
            None => format!("line {number}, {line:?}, follows the last candidate"),
        };
        JournalError::Resume { path: self.path.clone(), reason }
    }
}
