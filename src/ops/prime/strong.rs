//! Strong probable primes (G. L. Miller, "Riemann's hypothesis and tests for primality", 1975; M.
//! O. Rabin, "Probabilistic algorithm for testing primality", J. Number Theory 12, 1980).
//!
//! Let `n - 1 = d 2^s` with an odd `d`. Modulo a prime `n`, the square roots of 1 are 1 and -1, so
//! that for every unit `b`
//!
//! ```text
//! b^d = 1,   or   b^(d 2^r) = -1 for some 0 <= r < s.
//! ```
//!
//! An odd composite number passes for less than a fourth of the bases.
//!
//! To base 2 one kernel tests a row (`kernels/prime/strong.cuh`) where there are kernels for powers
//! of the same arithmetic. Else the power `x = b^(d 2^(s - t))` is computed for all rows, with
//! `t = min(s, 16)`. It is squared until it is -1, at most `t - 1` times, and decided rows leave. A
//! row with `t < s` and `x = 1` may have had -1 before: it is tested again with `t = s`. Modulo a
//! prime, `x` is 1 for one base of `2^t`. Without the bound, primes `k 2^n + 1` would take a call
//! for each of `n` squares.

use gpuint_catalogue::Op;
use num_bigint::BigUint;

use super::{faces, picked, residues_of, set_rows};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::{Mask, Table};
use crate::ops::View;

/// Number of the last powers by which rows are tested first.
const MAX_SQUARES: usize = 16;

impl View<'_> {
    pub(crate) fn is_strong_probable_prime(&self, base: &BigUint) -> Result<Mask> {
        if *base == BigUint::from(2u32) && self.has_engine_of_powers(Op::StrongBase2) {
            return self.produce_mask(|mask| self.test(Op::StrongBase2, self.operands(), mask));
        }
        self.tested(|rows, _| rows.are_strong(&residues_of(base, rows)?, Some(base)))
    }

    pub(crate) fn is_strong_probable_prime_rows(&self, bases: &DynBatch) -> Result<Mask> {
        self.check(bases)?;
        self.tested(|rows, indices| {
            let gathered = if rows.len() == bases.len() { None } else { Some(indices) };
            let gathered = gathered.map(|indices| bases.gather(indices)).transpose()?;
            rows.are_strong(&gathered.as_ref().unwrap_or(bases).view().rem(rows.batch)?, None)
        })
    }

    pub(crate) fn is_strong_probable_prime_bases(&self, bases: &[BigUint]) -> Result<Mask> {
        let View { strategy, .. } = *self;
        self.tested(|rows, _| {
            let mut passes = vec![true; rows.len()];
            for base in bases {
                let left = set_rows(&passes)?;
                let batch = rows.gather(&left)?;
                let view = View { batch: &batch, strategy };
                let strong = view.is_strong_probable_prime(base)?.to_bools()?;
                for (row, is_strong) in left.into_iter().zip(strong) {
                    passes[row] = is_strong;
                }
            }
            Ok(passes)
        })
    }

    /// Tests odd rows above 1 by bases below them, which are the residues of `base` where there is
    /// one. The base 0 is no unit: its row passes.
    fn are_strong(self, bases: &DynBatch, base: Option<&BigUint>) -> Result<Vec<bool>> {
        let (mut passes, open) = self.strong_by_squares(bases, base, MAX_SQUARES)?;
        if !open.is_empty() {
            let (rows, bases) = (self.gather(&open)?, bases.gather(&open)?);
            let view = View { batch: &rows, strategy: self.strategy };
            let (again, _) = view.strong_by_squares(&bases, base, usize::MAX)?;
            for (row, is_strong) in open.into_iter().zip(again) {
                passes[row] = is_strong;
            }
        }
        Ok(passes)
    }

    /// Tests rows by the last `most` powers of their sequences. Also returns the rows whose first
    /// one is 1 and has others before it.
    fn strong_by_squares(
        self,
        bases: &DynBatch,
        base: Option<&BigUint>,
        most: usize,
    ) -> Result<(Vec<bool>, Vec<usize>)> {
        let View { strategy, .. } = self;
        let mut minus_one = self.wrapping_sub_all(&BigUint::from(1u32))?;
        let zeros = minus_one.trailing_zeros()?;
        let powers: Vec<usize> = zeros.iter().map(|&zeros| most.min(zeros as usize)).collect();
        let exponents = minus_one.shr_rows(&powers)?;
        let special = match base {
            Some(base) => self.special_powers(base, || exponents.try_clone())?,
            None => None,
        };
        let (mut power, mut divisor) = match special {
            Some(power) => (power, None),
            None => {
                let divisor = self.prepare()?;
                (View { batch: bases, strategy }.pow_mod(&exponents, &divisor)?, Some(divisor))
            }
        };
        let no_units = bases.is_zero_mask()?;
        let ones = power.eq_mask_all(&BigUint::from(1u32))?.combine(&no_units, Table::AND_NOT)?;
        let mut passes = no_units.or(&power.eq_mask(&minus_one)?)?.to_bools()?;
        let (mut open, mut left) = (Vec::new(), Vec::new());
        for (row, is_one) in ones.to_bools()?.into_iter().enumerate() {
            match is_one {
                true if powers[row] < zeros[row] as usize => open.push(row),
                true => passes[row] = true,
                false if !passes[row] && powers[row] > 1 => left.push(row),
                false => {}
            }
        }

        // The place of each undecided row in the batch of the last step.
        let mut place = left.clone();
        for squares in 1.. {
            if left.is_empty() {
                break;
            }
            if place.len() < power.len() {
                power = power.gather(&place)?;
                minus_one = minus_one.gather(&place)?;
                // A kernel prepares records anew in less time than a copy of each row takes.
                let kept = divisor.filter(|moduli| moduli.unprepared().is_some());
                divisor = kept.map(|moduli| moduli.gather(&place)).transpose()?.flatten();
            }
            let moduli = match divisor.take() {
                Some(moduli) => moduli,
                None => minus_one.wrapping_add_all(1)?.view().prepare()?,
            };
            power = View { batch: &power, strategy }.square_mod(&moduli)?;
            divisor = Some(moduli);
            let is_minus_one = power.eq_mask(&minus_one)?.to_bools()?;
            for (&row, is_minus_one) in left.iter().zip(&is_minus_one) {
                passes[row] = *is_minus_one;
            }
            place = (0..left.len())
                .filter(|&i| !is_minus_one[i] && powers[left[i]] > squares + 1)
                .collect();
            left = picked(&left, &place)?;
        }
        Ok((passes, open))
    }
}

