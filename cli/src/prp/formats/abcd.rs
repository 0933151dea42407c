//! ABCD files: a template with the first values, then differences to the values before.
//!
//! ```text
//! ABCD $a*2^$b+1 [5 100]
//! 2 0
//! 4 1
//! ```
//!
//! The header is a candidate itself, 5 2^100 + 1; 7 2^100 + 1 and 11 2^101 + 1 follow. Further
//! headers may follow, each with new values.

use super::super::candidate::{Candidate, CandidateError};
use super::super::lines::{Line, LineReader};
use super::abc::after_word;
use super::source::{Source, SourceError, next_line};
use super::template::Template;

/// An ABCD file.
pub(crate) struct Abcd<'a> {
    lines: LineReader<'a>,
    template: Template,
    values: Vec<i64>,
    /// True until the candidate of the header was returned.
    is_first_left: bool,
    last: u64,
}

impl<'a> Abcd<'a> {
    pub(crate) fn new(lines: LineReader<'a>, header: &Line) -> Result<Self, SourceError> {
        let (template, values) = parse_header(header)?;
        Ok(Self { lines, template, values, is_first_left: true, last: header.number })
    }

    fn expand(&self, line: u64, candidates: &mut Vec<Candidate>) {
        let values: Vec<String> = self.values.iter().map(i64::to_string).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        self.template.expand(line, &values, candidates);
    }
}

fn parse_header(header: &Line) -> Result<(Template, Vec<i64>), SourceError> {
    let fail = |at: usize, reason: String| SourceError::header(header.number, at + 1, reason);
    let text = &header.text;
    let start = after_word(header);
    let missing = || fail(text.len(), "expected the first values in brackets, [...]".to_owned());
    let open = text.find('[').ok_or_else(missing)?;
    let close = open + text[open..].find(']').ok_or_else(missing)?;
    if !text[close + 1..].trim().is_empty() {
        return Err(fail(close + 1, "expected the end of the header after ]".to_owned()));
    }
    let template = Template::parse(header, start, open)?;
    let inner = &text[open + 1..close];
    let values = numbers(inner).map_err(|fault| fail(open + 1, fault.to_string()))?;
    if values.len() != template.variables {
        let (expected, found) = (template.variables, values.len());
        let fault = CandidateError::Values { expected, found };
        return Err(fail(open, fault.to_string()));
    }
    Ok((template, values))
}

/// Parses whole numbers between blanks.
fn numbers(text: &str) -> Result<Vec<i64>, CandidateError> {
    let parse = |word: &str| {
        let column = word.as_ptr() as usize - text.as_ptr() as usize + 1;
        word.parse().map_err(|_| CandidateError::Number { column, text: word.to_owned() })
    };
    text.split_whitespace().map(parse).collect()
}

impl Source for Abcd<'_> {
    fn next(&mut self, candidates: &mut Vec<Candidate>) -> Result<bool, SourceError> {
        if std::mem::take(&mut self.is_first_left) {
            self.expand(self.last, candidates);
            return Ok(true);
        }
        let Some(line) = next_line(&mut self.lines, &mut self.last)? else { return Ok(false) };
        if let Some(fault) = line.fault {
            // The values of all later lines would be wrong.
            return Err(SourceError::header(line.number, 1, fault.to_string()));
        }
        if line.text.trim_start().starts_with(|c: char| c.is_ascii_alphabetic()) {
            let word = line.text.split_whitespace().next().unwrap_or("");
            if !word.eq_ignore_ascii_case("ABCD") {
                let reason = format!("expected differences or a header ABCD, found {word:?}");
                return Err(SourceError::header(line.number, 1, reason));
            }
            (self.template, self.values) = parse_header(&line)?;
            self.expand(line.number, candidates);
            return Ok(true);
        }
        let fail = |fault: CandidateError| SourceError::header(line.number, 1, fault.to_string());
        let differences = numbers(&line.text).map_err(fail)?;
        let (expected, found) = (self.values.len(), differences.len());
        if expected != found {
            return Err(fail(CandidateError::Values { expected, found }));
        }
        for (value, difference) in self.values.iter_mut().zip(differences) {
            *value = value.checked_add(difference).ok_or_else(|| fail(CandidateError::Overflow))?;
        }
        self.expand(line.number, candidates);
        Ok(true)
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes()
    }
}
