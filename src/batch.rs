//! Batches: many integers of one width on a device.

use std::fmt;
use std::marker::PhantomData;

use num_bigint::BigUint;

use crate::backend::Buffer;
use crate::backend::host::{check_room, read_integer, reserved_vec, write_integer, zeroed_vec};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::shape::Kernels;

/// Host memory through which integers are converted, in bytes: conversions of any size need no
/// more than this, or one row where that is more.
const STAGING: usize = 1 << 24;

/// Integers of one shape on a device, one a row.
///
/// Every row is a value from 0 to `2^BITS - 1`. A batch may have any number of rows, 0 included.
/// It is not `Clone`, because a copy on a device can fail: see [`try_clone`](Self::try_clone).
pub struct Batch<T: Kernels> {
    device: Device,
    buffer: Buffer,
    rows: usize,
    shape: PhantomData<T>,
}

impl<T: Kernels> Batch<T> {
    /// Bytes per row.
    const ROW_BYTES: usize = T::SHAPE.bytes();

    /// Rows that fit in the staging memory.
    const STAGED_ROWS: usize =
        if STAGING > Self::ROW_BYTES { STAGING / Self::ROW_BYTES } else { 1 };

    /// A batch of these values, in this order.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Error, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let values = [BigUint::from(7u32), BigUint::from(1u32) << 1023];
    /// let batch = Batch::<GpuUint<1024>>::from_biguints(&device, &values)?;
    /// assert_eq!(batch.to_biguints()?, values);
    ///
    /// let wide = [BigUint::from(1u32) << 1024];
    /// let error = Batch::<GpuUint<1024>>::from_biguints(&device, &wide).unwrap_err();
    /// assert_eq!(error, Error::TooWide { row: 0, bits: 1025, width: 1024 });
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) with the lowest row that needs more than `BITS` bits,
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn from_biguints(device: &Device, values: &[BigUint]) -> Result<Self> {
        for (row, value) in values.iter().enumerate() {
            check_width::<T>(row, value)?;
        }
        Self::from_rows(device, values.len(), |row, bytes| write_integer(&values[row], bytes))
    }

    /// A batch of so many rows, all of one value.
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) where the value needs more than `BITS` bits (row 0),
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn splat(device: &Device, value: &BigUint, rows: usize) -> Result<Self> {
        check_width::<T>(0, value)?;
        Self::from_rows(device, rows, |_, bytes| write_integer(value, bytes))
    }

    /// A batch of so many zeros.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn zeros(device: &Device, rows: usize) -> Result<Self> {
        let buffer = device.zeroed_rows(rows, Self::ROW_BYTES)?;
        Ok(Self::over(device, buffer, rows))
    }

    /// A batch of so many values, each drawn evenly from 0 to `2^BITS - 1`.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    #[cfg(feature = "rand")]
    #[cfg_attr(docsrs, doc(cfg(feature = "rand")))]
    pub fn random<R: rand::Rng + ?Sized>(
        device: &Device,
        rows: usize,
        rng: &mut R,
    ) -> Result<Self> {
        Self::from_rows(device, rows, |_, bytes| rng.fill_bytes(bytes))
    }

    /// A batch of the digits of its rows one after the other, each row least significant digit
    /// first.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) where the number of digits is not a multiple of
    /// [`DIGITS`](Kernels::DIGITS): `left` is that number, `right` the next multiple;
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn from_digits(device: &Device, digits: &[T::Digit]) -> Result<Self> {
        check_whole(digits.len(), T::DIGITS)?;
        Self::from_le_bytes(device, bytemuck::cast_slice(digits))
    }

    /// A batch of the bytes of its rows one after the other, `BITS / 8` a row, each row least
    /// significant byte first.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) where the number of bytes is not a multiple of
    /// `BITS / 8`: `left` is that number, `right` the next multiple;
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn from_le_bytes(device: &Device, bytes: &[u8]) -> Result<Self> {
        let rows = check_whole(bytes.len(), Self::ROW_BYTES)?;
        let mut batch = Self::alloc(device, rows)?;
        if rows > 0 {
            device.memory().upload(&mut batch.buffer, 0, bytes)?;
        }
        Ok(batch)
    }

    /// A batch of the bytes of its rows one after the other, `BITS / 8` a row, each row most
    /// significant byte first.
    ///
    /// # Errors
    /// As [`from_le_bytes`](Self::from_le_bytes).
    pub fn from_be_bytes(device: &Device, bytes: &[u8]) -> Result<Self> {
        let rows = check_whole(bytes.len(), Self::ROW_BYTES)?;
        Self::from_rows(device, rows, |row, out| {
            out.copy_from_slice(&bytes[row * Self::ROW_BYTES..][..Self::ROW_BYTES]);
            out.reverse();
        })
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

    /// The device that the rows live on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A copy on the same device.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn try_clone(&self) -> Result<Self> {
        let mut copy = Self::alloc(&self.device, self.rows)?;
        if self.rows > 0 {
            let bytes = byte_offset(self.rows, Self::ROW_BYTES);
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
        let mut staging = Staging::new::<T>(self.rows)?;
        let mut first = 0;
        while first < self.rows {
            let part = staging.rows::<T>(self.rows - first);
            check_room(part.len() / Self::ROW_BYTES, Self::ROW_BYTES)?;
            self.read(first, part)?;
            values.extend(part.chunks_exact(Self::ROW_BYTES).map(read_integer));
            first = values.len();
        }
        Ok(values)
    }

    /// The digits of the rows one after the other, each row least significant digit first.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_digits(&self) -> Result<Vec<T::Digit>> {
        let mut digits = zeroed_vec(self.rows * T::DIGITS)?;
        self.read(0, bytemuck::cast_slice_mut(&mut digits))?;
        Ok(digits)
    }

    /// The bytes of the rows one after the other, each row least significant byte first.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_le_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = zeroed_vec(self.rows * Self::ROW_BYTES)?;
        self.read(0, &mut bytes)?;
        Ok(bytes)
    }

    /// The bytes of the rows one after the other, each row most significant byte first.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_be_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = self.to_le_bytes()?;
        bytes.chunks_exact_mut(Self::ROW_BYTES).for_each(<[u8]>::reverse);
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
        let mut staging = Staging::new::<T>(1)?;
        let part = staging.rows::<T>(1);
        self.read(row, part)?;
        Ok(read_integer(part))
    }
}

