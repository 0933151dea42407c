//! The machine words that kernels work in.

use std::fmt::{self, Debug, Display, LowerHex};
use std::hash::Hash;

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

/// Which machine word a shape works in, as a value: the run-time twin of [`Digit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DigitKind {
    /// 16-bit digits.
    U16,
    /// 32-bit digits.
    U32,
    /// 64-bit digits.
    U64,
}

impl DigitKind {
    /// The bits of a digit.
    #[must_use]
    pub const fn bits(self) -> usize {
        match self {
            Self::U16 => 16,
            Self::U32 => 32,
            Self::U64 => 64,
        }
    }

    /// The Rust name of the type: `u16`, `u32` or `u64`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
        }
    }
}

impl Display for DigitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
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
