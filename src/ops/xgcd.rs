//! Bézout's cofactors of each row, from the inverses of the coprime parts.
//!
//! Let `g = gcd(a, b)`, `a = g a'`, `b = g b'` and `x' = a'^-1 mod b'`, `w = b'^-1 mod a'`. For
//! `a', b' > 1`, `a' x' + b' w = 1 + a' b'`, because both sides are 1 modulo `a'` and modulo `b'`
//! and the left one is above 1 and below `2 a' b'`. So
//!
//! ```text
//! g = a x' - b (a' - w)     and     g = b w - a (b' - x').
//! ```
//!
//! One of `x'` and `b' - x'` is at most `b' / 2`; then the factor of `b` is at most `a' / 2`.

use num_bigint::BigUint;

use super::{View, faces};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;

impl View<'_> {
    pub(crate) fn xgcd(&self, rhs: &DynBatch) -> Result<(DynBatch, DynBatch, DynBatch, Mask)> {
        let gcd = self.gcd(rhs)?;
        let number =
            |n: u32| DynBatch::splat(self.device(), self.shape(), &BigUint::from(n), self.len());
        let (zero, one) = (number(0)?, number(1)?);
        // Only gcd(0, 0) is 0.
        let divisor = one.select(&gcd.is_zero_mask()?, &gcd)?;
        let (a, b) = (self.div(&divisor)?, rhs.div(&divisor)?);
        let (x, w) = (a.inverse_mod(&b)?.0, b.inverse_mod(&a)?.0);

        let others = (b.wrapping_sub(&x)?, a.wrapping_sub(&w)?);
        let is_other = others.0.lt_mask(&x)?;
        // Inverses modulo 1 are 0: g = 1 b - 0 a, or g = 1 a - 0 b, which is for b = 0, too.
        let (is_b, is_a) = (b.eq_mask(&one)?, a.eq_mask(&one)?);
        let x = others.0.select(&is_other, &x)?;
        let y = w.select(&is_other, &others.1)?;
        let x = zero.select(&is_b, &one.select(&is_a, &x)?)?;
        let y = one.select(&is_b, &zero.select(&is_a, &y)?)?;
        let is_negative = is_b.or(&is_other)?;
        Ok((gcd, x, y, is_negative))
    }
}

faces! {
    "Extended common divisors";

    /// Computes `(g, x, y, is_negative)` for each row `a` and the same row `b` of `rhs`:
    /// `g = gcd(a, b) = a x - b y`, or `g = b y - a x` for the rows of the mask. The results fit.
    ///
    /// The cofactors are the least: `x <= b / 2g` and `y <= a / 2g`, but 0 and 1 if one of the rows
    /// is a multiple of the other (if `b` divides `a`, then `x = 0`). For `a = b = 0` all are 0.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let number = |n: u32| BigUint::from(n);
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&Device::cpu(), &[number(240)])?;
    /// let b = Batch::from_biguints(&Device::cpu(), &[number(46)])?;
    /// let (g, x, y, is_negative) = a.xgcd(&b)?;
    /// // 2 = 46 * 47 - 240 * 9
    /// assert_eq!([g.row(0)?, x.row(0)?, y.row(0)?], [number(2), number(9), number(47)]);
    /// assert!(is_negative.to_bools()?[0]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`gcd`](Self::gcd).
    fn xgcd(rhs: Rows) -> NewTripleAndMask;
}
