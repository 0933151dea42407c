//! Reading rows: two unsigned integers a line.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead};
use std::mem;
use std::ops::Range;
use std::sync::OnceLock;

use gpuint::digits;
use memchr::memchr;

use crate::expression::syntax::{Expression, SyntaxError};
use crate::expression::value::{Evaluator, ValueError};
use crate::job::digits::{Radix, first_character};
use crate::job::input::InputHash;
use crate::job::output::Position;

/// Longer lines are rejected, so that a file without line ends cannot fill the memory.
pub const LONGEST_LINE: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Prefix of comment lines that start a family.
const FAMILY: &[u8] = b"# family:";

/// Maximum number of families, so that the table stays readable and the memory bounded.
const MAX_FAMILIES: usize = 1000;
/// Name shared by all later families.
const OTHER_FAMILIES: &str = "(other families)";
/// Maximum length of a family's name, in characters; longer names are cut.
const LONGEST_NAME: usize = 80;

/// Reason why a line is not a division.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error(
        "expected a dividend and a divisor, found {found} field{}",
        if *found == 1 { "" } else { "s" }
    )]
    FieldCount { found: usize },
    #[error("the {0} is negative")]
    Negative(Operand),
    #[error("the {0} has no digits after 0x")]
    NoDigits(Operand),
    #[error("the {operand} has {character:?} in column {column}, which is not a {radix} digit")]
    BadDigit { operand: Operand, radix: Radix, character: char, column: usize },
    #[error(
        "the {operand} ({digits} {radix} digits) is wider than the widest built shape, {widest} \
         bits"
    )]
    TooWide { operand: Operand, radix: Radix, digits: usize, widest: usize },
    #[error("the {operand} is no expression: {fault}")]
    Syntax { operand: Operand, fault: SyntaxError },
    #[error("the {operand} has no value: {fault}")]
    Value { operand: Operand, fault: ValueError },
    #[error("the {operand} ({bits} bits) is wider than the widest built shape, {widest} bits")]
    WideValue { operand: Operand, bits: u64, widest: usize },
    #[error("the divisor is zero")]
    ZeroDivisor,
    #[error("the line is longer than {LONGEST_LINE} bytes")]
    TooLong,
    #[error(transparent)]
    Memory(gpuint::Error),
}

/// One of the two fields of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    Dividend,
    Divisor,
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dividend => "dividend",
            Self::Divisor => "divisor",
        })
    }
}

/// A line that is neither blank nor a comment, not yet parsed.
#[derive(Debug)]
pub struct RawLine {
    /// Counted from 1.
    pub number: u64,
    /// Index into [`Reader::families`].
    pub family: usize,
    /// Bytes of input up to the end of this line since the last counted line.
    pub bytes: u64,
    text: Range<usize>,
    too_long: bool,
}

/// Lines that are divided together.
#[derive(Debug, Default)]
pub struct Chunk {
    /// The input from the end of the chunk before on, without the rest of lines that are too long.
    text: Vec<u8>,
    pub lines: Vec<RawLine>,
    /// End of the last complete line.
    pub end: Position,
}

impl Chunk {
    /// Appends the operands of a line of this chunk to `numbers`: each of at most `widest` bits,
    /// with a nonzero divisor.
    pub fn parse(
        &self,
        line: &RawLine,
        parser: &Parser,
        numbers: &mut Vec<u8>,
    ) -> Result<Operands, LineError> {
        if line.too_long {
            return Err(LineError::TooLong);
        }
        parse_line(&self.text[line.text.clone()], parser, numbers)
    }

    /// Length of the longest line, in bytes.
    fn longest(&self) -> usize {
        self.lines.iter().map(|line| line.text.len()).max().unwrap_or(0)
    }
}

/// Operands of a line.
#[derive(Debug, Clone)]
pub struct Operands {
    pub u: Number,
    pub v: Number,
}

/// A number in a list of bytes.
#[derive(Debug, Clone)]
pub struct Number {
    /// Bytes of the number, least significant first.
    pub bytes: Range<usize>,
    pub bits: u64,
}

impl Number {
    /// Writes the number to a row that holds it.
    pub fn write(&self, numbers: &[u8], row: &mut [u8]) {
        let bytes = &numbers[self.bytes.clone()];
        let (low, high) = row.split_at_mut(bytes.len());
        low.copy_from_slice(bytes);
        high.fill(0);
    }
}

/// Parses the lines of a chunk.
#[derive(Debug)]
pub struct Parser {
    /// Maximum bits of an operand.
    widest: usize,
    /// Maximum digits of a number.
    longest: usize,
    decimals: OnceLock<gpuint::Result<digits::Reader>>,
}

