//! Rows as text: decimal and hexadecimal.

use gpuint_catalogue::Shape;
use num_bigint::BigUint;

use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
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
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_decimal(&self) -> Result<Vec<String>> {
        Ok(self.to_biguints()?.iter().map(BigUint::to_string).collect())
    }

    /// Returns the values in hexadecimal, in lower case without `0x`.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_hex(&self) -> Result<Vec<String>> {
        Ok(self.to_biguints()?.iter().map(|value| format!("{value:x}")).collect())
    }

    fn from_text(device: &Device, shape: Shape, rows: &[&str], base: u32) -> Result<Self> {
        let values: Result<Vec<BigUint>> =
            rows.iter().enumerate().map(|(row, text)| parse(row, text, base)).collect();
        Self::from_biguints(device, shape, &values?)
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
    /// [`Driver`](Error::Driver).
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

    /// Returns the values in decimal.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
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

fn parse(row: usize, text: &str, base: u32) -> Result<BigUint> {
    let digits = match base {
        16 => text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text),
        _ => text,
    };
    let before = text.len() - digits.len();
    let other = digits.bytes().position(|byte| !char::from(byte).is_digit(base));
    let column = match other {
        None if digits.is_empty() => Some(0),
        other => other,
    };
    match column {
        Some(column) => Err(Error::Parse { row, column: before + column, base }),
        None => Ok(BigUint::parse_bytes(digits.as_bytes(), base).unwrap_or_default()),
    }
}
