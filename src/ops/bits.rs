//! Bit lengths, counts of bits and tests of bits (`kernels/linear/bits.cuh`).

use gpuint_catalogue::Op;

use super::{View, faces};
use crate::backend::host::zeroed_vec;
use crate::backend::{Operands, Params};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;

impl View<'_> {
    pub(crate) fn bit_lengths(&self) -> Result<Vec<u64>> {
        self.counts(Op::BitLengths)
    }

    pub(crate) fn bit_lengths_into(&self, out: &mut [u64]) -> Result<()> {
        self.counts_into(Op::BitLengths, out)
    }

    pub(crate) fn count_ones(&self) -> Result<Vec<u64>> {
        self.counts(Op::CountOnes)
    }

    pub(crate) fn trailing_zeros(&self) -> Result<Vec<u64>> {
        self.counts(Op::TrailingZeros)
    }

    pub(crate) fn leading_zeros(&self) -> Result<Vec<u64>> {
        let mut zeros = self.bit_lengths()?;
        zeros.iter_mut().for_each(|length| *length = self.shape().bits as u64 - *length);
        Ok(zeros)
    }

    pub(crate) fn bit_mask(&self, bit: usize) -> Result<Mask> {
        self.produce_mask(|mask| {
            if bit >= self.shape().bits {
                return mask.cleared().map(drop);
            }
            let params = Params { distance: bit as u32, ..Params::default() };
            self.test(Op::BitMask, Operands { params, ..self.operands() }, mask)
        })
    }

    fn counts(&self, op: Op) -> Result<Vec<u64>> {
        let mut counts = zeroed_vec(self.len())?;
        self.counts_into(op, &mut counts)?;
        Ok(counts)
    }

    /// Runs an operation that returns one number of at most `BITS` a row.
    fn counts_into(&self, op: Op, out: &mut [u64]) -> Result<()> {
        let counts = self.measure::<u32>(op, self.operands(), out.len())?;
        for (target, count) in out.iter_mut().zip(counts) {
            *target = count.into();
        }
        Ok(())
    }

    pub(crate) fn is_zero_mask(&self) -> Result<Mask> {
        self.produce_mask(|mask| self.is_zero_mask_into(mask))
    }

    /// Returns a mask of the rows that are not zero, without waiting for the device.
    pub(super) fn is_positive_mask(&self) -> Result<Mask> {
        DynBatch::zeros(self.device(), self.shape(), self.len())?.lt_mask(self.batch)
    }

    pub(crate) fn is_zero_mask_into(&self, mask: &mut Mask) -> Result<()> {
        self.test(Op::IsZeroMask, self.operands(), mask)
    }
}

faces! {
    "Bit lengths, counts and tests";

    /// Returns the bit length of each row: 0 for zero.
    ///
    /// # Errors
    /// The errors of any operation: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver); the `_into` forms also
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch) and
    /// [`LengthMismatch`](crate::Error::LengthMismatch).
    fn bit_lengths() -> Words;

    /// Computes [`bit_lengths`](Self::bit_lengths) into host memory as long as the batch. (During
    /// the call the device holds four bytes a row.)
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn bit_lengths_into(out: OutWords) -> Nothing;

    /// Returns the number of ones in each row.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn count_ones() -> Words;

    /// Returns the number of zeros below the lowest one of each row: `BITS` for zero.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn trailing_zeros() -> Words;

    /// Returns the number of zeros above the highest one of each row: `BITS` for zero.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn leading_zeros() -> Words;

    /// Returns a mask of the rows whose bit `bit` is set: no rows from `BITS` on.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn bit_mask(bit: Count) -> NewMask;

    /// Returns a mask of the rows that are zero.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn is_zero_mask() -> NewMask;

    /// Computes [`is_zero_mask`](Self::is_zero_mask) into an existing mask, without allocating.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn is_zero_mask_into(mask: OutMask) -> Nothing;
}
