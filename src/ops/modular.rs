//! Sums, products and squares modulo prepared divisors, and the launch of powers.
//!
//! Each product is reduced by Barrett's method: two short products with the reciprocal and the
//! divisor, and only one comparison, at the end ("Implementing the Rivest Shamir and Adleman public
//! key encryption algorithm on a standard digital signal processor", CRYPTO '86). Powers are
//! computed by windows of exponent bits. `kernels/modular/modular.cuh` and
//! `kernels/modular/pow_mod.cuh` prove the bounds.

use gpuint_catalogue::Op;

use super::{View, faces};
use crate::backend::Operands;
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
        one square_mod, square_mod_into = SquareMod;
        one neg_mod, neg_mod_into = NegMod;
    }

    /// Computes `self / 2 mod divisor`, for rows below odd divisors.
    pub(super) fn halve_mod_into(&self, divisor: &DynDivisor, out: &mut DynBatch) -> Result<()> {
        self.modular(Op::HalveMod, None, divisor, out)
    }

    fn modular(
        &self,
        op: Op,
        second: Option<&DynBatch>,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let operands = self.operands_by(divisor)?;
        if let Some(kept) = divisor.unprepared() {
            self.check(out)?;
            return self.modular_unprepared(op, second, kept, out);
        }
        self.modular_of(op, second, &operands, out)
    }

    pub(super) fn modular_of(
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
}
