//! Comparison (`kernels/linear/compare.cuh`).

use std::cmp::Ordering;

use gpuint_catalogue::Op;

use crate::backend::Operands;
use crate::backend::host::{reserved_vec, zeroed_vec};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::ops::Rhs;
use crate::shape::Kernels;
use crate::strategy::Strategy;

impl<T: Kernels> Batch<T> {
    /// The order of each row and the same row of `rhs`: nothing wraps.
    ///
    /// # Errors
    /// [`DeviceMismatch`](Error::DeviceMismatch), [`LengthMismatch`](Error::LengthMismatch), and
    /// what any operation may return: [`OutOfMemory`](Error::OutOfMemory),
    /// [`KernelMissing`](Error::KernelMissing), [`Compile`](Error::Compile),
    /// [`Driver`](Error::Driver).
    #[expect(clippy::should_implement_trait, reason = "one order a row, and it may fail")]
    pub fn cmp(&self, rhs: &Self) -> Result<Vec<Ordering>> {
        let mut order = reserved_vec(self.len())?;
        order.resize(self.len(), Ordering::Equal);
        self.cmp_into(rhs, &mut order)?;
        Ok(order)
    }

    /// [`cmp`](Self::cmp) into host memory that exists, as long as the batch. (The device holds a
    /// byte a row for the time of the call.)
    ///
    /// # Errors
    /// As [`cmp`](Self::cmp).
    pub fn cmp_into(&self, rhs: &Self, out: &mut [Ordering]) -> Result<()> {
        self.check(rhs)?;
        self.order(Rhs::Rows(rhs), out)
    }

    /// The order of each row and its second operand.
    pub(super) fn order(&self, rhs: Rhs<'_, T>, out: &mut [Ordering]) -> Result<()> {
        let operands = Operands {
            ins: [Some(self.buffer()), Some(rhs.batch().buffer()), None],
            params: rhs.params(),
            ..self.operands()
        };
        let signs = self.measure::<i8>(Op::Cmp, operands, out.len())?;
        for (order, sign) in out.iter_mut().zip(signs) {
            *order = sign.cmp(&0);
        }
        Ok(())
    }

    /// A mask of the rows with `self = rhs`: nothing wraps.
    ///
    /// # Errors
    /// As [`cmp`](Self::cmp).
    pub fn eq_mask(&self, rhs: &Self) -> Result<Mask> {
        self.produce_mask(|mask| self.eq_mask_into(rhs, mask))
    }

    /// [`eq_mask`](Self::eq_mask) into a mask that exists, without allocating.
    ///
    /// # Errors
    /// As [`cmp`](Self::cmp).
    pub fn eq_mask_into(&self, rhs: &Self, mask: &mut Mask) -> Result<()> {
        self.test(Op::EqMask, Some(rhs), mask)
    }

    /// A mask of the rows with `self < rhs`: nothing wraps.
    ///
    /// # Errors
    /// As [`cmp`](Self::cmp).
    pub fn lt_mask(&self, rhs: &Self) -> Result<Mask> {
        self.produce_mask(|mask| self.lt_mask_into(rhs, mask))
    }

    /// [`lt_mask`](Self::lt_mask) into a mask that exists, without allocating.
    ///
    /// # Errors
    /// As [`cmp`](Self::cmp).
    pub fn lt_mask_into(&self, rhs: &Self, mask: &mut Mask) -> Result<()> {
        self.test(Op::LtMask, Some(rhs), mask)
    }

    /// Sets the mask of the rows for which a kernel answers yes.
    pub(super) fn test(&self, op: Op, rhs: Option<&Self>, mask: &mut Mask) -> Result<()> {
        if let Some(rhs) = rhs {
            self.check(rhs)?;
        }
        self.test_with(op, rhs.map(Rhs::Rows), mask)
    }

    pub(super) fn test_with(&self, op: Op, rhs: Option<Rhs<'_, T>>, mask: &mut Mask) -> Result<()> {
        self.check_mask(mask)?;
        let operands = Operands {
            ins: [Some(self.buffer()), rhs.map(|rhs| rhs.batch().buffer()), None],
            mask: Some(mask.cleared()?),
            params: rhs.map(Rhs::params).unwrap_or_default(),
            ..self.operands()
        };
        self.device().launch(self.kernel(op, Strategy::Auto)?, operands)
    }

    /// Runs a kernel that writes one number a row, and returns the numbers. `expected` is the
    /// length of what they go into.
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
        if !self.is_empty() {
            let mut buffer = self.device().alloc_rows(self.len(), size_of::<N>())?;
            let operands = Operands { outs: [Some(&mut buffer), None], ..operands };
            self.device().launch(self.kernel(op, Strategy::Auto)?, operands)?;
            let bytes = bytemuck::cast_slice_mut(&mut numbers);
            self.device().memory().download(&buffer, 0, bytes)?;
        }
        Ok(numbers)
    }
}
