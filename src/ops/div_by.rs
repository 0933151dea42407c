//! Division by prepared divisors: exact for every dividend (`kernels/div/prepare.cuh`,
//! `kernels/div/by_prepared.cuh`), and the preparation.

use gpuint_catalogue::{Op, Shape};
use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::{View, faces};
use crate::backend::{Operands, Params};
use crate::device::Device;
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::mask::Mask;

impl View<'_> {
    pub(crate) fn prepare(&self) -> Result<DynDivisor> {
        self.prepared(Some(self.len()))
    }

    /// Prepares each row as the divisor of one row, or (`None`) the only row as the divisor of all
    /// rows.
    pub(crate) fn prepared(&self, rows: Option<usize>) -> Result<DynDivisor> {
        if !self.has_kernel(Op::Prepare) {
            return match self.is_zero_mask()?.indices()?.first() {
                None => self.kept(rows),
                Some(&row) => Err(Error::DivisionByZero { row }),
            };
        }
        self.recorded(rows, |operands| match self.launch_checked(Op::Prepare, operands)? {
            None => Ok(()),
            Some(row) => Err(Error::DivisionByZero { row }),
        })
    }

    /// Prepares one value as the divisor of all rows, without waiting for the device.
    pub(crate) fn prepared_value(
        device: &Device,
        shape: Shape,
        divisor: &BigUint,
    ) -> Result<DynDivisor> {
        if divisor.is_zero() {
            return Err(Error::DivisionByZero { row: 0 });
        }
        let row = DynBatch::splat(device, shape, divisor, 1)?;
        row.view().prepared_nonzero(None)
    }

    /// Prepares rows that are not zero, as [`prepared`](Self::prepared).
    fn prepared_nonzero(&self, rows: Option<usize>) -> Result<DynDivisor> {
        if !self.has_kernel(Op::Prepare) {
            return self.kept(rows);
        }
        self.recorded(rows, |operands| self.launch(Op::Prepare, operands))
    }

    /// Keeps the rows as divisors without reciprocals.
    fn kept(&self, rows: Option<usize>) -> Result<DynDivisor> {
        Ok(DynDivisor::of_unprepared(self.batch.try_clone()?, rows))
    }

    /// Returns the divisors whose records a launch of [`Op::Prepare`] writes.
    fn recorded(
        &self,
        rows: Option<usize>,
        prepare: impl FnOnce(Operands<'_>) -> Result<()>,
    ) -> Result<DynDivisor> {
        let mut prepared = self.device().alloc_rows(self.len(), self.shape().prepared_bytes())?;
        prepare(Operands { outs: [Some(&mut prepared), None], ..self.operands() })?;
        Ok(DynDivisor::new(self.device(), self.shape(), prepared, rows))
    }

    pub(crate) fn div_rem_all(&self, divisor: &BigUint) -> Result<(DynBatch, DynBatch)> {
        self.div_rem_by(&View::prepared_value(self.device(), self.shape(), divisor)?)
    }

    pub(crate) fn div_all(&self, divisor: &BigUint) -> Result<DynBatch> {
        self.div_by(&View::prepared_value(self.device(), self.shape(), divisor)?)
    }

    pub(crate) fn rem_all(&self, divisor: &BigUint) -> Result<DynBatch> {
        self.rem_by(&View::prepared_value(self.device(), self.shape(), divisor)?)
    }

    pub(crate) fn prepare_masked(&self) -> Result<(DynDivisor, Mask)> {
        let zero = self.is_zero_mask()?;
        // Zeros become ones, so that all rows are in the domain of the kernel.
        let divisors = self.or_all(&BigUint::one())?.select(&zero, self.batch)?;
        let View { strategy, .. } = *self;
        let view = View { batch: &divisors, strategy };
        Ok((view.prepared_nonzero(Some(self.len()))?, zero))
    }

    pub(crate) fn div_rem_by(&self, divisor: &DynDivisor) -> Result<(DynBatch, DynBatch)> {
        self.produce_two(|quotient, remainder| self.div_rem_by_into(divisor, quotient, remainder))
    }

    pub(crate) fn div_rem_by_into(
        &self,
        divisor: &DynDivisor,
        quotient: &mut DynBatch,
        remainder: &mut DynBatch,
    ) -> Result<()> {
        self.divide_by(divisor, Some(quotient), Some(remainder))
    }

    pub(crate) fn div_by(&self, divisor: &DynDivisor) -> Result<DynBatch> {
        self.produce(|out| self.div_by_into(divisor, out))
    }

    pub(crate) fn div_by_into(&self, divisor: &DynDivisor, quotient: &mut DynBatch) -> Result<()> {
        self.divide_by(divisor, Some(quotient), None)
    }

    pub(crate) fn rem_by(&self, divisor: &DynDivisor) -> Result<DynBatch> {
        self.produce(|out| self.rem_by_into(divisor, out))
    }

    pub(crate) fn rem_by_into(&self, divisor: &DynDivisor, remainder: &mut DynBatch) -> Result<()> {
        self.divide_by(divisor, None, Some(remainder))
    }

    fn divide_by(
        &self,
        divisor: &DynDivisor,
        quotient: Option<&mut DynBatch>,
        remainder: Option<&mut DynBatch>,
    ) -> Result<()> {
        let operands = self.operands_by(divisor)?;
        for out in [&quotient, &remainder].into_iter().flatten() {
            self.check(out)?;
        }
        if let Some(kept) = divisor.unprepared() {
            return self.divide_unprepared(kept, [quotient, remainder]);
        }
        let outs = [quotient, remainder].map(|out| out.map(DynBatch::buffer_mut));
        self.launch(Op::DivRemBy, Operands { outs, ..operands })
    }

    /// Collects operands with the reciprocals of divisors, if they have any, after
    /// checking the shape, the device and the number of rows.
    pub(super) fn operands_by<'b>(&self, divisor: &'b DynDivisor) -> Result<Operands<'b>>
    where
        Self: 'b,
    {
        if self.shape() != divisor.shape() {
            return Err(Error::ShapeMismatch { left: self.shape(), right: divisor.shape() });
        }
        self.check_operand(divisor.device(), divisor.rows().unwrap_or(self.len()))?;
        let broadcast_divisor = divisor.rows().is_none();
        Ok(Operands {
            ins: [Some(self.batch.buffer()), None, divisor.buffer()],
            rows: self.len(),
            params: Params { broadcast_divisor, ..Params::default() },
            ..Operands::default()
        })
    }
}

