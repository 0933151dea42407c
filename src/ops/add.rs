//! Addition and subtraction.
//!
//! On a GPU each thread adds its `Q` digits, then a warp resolves all its carries at once. Let `g`
//! have a bit for each lane that generates a carry, and `p` one for each lane that propagates a
//! carry. The carries into the lanes are `p ^ (g + (g | p))`: one integer addition. Several warps
//! do the same with one bit a warp (`kernels/linear/add.cuh`, `kernels/core/carry.cuh`).

use gpuint_catalogue::Op;

use super::{View, faces};
use crate::backend::Operands;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;
use crate::ops::faces::assigning_faces;

impl View<'_> {
    pub(crate) fn wrapping_add(&self, rhs: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.wrapping_add_into(rhs, out))
    }

    pub(crate) fn wrapping_add_into(&self, rhs: &DynBatch, out: &mut DynBatch) -> Result<()> {
        self.sum(Op::Add, self.operands_with(rhs)?, out, None)
    }

    pub(crate) fn overflowing_add(&self, rhs: &DynBatch) -> Result<(DynBatch, Mask)> {
        let mut carry = self.alloc_mask()?;
        let sum = self.produce(|out| self.overflowing_add_into(rhs, out, &mut carry))?;
        Ok((sum, carry))
    }

    pub(crate) fn overflowing_add_into(
        &self,
        rhs: &DynBatch,
        out: &mut DynBatch,
        carry: &mut Mask,
    ) -> Result<()> {
        self.sum(Op::Add, self.operands_with(rhs)?, out, Some(carry))
    }

    pub(crate) fn wrapping_sub(&self, rhs: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.wrapping_sub_into(rhs, out))
    }

    pub(crate) fn wrapping_sub_into(&self, rhs: &DynBatch, out: &mut DynBatch) -> Result<()> {
        self.sum(Op::Sub, self.operands_with(rhs)?, out, None)
    }

    pub(crate) fn overflowing_sub(&self, rhs: &DynBatch) -> Result<(DynBatch, Mask)> {
        let mut borrow = self.alloc_mask()?;
        let difference = self.produce(|out| self.overflowing_sub_into(rhs, out, &mut borrow))?;
        Ok((difference, borrow))
    }

    pub(crate) fn overflowing_sub_into(
        &self,
        rhs: &DynBatch,
        out: &mut DynBatch,
        borrow: &mut Mask,
    ) -> Result<()> {
        self.sum(Op::Sub, self.operands_with(rhs)?, out, Some(borrow))
    }

    /// Queues a sum or difference, with or without the mask of its carries.
    pub(super) fn sum(
        &self,
        op: Op,
        operands: Operands<'_>,
        out: &mut DynBatch,
        carry: Option<&mut Mask>,
    ) -> Result<()> {
        self.check(out)?;
        if let Some(mask) = &carry {
            self.check_mask(mask)?;
        }
        let outs = [Some(out.buffer_mut()), None];
        let mask = carry.map(Mask::cleared).transpose()?;
        self.launch(op, Operands { outs, mask, ..operands })
    }
}

faces! {
    "Sums and differences";

    /// Computes `self + rhs` modulo `2^BITS`.
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
    fn wrapping_add(rhs: Rows) -> New;

    /// Computes [`wrapping_add`](Self::wrapping_add) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    fn wrapping_add_into(rhs: Rows, out: Out) -> Nothing;

    /// Computes `self + rhs` modulo `2^BITS`, and a mask of the rows that overflowed.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    fn overflowing_add(rhs: Rows) -> NewAndMask;

    /// Computes [`overflowing_add`](Self::overflowing_add) into an existing batch and mask, without
    /// allocating.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    fn overflowing_add_into(rhs: Rows, out: Out, carry: OutMask) -> Nothing;

    /// Computes `self - rhs` modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    fn wrapping_sub(rhs: Rows) -> New;

    /// Computes [`wrapping_sub`](Self::wrapping_sub) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    fn wrapping_sub_into(rhs: Rows, out: Out) -> Nothing;

    /// Computes `self - rhs` modulo `2^BITS`, and a mask of the rows that borrowed: those with
    /// `self < rhs`.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    fn overflowing_sub(rhs: Rows) -> NewAndMask;

    /// Computes [`overflowing_sub`](Self::overflowing_sub) into an existing batch and mask, without
    /// allocating.
    ///
    /// # Errors
    /// As [`wrapping_add`](Self::wrapping_add).
    fn overflowing_sub_into(rhs: Rows, out: Out, borrow: OutMask) -> Nothing;
}

assigning_faces! {
    "Sums and differences in place";
    fn wrapping_add_assign = wrapping_add_into;
    fn wrapping_sub_assign = wrapping_sub_into;
}