impl Parser {
    /// Makes a parser of the lines of this chunk for operands of at most `widest` bits.
    pub fn new(chunk: &Chunk, widest: usize) -> Self {
        Self { widest, longest: chunk.longest(), decimals: OnceLock::new() }
    }

    /// Returns the reader of decimals, made at its first use.
    fn decimals(&self) -> Result<&digits::Reader, LineError> {
        let made = self.decimals.get_or_init(|| digits::Reader::new(self.longest));
        made.as_ref().map_err(|error| LineError::Memory(error.clone()))
    }

    /// Appends the number of these digits, the first of which is not zero, to `numbers`; `None` if
    /// it has more bits than the widest row.
    fn push(
        &self,
        radix: Radix,
        digits: &[u8],
        numbers: &mut Vec<u8>,
    ) -> Result<Option<Number>, LineError> {
        let start = numbers.len();
        let max_bits = match radix {
            Radix::Decimal => digits::bits_of_digits(digits.len()),
            Radix::Hexadecimal => 4 * digits.len(),
        };
        numbers.resize(start + max_bits.div_ceil(64) * 8, 0);
        let row = &mut numbers[start..];
        match radix {
            Radix::Decimal => {
                // The row holds any number of that many digits.
                let _ = self.decimals()?.read(digits, row).map_err(LineError::Memory)?;
            }
            // The digits are checked.
            Radix::Hexadecimal => drop(digits::read_hex(digits, row)),
        }
        let bits = bit_length(row);
        Ok((bits <= self.widest as u64)
            .then_some(Number { bytes: start..start + bits.div_ceil(8) as usize, bits }))
    }
}

/// Returns the bit length of a number, given by its bytes, least significant first.
fn bit_length(bytes: &[u8]) -> u64 {
    let top = bytes.iter().rposition(|&byte| byte != 0);
    top.map_or(0, |top| 8 * (top as u64 + 1) - u64::from(bytes[top].leading_zeros()))
}

/// Bytes of input that are held at a time.
#[derive(Debug, Clone, Copy)]
pub struct ChunkLimits {
    pub rows: usize,
    pub bytes: usize,
}

/// Cuts the input into chunks of lines.
#[derive(Debug)]
pub struct Reader<R> {
    source: R,
    limits: ChunkLimits,
    /// Lines and bytes read so far.
    number: u64,
    bytes: u64,
    /// Hash of these bytes.
    hash: Option<InputHash>,
    /// Input after these bytes that was read with them.
    ahead: Vec<u8>,
    /// Bytes read since the last row.
    unclaimed: u64,
    /// Family of the next row.
    family: usize,
    indices: HashMap<String, usize>,
    /// The names of the families so far; the first has none.
    pub families: Vec<String>,
}

impl<R: BufRead> Reader<R> {
    /// Reads `source`; positions contain a hash if `hashing` is set.
    pub fn new(source: R, limits: ChunkLimits, hashing: bool) -> Self {
        Self {
            source,
            limits,
            number: 0,
            bytes: 0,
            hash: hashing.then(InputHash::default),
            ahead: Vec::new(),
            unclaimed: 0,
            family: 0,
            indices: HashMap::new(),
            families: vec![String::new()],
        }
    }

    /// Reads the next rows into `chunk`; returns true if more may follow. After an error the chunk
    /// holds the rows before it.
    pub fn read(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        chunk.lines.clear();
        let mut text = self.start(mem::take(&mut chunk.text));
        let more = self.read_rows(&mut text, &mut chunk.lines);
        chunk.text = self.end(text);
        chunk.end = self.position();
        more
    }

    /// Skips the lines before `position`; returns true if they are unchanged since it was recorded.
    pub fn skip(&mut self, position: &Position) -> io::Result<bool> {
        let mut text = self.start(Vec::new());
        while self.bytes < position.bytes && self.next_line(&mut text)?.is_some() {
            if text.next >= self.limits.bytes {
                text = self.restart(text);
            }
        }
        self.end(text);
        self.unclaimed = 0;
        Ok(self.position() == *position)
    }

    fn position(&self) -> Position {
        let hash = self.hash.as_ref().map_or_else(String::new, InputHash::text);
        Position { bytes: self.bytes, line: self.number, hash }
    }

    /// Starts a text with the input that was read ahead, in the memory of another one.
    fn start(&mut self, mut bytes: Vec<u8>) -> Text {
        bytes.clear();
        bytes.append(&mut self.ahead);
        Text { bytes, next: 0, hashed: 0 }
    }

