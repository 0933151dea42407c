//! Numbers as arguments.

use std::borrow::Cow;

use num_bigint::BigUint;

mod sealed {
    pub trait Sealed {}
    impl Sealed for &num_bigint::BigUint {}
    impl Sealed for u64 {}
}

/// One number for all rows: a reference to a `BigUint`, or a `u64`. Sealed.
///
/// ```
/// use gpuint::{Batch, Device, GpuUint};
/// use gpuint::num_bigint::BigUint;
///
/// let device = Device::cpu();
/// let a = Batch::<GpuUint<1024>>::splat(&device, 40, 3)?;
/// assert_eq!(a.wrapping_add_all(2)?.row(1)?, BigUint::from(42u32));
/// assert_eq!(a.wrapping_add_all(&BigUint::from(2u32))?.row(1)?, BigUint::from(42u32));
/// # Ok::<(), gpuint::Error>(())
/// ```
pub trait Value: sealed::Sealed {
    #[doc(hidden)]
    fn integer<'a>(self) -> Cow<'a, BigUint>
    where
        Self: 'a;
}

impl Value for &BigUint {
    fn integer<'a>(self) -> Cow<'a, BigUint>
    where
        Self: 'a,
    {
        Cow::Borrowed(self)
    }
}

impl Value for u64 {
    fn integer<'a>(self) -> Cow<'a, BigUint> {
        Cow::Owned(BigUint::from(self))
    }
}
