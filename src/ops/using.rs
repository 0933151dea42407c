//! Batches through a strategy.

use std::fmt;
use std::marker::PhantomData;

use crate::batch::Batch;
use crate::dyn_batch::DynBatch;
use crate::ops::view::View;
use crate::shape::Kernels;
use crate::strategy::Strategy;
use crate::strategy::sealed::Sealed as AsStrategy;

/// # Strategies
impl DynBatch {
    /// The batch through a strategy: a view with the operations that have algorithms to choose
    /// from.
    ///
    /// ```
    /// use gpuint::{Algorithm, Device, DynBatch, Product, narrowest};
    ///
    /// let device = Device::cpu();
    /// let u = DynBatch::splat(&device, narrowest(1000).unwrap(), &100u32.into(), 3)?;
    /// let v = DynBatch::splat(&device, u.shape(), &7u32.into(), 3)?;
    /// let (q, r) = u.using(Algorithm::Blocked(Product::Classical)).div_rem(&v)?;
    /// assert_eq!((q.row(2)?, r.row(2)?), (14u32.into(), 2u32.into()));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    #[must_use]
    pub fn using(&self, strategy: impl Into<Strategy>) -> DynUsing<'_> {
        DynUsing(View { batch: self, strategy: strategy.into() })
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { batch: self, strategy: Strategy::Auto }
    }
}

/// A batch through a strategy: see [`DynBatch::using`].
#[derive(Debug, Clone, Copy)]
pub struct DynUsing<'a>(View<'a>);

impl<'a> DynUsing<'a> {
    pub(crate) fn view(&self) -> View<'a> {
        self.0
    }
}

/// # Strategies
impl<T: Kernels> Batch<T> {
    /// Returns a view of the batch whose operations use the strategy `S` instead of
    /// [`Auto`](crate::Auto).
    ///
    /// ```
    /// use gpuint::{Batch, Blocked, Classical, Device, GpuUint, TensorCore};
    ///
    /// let device = Device::cpu();
    /// let u = Batch::<GpuUint<1024>>::splat(&device, &100u32.into(), 3)?;
    /// let v = Batch::splat(&device, &7u32.into(), 3)?;
    /// let (q, r) = u.using::<Blocked<Classical>>().div_rem(&v)?;
    /// assert_eq!((q.row(2)?, r.row(2)?), (14u32.into(), 2u32.into()));
    /// assert_eq!(u.using::<TensorCore>().wrapping_mul(&v)?.row(0)?, 700u32.into());
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    #[must_use]
    pub fn using<S: AsStrategy>(&self) -> Using<'_, T, S> {
        Using { batch: self, strategy: PhantomData }
    }

    pub(crate) fn view(&self) -> View<'_> {
        self.as_dyn().view()
    }
}

/// A batch whose operations use one strategy: see [`Batch::using`].
pub struct Using<'a, T: Kernels, S> {
    batch: &'a Batch<T>,
    strategy: PhantomData<S>,
}

impl<T: Kernels, S: AsStrategy> Using<'_, T, S> {
    pub(crate) fn view(&self) -> View<'_> {
        View { batch: self.batch.as_dyn(), strategy: S::STRATEGY }
    }
}

impl<T: Kernels, S: AsStrategy> fmt::Debug for Using<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}
