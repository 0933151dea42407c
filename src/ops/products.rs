//! Products modulo divisors, by prepared or by kept reciprocals.

use super::View;
use super::reciprocals::Reduction;
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::strategy::Strategy;

/// Products modulo divisors of rows that are below them: by kernels, or by kept reciprocals.
pub(super) enum Products<'a> {
    Prepared(Strategy, &'a DynDivisor),
    Reduced(Box<Reduction<'a>>),
}

impl<'a> Products<'a> {
    /// Returns the products for batches of as many rows as a view, by its strategy.
    pub(super) fn new(view: &View<'_>, divisor: &'a DynDivisor) -> Result<Self> {
        Ok(match divisor.unprepared() {
            Some(kept) => Self::Reduced(Box::new(kept.reduction(view)?)),
            None => Self::Prepared(view.strategy, divisor),
        })
    }

    /// Computes `a^2 mod v`.
    pub(super) fn square_into(&self, a: &DynBatch, out: &mut DynBatch) -> Result<()> {
        match *self {
            Self::Prepared(strategy, divisor) => {
                View { batch: a, strategy }.square_mod_into(divisor, out)
            }
            Self::Reduced(ref reduction) => {
                *out = reduction.square(a)?;
                Ok(())
            }
        }
    }

    /// Computes `a b mod v`.
    pub(super) fn mul_into(&self, a: &DynBatch, b: &DynBatch, out: &mut DynBatch) -> Result<()> {
        match *self {
            Self::Prepared(strategy, divisor) => {
                View { batch: a, strategy }.mul_mod_into(b, divisor, out)
            }
            Self::Reduced(ref reduction) => {
                *out = reduction.product(a, b)?;
                Ok(())
            }
        }
    }
}
