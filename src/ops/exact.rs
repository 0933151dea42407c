//! Exact division, and inverses modulo `2^BITS`, from the low end (`kernels/div/exact.cuh`).
//!
//! A quotient without remainder depends only on the low digits of both operands, as many as it has
//! digits itself. Half the products of a division suffice, and no estimates. Short rows have a
//! kernel for it, wide ones divide with remainder. Inverses of wide rows are lengthened from those
//! of half the width, by Newton's iteration `x (2 - v x)`, which doubles the number of right bits.

use gpuint_catalogue::Op;
use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::{View, faces};
use crate::backend::Operands;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::shape::narrowest;

impl View<'_> {
    pub(crate) fn div_exact(&self, rhs: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.div_exact_into(rhs, out))
    }

    pub(crate) fn div_exact_into(&self, rhs: &DynBatch, quotient: &mut DynBatch) -> Result<()> {
        if !self.has_kernel(Op::DivExact) {
            return self.div_into(rhs, quotient);
        }
        let operands = self.operands_with(rhs)?;
        self.check(quotient)?;
        let outs = [Some(quotient.buffer_mut()), None];
        match self.launch_checked(Op::DivExact, Operands { outs, ..operands })? {
            None => Ok(()),
            Some(row) => Err(Error::DivisionByZero { row }),
        }
    }

    pub(crate) fn div_exact_masked(&self, rhs: &DynBatch) -> Result<(DynBatch, Mask)> {
        let mut inexact = self.alloc_mask()?;
        let quotient = self.produce(|out| self.div_exact_masked_into(rhs, out, &mut inexact))?;
        Ok((quotient, inexact))
    }

    pub(crate) fn div_exact_masked_into(
        &self,
        rhs: &DynBatch,
        quotient: &mut DynBatch,
        inexact: &mut Mask,
    ) -> Result<()> {
        self.check_mask(inexact)?;
        let operands = self.operands_with(rhs)?;
        self.check(quotient)?;
        if self.has_kernel(Op::DivExact) {
            let outs = [Some(quotient.buffer_mut()), None];
            let mask = Some(inexact.cleared()?);
            return self.launch(Op::DivExact, Operands { outs, mask, ..operands });
        }
        let (result, remainder) = self.produce_two(|result, remainder| {
            self.div_rem_masked_into(rhs, result, remainder, inexact)
        })?;
        let zero = DynBatch::zeros(self.device(), self.shape(), self.len())?;
        let zero = zero.view();
        // The mask has the rows with a divisor of 0 already; rows with a remainder join them.
        let operands = zero.operands_with(&remainder)?;
        zero.launch(Op::LtMask, Operands { mask: Some(inexact.buffer_mut()), ..operands })?;
        zero.select_into(inexact, &result, quotient)
    }

    pub(crate) fn div_exact_all(&self, divisor: &BigUint) -> Result<DynBatch> {
        if !self.has_kernel(Op::DivExact) {
            return self.div_all(divisor);
        }
        if divisor.is_zero() {
            return Err(Error::DivisionByZero { row: 0 });
        }
        let divisor = self.row_of(divisor)?;
        self.produce(|out| {
            let outs = [Some(out.buffer_mut()), None];
            self.launch(Op::DivExact, Operands { outs, ..self.operands_with_all(&divisor) })
        })
    }

    pub(crate) fn inverse_mod_pow2(&self) -> Result<(DynBatch, Mask)> {
        let mut even = self.alloc_mask()?;
        let inverse = self.produce(|out| self.inverse_mod_pow2_into(out, &mut even))?;
        Ok((inverse, even))
    }

    pub(crate) fn inverse_mod_pow2_into(&self, out: &mut DynBatch, even: &mut Mask) -> Result<()> {
        self.check(out)?;
        self.check_mask(even)?;
        if self.has_kernel(Op::InverseModPow2) {
            let outs = [Some(out.buffer_mut()), None];
            let mask = Some(even.cleared()?);
            let operands = Operands { outs, mask, ..self.operands() };
            return self.launch(Op::InverseModPow2, operands);
        }
        let bits = self.shape().bits;
        let Some(half) = narrowest(bits.div_ceil(2)).filter(|half| half.bits < bits) else {
            return self.inverse_by_width(out, even);
        };
        let low = self.truncated(half)?;
        let mut inverse = low.view().alloc()?;
        low.view().inverse_mod_pow2_into(&mut inverse, even)?;
        // For even rows x = 0.
        self.lengthen_inverse_into(&inverse.view().truncated(self.shape())?, out)
    }

    /// Lengthens inverses in rows of the whole width, at widths that are narrower than every
    /// kernel.
    fn inverse_by_width(&self, out: &mut DynBatch, even: &mut Mask) -> Result<()> {
        *even = self.bit_mask(0)?.not()?;
        let one = DynBatch::splat(self.device(), self.shape(), &BigUint::one(), self.len())?;
        // v v = 1 mod 8 for odd v.
        let mut inverse = one.select(even, self.batch)?;
        let mut bits = 3;
        while bits < self.shape().bits {
            self.lengthen_inverse_into(&inverse, out)?;
            std::mem::swap(&mut inverse, out);
            bits *= 2;
        }
        let zero = DynBatch::zeros(self.device(), self.shape(), self.len())?;
        *out = zero.select(even, &inverse)?;
        Ok(())
    }

    /// Doubles the number of right bits of inverses: `x (2 - v x) = 2x - (v x) x`.
    fn lengthen_inverse_into(&self, inverse: &DynBatch, out: &mut DynBatch) -> Result<()> {
        let correction = self.wrapping_mul(inverse)?.wrapping_mul(inverse)?;
        inverse.wrapping_add(inverse)?.wrapping_sub_into(&correction, out)
    }
}

