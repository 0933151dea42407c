//! Masks: one bit a row, on the device.

use std::fmt;

use crate::backend::Buffer;
use crate::backend::host::{reserved_vec, zeroed_vec};
use crate::device::Device;
use crate::error::Result;

/// One bit a row, on the device: what carries, borrows and comparisons return.
pub struct Mask {
    device: Device,
    words: Buffer,
    rows: usize,
}

static_assertions::assert_impl_all!(Mask: Send, Sync);

/// The number of rows, the rows that are set, and the device.
impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = match self.count() {
            Ok(count) => count.to_string(),
            Err(error) => error.to_string(),
        };
        f.debug_struct("Mask")
            .field("rows", &self.rows)
            .field("set", &format_args!("{set}"))
            .field("device", &self.device)
            .finish()
    }
}

/// Bits in a word of a mask.
const WORD: usize = u32::BITS as usize;

impl Mask {
    /// A mask of so many rows, none of them set.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn none(device: &Device, rows: usize) -> Result<Self> {
        let words = device.zeroed_rows(rows.div_ceil(WORD), size_of::<u32>())?;
        Ok(Self { device: device.clone(), words, rows })
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The device that the bits live on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The bits, one a row.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn to_bools(&self) -> Result<Vec<bool>> {
        let words = self.words()?;
        let mut bools = reserved_vec(self.rows)?;
        bools.extend((0..self.rows).map(|row| words[row / WORD] >> (row % WORD) & 1 == 1));
        Ok(bools)
    }

    /// Whether the bit of some row is set.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn any(&self) -> Result<bool> {
        Ok(self.words()?.iter().any(|&word| word != 0))
    }

    /// The number of rows whose bit is set.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn count(&self) -> Result<usize> {
        Ok(self.words()?.iter().map(|word| word.count_ones() as usize).sum())
    }

    /// The words; bits beyond the last row are not set.
    fn words(&self) -> Result<Vec<u32>> {
        let mut words = zeroed_vec(self.rows.div_ceil(WORD))?;
        if self.rows > 0 {
            let bytes = bytemuck::cast_slice_mut(&mut words);
            self.device.memory().download(&self.words, 0, bytes)?;
        }
        Ok(words)
    }

    /// The words, all zero, for a kernel to set bits in.
    pub(crate) fn cleared(&mut self) -> Result<&mut Buffer> {
        if self.rows > 0 {
            self.device.memory().fill(&mut self.words, 0)?;
        }
        Ok(&mut self.words)
    }
}
