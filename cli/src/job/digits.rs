//! Digits of numbers: their notations, their parsing, and hexadecimal text.

use std::fmt;

use gpuint::digits::{Reader, bits_of_digits, is_decimal, is_hex};
use num_bigint::BigUint;

/// Notation of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Radix {
    Decimal,
    Hexadecimal,
}

impl Radix {
    /// Returns the index of the first byte that is not a digit.
    pub fn first_other(self, digits: &[u8]) -> Option<usize> {
        match self {
            Self::Decimal if is_decimal(digits) => None,
            Self::Decimal => digits.iter().position(|byte| !byte.is_ascii_digit()),
            Self::Hexadecimal if is_hex(digits) => None,
            Self::Hexadecimal => digits.iter().position(|byte| !byte.is_ascii_hexdigit()),
        }
    }

    /// Returns the number with these digits.
    pub fn parse(self, digits: &[u8]) -> Option<BigUint> {
        match self {
            Self::Decimal => parse_decimal(digits),
            Self::Hexadecimal => parse_hex(digits),
        }
    }

    /// Returns true if every number with this many digits and a nonzero first digit has more than
    /// `widest` bits. Such numbers are not parsed.
    pub fn surely_wider(self, digits: usize, widest: usize) -> bool {
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

/// Appends a number as `0x...`.
pub fn push_hex(text: &mut Vec<u8>, number: &BigUint) {
    let mut words = number.iter_u64_digits().rev();
    // The first word has no leading zeros.
    let first = format!("{:#x}", words.next().unwrap_or(0));
    text.extend_from_slice(first.as_bytes());
    let bytes: Vec<u8> = words.flat_map(u64::to_be_bytes).collect();
    let start = text.len();
    text.resize(start + 2 * bytes.len(), 0);
    // The length fits.
    let _ = const_hex::encode_to_slice(bytes, &mut text[start..]);
}

/// Returns the number with these decimal digits.
fn parse_decimal(digits: &[u8]) -> Option<BigUint> {
    if !is_decimal(digits) {
        return None;
    }
    // The bytes hold any number of that many digits.
    let mut bytes = vec![0; bits_of_digits(digits.len()).div_ceil(8)];
    let read = Reader::new(digits.len()).and_then(|reader| reader.read(digits, &mut bytes));
    match read {
        Ok(_) => Some(BigUint::from_bytes_le(&bytes)),
        // The memory of its powers of ten is missing.
        Err(_) => BigUint::parse_bytes(digits, 10),
    }
}

/// Returns the number with these hexadecimal digits.
fn parse_hex(digits: &[u8]) -> Option<BigUint> {
    const WORD: usize = 8;
    // The first word has fewer digits.
    let (head, tail) = digits.split_at(digits.len() % WORD);
    let mut first = [b'0'; WORD];
    first[WORD - head.len()..].copy_from_slice(head);
    let mut bytes = vec![0; (WORD + tail.len()) / 2];
    let (top, rest) = bytes.split_at_mut(WORD / 2);
    const_hex::decode_to_slice(first, top).ok()?;
    const_hex::decode_to_slice(tail, rest).ok()?;
    let (words, _) = bytes.as_chunks();
    Some(BigUint::new(words.iter().rev().map(|&word| u32::from_be_bytes(word)).collect()))
}

/// Returns the first character of these bytes; U+FFFD if they are not UTF-8.
pub fn first_character(bytes: &[u8]) -> char {
    let start = &bytes[..bytes.len().min(4)];
    String::from_utf8_lossy(start).chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
}