faces! {
    by Mult, "Division by prepared divisors";

    /// Prepares each row as the divisor for the same row of other batches:
    /// [`Divisor::new`](crate::Divisor::new).
    ///
    /// # Errors
    /// [`DivisionByZero`](crate::Error::DivisionByZero) with the lowest row that is zero, and what
    /// any operation may return.
    fn prepare() -> NewDivisor;

    /// [`prepare`](Self::prepare) with a mask of the rows that are zero, which are prepared as 1.
    /// Does not wait for the device.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let number = |n: u32| BigUint::from(n);
    /// let u = Batch::<GpuUint<1024>>::from_biguints(&device, &[number(17), number(40)])?;
    /// let v = Batch::from_biguints(&device, &[number(5), number(0)])?;
    /// let (divisors, zero) = v.prepare_masked()?;
    /// assert_eq!(zero.to_bools()?, [false, true]);
    /// assert_eq!(u.rem_by(&divisors)?.to_biguints()?, [number(2), number(0)]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare), but for [`DivisionByZero`](crate::Error::DivisionByZero).
    fn prepare_masked() -> NewDivisorAndMask;

    /// Computes `(self / divisor, self mod divisor)`, exactly.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Divisor, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let u = Batch::<GpuUint<1024>>::splat(&device, &(BigUint::from(1u32) << 1000), 3)?;
    /// let ten = Divisor::splat(&device, &(BigUint::from(10u32).pow(300)))?;
    /// let (q, r) = u.div_rem_by(&ten)?;
    /// assert_eq!(q.row(2)?, BigUint::from(10u32));
    /// assert!(r.row(2)? < BigUint::from(10u32).pow(300));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch) if there are divisors for another number of
    /// rows, and what any operation may return: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver).
    fn div_rem_by(divisor: Divisor) -> NewPair;

    /// Computes [`div_rem_by`](Self::div_rem_by) into two existing batches, without allocating.
    ///
    /// # Errors
    /// As [`div_rem_by`](Self::div_rem_by).
    fn div_rem_by_into(divisor: Divisor, quotient: Out, remainder: Out) -> Nothing;

    /// Computes `self / divisor`, rounded down.
    ///
    /// # Errors
    /// As [`div_rem_by`](Self::div_rem_by).
    fn div_by(divisor: Divisor) -> New;

    /// Computes [`div_by`](Self::div_by) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`div_rem_by`](Self::div_rem_by).
    fn div_by_into(divisor: Divisor, quotient: Out) -> Nothing;

    /// Computes `self mod divisor`.
    ///
    /// # Errors
    /// As [`div_rem_by`](Self::div_rem_by).
    fn rem_by(divisor: Divisor) -> New;

    /// Computes [`rem_by`](Self::rem_by) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`div_rem_by`](Self::div_rem_by).
    fn rem_by_into(divisor: Divisor, remainder: Out) -> Nothing;
}

faces! {
    by Mult, "Division by one value";

    /// Computes `(self / divisor, self mod divisor)` by one divisor of all rows.
    ///
    /// Each call prepares the divisor; a [`Divisor`](crate::Divisor) is prepared once for several
    /// calls. Does not wait for the device.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let number = |n: u32| BigUint::from(n);
    /// let u = Batch::<GpuUint<1024>>::from_biguints(&device, &[number(17), number(40)])?;
    /// let (q, r) = u.div_rem_all(&number(5))?;
    /// assert_eq!(q.to_biguints()?, [number(3), number(8)]);
    /// assert_eq!(r.to_biguints()?, [number(2), number(0)]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DivisionByZero`](crate::Error::DivisionByZero) (row 0),
    /// [`TooWide`](crate::Error::TooWide) if the divisor needs more than `BITS` bits (row 0), and
    /// as [`div_rem_by`](Self::div_rem_by).
    fn div_rem_all(divisor: Number) -> NewPair;

    /// Computes `self / divisor`, rounded down, by one divisor of all rows.
    ///
    /// # Errors
    /// As [`div_rem_all`](Self::div_rem_all).
    fn div_all(divisor: Number) -> New;

    /// Computes `self mod divisor` by one divisor of all rows.
    ///
    /// # Errors
    /// As [`div_rem_all`](Self::div_rem_all).
    fn rem_all(divisor: Number) -> New;
}
