//! Rows from and to arrays of Apache Arrow.

use arrow_array::{Array, FixedSizeBinaryArray};
use arrow_buffer::Buffer;
use gpuint_catalogue::Shape;

use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::shape::Kernels;

/// # Arrays of Apache Arrow
#[cfg_attr(docsrs, doc(cfg(feature = "arrow")))]
impl DynBatch {
    /// Makes a batch of the values of an array, each `BITS / 8` bytes, least significant byte
    /// first.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing) if the shape is not built, and as
    /// [`Batch::from_arrow`].
    pub fn from_arrow(device: &Device, shape: Shape, array: &FixedSizeBinaryArray) -> Result<Self> {
        device.check_shape(shape)?;
        if let Some(row) = (0..array.len()).find(|&row| array.is_null(row)) {
            return Err(Error::NullRow { row });
        }
        let value_bytes = array.value_size();
        if value_bytes != shape.bytes() {
            return Err(Error::PartialRow { len: value_bytes, row: shape.bytes() });
        }
        Self::from_le_bytes(device, shape, &array.value_data()[..array.len() * value_bytes])
    }

    /// Returns the rows as an array without null values, each `BITS / 8` bytes, least significant
    /// byte first.
    ///
    /// # Errors
    /// As [`Batch::to_arrow`].
    pub fn to_arrow(&self) -> Result<FixedSizeBinaryArray> {
        let bytes = Buffer::from_vec(self.to_le_bytes()?);
        // A row has at most 2^17 bytes.
        FixedSizeBinaryArray::try_new(self.shape().bytes() as i32, bytes, None)
            .map_err(|error| Error::Driver(error.to_string()))
    }
}

/// # Arrays of Apache Arrow
#[cfg_attr(docsrs, doc(cfg(feature = "arrow")))]
impl<T: Kernels> Batch<T> {
    /// Makes a batch of the values of an array, each `BITS / 8` bytes, least significant byte
    /// first.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Error, GpuUint};
    ///
    /// let batch = Batch::<GpuUint<256>>::splat(&Device::cpu(), 7, 3)?;
    /// let array = batch.to_arrow()?;
    /// assert_eq!((array.value_length(), array.value(2)[0]), (32, 7));
    /// assert!(Batch::from_arrow(&Device::cpu(), &array)?.is_equal(&batch)?);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`NullRow`](Error::NullRow) with the lowest row that is null,
    /// [`PartialRow`](Error::PartialRow) if the values have another number of bytes,
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn from_arrow(device: &Device, array: &FixedSizeBinaryArray) -> Result<Self> {
        DynBatch::from_arrow(&device.of::<T>(), T::SHAPE, array).map(Self::typed)
    }

    /// Returns the rows as an array without null values, each `BITS / 8` bytes, least significant
    /// byte first.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_arrow(&self) -> Result<FixedSizeBinaryArray> {
        self.as_dyn().to_arrow()
    }
}
