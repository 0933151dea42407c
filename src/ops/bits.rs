//! Bit lengths and the test for zero (`kernels/linear/bits.cuh`).

use gpuint_catalogue::Op;

use crate::backend::host::zeroed_vec;
use crate::backend::{Operands, Params};
use crate::batch::Batch;
use crate::error::Result;
use crate::mask::Mask;
use crate::shape::Kernels;
use crate::strategy::Strategy;

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

    /// The number of bits of each row that are set: nothing wraps.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    pub fn count_ones(&self) -> Result<Vec<u64>> {
        self.lengths(Op::CountOnes)
    }

    /// The zeros of each row below its lowest bit that is set, `BITS` for zero: nothing wraps.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    pub fn trailing_zeros(&self) -> Result<Vec<u64>> {
        self.lengths(Op::TrailingZeros)
    }

    /// The zeros of each row above its highest bit that is set, `BITS` for zero: nothing wraps.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    pub fn leading_zeros(&self) -> Result<Vec<u64>> {
        let mut zeros = self.bit_lengths()?;
        zeros.iter_mut().for_each(|length| *length = T::BITS as u64 - *length);
        Ok(zeros)
    }

    fn lengths(&self, op: Op) -> Result<Vec<u64>> {
        let operands = Operands { ins: [Some(self.buffer()), None, None], ..self.operands() };
        let lengths = self.measure::<u32>(op, operands, self.len())?;
        Ok(lengths.into_iter().map(u64::from).collect())
    }

    /// A mask of the rows whose bit of that number is set, none from `BITS` on: nothing wraps.
    ///
    /// # Errors
    /// As [`bit_lengths`](Self::bit_lengths).
    pub fn bit_mask(&self, bit: usize) -> Result<Mask> {
        self.produce_mask(|mask| {
            if bit >= T::BITS {
                return Ok(());
            }
            let operands = Operands {
                ins: [Some(self.buffer()), None, None],
                mask: Some(mask.cleared()?),
                params: Params { distance: bit as u32, ..Params::default() },
                ..self.operands()
            };
            self.device().launch(self.kernel(Op::BitMask, Strategy::Auto)?, operands)
        })
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
