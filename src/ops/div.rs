//! Division with remainder: exact for every dividend and every nonzero divisor.
//!
//! The algorithm is a strategy. [`ShiftedInverse`](crate::ShiftedInverse) follows "On GPU
//! Implementation for Multi-Precision Integer Division" (Marchioro, Raahauge, Løvenskjold, Oancea,
//! Watt), with bounds that make it exact. [`Blocked`](crate::Blocked) computes the quotient in
//! blocks of digits, each by a short reciprocal (`kernels/div/div.cuh` has the proofs).

use gpuint_catalogue::{Op, Shape};

use super::using::{DynUsing, Using};
use super::{View, faces, long_division};
use crate::backend::Operands;
use crate::batch::Batch;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::ops::faces::assigning_faces;
use crate::shape::{Kernels, Widen};
use crate::strategy::Division;

impl<'a> View<'a> {
    pub(crate) fn div_rem(&self, rhs: &DynBatch) -> Result<(DynBatch, DynBatch)> {
        self.produce_two(|quotient, remainder| self.div_rem_into(rhs, quotient, remainder))
    }

    pub(crate) fn div_rem_into(
        &self,
        rhs: &DynBatch,
        quotient: &mut DynBatch,
        remainder: &mut DynBatch,
    ) -> Result<()> {
        self.divide(rhs, Some(quotient), Some(remainder))
    }

    pub(crate) fn div(&self, rhs: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.div_into(rhs, out))
    }

    pub(crate) fn div_into(&self, rhs: &DynBatch, quotient: &mut DynBatch) -> Result<()> {
        self.divide(rhs, Some(quotient), None)
    }

    pub(crate) fn rem(&self, rhs: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.rem_into(rhs, out))
    }

    pub(crate) fn rem_into(&self, rhs: &DynBatch, remainder: &mut DynBatch) -> Result<()> {
        self.divide(rhs, None, Some(remainder))
    }

    pub(crate) fn div_rem_masked(&self, rhs: &DynBatch) -> Result<(DynBatch, DynBatch, Mask)> {
        let mut zero = self.alloc_mask()?;
        let (quotient, remainder) = self.produce_two(|quotient, remainder| {
            self.div_rem_masked_into(rhs, quotient, remainder, &mut zero)
        })?;
        Ok((quotient, remainder, zero))
    }

    pub(crate) fn div_rem_masked_into(
        &self,
        rhs: &DynBatch,
        quotient: &mut DynBatch,
        remainder: &mut DynBatch,
        zero: &mut Mask,
    ) -> Result<()> {
        self.check_mask(zero)?;
        if !self.has_kernel(Op::DivRem) {
            *zero = self.divide_by_reciprocals(rhs, Some(quotient), Some(remainder))?;
            return Ok(());
        }
        let operands = self.division(rhs, Some(quotient), Some(remainder))?;
        self.launch(Op::DivRem, Operands { mask: Some(zero.cleared()?), ..operands })
    }

    /// Divides `self + 2^BITS high`; `wide` is a built shape of twice the width.
    pub(crate) fn div_rem_wide(
        &self,
        high: &DynBatch,
        rhs: &DynBatch,
        wide: Shape,
    ) -> Result<(DynBatch, DynBatch)> {
        self.check(rhs)?;
        let dividend = self.join(high, wide)?;
        let View { strategy, .. } = *self;
        let dividend = View { batch: &dividend, strategy };
        let (quotient, remainder) = dividend.div_rem(&rhs.view().resized(wide)?)?;
        Ok((quotient, remainder.view().truncated(self.shape())?))
    }

    /// Divides rows at a width without a kernel of divisions, and returns the mask of the rows with
    /// a divisor of zero.
    fn divide_by_reciprocals(
        &self,
        rhs: &DynBatch,
        quotient: Option<&mut DynBatch>,
        remainder: Option<&mut DynBatch>,
    ) -> Result<Mask> {
        self.check(rhs)?;
        for out in [&quotient, &remainder].into_iter().flatten() {
            self.check(out)?;
        }
        let (quotients, remainders, zero) = long_division::div_rem(self.batch, rhs)?;
        long_division::write(&quotients, quotient)?;
        long_division::write(&remainders, remainder)?;
        Ok(zero)
    }

    fn divide(
        &self,
        rhs: &DynBatch,
        quotient: Option<&mut DynBatch>,
        remainder: Option<&mut DynBatch>,
    ) -> Result<()> {
        if !self.has_kernel(Op::DivRem) {
            let zero = self.divide_by_reciprocals(rhs, quotient, remainder)?;
            let first = zero.indices()?.first().copied();
            return first.map_or(Ok(()), |row| Err(Error::DivisionByZero { row }));
        }
        let operands = self.division(rhs, quotient, remainder)?;
        match self.launch_checked(Op::DivRem, operands)? {
            None => Ok(()),
            Some(row) => Err(Error::DivisionByZero { row }),
        }
    }

    /// Collects the operands of a division.
    fn division<'b>(
        &self,
        rhs: &'b DynBatch,
        quotient: Option<&'b mut DynBatch>,
        remainder: Option<&'b mut DynBatch>,
    ) -> Result<Operands<'b>>
    where
        'a: 'b,
    {
        for out in [&quotient, &remainder].into_iter().flatten() {
            self.check(out)?;
        }
        let outs = [quotient, remainder].map(|out| out.map(DynBatch::buffer_mut));
        Ok(Operands { outs, ..self.operands_with(rhs)? })
    }
}

