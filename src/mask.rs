//! Masks: one bit a row, on a device.

use std::fmt;

use crate::backend::Buffer;
use crate::backend::host::{reserved_vec, zeroed_vec};
use crate::device::Device;
use crate::error::{Error, Result};

/// One bit a row, on a device: the carries, borrows or results of a comparison.
pub struct Mask {
    device: Device,
    words: Buffer,
    rows: usize,
}

static_assertions::assert_impl_all!(Mask: Send, Sync);

/// Formats the number of rows, the set rows and the device.
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
    /// Allocates a mask of `rows` rows, uninitialized: [`cleared`](Self::cleared) or an upload
    /// follows.
    pub(crate) fn alloc(device: &Device, rows: usize) -> Result<Self> {
        let words = device.alloc_rows(rows.div_ceil(WORD), size_of::<u32>())?;
        Ok(Self { device: device.clone(), words, rows })
    }

    /// Makes a mask of `rows` rows, none of them set.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn none(device: &Device, rows: usize) -> Result<Self> {
        let mut mask = Self::alloc(device, rows)?;
        mask.cleared()?;
        Ok(mask)
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Device of the mask.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the bits, one a row.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn to_bools(&self) -> Result<Vec<bool>> {
        let words = self.words()?;
        let mut bools = reserved_vec(self.rows)?;
        bools.extend((0..self.rows).map(|row| words[row / WORD] >> (row % WORD) & 1 == 1));
        Ok(bools)
    }

    /// Returns true if the bit of at least one row is set.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn any(&self) -> Result<bool> {
        Ok(self.words()?.iter().any(|&word| word != 0))
    }

    /// Returns the number of rows whose bit is set.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn count(&self) -> Result<usize> {
        Ok(self.words()?.iter().map(|word| word.count_ones() as usize).sum())
    }

    /// Makes a mask of `bits`, one a row.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn from_bools(device: &Device, bits: &[bool]) -> Result<Self> {
        let mut words: Vec<u32> = zeroed_vec(bits.len().div_ceil(WORD))?;
        for (row, &bit) in bits.iter().enumerate() {
            words[row / WORD] |= u32::from(bit) << (row % WORD);
        }
        Self::from_words(device, &words, bits.len())
    }

    /// Returns the indices of the rows whose bit is set, in ascending order.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn indices(&self) -> Result<Vec<usize>> {
        let words = self.words()?;
        let is_set = |row: &usize| words[row / WORD] >> (row % WORD) & 1 == 1;
        Ok((0..self.rows).filter(is_set).collect())
    }

    /// Returns the rows that are set in both masks. Like all functions of masks, it copies one bit
    /// a row to the host and back.
    ///
    /// ```
    /// use gpuint::{Device, Mask};
    ///
    /// let device = Device::cpu();
    /// let a = Mask::from_bools(&device, &[true, true, false])?;
    /// let b = Mask::from_bools(&device, &[true, false, false])?;
    /// assert_eq!(a.and(&b)?.indices()?, [0]);
    /// assert_eq!(b.not()?.indices()?, [1, 2]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`LengthMismatch`](crate::Error::LengthMismatch),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn and(&self, other: &Self) -> Result<Self> {
        self.zip(other, |a, b| a & b)
    }

    /// Returns the rows that are set in either mask.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn or(&self, other: &Self) -> Result<Self> {
        self.zip(other, |a, b| a | b)
    }

    /// Returns the rows that are set in exactly one of the masks.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn xor(&self, other: &Self) -> Result<Self> {
        self.zip(other, |a, b| a ^ b)
    }

    /// Returns the rows that are not set.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn not(&self) -> Result<Self> {
        self.zip(self, |a, _| !a)
    }

    /// Makes a mask by applying a function to each word.
    fn zip(&self, other: &Self, function: impl Fn(u32, u32) -> u32) -> Result<Self> {
        Words::of([self, other])?.mask(|[a, b]| function(a, b))
    }

    fn from_words(device: &Device, words: &[u32], rows: usize) -> Result<Self> {
        let mut mask = Self::alloc(device, rows)?;
        if rows > 0 {
            device.memory().upload(&mut mask.words, 0, bytemuck::cast_slice(words))?;
        }
        Ok(mask)
    }

    /// Words of the mask, to read by a kernel.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.words
    }

    /// Words of the mask, in which a kernel sets further bits.
    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.words
    }

    /// Returns the words; bits beyond the last row are 0.
    fn words(&self) -> Result<Vec<u32>> {
        let mut words = zeroed_vec(self.rows.div_ceil(WORD))?;
        if self.rows > 0 {
            let bytes = bytemuck::cast_slice_mut(&mut words);
            self.device.memory().download(&self.words, 0, bytes)?;
        }
        Ok(words)
    }

    /// Words of the mask, all zero, in which a kernel sets bits.
    pub(crate) fn cleared(&mut self) -> Result<&mut Buffer> {
        if self.rows > 0 {
            self.device.memory().fill(&mut self.words, 0)?;
        }
        Ok(&mut self.words)
    }
}

/// Words of masks on the host, from which further masks are made.
pub(crate) struct Words<'a, const MASKS: usize> {
    device: &'a Device,
    rows: usize,
    words: Vec<[u32; MASKS]>,
}

impl<'a, const MASKS: usize> Words<'a, MASKS> {
    /// Reads masks, at least one.
    pub(crate) fn of(masks: [&'a Mask; MASKS]) -> Result<Self> {
        let Mask { device, rows, .. } = masks[0];
        let mut words = reserved_vec(rows.div_ceil(WORD))?;
        words.resize(rows.div_ceil(WORD), [0; MASKS]);
        for (index, mask) in masks.into_iter().enumerate() {
            if !device.shares_memory_with(&mask.device) {
                return Err(Error::DeviceMismatch);
            }
            if *rows != mask.rows {
                return Err(Error::LengthMismatch { left: *rows, right: mask.rows });
            }
            words.iter_mut().zip(mask.words()?).for_each(|(words, word)| words[index] = word);
        }
        Ok(Self { device, rows: *rows, words })
    }

    /// Makes a mask by applying a function to each word of all masks.
    pub(crate) fn mask(&self, function: impl Fn([u32; MASKS]) -> u32) -> Result<Mask> {
        let mut words = reserved_vec(self.words.len())?;
        words.extend(self.words.iter().map(|&words| function(words)));
        // Bits beyond the last row stay 0.
        if let (Some(last), 1..) = (words.last_mut(), self.rows % WORD) {
            *last &= (1 << (self.rows % WORD)) - 1;
        }
        Mask::from_words(self.device, &words, self.rows)
    }
}
