//! Moduli as lines of digits.
//!
//! A line has one modulus: decimal digits, or hexadecimal digits after `0x` or after the `Modulus=`
//! of `openssl rsa -modulus`. Digits without a prefix have one radix for the whole document:
//! hexadecimal if the first such line has a letter, as in the files of the program fastgcd. A `#`
//! starts a comment.

use memchr::{memchr, memchr_iter};

use super::errors::KeyError;
use super::keys::{Kind, Limits, Parsed};
use super::place::Place;
use crate::job::digits::{Radix, first_character};

/// Longer lines are rejected, so that a file without line ends cannot fill the memory.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

/// Prefix of the output of `openssl rsa -noout -modulus`.
const OPENSSL: &[u8] = b"Modulus=";

/// A line of a text, counted from `first`, without its end.
pub(crate) fn numbered_lines(text: &[u8], first: u64) -> impl Iterator<Item = (u64, &[u8])> {
    let mut start = 0;
    let ends = memchr_iter(b'\n', text).chain((text.last() != Some(&b'\n')).then_some(text.len()));
    ends.filter(|_| !text.is_empty()).enumerate().map(move |(index, end)| {
        let line = &text[start..end];
        start = end + 1;
        (first + index as u64, line.strip_suffix(b"\r").unwrap_or(line))
    })
}

/// Returns a line without its comment and the blanks around it, and the column where it starts.
fn content(line: &[u8]) -> (u64, &[u8]) {
    let line = memchr(b'#', line).map_or(line, |end| &line[..end]);
    let trimmed = line.trim_ascii_start();
    ((line.len() - trimmed.len()) as u64 + 1, trimmed.trim_ascii_end())
}

/// Returns the radix of digits without a prefix: that of the first such line of the text.
pub(crate) fn radix_of(text: &[u8]) -> Option<Radix> {
    numbered_lines(text, 1).find_map(|(_, line)| {
        let (_, digits) = content(line);
        let is_prefixed = prefixed(digits).is_some();
        (!is_prefixed && !digits.is_empty()).then(|| radix_of_digits(digits))
    })
}

/// Returns hexadecimal if a letter is among the digits.
pub(crate) fn radix_of_digits(digits: &[u8]) -> Radix {
    if digits.iter().all(u8::is_ascii_hexdigit) && digits.iter().any(u8::is_ascii_alphabetic) {
        Radix::Hexadecimal
    } else {
        Radix::Decimal
    }
}

/// Returns the hexadecimal digits after a prefix, and the length of the prefix.
fn prefixed(text: &[u8]) -> Option<(usize, &[u8])> {
    match text {
        [b'0', b'x' | b'X', digits @ ..] => Some((2, digits)),
        _ => text.strip_prefix(OPENSSL).map(|digits| (OPENSSL.len(), digits)),
    }
}

/// Adds the moduli of some lines of a document, of which the first has the number `first`.
pub(crate) fn parse(
    text: &[u8],
    document: u32,
    first: u64,
    radix: Radix,
    limits: Limits,
    into: &mut Parsed,
) {
    for (line, bytes) in numbered_lines(text, first) {
        let place = Place { document, line, entry: 0 };
        if bytes.len() > LONGEST_LINE {
            into.reject(place, 0, KeyError::TooLong { unit: "line", longest: LONGEST_LINE });
            continue;
        }
        let (column, digits) = content(bytes);
        if digits.is_empty() {
            continue;
        }
        if let Err((at, reason)) = parse_modulus(digits, radix, place, limits, into) {
            into.reject(place, column + at as u64, reason);
        }
    }
}

/// Adds a modulus; an error has the index of its byte.
pub(crate) fn parse_modulus(
    text: &[u8],
    radix: Radix,
    place: Place,
    limits: Limits,
    into: &mut Parsed,
) -> Result<(), (usize, KeyError)> {
    let (radix, (prefix, digits)) = match prefixed(text) {
        Some(found) => (Radix::Hexadecimal, found),
        None if text.starts_with(b"-") => return Err((0, KeyError::Negative)),
        None => (radix, (0, text)),
    };
    if digits.is_empty() {
        return Err((prefix, KeyError::NoDigits));
    }
    if let Some(at) = radix.first_other(digits) {
        let reason = match digits[at] {
            byte if byte.is_ascii_whitespace() => KeyError::FurtherField,
            _ => KeyError::BadDigit { radix, character: first_character(&digits[at..]) },
        };
        return Err((prefix + at, reason));
    }
    let zeros = digits.iter().take_while(|&&byte| byte == b'0').count();
    let significant = &digits[zeros..];
    if radix.surely_wider(significant.len(), limits.widest) {
        return Err((prefix, KeyError::TooWide { widest: limits.widest }));
    }
    let pushed = match radix {
        Radix::Hexadecimal => into.push_hex(significant, Kind::Number, place, limits),
        Radix::Decimal => {
            let number = radix.parse(significant).unwrap_or_default();
            into.push_number(&number, Kind::Number, place, limits)
        }
    };
    pushed.map_err(|reason| (prefix, reason))
}
