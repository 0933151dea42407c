//! Products by prepared factors.

use super::{View, faces};
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::factor::DynFactor;

impl View<'_> {
    pub(crate) fn wrapping_mul_by(&self, factor: &DynFactor) -> Result<DynBatch> {
        self.produce(|out| self.wrapping_mul_by_into(factor, out))
    }

    pub(crate) fn wrapping_mul_by_into(
        &self,
        factor: &DynFactor,
        out: &mut DynBatch,
    ) -> Result<()> {
        self.check_factor(factor)?;
        self.check(out)?;
        match factor.wide()? {
            Some(transform) => transform.wrapping_mul_into(self.batch, out),
            None => self.with_rows(factor, |rows| self.wrapping_mul_into(rows, out)),
        }
    }

    pub(crate) fn mul_lo_hi_by(&self, factor: &DynFactor) -> Result<(DynBatch, DynBatch)> {
        self.produce_two(|low, high| self.mul_lo_hi_by_into(factor, low, high))
    }

    pub(crate) fn mul_lo_hi_by_into(
        &self,
        factor: &DynFactor,
        low: &mut DynBatch,
        high: &mut DynBatch,
    ) -> Result<()> {
        self.check_factor(factor)?;
        self.check(low)?;
        self.check(high)?;
        match factor.wide()? {
            Some(transform) => transform.mul_lo_hi_into(self.batch, low, high),
            None => self.with_rows(factor, |rows| self.mul_lo_hi_into(rows, low, high)),
        }
    }

    pub(crate) fn cyclic_mul_by(&self, factor: &DynFactor) -> Result<DynBatch> {
        self.produce(|out| self.cyclic_mul_by_into(factor, out))
    }

    pub(crate) fn cyclic_mul_by_into(&self, factor: &DynFactor, out: &mut DynBatch) -> Result<()> {
        self.check_factor(factor)?;
        self.check(out)?;
        match factor.cyclic()? {
            Some(transform) => transform.cyclic_mul_into(self.batch, out),
            None => self.with_rows(factor, |rows| self.cyclic_mul_into(rows, out)),
        }
    }

    fn check_factor(&self, factor: &DynFactor) -> Result<()> {
        if self.shape() != factor.shape() {
            return Err(Error::ShapeMismatch { left: self.shape(), right: factor.shape() });
        }
        self.check_operand(factor.device(), factor.rows().unwrap_or(self.len()))
    }

    /// Calls `multiply` with the factor of each row.
    fn with_rows(
        &self,
        factor: &DynFactor,
        multiply: impl FnOnce(&DynBatch) -> Result<()>,
    ) -> Result<()> {
        match factor.rows().is_none() && self.len() != 1 {
            true => multiply(&self.copies_of(factor.factors())?),
            false => multiply(factor.factors()),
        }
    }
}

faces! {
    "Products by prepared factors";

    /// Computes `self * factor` modulo `2^BITS`.
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch) if there are factors for another number of
    /// rows, and what any operation may return: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver).
    fn wrapping_mul_by(factor: Factor) -> New;

    /// Computes [`wrapping_mul_by`](Self::wrapping_mul_by) into an existing batch.
    ///
    /// # Errors
    /// As [`wrapping_mul_by`](Self::wrapping_mul_by).
    fn wrapping_mul_by_into(factor: Factor, out: Out) -> Nothing;

    /// Computes the full product `self * factor` as `(low, high)`: it is `low + high * 2^BITS`.
    ///
    /// # Errors
    /// As [`wrapping_mul_by`](Self::wrapping_mul_by).
    fn mul_lo_hi_by(factor: Factor) -> NewPair;

    /// Computes [`mul_lo_hi_by`](Self::mul_lo_hi_by) into two existing batches.
    ///
    /// # Errors
    /// As [`wrapping_mul_by`](Self::wrapping_mul_by).
    fn mul_lo_hi_by_into(factor: Factor, low: Out, high: Out) -> Nothing;

    /// Computes `self * factor` modulo `2^BITS - 1`. A result is 0 only where a factor is 0; other
    /// multiples of the modulus give `2^BITS - 1`.
    ///
    /// # Errors
    /// As [`wrapping_mul_by`](Self::wrapping_mul_by).
    fn cyclic_mul_by(factor: Factor) -> New;

    /// Computes [`cyclic_mul_by`](Self::cyclic_mul_by) into an existing batch.
    ///
    /// # Errors
    /// As [`wrapping_mul_by`](Self::wrapping_mul_by).
    fn cyclic_mul_by_into(factor: Factor, out: Out) -> Nothing;
}
