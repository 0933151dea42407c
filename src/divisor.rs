//! Prepared divisors: computed once, used by many divisions.

use std::fmt;
use std::marker::PhantomData;

use gpuint_catalogue::Shape;

use crate::backend::Buffer;
use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::ops::View;
use crate::ops::reciprocals::KeptDivisors;
use crate::shape::Kernels;
use crate::value::Value;

/// Prepared divisors with a run-time width: the [`Divisor`] of a [`DynBatch`].
pub struct DynDivisor {
    device: Device,
    form: Form,
    /// `None`: one divisor for all rows.
    rows: Option<usize>,
    shape: Shape,
}

enum Form {
    /// Divisors with their reciprocals.
    Records(Buffer),
    /// The divisors, at widths without kernels that prepare them.
    Kept(KeptDivisors),
}

impl DynDivisor {
    /// Prepares each row of a batch as the divisor for the same row of other batches.
    ///
    /// # Errors
    /// As [`Divisor::new`].
    pub fn of_rows(divisors: &DynBatch) -> Result<Self> {
        divisors.prepare()
    }

    /// Prepares one divisor for all rows of any batch of the shape.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing) if the shape is not built, and as [`Divisor::splat`].
    pub fn splat(device: &Device, shape: Shape, divisor: impl Value) -> Result<Self> {
        View::prepared_value(device, shape, &divisor.integer())
    }

    /// Number of rows that have their own divisor; `None` for one divisor for all rows.
    #[must_use]
    pub fn rows(&self) -> Option<usize> {
        self.rows
    }

    /// Device of the divisors.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Shape of the divisors.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) fn new(
        device: &Device,
        shape: Shape,
        prepared: Buffer,
        rows: Option<usize>,
    ) -> Self {
        Self { device: device.clone(), form: Form::Records(prepared), rows, shape }
    }

    /// Makes divisors of rows that are not zero, without a kernel.
    pub(crate) fn of_unprepared(divisors: DynBatch, rows: Option<usize>) -> Self {
        let (device, shape) = (divisors.device().clone(), divisors.shape());
        let form = Form::Kept(KeptDivisors::new(divisors, rows.is_none()));
        Self { device, form, rows, shape }
    }

    /// Returns the divisors of these rows; `None` if there is one divisor for all rows.
    pub(crate) fn gather(&self, rows: &[usize]) -> Result<Option<Self>> {
        if self.rows.is_none() {
            return Ok(None);
        }
        let form = match &self.form {
            Form::Kept(divisors) => Form::Kept(divisors.gather(rows)?),
            Form::Records(records) => {
                let size = self.shape.prepared_bytes();
                let mut out = self.device.alloc_rows(rows.len(), size)?;
                let mut first = 0;
                for run in rows.chunk_by(|&row, &next| row + 1 == next) {
                    let (to, from) = ((first * size) as u64, (run[0] * size) as u64);
                    let bytes = (run.len() * size) as u64;
                    self.device.memory().copy(&mut out, to, records, from, bytes)?;
                    first += run.len();
                }
                Form::Records(out)
            }
        };
        let (device, rows) = (self.device.clone(), Some(rows.len()));
        Ok(Some(Self { device, form, rows, shape: self.shape }))
    }

    /// Records of a kernel, if one has prepared the divisors.
    pub(crate) fn buffer(&self) -> Option<&Buffer> {
        match &self.form {
            Form::Records(prepared) => Some(prepared),
            Form::Kept(_) => None,
        }
    }

    /// Divisors that no kernel has prepared.
    pub(crate) fn unprepared(&self) -> Option<&KeptDivisors> {
        match &self.form {
            Form::Records(_) => None,
            Form::Kept(divisors) => Some(divisors),
        }
    }
}

impl fmt::Debug for DynDivisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Divisor")
            .field("shape", &format_args!("{}", self.shape))
            .field("rows", &self.rows)
            .field("device", &self.device)
            .finish()
    }
}

/// Divisors with their reciprocals, on a device: a division by one, or a product modulo one, takes
/// at most two further products.
///
/// [`new`](Self::new) makes one divisor for each row of a batch, [`splat`](Self::splat) one divisor
/// for all rows of any batch. No divisor is zero. A divisor takes about twice the memory of an
/// integer.
///
/// From 2^19 bits on, the first product modulo a divisor computes the reciprocal: it waits for the
/// lengths of the divisors, and keeps one or two integers more for each. The operations allocate
/// memory for intermediate results there: up to eight integers for each row, and those of products
/// of long rows.
///
/// ```
/// use gpuint::{Batch, Device, Divisor, Error, GpuUint};
/// use num_bigint::BigUint;
///
/// let device = Device::cpu();
/// let number = |n: u32| BigUint::from(n);
/// let u = Batch::<GpuUint<1024>>::from_biguints(&device, &[number(17), number(40)])?;
///
/// let seven = Divisor::splat(&device, &number(7))?;
/// assert_eq!(u.rem_by(&seven)?.to_biguints()?, [number(3), number(5)]);
///
/// let v = Batch::<GpuUint<1024>>::from_biguints(&device, &[number(5), number(0)])?;
/// assert_eq!(Divisor::new(&v).unwrap_err(), Error::DivisionByZero { row: 1 });
/// # Ok::<(), Error>(())
/// ```
pub struct Divisor<T: Kernels> {
    inner: DynDivisor,
    shape: PhantomData<T>,
}

impl<T: Kernels> Divisor<T> {
    /// Prepares each row of a batch as the divisor for the same row of other batches.
    ///
    /// # Errors
    /// [`DivisionByZero`](Error::DivisionByZero) with the lowest row that is zero, and what any
    /// operation may return: [`OutOfMemory`](Error::OutOfMemory),
    /// [`KernelMissing`](Error::KernelMissing), [`Compile`](Error::Compile),
    /// [`Driver`](Error::Driver).
    pub fn new(divisors: &Batch<T>) -> Result<Self> {
        divisors.prepare()
    }

    /// Prepares one divisor for all rows of any batch.
    ///
    /// # Errors
    /// [`DivisionByZero`](Error::DivisionByZero) (row 0), [`TooWide`](Error::TooWide) if the
    /// divisor needs more than `BITS` bits (row 0), and as [`new`](Self::new).
    pub fn splat(device: &Device, divisor: impl Value) -> Result<Self> {
        DynDivisor::splat(&device.of::<T>(), T::SHAPE, divisor).map(Self::typed)
    }

    /// Number of rows that have their own divisor; `None` for one divisor for all rows.
    #[must_use]
    pub fn rows(&self) -> Option<usize> {
        self.inner.rows()
    }

    /// Device of the divisors.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.inner.device()
    }

    /// Returns the divisors as a [`DynDivisor`], whose shape is a value.
    #[must_use]
    pub fn as_dyn(&self) -> &DynDivisor {
        &self.inner
    }

    pub(crate) fn typed(inner: DynDivisor) -> Self {
        Self { inner, shape: PhantomData }
    }
}

impl<T: Kernels> fmt::Debug for Divisor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
