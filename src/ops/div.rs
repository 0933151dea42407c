//! Division with remainder: exact for every dividend and every divisor but zero.
//!
//! How is a parameter, a [`Division`]. [`ShiftedInverse`](crate::ShiftedInverse) follows "On GPU
//! Implementation for Multi-Precision Integer Division" (Marchioro, Raahauge, Løvenskjold, Oancea,
//! Watt) with the bounds that make it exact; [`Blocked`](crate::Blocked) takes the quotient in
//! blocks of digits, each by a short reciprocal (`kernels/div/div.cuh` has the proofs).

use gpuint_catalogue::Op;

use crate::backend::Operands;
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::shape::Kernels;
use crate::strategy::{Auto, Division};

impl<T: Kernels> Batch<T> {
    /// `(self / rhs, self mod rhs)`: nothing wraps, and every row is exact for every divisor but
    /// zero.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Error, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let number = |n: u32| BigUint::from(n);
    /// let u = Batch::<GpuUint<1024>>::from_biguints(&device, &[number(17), number(40)])?;
    /// let v = Batch::from_biguints(&device, &[number(5), number(8)])?;
    /// let (q, r) = u.div_rem(&v)?;
    /// assert_eq!(q.to_biguints()?, [number(3), number(5)]);
    /// assert_eq!(r.to_biguints()?, [number(2), number(0)]);
    ///
    /// let v = Batch::from_biguints(&device, &[number(5), number(0)])?;
    /// assert_eq!(u.div_rem(&v).unwrap_err(), Error::DivisionByZero { row: 1 });
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DivisionByZero`](Error::DivisionByZero) with the lowest row whose divisor is zero,
    /// [`DeviceMismatch`](Error::DeviceMismatch), [`LengthMismatch`](Error::LengthMismatch), and
    /// what any operation may return: [`OutOfMemory`](Error::OutOfMemory),
    /// [`KernelMissing`](Error::KernelMissing), [`Compile`](Error::Compile),
    /// [`Driver`](Error::Driver).
    pub fn div_rem(&self, rhs: &Self) -> Result<(Self, Self)> {
        self.div_rem_with::<Auto>(rhs)
    }

    /// [`div_rem`](Self::div_rem) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    pub fn div_rem_with<S: Division<T>>(&self, rhs: &Self) -> Result<(Self, Self)> {
        let mut quotient = Self::alloc(self.device(), self.len())?;
        let remainder = self.produce(|out| self.div_rem_with_into::<S>(rhs, &mut quotient, out))?;
        Ok((quotient, remainder))
    }

    /// [`div_rem`](Self::div_rem) into two batches that exist, without allocating.
    ///
    /// After [`DivisionByZero`](Error::DivisionByZero) they hold what
    /// [`div_rem_masked`](Self::div_rem_masked) returns.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    pub fn div_rem_into(
        &self,
        rhs: &Self,
        quotient: &mut Self,
        remainder: &mut Self,
    ) -> Result<()> {
        self.div_rem_with_into::<Auto>(rhs, quotient, remainder)
    }

    /// [`div_rem_into`](Self::div_rem_into) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    pub fn div_rem_with_into<S: Division<T>>(
        &self,
        rhs: &Self,
        quotient: &mut Self,
        remainder: &mut Self,
    ) -> Result<()> {
        self.divide::<S>(rhs, Some(quotient), Some(remainder))
    }

    /// `self / rhs`, rounded down: nothing wraps.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    pub fn div(&self, rhs: &Self) -> Result<Self> {
        self.div_with::<Auto>(rhs)
    }

    /// [`div`](Self::div) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    pub fn div_with<S: Division<T>>(&self, rhs: &Self) -> Result<Self> {
        self.produce(|out| self.div_with_into::<S>(rhs, out))
    }

    /// [`div`](Self::div) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    pub fn div_into(&self, rhs: &Self, quotient: &mut Self) -> Result<()> {
        self.div_with_into::<Auto>(rhs, quotient)
    }

    /// [`div_into`](Self::div_into) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    pub fn div_with_into<S: Division<T>>(&self, rhs: &Self, quotient: &mut Self) -> Result<()> {
        self.divide::<S>(rhs, Some(quotient), None)
    }

    /// `self mod rhs`: nothing wraps.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    pub fn rem(&self, rhs: &Self) -> Result<Self> {
        self.rem_with::<Auto>(rhs)
    }

    /// [`rem`](Self::rem) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    pub fn rem_with<S: Division<T>>(&self, rhs: &Self) -> Result<Self> {
        self.produce(|out| self.rem_with_into::<S>(rhs, out))
    }

    /// [`rem`](Self::rem) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    pub fn rem_into(&self, rhs: &Self, remainder: &mut Self) -> Result<()> {
        self.rem_with_into::<Auto>(rhs, remainder)
    }

    /// [`rem_into`](Self::rem_into) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    pub fn rem_with_into<S: Division<T>>(&self, rhs: &Self, remainder: &mut Self) -> Result<()> {
        self.divide::<S>(rhs, None, Some(remainder))
    }

    /// `(self / rhs, self mod rhs)` and a mask of the rows whose divisor is zero: nothing wraps.
    ///
    /// Rows of the mask have the quotient `2^BITS - 1` and the remainder `self`; all other rows
    /// are exact.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem), but for [`DivisionByZero`](Error::DivisionByZero).
    pub fn div_rem_masked(&self, rhs: &Self) -> Result<(Self, Self, Mask)> {
        self.div_rem_masked_with::<Auto>(rhs)
    }

    /// [`div_rem_masked`](Self::div_rem_masked) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`div_rem_masked`](Self::div_rem_masked).
    pub fn div_rem_masked_with<S: Division<T>>(&self, rhs: &Self) -> Result<(Self, Self, Mask)> {
        let mut quotient = Self::alloc(self.device(), self.len())?;
        let mut remainder = Self::alloc(self.device(), self.len())?;
        let zero = self.produce_mask(|zero| {
            self.div_rem_masked_with_into::<S>(rhs, &mut quotient, &mut remainder, zero)
        })?;
        Ok((quotient, remainder, zero))
    }

    /// [`div_rem_masked`](Self::div_rem_masked) into two batches and a mask that exist, without
    /// allocating.
    ///
    /// # Errors
    /// As [`div_rem_masked`](Self::div_rem_masked).
    pub fn div_rem_masked_into(
        &self,
        rhs: &Self,
        quotient: &mut Self,
        remainder: &mut Self,
        zero: &mut Mask,
    ) -> Result<()> {
        self.div_rem_masked_with_into::<Auto>(rhs, quotient, remainder, zero)
    }

    /// [`div_rem_masked_into`](Self::div_rem_masked_into) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`div_rem_masked`](Self::div_rem_masked).
    pub fn div_rem_masked_with_into<S: Division<T>>(
        &self,
        rhs: &Self,
        quotient: &mut Self,
        remainder: &mut Self,
        zero: &mut Mask,
    ) -> Result<()> {
        self.check_mask(zero)?;
        let operands = self.division_operands(rhs, Some(quotient), Some(remainder))?;
        let operands = Operands { mask: Some(zero.cleared()?), ..operands };
        self.device().launch(self.kernel(Op::DivRem, S::STRATEGY)?, operands)
    }

    fn divide<S: Division<T>>(
        &self,
        rhs: &Self,
        quotient: Option<&mut Self>,
        remainder: Option<&mut Self>,
    ) -> Result<()> {
        let operands = self.division_operands(rhs, quotient, remainder)?;
        match self.device().launch_checked(self.kernel(Op::DivRem, S::STRATEGY)?, operands)? {
            None => Ok(()),
            Some(row) => Err(Error::DivisionByZero { row }),
        }
    }

    fn division_operands<'a>(
        &'a self,
        rhs: &'a Self,
        quotient: Option<&'a mut Self>,
        remainder: Option<&'a mut Self>,
    ) -> Result<Operands<'a>> {
        self.check(rhs)?;
        for out in [&quotient, &remainder].into_iter().flatten() {
            self.check(out)?;
        }
        Ok(Operands {
            ins: [Some(self.buffer()), Some(rhs.buffer()), None],
            outs: [quotient.map(Self::buffer_mut), remainder.map(Self::buffer_mut)],
            ..self.operands()
        })
    }
}
