//! Products modulo `2^BITS + 1`: negacyclic convolutions of the digits.
//!
//! With `a b = high 2^BITS + low`, `2^BITS = -1` modulo `2^BITS + 1`, so the product is `low -
//! high`, and `2^BITS + 1` more if that is negative. Residues have `BITS + 1` bits, but only
//! `2^BITS` has the top one: it is -1, and a mask has it, as the flag of FLINT's
//! `mpn_mulmod_2expp1` and the top limb of GMP's `mpn_mulmod_bnp1` do.

use super::{View, faces};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;

impl View<'_> {
    pub(crate) fn negacyclic_mul(&self, rhs: &DynBatch) -> Result<(DynBatch, Mask)> {
        let (low, high) = self.mul_lo_hi(rhs)?;
        let (difference, borrow) = low.overflowing_sub(&high)?;
        // low - high + 2^BITS + 1, which is 2^BITS for low - high = -1.
        let one = DynBatch::splat(self.device(), self.shape(), 1, self.len())?;
        let (negative, carry) = difference.overflowing_add(&one)?;
        Ok((negative.select(&borrow, &difference)?, carry.and(&borrow)?))
    }
}

faces! {
    by Mult, "Products modulo 2^BITS + 1";

    /// Computes `self * rhs` modulo `2^BITS + 1`, and a mask of the rows whose residue is
    /// `2^BITS`. It is -1, does not fit in a row, and its rows are 0. It takes a full product and
    /// three passes over the rows.
    ///
    /// A factor `2^BITS` is no row either: the product with it is the negative of the other factor.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let power = |exponent: u32| BigUint::from(1u32) << exponent;
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&device, &[power(1000), power(1020)])?;
    /// let b = Batch::from_biguints(&device, &[power(24), power(10)])?;
    /// let (product, is_minus_one) = a.negacyclic_mul(&b)?;
    /// assert_eq!(is_minus_one.to_bools()?, [true, false]);
    /// assert_eq!(product.row(1)?, power(1024) + 1u32 - power(6)); // -2^6
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    fn negacyclic_mul(rhs: Rows) -> NewAndMask;
}
