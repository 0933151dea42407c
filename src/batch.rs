//! Batches: many integers of one width on a device, typed by their shape.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;

use num_bigint::BigUint;

use crate::backend::host::zeroed_pages;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::host_batch::HostBatch;
use crate::rows::whole_rows;
use crate::shape::Kernels;
use crate::typed::typed_rows;
use crate::value::Value;

/// Integers of one shape on a device, one a row.
///
/// Every row is a value from 0 to `2^BITS - 1`. A batch may have any number of rows, 0 included.
/// It is not `Clone`, because a copy on a device can fail: see [`try_clone`](Self::try_clone).
/// [`DynBatch`] holds rows whose width is known only at run time.
pub struct Batch<T: Kernels> {
    inner: DynBatch,
    shape: PhantomData<T>,
}

/// # Conversion
impl<T: Kernels> Batch<T> {
    /// Makes a batch of `values`, in order: integers or references to them, from a slice or any
    /// iterator.
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
    /// let powers = (0u32..900).map(|n| BigUint::from(3u32).pow(n % 600));
    /// assert_eq!(Batch::<GpuUint<1024>>::from_biguints(&device, powers)?.len(), 900);
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
    pub fn from_biguints(
        device: &Device,
        values: impl IntoIterator<Item: Borrow<BigUint>>,
    ) -> Result<Self> {
        DynBatch::from_biguints(&device.of::<T>(), T::SHAPE, values).map(Self::typed)
    }

    /// Makes a batch of `rows` rows, all of one value.
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) where the value needs more than `BITS` bits (row 0),
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn splat(device: &Device, value: impl Value, rows: usize) -> Result<Self> {
        DynBatch::splat(&device.of::<T>(), T::SHAPE, value, rows).map(Self::typed)
    }

    /// Makes a batch of `rows` zeros.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn zeros(device: &Device, rows: usize) -> Result<Self> {
        DynBatch::zeros(&device.of::<T>(), T::SHAPE, rows).map(Self::typed)
    }

    /// Makes a batch of `rows` uniform random values from 0 to `2^BITS - 1`.
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
        DynBatch::random(&device.of::<T>(), T::SHAPE, rows, rng).map(Self::typed)
    }

    /// Makes a batch from the digits of all rows, one row after another, each row's least
    /// significant digit first.
    ///
    /// # Errors
    /// [`PartialRow`](Error::PartialRow) where the number of digits is not a multiple of
    /// [`DIGITS`](Kernels::DIGITS), [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn from_digits(device: &Device, digits: &[T::Digit]) -> Result<Self> {
        whole_rows(digits.len(), T::DIGITS)?;
        Self::from_le_bytes(device, bytemuck::cast_slice(digits))
    }

    /// Makes a batch from the bytes of all rows, one row after another, `BITS / 8` a row, each
    /// row's least significant byte first.
    ///
    /// # Errors
    /// [`PartialRow`](Error::PartialRow) where the number of bytes is not a multiple of `BITS / 8`,
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn from_le_bytes(device: &Device, bytes: &[u8]) -> Result<Self> {
        DynBatch::from_le_bytes(&device.of::<T>(), T::SHAPE, bytes).map(Self::typed)
    }

    /// Makes a batch from the bytes of all rows, one row after another, `BITS / 8` a row, each
    /// row's most significant byte first.
    ///
    /// # Errors
    /// As [`from_le_bytes`](Self::from_le_bytes).
    pub fn from_be_bytes(device: &Device, bytes: &[u8]) -> Result<Self> {
        DynBatch::from_be_bytes(&device.of::<T>(), T::SHAPE, bytes).map(Self::typed)
    }

    /// Copies the batch, on its device.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn try_clone(&self) -> Result<Self> {
        self.inner.try_clone().map(Self::typed)
    }

    /// Returns the values.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_biguints(&self) -> Result<Vec<BigUint>> {
        self.inner.to_biguints()
    }

    /// Returns the digits of all rows, one row after another, each row's least significant digit
    /// first.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_digits(&self) -> Result<Vec<T::Digit>> {
        let mut digits = zeroed_pages(self.len() * T::DIGITS)?;
        self.inner.read_le_bytes(0, bytemuck::cast_slice_mut(&mut digits))?;
        Ok(digits)
    }

    /// Returns the bytes of all rows, one row after another, each row's least significant byte
    /// first.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_le_bytes(&self) -> Result<Vec<u8>> {
        self.inner.to_le_bytes()
    }

    /// Returns the bytes of all rows, one row after another, each row's most significant byte
    /// first.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_be_bytes(&self) -> Result<Vec<u8>> {
        self.inner.to_be_bytes()
    }

    /// Returns the value of one row.
    ///
    /// # Errors
    /// [`NoSuchRow`](Error::NoSuchRow), [`Driver`](Error::Driver).
    pub fn row(&self, row: usize) -> Result<BigUint> {
        self.inner.row(row)
    }
}

