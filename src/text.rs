//! Rows as text: decimal and hexadecimal.

use gpuint_catalogue::Shape;
use num_bigint::BigUint;

use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::ops::decimal;
use crate::ops::product_tree::on_all_cores;
use crate::shape::Kernels;

/// # Text
impl DynBatch {
    /// Parses decimal numbers, one a row.
    ///
    /// # Errors
    /// [`Parse`](Error::Parse) with the lowest row that is not a number and the first byte that is
    /// not a digit, and as [`from_biguints`](Self::from_biguints).
    pub fn from_decimal(device: &Device, shape: Shape, rows: &[&str]) -> Result<Self> {
        Self::from_text(device, shape, rows, 10)
    }

    /// Parses hexadecimal numbers, one a row, in digits of either case, with or without `0x`.
    ///
    /// # Errors
    /// As [`from_decimal`](Self::from_decimal).
    pub fn from_hex(device: &Device, shape: Shape, rows: &[&str]) -> Result<Self> {
        Self::from_text(device, shape, rows, 16)
    }

    /// Returns the values in decimal.
    ///
    /// # Errors
    /// As [`Batch::to_decimal`].
    pub fn to_decimal(&self) -> Result<Vec<String>> {
        if let Some(texts) = decimal::to_decimal(self)? {
            return Ok(texts);
        }
        let values = self.to_biguints()?;
        let digits = decimal::digits_of_bits(self.shape().bits);
        on_all_cores(values.len(), digits, |row| Ok(values[row].to_string()))
    }

    /// Returns the values in hexadecimal, in lower case without `0x`.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_hex(&self) -> Result<Vec<String>> {
        let values = self.to_biguints()?;
        let digits = self.shape().bits / 4;
        on_all_cores(values.len(), digits, |row| Ok(values[row].to_str_radix(16)))
    }

    fn from_text(device: &Device, shape: Shape, rows: &[&str], base: u32) -> Result<Self> {
        // The error is that of the lowest row.
        let digits = on_all_cores(rows.len(), 0, |row| digits(row, rows[row], base))?;
        if base == 10
            && let Some(batch) = decimal::from_decimal(device, shape, &digits)?
        {
            return Ok(batch);
        }
        let longest = digits.iter().map(|digits| digits.len()).max().unwrap_or(0);
        // A digit has four bits at most.
        let values = on_all_cores(digits.len(), longest / 2, |row| {
            Ok(BigUint::parse_bytes(digits[row], base).unwrap_or_default())
        })?;
        Self::from_biguints(device, shape, &values)
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

/// Returns the digits of a number without leading zeros.
fn digits(row: usize, text: &str, base: u32) -> Result<&[u8]> {
    let digits = match base {
        16 => text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text),
        _ => text,
    };
    let before = text.len() - digits.len();
    // Without an early end the compiler takes many bytes at a time; nearly all texts are numbers.
    let is_decimal = |text: &str| text.bytes().fold(true, |is, byte| is & byte.is_ascii_digit());
    let other = if base == 10 && is_decimal(digits) {
        None
    } else {
        digits.bytes().position(|byte| !char::from(byte).is_digit(base))
    };
    let column = match other {
        None if digits.is_empty() => Some(0),
        other => other,
    };
    match column {
        Some(column) => Err(Error::Parse { row, column: before + column, base }),
        None => Ok(digits.trim_start_matches('0').as_bytes()),
    }
}
