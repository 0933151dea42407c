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
//! of the same arithmetic. Else the power `b^d` is computed for all rows. About half of the rows
//! have `s = 1` and are then decided. The others are squared, and leave once they are
//! decided.

use gpuint_catalogue::Op;
use num_bigint::BigUint;

use super::{faces, picked, residues_of, set_rows};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;
use crate::ops::View;

impl View<'_> {
    pub(crate) fn is_strong_probable_prime(&self, base: &BigUint) -> Result<Mask> {
        if *base == BigUint::from(2u32) && self.has_engine_of_powers(Op::StrongBase2) {
            return self.produce_mask(|mask| self.test(Op::StrongBase2, self.operands(), mask));
        }
        self.tested(|rows, _| rows.are_strong(&residues_of(base, rows)?))
    }

    pub(crate) fn is_strong_probable_prime_rows(&self, bases: &DynBatch) -> Result<Mask> {
        self.check(bases)?;
        self.tested(|rows, indices| {
            let gathered = if rows.len() == bases.len() { None } else { Some(indices) };
            let gathered = gathered.map(|indices| bases.gather(indices)).transpose()?;
            rows.are_strong(&gathered.as_ref().unwrap_or(bases).view().rem(rows.batch)?)
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

    /// Tests odd rows above 1 by bases below them. The base 0 is no unit: its row passes.
    fn are_strong(self, bases: &DynBatch) -> Result<Vec<bool>> {
        let View { strategy, .. } = self;
        let minus_one = self.wrapping_sub_all(&BigUint::from(1u32))?;
        let zeros = minus_one.trailing_zeros()?;
        let distances: Vec<usize> = zeros.iter().map(|&zeros| zeros as usize).collect();
        let exponents = minus_one.shr_rows(&distances)?;
        let view = View { batch: bases, strategy };
        let power = view.pow_mod(&exponents, &self.prepare()?)?;
        let ones = power.eq_mask_all(&BigUint::from(1u32))?.or(&bases.is_zero_mask()?)?;
        let mut passes = ones.or(&power.eq_mask(&minus_one)?)?.to_bools()?;

        // Undecided rows, and for each its index.
        let mut left: Vec<usize> =
            (0..self.len()).filter(|&row| !passes[row] && zeros[row] > 1).collect();
        let mut place = left.clone();
        let (mut power, mut minus_one) = (power, minus_one);
        for squares in 1.. {
            if left.is_empty() {
                break;
            }
            power = power.gather(&place)?;
            minus_one = minus_one.gather(&place)?;
            let divisor = minus_one.wrapping_add_all(1)?.view().prepare()?;
            power = View { batch: &power, strategy }.square_mod(&divisor)?;
            let is_minus_one = power.eq_mask(&minus_one)?.to_bools()?;
            for (&row, is_minus_one) in left.iter().zip(&is_minus_one) {
                passes[row] = *is_minus_one;
            }
            place = (0..left.len())
                .filter(|&i| !is_minus_one[i] && zeros[left[i]] > squares + 1)
                .collect();
            left = picked(&left, &place)?;
        }
        Ok(passes)
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
