//! Bit lengths and the test for zero (`kernels/linear/bits.cuh`).

use gpuint_catalogue::Op;

use super::{View, faces};
use crate::backend::host::zeroed_vec;
use crate::error::Result;
use crate::mask::Mask;

impl View<'_> {
    pub(crate) fn bit_lengths(&self) -> Result<Vec<u64>> {
        let mut lengths = zeroed_vec(self.len())?;
        self.bit_lengths_into(&mut lengths)?;
        Ok(lengths)
    }

    pub(crate) fn bit_lengths_into(&self, out: &mut [u64]) -> Result<()> {
        let lengths = self.measure::<u32>(Op::BitLengths, self.operands(), out.len())?;
        for (target, length) in out.iter_mut().zip(lengths) {
            *target = length.into();
        }
        Ok(())
    }

    pub(crate) fn is_zero_mask(&self) -> Result<Mask> {
        self.produce_mask(|mask| self.is_zero_mask_into(mask))
    }

    pub(crate) fn is_zero_mask_into(&self, mask: &mut Mask) -> Result<()> {
        self.test(Op::IsZeroMask, None, mask)
    }
}

faces! {
    "Bit lengths and zeros";

    /// The bits of each row without leading zeros, 0 for zero.
    ///
    /// # Errors
    /// What any operation may return: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver); the `_into` forms also
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch) and
    /// [`LengthMismatch`](crate::Error::LengthMismatch).
    fn bit_lengths() -> Words;

    /// [`bit_lengths`](Self::bit_lengths) into host memory that exists, as long as the batch. (The
    /// device holds four bytes a row for the time of the call.)
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn bit_lengths_into(out: OutWords) -> Nothing;

    /// A mask of the rows that are zero.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn is_zero_mask() -> NewMask;

    /// [`is_zero_mask`](Self::is_zero_mask) into a mask that exists, without allocating.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn is_zero_mask_into(mask: OutMask) -> Nothing;
}
