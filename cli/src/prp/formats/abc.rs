//! ABC files: a template, then lines with a value for each variable.
//!
//! ```text
//! ABC $a*2^$b+1
//! 5 100
//! 7 102
//! ```

use super::super::candidate::{Candidate, CandidateError};
use super::super::lines::{Line, LineReader, Text};
use super::source::{Source, SourceError, next_line, next_lines};
use super::template::Template;

/// An ABC file.
pub(crate) struct Abc<'a> {
    lines: LineReader<'a>,
    template: Template,
    last: u64,
}

impl<'a> Abc<'a> {
    pub(crate) fn new(lines: LineReader<'a>, header: &Line) -> Result<Self, SourceError> {
        let template = Template::parse(header, after_word(header), header.text.len())?;
        Ok(Self { lines, template, last: header.number })
    }
}

/// Returns the byte after the first word of a header.
pub(crate) fn after_word(header: &Line) -> usize {
    let text = header.text.trim_start();
    let word = text.find([' ', '\t']).unwrap_or(text.len());
    header.text.len() - text.len() + word
}

impl Source for Abc<'_> {
    fn next(&mut self, candidates: &mut Vec<Candidate>) -> Result<bool, SourceError> {
        let Self { lines, template, last } = self;
        let push = |line: Text<'_>, candidates: &mut Vec<Candidate>| {
            let values: Vec<&str> = line.text.split_whitespace().collect();
            let (expected, found) = (template.variables, values.len());
            match line.fault {
                Some(fault) => Template::reject(line.number, line.text, fault.into(), candidates),
                None if found == expected => template.expand(line.number, &values, candidates),
                None => {
                    let fault = CandidateError::Values { expected, found };
                    Template::reject(line.number, line.text, fault, candidates);
                }
            }
        };
        if next_lines(lines, last, None, candidates, push)? {
            return Ok(true);
        }
        let Some(line) = next_line(lines, last)? else { return Ok(false) };
        push(line.as_text(), candidates);
        Ok(true)
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes()
    }
}
