//! Batches whose shape is a value: the one implementation of batches.
//!
//! [`Batch`](crate::Batch) is a typed face of it. Nothing here is generic over shapes, so that the
//! time to compile and the size of the code do not grow with the number of shapes.

use std::fmt;

use num_bigint::BigUint;

use gpuint_catalogue::Shape;

use crate::backend::Buffer;
use crate::backend::host::{check_room, read_integer, reserved_vec, write_integer, zeroed_vec};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::ops::View;
use crate::shape::{is_built, narrowest};
use crate::strategy::Strategy;
use crate::value::Value;

/// Host memory through which integers are converted, in bytes: conversions of any size need no
/// more than this, or one row where that is more.
const STAGING: usize = 1 << 24;

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
    /// Makes a batch of `values`, in order.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing) where the shape is not built,
    /// [`TooWide`](Error::TooWide) with the lowest row that needs more bits than the shape has,
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn from_biguints(device: &Device, shape: Shape, values: &[BigUint]) -> Result<Self> {
        check_built(shape)?;
        for (row, value) in values.iter().enumerate() {
            check_width(shape, row, value)?;
        }
        Self::from_rows(device, shape, values.len(), |row, bytes| {
            write_integer(&values[row], bytes);
        })
    }

    /// Makes a batch of these values with the narrowest shape that holds all of them; see
    /// [`narrowest`].
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) with the lowest row that fits in no width that is built, and as
    /// [`from_biguints`](Self::from_biguints).
    pub fn fitting(device: &Device, values: &[BigUint]) -> Result<Self> {
        let bits = values.iter().map(BigUint::bits).max().unwrap_or(0);
        let shape = usize::try_from(bits).ok().and_then(narrowest);
        let Some(shape) = shape else {
            let row = values.iter().position(|value| value.bits() == bits).unwrap_or(0);
            return Err(Error::TooWide { row, bits, width: widest() });
        };
        Self::from_biguints(device, shape, values)
    }

    /// Makes a batch of `rows` rows, all of one value.
    ///
    /// # Errors
    /// As [`from_biguints`](Self::from_biguints).
    pub fn splat(device: &Device, shape: Shape, value: impl Value, rows: usize) -> Result<Self> {
        check_built(shape)?;
        let value = value.integer();
        check_width(shape, 0, &value)?;
        Self::from_rows(device, shape, rows, |_, bytes| write_integer(&value, bytes))
    }

    /// Makes a batch of `rows` zeros.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing), [`OutOfMemory`](Error::OutOfMemory),
    /// [`Driver`](Error::Driver).
    pub fn zeros(device: &Device, shape: Shape, rows: usize) -> Result<Self> {
        check_built(shape)?;
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
        check_built(shape)?;
        Self::from_rows(device, shape, rows, |_, bytes| rng.fill_bytes(bytes))
    }

    /// Makes a batch of the bytes of its rows one after the other, `BITS / 8` a row, each row least
    /// significant byte first.
    ///
    /// # Errors
    /// [`PartialRow`](Error::PartialRow) where the number of bytes is not a multiple of `BITS / 8`,
    /// and as [`zeros`](Self::zeros).
    pub fn from_le_bytes(device: &Device, shape: Shape, bytes: &[u8]) -> Result<Self> {
        check_built(shape)?;
        let rows = whole_rows(bytes.len(), shape.bytes())?;
        let mut batch = Self::alloc(device, shape, rows)?;
        if rows > 0 {
            device.memory().upload(&mut batch.buffer, 0, bytes)?;
        }
        Ok(batch)
    }

    /// Makes a batch of the bytes of its rows one after the other, `BITS / 8` a row, each row most
    /// significant byte first.
    ///
    /// # Errors
    /// As [`from_le_bytes`](Self::from_le_bytes).
    pub fn from_be_bytes(device: &Device, shape: Shape, bytes: &[u8]) -> Result<Self> {
        check_built(shape)?;
        let row_bytes = shape.bytes();
        let rows = whole_rows(bytes.len(), row_bytes)?;
        Self::from_rows(device, shape, rows, |row, out| {
            out.copy_from_slice(&bytes[row * row_bytes..][..row_bytes]);
            out.reverse();
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
        let mut copy = Self::alloc(&self.device, self.shape, self.rows)?;
        if self.rows > 0 {
            let bytes = byte_offset(self.rows, self.shape.bytes());
            self.device.memory().copy(&mut copy.buffer, 0, &self.buffer, 0, bytes)?;
        }
        Ok(copy)
    }

    /// The values.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_biguints(&self) -> Result<Vec<BigUint>> {
        let mut values = reserved_vec(self.rows)?;
        let row_bytes = self.shape.bytes();
        let mut staging = Staging::new(self.shape, self.rows)?;
        let mut first = 0;
        while first < self.rows {
            let part = staging.rows(self.rows - first);
            check_room(part.len() / row_bytes, row_bytes)?;
            self.read(first, part)?;
            values.extend(part.chunks_exact(row_bytes).map(read_integer));
            first = values.len();
        }
        Ok(values)
    }

    /// The bytes of the rows one after the other, each row least significant byte first.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_le_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = zeroed_vec(self.rows * self.shape.bytes())?;
        self.read(0, &mut bytes)?;
        Ok(bytes)
    }

    /// The bytes of the rows one after the other, each row most significant byte first.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_be_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = self.to_le_bytes()?;
        bytes.chunks_exact_mut(self.shape.bytes()).for_each(<[u8]>::reverse);
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
        let mut staging = Staging::new(self.shape, 1)?;
        let part = staging.rows(1);
        self.read(row, part)?;
        Ok(read_integer(part))
    }

    /// The batch through a strategy: a view with the operations that have algorithms to choose from.
    ///
    /// ```
    /// use gpuint::{Algorithm, Device, DynBatch, Product, narrowest};
    ///
    /// let device = Device::cpu();
    /// let u = DynBatch::splat(&device, narrowest(1000).unwrap(), &100u32.into(), 3)?;
    /// let v = DynBatch::splat(&device, u.shape(), &7u32.into(), 3)?;
    /// let (q, r) = u.using(Algorithm::Blocked(Product::Classical)).div_rem(&v)?;
    /// assert_eq!((q.row(2)?, r.row(2)?), (14u32.into(), 2u32.into()));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    #[must_use]
    pub fn using(&self, strategy: impl Into<Strategy>) -> DynUsing<'_> {
        DynUsing(View { batch: self, strategy: strategy.into() })
    }
}

