//! Shifts, by the same distance in all rows or by one for each row (`kernels/linear/shift.cuh`).

use gpuint_catalogue::Op;

use crate::backend::{Operands, Params};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::shape::Kernels;
use crate::strategy::Strategy;

impl<T: Kernels> Batch<T> {
    /// `self * 2^bits`, wrapping: bits shifted beyond `BITS` are lost. Any distance is right.
    ///
    /// # Errors
    /// What any operation may return: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver); the `_into` forms also
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch) and
    /// [`LengthMismatch`](crate::Error::LengthMismatch).
    pub fn shl(&self, bits: usize) -> Result<Self> {
        self.produce(|out| self.shl_into(bits, out))
    }

    /// [`shl`](Self::shl) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    pub fn shl_into(&self, bits: usize, out: &mut Self) -> Result<()> {
        self.shift(Op::Shl, bits, out)
    }

    /// `self / 2^bits`, rounded down: nothing wraps. Any distance is right.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    pub fn shr(&self, bits: usize) -> Result<Self> {
        self.produce(|out| self.shr_into(bits, out))
    }

    /// [`shr`](Self::shr) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    pub fn shr_into(&self, bits: usize, out: &mut Self) -> Result<()> {
        self.shift(Op::Shr, bits, out)
    }

    /// `self * B^digits`, wrapping: digits shifted beyond `DIGITS` are lost. Any distance is
    /// right.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    pub fn shl_digits(&self, digits: usize) -> Result<Self> {
        self.shl(digits.saturating_mul(T::DIGIT_BITS))
    }

    /// [`shl_digits`](Self::shl_digits) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    pub fn shl_digits_into(&self, digits: usize, out: &mut Self) -> Result<()> {
        self.shl_into(digits.saturating_mul(T::DIGIT_BITS), out)
    }

    /// `self / B^digits`, rounded down: nothing wraps. Any distance is right.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    pub fn shr_digits(&self, digits: usize) -> Result<Self> {
        self.shr(digits.saturating_mul(T::DIGIT_BITS))
    }

    /// [`shr_digits`](Self::shr_digits) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`shl`](Self::shl).
    pub fn shr_digits_into(&self, digits: usize, out: &mut Self) -> Result<()> {
        self.shr_into(digits.saturating_mul(T::DIGIT_BITS), out)
    }

    /// `self * 2^d`, wrapping, by a distance `d` for each row. Any distance is right.
    ///
    /// # Errors
    /// [`LengthMismatch`](crate::Error::LengthMismatch) where there is not one distance for each
    /// row, and as [`shl`](Self::shl).
    pub fn shl_rows(&self, bits: &[usize]) -> Result<Self> {
        self.produce(|out| self.shl_rows_into(bits, out))
    }

    /// [`shl_rows`](Self::shl_rows) into a batch that exists. (The device holds four bytes a row for
    /// the time of the call.)
    ///
    /// # Errors
    /// As [`shl_rows`](Self::shl_rows).
    pub fn shl_rows_into(&self, bits: &[usize], out: &mut Self) -> Result<()> {
        self.shift_rows(Op::ShlRows, bits, out)
    }

    /// `self / 2^d`, rounded down, by a distance `d` for each row: nothing wraps. Any distance is
    /// right.
    ///
    /// # Errors
    /// As [`shl_rows`](Self::shl_rows).
    pub fn shr_rows(&self, bits: &[usize]) -> Result<Self> {
        self.produce(|out| self.shr_rows_into(bits, out))
    }

    /// [`shr_rows`](Self::shr_rows) into a batch that exists. (The device holds four bytes a row for
    /// the time of the call.)
    ///
    /// # Errors
    /// As [`shl_rows`](Self::shl_rows).
    pub fn shr_rows_into(&self, bits: &[usize], out: &mut Self) -> Result<()> {
        self.shift_rows(Op::ShrRows, bits, out)
    }

    fn shift_rows(&self, op: Op, bits: &[usize], out: &mut Self) -> Result<()> {
        self.check(out)?;
        if bits.len() != self.len() {
            return Err(Error::LengthMismatch { left: self.len(), right: bits.len() });
        }
        if self.is_empty() {
            return Ok(());
        }
        let distances: Vec<u32> = bits.iter().map(|&bits| bits.min(T::BITS) as u32).collect();
        let mut buffer = self.device().alloc_rows(self.len(), size_of::<u32>())?;
        self.device().memory().upload(&mut buffer, 0, bytemuck::cast_slice(&distances))?;
        let operands = Operands {
            ins: [Some(self.buffer()), Some(&buffer), None],
            outs: [Some(out.buffer_mut()), None],
            ..self.operands()
        };
        self.device().launch(self.kernel(op, Strategy::Auto)?, operands)
    }

    fn shift(&self, op: Op, bits: usize, out: &mut Self) -> Result<()> {
        self.check(out)?;
        let operands = Operands {
            ins: [Some(self.buffer()), None, None],
            outs: [Some(out.buffer_mut()), None],
            // All distances from BITS on leave nothing.
            params: Params { distance: bits.min(T::BITS) as u32, ..Params::default() },
            ..self.operands()
        };
        self.device().launch(self.kernel(op, Strategy::Auto)?, operands)
    }
}
