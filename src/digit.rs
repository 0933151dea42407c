//! Digits: the machine words of a shape.

use std::fmt::{Debug, Display, LowerHex};
use std::hash::Hash;

use gpuint_catalogue::DigitKind;
use num_traits::{PrimInt, Unsigned, WrappingAdd, WrappingSub};

mod sealed {
    pub trait Sealed {}
}

/// The machine word of a shape: [`u16`], [`u32`] or [`u64`].
///
/// A row of a [`Batch`](crate::Batch) is an array of digits, least significant first; the base of
/// the shape is `B = 2^BITS`. This trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a digit",
    label = "a digit is u16, u32 or u64"
)]
pub trait Digit:
    sealed::Sealed
    + PrimInt
    + Unsigned
    + WrappingAdd
    + WrappingSub
    + bytemuck::Pod
    + Debug
    + Default
    + Display
    + Hash
    + LowerHex
    + Send
    + Sync
{
    /// The bits of a digit.
    const BITS: usize;
    /// The digit as a value.
    const KIND: DigitKind;
}

macro_rules! digit {
    ($($word:ty => $kind:ident),*) => {$(
        impl sealed::Sealed for $word {}
        impl Digit for $word {
            const BITS: usize = <$word>::BITS as usize;
            const KIND: DigitKind = DigitKind::$kind;
        }
        static_assertions::const_assert_eq!(<$word>::BITS as usize, DigitKind::$kind.bits());
    )*};
}
digit!(u16 => U16, u32 => U32, u64 => U64);
