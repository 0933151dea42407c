//! Rows as text: decimal and hexadecimal.

use gpuint_catalogue::Shape;

use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::{DynBatch, write_checked};
use crate::error::{Error, Result};
use crate::interrupt::on_all_cores;
use crate::ops::decimal;
use crate::shape::Kernels;

/// # Text
impl DynBatch {
    /// Parses decimal numbers, one a row.
    ///
    /// # Errors
    /// [`Parse`](Error::Parse) with the lowest row that is not a number and the first byte that is
    /// not a digit, and as [`from_biguints`](Self::from_biguints).
    pub fn from_decimal(device: &Device, shape: Shape, rows: &[&str]) -> Result<Self> {
        decimal::from_decimal(device, shape, &all_digits(rows, 10)?)
    }

    /// Parses hexadecimal numbers, one a row, in digits of either case, with or without `0x`.
    ///
    /// # Errors
    /// As [`from_decimal`](Self::from_decimal).
    pub fn from_hex(device: &Device, shape: Shape, rows: &[&str]) -> Result<Self> {
        let digits = all_digits(rows, 16)?;
        device.check_shape(shape)?;
        Self::from_parts(device, shape, rows.len(), |first, part| {
            write_checked(part, shape.bytes(), first, |row, bytes| {
                let digits = digits[row];
                // The first digit is not zero.
                let top = digits.first().map_or(0, |&digit| value_of(digit));
                let bits = 4 * digits.len() as u64 - u64::from(top.leading_zeros() % 4);
                if bits > shape.bits as u64 {
                    return Err(Error::TooWide { row, bits, width: shape.bits });
                }
                read_hex(digits, bytes);
                Ok(())
            })
        })
    }

    /// Returns the values in decimal.
    ///
    /// # Errors
    /// As [`Batch::to_decimal`].
    pub fn to_decimal(&self) -> Result<Vec<String>> {
        decimal::to_decimal(self)
    }

    /// Returns the values in hexadecimal, in lower case without `0x`.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_hex(&self) -> Result<Vec<String>> {
        let bytes = self.to_le_bytes()?;
        let row_bytes = self.shape().bytes();
        on_all_cores(self.len(), 2 * row_bytes, |row| {
            Ok(written_hex(&bytes[row * row_bytes..][..row_bytes]))
        })
    }
}

/// # Text
impl<T: Kernels> Batch<T> {
    /// Parses decimal numbers, one a row.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Error, GpuUint};
    ///
    /// let device = Device::cpu();
    /// let batch = Batch::<GpuUint<1024>>::from_decimal(&device, &["007", "123456789"])?;
    /// assert_eq!(batch.to_decimal()?, ["7", "123456789"]);
    /// assert_eq!(batch.to_hex()?, ["7", "75bcd15"]);
    /// let error = Batch::<GpuUint<1024>>::from_decimal(&device, &["1", "2x"]).unwrap_err();
    /// assert_eq!(error, Error::Parse { row: 1, column: 1, base: 10 });
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Parse`](Error::Parse) with the lowest row that is not a number and the first byte that is
    /// not a digit, [`TooWide`](Error::TooWide), [`OutOfMemory`](Error::OutOfMemory),
    /// [`Compile`](Error::Compile), [`Driver`](Error::Driver).
    pub fn from_decimal(device: &Device, rows: &[&str]) -> Result<Self> {
        DynBatch::from_decimal(&T::on(device), T::SHAPE, rows).map(Self::typed)
    }

    /// Parses hexadecimal numbers, one a row, in digits of either case, with or without `0x`.
    ///
    /// # Errors
    /// As [`from_decimal`](Self::from_decimal).
    pub fn from_hex(device: &Device, rows: &[&str]) -> Result<Self> {
        DynBatch::from_hex(&T::on(device), T::SHAPE, rows).map(Self::typed)
    }

    /// Returns the values in decimal. The device splits wide rows into parts of some digits, which
    /// the host writes; the host alone converts short rows and few rows, and, with a warning in the
    /// log, rows of a width at which the device lacks a kernel.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Compile`](Error::Compile), [`Driver`](Error::Driver).
    pub fn to_decimal(&self) -> Result<Vec<String>> {
        self.as_dyn().to_decimal()
    }

    /// Returns the values in hexadecimal, in lower case without `0x`.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_hex(&self) -> Result<Vec<String>> {
        self.as_dyn().to_hex()
    }
}

