//! Batches whose shape is a value: the one implementation of batches.
//!
//! [`Batch`](crate::Batch) is a typed face of it. Nothing here is generic over shapes, so that the
//! time to compile and the size of the code do not grow with the number of shapes.

use std::borrow::Borrow;
use std::fmt;

use num_bigint::BigUint;

use gpuint_catalogue::{MAX_LONG_BITS, Shape};

use crate::backend::host::{
    check_room, collected, copy_bytes, read_integer, read_rows, reserved_pages, reserved_vec,
    write_integer, write_rows, zeroed_pages,
};
use crate::backend::{Buffer, Span};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::host_batch::HostBatch;
use crate::rows::{check_width, whole_rows, write_integers};
use crate::shape::narrowest;
use crate::value::Value;

/// Integers of one width on a device, one a row; the width is a value.
///
/// This is [`Batch`](crate::Batch) for widths that are known at run time: from data, a file or a
/// command line. It has the same operations, and checks at run time that shapes go together.
///
/// ```
/// use gpuint::{Device, DynBatch, narrowest};
/// use num_bigint::BigUint;
///
/// let device = Device::cpu();
/// let values: Vec<BigUint> = ["1000000007", "998244353"].map(|text| text.parse().unwrap()).into();
/// let a = DynBatch::fitting(&device, &values)?;
/// assert_eq!(a.shape(), narrowest(30).unwrap());
/// let product = a.widening_mul(&a)?;
/// assert_eq!(product.row(0)?, &values[0] * &values[0]);
/// # Ok::<(), gpuint::Error>(())
/// ```
pub struct DynBatch {
    device: Device,
    buffer: Buffer,
    rows: usize,
    shape: Shape,
}

/// # Conversion
impl DynBatch {
    /// Makes a batch of `values`, in order: integers or references to them, from a slice or any
    /// iterator.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing) where the shape is not built,
    /// [`TooWide`](Error::TooWide) with the lowest row that needs more bits than the shape has,
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn from_biguints(
        device: &Device,
        shape: Shape,
        values: impl IntoIterator<Item: Borrow<BigUint>>,
    ) -> Result<Self> {
        Self::of_values(device, shape, &collected(values)?)
    }

