//! Residues of Fermat's test, and their lowest 64 bits.

use num_bigint::BigUint;

use super::{faces, residues_of};
use crate::backend::host::reserved_vec;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::ops::View;
use crate::ops::residues::{DynModulus, DynResidues};
use crate::ops::special::{has_powers, recognized};
use crate::shape::narrowest;
use crate::special::MAX_TERM;
use crate::strategy::Strategy;

impl View<'_> {
    pub(crate) fn fermat_residues(&self, base: &BigUint) -> Result<(DynBatch, Vec<u64>)> {
        if let Some(residues) = self.special_powers(base, || self.batch.wrapping_sub_all(1))? {
            let words = residues.view().low_words()?;
            return Ok((residues, words));
        }
        let View { strategy, .. } = *self;
        let one = BigUint::from(1u32);
        // Rows that are 0 are computed modulo 1.
        let (divisor, zero) = self.prepare_masked()?;
        let moduli = self.or_all(&one)?.select(&zero, self.batch)?;
        let bases = residues_of(base, moduli.view())?;
        let exponents = moduli.wrapping_sub_all(&one)?;
        let residues = View { batch: &bases, strategy }.pow_mod(&exponents, &divisor)?;
        let words = residues.view().low_words()?;
        Ok((residues, words))
    }

    /// Computes `base^exponents` modulo special rows, by folds or in digits; `None` if a row is not
    /// special, the base or the rows are too long or short, or the strategy selects products.
    pub(super) fn special_powers(
        &self,
        base: &BigUint,
        exponents: impl Fn() -> Result<DynBatch>,
    ) -> Result<Option<DynBatch>> {
        let Ok(base) = u32::try_from(base) else { return Ok(None) };
        let is_candidate = self.strategy == Strategy::Auto
            && base > 0
            && u64::from(base) <= MAX_TERM
            && has_powers(self.batch);
        if !is_candidate {
            return Ok(None);
        }
        let Some(special) = recognized(self.batch)? else {
            return match self.powers_modulo_fermat(base, &exponents)? {
                Some(power) => Ok(Some(power)),
                None => self.powers_modulo_base(base, &exponents),
            };
        };
        let modulus = DynModulus::of_special(self.device(), self.shape(), &special)?;
        DynResidues::powers_of(base, &exponents()?, &modulus)?.to_batch().map(Some)
    }

    /// Returns the lowest 64 bits of each row.
    pub(super) fn low_words(&self) -> Result<Vec<u64>> {
        let narrow = narrowest(u64::BITS as usize).filter(|shape| shape.bits < self.shape().bits);
        let truncated = narrow.map(|shape| self.truncated(shape)).transpose()?;
        let rows = truncated.as_ref().unwrap_or(self.batch);
        let mut words = reserved_vec(self.len())?;
        let bytes = rows.shape().bytes();
        rows.read_parts(0, self.len(), |_, part| {
            words.extend(part.chunks_exact(bytes).map(|row| {
                let mut word = [0; size_of::<u64>()];
                let len = word.len().min(bytes);
                word[..len].copy_from_slice(&row[..len]);
                u64::from_le_bytes(word)
            }));
            Ok(())
        })?;
        Ok(words)
    }
}

faces! {
    by Mult, "Residues of Fermat's test";

    /// Computes `base^(n - 1) mod n` for each row `n`, and the lowest 64 bits of each residue: the
    /// RES64 of PRST and LLR, which these print in hexadecimal. A prime that does not divide the
    /// base has the residue 1. Rows that are 0 or 1 have the residue 0. If all rows are special
    /// ([`SpecialModulus::recognize`](crate::SpecialModulus::recognize)), or generalized Fermat
    /// numbers of one exponent ([`recognize_fermat`](crate::SpecialModulus::recognize_fermat)), or
    /// `k b^n + 1` or `k b^n - 1` with `b` up to 65532 and `k` times the base below 2^23, and this
    /// base is small, a bit takes one square and a pass over it.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let n = Batch::<GpuUint<1024>>::from_biguints(&device, &[91u32, 97].map(BigUint::from))?;
    /// let (residues, res64) = n.fermat_residues(2)?;
    /// assert_eq!(residues.to_biguints()?, [64u32, 1].map(BigUint::from)); // 91 = 7 * 13
    /// assert_eq!(res64, [64, 1]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn fermat_residues(base: Number) -> NewAndWords;
}
