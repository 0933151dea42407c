//! Lines of a candidate file.

use std::io::{self, BufRead, Read};

use gpuint::threads;
use memchr::{memchr, memchr_iter, memchr2, memrchr};
use rayon::prelude::*;

/// Longer lines are rejected, so that a file without line ends cannot fill the memory.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Bytes of lines that one thread reads at a time.
const PIECE: usize = 1 << 15;

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

/// Parts of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'l> {
    pub(crate) number: u64,
    pub(crate) text: &'l str,
    pub(crate) comment: Option<&'l str>,
    pub(crate) fault: Option<LineFault>,
}

impl Line {
    /// The parts of the line.
    pub(crate) fn as_text(&self) -> Text<'_> {
        let Self { number, text, comment, fault } = self;
        Text { number: *number, text, comment: comment.as_deref(), fault: *fault }
    }
}

impl<'l> Text<'l> {
    /// Splits a line with its end.
    fn of(number: u64, bytes: &'l [u8]) -> Self {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.trim_end_matches(['\n', '\r']),
            Err(error) => {
                let fault = Some(LineFault::NotText { column: error.valid_up_to() + 1 });
                return Self { number, text: "", comment: None, fault };
            }
        };
        // Most lines have no comment.
        let is_comment = |&at: &usize| text.as_bytes().get(at + 1) == Some(&b'/');
        let (text, comment) = match memchr_iter(b'/', text.as_bytes()).find(is_comment) {
            Some(at) => (&text[..at], Some(&text[at + 2..])),
            None => (text, None),
        };
        Self { number, text, comment, fault: None }
    }

    /// Returns false for blank lines and comments.
    fn is_entry(&self) -> bool {
        let text = self.text.trim_start();
        self.fault.is_some() || !(text.is_empty() || text.starts_with('#'))
    }
}

/// Returns true if a line starts as one of unknowns of a prime-gap search: `m : -`.
///
/// Its bytes are the first 256 characters of Unicode: run lengths are bytes from 48 to 175.
pub(crate) fn has_unknowns(line: &[u8]) -> bool {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && line[digits..].starts_with(b" : -")
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
            // The last run length may be a `\`.
            while line.fault.is_none()
                && !has_unknowns(line.text.as_bytes())
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
            if line.as_text().is_entry() {
                return Ok(Some(line));
            }
        }
    }

    /// Reads all complete lines of the buffer on all threads, and appends to `entries` by `push`;
    /// returns the number of the last line.
    ///
    /// `None`: only [`next`](Self::next) reads the next line. It is longer than the buffer, goes on
    /// in the next one, is the first line of the file, or has the byte `barrier`.
    pub(crate) fn next_buffered<T: Send>(
        &mut self,
        barrier: Option<u8>,
        entries: &mut Vec<T>,
        push: impl Fn(Text<'_>, &mut Vec<T>) + Sync,
    ) -> io::Result<Option<u64>> {
        if self.number == 0 || self.returned.is_some() {
            return Ok(None);
        }
        let bytes = match self.source.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(None),
            bytes => bytes?,
        };
        let bytes = &bytes[..bytes.len().min(LONGEST_LINE)];
        let end = memchr2(b'\\', barrier.unwrap_or(b'\\'), bytes).unwrap_or(bytes.len());
        let Some(end) = memrchr(b'\n', &bytes[..end]) else { return Ok(None) };
        let mut rest = &bytes[..=end];
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let limit = memrchr(b'\n', &rest[..rest.len().min(PIECE)]);
            let limit = limit.or_else(|| memchr(b'\n', rest)).unwrap_or(rest.len() - 1);
            let (piece, after) = rest.split_at(limit + 1);
            pieces.push((self.number, piece));
            self.number += memchr_iter(b'\n', piece).count() as u64;
            rest = after;
        }
        let read = |&(number, piece): &(u64, &[u8])| {
            let mut entries = Vec::new();
            let mut start = 0;
            for (number, end) in (number + 1..).zip(memchr_iter(b'\n', piece)) {
                let text = Text::of(number, &piece[start..=end]);
                if text.is_entry() {
                    push(text, &mut entries);
                }
                start = end + 1;
            }
            entries
        };
        let read: Vec<Vec<T>> = threads::install(|| pieces.par_iter().map(read).collect());
        let length = end + 1;
        entries.reserve(read.iter().map(Vec::len).sum());
        read.into_iter().for_each(|piece| entries.extend(piece));
        self.source.consume(length);
        self.bytes += length as u64;
        Ok(Some(self.number))
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
        let mut too_long = None;
        if length > LONGEST_LINE && bytes.last() != Some(&b'\n') {
            self.bytes += self.source.skip_until(b'\n')? as u64;
            too_long = Some(LineFault::TooLong);
            bytes.clear();
        }
        if has_unknowns(&bytes) && !bytes.is_ascii() {
            bytes = bytes.into_iter().map(char::from).collect::<String>().into_bytes();
        }
        let Text { number, mut text, comment, fault } = Text::of(self.number, &bytes);
        if number == 1 {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        let (text, comment) = (text.to_owned(), comment.map(str::to_owned));
        Ok(Some(Line { number, text, comment, fault: too_long.or(fault) }))
    }
}