    /// Makes a batch of these values with the narrowest shape that holds all of them; see
    /// [`narrowest`].
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) with the lowest row that has more than 2^31 bits, and as
    /// [`from_biguints`](Self::from_biguints).
    pub fn fitting(
        device: &Device,
        values: impl IntoIterator<Item: Borrow<BigUint>>,
    ) -> Result<Self> {
        let values = collected(values)?;
        let lengths = || values.iter().map(|value| value.borrow().bits());
        let bits = lengths().max().unwrap_or(0);
        let shape = usize::try_from(bits).ok().and_then(narrowest);
        let Some(shape) = shape else {
            let row = lengths().position(|length| length == bits).unwrap_or(0);
            return Err(Error::TooWide { row, bits, width: MAX_LONG_BITS });
        };
        Self::of_values(device, shape, &values)
    }

    fn of_values<V: Borrow<BigUint>>(device: &Device, shape: Shape, values: &[V]) -> Result<Self> {
        device.check_shape(shape)?;
        Self::from_parts(device, shape, values.len(), |first, part| {
            // Threads cannot share values of every type.
            let values = references(&values[first..first + part.len() / shape.bytes()])?;
            write_integers(&values, first, shape, part)
        })
    }

    /// Makes a batch of `rows` rows, all of one value.
    ///
    /// # Errors
    /// As [`from_biguints`](Self::from_biguints).
    pub fn splat(device: &Device, shape: Shape, value: impl Value, rows: usize) -> Result<Self> {
        device.check_shape(shape)?;
        let value = value.integer();
        check_width(shape, 0, &value)?;
        Self::from_parts(device, shape, rows, |_, part| {
            write_rows(part, shape.bytes(), |_, bytes| write_integer(&value, bytes));
            Ok(())
        })
    }

    /// Makes one row of a value. A long row is cleared on the device, and only the bytes from the
    /// lowest to the highest digit of the value that is not zero are copied to it.
    pub(crate) fn single(device: &Device, shape: Shape, value: &BigUint) -> Result<Self> {
        if !shape.is_long() {
            return Self::splat(device, shape, value, 1);
        }
        check_width(shape, 0, value)?;
        let zeros = (value.trailing_zeros().unwrap_or(0) / 8) as usize;
        let bytes = (value >> (8 * zeros)).to_bytes_le();
        Self::with_bytes(device, shape, zeros, &bytes)
    }

    /// Makes one row of a power of two, `exponent` below the width, as [`single`](Self::single)
    /// without the number in host memory.
    pub(crate) fn power_of_two(device: &Device, shape: Shape, exponent: usize) -> Result<Self> {
        Self::with_bytes(device, shape, exponent / 8, &[1 << (exponent % 8)])
    }

    /// Makes one row with these bytes from byte `offset` on, and zeros elsewhere.
    fn with_bytes(device: &Device, shape: Shape, offset: usize, bytes: &[u8]) -> Result<Self> {
        let mut row = Self::zeros(device, shape, 1)?;
        device.memory().upload(&mut row.buffer, offset as u64, bytes)?;
        Ok(row)
    }

    /// Makes a batch of `rows` zeros.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing), [`OutOfMemory`](Error::OutOfMemory),
    /// [`Driver`](Error::Driver).
    pub fn zeros(device: &Device, shape: Shape, rows: usize) -> Result<Self> {
        device.check_shape(shape)?;
        let buffer = device.zeroed_rows(rows, shape.bytes())?;
        Ok(Self { device: device.clone(), buffer, rows, shape })
    }

    /// Makes a batch of `rows` values, each drawn evenly from 0 to `2^BITS - 1`.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    #[cfg(feature = "rand")]
    #[cfg_attr(docsrs, doc(cfg(feature = "rand")))]
    pub fn random<R: rand::Rng + ?Sized>(
        device: &Device,
        shape: Shape,
        rows: usize,
        rng: &mut R,
    ) -> Result<Self> {
        device.check_shape(shape)?;
        Self::from_parts(device, shape, rows, |_, part| {
            part.chunks_exact_mut(shape.bytes()).for_each(|bytes| rng.fill_bytes(bytes));
            Ok(())
        })
    }

    /// Makes a batch of the bytes of its rows one after the other, `BITS / 8` a row, each row least
    /// significant byte first.
    ///
    /// # Errors
    /// [`PartialRow`](Error::PartialRow) where the number of bytes is not a multiple of `BITS / 8`,
    /// and as [`zeros`](Self::zeros).
    pub fn from_le_bytes(device: &Device, shape: Shape, bytes: &[u8]) -> Result<Self> {
        device.check_shape(shape)?;
        let rows = whole_rows(bytes.len(), shape.bytes())?;
        let mut batch = Self::alloc(device, shape, rows)?;
        batch.write_le_bytes(0, bytes)?;
        Ok(batch)
    }

    /// Makes a batch of the bytes of its rows one after the other, `BITS / 8` a row, each row most
    /// significant byte first.
    ///
    /// # Errors
    /// As [`from_le_bytes`](Self::from_le_bytes).
    pub fn from_be_bytes(device: &Device, shape: Shape, bytes: &[u8]) -> Result<Self> {
        device.check_shape(shape)?;
        let row_bytes = shape.bytes();
        let rows = whole_rows(bytes.len(), row_bytes)?;
        Self::from_parts(device, shape, rows, |first, part| {
            write_rows(part, row_bytes, |row, out| {
                out.copy_from_slice(&bytes[(first + row) * row_bytes..][..row_bytes]);
                out.reverse();
            });
            Ok(())
        })
    }

    /// The shape of the rows.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
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

    /// The device that the rows live on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Copies the batch on its device.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn try_clone(&self) -> Result<Self> {
        self.clone_on(&self.device)
    }

    /// Copies the rows on a queue of their device, after the work on them that is queued by now.
    pub(crate) fn clone_on(&self, queue: &Device) -> Result<Self> {
        let mut copy = Self::alloc(queue, self.shape, self.rows)?;
        if self.rows > 0 {
            let bytes = byte_offset(self.rows, self.shape.bytes());
            queue.memory().copy(&mut copy.buffer, 0, &self.buffer, 0, bytes)?;
        }
        Ok(copy)
    }

    /// The values.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_biguints(&self) -> Result<Vec<BigUint>> {
        let mut values = reserved_pages(self.rows)?;
        let row_bytes = self.shape.bytes();
        self.read_parts(0, self.rows, |_, part| {
            check_room(part.len() / row_bytes, row_bytes)?;
            read_rows(part, row_bytes, read_integer, &mut values);
            Ok(())
        })?;
        Ok(values)
    }

    /// The bytes of the rows one after the other, each row least significant byte first.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_le_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = zeroed_pages(self.rows * self.shape.bytes())?;
        self.read_le_bytes(0, &mut bytes)?;
        Ok(bytes)
    }

    /// The bytes of the rows one after the other, each row most significant byte first.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_be_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = self.to_le_bytes()?;
        write_rows(&mut bytes, self.shape.bytes(), |_, bytes| bytes.reverse());
        Ok(bytes)
    }

    /// The value of one row.
    ///
    /// # Errors
    /// [`NoSuchRow`](Error::NoSuchRow), [`Driver`](Error::Driver).
    pub fn row(&self, row: usize) -> Result<BigUint> {
        if row >= self.rows {
            return Err(Error::NoSuchRow { row, rows: self.rows });
        }
        let mut value = BigUint::ZERO;
        self.read_parts(row, 1, |_, part| {
            value = read_integer(part);
            Ok(())
        })?;
        Ok(value)
    }
}

