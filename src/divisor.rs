//! Prepared divisors: what is computed once and used by many divisions.

use std::fmt;
use std::marker::PhantomData;

use num_bigint::BigUint;
use num_traits::Zero;

use gpuint_catalogue::Op;

use crate::backend::{Buffer, Operands, Params};
use crate::batch::Batch;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::shape::Kernels;
use crate::strategy::Strategy;

/// Divisors on a device, prepared: the reciprocal of each is computed once, and divisions by them
/// and products modulo them take no more than two products each.
///
/// Either one divisor for each row, from a batch ([`new`](Self::new)), or one for all rows of any
/// batch ([`splat`](Self::splat)). No divisor is zero. A divisor takes about twice the memory of
/// an integer (`kernels/div/prepare.cuh`).
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
    device: Device,
    prepared: Buffer,
    /// `None`: one for all rows.
    rows: Option<usize>,
    shape: PhantomData<T>,
}

impl<T: Kernels> Divisor<T> {
    /// Prepares the rows of a batch, each for the same row of other batches: nothing wraps.
    ///
    /// # Errors
    /// [`DivisionByZero`](Error::DivisionByZero) with the lowest row that is zero, and what any
    /// operation may return: [`OutOfMemory`](Error::OutOfMemory),
    /// [`KernelMissing`](Error::KernelMissing), [`Compile`](Error::Compile),
    /// [`Driver`](Error::Driver).
    pub fn new(divisors: &Batch<T>) -> Result<Self> {
        Self::prepare(divisors, Some(divisors.len()))
    }

    /// Prepares one divisor for all rows of any batch: nothing wraps.
    ///
    /// # Errors
    /// [`DivisionByZero`](Error::DivisionByZero) (row 0), [`TooWide`](Error::TooWide) where it
    /// needs more than `BITS` bits (row 0), and as [`new`](Self::new).
    pub fn splat(device: &Device, divisor: &BigUint) -> Result<Self> {
        if divisor.is_zero() {
            return Err(Error::DivisionByZero { row: 0 });
        }
        Self::prepare(&Batch::splat(device, divisor, 1)?, None)
    }

    /// The number of rows that these divisors are for; `None` where there is one for all rows.
    #[must_use]
    pub fn rows(&self) -> Option<usize> {
        self.rows
    }

    /// The device that the divisors live on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn prepare(divisors: &Batch<T>, rows: Option<usize>) -> Result<Self> {
        let device = divisors.device();
        let mut prepared = device.alloc_rows(divisors.len(), T::SHAPE.prepared_bytes())?;
        let operands = Operands {
            ins: [Some(divisors.buffer()), None, None],
            outs: [Some(&mut prepared), None],
            rows: divisors.len(),
            ..Operands::default()
        };
        let kernel = divisors.kernel(Op::Prepare, Strategy::Auto)?;
        match device.launch_checked(kernel, operands)? {
            None => Ok(Self { device: device.clone(), prepared, rows, shape: PhantomData }),
            Some(row) => Err(Error::DivisionByZero { row }),
        }
    }
}

/// For the operations.
impl<T: Kernels> Divisor<T> {
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.prepared
    }

    /// The parameters of a call with these divisors.
    pub(crate) fn params(&self) -> Params {
        Params { broadcast_divisor: self.rows.is_none(), ..Params::default() }
    }
}

impl<T: Kernels> fmt::Debug for Divisor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Divisor")
            .field("shape", &T::SHAPE)
            .field("rows", &self.rows)
            .field("device", &self.device)
            .finish()
    }
}