/// A batch through a strategy: see [`DynBatch::using`].
#[derive(Debug, Clone, Copy)]
pub struct DynUsing<'a>(View<'a>);

impl<'a> DynUsing<'a> {
    pub(crate) fn view(&self) -> View<'a> {
        self.0
    }
}

/// For the operations.
impl DynBatch {
    /// Allocates `rows` rows of a shape that is built, uninitialized.
    pub(crate) fn alloc(device: &Device, shape: Shape, rows: usize) -> Result<Self> {
        let buffer = device.alloc_rows(rows, shape.bytes())?;
        Ok(Self { device: device.clone(), buffer, rows, shape })
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { batch: self, strategy: Strategy::Auto }
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    /// Replaces the rows by what `write` makes of them, in memory that the device keeps for this:
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
        let written = write(self, &mut out);
        if written.is_ok() {
            std::mem::swap(&mut self.buffer, &mut out.buffer);
        }
        self.device.keep_spare(out.buffer);
        written
    }

    /// Makes a batch whose rows are written by `write`, which is called for each in turn and writes
    /// all of its bytes.
    fn from_rows(
        device: &Device,
        shape: Shape,
        rows: usize,
        mut write: impl FnMut(usize, &mut [u8]),
    ) -> Result<Self> {
        let mut batch = Self::alloc(device, shape, rows)?;
        let mut staging = Staging::new(shape, rows)?;
        let mut first = 0;
        while first < rows {
            let part = staging.rows(rows - first);
            let offset = byte_offset(first, shape.bytes());
            for bytes in part.chunks_exact_mut(shape.bytes()) {
                write(first, bytes);
                first += 1;
            }
            device.memory().upload(&mut batch.buffer, offset, part)?;
        }
        Ok(batch)
    }

    /// Copies whole rows to the host, from `first` on.
    pub(crate) fn read(&self, first: usize, target: &mut [u8]) -> Result<()> {
        if target.is_empty() {
            return Ok(());
        }
        let offset = byte_offset(first, self.shape.bytes());
        self.device.memory().download(&self.buffer, offset, target)
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

/// Memory of the host for a part of the rows, aligned for any digit.
struct Staging {
    words: Vec<u64>,
    row_bytes: usize,
}

impl Staging {
    /// Memory for `rows` rows, or for [`STAGING`] bytes of them.
    fn new(shape: Shape, rows: usize) -> Result<Self> {
        let row_bytes = shape.bytes();
        let bytes = rows.min(staged_rows(row_bytes)) * row_bytes;
        Ok(Self { words: zeroed_vec(bytes.div_ceil(size_of::<u64>()))?, row_bytes })
    }

    /// The memory for the next part of the `left` rows.
    fn rows(&mut self, left: usize) -> &mut [u8] {
        let bytes = left.min(staged_rows(self.row_bytes)) * self.row_bytes;
        &mut bytemuck::cast_slice_mut(&mut self.words)[..bytes]
    }
}

/// Rows that fit in the staging memory.
fn staged_rows(row_bytes: usize) -> usize {
    (STAGING / row_bytes).max(1)
}

/// Where a row starts. A row of a batch that exists does not start beyond 2^64.
fn byte_offset(row: usize, row_bytes: usize) -> u64 {
    row as u64 * row_bytes as u64
}

pub(crate) fn check_built(shape: Shape) -> Result<()> {
    if is_built(shape) { Ok(()) } else { Err(Error::ShapeMissing { shape }) }
}

fn check_width(shape: Shape, row: usize, value: &BigUint) -> Result<()> {
    let bits = value.bits();
    if bits > shape.bits as u64 {
        return Err(Error::TooWide { row, bits, width: shape.bits });
    }
    Ok(())
}

/// The widest width that is built.
fn widest() -> usize {
    crate::shapes().iter().map(|shape| shape.bits).max().unwrap_or(0)
}

/// Number of rows of `len` bytes or digits.
pub(crate) fn whole_rows(len: usize, row: usize) -> Result<usize> {
    if !len.is_multiple_of(row) {
        return Err(Error::PartialRow { len, row });
    }
    Ok(len / row)
}

#[cfg(test)]
mod tests {
    use num_traits::One;

    use super::*;

    #[test]
    fn conversions_go_through_staging_memory_in_parts() {
        let shape = narrowest(65536).unwrap();
        let rows = staged_rows(shape.bytes()) + 3;
        let value = (BigUint::one() << 65535) + 5u32;
        let batch = DynBatch::splat(&Device::cpu(), shape, &value, rows).unwrap();
        assert_eq!(batch.to_biguints().unwrap(), vec![value; rows]);
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
        let wide = [BigUint::one(), BigUint::one() << (1 << 21)];
        let error = DynBatch::fitting(&device, &wide).unwrap_err();
        assert!(matches!(error, Error::TooWide { row: 1, .. }), "{error}");
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
