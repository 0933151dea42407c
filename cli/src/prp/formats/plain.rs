//! Files with one expression a line.

use super::super::candidate::Candidate;
use super::super::lines::{LineReader, Text};
use super::source::{Source, SourceError, next_line, next_lines};

/// Lines that are expressions.
pub(crate) struct Plain<'a> {
    lines: LineReader<'a>,
    last: u64,
}

impl<'a> Plain<'a> {
    pub(crate) fn new(lines: LineReader<'a>) -> Self {
        Self { lines, last: 0 }
    }
}

impl Source for Plain<'_> {
    fn next(&mut self, candidates: &mut Vec<Candidate>) -> Result<bool, SourceError> {
        if next_lines(&mut self.lines, &mut self.last, None, candidates, push)? {
            return Ok(true);
        }
        let Some(line) = next_line(&mut self.lines, &mut self.last)? else { return Ok(false) };
        push(line.as_text(), candidates);
        Ok(true)
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes()
    }
}

/// Appends the candidate of a line.
fn push(line: Text<'_>, candidates: &mut Vec<Candidate>) {
    let start = line.text.len() - line.text.trim_start().len();
    candidates.push(Candidate {
        column: Some(start + 1),
        fault: line.fault.map(|fault| Box::new(fault.into())),
        ..Candidate::new(line.number, line.text.trim())
    });
}
