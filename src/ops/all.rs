//! One value for all rows, sums of products, and sums down a batch.

use std::cmp::Ordering;

use gpuint_catalogue::Op;
use num_bigint::BigUint;
use num_traits::Zero;

use crate::batch::Batch;
use crate::error::Result;
use crate::mask::Mask;
use crate::ops::Rhs;
use crate::shape::Kernels;

impl<T: Kernels> Batch<T> {
    /// `self + value`, wrapping: modulo `2^BITS`.
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
    pub fn wrapping_add_all(&self, value: &BigUint) -> Result<Self> {
        let value = Self::splat(self.device(), value, 1)?;
        self.produce(|out| self.sum_with(Op::Add, Rhs::Broadcast(&value), out, None))
    }

    /// `self - value`, wrapping: modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`wrapping_add_all`](Self::wrapping_add_all).
    pub fn wrapping_sub_all(&self, value: &BigUint) -> Result<Self> {
        let value = Self::splat(self.device(), value, 1)?;
        self.produce(|out| self.sum_with(Op::Sub, Rhs::Broadcast(&value), out, None))
    }

    /// `self * value`, wrapping: modulo `2^BITS`. The device holds a copy of the value for each row
    /// for the time of the call.
    ///
    /// # Errors
    /// As [`wrapping_add_all`](Self::wrapping_add_all).
    pub fn wrapping_mul_all(&self, value: &BigUint) -> Result<Self> {
        self.wrapping_mul(&Self::splat(self.device(), value, self.len())?)
    }

    /// The order of each row and `value`: nothing wraps.
    ///
    /// # Errors
    /// As [`wrapping_add_all`](Self::wrapping_add_all).
    pub fn cmp_all(&self, value: &BigUint) -> Result<Vec<Ordering>> {
        let value = Self::splat(self.device(), value, 1)?;
        let mut order = vec![Ordering::Equal; self.len()];
        self.order(Rhs::Broadcast(&value), &mut order)?;
        Ok(order)
    }

    /// A mask of the rows with `self = value`: nothing wraps.
    ///
    /// # Errors
    /// As [`wrapping_add_all`](Self::wrapping_add_all).
    pub fn eq_mask_all(&self, value: &BigUint) -> Result<Mask> {
        self.test_all(Op::EqMask, value)
    }

    /// A mask of the rows with `self < value`: nothing wraps.
    ///
    /// # Errors
    /// As [`wrapping_add_all`](Self::wrapping_add_all).
    pub fn lt_mask_all(&self, value: &BigUint) -> Result<Mask> {
        self.test_all(Op::LtMask, value)
    }

    fn test_all(&self, op: Op, value: &BigUint) -> Result<Mask> {
        let value = Self::splat(self.device(), value, 1)?;
        self.produce_mask(|mask| self.test_with(op, Some(Rhs::Broadcast(&value)), mask))
    }

    /// `self * factor + summand`, wrapping: modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn mul_add(&self, factor: &Self, summand: &Self) -> Result<Self> {
        self.check(summand)?;
        self.wrapping_mul(factor)?.wrapping_add(summand)
    }

    /// The sum of all rows, wrapping: modulo `2^BITS`; 0 for no rows. Halves of the rows are added
    /// on the device, in as many rounds as the number of rows has bits.
    ///
    /// # Errors
    /// What any operation may return, as [`wrapping_add_all`](Self::wrapping_add_all).
    pub fn wrapping_sum(&self) -> Result<BigUint> {
        if self.is_empty() {
            return Ok(BigUint::zero());
        }
        let mut left: Option<Self> = None;
        let mut odd = BigUint::zero();
        loop {
            let rows = left.as_ref().unwrap_or(self);
            let half = rows.len() / 2;
            if half == 0 {
                return Ok((odd + rows.row(0)?) % (BigUint::from(1u32) << T::BITS));
            }
            if rows.len() % 2 == 1 {
                odd += rows.row(rows.len() - 1)?;
            }
            let sum = rows.slice(0..half)?.wrapping_add(&rows.slice(half..2 * half)?)?;
            left = Some(sum);
        }
    }
}
