//! Greatest common divisors, inverses and Jacobi symbols, row by row (`kernels/euclid`).
//!
//! Euclid's algorithm with Lehmer's steps on the leading 64 bits, exact for every operand. Common
//! divisors and inverses of many wide rows are computed by windows (`kernels/euclid/windows.cuh`),
//! and of wider rows by half-gcds (`half_gcd.rs`). The time depends on the values, so do not use it
//! with secret values.

use gpuint_catalogue::Op;

use super::{View, faces, half_gcd};
use crate::backend::{BackendKind, Operands};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;

/// Minimum width, in bits, of rows with half-gcds. Rows without a kernel for their width have them
/// always.
const MIN_HALVED: usize = 1 << 17;
/// Minimum size, in bits, of batches with half-gcds. For fewer rows, their many launches take
/// longer than the passes of one kernel (`benches/notebook/2026-11-23-wide-rows.md`).
const MIN_HALVED_BATCH: usize = 1 << 29;
/// Minimum size, in bits, of batches by windows, which take longer for fewer rows
/// (`benches/notebook/2026-11-27-common-divisors.md`).
const MIN_WINDOWED_BATCH: usize = 1 << 28;

impl View<'_> {
    pub(crate) fn gcd(&self, rhs: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.gcd_into(rhs, out))
    }

    pub(crate) fn gcd_into(&self, rhs: &DynBatch, out: &mut DynBatch) -> Result<()> {
        if !self.is_halved(Op::Gcd) {
            return self.gcd_by_kernel(rhs, out);
        }
        self.check(rhs)?;
        self.check(out)?;
        self.gcd_by_halves(rhs)?.resized_into(out)
    }

    pub(super) fn gcd_by_kernel(&self, rhs: &DynBatch, out: &mut DynBatch) -> Result<()> {
        self.euclid(self.faster(Op::Gcd, Op::GcdWindowed), rhs, out, None)
    }

    /// Returns `windowed` if it is faster than `op` for this batch.
    fn faster(&self, op: Op, windowed: Op) -> Op {
        let is_windowed = self.device().backend() != BackendKind::Cpu
            && self.shape().bits.saturating_mul(self.len()) >= MIN_WINDOWED_BATCH
            && self.has_kernel(windowed);
        if is_windowed { windowed } else { op }
    }

    /// Returns true if common divisors or inverses are computed by half-gcds.
    fn is_halved(&self, op: Op) -> bool {
        let bits = self.shape().bits;
        let is_faster = || {
            self.device().backend() != BackendKind::Cpu
                && bits >= MIN_HALVED
                && bits.saturating_mul(self.len()) >= MIN_HALVED_BATCH
        };
        half_gcd::is_offered(half_gcd::LEAF) && (!self.has_kernel(op) || is_faster())
    }

    pub(crate) fn overflowing_lcm(&self, rhs: &DynBatch) -> Result<(DynBatch, Mask)> {
        // Only gcd(0, 0) is 0: the quotient of that row is multiplied by 0.
        let (quotient, _, _) = self.div_rem_masked(&self.gcd(rhs)?)?;
        let (low, high) = quotient.mul_lo_hi(rhs)?;
        Ok((low, high.view().is_positive_mask()?))
    }

    pub(crate) fn inverse_mod(&self, moduli: &DynBatch) -> Result<(DynBatch, Mask)> {
        let mut without = self.alloc_mask()?;
        let inverse = self.produce(|out| self.inverse_mod_into(moduli, out, &mut without))?;
        Ok((inverse, without))
    }

    pub(crate) fn inverse_mod_into(
        &self,
        moduli: &DynBatch,
        out: &mut DynBatch,
        without: &mut Mask,
    ) -> Result<()> {
        if !self.is_halved(Op::InverseMod) {
            return self.inverse_mod_by_kernel_into(moduli, out, without);
        }
        self.check(moduli)?;
        self.check(out)?;
        self.check_mask(without)?;
        let (inverse, mask) = self.inverse_mod_by_halves(moduli)?;
        *without = mask;
        inverse.resized_into(out)
    }

    pub(super) fn inverse_mod_by_kernel(&self, moduli: &DynBatch) -> Result<(DynBatch, Mask)> {
        let mut without = self.alloc_mask()?;
        let inverse =
            self.produce(|out| self.inverse_mod_by_kernel_into(moduli, out, &mut without))?;
        Ok((inverse, without))
    }

    fn inverse_mod_by_kernel_into(
        &self,
        moduli: &DynBatch,
        out: &mut DynBatch,
        without: &mut Mask,
    ) -> Result<()> {
        let op = self.faster(Op::InverseMod, Op::InverseModWindowed);
        self.euclid(op, moduli, out, Some(without))
    }

    pub(crate) fn jacobi(&self, moduli: &DynBatch) -> Result<Vec<i8>> {
        self.measure(Op::Jacobi, self.operands_with(moduli)?, self.len())
    }

    fn euclid(
        &self,
        op: Op,
        rhs: &DynBatch,
        out: &mut DynBatch,
        without: Option<&mut Mask>,
    ) -> Result<()> {
        let operands = self.operands_with(rhs)?;
        self.check(out)?;
        if let Some(mask) = &without {
            self.check_mask(mask)?;
        }
        let outs = [Some(out.buffer_mut()), None];
        let mask = without.map(Mask::cleared).transpose()?;
        self.launch(op, Operands { outs, mask, ..operands })
    }
}