/// For the operations.
impl DynBatch {
    /// Allocates `rows` rows of a shape that is built, uninitialized.
    pub(crate) fn alloc(device: &Device, shape: Shape, rows: usize) -> Result<Self> {
        let buffer = device.alloc_rows(rows, shape.bytes())?;
        Ok(Self { device: device.clone(), buffer, rows, shape })
    }

    /// A batch over a buffer with the bytes of its rows.
    pub(crate) fn over(device: &Device, shape: Shape, rows: usize, buffer: Buffer) -> Self {
        Self { device: device.clone(), buffer, rows, shape }
    }

    /// The batch on a handle with [`Device::with_jit`].
    pub(crate) fn with_jit(self) -> Self {
        Self { device: self.device.with_jit(), ..self }
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    /// Sets all rows to zero.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.device.memory().fill(&mut self.buffer, 0)
    }

    /// Replaces the rows by the output of `write`, in memory that the device keeps for this:
    /// only the first call for a size allocates.
    pub(crate) fn assign(
        &mut self,
        write: impl FnOnce(&Self, &mut Self) -> Result<()>,
    ) -> Result<()> {
        let bytes = self.buffer.bytes();
        let spare = self.device.take_spare(bytes);
        let buffer = spare.map_or_else(|| self.device.memory().alloc(bytes), Ok)?;
        let Self { rows, shape, .. } = *self;
        let mut out = Self { device: self.device.clone(), buffer, rows, shape };
        let written = write(self, &mut out).and_then(|()| {
            if self.buffer.is_foreign() {
                return self.device.memory().copy(&mut self.buffer, 0, &out.buffer, 0, bytes);
            }
            std::mem::swap(&mut self.buffer, &mut out.buffer);
            Ok(())
        });
        self.device.keep_spare(out.buffer);
        written
    }

