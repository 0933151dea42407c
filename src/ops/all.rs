//! Operations with one value for all rows, sums of products, and the sum of a batch.

use std::cmp::Ordering;

use gpuint_catalogue::Op;
use num_bigint::BigUint;
use num_traits::Zero;

use super::{View, faces};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;

impl View<'_> {
    pub(crate) fn wrapping_add_all(&self, value: &BigUint) -> Result<DynBatch> {
        self.sum_all(Op::Add, value)
    }

    pub(crate) fn wrapping_sub_all(&self, value: &BigUint) -> Result<DynBatch> {
        self.sum_all(Op::Sub, value)
    }

    fn sum_all(&self, op: Op, value: &BigUint) -> Result<DynBatch> {
        let value = self.row_of(value)?;
        self.produce(|out| self.sum(op, self.operands_with_all(&value), out, None))
    }

    pub(crate) fn wrapping_mul_all(&self, value: &BigUint) -> Result<DynBatch> {
        self.wrapping_mul(&DynBatch::splat(self.device(), self.shape(), value, self.len())?)
    }

    pub(crate) fn cmp_all(&self, value: &BigUint) -> Result<Vec<Ordering>> {
        let value = self.row_of(value)?;
        let mut order = self.equal()?;
        self.order(self.operands_with_all(&value), &mut order)?;
        Ok(order)
    }

    pub(crate) fn eq_mask_all(&self, value: &BigUint) -> Result<Mask> {
        self.test_all(Op::EqMask, value)
    }

    pub(crate) fn lt_mask_all(&self, value: &BigUint) -> Result<Mask> {
        self.test_all(Op::LtMask, value)
    }

    fn test_all(&self, op: Op, value: &BigUint) -> Result<Mask> {
        let value = self.row_of(value)?;
        self.produce_mask(|mask| self.test(op, self.operands_with_all(&value), mask))
    }

    pub(crate) fn mul_add(&self, factor: &DynBatch, summand: &DynBatch) -> Result<DynBatch> {
        self.check(summand)?;
        self.wrapping_mul(factor)?.wrapping_add(summand)
    }

    pub(crate) fn mul_sub(&self, factor: &DynBatch, subtrahend: &DynBatch) -> Result<DynBatch> {
        self.check(subtrahend)?;
        self.wrapping_mul(factor)?.wrapping_sub(subtrahend)
    }

    pub(crate) fn wrapping_dot(&self, rhs: &DynBatch) -> Result<BigUint> {
        self.wrapping_mul(rhs)?.wrapping_sum()
    }

    pub(crate) fn wrapping_polynomial(&self, coefficients: &[BigUint]) -> Result<DynBatch> {
        let coefficients = DynBatch::from_biguints(self.device(), self.shape(), coefficients)?;
        let mut value = DynBatch::zeros(self.device(), self.shape(), self.len())?;
        for index in (0..coefficients.len()).rev() {
            let coefficient = coefficients.slice(index..index + 1)?;
            let product = value.wrapping_mul(self.batch)?;
            let operands = product.view().operands_with_all(&coefficient);
            self.sum(Op::Add, operands, &mut value, None)?;
        }
        Ok(value)
    }

    pub(crate) fn wrapping_sum(&self) -> Result<BigUint> {
        if self.batch.is_empty() {
            return Ok(BigUint::zero());
        }
        let mut left: Option<DynBatch> = None;
        let mut odd = BigUint::zero();
        loop {
            let rows = left.as_ref().unwrap_or(self.batch);
            let half = rows.len() / 2;
            if half == 0 {
                return Ok((odd + rows.row(0)?) % (BigUint::from(1u32) << self.shape().bits));
            }
            if rows.len() % 2 == 1 {
                odd += rows.row(rows.len() - 1)?;
            }
            let sum = rows.slice(0..half)?.wrapping_add(&rows.slice(half..2 * half)?)?;
            left = Some(sum);
        }
    }
}

faces! {
    "One value for all rows, and sums";

    /// Computes `self + value` modulo `2^BITS`.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let number = |n: u32| BigUint::from(n);
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&device, &[number(3), number(4)])?;
    /// assert_eq!(a.wrapping_add_all(&number(10))?.to_biguints()?, [number(13), number(14)]);
    /// assert_eq!(a.lt_mask_all(&number(4))?.to_bools()?, [true, false]);
    /// assert_eq!(a.wrapping_sum()?, number(7));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) where the value needs more than `BITS` bits (row 0), and
    /// what any operation may return: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver).
    fn wrapping_add_all(value: Number) -> New;

    /// Computes `self - value` modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`wrapping_add_all`](Self::wrapping_add_all).
    fn wrapping_sub_all(value: Number) -> New;

    /// Computes `self * value` modulo `2^BITS`. During the call the device holds a copy of the
    /// value for each row.
    ///
    /// # Errors
    /// As [`wrapping_add_all`](Self::wrapping_add_all).
    fn wrapping_mul_all(value: Number) -> New;

    /// Compares each row with `value`.
    ///
    /// # Errors
    /// As [`wrapping_add_all`](Self::wrapping_add_all).
    fn cmp_all(value: Number) -> Orders;

    /// Returns a mask of the rows with `self = value`.
    ///
    /// # Errors
    /// As [`wrapping_add_all`](Self::wrapping_add_all).
    fn eq_mask_all(value: Number) -> NewMask;

    /// Returns a mask of the rows with `self < value`.
    ///
    /// # Errors
    /// As [`wrapping_add_all`](Self::wrapping_add_all).
    fn lt_mask_all(value: Number) -> NewMask;

    /// Computes `self * factor + summand` modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    fn mul_add(factor: Rows, summand: Rows) -> New;

    /// Computes `self * factor - subtrahend` modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    fn mul_sub(factor: Rows, subtrahend: Rows) -> New;

    /// Computes the polynomial `c[0] + c[1] x + c[2] x^2 + ..` modulo `2^BITS` at each row `x`, by
    /// Horner's rule. Without coefficients it is 0.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let x = Batch::<GpuUint<1024>>::from_biguints(&device, &[2u32, 10].map(BigUint::from))?;
    /// let y = x.wrapping_polynomial(&[1u32, 0, 3].map(BigUint::from))?; // 1 + 3 x^2
    /// assert_eq!(y.to_biguints()?, [13u32, 301].map(BigUint::from));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) with the lowest index of a coefficient that needs more
    /// than `BITS` bits, and as [`wrapping_mul`](Self::wrapping_mul).
    fn wrapping_polynomial(coefficients: Numbers) -> New;

    /// Returns the sum of the products of each row and the same row of `rhs`, modulo `2^BITS`; 0
    /// for empty batches.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    fn wrapping_dot(rhs: Rows) -> NewNumber;

    /// Returns the sum of all rows modulo `2^BITS`; 0 for an empty batch. The device adds halves of
    /// the batch in log2(rows) rounds.
    ///
    /// # Errors
    /// The errors of any operation, as [`wrapping_add_all`](Self::wrapping_add_all).
    fn wrapping_sum() -> NewNumber;
}