/// For the operations.
impl<T: Kernels> Batch<T> {
    /// A batch of so many rows, contents not specified.
    pub(crate) fn alloc(device: &Device, rows: usize) -> Result<Self> {
        let buffer = device.alloc_rows(rows, Self::ROW_BYTES)?;
        Ok(Self::over(device, buffer, rows))
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn over(device: &Device, buffer: Buffer, rows: usize) -> Self {
        Self { device: device.clone(), buffer, rows, shape: PhantomData }
    }

    /// A batch whose rows are written by `write`, which is called for each in turn and
    /// writes all of its bytes.
    fn from_rows(
        device: &Device,
        rows: usize,
        mut write: impl FnMut(usize, &mut [u8]),
    ) -> Result<Self> {
        let mut batch = Self::alloc(device, rows)?;
        let mut staging = Staging::new::<T>(rows)?;
        let mut first = 0;
        while first < rows {
            let part = staging.rows::<T>(rows - first);
            let offset = byte_offset(first, Self::ROW_BYTES);
            for bytes in part.chunks_exact_mut(Self::ROW_BYTES) {
                write(first, bytes);
                first += 1;
            }
            device.memory().upload(&mut batch.buffer, offset, part)?;
        }
        Ok(batch)
    }

    /// Copies whole rows to the host, from one on.
    fn read(&self, first: usize, target: &mut [u8]) -> Result<()> {
        if target.is_empty() {
            return Ok(());
        }
        let offset = byte_offset(first, Self::ROW_BYTES);
        self.device.memory().download(&self.buffer, offset, target)
    }
}

// Batches go to other threads, and are read by several.
static_assertions::assert_impl_all!(Batch<crate::GpuUint<1024>>: Send, Sync);

impl<T: Kernels> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("shape", &T::SHAPE)
            .field("rows", &self.rows)
            .field("device", &self.device)
            .finish()
    }
}

/// Memory of the host for a part of the rows, aligned for any digit.
struct Staging(Vec<u64>);

impl Staging {
    /// Enough for so many rows, or for [`STAGING`] bytes of them.
    fn new<T: Kernels>(rows: usize) -> Result<Self> {
        let bytes = rows.min(Batch::<T>::STAGED_ROWS) * Batch::<T>::ROW_BYTES;
        zeroed_vec(bytes.div_ceil(size_of::<u64>())).map(Self)
    }

    /// The memory for the next part of so many rows that are left.
    fn rows<T: Kernels>(&mut self, left: usize) -> &mut [u8] {
        let bytes = left.min(Batch::<T>::STAGED_ROWS) * Batch::<T>::ROW_BYTES;
        &mut bytemuck::cast_slice_mut(&mut self.0)[..bytes]
    }
}

/// Where a row starts. A row of a batch that exists does not start beyond 2^64.
fn byte_offset(row: usize, row_bytes: usize) -> u64 {
    row as u64 * row_bytes as u64
}

fn check_width<T: Kernels>(row: usize, value: &BigUint) -> Result<()> {
    let bits = value.bits();
    if bits > T::BITS as u64 {
        return Err(Error::TooWide { row, bits, width: T::BITS });
    }
    Ok(())
}

