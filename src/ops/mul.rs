//! Multiplication.
//!
//! The algorithm is a strategy. [`Classical`](crate::Classical) is the method of "On GPU
//! Implementation for Multi-Precision Integer Division" (Marchioro, Raahauge, Løvenskjold, Oancea,
//! Watt): column `k` of the product is the sum of all digit products `a[i] * b[j]` with `i + j =
//! k`. Each thread computes a short column and a long one, which balances the work
//! (`kernels/mul/columns.cuh`, `kernels/mul/mul.cuh`).

use gpuint_catalogue::{MAX_LONG_BITS, Op, Shape};

use super::using::{DynUsing, Using};
use super::{View, faces};
use crate::backend::{Operands, Params};
use crate::batch::Batch;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::ops::faces::assigning_faces;
use crate::shape::{Kernels, Widen};
use crate::strategy::Mult;

impl View<'_> {
    pub(crate) fn wrapping_mul(&self, rhs: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.wrapping_mul_into(rhs, out))
    }

    pub(crate) fn wrapping_mul_into(&self, rhs: &DynBatch, out: &mut DynBatch) -> Result<()> {
        let operands = self.operands_with(rhs)?;
        self.check(out)?;
        self.launch(Op::MulLo, Operands { outs: [Some(out.buffer_mut()), None], ..operands })
    }

    pub(crate) fn wrapping_square(&self) -> Result<DynBatch> {
        self.produce(|out| self.wrapping_square_into(out))
    }

    pub(crate) fn wrapping_square_into(&self, out: &mut DynBatch) -> Result<()> {
        self.check(out)?;
        let outs = [Some(out.buffer_mut()), None];
        self.launch(Op::SquareLo, Operands { outs, ..self.operands() })
    }

    pub(crate) fn mul_lo_hi(&self, rhs: &DynBatch) -> Result<(DynBatch, DynBatch)> {
        self.produce_two(|low, high| self.mul_lo_hi_into(rhs, low, high))
    }

    pub(crate) fn mul_lo_hi_into(
        &self,
        rhs: &DynBatch,
        low: &mut DynBatch,
        high: &mut DynBatch,
    ) -> Result<()> {
        let operands = self.operands_with(rhs)?;
        self.check(low)?;
        self.check(high)?;
        let outs = [Some(low.buffer_mut()), Some(high.buffer_mut())];
        self.launch(Op::MulWide, Operands { outs, ..operands })
    }

    /// `wide` has twice the width.
    pub(crate) fn widening_mul(&self, rhs: &DynBatch, wide: Shape) -> Result<DynBatch> {
        let mut out = DynBatch::alloc(self.device(), wide, self.len())?;
        self.widening_mul_into(rhs, &mut out)?;
        Ok(out)
    }

    pub(crate) fn widening_mul_into(&self, rhs: &DynBatch, out: &mut DynBatch) -> Result<()> {
        let operands = self.operands_with(rhs)?;
        let wide = Shape { bits: 2 * self.shape().bits, ..self.shape() };
        if out.shape() != (Shape { q: out.shape().q, ..wide }) {
            return Err(Error::ShapeMismatch { left: wide, right: out.shape() });
        }
        self.check_operand(out.device(), out.len())?;
        let params = Params { joined: true, ..Params::default() };
        let outs = [Some(out.buffer_mut()), None];
        self.launch(Op::MulWide, Operands { outs, params, ..operands })
    }

    /// Returns the shape of twice the width, for an operation named in the plural.
    pub(super) fn doubled(&self, operation: &'static str) -> Result<Shape> {
        let Shape { bits, .. } = self.shape();
        if bits > MAX_LONG_BITS / 2 {
            return Err(Error::WidthMissing { operation, bits, widest: MAX_LONG_BITS / 2 });
        }
        self.device().selected(Shape { bits: 2 * bits, ..self.shape() })
    }
}

