//! Division by one digit in linear time (`kernels/linear/div_rem_digit.cuh`).

use gpuint_catalogue::Op;
use num_traits::ToPrimitive;

use super::{View, faces};
use crate::backend::host::{collected, zeroed_vec};
use crate::backend::{Operands, Params};
use crate::batch::Batch;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::shape::Kernels;
use crate::words::Words;

impl View<'_> {
    pub(crate) fn div_rem_digit_words(&self, divisor: u64) -> Result<(DynBatch, Words)> {
        let mut remainders = self.alloc_words()?;
        let quotient =
            self.produce(|out| self.divide_by_digit(divisor, Some(out), &mut remainders))?;
        Ok((quotient, remainders))
    }

    pub(crate) fn div_rem_digit_words_into(
        &self,
        divisor: u64,
        quotient: &mut DynBatch,
        remainders: &mut Words,
    ) -> Result<()> {
        self.divide_by_digit(divisor, Some(quotient), remainders)
    }

    pub(crate) fn rem_digit_words(&self, divisor: u64) -> Result<Words> {
        let mut remainders = self.alloc_words()?;
        self.rem_digit_words_into(divisor, &mut remainders)?;
        Ok(remainders)
    }

    pub(crate) fn rem_digit_words_into(&self, divisor: u64, remainders: &mut Words) -> Result<()> {
        self.divide_by_digit(divisor, None, remainders)
    }

    /// Divides by one digit; copies the remainders to host memory as long as the batch.
    fn divide_to_host(
        &self,
        divisor: u64,
        quotient: Option<&mut DynBatch>,
        remainders: &mut [u64],
    ) -> Result<()> {
        if remainders.len() != self.len() {
            return Err(Error::LengthMismatch { left: self.len(), right: remainders.len() });
        }
        let mut words = self.alloc_words()?;
        self.divide_by_digit(divisor, quotient, &mut words)?;
        words.read_into(remainders)
    }

    fn divide_by_digit(
        &self,
        divisor: u64,
        quotient: Option<&mut DynBatch>,
        remainders: &mut Words,
    ) -> Result<()> {
        self.check_operand(remainders.device(), remainders.len())?;
        if divisor == 0 {
            return Err(Error::DivisionByZero { row: 0 });
        }
        let bits = u64::from(u64::BITS - divisor.leading_zeros());
        let width = self.shape().digit.bits();
        if bits > width as u64 {
            return Err(Error::TooWide { row: 0, bits, width });
        }
        if let Some(quotient) = &quotient {
            self.check(quotient)?;
        }
        if self.batch.is_empty() {
            return Ok(());
        }
        let operands = Operands {
            outs: [quotient.map(DynBatch::buffer_mut), Some(remainders.buffer_mut())],
            params: Params { digit: divisor, ..Params::default() },
            ..self.operands()
        };
        self.launch(Op::DivRemDigit, operands)
    }

    fn alloc_words(&self) -> Result<Words> {
        Words::alloc(self.device(), self.len())
    }
}

faces! {
    "Division by one digit, on the device";

    /// Computes `(self / divisor, self mod divisor)` by one digit for all rows. The remainders stay
    /// on the device.
    ///
    /// # Errors
    /// [`DivisionByZero`](crate::Error::DivisionByZero) (row 0),
    /// [`TooWide`](crate::Error::TooWide) if the divisor is wider than a digit of the shape (row
    /// 0), and what any operation may return.
    fn div_rem_digit_words(divisor: Word) -> NewAndRemainders;

    /// Computes [`div_rem_digit_words`](Self::div_rem_digit_words) into an existing batch and
    /// existing remainders.
    ///
    /// # Errors
    /// As [`div_rem_digit_words`](Self::div_rem_digit_words),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch).
    fn div_rem_digit_words_into(
        divisor: Word, quotient: Out, remainders: OutRemainders
    ) -> Nothing;

    /// Computes `self mod divisor` by one digit for all rows. The remainders stay on the device.
    ///
    /// # Errors
    /// As [`div_rem_digit_words`](Self::div_rem_digit_words).
    fn rem_digit_words(divisor: Word) -> NewRemainders;

    /// Computes [`rem_digit_words`](Self::rem_digit_words) into existing remainders.
    ///
    /// # Errors
    /// As [`div_rem_digit_words_into`](Self::div_rem_digit_words_into).
    fn rem_digit_words_into(divisor: Word, remainders: OutRemainders) -> Nothing;
}

/// # Division by one digit
impl DynBatch {
    /// Computes `(self / divisor, self mod divisor)` by one digit for all rows. The remainders are
    /// returned on the host.
    ///
    /// # Errors
    /// [`DivisionByZero`](Error::DivisionByZero) (row 0), [`TooWide`](Error::TooWide) where the
    /// divisor is wider than a digit of the shape (row 0), and what any operation may return.
    pub fn div_rem_digit(&self, divisor: u64) -> Result<(Self, Vec<u64>)> {
        let mut remainders = zeroed_vec(self.len())?;
        let view = self.view();
        let quotient =
            view.produce(|out| view.divide_to_host(divisor, Some(out), &mut remainders))?;
        Ok((quotient, remainders))
    }

