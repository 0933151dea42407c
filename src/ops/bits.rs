//! Bit lengths and the test for zero (`kernels/linear/bits.cuh`).

use gpuint_catalogue::Op;

use crate::backend::Operands;
use crate::backend::host::zeroed_vec;
use crate::batch::Batch;
use crate::error::Result;
use crate::mask::Mask;
use crate::shape::Kernels;

impl<T: Kernels> Batch<T> {
    /// The bits of each row without leading zeros, 0 for zero: nothing wraps.
    ///
    /// # Errors
    /// What any operation may return: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver); the `_into` forms also
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch) and
    /// [`LengthMismatch`](crate::Error::LengthMismatch).
    pub fn bit_lengths(&self) -> Result<Vec<u64>> {
        let mut lengths = zeroed_vec(self.len())?;
        self.bit_lengths_into(&mut lengths)?;
        Ok(lengths)
    }

    /// [`bit_lengths`](Self::bit_lengths) into host memory that exists, as long as the batch. (The
    /// device holds four bytes a row for the time of the call.)
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    pub fn bit_lengths_into(&self, out: &mut [u64]) -> Result<()> {
        let operands = Operands { ins: [Some(self.buffer()), None, None], ..self.operands() };
        let lengths = self.measure::<u32>(Op::BitLengths, operands, out.len())?;
        for (target, length) in out.iter_mut().zip(lengths) {
            *target = length.into();
        }
        Ok(())
    }

    /// A mask of the rows that are zero: nothing wraps.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    pub fn is_zero_mask(&self) -> Result<Mask> {
        self.produce_mask(|mask| self.is_zero_mask_into(mask))
    }

    /// [`is_zero_mask`](Self::is_zero_mask) into a mask that exists, without allocating.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    pub fn is_zero_mask_into(&self, mask: &mut Mask) -> Result<()> {
        self.test(Op::IsZeroMask, None, mask)
    }
}