    /// Makes a batch whose rows are written by `write(first, bytes)`, which is called for parts of
    /// them in order: the rows from `first` on.
    pub(crate) fn from_parts(
        device: &Device,
        shape: Shape,
        rows: usize,
        write: impl FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<Self> {
        let mut batch = Self::alloc(device, shape, rows)?;
        batch.write_parts(0, rows, write)?;
        Ok(batch)
    }

    /// Writes rows of the batch, from `first` on: `write(row, bytes)` writes parts of them in
    /// order.
    fn write_parts(
        &mut self,
        first: usize,
        rows: usize,
        mut write: impl FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let span = self.span(first, rows)?;
        if rows == 0 {
            return Ok(());
        }
        let (device, unit) = (self.device.memory(), span.unit);
        device.upload_parts(&mut self.buffer, span, &mut |start, part| write(start / unit, part))
    }

    /// Reads rows of the batch, from `first` on: `read(row, bytes)` reads parts of them in order.
    pub(crate) fn read_parts(
        &self,
        first: usize,
        rows: usize,
        mut read: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let span = self.span(first, rows)?;
        if rows == 0 {
            return Ok(());
        }
        let unit = span.unit;
        self.device
            .memory()
            .download_parts(&self.buffer, span, &mut |start, part| read(start / unit, part))
    }

    /// The bytes of the rows from `first` on, which the batch must have.
    fn span(&self, first: usize, rows: usize) -> Result<Span> {
        self.check_rows(first, rows)?;
        let unit = self.shape.bytes();
        Ok(Span { offset: byte_offset(first, unit), bytes: rows * unit, unit })
    }

    /// Checks that the batch has the rows from `first` on.
    fn check_rows(&self, first: usize, rows: usize) -> Result<()> {
        match first.checked_add(rows) {
            Some(end) if end <= self.rows => Ok(()),
            _ => Err(Error::NoSuchRow { row: first.max(self.rows), rows: self.rows }),
        }
    }

    /// The first byte of the rows from `first` on that go from or to host memory of this device.
    fn check_host(&self, first: usize, host: &HostBatch) -> Result<u64> {
        if host.shape() != self.shape {
            return Err(Error::ShapeMismatch { left: self.shape, right: host.shape() });
        }
        if !self.device.shares_memory_with(host.device()) {
            return Err(Error::DeviceMismatch);
        }
        self.check_rows(first, host.len())?;
        Ok(byte_offset(first, self.shape.bytes()))
    }
}

/// # Copies
impl DynBatch {
    /// Replaces the rows from `first` on by these bytes, `BITS / 8` a row, each row least
    /// significant byte first.
    ///
    /// The bytes go through pinned memory in parts: all cores copy one part while the device reads
    /// the one before. The call returns when the last part is queued; `bytes` is free then.
    ///
    /// ```
    /// use gpuint::{Device, DynBatch, Error, narrowest};
    ///
    /// let shape = narrowest(256).unwrap();
    /// let mut batch = DynBatch::zeros(&Device::cpu(), shape, 4)?;
    /// let mut row = vec![0; shape.bits / 8];
    /// row[0] = 7;
    /// batch.write_le_bytes(2, &row)?;
    /// assert_eq!(batch.row(2)?, 7u32.into());
    /// batch.read_le_bytes(1, &mut row)?;
    /// assert_eq!(row[0], 0);
    /// assert_eq!(batch.write_le_bytes(4, &row), Err(Error::NoSuchRow { row: 4, rows: 4 }));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PartialRow`](Error::PartialRow) where the number of bytes is not a multiple of `BITS / 8`,
    /// [`NoSuchRow`](Error::NoSuchRow) with the first row that does not exist,
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn write_le_bytes(&mut self, first: usize, bytes: &[u8]) -> Result<()> {
        let unit = self.shape.bytes();
        let rows = whole_rows(bytes.len(), unit)?;
        self.write_parts(first, rows, |row, part| {
            copy_bytes(&bytes[row * unit..][..part.len()], part);
            Ok(())
        })
    }

