//! Candidate files, one after the other.

use std::collections::VecDeque;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::candidate::Candidate;
use super::formats::detect;
use super::formats::source::{Source, SourceError};
use super::lines::LineReader;
use crate::job::input::{self, InputError, is_stream};

/// Reason why the input is not read on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Open(#[from] InputError),
    #[error("{name}: {source}")]
    Source { name: String, source: SourceError },
}

/// The candidates of all files.
pub(crate) struct Input<'a> {
    files: VecDeque<PathBuf>,
    stdin: Option<Box<dyn BufRead + Send + 'a>>,
    stop: &'a AtomicBool,
    /// True if there are several files, whose names are part of results.
    is_named: bool,
    current: Option<Current<'a>>,
    /// Candidates that are returned again.
    returned: Option<Vec<Candidate>>,
    /// Bytes of the files before the current one.
    passed: u64,
}

struct Current<'a> {
    source: Box<dyn Source + 'a>,
    name: Arc<str>,
}

impl<'a> Input<'a> {
    /// Reads the files; `-` is `stdin`.
    pub(crate) fn new(
        files: &[PathBuf],
        stdin: Box<dyn BufRead + Send + 'a>,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            files: files.iter().cloned().collect(),
            stdin: Some(stdin),
            stop,
            is_named: files.len() > 1,
            current: None,
            returned: None,
            passed: 0,
        }
    }

    /// Appends the candidates of the next lines; returns false at the end of the last file.
    ///
    /// # Errors
    /// [`ReadError`] for a file that cannot be opened or read, and for a header.
    pub(crate) fn next(&mut self, candidates: &mut Vec<Candidate>) -> Result<bool, ReadError> {
        if let Some(returned) = self.returned.take() {
            candidates.extend(returned);
            return Ok(true);
        }
        loop {
            let Some(current) = &mut self.current else {
                let Some(path) = self.files.pop_front() else { return Ok(false) };
                self.current = Some(self.open(&path)?);
                continue;
            };
            let start = candidates.len();
            let failed = |source| ReadError::Source { name: current.name.to_string(), source };
            if current.source.next(candidates).map_err(failed)? {
                if self.is_named {
                    let name = |candidate: &mut Candidate| {
                        candidate.file = Some(Arc::clone(&current.name));
                    };
                    candidates[start..].iter_mut().for_each(name);
                }
                return Ok(true);
            }
            self.passed += current.source.bytes();
            self.current = None;
        }
    }

    /// Makes these candidates the next ones.
    pub(crate) fn put_back(&mut self, candidates: Vec<Candidate>) {
        self.returned = Some(candidates);
    }

    /// Bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.passed + self.current.as_ref().map_or(0, |current| current.source.bytes())
    }

    fn open(&mut self, path: &Path) -> Result<Current<'a>, ReadError> {
        let name = path.display().to_string();
        let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source: Box<dyn BufRead + Send + 'a> = match is_stream(path) {
            // A second `-` is at its end.
            true => self.stdin.take().unwrap_or_else(|| Box::new(std::io::empty())),
            false => Box::new(input::open(path, self.stop)?.0),
        };
        let source = detect::open(LineReader::new(source), &file_name);
        let source = source.map_err(|source| ReadError::Source { name: name.clone(), source })?;
        Ok(Current { source, name: name.into() })
    }
}

/// Returns the bytes of all files; `None` if one is no regular file.
pub(crate) fn size(files: &[PathBuf]) -> Option<u64> {
    let length = |path: &PathBuf| {
        let metadata = path.metadata().ok()?;
        (!is_stream(path) && metadata.is_file()).then_some(metadata.len())
    };
    files.iter().map(length).sum()
}
