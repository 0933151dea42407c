//! Rows from and to the integer types of other crates.

use std::borrow::Cow;

use gpuint_catalogue::Shape;
use num_bigint::BigUint;

use super::numbers::fitting;
use crate::backend::host::{check_room, read_rows, reserved_pages};
use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::rows::write_checked;
use crate::shape::Kernels;

/// An integer type whose values go to and from rows: [`from_integers`](Batch::from_integers),
/// [`to_integers`](Batch::to_integers).
///
/// Implemented for [`BigUint`] and, by features of the same names, for the integers of
/// `crypto-bigint` (`Uint`), `malachite` (`Natural`), `rug` (`Integer`) and `ruint` (`Uint`).
pub trait Integer: Sized + Send + Sync {
    /// Width of the type in bits; `None` if its values have any size.
    const BITS: Option<usize>;

    /// Returns true if the value is negative, which no row holds.
    fn is_negative(&self) -> bool {
        false
    }

    /// Returns the bytes of the value, least significant first, with or without leading zeros.
    fn le_bytes(&self) -> Cow<'_, [u8]>;

    /// Returns the value of bytes, least significant first and without leading zeros, which has at
    /// most [`BITS`](Self::BITS) bits.
    fn from_le_bytes(bytes: &[u8]) -> Self;
}

impl Integer for BigUint {
    const BITS: Option<usize> = None;

    fn le_bytes(&self) -> Cow<'_, [u8]> {
        self.to_bytes_le().into()
    }

    fn from_le_bytes(bytes: &[u8]) -> Self {
        Self::from_bytes_le(bytes)
    }
}

/// Returns the limbs of bytes, which fill at most `limbs`.
#[cfg(any(feature = "crypto-bigint", feature = "ruint"))]
fn limbs<L: bytemuck::Pod, const LIMBS: usize>(bytes: &[u8]) -> [L; LIMBS] {
    let mut limbs = [L::zeroed(); LIMBS];
    bytemuck::cast_slice_mut(&mut limbs)[..bytes.len()].copy_from_slice(bytes);
    limbs
}

#[cfg(feature = "crypto-bigint")]
#[cfg_attr(docsrs, doc(cfg(feature = "crypto-bigint")))]
impl<const LIMBS: usize> Integer for crypto_bigint::Uint<LIMBS> {
    const BITS: Option<usize> = Some(LIMBS * crypto_bigint::Word::BITS as usize);

    fn le_bytes(&self) -> Cow<'_, [u8]> {
        bytemuck::cast_slice(self.as_words()).into()
    }

    fn from_le_bytes(bytes: &[u8]) -> Self {
        Self::from_words(limbs(bytes))
    }
}

#[cfg(feature = "ruint")]
#[cfg_attr(docsrs, doc(cfg(feature = "ruint")))]
impl<const BITS: usize, const LIMBS: usize> Integer for ruint::Uint<BITS, LIMBS> {
    const BITS: Option<usize> = Some(BITS);

    fn le_bytes(&self) -> Cow<'_, [u8]> {
        bytemuck::cast_slice(self.as_limbs()).into()
    }

    fn from_le_bytes(bytes: &[u8]) -> Self {
        Self::from_limbs(limbs(bytes))
    }
}

#[cfg(feature = "malachite")]
#[cfg_attr(docsrs, doc(cfg(feature = "malachite")))]
impl Integer for malachite_nz::natural::Natural {
    const BITS: Option<usize> = None;

    fn le_bytes(&self) -> Cow<'_, [u8]> {
        bytemuck::cast_slice(self.as_limbs_asc()).into()
    }

    fn from_le_bytes(bytes: &[u8]) -> Self {
        const LIMB_BYTES: usize = size_of::<malachite_nz::platform::Limb>();
        let mut limbs = vec![0; bytes.len().div_ceil(LIMB_BYTES)];
        bytemuck::cast_slice_mut(&mut limbs)[..bytes.len()].copy_from_slice(bytes);
        Self::from_owned_limbs_asc(limbs)
    }
}