faces! {
    "Exact division";

    /// Computes `self / rhs` for rows that `rhs` divides: by half the products of
    /// [`div`](Self::div) up to 1536 bits, and by a division at wider rows.
    ///
    /// The quotient of a row that `rhs` does not divide is unspecified.
    /// [`div_exact_masked`](Self::div_exact_masked) finds these rows.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let v = Batch::<GpuUint<1024>>::splat(&device, &(BigUint::from(12u32) << 500), 2)?;
    /// let u = v.wrapping_mul_all(&BigUint::from(35u32))?;
    /// assert_eq!(u.div_exact(&v)?.row(1)?, BigUint::from(35u32));
    /// assert_eq!(u.div_exact_all(&BigUint::from(7u32))?.row(0)?, BigUint::from(60u32) << 500);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DivisionByZero`](crate::Error::DivisionByZero) with the lowest row whose divisor is zero,
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    fn div_exact(rhs: Rows) -> New;

    /// Computes [`div_exact`](Self::div_exact) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`div_exact`](Self::div_exact).
    fn div_exact_into(rhs: Rows, quotient: Out) -> Nothing;

    /// Computes `self / rhs` and a mask of the rows that `rhs` does not divide, because it is zero
    /// or leaves a remainder. The quotients of these rows are 0. Does not wait for the device.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let batch = |rows: [u32; 3]| {
    ///     Batch::<GpuUint<1024>>::from_biguints(&device, &rows.map(BigUint::from))
    /// };
    /// let (q, inexact) = batch([84, 85, 5])?.div_exact_masked(&batch([12, 12, 0])?)?;
    /// assert_eq!(q.to_biguints()?, [7u32, 0, 0].map(BigUint::from));
    /// assert_eq!(inexact.to_bools()?, [false, true, true]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`div_exact`](Self::div_exact), but for
    /// [`DivisionByZero`](crate::Error::DivisionByZero).
    fn div_exact_masked(rhs: Rows) -> NewAndMask;

    /// Computes [`div_exact_masked`](Self::div_exact_masked) into an existing batch and mask. At
    /// widths without a kernel for it, the device holds four further batches during the call.
    ///
    /// # Errors
    /// As [`div_exact_masked`](Self::div_exact_masked).
    fn div_exact_masked_into(rhs: Rows, quotient: Out, inexact: OutMask) -> Nothing;

    /// Computes [`div_exact`](Self::div_exact) by one divisor of all rows. Does not wait for the
    /// device.
    ///
    /// # Errors
    /// [`DivisionByZero`](crate::Error::DivisionByZero) (row 0),
    /// [`TooWide`](crate::Error::TooWide) if the divisor needs more than `BITS` bits (row 0), and
    /// as [`div_exact`](Self::div_exact).
    fn div_exact_all(divisor: Number) -> New;

    /// Computes the inverses modulo `2^BITS` and a mask of the even rows, which have none and
    /// become 0. Does not wait for the device.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let v = Batch::<GpuUint<1024>>::from_biguints(&device, &[3u32, 4].map(BigUint::from))?;
    /// let (inverse, even) = v.inverse_mod_pow2()?;
    /// assert_eq!(v.wrapping_mul(&inverse)?.row(0)?, BigUint::from(1u32));
    /// assert_eq!(even.to_bools()?, [false, true]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`div_exact`](Self::div_exact).
    fn inverse_mod_pow2() -> NewAndMask;

    /// Computes [`inverse_mod_pow2`](Self::inverse_mod_pow2) into an existing batch and mask. At
    /// widths without a kernel for it, the device holds further batches during the call.
    ///
    /// # Errors
    /// As [`inverse_mod_pow2`](Self::inverse_mod_pow2),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch).
    fn inverse_mod_pow2_into(out: Out, even: OutMask) -> Nothing;
}