faces! {
    by Division, "Division";

    /// Computes `(self / rhs, self mod rhs)`, exactly for every nonzero divisor.
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
    /// [`DivisionByZero`](crate::Error::DivisionByZero) with the lowest row whose divisor is zero,
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    fn div_rem(rhs: Rows) -> NewPair;

    /// Computes [`div_rem`](Self::div_rem) into two existing batches, without allocating.
    ///
    /// After [`DivisionByZero`](crate::Error::DivisionByZero) they hold what
    /// [`div_rem_masked`](Self::div_rem_masked) returns.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    fn div_rem_into(rhs: Rows, quotient: Out, remainder: Out) -> Nothing;

    /// Computes `self / rhs`, rounded down.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    fn div(rhs: Rows) -> New;

    /// Computes [`div`](Self::div) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    fn div_into(rhs: Rows, quotient: Out) -> Nothing;

    /// Computes `self mod rhs`.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    fn rem(rhs: Rows) -> New;

    /// Computes [`rem`](Self::rem) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    fn rem_into(rhs: Rows, remainder: Out) -> Nothing;

    /// Computes `(self / rhs, self mod rhs)` and a mask of the rows whose divisor is zero.
    ///
    /// Rows in the mask get the quotient `2^BITS - 1` and the remainder `self`; all other rows are
    /// exact.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem), but for [`DivisionByZero`](crate::Error::DivisionByZero).
    fn div_rem_masked(rhs: Rows) -> NewPairAndMask;

    /// Computes [`div_rem_masked`](Self::div_rem_masked) into two existing batches and a mask,
    /// without allocating.
    ///
    /// # Errors
    /// As [`div_rem_masked`](Self::div_rem_masked).
    fn div_rem_masked_into(rhs: Rows, quotient: Out, remainder: Out, zero: OutMask) -> Nothing;
}

assigning_faces! {
    "Division in place";
    fn div_assign = div_into;
    fn rem_assign = rem_into;
}

/// Declares divisions of dividends of twice the width, whose quotient has another shape.
macro_rules! wide {
    (dyn $type:ty) => {
        /// # Division of twice the width
        impl $type {
            /// Computes the quotient and the remainder of `self + 2^BITS * high` by `rhs`. The
            /// quotient has rows of twice the width.
            ///
            /// # Errors
            /// [`WidthMissing`](Error::WidthMissing) above 2^30 bits,
            /// [`ShapeMissing`](Error::ShapeMissing) if twice the width is not built, and as
            /// [`div_rem`](Self::div_rem).
            pub fn div_rem_wide(
                &self,
                high: &DynBatch,
                rhs: &DynBatch,
            ) -> Result<(DynBatch, DynBatch)> {
                let view = self.view();
                view.div_rem_wide(high, rhs, view.doubled("divisions of twice the width")?)
            }
        }
    };
    (typed ($($parameters:tt)*) $type:ty) => {
        /// # Division of twice the width
        impl<$($parameters)*> $type {
            /// Computes the quotient and the remainder of `self + 2^BITS * high` by `rhs`. The
            /// quotient has rows of twice the width.
            ///
            /// ```
            /// use gpuint::{Batch, Device, GpuUint};
            /// use num_bigint::BigUint;
            ///
            /// let device = Device::cpu();
            /// let a = Batch::<GpuUint<1024>>::splat(&device, &(BigUint::from(3u32) << 1000), 2)?;
            /// let (low, high) = a.mul_lo_hi(&a)?;
            /// let (q, r) = low.div_rem_wide(&high, &a)?; // q is a Batch<GpuUint<2048>>
            /// assert_eq!(q.row(0)?, a.row(0)?);
            /// assert!(r.is_zero_mask()?.to_bools()?[0]);
            /// # Ok::<(), gpuint::Error>(())
            /// ```
            ///
            /// # Errors
            /// As [`div_rem`](Self::div_rem).
            pub fn div_rem_wide<W: Kernels>(
                &self,
                high: &Batch<T>,
                rhs: &Batch<T>,
            ) -> Result<(Batch<W>, Batch<T>)>
            where
                T: Widen<Wide = W>,
            {
                let results = self.view().div_rem_wide(high.as_dyn(), rhs.as_dyn(), W::SHAPE);
                results.map(|(quotient, remainder)| {
                    (Batch::typed(quotient), Batch::typed(remainder))
                })
            }
        }
    };
}
wide!(dyn DynBatch);
wide!(dyn DynUsing<'_>);
wide!(typed (T: Kernels) Batch<T>);
wide!(typed (T: Kernels, S: Division<T>) Using<'_, T, S>);