    /// Hashes the lines of a text, and keeps the input after them; returns the lines.
    fn end(&mut self, mut text: Text) -> Vec<u8> {
        self.hash_lines(&mut text);
        self.ahead.extend_from_slice(&text.bytes[text.next..]);
        text.bytes.truncate(text.next);
        text.bytes
    }

    fn restart(&mut self, text: Text) -> Text {
        let bytes = self.end(text);
        self.start(bytes)
    }

    fn hash_lines(&mut self, text: &mut Text) {
        if let Some(hash) = &mut self.hash {
            hash.update(&text.bytes[text.hashed..text.next]);
        }
        text.hashed = text.next;
    }

    fn read_rows(&mut self, text: &mut Text, lines: &mut Vec<RawLine>) -> io::Result<bool> {
        while lines.len() < self.limits.rows {
            if text.next >= self.limits.bytes {
                if !lines.is_empty() {
                    break;
                }
                *text = self.restart(mem::take(text));
            }
            let Some(line) = self.next_line(text)? else { return Ok(false) };
            if text.bytes[line.text.clone()].trim_ascii().is_empty() && !line.too_long {
                continue;
            }
            lines.push(RawLine {
                number: self.number,
                family: self.family,
                bytes: mem::take(&mut self.unclaimed),
                text: line.text,
                too_long: line.too_long,
            });
        }
        Ok(true)
    }

    /// Returns the next line of `text`, cutting a long one; `None` at the end of the input.
    fn next_line(&mut self, text: &mut Text) -> io::Result<Option<Line>> {
        let start = text.next;
        let mut searched = start;
        let end = loop {
            let limit = text.bytes.len().min(start + LONGEST_LINE + 1);
            if let Some(at) = memchr(b'\n', &text.bytes[searched..limit]) {
                break searched + at + 1;
            }
            searched = limit;
            if limit > start + LONGEST_LINE || self.read_ahead(text)? == 0 {
                break limit;
            }
        };
        if end == start {
            return Ok(None);
        }
        let cut = end > start + LONGEST_LINE && text.bytes[end - 1] != b'\n';
        let rest = if cut { self.skip_line(text, end)? } else { 0 };
        text.next = end;
        if cut {
            text.hashed = end;
        }
        self.number += 1;
        self.bytes += (end - start) as u64 + rest;
        self.unclaimed += (end - start) as u64 + rest;

        let line = &text.bytes[start..end];
        let marked = self.number == 1 && line.starts_with(BYTE_ORDER_MARK);
        let first = if marked { BYTE_ORDER_MARK.len() } else { 0 };
        if let Some(name) = line[first..].strip_prefix(FAMILY) {
            self.family = self.family_index(name);
        }
        let comment = memchr(b'#', &line[first..]);
        let text = start + first..comment.map_or(end, |at| start + first + at);
        Ok(Some(Line { text, too_long: cut && comment.is_none() }))
    }

    /// Appends a part of the input to `text`; returns its length, 0 at the end.
    fn read_ahead(&mut self, text: &mut Text) -> io::Result<usize> {
        let part = loop {
            match self.source.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                part => break part?,
            }
        };
        let length = part.len();
        text.bytes.extend_from_slice(part);
        self.source.consume(length);
        Ok(length)
    }

    /// Removes the rest of a line, from `end` on, from the input; returns its length. After an
    /// error the hash is that of the lines before.
    fn skip_line(&mut self, text: &mut Text, end: usize) -> io::Result<u64> {
        self.hash_lines(text);
        let mut hash = self.hash.clone();
        let mut update = |bytes: &[u8]| hash.iter_mut().for_each(|hash| hash.update(bytes));
        update(&text.bytes[text.hashed..end]);
        let mut skipped = 0;
        loop {
            let newline = memchr(b'\n', &text.bytes[end..]);
            let rest = newline.map_or(text.bytes.len(), |at| end + at + 1);
            update(&text.bytes[end..rest]);
            skipped += (rest - end) as u64;
            text.bytes.drain(end..rest);
            if newline.is_some() || self.read_ahead(text)? == 0 {
                self.hash = hash;
                return Ok(skipped);
            }
        }
    }

    /// Returns the index of a family, adding a new one.
    fn family_index(&mut self, name: &[u8]) -> usize {
        let name = &name[..name.len().min(4 * LONGEST_NAME)];
        let name = String::from_utf8_lossy(name.trim_ascii());
        let mut name: String = name.chars().take(LONGEST_NAME).collect();
        if let Some(&index) = self.indices.get(&name) {
            return index;
        }
        if self.families.len() > MAX_FAMILIES {
            return MAX_FAMILIES;
        }
        if self.families.len() == MAX_FAMILIES {
            name = OTHER_FAMILIES.to_owned();
        }
        self.families.push(name.clone());
        let index = self.families.len() - 1;
        self.indices.insert(name, index);
        index
    }
}

