//! Reading rows: two unsigned integers a line.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::mem;
use std::ops::Range;

use num_bigint::BigUint;
use num_traits::Zero;

/// Longer lines are refused, so that a file without line ends cannot fill the memory.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Comment lines that start a family begin with this.
const FAMILY: &[u8] = b"# family:";

/// Why a line is not a division.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LineError {
    #[error("expected a dividend and a divisor, found {found} field{}", if *found == 1 { "" } else { "s" })]
    FieldCount { found: usize },
    #[error("the {0} is negative")]
    Negative(Operand),
    #[error("the {0} has no digits after 0x")]
    NoDigits(Operand),
    #[error("the {operand} has {character:?} in column {column}, which is not a {radix} digit")]
    BadDigit { operand: Operand, radix: Radix, character: char, column: usize },
    #[error(
        "the {operand} ({digits} {radix} digits) is wider than the widest built shape, {widest} bits"
    )]
    TooWide { operand: Operand, radix: Radix, digits: usize, widest: usize },
    #[error("the divisor is zero")]
    ZeroDivisor,
    #[error("the line is longer than {LONGEST_LINE} bytes")]
    TooLong,
}

/// Which of the two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
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

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Radix {
    Decimal,
    Hexadecimal,
}

impl Radix {
    const fn value(self) -> u32 {
        match self {
            Self::Decimal => 10,
            Self::Hexadecimal => 16,
        }
    }

    /// Whether every number of so many digits, the first of them not zero, has more than `widest`
    /// bits: parsing decimals takes time quadratic in their length, so the hopeless are not parsed.
    fn surely_wider(self, digits: usize, widest: usize) -> bool {
        let bits_per_three = match self {
            Self::Decimal => 9, // 10^3 > 2^9
            Self::Hexadecimal => 12,
        };
        digits.saturating_sub(1) / 3 * bits_per_three >= widest
    }
}

impl fmt::Display for Radix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Decimal => "decimal",
            Self::Hexadecimal => "hexadecimal",
        })
    }
}

/// A line that is neither blank nor a comment, not yet parsed.
#[derive(Debug)]
pub(crate) struct RawLine {
    /// Counted from 1.
    pub(crate) number: u64,
    /// Index into [`Reader::families`].
    pub(crate) family: usize,
    /// Bytes of input up to and with this line that no earlier line accounts for.
    pub(crate) bytes: u64,
    text: Range<usize>,
    too_long: bool,
}

/// Lines that are divided together.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    text: Vec<u8>,
    pub(crate) lines: Vec<RawLine>,
}

impl Chunk {
    /// The operands of a line of this chunk, each of at most `widest` bits, the divisor not zero.
    pub(crate) fn parse(
        &self,
        line: &RawLine,
        widest: usize,
    ) -> Result<(BigUint, BigUint), LineError> {
        if line.too_long {
            return Err(LineError::TooLong);
        }
        parse_line(&self.text[line.text.clone()], widest)
    }
}

/// How much of the input is held at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkLimits {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
}

/// Cuts the input into chunks of lines.
#[derive(Debug)]
pub(crate) struct Reader<R> {
    source: R,
    limits: ChunkLimits,
    number: u64,
    /// Bytes that were read since the last row.
    unclaimed: u64,
    /// The names of the families so far; the first has none.
    pub(crate) families: Vec<String>,
}

impl<R: BufRead> Reader<R> {
    pub(crate) fn new(source: R, limits: ChunkLimits) -> Self {
        Self { source, limits, number: 0, unclaimed: 0, families: vec![String::new()] }
    }

