//! Division by one digit, in time that grows with the width and no faster
//! (`kernels/linear/div_digit.cuh`).

use num_traits::{NumCast, ToPrimitive, Zero};

use crate::backend::host::zeroed_vec;
use gpuint_catalogue::Op;

use crate::backend::{Operands, Params};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::shape::Kernels;
use crate::strategy::Strategy;

impl<T: Kernels> Batch<T> {
    /// `(self / divisor, self mod divisor)` by one digit for all rows: nothing wraps. The
    /// remainders come to the host.
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
        let mut remainders = zeroed_vec(self.len())?;
        let quotient =
            self.produce(|out| self.div_rem_digit_into(divisor, out, &mut remainders))?;
        Ok((quotient, remainders))
    }

    /// [`div_rem_digit`](Self::div_rem_digit) into a batch and host memory that exist, as long as
    /// this batch. (The device holds eight bytes a row for the time of the call.)
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
        self.check(quotient)?;
        self.divide_by_digit(divisor, Some(quotient), remainders)
    }

    /// `self mod divisor` by one digit for all rows: nothing wraps. The remainders come to the
    /// host.
    ///
    /// # Errors
    /// As [`div_rem_digit`](Self::div_rem_digit).
    pub fn rem_digit(&self, divisor: T::Digit) -> Result<Vec<T::Digit>> {
        let mut remainders = zeroed_vec(self.len())?;
        self.rem_digit_into(divisor, &mut remainders)?;
        Ok(remainders)
    }

    /// [`rem_digit`](Self::rem_digit) into host memory that exists, as long as the batch. (The
    /// device holds eight bytes a row for the time of the call.)
    ///
    /// # Errors
    /// As [`div_rem_digit_into`](Self::div_rem_digit_into).
    pub fn rem_digit_into(&self, divisor: T::Digit, remainders: &mut [T::Digit]) -> Result<()> {
        self.divide_by_digit(divisor, None, remainders)
    }

    fn divide_by_digit(
        &self,
        divisor: T::Digit,
        quotient: Option<&mut Self>,
        remainders: &mut [T::Digit],
    ) -> Result<()> {
        if remainders.len() != self.len() {
            return Err(Error::LengthMismatch { left: self.len(), right: remainders.len() });
        }
        if divisor.is_zero() {
            return Err(Error::DivisionByZero { row: 0 });
        }
        if self.is_empty() {
            return Ok(());
        }
        let mut words: Vec<u64> = zeroed_vec(self.len())?;
        let mut buffer = self.device().alloc_rows(self.len(), size_of::<u64>())?;
        let operands = Operands {
            ins: [Some(self.buffer()), None, None],
            outs: [quotient.map(Self::buffer_mut), Some(&mut buffer)],
            params: Params { digit: divisor.to_u64().unwrap_or_default(), ..Params::default() },
            ..self.operands()
        };
        self.device().launch(self.kernel(Op::DivRemDigit, Strategy::Auto)?, operands)?;
        self.device().memory().download(&buffer, 0, bytemuck::cast_slice_mut(&mut words))?;
        for (remainder, word) in remainders.iter_mut().zip(words) {
            *remainder = <T::Digit as NumCast>::from(word).unwrap_or_default();
        }
        Ok(())
    }
}