/// The number of rows of so many digits or bytes.
fn check_whole(len: usize, row: usize) -> Result<usize> {
    if !len.is_multiple_of(row) {
        return Err(Error::LengthMismatch { left: len, right: len.next_multiple_of(row) });
    }
    Ok(len / row)
}

#[cfg(test)]
mod tests {
    use num_traits::One;

    use super::*;
    use crate::GpuUint;

    type U1024 = GpuUint<1024, 4, u16>;

    fn numbers(count: u32) -> Vec<BigUint> {
        (0..count).map(|n| (BigUint::one() << (n * 1023 / count.max(1))) + n).collect()
    }

    #[test]
    fn conversions_agree() {
        let device = Device::cpu();
        for count in [0, 1, 7] {
            let values = numbers(count);
            let batch = Batch::<U1024>::from_biguints(&device, &values).unwrap();
            assert_eq!((batch.len(), batch.is_empty()), (values.len(), values.is_empty()));
            assert_eq!(batch.device(), &device);
            assert_eq!(batch.to_biguints().unwrap(), values);

            let digits = batch.to_digits().unwrap();
            let little = batch.to_le_bytes().unwrap();
            let big = batch.to_be_bytes().unwrap();
            for (row, value) in values.iter().enumerate() {
                let mut expected = value.to_bytes_le();
                expected.resize(128, 0);
                assert_eq!(little[128 * row..][..128], expected);
                expected.reverse();
                assert_eq!(big[128 * row..][..128], expected);
                assert_eq!(batch.row(row).unwrap(), *value);
                assert_eq!(digits[64 * row] & 1, u16::from(value.bit(0)));
            }
            for again in [
                Batch::<U1024>::from_digits(&device, &digits),
                Batch::from_le_bytes(&device, &little),
                Batch::from_be_bytes(&device, &big),
                batch.try_clone(),
            ] {
                assert_eq!(again.unwrap().to_biguints().unwrap(), values);
            }
        }
    }

    #[test]
    fn conversions_go_through_staging_memory_in_parts() {
        type U65536 = GpuUint<65536>;
        let rows = Batch::<U65536>::STAGED_ROWS + 3;
        let value = (BigUint::one() << 65535) + 5u32;
        let batch = Batch::<U65536>::splat(&Device::cpu(), &value, rows).unwrap();
        assert_eq!(batch.to_biguints().unwrap(), vec![value; rows]);
    }

    #[test]
    fn bad_input_is_an_error() {
        let device = Device::cpu();
        let wide = [BigUint::one(), BigUint::one() << 1030, BigUint::one() << 2000];
        assert_eq!(
            Batch::<U1024>::from_biguints(&device, &wide).unwrap_err(),
            Error::TooWide { row: 1, bits: 1031, width: 1024 }
        );
        assert_eq!(
            Batch::<U1024>::splat(&device, &wide[2], 0).unwrap_err(),
            Error::TooWide { row: 0, bits: 2001, width: 1024 }
        );
        assert_eq!(
            Batch::<U1024>::from_digits(&device, &[0; 65]).unwrap_err(),
            Error::LengthMismatch { left: 65, right: 128 }
        );
        for bytes in [Batch::<U1024>::from_le_bytes, Batch::<U1024>::from_be_bytes] {
            assert_eq!(
                bytes(&device, &[0; 127]).unwrap_err(),
                Error::LengthMismatch { left: 127, right: 128 }
            );
        }
        let batch = Batch::<U1024>::zeros(&device, 3).unwrap();
        assert_eq!(batch.row(3).unwrap_err(), Error::NoSuchRow { row: 3, rows: 3 });
    }

    #[test]
    fn absurd_sizes_are_out_of_memory() {
        let device = Device::cpu();
        for rows in [usize::MAX, usize::MAX / 128, 1 << 50] {
            assert!(matches!(
                Batch::<U1024>::zeros(&device, rows).unwrap_err(),
                Error::OutOfMemory { .. }
            ));
        }
        // The size itself overflows.
        assert_eq!(
            Batch::<U1024>::splat(&device, &BigUint::one(), usize::MAX).unwrap_err(),
            Error::OutOfMemory { bytes: u64::MAX }
        );
    }

    #[cfg(feature = "rand")]
    #[test]
    fn random_rows_fill_the_range() {
        use rand::SeedableRng;
        let mut rng = rand::rngs::SmallRng::seed_from_u64(7);
        let batch = Batch::<U1024>::random(&Device::cpu(), 200, &mut rng).unwrap();
        let lengths = batch.bit_lengths().unwrap();
        let full = lengths.iter().filter(|&&bits| bits == 1024).count();
        assert!((60..140).contains(&full), "the top bit is set in {full} of 200 rows");
    }
}
