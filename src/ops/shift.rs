//! Shifts, by one distance for all rows or one for each row (`kernels/linear/shift.cuh`).

use gpuint_catalogue::Op;

use super::{View, faces};
use crate::backend::host::reserved_vec;
use crate::backend::{Operands, Params};
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};

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

    pub(crate) fn shl_rows(&self, bits: &[usize]) -> Result<DynBatch> {
        self.produce(|out| self.shl_rows_into(bits, out))
    }

    pub(crate) fn shl_rows_into(&self, bits: &[usize], out: &mut DynBatch) -> Result<()> {
        self.shift_rows(Op::ShlRows, bits, out)
    }

    pub(crate) fn shr_rows(&self, bits: &[usize]) -> Result<DynBatch> {
        self.produce(|out| self.shr_rows_into(bits, out))
    }

    pub(crate) fn shr_rows_into(&self, bits: &[usize], out: &mut DynBatch) -> Result<()> {
        self.shift_rows(Op::ShrRows, bits, out)
    }

    pub(crate) fn rotate_left(&self, bits: usize) -> Result<DynBatch> {
        let bits = bits % self.shape().bits;
        self.shl(bits)?.or(&self.shr(self.shape().bits - bits)?)
    }

    pub(crate) fn rotate_right(&self, bits: usize) -> Result<DynBatch> {
        self.rotate_left(self.opposite(bits))
    }

    pub(crate) fn rotate_left_rows(&self, bits: &[usize]) -> Result<DynBatch> {
        let mut left = reserved_vec(bits.len())?;
        left.extend(bits.iter().map(|bits| bits % self.shape().bits));
        let mut right = reserved_vec(bits.len())?;
        right.extend(left.iter().map(|bits| self.shape().bits - bits));
        self.shl_rows(&left)?.or(&self.shr_rows(&right)?)
    }

    pub(crate) fn rotate_right_rows(&self, bits: &[usize]) -> Result<DynBatch> {
        let mut left = reserved_vec(bits.len())?;
        left.extend(bits.iter().map(|&bits| self.opposite(bits)));
        self.rotate_left_rows(&left)
    }

    /// The distance to the left of a rotation to the right.
    fn opposite(&self, bits: usize) -> usize {
        self.shape().bits - bits % self.shape().bits
    }

    fn bits_of(&self, digits: usize) -> usize {
        digits.saturating_mul(self.shape().digit.bits())
    }

    fn shift(&self, op: Op, bits: usize, out: &mut DynBatch) -> Result<()> {
        self.check(out)?;
        let params = Params { distance: self.distance(bits), ..Params::default() };
        let outs = [Some(out.buffer_mut()), None];
        self.launch(op, Operands { outs, params, ..self.operands() })
    }

    fn shift_rows(&self, op: Op, bits: &[usize], out: &mut DynBatch) -> Result<()> {
        self.check(out)?;
        if bits.len() != self.len() {
            return Err(Error::LengthMismatch { left: self.len(), right: bits.len() });
        }
        if self.batch.is_empty() {
            return Ok(());
        }
        let mut distances: Vec<u32> = reserved_vec(bits.len())?;
        distances.extend(bits.iter().map(|&bits| self.distance(bits)));
        let mut buffer = self.device().alloc_rows(self.len(), size_of::<u32>())?;
        self.device().memory().upload(&mut buffer, 0, bytemuck::cast_slice(&distances))?;
        let mut operands = self.operands();
        operands.ins[1] = Some(&buffer);
        self.launch(op, Operands { outs: [Some(out.buffer_mut()), None], ..operands })
    }

    /// Every distance from `BITS` on gives zero.
    fn distance(&self, bits: usize) -> u32 {
        bits.min(self.shape().bits) as u32
    }
}

faces! {
    "Shifts";

    /// Computes `self * 2^bits` modulo `2^BITS`, for any distance.
    ///
    /// # Errors
    /// The errors of any operation: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver); the `_into` forms also
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch) and
    /// [`LengthMismatch`](crate::Error::LengthMismatch).
    fn shl(bits: Count) -> New;

    /// Computes [`shl`](Self::shl) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shl_into(bits: Count, out: Out) -> Nothing;

    /// Computes `self / 2^bits`, rounded down, for any distance.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shr(bits: Count) -> New;

    /// Computes [`shr`](Self::shr) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shr_into(bits: Count, out: Out) -> Nothing;

    /// Computes `self * B^digits` modulo `2^BITS`, for any distance; `B` is the base of the digits.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shl_digits(digits: Count) -> New;

    /// Computes [`shl_digits`](Self::shl_digits) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shl_digits_into(digits: Count, out: Out) -> Nothing;

    /// Computes `self / B^digits`, rounded down, for any distance; `B` is the base of the digits.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shr_digits(digits: Count) -> New;

    /// Computes [`shr_digits`](Self::shr_digits) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn shr_digits_into(digits: Count, out: Out) -> Nothing;

    /// Computes `self * 2^d` modulo `2^BITS`, with a distance `d` for each row.
    ///
    /// # Errors
    /// [`LengthMismatch`](crate::Error::LengthMismatch) if there is not one distance for each row,
    /// and as [`shl`](Self::shl).
    fn shl_rows(bits: Counts) -> New;

    /// Computes [`shl_rows`](Self::shl_rows) into an existing batch. (During the call the device
    /// holds four bytes a row.)
    ///
    /// # Errors
    /// As [`shl_rows`](Self::shl_rows).
    fn shl_rows_into(bits: Counts, out: Out) -> Nothing;

    /// Computes `self / 2^d`, rounded down, with a distance `d` for each row.
    ///
    /// # Errors
    /// As [`shl_rows`](Self::shl_rows).
    fn shr_rows(bits: Counts) -> New;

    /// Computes [`shr_rows`](Self::shr_rows) into an existing batch. (During the call the device
    /// holds four bytes a row.)
    ///
    /// # Errors
    /// As [`shl_rows`](Self::shl_rows).
    fn shr_rows_into(bits: Counts, out: Out) -> Nothing;

    /// Rotates each row by the same number of bits towards the most significant bit, modulo `BITS`.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let a = Batch::<GpuUint<1024>>::splat(&device, 5, 2)?;
    /// assert_eq!(a.rotate_left(1022)?.row(0)?, (BigUint::from(1u32) << 1022) + 1u32);
    /// let rotated = a.rotate_right_rows(&[1022, 1024])?;
    /// assert_eq!(rotated.to_biguints()?, [20u32, 5].map(BigUint::from));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn rotate_left(bits: Count) -> New;

    /// Rotates each row by the same number of bits towards the least significant bit, modulo
    /// `BITS`.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    fn rotate_right(bits: Count) -> New;

    /// Rotates each row by its own number of bits towards the most significant bit, modulo `BITS`.
    ///
    /// # Errors
    /// As [`shl_rows`](Self::shl_rows).
    fn rotate_left_rows(bits: Counts) -> New;

    /// Rotates each row by its own number of bits towards the least significant bit, modulo `BITS`.
    ///
    /// # Errors
    /// As [`shl_rows`](Self::shl_rows).
    fn rotate_right_rows(bits: Counts) -> New;
}
