//! Formats of candidate files, recognized by the first line.

use std::io;

use super::super::candidate::Candidate;
use super::super::lines::LineReader;
use super::abc::Abc;
use super::abc2::Abc2;
use super::abcd::Abcd;
use super::newpgen::NewPGen;
use super::plain::Plain;
use super::unknowns::Unknowns;

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

/// Recognizes the format of a file; `name` is its name without folders.
///
/// # Errors
/// [`SourceError`] if the first line names a format and is not understood.
pub(crate) fn open<'a>(
    mut lines: LineReader<'a>,
    name: &str,
) -> Result<Box<dyn Source + 'a>, SourceError> {
    let failed = |source| SourceError::Read { line: 0, source };
    let Some(first) = lines.next().map_err(failed)? else {
        return Ok(Box::new(Plain::new(lines)));
    };
    let text = first.text.trim_start();
    let column = first.text.len() - text.len() + 1;
    let word = text.split([' ', '\t']).next().unwrap_or("").to_ascii_uppercase();
    match &word[..] {
        "ABC" => Ok(Box::new(Abc::new(lines, &first)?)),
        "ABC2" => Ok(Box::new(Abc2::new(lines, &first)?)),
        "ABCD" => Ok(Box::new(Abcd::new(lines, &first)?)),
        _ if text.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            let reason = format!(
                "unknown format {:?}; expected ABC, ABC2, ABCD, a header of NewPGen, or \
                 expressions",
                text.split([' ', '\t']).next().unwrap_or("")
            );
            Err(SourceError::header(first.number, column, reason))
        }
        _ if NewPGen::is_header(text) => Ok(Box::new(NewPGen::new(lines, &first)?)),
        _ if Unknowns::is_entry(text) => Ok(Box::new(Unknowns::new(lines, first, name)?)),
        _ => {
            lines.put_back(first);
            Ok(Box::new(Plain::new(lines)))
        }
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
