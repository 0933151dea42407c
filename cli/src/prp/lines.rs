//! Lines of a candidate file.

use std::io::{self, BufRead, Read};

/// Longer lines are rejected, so that a file without line ends cannot fill the memory.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A line that is neither blank nor a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Counted from 1. Lines that end with `\` go on in the next one: the number of the first.
    pub(crate) number: u64,
    /// Text before a comment, with the blanks at its start.
    pub(crate) text: String,
    /// Text after `//`.
    pub(crate) comment: Option<String>,
    pub(crate) fault: Option<LineFault>,
}

/// Reason why a line is not read as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LineFault {
    #[error("the line is longer than {LONGEST_LINE} bytes")]
    TooLong,
    #[error("the line is not UTF-8 text from column {column} on")]
    NotText { column: usize },
}

/// Reads the lines of a file.
pub(crate) struct LineReader<'a> {
    source: Box<dyn BufRead + Send + 'a>,
    number: u64,
    /// Bytes read so far.
    bytes: u64,
    /// A line that is read again.
    returned: Option<Line>,
}

impl<'a> LineReader<'a> {
    pub(crate) fn new(source: Box<dyn BufRead + Send + 'a>) -> Self {
        Self { source, number: 0, bytes: 0, returned: None }
    }

    /// Bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes a line the next one.
    pub(crate) fn put_back(&mut self, line: Line) {
        self.returned = Some(line);
    }

    /// Reads the next line that has a text; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line>> {
        if self.returned.is_some() {
            return Ok(self.returned.take());
        }
        loop {
            let Some(mut line) = self.read()? else { return Ok(None) };
            while line.fault.is_none()
                && let Some(start) = line.text.trim_end().strip_suffix('\\')
            {
                let length = start.len();
                line.text.truncate(length);
                let Some(next) = self.read()? else { break };
                line.text += &next.text;
                line.comment = next.comment;
                line.fault = next.fault;
                if line.text.len() > LONGEST_LINE {
                    line.fault = Some(LineFault::TooLong);
                }
            }
            let is_comment = line.text.trim_start().starts_with('#');
            if line.fault.is_some() || !(line.text.trim().is_empty() || is_comment) {
                return Ok(Some(line));
            }
        }
    }

    fn read(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let limit = LONGEST_LINE as u64 + 1;
        let length = (&mut self.source).take(limit).read_until(b'\n', &mut bytes)?;
        if length == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes += length as u64;
        let mut fault = None;
        if length > LONGEST_LINE && bytes.last() != Some(&b'\n') {
            self.bytes += self.source.skip_until(b'\n')? as u64;
            fault = Some(LineFault::TooLong);
            bytes.clear();
        }
        let text = String::from_utf8(bytes).unwrap_or_else(|error| {
            fault = Some(LineFault::NotText { column: error.utf8_error().valid_up_to() + 1 });
            String::new()
        });
        let mut text = text.trim_end_matches(['\n', '\r']);
        if self.number == 1 {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        let (text, comment) = match text.split_once("//") {
            Some((text, comment)) => (text, Some(comment.to_owned())),
            None => (text, None),
        };
        Ok(Some(Line { number: self.number, text: text.to_owned(), comment, fault }))
    }
}
