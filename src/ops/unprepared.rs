//! Operations by divisors without reciprocals, at widths without kernels for prepared divisors:
//! from 2^19 bits on.
//!
//! There a [`DynDivisor`] keeps the divisors themselves, and every operation by it divides. A
//! difference of two residues is brought into `[0, v)` by one conditional addition of `v`; a sum is
//! the difference `a - (v - b)`. Products take rows of twice the width. The widest shape has none,
//! and multiplies modulo divisors of at most half its width.

use gpuint_catalogue::Op;
use num_bigint::BigUint;
use num_traits::One;

use super::View;
use crate::backend::Operands;
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::kernel::algorithms;

/// The operation of an error.
const PRODUCTS: &str = "products modulo divisors";

/// Divisors without reciprocals, one for each row.
pub(super) enum Divisors<'a> {
    Kept(&'a DynBatch),
    /// Copies of one divisor.
    Copied(DynBatch),
}

impl Divisors<'_> {
    pub(super) fn rows(&self) -> &DynBatch {
        match self {
            Self::Kept(rows) => rows,
            Self::Copied(rows) => rows,
        }
    }
}

impl View<'_> {
    /// Returns true if some algorithm has a kernel for the operation at the shape.
    pub(super) fn has_kernel(&self, op: Op) -> bool {
        algorithms(op, self.shape()).next().is_some()
    }

    /// Returns the divisors of the rows; `None` if they have reciprocals.
    pub(super) fn unprepared<'d>(&self, divisor: &'d DynDivisor) -> Result<Option<Divisors<'d>>> {
        Ok(match (divisor.unprepared(), divisor.rows()) {
            (Some(rows), Some(_)) => Some(Divisors::Kept(rows)),
            (Some(row), None) => Some(Divisors::Copied(self.copies_of(row)?)),
            (None, _) => None,
        })
    }

    /// Divides by divisors that are not zero.
    pub(super) fn divide_unprepared(
        &self,
        divisors: &DynBatch,
        outs: [Option<&mut DynBatch>; 2],
    ) -> Result<()> {
        let view = self.batch.view();
        if view.divides_by_reciprocals() {
            let [quotient, remainder] = outs;
            return view.divide_by_reciprocals(divisors, quotient, remainder).map(drop);
        }
        let outs = outs.map(|out| out.map(DynBatch::buffer_mut));
        view.launch(Op::DivRem, Operands { outs, ..view.operands_with(divisors)? })
    }

    /// Computes an operation modulo divisors that are not zero.
    pub(super) fn modular_unprepared(
        &self,
        op: Op,
        second: Option<&DynBatch>,
        divisors: &DynBatch,
        out: &mut DynBatch,
    ) -> Result<()> {
        match (op, second) {
            (Op::AddMod, Some(rhs)) => {
                let rhs = divisors.wrapping_sub(&rhs.view().residue(divisors)?)?;
                self.residue(divisors)?.view().difference(&rhs, divisors, out)
            }
            (Op::SubMod, Some(rhs)) => {
                let rhs = rhs.view().residue(divisors)?;
                self.residue(divisors)?.view().difference(&rhs, divisors, out)
            }
            (Op::NegMod, _) => {
                let zero = DynBatch::zeros(self.device(), self.shape(), self.len())?;
                zero.view().difference(&self.residue(divisors)?, divisors, out)
            }
            (Op::MulMod, Some(rhs)) => self.product_unprepared(rhs, divisors, out),
            (Op::SquareMod, _) => self.product_unprepared(self.batch, divisors, out),
            // A row and a divisor that are odd have an even sum.
            (Op::HalveMod, _) => {
                let half = self.shr(1)?;
                let other =
                    half.wrapping_add(&divisors.shr(1)?)?.wrapping_add_all(&BigUint::one())?;
                other.view().select_into(&self.bit_mask(0)?, &half, out)
            }
            _ => self.launch(op, self.operands()),
        }
    }

    /// Returns true if there are products modulo divisors of at most `bits` bits at the width.
    pub(super) fn has_products_modulo(&self, bits: u64) -> bool {
        self.has_kernel(Op::Prepare) || self.doubled(PRODUCTS).is_ok() || self.holds_square(bits)
    }

    /// Returns true if rows hold products of two residues modulo divisors of `bits` bits.
    fn holds_square(&self, bits: u64) -> bool {
        bits <= self.shape().bits as u64 / 2
    }

    fn product_unprepared(
        &self,
        rhs: &DynBatch,
        divisors: &DynBatch,
        out: &mut DynBatch,
    ) -> Result<()> {
        let view = self.batch.view();
        let wide = match view.doubled(PRODUCTS) {
            Ok(wide) => wide,
            Err(error) => {
                let longest = divisors.bit_lengths()?.into_iter().max().unwrap_or(0);
                if !view.holds_square(longest) {
                    return Err(error);
                }
                let factor = rhs.view().residue(divisors)?;
                let product = view.residue(divisors)?.wrapping_mul(&factor)?;
                return product.view().divide_unprepared(divisors, [None, Some(out)]);
            }
        };
        let product = view.widening_mul(rhs, wide)?;
        let residue = product.view().residue(&divisors.view().resized(wide)?)?;
        residue.view().truncated_into(out)
    }

    fn residue(&self, divisors: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.divide_unprepared(divisors, [None, Some(out)]))
    }

    /// Computes `self - rhs mod divisor` for `self < divisor` and `rhs <= divisor`.
    fn difference(&self, rhs: &DynBatch, divisors: &DynBatch, out: &mut DynBatch) -> Result<()> {
        let (difference, borrow) = self.overflowing_sub(rhs)?;
        difference.wrapping_add(divisors)?.view().select_into(&borrow, &difference, out)
    }
}