    /// Copies the rows from `first` on to these bytes, `BITS / 8` a row, each row least significant
    /// byte first, as many rows as there is room for.
    ///
    /// # Errors
    /// As [`write_le_bytes`](Self::write_le_bytes).
    pub fn read_le_bytes(&self, first: usize, bytes: &mut [u8]) -> Result<()> {
        let unit = self.shape.bytes();
        let rows = whole_rows(bytes.len(), unit)?;
        self.read_parts(first, rows, |row, part| {
            copy_bytes(part, &mut bytes[row * unit..][..part.len()]);
            Ok(())
        })
    }

    /// Replaces the rows from `first` on by all rows of `host`, by a copy that is queued: the call
    /// does not wait. `host` waits for the copy where its bytes are used next.
    ///
    /// Returns the point behind the copy.
    ///
    /// # Errors
    /// [`ShapeMismatch`](Error::ShapeMismatch), [`DeviceMismatch`](Error::DeviceMismatch) where the
    /// memory is of another GPU, [`NoSuchRow`](Error::NoSuchRow), [`Driver`](Error::Driver).
    pub fn upload(&mut self, first: usize, host: &mut HostBatch) -> Result<Event> {
        let offset = self.check_host(first, host)?;
        let part = 0..host.bytes();
        if !part.is_empty() {
            let device = self.device.memory();
            device.upload_from(&mut self.buffer, offset, host.memory_mut(), part)?;
        }
        Ok(host.event())
    }

    /// Copies the rows from `first` on to all rows of `host`, by a copy that is queued: the call
    /// does not wait. `host` waits for the copy where its bytes are used next.
    ///
    /// Returns the point behind the copy.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    pub fn download(&self, first: usize, host: &mut HostBatch) -> Result<Event> {
        let offset = self.check_host(first, host)?;
        let part = 0..host.bytes();
        if !part.is_empty() {
            let device = self.device.memory();
            device.download_to(&self.buffer, offset, host.memory_mut(), part)?;
        }
        Ok(host.event())
    }

    /// The batch with its operations queued on `device`, which is another queue of the same GPU:
    /// see [`Device::queue`]. Copies nothing.
    ///
    /// # Errors
    /// [`DeviceMismatch`](Error::DeviceMismatch) where `device` does not share memory with this
    /// one.
    pub fn on(mut self, device: &Device) -> Result<Self> {
        if !self.device.shares_memory_with(device) {
            return Err(Error::DeviceMismatch);
        }
        self.device = device.with_jit_if(self.device.has_jit());
        Ok(self)
    }
}

// Batches go to other threads, and are read by several.
static_assertions::assert_impl_all!(DynBatch: Send, Sync);

/// The shape, the number of rows, the device and the first values.
impl fmt::Debug for DynBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 3;
        let mut values = Vec::new();
        for row in 0..self.rows.min(SHOWN) {
            match self.row(row) {
                Ok(value) => values.push(format!("{value:#x}")),
                Err(error) => values.push(error.to_string()),
            }
        }
        if self.rows > SHOWN {
            values.push("..".to_owned());
        }
        f.debug_struct("Batch")
            .field("shape", &format_args!("{}", self.shape))
            .field("rows", &self.rows)
            .field("device", &self.device)
            .field("values", &format_args!("[{}]", values.join(", ")))
            .finish()
    }
}

/// Byte offset of a row; it fits in 64 bits for every allocated batch.
fn byte_offset(row: usize, row_bytes: usize) -> u64 {
    row as u64 * row_bytes as u64
}

/// References to the integers, which other threads can read, whatever holds them.
fn references<V: Borrow<BigUint>>(values: &[V]) -> Result<Vec<&BigUint>> {
    let mut references = reserved_vec(values.len())?;
    references.extend(values.iter().map(Borrow::borrow));
    Ok(references)
}

