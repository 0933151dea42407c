//! Multiplication.
//!
//! How is a parameter, a [`Mult`]. [`Classical`](crate::Classical) is the method of "On GPU
//! Implementation for Multi-Precision Integer Division" (Marchioro, Raahauge, Løvenskjold, Oancea,
//! Watt): column `k` of the product is the sum of all digit products `a[i] * b[j]` with `i + j = k`,
//! and each thread takes a short column together with a long one, so that all work equally long
//! (`kernels/mul/columns.cuh`, `kernels/mul/mul.cuh`).

use gpuint_catalogue::Op;

use crate::backend::{Operands, Params};
use crate::batch::Batch;
use crate::error::Result;
use crate::shape::{Kernels, Widen};
use crate::strategy::{Auto, Mult};

impl<T: Kernels> Batch<T> {
    /// `self * rhs`, wrapping: modulo `2^BITS`.
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    pub fn wrapping_mul(&self, rhs: &Self) -> Result<Self> {
        self.wrapping_mul_with::<Auto>(rhs)
    }

    /// [`wrapping_mul`](Self::wrapping_mul) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn wrapping_mul_with<M: Mult<T>>(&self, rhs: &Self) -> Result<Self> {
        self.produce(|out| self.wrapping_mul_with_into::<M>(rhs, out))
    }

    /// [`wrapping_mul`](Self::wrapping_mul) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn wrapping_mul_into(&self, rhs: &Self, out: &mut Self) -> Result<()> {
        self.wrapping_mul_with_into::<Auto>(rhs, out)
    }

    /// [`wrapping_mul_into`](Self::wrapping_mul_into) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn wrapping_mul_with_into<M: Mult<T>>(&self, rhs: &Self, out: &mut Self) -> Result<()> {
        self.check(rhs)?;
        self.check(out)?;
        let operands = Operands {
            ins: [Some(self.buffer()), Some(rhs.buffer()), None],
            outs: [Some(out.buffer_mut()), None],
            ..self.operands()
        };
        self.multiply::<M>(Op::MulLo, operands)
    }

    /// `self^2`, wrapping: modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn wrapping_square(&self) -> Result<Self> {
        self.wrapping_square_with::<Auto>()
    }

    /// [`wrapping_square`](Self::wrapping_square) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn wrapping_square_with<M: Mult<T>>(&self) -> Result<Self> {
        self.produce(|out| self.wrapping_square_with_into::<M>(out))
    }

    /// [`wrapping_square`](Self::wrapping_square) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn wrapping_square_into(&self, out: &mut Self) -> Result<()> {
        self.wrapping_square_with_into::<Auto>(out)
    }

    /// [`wrapping_square_into`](Self::wrapping_square_into) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn wrapping_square_with_into<M: Mult<T>>(&self, out: &mut Self) -> Result<()> {
        self.check(out)?;
        let operands = Operands {
            ins: [Some(self.buffer()), None, None],
            outs: [Some(out.buffer_mut()), None],
            ..self.operands()
        };
        self.multiply::<M>(Op::SquareLo, operands)
    }

    /// `self * rhs` without loss, as `(low, high)`: the product is `low + high * 2^BITS`.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn mul_lo_hi(&self, rhs: &Self) -> Result<(Self, Self)> {
        self.mul_lo_hi_with::<Auto>(rhs)
    }

    /// [`mul_lo_hi`](Self::mul_lo_hi) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn mul_lo_hi_with<M: Mult<T>>(&self, rhs: &Self) -> Result<(Self, Self)> {
        let mut low = Self::alloc(self.device(), self.len())?;
        let high = self.produce(|high| self.mul_lo_hi_with_into::<M>(rhs, &mut low, high))?;
        Ok((low, high))
    }

    /// [`mul_lo_hi`](Self::mul_lo_hi) into two batches that exist, without allocating.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn mul_lo_hi_into(&self, rhs: &Self, low: &mut Self, high: &mut Self) -> Result<()> {
        self.mul_lo_hi_with_into::<Auto>(rhs, low, high)
    }

    /// [`mul_lo_hi_into`](Self::mul_lo_hi_into) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn mul_lo_hi_with_into<M: Mult<T>>(
        &self,
        rhs: &Self,
        low: &mut Self,
        high: &mut Self,
    ) -> Result<()> {
        self.check(rhs)?;
        self.check(low)?;
        self.check(high)?;
        let operands = Operands {
            ins: [Some(self.buffer()), Some(rhs.buffer()), None],
            outs: [Some(low.buffer_mut()), Some(high.buffer_mut())],
            ..self.operands()
        };
        self.multiply::<M>(Op::MulWide, operands)
    }

    /// `self * rhs` without loss, in rows of twice the width: nothing wraps.
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
    pub fn widening_mul<W: Kernels>(&self, rhs: &Self) -> Result<Batch<W>>
    where
        T: Widen<Wide = W>,
    {
        self.widening_mul_with::<Auto, W>(rhs)
    }

    /// [`widening_mul`](Self::widening_mul) by a strategy of the caller's choice:
    /// `a.widening_mul_with::<Classical, _>(&b)`.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn widening_mul_with<M: Mult<T>, W: Kernels>(&self, rhs: &Self) -> Result<Batch<W>>
    where
        T: Widen<Wide = W>,
    {
        self.produce(|out| self.widening_mul_with_into::<M, W>(rhs, out))
    }

    /// [`widening_mul`](Self::widening_mul) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn widening_mul_into<W: Kernels>(&self, rhs: &Self, out: &mut Batch<W>) -> Result<()>
    where
        T: Widen<Wide = W>,
    {
        self.widening_mul_with_into::<Auto, W>(rhs, out)
    }

    /// [`widening_mul_into`](Self::widening_mul_into) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`wrapping_mul`](Self::wrapping_mul).
    pub fn widening_mul_with_into<M: Mult<T>, W: Kernels>(
        &self,
        rhs: &Self,
        out: &mut Batch<W>,
    ) -> Result<()>
    where
        T: Widen<Wide = W>,
    {
        self.check(rhs)?;
        self.check(out)?;
        let operands = Operands {
            ins: [Some(self.buffer()), Some(rhs.buffer()), None],
            outs: [Some(out.buffer_mut()), None],
            params: Params { joined: true, ..Params::default() },
            ..self.operands()
        };
        self.multiply::<M>(Op::MulWide, operands)
    }

    fn multiply<M: Mult<T>>(&self, op: Op, operands: Operands<'_>) -> Result<()> {
        self.device().launch(self.kernel(op, M::STRATEGY)?, operands)
    }
}