#[cfg(feature = "rug")]
#[cfg_attr(docsrs, doc(cfg(feature = "rug")))]
impl Integer for rug::Integer {
    const BITS: Option<usize> = None;

    fn is_negative(&self) -> bool {
        self.cmp0().is_lt()
    }

    fn le_bytes(&self) -> Cow<'_, [u8]> {
        bytemuck::cast_slice(self.as_limbs()).into()
    }

    fn from_le_bytes(bytes: &[u8]) -> Self {
        Self::from_digits(bytes, rug::integer::Order::Lsf)
    }
}

/// # Integers of other types
impl DynBatch {
    /// Makes a batch of integers of a type that implements [`Integer`], in order.
    ///
    /// # Errors
    /// [`ShapeMissing`](crate::Error::ShapeMissing) if the shape is not built, and as
    /// [`Batch::from_integers`].
    pub fn from_integers<N: Integer>(device: &Device, shape: Shape, values: &[N]) -> Result<Self> {
        device.check_shape(shape)?;
        Self::from_parts(device, shape, values.len(), |first, part| {
            write_checked(part, shape.bytes(), first, |row, bytes| {
                if values[row].is_negative() {
                    return Err(Error::Negative { row });
                }
                let value = values[row].le_bytes();
                let value = fitting(row, &value, shape.bits)?;
                let (low, high) = bytes.split_at_mut(value.len());
                low.copy_from_slice(value);
                high.fill(0);
                Ok(())
            })
        })
    }

    /// Returns the values as integers of a type that implements [`Integer`].
    ///
    /// # Errors
    /// As [`Batch::to_integers`].
    pub fn to_integers<N: Integer>(&self) -> Result<Vec<N>> {
        let width = N::BITS.unwrap_or(usize::MAX);
        let row_bytes = self.shape().bytes();
        let mut values = reserved_pages(self.len())?;
        self.read_parts(0, self.len(), |first, part| {
            for (index, row) in part.chunks_exact(row_bytes).enumerate() {
                fitting(first + index, row, width)?;
            }
            check_room(part.len() / row_bytes, row_bytes)?;
            let read = |row: &[u8]| {
                let end = row.iter().rposition(|&byte| byte != 0).map_or(0, |top| top + 1);
                N::from_le_bytes(&row[..end])
            };
            read_rows(part, row_bytes, read, &mut values);
            Ok(())
        })?;
        Ok(values)
    }
}

/// # Integers of other types
impl<T: Kernels> Batch<T> {
    /// Makes a batch of integers of a type that implements [`Integer`], in order: integers of
    /// `crypto-bigint`, `malachite`, `rug` and `ruint`, by the features of these names.
    ///
    /// ```
    /// # #[cfg(feature = "crypto-bigint")] {
    /// use crypto_bigint::U256;
    /// use gpuint::{Batch, Device, GpuUint};
    ///
    /// let values = [U256::from_u8(7), U256::MAX];
    /// let batch = Batch::<GpuUint<512>>::from_integers(&Device::cpu(), &values)?;
    /// assert_eq!(batch.to_integers::<U256>()?, values);
    /// assert!(batch.wrapping_square()?.to_integers::<U256>().is_err());
    /// # }
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) with the lowest row that needs more than `BITS` bits,
    /// [`Negative`](crate::Error::Negative) with the lowest row that is negative,
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn from_integers<N: Integer>(device: &Device, values: &[N]) -> Result<Self> {
        DynBatch::from_integers(&device.of::<T>(), T::SHAPE, values).map(Self::typed)
    }

    /// Returns the values as integers of a type that implements [`Integer`].
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) with the lowest row that does not fit in the type,
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn to_integers<N: Integer>(&self) -> Result<Vec<N>> {
        self.as_dyn().to_integers()
    }
}