    /// Reads the next rows into `chunk`; says whether more may follow. After an error the chunk
    /// holds the rows that were read before it.
    pub(crate) fn read(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        chunk.text.clear();
        chunk.lines.clear();
        while chunk.lines.len() < self.limits.rows && chunk.text.len() < self.limits.bytes {
            let mut start = chunk.text.len();
            let length = (&mut self.source)
                .take(LONGEST_LINE as u64 + 1)
                .read_until(b'\n', &mut chunk.text)?;
            if length == 0 {
                return Ok(false);
            }
            self.number += 1;
            self.unclaimed += length as u64;
            let cut = length > LONGEST_LINE && chunk.text.last() != Some(&b'\n');
            if cut {
                self.unclaimed += self.source.skip_until(b'\n')? as u64;
            }

            if self.number == 1 && chunk.text.starts_with(BYTE_ORDER_MARK) {
                start = BYTE_ORDER_MARK.len();
            }
            let line = &chunk.text[start..];
            if let Some(name) = line.strip_prefix(FAMILY) {
                let name = String::from_utf8_lossy(name.trim_ascii()).into_owned();
                self.families.push(name);
            }
            let comment = line.iter().position(|&byte| byte == b'#');
            let end = start + comment.unwrap_or(line.len());
            let too_long = cut && comment.is_none();
            if chunk.text[start..end].trim_ascii().is_empty() && !too_long {
                chunk.text.truncate(start);
                continue;
            }
            chunk.text.truncate(end);
            chunk.lines.push(RawLine {
                number: self.number,
                family: self.families.len() - 1,
                bytes: mem::take(&mut self.unclaimed),
                text: start..end,
                too_long,
            });
        }
        Ok(true)
    }
}

/// The operands of a line without comment.
fn parse_line(line: &[u8], widest: usize) -> Result<(BigUint, BigUint), LineError> {
    let fields: Vec<Field<'_>> = fields(line).collect();
    let [dividend, divisor] = fields[..] else {
        return Err(LineError::FieldCount { found: fields.len() });
    };
    let u = dividend.parse(Operand::Dividend, widest)?;
    let v = divisor.parse(Operand::Divisor, widest)?;
    if v.is_zero() {
        return Err(LineError::ZeroDivisor);
    }
    Ok((u, v))
}

/// The parts of a line between blanks.
fn fields(line: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let mut column = 1;
    line.split(u8::is_ascii_whitespace)
        .map(move |text| {
            let field = Field { text, column };
            column += text.len() + 1;
            field
        })
        .filter(|field| !field.text.is_empty())
}

/// A part of a line and the column it starts in, counted from 1 in bytes.
#[derive(Debug, Clone, Copy)]
struct Field<'a> {
    text: &'a [u8],
    column: usize,
}

impl Field<'_> {
    fn parse(self, operand: Operand, widest: usize) -> Result<BigUint, LineError> {
        let (radix, prefix) = match self.text {
            [b'-', ..] => return Err(LineError::Negative(operand)),
            [b'0', b'x' | b'X', ..] => (Radix::Hexadecimal, 2),
            _ => (Radix::Decimal, 0),
        };
        let digits = &self.text[prefix..];
        if digits.is_empty() {
            return Err(LineError::NoDigits(operand));
        }
        let bad_digit = |at: usize| LineError::BadDigit {
            operand,
            radix,
            character: first_character(&digits[at..]),
            column: self.column + prefix + at,
        };
        let is_digit = |&byte: &u8| char::from(byte).is_digit(radix.value());
        if let Some(at) = digits.iter().position(|byte| !is_digit(byte)) {
            return Err(bad_digit(at));
        }
        let zeros = digits.iter().take_while(|&&byte| byte == b'0').count();
        let significant = &digits[zeros..];
        if significant.is_empty() {
            return Ok(BigUint::ZERO);
        }
        let too_wide = LineError::TooWide { operand, radix, digits: significant.len(), widest };
        if radix.surely_wider(significant.len(), widest) {
            return Err(too_wide);
        }
        let number = BigUint::parse_bytes(significant, radix.value()).ok_or(bad_digit(zeros))?;
        if number.bits() > widest as u64 {
            return Err(too_wide);
        }
        Ok(number)
    }
}

/// The character that these bytes start with; U+FFFD where they are not UTF-8.
fn first_character(bytes: &[u8]) -> char {
    let start = &bytes[..bytes.len().min(4)];
    String::from_utf8_lossy(start).chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
}
