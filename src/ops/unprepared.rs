//! Operations by divisors at widths without kernels for prepared divisors: from 2^19 bits on.
//!
//! There a [`DynDivisor`] keeps the divisors themselves, and their reciprocals from the first
//! product modulo a divisor on (`reciprocals.rs`). A division is by a kernel of divisions where the
//! width has one, else by reciprocals. A difference of two residues is brought into `[0, v)` by one
//! conditional addition of `v`; a sum is the difference `a - (v - b)`.

use gpuint_catalogue::{Op, Shape};
use num_bigint::BigUint;
use num_traits::One;

use super::View;
use super::long_division::write;
use super::reciprocals::{KeptDivisors, Rows};
use crate::backend::{BackendKind, Operands, long};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::kernel::algorithms;

impl<'a> View<'a> {
    /// Returns true if the device has a kernel for the operation at the shape, by some algorithm.
    /// For rows that are too wide for products on a GPU, the CPU has all operations.
    pub(super) fn has_kernel(&self, op: Op) -> bool {
        let Shape { bits, .. } = self.shape();
        let is_composed = self.shape().is_long()
            && self.device().backend() != BackendKind::Cpu
            && bits <= long::WIDEST_FACTOR;
        if is_composed {
            return long::has_kernels(op, bits);
        }
        algorithms(op, self.shape()).next().is_some()
    }

    /// Divides by divisors that no kernel has prepared.
    pub(super) fn divide_unprepared(
        &self,
        kept: &KeptDivisors,
        [quotient, remainder]: [Option<&mut DynBatch>; 2],
    ) -> Result<()> {
        let view = self.batch.view();
        if view.has_kernel(Op::DivRem) {
            let divisors = kept.of_rows(&view)?;
            let outs = [quotient, remainder].map(|out| out.map(DynBatch::buffer_mut));
            return view.launch(Op::DivRem, Operands { outs, ..view.operands_with(&divisors)? });
        }
        let (quotients, remainders) = kept.reduction(&view)?.div_rem(self.batch)?;
        write(&quotients, quotient)?;
        write(&remainders, remainder)
    }

    /// Computes an operation modulo divisors that no kernel has prepared.
    pub(super) fn modular_unprepared(
        &self,
        op: Op,
        second: Option<&DynBatch>,
        kept: &KeptDivisors,
        out: &mut DynBatch,
    ) -> Result<()> {
        let divisors = &*kept.of_rows(self)?;
        let first = || self.residue(kept, divisors);
        match (op, second) {
            (Op::AddMod, Some(rhs)) => {
                let rhs = divisors.wrapping_sub(&*rhs.view().residue(kept, divisors)?)?;
                first()?.view().difference(&rhs, divisors, out)
            }
            (Op::SubMod, Some(rhs)) => {
                let rhs = rhs.view().residue(kept, divisors)?;
                first()?.view().difference(&rhs, divisors, out)
            }
            (Op::NegMod, _) => {
                let zero = DynBatch::zeros(self.device(), self.shape(), self.len())?;
                zero.view().difference(&*first()?, divisors, out)
            }
            // The product takes one factor below the divisors.
            (Op::MulMod, Some(rhs)) => {
                let is_swapped = !self.is_below(divisors)? && rhs.view().is_below(divisors)?;
                let [a, b] = if is_swapped { [rhs, self.batch] } else { [self.batch, rhs] };
                let a = a.view().residue(kept, divisors)?;
                write(&kept.reduction(self)?.product(&a, b)?, Some(out))
            }
            (Op::SquareMod, _) => write(&kept.reduction(self)?.square(&*first()?)?, Some(out)),
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

    /// Returns true if all rows are below the divisors.
    fn is_below(&self, divisors: &DynBatch) -> Result<bool> {
        Ok(self.lt_mask(divisors)?.count()? == self.len())
    }

    /// Returns the rows modulo divisors: the rows themselves if all of them are residues.
    fn residue(&self, kept: &KeptDivisors, divisors: &DynBatch) -> Result<Rows<'a>> {
        if self.is_below(divisors)? {
            return Ok(Rows::Kept(self.batch));
        }
        self.produce(|out| self.divide_unprepared(kept, [None, Some(out)])).map(Rows::New)
    }

    /// Computes `self - rhs mod divisor` for `self < divisor` and `rhs <= divisor`.
    fn difference(&self, rhs: &DynBatch, divisors: &DynBatch, out: &mut DynBatch) -> Result<()> {
        let (difference, borrow) = self.overflowing_sub(rhs)?;
        difference.wrapping_add(divisors)?.view().select_into(&borrow, &difference, out)
    }
}
