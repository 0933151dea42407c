//! Sums, products, squares and powers modulo prepared divisors.
//!
//! Each product is reduced by Barrett's method: two short products with the reciprocal and the
//! divisor, and only one comparison, at the end ("Implementing the Rivest Shamir and Adleman public
//! key encryption algorithm on a standard digital signal processor", CRYPTO '86). Powers are
//! computed by windows of exponent bits. `kernels/modular/modular.cuh` and
//! `kernels/modular/pow_mod.cuh` prove the bounds.

use gpuint_catalogue::Op;
use num_bigint::BigUint;

use super::{View, faces};
use crate::backend::{Operands, Params};
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::Result;

/// Declares operations modulo a divisor with `two` operands a row or `one`, and their `_into`
/// forms.
macro_rules! modulo_divisors {
    (
        $(two $name:ident, $into:ident = $op:ident;)*
        $(one $unary:ident, $unary_into:ident = $unary_op:ident;)*
    ) => {
        $(pub(crate) fn $name(&self, rhs: &DynBatch, divisor: &DynDivisor) -> Result<DynBatch> {
            self.produce(|out| self.$into(rhs, divisor, out))
        }

        pub(crate) fn $into(
            &self,
            rhs: &DynBatch,
            divisor: &DynDivisor,
            out: &mut DynBatch,
        ) -> Result<()> {
            self.check(rhs)?;
            self.modular(Op::$op, Some(rhs), divisor, out)
        })*

        $(pub(crate) fn $unary(&self, divisor: &DynDivisor) -> Result<DynBatch> {
            self.produce(|out| self.$unary_into(divisor, out))
        }

        pub(crate) fn $unary_into(&self, divisor: &DynDivisor, out: &mut DynBatch) -> Result<()> {
            self.modular(Op::$unary_op, None, divisor, out)
        })*
    };
}

impl View<'_> {
    modulo_divisors! {
        two mul_mod, mul_mod_into = MulMod;
        two add_mod, add_mod_into = AddMod;
        two sub_mod, sub_mod_into = SubMod;
        // The second operands are exponents.
        two pow_mod, pow_mod_into = PowMod;
        one square_mod, square_mod_into = SquareMod;
        one neg_mod, neg_mod_into = NegMod;
    }

    /// Computes `self / 2 mod divisor`, for rows below odd divisors.
    pub(super) fn halve_mod_into(&self, divisor: &DynDivisor, out: &mut DynBatch) -> Result<()> {
        self.modular(Op::HalveMod, None, divisor, out)
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
        let operands = self.operands_by(divisor)?;
        if let Some(divisors) = self.unprepared(divisor)? {
            self.check(out)?;
            return self.power_unprepared_all(exponent, divisors.rows(), out);
        }
        let exponent = DynBatch::splat(self.device(), self.shape(), exponent, 1)?;
        let params = Params { broadcast_exponent: true, ..operands.params };
        self.modular_of(Op::PowMod, Some(&exponent), &Operands { params, ..operands }, out)
    }

    fn modular(
        &self,
        op: Op,
        second: Option<&DynBatch>,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let operands = self.operands_by(divisor)?;
        if let Some(divisors) = self.unprepared(divisor)? {
            self.check(out)?;
            return self.modular_unprepared(op, second, divisors.rows(), out);
        }
        self.modular_of(op, second, &operands, out)
    }

    fn modular_of(
        &self,
        op: Op,
        second: Option<&DynBatch>,
        operands: &Operands<'_>,
        out: &mut DynBatch,
    ) -> Result<()> {
        self.check(out)?;
        let &Operands { ins: [first, _, prepared], params, .. } = operands;
        let operands = Operands {
            ins: [first, second.map(DynBatch::buffer), prepared],
            outs: [Some(out.buffer_mut()), None],
            rows: self.len(),
            params,
            ..Operands::default()
        };
        self.launch(op, operands)
    }
}

