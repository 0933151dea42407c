//! Rows as text: decimal and hexadecimal.

use gpuint_catalogue::Shape;

use crate::backend::host::reserved_vec;
use crate::batch::Batch;
use crate::device::Device;
use crate::digits::{bits_of_hex, push_hex, read_hex};
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::interrupt::on_all_cores;
use crate::ops::decimal;
use crate::rows::write_checked;
use crate::shape::Kernels;
use crate::texts::Texts;

/// # Text
impl DynBatch {
    /// Parses decimal numbers, one a row.
    ///
    /// # Errors
    /// [`Parse`](Error::Parse) with the lowest row that is not a number and the first byte that is
    /// not a digit, and as [`from_biguints`](Self::from_biguints).
    pub fn from_decimal(device: &Device, shape: Shape, rows: &[&str]) -> Result<Self> {
        decimal::from_decimal(device, shape, rows)
    }

    /// Parses hexadecimal numbers, one a row, in digits of either case, with or without `0x`.
    ///
    /// # Errors
    /// As [`from_decimal`](Self::from_decimal).
    pub fn from_hex(device: &Device, shape: Shape, rows: &[&str]) -> Result<Self> {
        decimal::longest_of(rows, 16)?;
        device.check_shape(shape)?;
        Self::from_parts(device, shape, rows.len(), |first, part| {
            write_checked(part, shape.bytes(), first, |row, bytes| {
                let digits = decimal::significant(rows[row], 16);
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

    /// Writes the values in decimal to texts, whose memory is reused.
    ///
    /// # Errors
    /// As [`Batch::to_decimal_into`].
    pub fn to_decimal_into(&self, texts: &mut Texts) -> Result<()> {
        decimal::to_decimal_into(self, texts)
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

    /// Returns the values in decimal. A GPU writes the digits of rows of up to 1024 bits, and of
    /// the parts into which it splits wider rows; the host copies them. The host alone converts few
    /// rows, and, with a warning in the log, rows of a width at which the device lacks a kernel.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Compile`](Error::Compile), [`Driver`](Error::Driver).
    pub fn to_decimal(&self) -> Result<Vec<String>> {
        self.as_dyn().to_decimal()
    }

    /// Writes the values in decimal to texts, as [`to_decimal`](Self::to_decimal) returns them. The
    /// memory of the texts is reused: no text is allocated by itself.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint, Texts};
    ///
    /// let batch = Batch::<GpuUint<1024>>::from_decimal(&Device::cpu(), &["7", "123456789"])?;
    /// let mut texts = Texts::new();
    /// batch.to_decimal_into(&mut texts)?;
    /// assert_eq!(texts.get(1), Some("123456789"));
    /// batch.wrapping_square()?.to_decimal_into(&mut texts)?;
    /// assert_eq!(texts.iter().collect::<Vec<_>>(), ["49", "15241578750190521"]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`to_decimal`](Self::to_decimal). After an error there are no texts.
    pub fn to_decimal_into(&self, texts: &mut Texts) -> Result<()> {
        self.as_dyn().to_decimal_into(texts)
    }

    /// Returns the values in hexadecimal, in lower case without `0x`.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_hex(&self) -> Result<Vec<String>> {
        self.as_dyn().to_hex()
    }
}
