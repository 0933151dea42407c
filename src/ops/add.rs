//! Addition and subtraction.
//!
//! On a GPU each thread adds its `Q` digits one after the other, then a warp finds all its carries
//! at once: with the bits `g` of the lanes that generate a carry and the bits `p` of those that
//! pass one on, the carries into the lanes are `p ^ (g + (g | p))`, one integer addition. Several
//! warps do the same with one bit a warp (`kernels/linear/add.cuh`, `kernels/core/carry.cuh`).

use gpuint_catalogue::Op;

use crate::backend::Operands;
use crate::batch::Batch;
use crate::error::Result;
use crate::mask::Mask;
use crate::ops::Rhs;
use crate::shape::Kernels;
use crate::strategy::Strategy;

impl<T: Kernels> Batch<T> {
    /// `self + rhs`, wrapping: modulo `2^BITS`.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let largest = (BigUint::from(1u32) << 1024) - 1u32;
    /// let a = Batch::<GpuUint<1024>>::splat(&device, &largest, 3)?;
    /// let b = Batch::splat(&device, &BigUint::from(5u32), 3)?;
    /// assert_eq!(a.wrapping_add(&b)?.row(2)?, BigUint::from(4u32));
    /// assert_eq!(a.overflowing_add(&b)?.1.count()?, 3);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    pub fn wrapping_add(&self, rhs: &Self) -> Result<Self> {
        self.produce(|out| self.wrapping_add_into(rhs, out))
    }

    /// [`wrapping_add`](Self::wrapping_add) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    pub fn wrapping_add_into(&self, rhs: &Self, out: &mut Self) -> Result<()> {
        self.sum(Op::Add, rhs, out, None)
    }

    /// `self + rhs`, wrapping: modulo `2^BITS`, and a mask of the rows that wrapped.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    pub fn overflowing_add(&self, rhs: &Self) -> Result<(Self, Mask)> {
        let mut carry = Mask::none(self.device(), self.len())?;
        let sum = self.produce(|out| self.overflowing_add_into(rhs, out, &mut carry))?;
        Ok((sum, carry))
    }

    /// [`overflowing_add`](Self::overflowing_add) into a batch and a mask that exist, without
    /// allocating.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    pub fn overflowing_add_into(&self, rhs: &Self, out: &mut Self, carry: &mut Mask) -> Result<()> {
        self.sum(Op::Add, rhs, out, Some(carry))
    }

    /// `self - rhs`, wrapping: modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    pub fn wrapping_sub(&self, rhs: &Self) -> Result<Self> {
        self.produce(|out| self.wrapping_sub_into(rhs, out))
    }

    /// [`wrapping_sub`](Self::wrapping_sub) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    pub fn wrapping_sub_into(&self, rhs: &Self, out: &mut Self) -> Result<()> {
        self.sum(Op::Sub, rhs, out, None)
    }

    /// `self - rhs`, wrapping: modulo `2^BITS`, and a mask of the rows that wrapped, which are
    /// those with `self < rhs`.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    pub fn overflowing_sub(&self, rhs: &Self) -> Result<(Self, Mask)> {
        let mut borrow = Mask::none(self.device(), self.len())?;
        let difference = self.produce(|out| self.overflowing_sub_into(rhs, out, &mut borrow))?;
        Ok((difference, borrow))
    }

    /// [`overflowing_sub`](Self::overflowing_sub) into a batch and a mask that exist, without
    /// allocating.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    pub fn overflowing_sub_into(
        &self,
        rhs: &Self,
        out: &mut Self,
        borrow: &mut Mask,
    ) -> Result<()> {
        self.sum(Op::Sub, rhs, out, Some(borrow))
    }

    /// A sum or a difference, with or without the mask of its carries.
    fn sum(&self, op: Op, rhs: &Self, out: &mut Self, carry: Option<&mut Mask>) -> Result<()> {
        self.check(rhs)?;
        self.sum_with(op, Rhs::Rows(rhs), out, carry)
    }

    /// A sum or a difference with rows or with one row for all rows.
    pub(super) fn sum_with(
        &self,
        op: Op,
        rhs: Rhs<'_, T>,
        out: &mut Self,
        carry: Option<&mut Mask>,
    ) -> Result<()> {
        self.check(out)?;
        if let Some(mask) = &carry {
            self.check_mask(mask)?;
        }
        let operands = Operands {
            ins: [Some(self.buffer()), Some(rhs.batch().buffer()), None],
            outs: [Some(out.buffer_mut()), None],
            mask: carry.map(Mask::cleared).transpose()?,
            params: rhs.params(),
            ..self.operands()
        };
        self.device().launch(self.kernel(op, Strategy::Auto)?, operands)
    }
}
