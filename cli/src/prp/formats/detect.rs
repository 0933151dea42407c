//! Formats of candidate files, recognized by the first line.

use super::super::lines::LineReader;
use super::abc::Abc;
use super::abc2::Abc2;
use super::abcd::Abcd;
use super::newpgen::NewPGen;
use super::plain::Plain;
use super::source::{Source, SourceError};
use super::unknowns::Unknowns;

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
