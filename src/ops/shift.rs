//! Shifts, by the same distance in all rows (`kernels/linear/shift.cuh`).

use gpuint_catalogue::Op;

use super::{View, faces};
use crate::backend::{Operands, Params};
use crate::dyn_batch::DynBatch;
use crate::error::Result;

impl View<'_> {
    pub(crate) fn shl(&self, bits: usize) -> Result<DynBatch> {
        self.produce(|out| self.shl_into(bits, out))
    }

    pub(crate) fn shl_into(&self, bits: usize, out: &mut DynBatch) -> Result<()> {
        self.shift(Op::Shl, bits, out)
    }

    pub(crate) fn shr(&self, bits: usize) -> Result<DynBatch> {
        self.produce(|out| self.shr_into(bits, out))
    }

    pub(crate) fn shr_into(&self, bits: usize, out: &mut DynBatch) -> Result<()> {
        self.shift(Op::Shr, bits, out)
    }

    pub(crate) fn shl_digits(&self, digits: usize) -> Result<DynBatch> {
        self.shl(self.bits_of(digits))
    }

    pub(crate) fn shl_digits_into(&self, digits: usize, out: &mut DynBatch) -> Result<()> {
        self.shl_into(self.bits_of(digits), out)
    }

    pub(crate) fn shr_digits(&self, digits: usize) -> Result<DynBatch> {
        self.shr(self.bits_of(digits))
    }

    pub(crate) fn shr_digits_into(&self, digits: usize, out: &mut DynBatch) -> Result<()> {
        self.shr_into(self.bits_of(digits), out)
    }

    fn bits_of(&self, digits: usize) -> usize {
        digits.saturating_mul(self.shape().digit.bits())
    }

    fn shift(&self, op: Op, bits: usize, out: &mut DynBatch) -> Result<()> {
        self.check(out)?;
        // All distances from BITS on leave nothing.
        let distance = bits.min(self.shape().bits) as u32;
        let params = Params { distance, ..Params::default() };
        let outs = [Some(out.buffer_mut()), None];
        self.launch(op, Operands { outs, params, ..self.operands() })
    }
}

faces! {
    "Shifts";

    /// `self * 2^bits`, wrapping: bits shifted beyond `BITS` are lost. Any distance is right.
    ///
    /// # Errors
    /// What any operation may return: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver); the `_into` forms also
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch) and
    /// [`LengthMismatch`](crate::Error::LengthMismatch).
    fn shl(bits: Count) -> New;

    /// [`shl`](Self::shl) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shl_into(bits: Count, out: Out) -> Nothing;

    /// `self / 2^bits`, rounded down. Any distance is right.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shr(bits: Count) -> New;

    /// [`shr`](Self::shr) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shr_into(bits: Count, out: Out) -> Nothing;

    /// `self * B^digits`, wrapping: digits shifted beyond the width are lost. Any distance is right.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shl_digits(digits: Count) -> New;

    /// [`shl_digits`](Self::shl_digits) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shl_digits_into(digits: Count, out: Out) -> Nothing;

    /// `self / B^digits`, rounded down. Any distance is right.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shr_digits(digits: Count) -> New;

    /// [`shr_digits`](Self::shr_digits) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shr_digits_into(digits: Count, out: Out) -> Nothing;
}
