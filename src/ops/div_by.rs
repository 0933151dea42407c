//! Division by prepared divisors: exact for every dividend (`kernels/div/prepare.cuh`,
//! `kernels/div/by_prepared.cuh`).

use gpuint_catalogue::Op;

use crate::backend::Operands;
use crate::batch::Batch;
use crate::divisor::Divisor;
use crate::error::Result;
use crate::shape::Kernels;
use crate::strategy::Strategy;

impl<T: Kernels> Batch<T> {
    /// `(self / divisor, self mod divisor)`: nothing wraps, and every row is exact.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Divisor, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let u = Batch::<GpuUint<1024>>::splat(&device, &(BigUint::from(1u32) << 1000), 3)?;
    /// let ten = Divisor::splat(&device, &(BigUint::from(10u32).pow(300)))?;
    /// let (q, r) = u.div_rem_by(&ten)?;
    /// assert_eq!(q.row(2)?, BigUint::from(10u32));
    /// assert!(r.row(2)? < BigUint::from(10u32).pow(300));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch) where there is a divisor for each of
    /// another number of rows, and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    pub fn div_rem_by(&self, divisor: &Divisor<T>) -> Result<(Self, Self)> {
        let mut quotient = Self::alloc(self.device(), self.len())?;
        let remainder = self.produce(|out| self.div_rem_by_into(divisor, &mut quotient, out))?;
        Ok((quotient, remainder))
    }

    /// [`div_rem_by`](Self::div_rem_by) into two batches that exist, without allocating.
    ///
    /// # Errors
    /// As [`div_rem_by`](Self::div_rem_by).
    pub fn div_rem_by_into(
        &self,
        divisor: &Divisor<T>,
        quotient: &mut Self,
        remainder: &mut Self,
    ) -> Result<()> {
        self.divide_by(divisor, Some(quotient), Some(remainder))
    }

    /// `self / divisor`, rounded down: nothing wraps.
    ///
    /// # Errors
    /// As [`div_rem_by`](Self::div_rem_by).
    pub fn div_by(&self, divisor: &Divisor<T>) -> Result<Self> {
        self.produce(|out| self.div_by_into(divisor, out))
    }

    /// [`div_by`](Self::div_by) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`div_rem_by`](Self::div_rem_by).
    pub fn div_by_into(&self, divisor: &Divisor<T>, quotient: &mut Self) -> Result<()> {
        self.divide_by(divisor, Some(quotient), None)
    }

    /// `self mod divisor`: nothing wraps.
    ///
    /// # Errors
    /// As [`div_rem_by`](Self::div_rem_by).
    pub fn rem_by(&self, divisor: &Divisor<T>) -> Result<Self> {
        self.produce(|out| self.rem_by_into(divisor, out))
    }

    /// [`rem_by`](Self::rem_by) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`div_rem_by`](Self::div_rem_by).
    pub fn rem_by_into(&self, divisor: &Divisor<T>, remainder: &mut Self) -> Result<()> {
        self.divide_by(divisor, None, Some(remainder))
    }

    fn divide_by(
        &self,
        divisor: &Divisor<T>,
        quotient: Option<&mut Self>,
        remainder: Option<&mut Self>,
    ) -> Result<()> {
        self.check_divisor(divisor)?;
        for out in [&quotient, &remainder].into_iter().flatten() {
            self.check(out)?;
        }
        let operands = Operands {
            ins: [Some(self.buffer()), None, Some(divisor.buffer())],
            outs: [quotient.map(Self::buffer_mut), remainder.map(Self::buffer_mut)],
            params: divisor.params(),
            ..self.operands()
        };
        self.device().launch(self.kernel(Op::DivRemBy, Strategy::Auto)?, operands)
    }

    /// Checks that divisors go with this batch: same device, same number of rows or one for all.
    pub(super) fn check_divisor(&self, divisor: &Divisor<T>) -> Result<()> {
        self.check_operand(divisor.device(), divisor.rows().unwrap_or(self.len()))
    }
}
