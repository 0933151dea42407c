//! Rows as text: decimal and hexadecimal.

use gpuint_catalogue::Shape;

use crate::backend::host::reserved_vec;
use crate::batch::Batch;
use crate::device::Device;
use crate::digits::{bits_of_hex, is_decimal, is_hex, push_hex, read_hex};
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::interrupt::on_all_cores;
use crate::ops::decimal;
use crate::rows::write_checked;
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
                let bits = bits_of_hex(digits);
                if bits > shape.bits as u64 {
                    return Err(Error::TooWide { row, bits, width: shape.bits });
                }
                let is_read = read_hex(digits, bytes);
                debug_assert!(is_read, "row {row} has digits");
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
        on_all_cores(self.len(), 0, |row| {
            let row = &bytes[row * row_bytes..][..row_bytes];
            let zeros = row.iter().rev().take_while(|&&byte| byte == 0).count();
            let mut text = reserved_vec((2 * (row_bytes - zeros)).max(1))?;
            push_hex(&mut text, row);
            // Digits are ASCII.
            Ok(String::from_utf8(text).unwrap_or_default())
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
        DynBatch::from_decimal(&device.of::<T>(), T::SHAPE, rows).map(Self::typed)
    }

    /// Parses hexadecimal numbers, one a row, in digits of either case, with or without `0x`.
    ///
    /// # Errors
    /// As [`from_decimal`](Self::from_decimal).
    pub fn from_hex(device: &Device, rows: &[&str]) -> Result<Self> {
        DynBatch::from_hex(&device.of::<T>(), T::SHAPE, rows).map(Self::typed)
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
    let is_number = match base {
        10 => is_decimal(digits.as_bytes()),
        _ => is_hex(digits.as_bytes()),
    };
    let is_other = |byte: u8| !char::from(byte).is_digit(base);
    let other = if is_number { None } else { digits.bytes().position(is_other) };
    let column = match other {
        None if digits.is_empty() => Some(0),
        other => other,
    };
    match column {
        Some(column) => Err(Error::Parse { row, column: before + column, base }),
        None => Ok(digits.trim_start_matches('0').as_bytes()),
    }
}
