//! Digits of one row, for programs that convert rows on their own threads, into memory that they
//! reuse. [`Batch::from_hex`](crate::Batch::from_hex) and its kin convert whole batches.

pub use crate::backend::cpu::decimal::{Reader, Writer, bits_of_digits};

/// Returns true if all bytes are decimal digits.
#[must_use]
pub fn is_decimal(digits: &[u8]) -> bool {
    // Without an early end the compiler takes many bytes at a time; nearly all texts are numbers.
    digits.iter().fold(true, |is, byte| is & byte.is_ascii_digit())
}

/// Returns true if all bytes are hexadecimal digits of either case.
#[must_use]
pub fn is_hex(digits: &[u8]) -> bool {
    const_hex::check_raw(digits)
}

/// Returns the bit length of a number, given by its hexadecimal digits without leading zeros.
#[must_use]
pub fn bits_of_hex(digits: &[u8]) -> u64 {
    let top = digits.first().map_or(0, |&digit| value_of(digit));
    4 * digits.len() as u64 - u64::from(top.leading_zeros() % 4)
}

/// Writes a number, given by its hexadecimal digits, to a row that holds it, least significant byte
/// first. Returns false if a byte is not a digit.
#[must_use]
pub fn read_hex(digits: &[u8], row: &mut [u8]) -> bool {
    let (top, pairs) = digits.as_rchunks::<2>();
    let (low, high) = row.split_at_mut(pairs.len());
    let are_digits = const_hex::decode_to_slice(pairs.as_flattened(), low).is_ok();
    low.reverse();
    high.fill(0);
    if let ([digit], Some(byte)) = (top, high.first_mut()) {
        *byte = value_of(*digit);
    }
    are_digits && top.iter().all(u8::is_ascii_hexdigit)
}

/// Appends the hexadecimal digits of a row, least significant byte first: in lower case, without
/// leading zeros and without `0x`.
pub fn push_hex(text: &mut Vec<u8>, row: &[u8]) {
    /// Bytes that are reversed at a time.
    const PART: usize = 256;
    let digit = |value: u8| value + if value < 10 { b'0' } else { b'a' - 10 };
    let zeros = row.iter().rev().take_while(|&&byte| byte == 0).count();
    let Some((&top, rest)) = row[..row.len() - zeros].split_last() else { return text.push(b'0') };
    if top >= 16 {
        text.push(digit(top >> 4));
    }
    text.push(digit(top & 15));
    let start = text.len();
    text.resize(start + 2 * rest.len(), 0);
    let mut reversed = [0; PART];
    for (part, place) in rest.rchunks(PART).zip(text[start..].chunks_mut(2 * PART)) {
        let reversed = &mut reversed[..part.len()];
        reversed.copy_from_slice(part);
        reversed.reverse();
        // The place has two digits a byte.
        let _ = const_hex::encode_to_slice(reversed, place);
    }
}

/// Returns the value of a hexadecimal digit of either case.
fn value_of(digit: u8) -> u8 {
    // Letters have bit 6, and count from 1 in the low bits.
    (digit & 0x0f) + 9 * (digit >> 6)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    #[test]
    fn hexadecimal_rows_are_read_as_they_are_written() {
        let value = BigUint::parse_bytes(b"123456789abcdef0fedcba9", 16).unwrap();
        let long = &value << 2048 | &value << 1000;
        let shifts = 0..40_u32;
        let values =
            shifts.clone().map(|by| &value >> by).chain(shifts.map(|by| &long >> (3 * by)));
        for value in values {
            let text: String = value.to_str_radix(16);
            let bytes = value.to_bytes_le();
            for zeros in [0, 3] {
                let mut row = bytes.clone();
                row.resize(bytes.len() + zeros, 0);
                let mut written = b"0x".to_vec();
                push_hex(&mut written, &row);
                assert_eq!(written, format!("0x{text}").as_bytes());
                for text in [text.clone(), text.to_uppercase()] {
                    let mut read = vec![0xff; row.len()];
                    assert!(is_hex(text.as_bytes()));
                    assert!(read_hex(text.as_bytes(), &mut read));
                    assert_eq!((read, bits_of_hex(text.as_bytes())), (row.clone(), value.bits()));
                }
            }
        }
        let mut text = Vec::new();
        push_hex(&mut text, &[0; 4]);
        push_hex(&mut text, &[]);
        assert_eq!(text, b"00");
    }

    #[test]
    fn prefix_is_no_digit() {
        for text in ["0x", "0x12", "10x12", "0X1234"] {
            assert!(!is_hex(text.as_bytes()));
            assert!(!read_hex(text.as_bytes(), &mut [0; 8]), "{text}");
        }
        assert!(is_hex(b"") && is_decimal(b"") && read_hex(b"", &mut [7; 2]));
    }

    #[test]
    fn bytes_that_are_not_digits_are_found_at_every_place() {
        for len in [1, 2, 33, 64] {
            for at in 0..len {
                for byte in [b'g', b'/', b':', b'@', b'`', b' ', 0xb1] {
                    let mut text = vec![b'7'; len];
                    assert!(is_hex(&text) && is_decimal(&text));
                    text[at] = byte;
                    assert!(!is_hex(&text) && !is_decimal(&text));
                    assert!(!read_hex(&text, &mut vec![0; len]), "{byte} at {at} of {len}");
                }
            }
        }
    }
}
