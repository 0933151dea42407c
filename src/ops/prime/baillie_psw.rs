//! The test of R. Baillie and S. S. Wagstaff ("Lucas pseudoprimes", Math. Comp. 35, 1980), with
//! C. Pomerance and J. L. Selfridge: a strong test to base 2 and a strong Lucas test.
//!
//! No composite number is known that passes. There is none below 2^64, by J. Feitsma's list of the
//! pseudoprimes to base 2.

use num_bigint::BigUint;

use super::{faces, set_rows};
use crate::backend::host::zeroed_vec;
use crate::error::Result;
use crate::mask::Mask;
use crate::ops::View;

impl View<'_> {
    pub(crate) fn is_probable_prime(&self) -> Result<Mask> {
        let View { strategy, .. } = *self;
        let strong = self.is_strong_probable_prime(&BigUint::from(2u32))?;
        if strong.count()? == self.len() {
            return self.is_strong_lucas_probable_prime();
        }
        let left = strong.indices()?;
        let rows = self.gather(&left)?;
        let lucas = View { batch: &rows, strategy }.is_strong_lucas_probable_prime()?.to_bools()?;
        let mut passes: Vec<bool> = zeroed_vec(self.len())?;
        for row in set_rows(&lucas)? {
            passes[left[row]] = true;
        }
        Mask::from_bools(self.device(), &passes)
    }
}

faces! {
    by Mult, "Probable primes";

    /// Returns a mask of the rows that pass the test of Baillie, Pomerance, Selfridge and Wagstaff:
    /// strong probable primes to base 2 that are strong Lucas probable primes.
    ///
    /// Below `2^64` these are exactly the primes. Above, no composite number is known that passes.
    /// Only the rows that passed the first test take the second one.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let mersenne = |p: u32| (BigUint::from(1u32) << p) - 1u32;
    /// let rows = [mersenne(521), mersenne(523), 2u32.into(), 0u32.into()];
    /// let n = Batch::<GpuUint<1024>>::from_biguints(&device, &rows)?;
    /// assert_eq!(n.is_probable_prime()?.to_bools()?, [true, false, true, false]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn is_probable_prime() -> NewMask;
}
