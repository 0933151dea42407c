//! The operations, one file each.
//!
//! Each operation is implemented once, on a [`View`]: a batch whose shape is a value, and a
//! strategy. It checks its operands and passes a [`Call`](crate::backend::Call) to the device. The
//! macro `faces` declares the public methods of [`DynBatch`] and [`Batch`](crate::Batch). If the
//! operation has several algorithms, the macro also declares the methods of
//! [`DynUsing`](crate::DynUsing) and [`Using`](crate::Using). docs/adding.md describes how to add
//! an operation.

mod add;
mod all;
mod bits;
mod bitwise;
mod compare;
pub(crate) mod crt;
mod cyclic;
pub(crate) mod decimal;
mod div;
mod div_by;
mod div_digit;
mod exact;
mod exponents;
pub(crate) mod faces;
pub(crate) mod fixed_base;
mod gcd;
mod gerbicz;
mod grouped_powers;
mod half_gcd;
mod inverse_all;
mod long_division;
mod long_root;
mod modular;
mod mul;
mod negacyclic;
mod operators;
mod pairs;
mod perfect_power;
mod pow_product;
mod prime;
mod rational;
pub(crate) mod reciprocals;
pub(crate) mod residues;
mod root;
mod rows;
mod shift;
mod shifted_inverse;
pub(crate) mod signed;
mod sort;
mod special;
mod sqrt;
mod sum_of_products;
#[cfg(test)]
mod tests;
pub(crate) mod tree;
mod unprepared;
mod xgcd;

use gpuint_catalogue::{Op, Shape};
use num_bigint::BigUint;

use crate::backend::{Operands, Params};
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::shape::narrowest;
use crate::strategy::Strategy;
use faces::faces;

/// Returns the narrowest shape for `bits` bits; `widest` instead of a long shape, unless `widest`
/// is long, too.
fn shape_of(bits: usize, widest: Shape) -> Shape {
    let shape = narrowest(bits).filter(|shape| widest.is_long() || !shape.is_long());
    shape.unwrap_or(widest)
}

/// Returns rows in a shape, without a copy if they have it.
fn in_shape(rows: DynBatch, shape: Shape) -> Result<DynBatch> {
    if rows.shape() == shape { Ok(rows) } else { rows.resized(shape) }
}

/// A batch and the strategy for its operations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) batch: &'a DynBatch,
    pub(crate) strategy: Strategy,
}

impl<'a> View<'a> {
    fn device(&self) -> &'a Device {
        self.batch.device()
    }

    fn shape(&self) -> Shape {
        self.batch.shape()
    }

    fn len(&self) -> usize {
        self.batch.len()
    }

    /// Operands whose first input is the batch, with its number of rows.
    fn operands(&self) -> Operands<'a> {
        Operands {
            ins: [Some(self.batch.buffer()), None, None],
            rows: self.len(),
            ..Operands::default()
        }
    }

    /// Like [`operands`](Self::operands), with a second batch of the same shape, device and length.
    fn operands_with(&self, rhs: &'a DynBatch) -> Result<Operands<'a>> {
        self.check(rhs)?;
        let mut operands = self.operands();
        operands.ins[1] = Some(rhs.buffer());
        Ok(operands)
    }

    /// Like [`operands`](Self::operands), with a second operand of one row for all rows.
    fn operands_with_all(&self, value: &'a DynBatch) -> Operands<'a> {
        let mut operands = self.operands();
        operands.ins[1] = Some(value.buffer());
        operands.params = Params { broadcast_rhs: true, ..operands.params };
        operands
    }

    /// Makes a row of this value, for [`operands_with_all`](Self::operands_with_all).
    fn row_of(&self, value: &BigUint) -> Result<DynBatch> {
        DynBatch::single(self.device(), self.shape(), value)
    }

    /// Queues an operation.
    fn launch(&self, op: Op, operands: Operands<'_>) -> Result<()> {
        let kernel = self.device().kernel(op, self.strategy, self.shape(), self.len())?;
        self.device().launch(kernel, operands)
    }

    /// Runs an operation that reports failed rows, and returns the lowest one.
    fn launch_checked(&self, op: Op, operands: Operands<'_>) -> Result<Option<usize>> {
        let kernel = self.device().kernel(op, self.strategy, self.shape(), self.len())?;
        self.device().launch_checked(kernel, operands)
    }

    /// Checks that a batch has the shape, device and number of rows of this one.
    fn check(&self, other: &DynBatch) -> Result<()> {
        if self.shape() != other.shape() {
            return Err(Error::ShapeMismatch { left: self.shape(), right: other.shape() });
        }
        self.check_operand(other.device(), other.len())
    }

    /// Checks that a mask has the device and number of rows of this batch.
    fn check_mask(&self, mask: &Mask) -> Result<()> {
        self.check_operand(mask.device(), mask.len())
    }

    fn check_operand(&self, device: &Device, rows: usize) -> Result<()> {
        if !self.device().shares_memory_with(device) {
            return Err(Error::DeviceMismatch);
        }
        if self.len() != rows {
            return Err(Error::LengthMismatch { left: self.len(), right: rows });
        }
        Ok(())
    }

    /// Allocates a batch like this one, uninitialized.
    fn alloc(&self) -> Result<DynBatch> {
        DynBatch::alloc(self.device(), self.shape(), self.len())
    }

    /// Makes a batch like this one, written by `write`.
    fn produce(&self, write: impl FnOnce(&mut DynBatch) -> Result<()>) -> Result<DynBatch> {
        let mut out = self.alloc()?;
        write(&mut out)?;
        Ok(out)
    }

    /// Makes two batches like this one, written by `write`.
    fn produce_two(
        &self,
        write: impl FnOnce(&mut DynBatch, &mut DynBatch) -> Result<()>,
    ) -> Result<(DynBatch, DynBatch)> {
        let mut first = self.alloc()?;
        let second = self.produce(|second| write(&mut first, second))?;
        Ok((first, second))
    }

    /// Allocates a mask with as many rows as this batch, uninitialized.
    fn alloc_mask(&self) -> Result<Mask> {
        Mask::alloc(self.device(), self.len())
    }

    /// Makes a mask with as many rows as this batch, written by `write`.
    fn produce_mask(&self, write: impl FnOnce(&mut Mask) -> Result<()>) -> Result<Mask> {
        let mut mask = self.alloc_mask()?;
        write(&mut mask)?;
        Ok(mask)
    }
}