/// Input in memory, of which the lines before `next` are read.
#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    next: usize,
    /// The bytes before it are hashed.
    hashed: usize,
}

/// A line in a text.
struct Line {
    /// Part of the line before a comment.
    text: Range<usize>,
    too_long: bool,
}

/// Appends the operands of a line without comment to `numbers`.
fn parse_line(line: &[u8], parser: &Parser, numbers: &mut Vec<u8>) -> Result<Operands, LineError> {
    let mut rest = fields(line);
    let (Some(dividend), Some(divisor), None) = (rest.next(), rest.next(), rest.next()) else {
        return Err(LineError::FieldCount { found: fields(line).count() });
    };
    let u = dividend.parse(Operand::Dividend, parser, numbers)?;
    let v = divisor.parse(Operand::Divisor, parser, numbers)?;
    if v.bits == 0 {
        return Err(LineError::ZeroDivisor);
    }
    Ok(Operands { u, v })
}

/// Splits the line at blanks.
fn fields(line: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let mut end = 0;
    std::iter::from_fn(move || {
        let start = end + line[end..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        end = first_blank(&line[start..]).map_or(line.len(), |length| start + length);
        Some(Field { text: &line[start..end], column: start + 1 })
    })
}

/// Returns the index of the first blank.
fn first_blank(text: &[u8]) -> Option<usize> {
    /// Bytes that the compiler compares at a time.
    const PART: usize = 32;
    // All blanks are among the least bytes, and digits are not.
    let has_blank = |part: &[u8]| part.iter().fold(false, |has, &byte| has | (byte <= b' '));
    let skipped = text.chunks_exact(PART).take_while(|part| !has_blank(part)).count() * PART;
    let rest = text[skipped..].iter().position(u8::is_ascii_whitespace);
    rest.map(|at| skipped + at)
}

/// A field of a line and its column, counted from 1 in bytes.
#[derive(Debug, Clone, Copy)]
struct Field<'a> {
    text: &'a [u8],
    column: usize,
}

impl Field<'_> {
    fn parse(
        self,
        operand: Operand,
        parser: &Parser,
        numbers: &mut Vec<u8>,
    ) -> Result<Number, LineError> {
        let (radix, prefix) = match self.text {
            [b'0', b'x' | b'X', ..] => (Radix::Hexadecimal, 2),
            _ => (Radix::Decimal, 0),
        };
        let digits = &self.text[prefix..];
        if let Some(at) = radix.first_other(digits) {
            if let Some(text) = self.expression() {
                return self.evaluate(text, operand, parser.widest, numbers);
            }
            if self.text.starts_with(b"-") {
                return Err(LineError::Negative(operand));
            }
            let character = first_character(&digits[at..]);
            let column = self.column + prefix + at;
            return Err(LineError::BadDigit { operand, radix, character, column });
        }
        if digits.is_empty() {
            return Err(LineError::NoDigits(operand));
        }
        let zeros = digits.iter().take_while(|&&byte| byte == b'0').count();
        let significant = &digits[zeros..];
        let widest = parser.widest;
        let too_wide = LineError::TooWide { operand, radix, digits: significant.len(), widest };
        if radix.surely_wider(significant.len(), widest) {
            return Err(too_wide);
        }
        parser.push(radix, significant, numbers)?.ok_or(too_wide)
    }

    /// Returns the text of the field if it has an operator.
    fn expression(&self) -> Option<&str> {
        let text = str::from_utf8(self.text).ok()?;
        let has_operator = text.contains(['(', ')', '*', '/', '%', '^', '!'])
            || text.get(1..).is_some_and(|rest| rest.contains(['+', '-']));
        has_operator.then_some(text)
    }

    /// Appends the value of an expression, whose intermediate values may be twice as wide.
    fn evaluate(
        &self,
        text: &str,
        operand: Operand,
        widest: usize,
        numbers: &mut Vec<u8>,
    ) -> Result<Number, LineError> {
        let limit = 2 * widest;
        let shift = self.column - 1;
        let expression = Expression::parse(text, limit)
            .map_err(|fault| LineError::Syntax { operand, fault: fault.shifted(shift) })?;
        let number = Evaluator::new(limit as u64)
            .evaluate(&expression)
            .map_err(|fault| LineError::Value { operand, fault: fault.shifted(shift) })?;
        let (bits, start) = (number.bits(), numbers.len());
        if bits > widest as u64 {
            return Err(LineError::WideValue { operand, bits, widest });
        }
        numbers.extend(number.to_bytes_le());
        Ok(Number { bytes: start..numbers.len(), bits })
    }
}
