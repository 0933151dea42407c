//! Reading rows: two unsigned integers a line.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::mem;
use std::ops::Range;
use std::sync::OnceLock;

use gpuint::digits;
use memchr::memchr;
use sha2::{Digest, Sha256};

use crate::expression::syntax::{Expression, SyntaxError};
use crate::expression::value::{Evaluator, ValueError};
use crate::job::digits::{Radix, first_character, hex_text};
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
    hash: Option<Sha256>,
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
            hash: hashing.then(Sha256::new),
            unclaimed: 0,
            family: 0,
            indices: HashMap::new(),
            families: vec![String::new()],
        }
    }

    /// Reads the next rows into `chunk`; returns true if more may follow. After an error the chunk
    /// holds the rows before it.
    pub fn read(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        chunk.text.clear();
        chunk.lines.clear();
        let more = self.read_rows(chunk);
        chunk.end = self.position();
        more
    }

    /// Skips the lines before `position`; returns true if they are unchanged since it was recorded.
    pub fn skip(&mut self, position: &Position) -> io::Result<bool> {
        let mut text = Vec::new();
        while self.bytes < position.bytes && self.next_line(&mut text)?.is_some() {
            text.clear();
        }
        self.unclaimed = 0;
        Ok(self.position() == *position)
    }

    fn position(&self) -> Position {
        let hash = self.hash.clone().map_or_else(String::new, |hash| hex_text(&hash.finalize()));
        Position { bytes: self.bytes, line: self.number, hash }
    }

    fn read_rows(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        while chunk.lines.len() < self.limits.rows && chunk.text.len() < self.limits.bytes {
            let start = chunk.text.len();
            let Some(line) = self.next_line(&mut chunk.text)? else { return Ok(false) };
            let text = start + line.text.start..start + line.text.end;
            if chunk.text[text.clone()].trim_ascii().is_empty() && !line.too_long {
                chunk.text.truncate(start);
                continue;
            }
            chunk.text.truncate(text.end);
            chunk.lines.push(RawLine {
                number: self.number,
                family: self.family,
                bytes: mem::take(&mut self.unclaimed),
                text,
                too_long: line.too_long,
            });
        }
        Ok(true)
    }

    /// Appends the next line to `text`, cutting a long one; returns `None` at the end of the input.
    fn next_line(&mut self, text: &mut Vec<u8>) -> io::Result<Option<Line>> {
        let start = text.len();
        let limit = LONGEST_LINE as u64 + 1;
        let length = (&mut self.source).take(limit).read_until(b'\n', text)?;
        if length == 0 {
            return Ok(None);
        }
        let line = &text[start..];
        let mut hash = self.hash.clone();
        let mut hash_also = |bytes: &[u8]| hash.iter_mut().for_each(|hash| hash.update(bytes));
        hash_also(line);
        let cut = length > LONGEST_LINE && line.last() != Some(&b'\n');
        let rest = if cut { skip_line(&mut self.source, hash_also)? } else { 0 };
        // Updated only here: after an error the position is the end of the line before.
        self.hash = hash;
        self.number += 1;
        self.bytes += length as u64 + rest;
        self.unclaimed += length as u64 + rest;

        let marked = self.number == 1 && line.starts_with(BYTE_ORDER_MARK);
        let first = if marked { BYTE_ORDER_MARK.len() } else { 0 };
        if let Some(name) = line[first..].strip_prefix(FAMILY) {
            self.family = self.family_index(name);
        }
        let comment = memchr(b'#', &line[first..]);
        let end = comment.map_or(line.len(), |at| first + at);
        Ok(Some(Line { text: first..end, too_long: cut && comment.is_none() }))
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

/// A line in a text.
struct Line {
    /// Part of the line before a comment.
    text: Range<usize>,
    too_long: bool,
}

/// Skips the rest of a line, after passing it to `see`; returns its length.
fn skip_line(source: &mut impl BufRead, mut see: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = match source.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let length = end.map_or(buffer.len(), |at| at + 1);
        see(&buffer[..length]);
        source.consume(length);
        skipped += length as u64;
        if end.is_some() || length == 0 {
            return Ok(skipped);
        }
    }
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