faces! {
    "Sums modulo prepared divisors";

    /// Computes `self + rhs mod divisor` from the whole sum. The summands may exceed the divisor,
    /// but are then divided a word at a time, which takes longer than a sum.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Divisor, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let number = |n: u32| BigUint::from(n);
    /// let batch = |n: [u32; 2]| Batch::<GpuUint<1024>>::from_biguints(&device, &n.map(number));
    /// let (a, b) = (batch([60, 5])?, batch([70, 6])?);
    /// let v = Divisor::splat(&device, &number(101))?;
    /// assert_eq!(a.add_mod(&b, &v)?.to_biguints()?, [number(29), number(11)]);
    /// assert_eq!(a.sub_mod(&b, &v)?.to_biguints()?, [number(91), number(100)]);
    /// assert_eq!(a.neg_mod(&v)?.to_biguints()?, [number(41), number(96)]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn add_mod(rhs: Rows, divisor: Divisor) -> New;

    /// Computes [`add_mod`](Self::add_mod) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn add_mod_into(rhs: Rows, divisor: Divisor, out: Out) -> Nothing;

    /// Computes `self - rhs mod divisor`, in `[0, divisor)`; otherwise as
    /// [`add_mod`](Self::add_mod).
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn sub_mod(rhs: Rows, divisor: Divisor) -> New;

    /// Computes [`sub_mod`](Self::sub_mod) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn sub_mod_into(rhs: Rows, divisor: Divisor, out: Out) -> Nothing;

    /// Computes `-self mod divisor`, in `[0, divisor)`; otherwise as [`add_mod`](Self::add_mod).
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn neg_mod(divisor: Divisor) -> New;

    /// Computes [`neg_mod`](Self::neg_mod) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn neg_mod_into(divisor: Divisor, out: Out) -> Nothing;
}

faces! {
    by Mult, "Modular arithmetic";

    /// Computes `self * rhs mod divisor` from the whole product. The factors may exceed the
    /// divisor.
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

    /// Computes [`mul_mod`](Self::mul_mod) into an existing batch, without allocating. During the
    /// call the GPU holds three integers for each row, but at most 3 GiB, if the product is by
    /// [`Fft`](crate::Fft), or by [`TensorCore`](crate::TensorCore) at 32768 bits.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn mul_mod_into(rhs: Rows, divisor: Divisor, out: Out) -> Nothing;

    /// Computes `self^2 mod divisor`. The rows may exceed the divisor.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn square_mod(divisor: Divisor) -> New;

    /// Computes [`square_mod`](Self::square_mod) into an existing batch, without allocating, with
    /// the memory of [`mul_mod_into`](Self::mul_mod_into).
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn square_mod_into(divisor: Divisor, out: Out) -> Nothing;

    /// Computes `self^exponents mod divisor`, row by row. The rows may exceed the divisor. The
    /// power 0 is 1, and everything is 0 modulo 1.
    ///
    /// The time grows with the length of the longest exponent and depends on the exponents' bits,
    /// so do not use it with secret exponents.
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

    /// Computes [`pow_mod`](Self::pow_mod) into an existing batch. During the call the GPU holds
    /// the powers of each window: at most 63 integers for each row that is processed at the same
    /// time. By [`TensorCore`](crate::TensorCore) below 16384 bits, where the width is no multiple
    /// of 1024, it also holds a prepared divisor of the next multiple for each row. At 32768 bits,
    /// the call waits for the length of the longest exponent.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn pow_mod_into(exponents: Rows, divisor: Divisor, out: Out) -> Nothing;

    /// Computes `self^exponent mod divisor`, with one exponent for all rows; otherwise as
    /// [`pow_mod`](Self::pow_mod).
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) if the exponent needs more than `BITS` bits (row 0), and
    /// as [`mul_mod`](Self::mul_mod).
    fn pow_mod_all(exponent: Number, divisor: Divisor) -> New;

    /// Computes [`pow_mod_all`](Self::pow_mod_all) into an existing batch, with the memory of
    /// [`pow_mod_into`](Self::pow_mod_into) and of the exponent.
    ///
    /// # Errors
    /// As [`pow_mod_all`](Self::pow_mod_all).
    fn pow_mod_all_into(exponent: Number, divisor: Divisor, out: Out) -> Nothing;
}