faces! {
    by Mult, "Products";

    /// Computes `self * rhs` modulo `2^BITS`.
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    fn wrapping_mul(rhs: Rows) -> New;

    /// Computes [`wrapping_mul`](Self::wrapping_mul) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    fn wrapping_mul_into(rhs: Rows, out: Out) -> Nothing;

    /// Computes `self^2` modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    fn wrapping_square() -> New;

    /// Computes [`wrapping_square`](Self::wrapping_square) into an existing batch, without
    /// allocating.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    fn wrapping_square_into(out: Out) -> Nothing;

    /// Computes the full product `self * rhs` as `(low, high)`: it is `low + high * 2^BITS`.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    fn mul_lo_hi(rhs: Rows) -> NewPair;

    /// Computes [`mul_lo_hi`](Self::mul_lo_hi) into two existing batches, without allocating.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    fn mul_lo_hi_into(rhs: Rows, low: Out, high: Out) -> Nothing;
}

assigning_faces! {
    "Products in place";
    fn wrapping_mul_assign = wrapping_mul_into;
}

/// Declares widening products, whose result has another shape.
macro_rules! widening {
    (dyn $type:ty) => {
        /// # Widening products
        impl $type {
            /// Computes the full product `self * rhs` in rows of twice the width.
            ///
            /// # Errors
            /// [`WidthMissing`](Error::WidthMissing) above 2^30 bits,
            /// [`ShapeMissing`](Error::ShapeMissing) if twice the width is not built, and as
            /// [`wrapping_mul`](Self::wrapping_mul).
            pub fn widening_mul(&self, rhs: &DynBatch) -> Result<DynBatch> {
                let view = self.view();
                view.widening_mul(rhs, view.doubled("widening products")?)
            }

            /// Computes [`widening_mul`](Self::widening_mul) into an existing batch, without
            /// allocating.
            ///
            /// # Errors
            /// As [`widening_mul`](Self::widening_mul).
            pub fn widening_mul_into(&self, rhs: &DynBatch, out: &mut DynBatch) -> Result<()> {
                self.view().widening_mul_into(rhs, out)
            }
        }
    };
    (typed ($($parameters:tt)*) $type:ty) => {
        /// # Widening products
        impl<$($parameters)*> $type {
            /// Computes the full product `self * rhs` in rows of twice the width.
            ///
            /// ```
            /// use gpuint::{Batch, Device, GpuUint};
            /// use num_bigint::BigUint;
            ///
            /// let device = Device::cpu();
            /// let a = Batch::<GpuUint<1024>>::splat(&device, &(BigUint::from(3u32) << 1000), 2)?;
            /// let square = a.widening_mul(&a)?; // a Batch<GpuUint<2048>>
            /// assert_eq!(square.row(0)?, BigUint::from(9u32) << 2000);
            /// # Ok::<(), gpuint::Error>(())
            /// ```
            ///
            /// # Errors
            /// As [`wrapping_mul`](Self::wrapping_mul).
            pub fn widening_mul<W: Kernels>(&self, rhs: &Batch<T>) -> Result<Batch<W>>
            where
                T: Widen<Wide = W>,
            {
                self.view().widening_mul(rhs.as_dyn(), W::SHAPE).map(Batch::typed)
            }

            /// Computes [`widening_mul`](Self::widening_mul) into an existing batch, without
            /// allocating.
            ///
            /// # Errors
            /// As [`wrapping_mul`](Self::wrapping_mul).
            pub fn widening_mul_into<W: Kernels>(
                &self,
                rhs: &Batch<T>,
                out: &mut Batch<W>,
            ) -> Result<()>
            where
                T: Widen<Wide = W>,
            {
                self.view().widening_mul_into(rhs.as_dyn(), out.as_dyn_mut())
            }
        }
    };
}
widening!(dyn DynBatch);
widening!(dyn DynUsing<'_>);
widening!(typed (T: Kernels) Batch<T>);
widening!(typed (T: Kernels, S: Mult<T>) Using<'_, T, S>);
