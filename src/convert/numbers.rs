//! Rows from and to integers of other types, by the traits of `num-traits`.

use gpuint_catalogue::Shape;
use num_traits::{Bounded, FromBytes, ToBytes, Unsigned};

use crate::backend::host::{reserved_vec, zeroed_vec};
use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::shape::Kernels;

/// # Integers of other types
impl DynBatch {
    /// Makes a batch of unsigned integers of any type with the traits of `num-traits`, in order.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing) if the shape is not built, and as
    /// [`Batch::from_numbers`].
    pub fn from_numbers<N: Unsigned + ToBytes>(
        device: &Device,
        shape: Shape,
        numbers: &[N],
    ) -> Result<Self> {
        device.check_shape(shape)?;
        Self::from_parts(device, shape, numbers.len(), |first, part| {
            for (index, row) in part.chunks_exact_mut(shape.bytes()).enumerate() {
                let row_index = first + index;
                let bytes = numbers[row_index].to_le_bytes();
                let bytes = fitting(row_index, bytes.as_ref(), shape.bits)?;
                let (low, high) = row.split_at_mut(bytes.len());
                low.copy_from_slice(bytes);
                high.fill(0);
            }
            Ok(())
        })
    }

    /// Returns the values as unsigned integers of a type with the traits of `num-traits`.
    ///
    /// # Errors
    /// As [`Batch::to_numbers`].
    pub fn to_numbers<N>(&self) -> Result<Vec<N>>
    where
        N: Unsigned + Bounded + ToBytes + FromBytes,
        for<'a> &'a <N as FromBytes>::Bytes: TryFrom<&'a [u8]>,
    {
        let largest = N::max_value().to_le_bytes();
        let (len, width) = (largest.as_ref().len(), bit_length(largest.as_ref()));
        let mut numbers = reserved_vec(self.len())?;
        let mut bytes: Vec<u8> = zeroed_vec(len)?;
        let row_bytes = self.shape().bytes();
        self.read_parts(0, self.len(), |first, part| {
            for (index, row) in part.chunks_exact(row_bytes).enumerate() {
                let row = fitting(first + index, row, width)?;
                bytes.fill(0);
                bytes[..row.len()].copy_from_slice(row);
                // The bytes of a type have one length.
                let partial = Error::PartialRow { len: row_bytes, row: len };
                let bytes = bytes.as_slice().try_into().map_err(|_| partial)?;
                numbers.push(N::from_le_bytes(bytes));
            }
            Ok(())
        })?;
        Ok(numbers)
    }
}

/// Returns the bytes, least significant first, without leading zeros, if they have at most `width`
/// bits.
pub(crate) fn fitting(row: usize, bytes: &[u8], width: usize) -> Result<&[u8]> {
    match bit_length(bytes) {
        bits if bits <= width => Ok(&bytes[..bits.div_ceil(8)]),
        bits => Err(Error::TooWide { row, bits: bits as u64, width }),
    }
}

/// Returns the bit length of bytes, least significant first.
fn bit_length(bytes: &[u8]) -> usize {
    let top = bytes.iter().rposition(|&byte| byte != 0);
    top.map_or(0, |top| 8 * top + 8 - bytes[top].leading_zeros() as usize)
}

/// # Integers of other types
impl<T: Kernels> Batch<T> {
    /// Makes a batch of unsigned integers of any type with the traits of `num-traits`, in order:
    /// `u8` to `u128`, `BigUint`, and types of other crates with `Unsigned` and `ToBytes`.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Error, GpuUint};
    ///
    /// let batch = Batch::<GpuUint<256>>::from_numbers(&Device::cpu(), &[7u64, 1 << 40])?;
    /// assert_eq!(batch.to_numbers::<u128>()?, [7, 1 << 40]);
    /// let error = batch.to_numbers::<u32>().unwrap_err();
    /// assert_eq!(error, Error::TooWide { row: 1, bits: 41, width: 32 });
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) with the lowest row that needs more than `BITS` bits,
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn from_numbers<N: Unsigned + ToBytes>(device: &Device, numbers: &[N]) -> Result<Self> {
        DynBatch::from_numbers(&device.of::<T>(), T::SHAPE, numbers).map(Self::typed)
    }

    /// Returns the values as unsigned integers of a type with the traits of `num-traits`.
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) with the lowest row that does not fit in the type,
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_numbers<N>(&self) -> Result<Vec<N>>
    where
        N: Unsigned + Bounded + ToBytes + FromBytes,
        for<'a> &'a <N as FromBytes>::Bytes: TryFrom<&'a [u8]>,
    {
        self.as_dyn().to_numbers()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use num_bigint::BigUint;
    use num_traits::One;

    use super::*;
    use crate::shape::narrowest;

    /// Reads back the values of a type, and as another one.
    fn round_trip<N>(values: &[N])
    where
        N: Unsigned + Bounded + ToBytes + FromBytes + Copy + Into<u128> + PartialEq + Debug,
        for<'a> &'a <N as FromBytes>::Bytes: TryFrom<&'a [u8]>,
    {
        for shape in [256, 1024].map(|bits| narrowest(bits).unwrap()) {
            let batch = DynBatch::from_numbers(&Device::cpu(), shape, values).unwrap();
            assert_eq!(batch.to_numbers::<N>().unwrap(), values);
            let wide: Vec<u128> = values.iter().map(|&value| value.into()).collect();
            assert_eq!(batch.to_numbers::<u128>().unwrap(), wide);
        }
    }

    #[test]
    fn integers_of_all_types_are_read_back() {
        round_trip::<u8>(&[0, 1, 127, 128, 255]);
        round_trip::<u16>(&[0, 255, 256, 0x8000, u16::MAX]);
        round_trip::<u32>(&[0, 1 << 24, u32::MAX]);
        round_trip::<u64>(&[0, 1 << 56, u64::MAX - 1, u64::MAX]);
        round_trip::<u128>(&[0, 1 << 64, u128::MAX]);
        round_trip::<u64>(&[]);
    }

    #[test]
    fn integers_that_do_not_fit_are_errors() {
        let shape = narrowest(256).unwrap();
        let largest: BigUint = (BigUint::one() << 256) - 1u32;
        let values = [BigUint::one() << 128, largest.clone()];
        let batch = DynBatch::from_numbers(&Device::cpu(), shape, &values).unwrap();
        assert_eq!(batch.to_biguints().unwrap(), values);
        let wide = batch.to_numbers::<u128>().err();
        assert_eq!(wide, Some(Error::TooWide { row: 0, bits: 129, width: 128 }));
        let values = [BigUint::one(), largest + 1u32];
        let error = DynBatch::from_numbers(&Device::cpu(), shape, &values).err();
        assert_eq!(error, Some(Error::TooWide { row: 1, bits: 257, width: 256 }));
        let missing = Shape { bits: 1088, ..shape };
        let error = DynBatch::from_numbers(&Device::cpu(), missing, &[1u8]).err();
        assert_eq!(error, Some(Error::ShapeMissing { shape: missing }));
    }
}
