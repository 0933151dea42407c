//! Factors of many products, prepared: from 2^20 bits on, GPUs keep their transforms.

use std::fmt;
use std::marker::PhantomData;

use gpuint_catalogue::Shape;
use once_cell::race::OnceBox;

use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::ops::transform::Transform;
use crate::shape::Kernels;
use crate::value::Value;

/// Prepared factors with a run-time width: the [`Factor`] of a [`DynBatch`].
pub struct DynFactor {
    factors: DynBatch,
    /// One factor for all rows.
    is_broadcast: bool,
    /// Transforms for products of both halves, from the first such product on.
    wide: OnceBox<Option<Transform>>,
    /// Transforms for cyclic products.
    cyclic: OnceBox<Option<Transform>>,
}

impl DynFactor {
    /// Prepares each row of a batch as the factor of the same row of other batches.
    ///
    /// # Errors
    /// As [`Factor::new`].
    pub fn of_rows(factors: &DynBatch) -> Result<Self> {
        Ok(Self::of(factors.try_clone()?, false))
    }

    /// Prepares one factor for all rows of any batch of the shape.
    ///
    /// # Errors
    /// [`ShapeMissing`](crate::Error::ShapeMissing) if the shape is not built, and as
    /// [`Factor::splat`].
    pub fn splat(device: &Device, shape: Shape, factor: impl Value) -> Result<Self> {
        Ok(Self::of(DynBatch::splat(device, shape, factor, 1)?, true))
    }

    fn of(factors: DynBatch, is_broadcast: bool) -> Self {
        Self { factors, is_broadcast, wide: OnceBox::new(), cyclic: OnceBox::new() }
    }

    /// Number of rows that have their own factor; `None` for one factor for all rows.
    #[must_use]
    pub fn rows(&self) -> Option<usize> {
        (!self.is_broadcast).then_some(self.factors.len())
    }

    /// The factors, one row if it is for all rows.
    pub(crate) fn factors(&self) -> &DynBatch {
        &self.factors
    }

    /// Device of the factors.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.factors.device()
    }

    /// Shape of the factors.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.factors.shape()
    }

    /// Returns the transforms for products of both halves, if the device keeps them.
    pub(crate) fn wide(&self) -> Result<Option<&Transform>> {
        let transform = || Transform::wide(&self.factors, u64::MAX).map(Box::new);
        Ok(self.wide.get_or_try_init(transform)?.as_ref())
    }

    /// Returns the transforms for cyclic products, if the device keeps them.
    pub(crate) fn cyclic(&self) -> Result<Option<&Transform>> {
        let transform = || Transform::cyclic(&self.factors, u64::MAX).map(Box::new);
        Ok(self.cyclic.get_or_try_init(transform)?.as_ref())
    }
}

impl fmt::Debug for DynFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factor")
            .field("shape", &format_args!("{}", self.shape()))
            .field("rows", &self.rows())
            .field("device", self.device())
            .finish()
    }
}

/// Factors of many products, on a device.
///
/// [`new`](Self::new) makes one factor for each row of a batch, [`splat`](Self::splat) one factor
/// for all rows of any batch. Above 2^20 bits a GPU transforms a factor once: a product of both
/// halves then makes 12 passes over the points of a row instead of 16, and a cyclic one 6 instead
/// of 8. At other widths, on the CPU and on a device that [verifies](Device::verified), a product
/// takes the time of one with a batch.
///
/// A factor takes the memory of an integer. With its first product of either kind a GPU allocates
/// that of the transforms: six times a factor for products of both halves and low products, three
/// times for cyclic ones, with factors rounded up to a power of two. Without that memory it
/// computes without kept transforms. Cyclic products have transforms at powers of two.
///
/// ```
/// use gpuint::{Batch, Device, Factor, GpuUint};
/// use num_bigint::BigUint;
///
/// let device = Device::cpu();
/// let a = [3u32, 5].map(BigUint::from);
/// let a = Batch::<GpuUint<1024>>::from_biguints(&device, &a)?;
/// let factor = Factor::splat(&device, &(BigUint::from(7u32) << 1020))?;
/// let (low, high) = a.mul_lo_hi_by(&factor)?;
/// assert_eq!(low.row(0)?, BigUint::from(5u32) << 1020);
/// assert_eq!(high.to_biguints()?, [1u32, 2].map(BigUint::from));
/// # Ok::<(), gpuint::Error>(())
/// ```
pub struct Factor<T: Kernels> {
    inner: DynFactor,
    shape: PhantomData<T>,
}

impl<T: Kernels> Factor<T> {
    /// Prepares each row of a batch as the factor of the same row of other batches.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    pub fn new(factors: &Batch<T>) -> Result<Self> {
        DynFactor::of_rows(factors.as_dyn()).map(Self::typed)
    }

    /// Prepares one factor for all rows of any batch.
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) if the factor needs more than `BITS` bits (row 0), and as
    /// [`new`](Self::new).
    pub fn splat(device: &Device, factor: impl Value) -> Result<Self> {
        DynFactor::splat(&device.of::<T>(), T::SHAPE, factor).map(Self::typed)
    }

    /// Number of rows that have their own factor; `None` for one factor for all rows.
    #[must_use]
    pub fn rows(&self) -> Option<usize> {
        self.inner.rows()
    }

    /// Device of the factors.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.inner.device()
    }

    /// Returns the factors as a [`DynFactor`], whose shape is a value.
    #[must_use]
    pub fn as_dyn(&self) -> &DynFactor {
        &self.inner
    }

    fn typed(inner: DynFactor) -> Self {
        Self { inner, shape: PhantomData }
    }
}

impl<T: Kernels> fmt::Debug for Factor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