#[cfg(test)]
mod tests {
    use num_traits::One;

    use super::*;
    use crate::backend::host::PART_BYTES;

    #[test]
    fn conversions_of_several_parts_agree() {
        let device = Device::cpu();
        let shape = narrowest(1024).unwrap();
        let row_bytes = shape.bytes();
        let rows = 2 * PART_BYTES / row_bytes + 3;
        let mut values: Vec<BigUint> =
            (0..rows).map(|row| (BigUint::one() << (row % 1000)) + row).collect();
        let batch = DynBatch::from_biguints(&device, shape, &values).unwrap();
        assert_eq!(batch.to_biguints().unwrap(), values);
        let little = batch.to_le_bytes().unwrap();
        let mut big = batch.to_be_bytes().unwrap();
        let again = DynBatch::from_be_bytes(&device, shape, &big).unwrap();
        assert_eq!(again.to_le_bytes().unwrap(), little);
        big.chunks_exact_mut(row_bytes).for_each(<[u8]>::reverse);
        assert_eq!(big, little);
        let splat = DynBatch::splat(&device, shape, &values[7], rows).unwrap();
        assert_eq!(splat.row(rows - 1).unwrap(), values[7]);
        // The lowest of the rows that are too wide, all in one of the last parts.
        for row in [rows - 1, rows - 2, rows - 900] {
            values[row] = BigUint::one() << (1024 + row);
            let error = DynBatch::from_biguints(&device, shape, &values).unwrap_err();
            assert_eq!(error, Error::TooWide { row, bits: 1025 + row as u64, width: 1024 });
        }
    }

    #[test]
    fn rows_beyond_the_end_are_errors() {
        let device = Device::cpu();
        let shape = narrowest(1024).unwrap();
        let mut batch = DynBatch::zeros(&device, shape, 4).unwrap();
        let mut bytes = vec![1; 2 * shape.bytes()];
        for (first, row) in [(3, 4), (4, 4), (9, 9), (usize::MAX, usize::MAX)] {
            let missing = Error::NoSuchRow { row, rows: 4 };
            assert_eq!(batch.write_le_bytes(first, &bytes), Err(missing.clone()));
            assert_eq!(batch.read_le_bytes(first, &mut bytes), Err(missing.clone()));
            let mut host = HostBatch::new(&device, shape, 2).unwrap();
            assert_eq!(batch.upload(first, &mut host).unwrap_err(), missing);
            assert_eq!(batch.download(first, &mut host).unwrap_err(), missing);
        }
        batch.write_le_bytes(4, &[]).unwrap();
        let partial = Error::PartialRow { len: 5, row: shape.bytes() };
        assert_eq!(batch.write_le_bytes(0, &bytes[..5]), Err(partial.clone()));
        assert_eq!(batch.read_le_bytes(0, &mut bytes[..5]), Err(partial));
        assert_eq!(batch.to_biguints().unwrap(), vec![BigUint::ZERO; 4]);
        batch.write_le_bytes(2, &bytes).unwrap();
        let words: Vec<bool> = batch.to_le_bytes().unwrap().iter().map(|&byte| byte == 1).collect();
        assert_eq!(words.iter().position(|&is_set| is_set), Some(2 * shape.bytes()));
    }

