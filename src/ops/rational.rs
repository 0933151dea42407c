//! Fractions from their images modulo a number (`kernels/euclid/rational.cuh`).

use gpuint_catalogue::Op;

use super::{View, faces};
use crate::backend::Operands;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;

impl View<'_> {
    pub(crate) fn rational_reconstruction(
        &self,
        moduli: &DynBatch,
        numerators: &DynBatch,
        denominators: &DynBatch,
    ) -> Result<(DynBatch, DynBatch, Mask, Mask)> {
        self.check(numerators)?;
        self.check(denominators)?;
        let (_, residues, without_modulus) = self.div_rem_masked(moduli)?;
        let view = residues.view();
        let mut is_negative = Mask::none(self.device(), self.len())?;
        let (n, d) = view.produce_two(|n, d| {
            let mut operands = view.operands_with(moduli)?;
            operands.ins[2] = Some(numerators.buffer());
            let outs = [Some(n.buffer_mut()), Some(d.buffer_mut())];
            let mask = Some(is_negative.cleared()?);
            view.launch(Op::Rational, Operands { outs, mask, ..operands })
        })?;
        let is_reduced = n.gcd(&d)?.eq_mask_all(1)?;
        let without = without_modulus.or(&is_reduced.not()?)?.or(&denominators.lt_mask(&d)?)?;
        let zero = DynBatch::zeros(self.device(), self.shape(), self.len())?;
        let [n, d] = [zero.select(&without, &n)?, zero.select(&without, &d)?];
        Ok((n, d, is_negative.and(&without.not()?)?, without))
    }
}

faces! {
    "Fractions";

    /// Computes `(n, d, is_negative, without)` with `n / d = self` modulo the same row of `moduli`,
    /// `|n|` at most the row of `numerators`, `0 < d` at most that of `denominators`, and without a
    /// common divisor of `n` and `d`. `is_negative` is the mask of negative `n`, and `without` that
    /// of rows without such a fraction, whose `n` and `d` are 0.
    ///
    /// A fraction is found wherever there is one if twice the product of both bounds is below the
    /// modulus; then it is the only one. With larger bounds others may exist, and none may be
    /// found.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    ///
    /// let batch = |value: u64| Batch::<GpuUint<1024>>::splat(&Device::cpu(), value, 1);
    /// // -22 / 7 modulo 1009, of numbers up to 22.
    /// let image = batch(1009 - 22)?.mul_mod(&batch(865)?, &batch(1009)?.prepare()?)?;
    /// let (n, d, is_negative, without) =
    ///     image.rational_reconstruction(&batch(1009)?, &batch(22)?, &batch(22)?)?;
    /// assert_eq!((n.row(0)?, d.row(0)?), (22u32.into(), 7u32.into()));
    /// assert!(is_negative.to_bools()?[0] && !without.any()?);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`jacobi`](Self::jacobi).
    fn rational_reconstruction(
        moduli: Rows,
        numerators: Rows,
        denominators: Rows
    ) -> NewPairAndMasks;
}