faces! {
    by Mult, "Strong probable primes";

    /// Returns a mask of the strong probable primes to a base: for `n - 1 = d 2^s`, `d` odd,
    /// `base^d = 1` modulo the row `n`, or `base^(d 2^r) = -1` for some `r < s` (Miller and Rabin).
    ///
    /// Every prime passes for every base, and 2 passes; 0, 1 and other even rows do not. A base
    /// that is 0 modulo an odd row above 1 says nothing about it, and the row passes. The base may
    /// have any length.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// // 341 = 11 * 31 passes Fermat's test to base 2, and 2047 = 23 * 89 the strong one.
    /// let rows = [341u32, 2047, 65537].map(BigUint::from);
    /// let n = Batch::<GpuUint<1024>>::from_biguints(&device, &rows)?;
    /// assert_eq!(n.is_strong_probable_prime(2)?.to_bools()?, [false, true, true]);
    /// let bases = [2u32, 3].map(BigUint::from);
    /// assert_eq!(n.is_strong_probable_prime_bases(&bases)?.to_bools()?, [false, false, true]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn is_strong_probable_prime(base: Number) -> NewMask;

    /// Returns a mask of the strong probable primes, with a base for each row; otherwise as
    /// [`is_strong_probable_prime`](Self::is_strong_probable_prime).
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn is_strong_probable_prime_rows(bases: Rows) -> NewMask;

    /// Returns a mask of the rows that are strong probable primes to each base of a list. Only the
    /// rows that passed for a base are tested by the next one.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn is_strong_probable_prime_bases(bases: Numbers) -> NewMask;
}