/// # Copies
impl<T: Kernels> Batch<T> {
    /// Replaces the rows from `first` on by these bytes, `BITS / 8` a row, each row least
    /// significant byte first; see [`DynBatch::write_le_bytes`].
    ///
    /// # Errors
    /// [`PartialRow`](Error::PartialRow) where the number of bytes is not a multiple of `BITS / 8`,
    /// [`NoSuchRow`](Error::NoSuchRow) with the first row that does not exist,
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn write_le_bytes(&mut self, first: usize, bytes: &[u8]) -> Result<()> {
        self.inner.write_le_bytes(first, bytes)
    }

    /// Copies the rows from `first` on to these bytes, `BITS / 8` a row, each row least significant
    /// byte first, as many rows as there is room for.
    ///
    /// # Errors
    /// As [`write_le_bytes`](Self::write_le_bytes).
    pub fn read_le_bytes(&self, first: usize, bytes: &mut [u8]) -> Result<()> {
        self.inner.read_le_bytes(first, bytes)
    }

    /// Replaces the rows from `first` on by all rows of `host`, by a copy that is queued; see
    /// [`DynBatch::upload`].
    ///
    /// # Errors
    /// As [`DynBatch::upload`].
    pub fn upload(&mut self, first: usize, host: &mut HostBatch) -> Result<Event> {
        self.inner.upload(first, host)
    }

    /// Copies the rows from `first` on to all rows of `host`, by a copy that is queued; see
    /// [`DynBatch::download`].
    ///
    /// # Errors
    /// As [`DynBatch::upload`].
    pub fn download(&self, first: usize, host: &mut HostBatch) -> Result<Event> {
        self.inner.download(first, host)
    }

    /// The batch with its operations queued on another queue of its GPU; see [`DynBatch::on`].
    ///
    /// # Errors
    /// [`DeviceMismatch`](Error::DeviceMismatch) where `device` does not share memory with this
    /// one.
    pub fn on(self, device: &Device) -> Result<Self> {
        self.inner.on(device).map(Self::typed)
    }
}

/// # Shapes
impl<T: Kernels> Batch<T> {
    /// Returns the batch as a [`DynBatch`], whose shape is a value.
    #[must_use]
    pub fn into_dyn(self) -> DynBatch {
        self.inner
    }

    /// Wraps a batch that has this shape.
    pub(crate) fn typed(inner: DynBatch) -> Self {
        debug_assert_eq!(inner.shape(), T::SHAPE);
        let inner = if T::IS_JIT { inner.with_jit() } else { inner };
        Self { inner, shape: PhantomData }
    }

    pub(crate) fn as_dyn_mut(&mut self) -> &mut DynBatch {
        &mut self.inner
    }
}

typed_rows!(Batch, DynBatch);

/// Fails with [`ShapeMismatch`](Error::ShapeMismatch) if the batch has another shape.
impl<T: Kernels> TryFrom<DynBatch> for Batch<T> {
    type Error = Error;

    fn try_from(batch: DynBatch) -> Result<Self> {
        match batch.shape() {
            shape if shape == T::SHAPE => Ok(Self::typed(batch)),
            shape => Err(Error::ShapeMismatch { left: T::SHAPE, right: shape }),
        }
    }
}

impl<T: Kernels> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
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
            Error::PartialRow { len: 65, row: 64 }
        );
        for bytes in [Batch::<U1024>::from_le_bytes, Batch::<U1024>::from_be_bytes] {
            assert_eq!(
                bytes(&device, &[0; 127]).unwrap_err(),
                Error::PartialRow { len: 127, row: 128 }
            );
        }
        let batch = Batch::<U1024>::zeros(&device, 3).unwrap();
        assert_eq!(batch.row(3).unwrap_err(), Error::NoSuchRow { row: 3, rows: 3 });
    }

    #[test]
    fn debug_shows_the_shape_and_the_first_values() {
        let batch = Batch::<U1024>::from_biguints(&Device::cpu(), numbers(9)).unwrap();
        let text = format!("{batch:?}");
        for part in ["shape: b1024_q4_u16, rows: 9", "cpu", "values: [0x1, 0x2000"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(text.ends_with(", ..] }") && text.len() < 400, "{text}");
        let text = format!("{:?}", batch.is_zero_mask().unwrap());
        assert!(text.starts_with("Mask { rows: 9, set: 0, device: "), "{text}");
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
