//! Common parts of the formats of candidate files.

use std::io;

use super::super::candidate::Candidate;
use super::super::lines::{LineReader, Text};

/// Candidates of a file, in order.
pub(crate) trait Source: Send {
    /// Appends the candidates of the next entry; returns false at the end of the file.
    ///
    /// # Errors
    /// [`SourceError`] if the file cannot be read on.
    fn next(&mut self, candidates: &mut Vec<Candidate>) -> Result<bool, SourceError>;

    /// Bytes read so far.
    fn bytes(&self) -> u64;
}

/// Reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    #[error("cannot read after line {line}: {source}")]
    Read { line: u64, source: io::Error },
    #[error("line {line}, column {column}: {reason}")]
    Header { line: u64, column: usize, reason: String },
}

impl SourceError {
    /// Makes an error of a header.
    pub(crate) fn header(line: u64, column: usize, reason: impl Into<String>) -> Self {
        Self::Header { line, column, reason: reason.into() }
    }
}

/// Reads the next line.
pub(crate) fn next_line(
    lines: &mut LineReader<'_>,
    last: &mut u64,
) -> Result<Option<super::super::lines::Line>, SourceError> {
    let line = lines.next().map_err(|source| SourceError::Read { line: *last, source })?;
    *last = line.as_ref().map_or(*last, |line| line.number);
    Ok(line)
}

/// Reads all complete lines of the reader's buffer on all threads, and appends their candidates by
/// `push`; returns false if only [`next_line`] reads the next line. Lines with the byte `barrier`
/// are left to it.
pub(crate) fn next_lines(
    lines: &mut LineReader<'_>,
    last: &mut u64,
    barrier: Option<u8>,
    candidates: &mut Vec<Candidate>,
    push: impl Fn(Text<'_>, &mut Vec<Candidate>) + Sync,
) -> Result<bool, SourceError> {
    let read = lines.next_buffered(barrier, candidates, push);
    let read = read.map_err(|source| SourceError::Read { line: *last, source })?;
    *last = read.unwrap_or(*last);
    Ok(read.is_some())
}
