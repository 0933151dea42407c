//! Bit lengths, counts of bits and tests of bits (`kernels/linear/bits.cuh`).

use gpuint_catalogue::Op;

use super::{View, faces};
use crate::backend::host::zeroed_vec;
use crate::backend::{Operands, Params};
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
                return Ok(());
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

    /// An operation with one number a row of at most `BITS`.
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

    pub(crate) fn is_zero_mask_into(&self, mask: &mut Mask) -> Result<()> {
        self.test(Op::IsZeroMask, self.operands(), mask)
    }
}

faces! {
    "Bit lengths, counts and tests";

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

    /// The number of bits of each row that are set.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn count_ones() -> Words;

    /// The zeros of each row below its lowest bit that is set, `BITS` for zero.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn trailing_zeros() -> Words;

    /// The zeros of each row above its highest bit that is set, `BITS` for zero.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn leading_zeros() -> Words;

    /// A mask of the rows whose bit of that number is set, none from `BITS` on.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    fn bit_mask(bit: Count) -> NewMask;

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