faces! {
    "Common divisors and inverses";

    /// Computes the greatest common divisor of each row and the same row of `rhs`; `gcd(a, 0) = a`.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let number = |n: u32| BigUint::from(n);
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&device, &[number(12), number(3)])?;
    /// let b = Batch::from_biguints(&device, &[number(18), number(7)])?;
    /// assert_eq!(a.gcd(&b)?.to_biguints()?, [number(6), number(1)]);
    /// let (inverses, without) = a.inverse_mod(&b)?;
    /// assert_eq!(without.to_bools()?, [true, false]);
    /// assert_eq!(inverses.row(1)?, number(5));
    /// assert_eq!(a.jacobi(&b)?, [0, -1]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    fn gcd(rhs: Rows) -> New;

    /// Computes [`gcd`](Self::gcd) into an existing batch. Only large batches of wide rows and rows
    /// of 2^19 bits or more allocate memory, for several batches like this one.
    ///
    /// # Errors
    /// As [`gcd`](Self::gcd).
    fn gcd_into(rhs: Rows, out: Out) -> Nothing;

    /// Computes the least common multiple of each row and the same row of `rhs` modulo `2^BITS`,
    /// and a mask of the rows that overflowed. `lcm(a, 0) = 0`.
    ///
    /// # Errors
    /// As [`gcd`](Self::gcd).
    fn overflowing_lcm(rhs: Rows) -> NewAndMask;

    /// Computes the inverse of each row modulo the same row of `moduli`, in `0..modulus`, and a
    /// mask of the rows without an inverse. A row has no inverse if it has a common divisor with
    /// its modulus or if the modulus is 0; its result is 0. Rows may exceed their modulus. Modulo 1
    /// the inverse is 0.
    ///
    /// # Errors
    /// As [`gcd`](Self::gcd).
    fn inverse_mod(moduli: Rows) -> NewAndMask;

    /// Computes [`inverse_mod`](Self::inverse_mod) into an existing batch and mask. It allocates
    /// memory like [`gcd_into`](Self::gcd_into).
    ///
    /// # Errors
    /// As [`gcd`](Self::gcd).
    fn inverse_mod_into(moduli: Rows, out: Out, without: OutMask) -> Nothing;

    /// Computes the Jacobi symbol of each row over the same row of `moduli`: -1, 0 or 1. For even
    /// moduli it is Kronecker's symbol: `(a | 2)` is 0 for even `a` and `(2 | a)` for odd `a`, and
    /// `(a | 0)` is 1 for `a = 1` and 0 otherwise.
    ///
    /// # Errors
    /// As [`gcd`](Self::gcd). The symbols of rows of 2^19 bits and more are computed by the CPU, on
    /// copies of the rows.
    fn jacobi(moduli: Rows) -> Signs;
}