/// Returns the digits of numbers without leading zeros. The error is that of the lowest row.
fn all_digits<'a>(rows: &[&'a str], base: u32) -> Result<Vec<&'a [u8]>> {
    on_all_cores(rows.len(), 0, |row| digits(row, rows[row], base))
}

/// Returns the digits of a number without leading zeros.
fn digits(row: usize, text: &str, base: u32) -> Result<&[u8]> {
    let digits = match base {
        16 => text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text),
        _ => text,
    };
    let before = text.len() - digits.len();
    let is_digit = |byte: u8| match base {
        10 => byte.is_ascii_digit(),
        _ => byte.is_ascii_hexdigit(),
    };
    // Without an early end the compiler takes many bytes at a time; nearly all texts are numbers.
    let is_number = digits.bytes().fold(true, |is, byte| is & is_digit(byte));
    let other = if is_number { None } else { digits.bytes().position(|byte| !is_digit(byte)) };
    let column = match other {
        None if digits.is_empty() => Some(0),
        other => other,
    };
    match column {
        Some(column) => Err(Error::Parse { row, column: before + column, base }),
        None => Ok(digits.trim_start_matches('0').as_bytes()),
    }
}

/// Returns the value of a hexadecimal digit of either case.
fn value_of(digit: u8) -> u8 {
    // Letters have bit 6, and count from 1 in the low bits.
    (digit & 0x0f) + 9 * (digit >> 6)
}

/// Writes a number, given by its hexadecimal digits, to a row that holds it, least significant byte
/// first.
fn read_hex(digits: &[u8], row: &mut [u8]) {
    let (top, pairs) = digits.as_rchunks::<2>();
    let low = pairs.len();
    for (byte, [high, low]) in row.iter_mut().zip(pairs.iter().rev()) {
        *byte = value_of(*high) << 4 | value_of(*low);
    }
    row[low..].fill(0);
    if let ([digit], Some(byte)) = (top, row.get_mut(low)) {
        *byte = value_of(*digit);
    }
}

/// Returns the hexadecimal digits of a row, least significant byte first, without leading zeros.
fn written_hex(row: &[u8]) -> String {
    let digit = |value: u8| value + if value < 10 { b'0' } else { b'a' - 10 };
    let zeros = row.iter().rev().take_while(|&&byte| byte == 0).count();
    let bytes = row[..row.len() - zeros].iter().rev();
    let mut text: Vec<u8> = bytes.flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    match text.first() {
        None => text.push(b'0'),
        Some(b'0') => drop(text.remove(0)),
        Some(_) => {}
    }
    // Digits are ASCII.
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    #[test]
    fn hexadecimal_rows_are_read_as_they_are_written() {
        let value = BigUint::parse_bytes(b"123456789abcdef0fedcba9", 16).unwrap();
        for shift in 0..40 {
            let value: BigUint = &value >> shift;
            let text = value.to_str_radix(16);
            let mut row = vec![0xff; 12];
            row[..value.to_bytes_le().len()].copy_from_slice(&value.to_bytes_le());
            row[value.to_bytes_le().len()..].fill(0);
            assert_eq!(written_hex(&row), text);
            for text in [text.clone(), text.to_uppercase()] {
                let mut read = vec![0xff; 12];
                read_hex(text.as_bytes(), &mut read);
                assert_eq!(read, row);
            }
        }
        assert_eq!(written_hex(&[0; 4]), "0");
    }
}