    #[test]
    fn host_rows_have_the_shape_and_length_that_were_asked_for() {
        let device = Device::cpu();
        let [narrow, wide] = [1024, 2048].map(|bits| narrowest(bits).unwrap());
        let mut host = HostBatch::new(&device, narrow, 3).unwrap();
        assert_eq!((host.len(), host.capacity(), host.is_empty()), (3, 3, false));
        let values = [1u32, 2].map(BigUint::from);
        host.set_biguints(&values).unwrap();
        assert_eq!(host.to_biguints().unwrap(), values);
        assert_eq!(host.as_bytes().unwrap().len(), 2 * narrow.bytes());
        assert_eq!(host.digits::<u16>().unwrap()[narrow.bytes() / 2], 2);
        assert_eq!(host.event().ready(), Ok(true));
        let full = Error::NoSuchRow { row: 3, rows: 3 };
        assert_eq!(host.set_len(4), Err(full.clone()));
        assert_eq!(host.set_biguints(&[const { BigUint::ZERO }; 4]), Err(full));
        let error = host.set_biguints(&[BigUint::one(), BigUint::one() << 1024]).unwrap_err();
        assert_eq!(error, Error::TooWide { row: 1, bits: 1025, width: 1024 });
        let mut batch = DynBatch::zeros(&device, wide, 3).unwrap();
        let mismatch = Error::ShapeMismatch { left: wide, right: narrow };
        assert_eq!(batch.upload(0, &mut host).unwrap_err(), mismatch);
        assert!(matches!(
            HostBatch::new(&device, wide, usize::MAX / 2),
            Err(Error::OutOfMemory { bytes: u64::MAX })
        ));
        let empty = HostBatch::new(&device, wide, 0).unwrap();
        assert_eq!(empty.to_biguints().unwrap(), []);
    }

    #[test]
    fn narrowest_shape_holds_the_values() {
        let device = Device::cpu();
        for bits in [0, 1, 1024, 1025, 4097, 1 << 19] {
            let value = if bits == 0 { BigUint::ZERO } else { BigUint::one() << (bits - 1) };
            let batch = DynBatch::fitting(&device, std::slice::from_ref(&value)).unwrap();
            assert!(batch.shape().bits >= bits);
            let narrower = crate::shapes().iter().map(|shape| shape.bits).filter(|&b| b >= bits);
            assert_eq!(Some(batch.shape().bits), narrower.min());
            assert_eq!(batch.row(0).unwrap(), value);
        }
        let long = [BigUint::one(), BigUint::one() << (1 << 21)];
        let batch = DynBatch::fitting(&device, &long).unwrap();
        assert_eq!(batch.shape(), Shape::long((1 << 21) + 1).unwrap());
        assert_eq!(batch.to_biguints().unwrap(), long);
    }

    #[test]
    fn shapes_that_do_not_go_together_are_errors() {
        let device = Device::cpu();
        let [narrow, wide] = [1024, 2048].map(|bits| narrowest(bits).unwrap());
        let a = DynBatch::splat(&device, narrow, &BigUint::one(), 2).unwrap();
        let b = a.resized(wide).unwrap();
        let mismatch = Error::ShapeMismatch { left: narrow, right: wide };
        assert_eq!(a.wrapping_add(&b).unwrap_err(), mismatch);
        assert_eq!(a.widening_mul(&a).unwrap().shape(), wide);
        let shape = Shape { bits: 1088, ..narrow };
        let missing = DynBatch::zeros(&device, shape, 1).unwrap_err();
        assert_eq!(missing, Error::ShapeMissing { shape });
        let big = DynBatch::splat(&device, wide, &(BigUint::one() << 2000), 1).unwrap();
        assert!(matches!(big.resized(narrow), Err(Error::TooWide { row: 0, bits: 2001, .. })));
    }

    #[test]
    fn assigning_uses_the_memory_of_the_assignment_before() {
        let device = Device::cpu();
        let shape = narrowest(1024).unwrap();
        let mut a = DynBatch::splat(&device, shape, &BigUint::one(), 3).unwrap();
        let b = a.try_clone().unwrap();
        for _ in 0..4 {
            a.wrapping_add_assign(&b).unwrap();
        }
        assert_eq!(a.to_biguints().unwrap(), vec![BigUint::from(5u32); 3]);
        let c = DynBatch::zeros(&device, shape, 2).unwrap();
        assert!(a.wrapping_add_assign(&c).is_err());
        assert_eq!(a.row(0).unwrap(), BigUint::from(5u32));
    }
}