    /// Computes [`div_rem_digit`](Self::div_rem_digit) into an existing batch and into host memory
    /// as long as this batch. (During the call the device holds eight bytes a row.)
    ///
    /// # Errors
    /// As [`div_rem_digit`](Self::div_rem_digit), [`DeviceMismatch`](Error::DeviceMismatch),
    /// [`LengthMismatch`](Error::LengthMismatch).
    pub fn div_rem_digit_into(
        &self,
        divisor: u64,
        quotient: &mut Self,
        remainders: &mut [u64],
    ) -> Result<()> {
        self.view().divide_to_host(divisor, Some(quotient), remainders)
    }

    /// Computes `self mod divisor` by one digit for all rows. The remainders are returned on the
    /// host.
    ///
    /// # Errors
    /// As [`div_rem_digit`](Self::div_rem_digit).
    pub fn rem_digit(&self, divisor: u64) -> Result<Vec<u64>> {
        let mut remainders = zeroed_vec(self.len())?;
        self.view().divide_to_host(divisor, None, &mut remainders)?;
        Ok(remainders)
    }
}

/// # Division by one digit
impl<T: Kernels> Batch<T> {
    /// Computes `(self / divisor, self mod divisor)` by one digit for all rows. The remainders are
    /// returned on the host.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let u = Batch::<GpuUint<1024>>::splat(&device, &(BigUint::from(1u32) << 1000), 2)?;
    /// let (q, r) = u.div_rem_digit(1_000_000_007)?;
    /// assert_eq!(r, [688_423_210; 2]);
    /// assert_eq!(q.row(0)? * 1_000_000_007u64 + r[0], BigUint::from(1u32) << 1000);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DivisionByZero`](Error::DivisionByZero) (row 0), and what any operation may return:
    /// [`OutOfMemory`](Error::OutOfMemory), [`KernelMissing`](Error::KernelMissing),
    /// [`Compile`](Error::Compile), [`Driver`](Error::Driver).
    pub fn div_rem_digit(&self, divisor: T::Digit) -> Result<(Self, Vec<T::Digit>)> {
        let (quotient, remainders) = self.as_dyn().div_rem_digit(word::<T>(divisor))?;
        Ok((Self::typed(quotient), collected(remainders.into_iter().map(digit::<T>))?))
    }

    /// Computes [`div_rem_digit`](Self::div_rem_digit) into an existing batch and into host memory
    /// as long as this batch. (During the call the device holds eight bytes a row.)
    ///
    /// # Errors
    /// As [`div_rem_digit`](Self::div_rem_digit), [`DeviceMismatch`](Error::DeviceMismatch),
    /// [`LengthMismatch`](Error::LengthMismatch).
    pub fn div_rem_digit_into(
        &self,
        divisor: T::Digit,
        quotient: &mut Self,
        remainders: &mut [T::Digit],
    ) -> Result<()> {
        let mut words = zeroed_vec(remainders.len())?;
        let quotient = quotient.as_dyn_mut();
        self.as_dyn().div_rem_digit_into(word::<T>(divisor), quotient, &mut words)?;
        for (remainder, word) in remainders.iter_mut().zip(words) {
            *remainder = digit::<T>(word);
        }
        Ok(())
    }

    /// Computes `self mod divisor` by one digit for all rows. The remainders are returned on the
    /// host.
    ///
    /// # Errors
    /// As [`div_rem_digit`](Self::div_rem_digit).
    pub fn rem_digit(&self, divisor: T::Digit) -> Result<Vec<T::Digit>> {
        let remainders = self.as_dyn().rem_digit(word::<T>(divisor))?;
        collected(remainders.into_iter().map(digit::<T>))
    }

    /// Computes [`rem_digit`](Self::rem_digit) into host memory as long as the batch. (During the
    /// call the device holds eight bytes a row.)
    ///
    /// # Errors
    /// As [`div_rem_digit_into`](Self::div_rem_digit_into).
    pub fn rem_digit_into(&self, divisor: T::Digit, remainders: &mut [T::Digit]) -> Result<()> {
        let mut words = zeroed_vec(remainders.len())?;
        self.view().divide_to_host(word::<T>(divisor), None, &mut words)?;
        for (remainder, word) in remainders.iter_mut().zip(words) {
            *remainder = digit::<T>(word);
        }
        Ok(())
    }
}

/// Converts a word to a digit; the widest digit has 64 bits.
fn word<T: Kernels>(digit: T::Digit) -> u64 {
    digit.to_u64().unwrap_or_default()
}

/// Converts a remainder to a digit; it is less than the divisor.
fn digit<T: Kernels>(word: u64) -> T::Digit {
    <T::Digit as num_traits::NumCast>::from(word).unwrap_or_default()
}
