//! Inverses of all rows modulo one number (Montgomery's trick).
//!
//! Products of two units are units, and `(x y)^-1 y = x^-1`. So the inverses of a group of rows
//! follow from the inverse of their product, up and down a tree, by three products a row
//! (P. Montgomery, "Speeding the Pollard and elliptic curve methods of factorization", Math. Comp.
//! 48, 1987, section 10.3.1). A group whose product has no inverse has a row without one: its rows
//! are inverted one by one.

use num_bigint::BigUint;
use num_traits::Zero;

use super::pairs::halves;
use super::{View, faces};
use crate::backend::host::{collected, zeroed_vec};
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;

/// Levels of the trees. A group of 64 rows takes one inversion, and a row without an inverse costs
/// 64.
const LEVELS: usize = 6;

impl View<'_> {
    pub(crate) fn inverse_mod_all(&self, modulus: &BigUint) -> Result<(DynBatch, Mask)> {
        if modulus.is_zero() {
            let zeros = DynBatch::zeros(self.device(), self.shape(), self.len())?;
            return Ok((zeros, Mask::none(self.device(), self.len())?.not()?));
        }
        let divisor = DynDivisor::splat(self.device(), self.shape(), modulus)?;
        let mut nodes = self.batch.try_clone()?;
        let mut levels = Vec::new();
        while levels.len() < LEVELS && nodes.len() > 1 {
            let (left, right) = halves(&nodes, 1)?;
            let count = nodes.len();
            nodes = left.mul_mod(&right, &divisor)?;
            levels.push((left, right, count));
        }
        let (mut inverses, without) = nodes.view().inverse_mod_one_by_one(modulus)?;
        for (left, right, count) in levels.iter().rev() {
            let of_left = inverses.mul_mod(right, &divisor)?;
            let of_right = inverses.mul_mod(left, &divisor)?;
            inverses = interleaved(&of_left, &of_right, *count)?;
        }
        let without = without.to_bools()?;
        let group = |row: usize| row >> levels.len();
        let rows = collected((0..self.len()).filter(|&row| without[group(row)]))?;
        if rows.is_empty() {
            return Ok((inverses, Mask::none(self.device(), self.len())?));
        }
        let (single, without) = self.gather(&rows)?.view().inverse_mod_one_by_one(modulus)?;
        single.scatter_into(&rows, &mut inverses)?;
        let mut bits: Vec<bool> = zeroed_vec(self.len())?;
        without.indices()?.into_iter().for_each(|index| bits[rows[index]] = true);
        Ok((inverses, Mask::from_bools(self.device(), &bits)?))
    }

    fn inverse_mod_one_by_one(&self, modulus: &BigUint) -> Result<(DynBatch, Mask)> {
        let moduli = DynBatch::splat(self.device(), self.shape(), modulus, self.len())?;
        self.inverse_mod(&moduli)
    }
}

/// Returns `count` rows, alternately from both batches.
fn interleaved(even: &DynBatch, odd: &DynBatch, count: usize) -> Result<DynBatch> {
    let order = collected((0..count).map(|row| row % 2 * even.len() + row / 2))?;
    DynBatch::concat(&[even, odd])?.gather(&order)
}

faces! {
    "Inverses modulo one number";

    /// Computes the inverse of each row modulo `modulus`, in `0..modulus`, and a mask of the rows
    /// without an inverse, whose result is 0: [`inverse_mod`](Self::inverse_mod) with one modulus
    /// for all rows. It takes three modular products a row and one inversion for 64 rows
    /// (Montgomery's trick); each row without an inverse costs up to 64 inversions.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let rows = [3u32, 5, 6, 10].map(BigUint::from);
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&device, &rows)?;
    /// let (inverses, without) = a.inverse_mod_all(7)?;
    /// assert_eq!(inverses.to_biguints()?, [5u32, 3, 6, 5].map(BigUint::from));
    /// assert!(!without.any()?);
    /// assert_eq!(a.inverse_mod_all(9)?.1.indices()?, [0, 2]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) if the modulus needs more than `BITS` bits (row 0), and
    /// what any operation may return: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver).
    fn inverse_mod_all(modulus: Number) -> NewAndMask;
}
