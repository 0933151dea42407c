//! Masks: one bit a row, on a device.
//!
//! A function of two masks is one launch of `bitwise` (`kernels/linear/bitwise.cuh`): the words of
//! a mask are rows of the narrowest built shape, and a mask has memory for whole rows. Bits beyond
//! the last row are undefined on the device and 0 on the host.

use std::fmt;

use gpuint_catalogue::{DigitKind, Op, Shape};

use crate::backend::host::{reserved_vec, zeroed_vec};
use crate::backend::{Buffer, Operands, Params};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::shape::narrowest;
use crate::strategy::Strategy;

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

/// A function of the bits of two masks: bit `2a + b` is the result for bits `a` and `b`.
#[derive(Clone, Copy)]
pub(crate) struct Table(u32);

impl Table {
    pub(crate) const AND: Self = Self(0b1000);
    pub(crate) const AND_NOT: Self = Self(0b0100);
    pub(crate) const OR: Self = Self(0b1110);
    pub(crate) const XOR: Self = Self(0b0110);
    pub(crate) const EQUAL: Self = Self(0b1001);
    /// Of the first mask alone.
    const NOT: Self = Self(0b0011);
}

/// Returns the shape by whose kernel masks are combined.
fn unit() -> Result<Shape> {
    let none = Shape { bits: WORD, q: 1, digit: DigitKind::U32 };
    narrowest(1).ok_or(Error::ShapeMissing { shape: none })
}

impl Mask {
    /// Allocates a mask of `rows` rows, uninitialized: [`cleared`](Self::cleared) or an upload
    /// follows.
    pub(crate) fn alloc(device: &Device, rows: usize) -> Result<Self> {
        let unit = unit()?;
        let words = rows.div_ceil(WORD) * size_of::<u32>();
        let words = device.alloc_rows(1, words.max(rows.div_ceil(unit.bits) * unit.bytes()))?;
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

    /// Returns the bit of a row.
    ///
    /// # Errors
    /// [`NoSuchRow`](crate::Error::NoSuchRow), [`Driver`](crate::Error::Driver).
    pub fn row(&self, row: usize) -> Result<bool> {
        if row >= self.rows {
            return Err(Error::NoSuchRow { row, rows: self.rows });
        }
        let mut word = [0u32];
        let offset = (row / WORD * size_of::<u32>()) as u64;
        self.device.memory().download(&self.words, offset, bytemuck::cast_slice_mut(&mut word))?;
        Ok(word[0] >> (row % WORD) & 1 == 1)
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
        Ok(ones(&self.words()?))
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
        let mut indices = reserved_vec(ones(&words))?;
        for (index, mut word) in words.into_iter().enumerate() {
            while word != 0 {
                indices.push(index * WORD + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
        Ok(indices)
    }

    /// Returns the rows that are set in both masks. Functions of masks are computed on the device.
    ///
    /// ```
    /// use gpuint::{Device, Mask};
    ///
    /// let device = Device::cpu();
    /// let a = Mask::from_bools(&device, &[true, true, false])?;
    /// let b = Mask::from_bools(&device, &[true, false, false])?;
    /// assert!(a.row(1)? && !b.row(1)? && a.row(3).is_err());
    /// assert_eq!(a.and(&b)?.indices()?, [0]);
    /// assert_eq!(b.not()?.indices()?, [1, 2]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`LengthMismatch`](crate::Error::LengthMismatch),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    pub fn and(&self, other: &Self) -> Result<Self> {
        self.combine(other, Table::AND)
    }

    /// Returns the rows that are set in either mask.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn or(&self, other: &Self) -> Result<Self> {
        self.combine(other, Table::OR)
    }

    /// Returns the rows that are set in exactly one of the masks.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn xor(&self, other: &Self) -> Result<Self> {
        self.combine(other, Table::XOR)
    }

    /// Returns the rows that are not set.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn not(&self) -> Result<Self> {
        self.combine(self, Table::NOT)
    }

    /// Makes a mask by a function of the bits of both.
    pub(crate) fn combine(&self, other: &Self, table: Table) -> Result<Self> {
        if !self.device.shares_memory_with(&other.device) {
            return Err(Error::DeviceMismatch);
        }
        if self.rows != other.rows {
            return Err(Error::LengthMismatch { left: self.rows, right: other.rows });
        }
        let mut mask = Self::alloc(&self.device, self.rows)?;
        self.combine_into(&other.words, table, &mut mask.words, &self.device)?;
        Ok(mask)
    }

    /// Sets the rows of this mask in `target`, the words of a mask of as many rows.
    pub(crate) fn add_to(&self, target: &mut Buffer, device: &Device) -> Result<()> {
        let mut before = device.memory().alloc(target.bytes())?;
        device.memory().copy(&mut before, 0, target, 0, target.bytes())?;
        self.combine_into(&before, Table::OR, target, device)
    }

    /// Writes a function of the bits of this mask and of `other` to the words of another one.
    fn combine_into(
        &self,
        other: &Buffer,
        table: Table,
        out: &mut Buffer,
        device: &Device,
    ) -> Result<()> {
        let unit = unit()?;
        let operands = Operands {
            ins: [Some(&self.words), Some(other), None],
            outs: [Some(out), None],
            rows: self.rows.div_ceil(unit.bits),
            params: Params { table: table.0, ..Params::default() },
            ..Operands::default()
        };
        let kernel = device.kernel(Op::Bitwise, Strategy::Auto, unit, operands.rows)?;
        device.launch(kernel, operands)
    }

    /// Makes a mask of `rows` rows, one bit each.
    pub(crate) fn from_words(device: &Device, words: &[u32], rows: usize) -> Result<Self> {
        let mut mask = Self::alloc(device, rows)?;
        if rows > 0 {
            device.memory().upload(&mut mask.words, 0, bytemuck::cast_slice(words))?;
        }
        Ok(mask)
    }

    /// Sets or clears the bit of a row.
    pub(crate) fn set_bit(&mut self, row: u64, is_set: bool) -> Result<()> {
        let offset = row / u64::from(u32::BITS) * size_of::<u32>() as u64;
        let mut word = [0u32];
        self.device.memory().download(&self.words, offset, bytemuck::cast_slice_mut(&mut word))?;
        let bit = 1 << (row % u64::from(u32::BITS));
        word[0] = if is_set { word[0] | bit } else { word[0] & !bit };
        self.device.memory().upload(&mut self.words, offset, bytemuck::cast_slice(&word))
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
        let mut words: Vec<u32> = zeroed_vec(self.rows.div_ceil(WORD))?;
        if self.rows > 0 {
            let bytes = bytemuck::cast_slice_mut(&mut words);
            self.device.memory().download(&self.words, 0, bytes)?;
        }
        if let (Some(last), 1..) = (words.last_mut(), self.rows % WORD) {
            *last &= (1 << (self.rows % WORD)) - 1;
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

/// Returns the number of bits that are set.
fn ones(words: &[u32]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}
