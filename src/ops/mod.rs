//! Operations, one a file: each checks its operands and hands a [`Call`](crate::backend::Call) to
//! the device.
//!
//! A new operation is a template in `kernels/` and its line in `kernels/catalogue.toml`, a variant
//! of [`Op`], the function of a row in `src/backend/cpu.rs`, and a file here; a test in
//! `src/backend/images.rs` compares the catalogue with what is asked for. A new strategy is a type
//! and a variant in `src/strategy.rs`, and its line in the catalogue.

mod add;
mod all;
mod bits;
mod bitwise;
mod compare;
mod div;
mod div_by;
mod div_digit;
mod gcd;
mod modular;
mod mul;
mod operators;
mod rows;
mod shift;
mod shifted_inverse;
#[cfg(test)]
mod tests;

use gpuint_catalogue::Op;

use crate::backend::{Operands, Params};
use crate::batch::Batch;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::kernel::KernelId;
use crate::mask::Mask;
use crate::shape::Kernels;
use crate::strategy::Strategy;

/// A second operand: a row for each row, or one row for all of them.
enum Rhs<'a, T: Kernels> {
    Rows(&'a Batch<T>),
    Broadcast(&'a Batch<T>),
}

impl<T: Kernels> Clone for Rhs<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Kernels> Copy for Rhs<'_, T> {}

impl<'a, T: Kernels> Rhs<'a, T> {
    fn batch(self) -> &'a Batch<T> {
        let (Self::Rows(batch) | Self::Broadcast(batch)) = self;
        batch
    }

    fn params(self) -> Params {
        Params { broadcast_rhs: matches!(self, Self::Broadcast(_)), ..Params::default() }
    }
}

impl<T: Kernels> Batch<T> {
    /// Selects the kernel of an operation on these rows.
    pub(crate) fn kernel(&self, op: Op, strategy: Strategy) -> Result<KernelId> {
        self.device().kernel(op, strategy, T::SHAPE, self.len())
    }

    /// Operands with as many rows as this batch.
    fn operands<'a>(&self) -> Operands<'a> {
        Operands { rows: self.len(), ..Operands::default() }
    }

    /// Checks that a batch goes with this one: same device, same number of rows.
    fn check<U: Kernels>(&self, other: &Batch<U>) -> Result<()> {
        self.check_operand(other.device(), other.len())
    }

    /// Checks that a mask goes with this batch: same device, same number of rows.
    fn check_mask(&self, mask: &Mask) -> Result<()> {
        self.check_operand(mask.device(), mask.len())
    }

    fn check_operand(&self, device: &Device, rows: usize) -> Result<()> {
        if self.device() != device {
            return Err(Error::DeviceMismatch);
        }
        if self.len() != rows {
            return Err(Error::LengthMismatch { left: self.len(), right: rows });
        }
        Ok(())
    }

    /// A new batch with as many rows as this one, written by `write`.
    fn produce<U: Kernels>(
        &self,
        write: impl FnOnce(&mut Batch<U>) -> Result<()>,
    ) -> Result<Batch<U>> {
        let mut out = Batch::alloc(self.device(), self.len())?;
        write(&mut out)?;
        Ok(out)
    }

    /// A new mask with as many rows as this batch, written by `write`.
    fn produce_mask(&self, write: impl FnOnce(&mut Mask) -> Result<()>) -> Result<Mask> {
        let mut mask = Mask::none(self.device(), self.len())?;
        write(&mut mask)?;
        Ok(mask)
    }
}
