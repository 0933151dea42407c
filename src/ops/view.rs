//! The view of a batch on which operations are implemented.

use gpuint_catalogue::{Op, Shape};
use num_bigint::BigUint;

use crate::backend::{Operands, Params};
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::shape::narrowest;
use crate::strategy::Strategy;

/// Returns the narrowest shape for `bits` bits; `widest` instead of a long shape, unless `widest`
/// is long, too.
pub(super) fn shape_of(bits: usize, widest: Shape) -> Shape {
    let shape = narrowest(bits).filter(|shape| widest.is_long() || !shape.is_long());
    shape.unwrap_or(widest)
}

/// Returns rows in a shape, without a copy if they have it.
pub(super) fn in_shape(rows: DynBatch, shape: Shape) -> Result<DynBatch> {
    if rows.shape() == shape { Ok(rows) } else { rows.resized(shape) }
}

/// A batch and the strategy for its operations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) batch: &'a DynBatch,
    pub(crate) strategy: Strategy,
}

impl<'a> View<'a> {
    pub(super) fn device(&self) -> &'a Device {
        self.batch.device()
    }

    pub(super) fn shape(&self) -> Shape {
        self.batch.shape()
    }

    pub(super) fn len(&self) -> usize {
        self.batch.len()
    }

    /// Operands whose first input is the batch, with its number of rows.
    pub(super) fn operands(&self) -> Operands<'a> {
        Operands {
            ins: [Some(self.batch.buffer()), None, None],
            rows: self.len(),
            ..Operands::default()
        }
    }

    /// Like [`operands`](Self::operands), with a second batch of the same shape, device and length.
    pub(super) fn operands_with(&self, rhs: &'a DynBatch) -> Result<Operands<'a>> {
        self.check(rhs)?;
        let mut operands = self.operands();
        operands.ins[1] = Some(rhs.buffer());
        Ok(operands)
    }

    /// Like [`operands`](Self::operands), with a second operand of one row for all rows.
    pub(super) fn operands_with_all(&self, value: &'a DynBatch) -> Operands<'a> {
        let mut operands = self.operands();
        operands.ins[1] = Some(value.buffer());
        operands.params = Params { broadcast_rhs: true, ..operands.params };
        operands
    }

    /// Makes a row of this value, for [`operands_with_all`](Self::operands_with_all).
    pub(super) fn row_of(&self, value: &BigUint) -> Result<DynBatch> {
        DynBatch::single(self.device(), self.shape(), value)
    }

    /// Queues an operation.
    pub(super) fn launch(&self, op: Op, operands: Operands<'_>) -> Result<()> {
        let kernel = self.device().kernel(op, self.strategy, self.shape(), self.len())?;
        self.device().launch(kernel, operands)
    }

    /// Runs an operation that reports failed rows, and returns the lowest one.
    pub(super) fn launch_checked(&self, op: Op, operands: Operands<'_>) -> Result<Option<usize>> {
        let kernel = self.device().kernel(op, self.strategy, self.shape(), self.len())?;
        self.device().launch_checked(kernel, operands)
    }

    /// Checks that a batch has the shape, device and number of rows of this one.
    pub(super) fn check(&self, other: &DynBatch) -> Result<()> {
        if self.shape() != other.shape() {
            return Err(Error::ShapeMismatch { left: self.shape(), right: other.shape() });
        }
        self.check_operand(other.device(), other.len())
    }

    /// Checks that a mask has the device and number of rows of this batch.
    pub(super) fn check_mask(&self, mask: &Mask) -> Result<()> {
        self.check_operand(mask.device(), mask.len())
    }

    pub(super) fn check_operand(&self, device: &Device, rows: usize) -> Result<()> {
        if !self.device().shares_memory_with(device) {
            return Err(Error::DeviceMismatch);
        }
        if self.len() != rows {
            return Err(Error::LengthMismatch { left: self.len(), right: rows });
        }
        Ok(())
    }

    /// Allocates a batch like this one, uninitialized.
    pub(super) fn alloc(&self) -> Result<DynBatch> {
        DynBatch::alloc(self.device(), self.shape(), self.len())
    }

    /// Makes a batch like this one, written by `write`.
    pub(super) fn produce(
        &self,
        write: impl FnOnce(&mut DynBatch) -> Result<()>,
    ) -> Result<DynBatch> {
        let mut out = self.alloc()?;
        write(&mut out)?;
        Ok(out)
    }

    /// Makes two batches like this one, written by `write`.
    pub(super) fn produce_two(
        &self,
        write: impl FnOnce(&mut DynBatch, &mut DynBatch) -> Result<()>,
    ) -> Result<(DynBatch, DynBatch)> {
        let mut first = self.alloc()?;
        let second = self.produce(|second| write(&mut first, second))?;
        Ok((first, second))
    }

    /// Allocates a mask with as many rows as this batch, uninitialized.
    pub(super) fn alloc_mask(&self) -> Result<Mask> {
        Mask::alloc(self.device(), self.len())
    }

    /// Makes a mask with as many rows as this batch, written by `write`.
    pub(super) fn produce_mask(&self, write: impl FnOnce(&mut Mask) -> Result<()>) -> Result<Mask> {
        let mut mask = self.alloc_mask()?;
        write(&mut mask)?;
        Ok(mask)
    }
}
