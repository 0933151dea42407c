//! One word of 64 bits a row, on a device.

use std::fmt;

use crate::backend::Buffer;
use crate::backend::host::zeroed_vec;
use crate::device::Device;
use crate::error::{Error, Result};

/// One word of 64 bits a row, on a device: the remainders of
/// [`div_rem_digit_words`](crate::Batch::div_rem_digit_words).
pub struct Words {
    device: Device,
    words: Buffer,
    rows: usize,
}

static_assertions::assert_impl_all!(Words: Send, Sync);

/// Formats the number of rows and the device.
impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words")
            .field("rows", &self.rows)
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

impl Words {
    /// Allocates `rows` words, uninitialized.
    pub(crate) fn alloc(device: &Device, rows: usize) -> Result<Self> {
        let words = device.alloc_rows(rows, size_of::<u64>())?;
        Ok(Self { device: device.clone(), words, rows })
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Device of the words.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the words on the host.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_vec(&self) -> Result<Vec<u64>> {
        let mut words = zeroed_vec(self.rows)?;
        self.read_into(&mut words)?;
        Ok(words)
    }

    /// Copies the words to host memory of as many words.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch), [`Driver`](Error::Driver).
    pub fn read_into(&self, words: &mut [u64]) -> Result<()> {
        if words.len() != self.rows {
            return Err(Error::LengthMismatch { left: self.rows, right: words.len() });
        }
        if self.is_empty() {
            return Ok(());
        }
        self.device.memory().download(&self.words, 0, bytemuck::cast_slice_mut(words))
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.words
    }
}
