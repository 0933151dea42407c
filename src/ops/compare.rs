//! Comparison (`kernels/linear/compare.cuh`).

use std::cmp::Ordering;

use gpuint_catalogue::Op;

use super::{View, faces};
use crate::backend::Operands;
use crate::backend::host::{reserved_vec, zeroed_vec};
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::mask::Mask;

impl View<'_> {
    pub(crate) fn cmp(&self, rhs: &DynBatch) -> Result<Vec<Ordering>> {
        let mut order = self.equal()?;
        self.cmp_into(rhs, &mut order)?;
        Ok(order)
    }

    /// Allocates one order a row, for [`order`](Self::order) to write.
    pub(super) fn equal(&self) -> Result<Vec<Ordering>> {
        let mut order = reserved_vec(self.len())?;
        order.resize(self.len(), Ordering::Equal);
        Ok(order)
    }

    pub(crate) fn cmp_into(&self, rhs: &DynBatch, out: &mut [Ordering]) -> Result<()> {
        self.order(self.operands_with(rhs)?, out)
    }

    /// Writes the order of each row and its second operand.
    pub(super) fn order(&self, operands: Operands<'_>, out: &mut [Ordering]) -> Result<()> {
        let signs = self.measure::<i8>(Op::Cmp, operands, out.len())?;
        for (order, sign) in out.iter_mut().zip(signs) {
            *order = sign.cmp(&0);
        }
        Ok(())
    }

    pub(crate) fn eq_mask(&self, rhs: &DynBatch) -> Result<Mask> {
        self.produce_mask(|mask| self.eq_mask_into(rhs, mask))
    }

    pub(crate) fn eq_mask_into(&self, rhs: &DynBatch, mask: &mut Mask) -> Result<()> {
        self.test(Op::EqMask, self.operands_with(rhs)?, mask)
    }

    pub(crate) fn lt_mask(&self, rhs: &DynBatch) -> Result<Mask> {
        self.produce_mask(|mask| self.lt_mask_into(rhs, mask))
    }

    pub(crate) fn lt_mask_into(&self, rhs: &DynBatch, mask: &mut Mask) -> Result<()> {
        self.test(Op::LtMask, self.operands_with(rhs)?, mask)
    }

    /// Sets the mask of the rows for which a predicate is true.
    pub(super) fn test(&self, op: Op, operands: Operands<'_>, mask: &mut Mask) -> Result<()> {
        self.check_mask(mask)?;
        self.launch(op, Operands { mask: Some(mask.cleared()?), ..operands })
    }

    /// Runs an operation that returns one number a row; `expected` is the length of the
    /// destination.
    pub(super) fn measure<N: bytemuck::Pod>(
        &self,
        op: Op,
        operands: Operands<'_>,
        expected: usize,
    ) -> Result<Vec<N>> {
        if expected != self.len() {
            return Err(Error::LengthMismatch { left: self.len(), right: expected });
        }
        let mut numbers = zeroed_vec(self.len())?;
        if !self.batch.is_empty() {
            let mut buffer = self.device().alloc_rows(self.len(), size_of::<N>())?;
            self.launch(op, Operands { outs: [Some(&mut buffer), None], ..operands })?;
            let bytes = bytemuck::cast_slice_mut(&mut numbers);
            self.device().memory().download(&buffer, 0, bytes)?;
        }
        Ok(numbers)
    }
}

faces! {
    "Comparison";

    /// Compares each row with the same row of `rhs`.
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    #[expect(clippy::should_implement_trait, reason = "one order a row, and it may fail")]
    fn cmp(rhs: Rows) -> Orders;

    /// Computes [`cmp`](Self::cmp) into host memory as long as the batch. (During the call the
    /// device holds one byte a row.)
    ///
    /// # Errors
    /// As [`cmp`](Self::cmp).
    fn cmp_into(rhs: Rows, out: OutOrders) -> Nothing;

    /// Returns a mask of the rows with `self = rhs`.
    ///
    /// # Errors
    /// As [`cmp`](Self::cmp).
    fn eq_mask(rhs: Rows) -> NewMask;

    /// Computes [`eq_mask`](Self::eq_mask) into an existing mask, without allocating.
    ///
    /// # Errors
    /// As [`cmp`](Self::cmp).
    fn eq_mask_into(rhs: Rows, mask: OutMask) -> Nothing;

    /// Returns a mask of the rows with `self < rhs`.
    ///
    /// # Errors
    /// As [`cmp`](Self::cmp).
    fn lt_mask(rhs: Rows) -> NewMask;

    /// Computes [`lt_mask`](Self::lt_mask) into an existing mask, without allocating.
    ///
    /// # Errors
    /// As [`cmp`](Self::cmp).
    fn lt_mask_into(rhs: Rows, mask: OutMask) -> Nothing;
}
