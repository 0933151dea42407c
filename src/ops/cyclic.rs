//! Products modulo `2^BITS - 1`: cyclic convolutions of the digits.
//!
//! With `a b = high 2^BITS + low`, `2^BITS = 1` modulo `2^BITS - 1`, so the product is `low + high`
//! with its carry added at the bottom. A cyclic transform of the digits of the result computes it
//! in half the length of a full product (GMP, `mpn_mulmod_bnm1`; R. Brent and P. Zimmermann,
//! "Modern Computer Arithmetic", 2010, 1.3.4 and 2.4).
//!
//! The sum of the halves is zero only for a product of zero, and below `2^(BITS + 1) - 1`. Without
//! a carry it is at most `2^BITS - 1`; with one, its low bits and 1 are from 1 to `2^BITS - 1`. So
//! one carry suffices, and a product of zero is the only one that gives zero.

use gpuint_catalogue::Op;

use super::{View, faces};
use crate::backend::{BackendKind, Operands};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::kernel::KernelId;

impl View<'_> {
    pub(crate) fn cyclic_mul(&self, rhs: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.cyclic_mul_into(rhs, out))
    }

    pub(crate) fn cyclic_mul_into(&self, rhs: &DynBatch, out: &mut DynBatch) -> Result<()> {
        let operands = self.operands_with(rhs)?;
        self.check(out)?;
        if self.shape().is_long() || self.device().backend() == BackendKind::Cpu {
            let kernel = KernelId::long(Op::MulCyclic, self.shape());
            let outs = [Some(out.buffer_mut()), None];
            return self.device().launch(kernel, Operands { outs, ..operands });
        }
        let (low, high) = self.mul_lo_hi(rhs)?;
        let (sum, carry) = low.overflowing_add(&high)?;
        sum.wrapping_add_all(1)?.select_into(&carry, &sum, out)
    }
}

faces! {
    by Mult, "Products modulo 2^BITS - 1";

    /// Computes `self * rhs` modulo `2^BITS - 1`, in half the time of a full product where
    /// transforms multiply. A result is 0 only where a factor is 0; other multiples of the modulus
    /// give `2^BITS - 1`.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let a = Batch::<GpuUint<1024>>::splat(&device, &(BigUint::from(3u32) << 1022), 2)?;
    /// assert_eq!(a.cyclic_mul(&a)?.row(1)?, BigUint::from(9u32) << 1020);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    fn cyclic_mul(rhs: Rows) -> New;

    /// Computes [`cyclic_mul`](Self::cyclic_mul) into an existing batch. Devices other than the CPU
    /// allocate both halves of the full product, up to 2^20 bits.
    ///
    /// # Errors
    /// As [`cyclic_mul`](Self::cyclic_mul).
    fn cyclic_mul_into(rhs: Rows, out: Out) -> Nothing;
}
