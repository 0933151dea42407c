//! Products, squares and powers modulo prepared divisors.
//!
//! Each product is reduced by Barrett's method: two short products with the reciprocal and the
//! divisor, and no comparison before the last ("Implementing the Rivest Shamir and Adleman public
//! key encryption algorithm on a standard digital signal processor", CRYPTO '86). Powers are taken
//! window by window of exponent bits. `kernels/modular/modular.cuh` and `kernels/modular/pow_mod.cuh` have the
//! bounds and their proofs.

use gpuint_catalogue::Op;
use num_bigint::BigUint;

use super::{View, faces};
use crate::backend::{Operands, Params};
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::Result;

impl View<'_> {
    pub(crate) fn mul_mod(&self, rhs: &DynBatch, divisor: &DynDivisor) -> Result<DynBatch> {
        self.produce(|out| self.mul_mod_into(rhs, divisor, out))
    }

    pub(crate) fn mul_mod_into(
        &self,
        rhs: &DynBatch,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        self.check(rhs)?;
        self.modular(Op::MulMod, Some(rhs), false, divisor, out)
    }

    pub(crate) fn square_mod(&self, divisor: &DynDivisor) -> Result<DynBatch> {
        self.produce(|out| self.square_mod_into(divisor, out))
    }

    pub(crate) fn square_mod_into(&self, divisor: &DynDivisor, out: &mut DynBatch) -> Result<()> {
        self.modular(Op::SquareMod, None, false, divisor, out)
    }

    pub(crate) fn pow_mod(&self, exponents: &DynBatch, divisor: &DynDivisor) -> Result<DynBatch> {
        self.produce(|out| self.pow_mod_into(exponents, divisor, out))
    }

    pub(crate) fn pow_mod_into(
        &self,
        exponents: &DynBatch,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        self.check(exponents)?;
        self.modular(Op::PowMod, Some(exponents), false, divisor, out)
    }

    pub(crate) fn pow_mod_all(&self, exponent: &BigUint, divisor: &DynDivisor) -> Result<DynBatch> {
        self.produce(|out| self.pow_mod_all_into(exponent, divisor, out))
    }

    pub(crate) fn pow_mod_all_into(
        &self,
        exponent: &BigUint,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let exponent = DynBatch::splat(self.device(), self.shape(), exponent, 1)?;
        self.modular(Op::PowMod, Some(&exponent), true, divisor, out)
    }

    fn modular(
        &self,
        op: Op,
        second: Option<&DynBatch>,
        broadcast_exponent: bool,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let Operands { ins: [first, _, prepared], params, .. } = self.operands_by(divisor)?;
        self.check(out)?;
        let operands = Operands {
            ins: [first, second.map(DynBatch::buffer), prepared],
            outs: [Some(out.buffer_mut()), None],
            rows: self.len(),
            params: Params { broadcast_exponent, ..params },
            ..Operands::default()
        };
        self.launch(op, operands)
    }
}

faces! {
    by Mult, "Modular arithmetic";

    /// `self * rhs mod divisor`: the whole product; the factors need not be below the divisor.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Divisor, GpuUint, TensorCore};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let power = |exponent: u32| BigUint::from(1u32) << exponent;
    /// let a = Batch::<GpuUint<1024>>::splat(&device, &power(1000), 1)?;
    /// let prime = Divisor::splat(&device, &(power(521) - 1u32))?;
    /// assert_eq!(a.mul_mod(&a, &prime)?.row(0)?, power(2000 - 3 * 521));
    /// assert_eq!(a.using::<TensorCore>().mul_mod(&a, &prime)?.row(0)?, power(2000 - 3 * 521));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    fn mul_mod(rhs: Rows, divisor: Divisor) -> New;

    /// [`mul_mod`](Self::mul_mod) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn mul_mod_into(rhs: Rows, divisor: Divisor, out: Out) -> Nothing;

    /// `self^2 mod divisor`; the rows need not be below the divisor.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn square_mod(divisor: Divisor) -> New;

    /// [`square_mod`](Self::square_mod) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn square_mod_into(divisor: Divisor, out: Out) -> Nothing;

    /// `self^exponents mod divisor`, row by row; the rows need not be below the divisor. The power 0
    /// is 1, and everything is 0 modulo 1.
    ///
    /// The time grows with the length of the longest exponent and depends on the exponents' bits:
    /// do not use it where these are secret.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Divisor, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let number = |n: u32| BigUint::from(n);
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&device, &[number(3), number(4)])?;
    /// let e = Batch::from_biguints(&device, &[number(100), number(0)])?;
    /// let v = Divisor::splat(&device, &number(101))?; // a prime: 3^100 = 1 (Fermat)
    /// assert_eq!(a.pow_mod(&e, &v)?.to_biguints()?, [number(1), number(1)]);
    /// assert_eq!(a.pow_mod_all(&number(2), &v)?.to_biguints()?, [number(9), number(16)]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn pow_mod(exponents: Rows, divisor: Divisor) -> New;

    /// [`pow_mod`](Self::pow_mod) into a batch that exists. On a GPU the powers of each window
    /// take memory for the time of the call: at most 63 integers for each row that is worked on at
    /// the same time.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn pow_mod_into(exponents: Rows, divisor: Divisor, out: Out) -> Nothing;

    /// `self^exponent mod divisor`, one exponent for all rows: [`pow_mod`](Self::pow_mod)
    /// otherwise.
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) where the exponent needs more than `BITS` bits (row 0),
    /// and as [`mul_mod`](Self::mul_mod).
    fn pow_mod_all(exponent: Number, divisor: Divisor) -> New;

    /// [`pow_mod_all`](Self::pow_mod_all) into a batch that exists; memory as
    /// [`pow_mod_into`](Self::pow_mod_into), and for the exponent.
    ///
    /// # Errors
    /// As [`pow_mod_all`](Self::pow_mod_all).
    fn pow_mod_all_into(exponent: Number, divisor: Divisor, out: Out) -> Nothing;
}
