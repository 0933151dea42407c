//! Shapes: the types that say how wide the rows of a batch are and how a kernel cuts them up.
//!
//! A shape is a type, `GpuUint<BITS, Q, D>`, that has kernels: it implements [`Kernels`]. Which
//! shapes do is written in `kernels/catalogue.toml` and expanded by `build.rs`, so that a width
//! nobody built fails in `cargo check`, on the line that asks for it.

use std::fmt;
use std::marker::PhantomData;

use gpuint_catalogue::Shape;

use crate::digit::Digit;

/// A shape: integers of `BITS` bits in digits of type `D`, `Q` digits a thread.
///
/// This is a name for a kind of integer, never a value; [`Batch`](crate::Batch) holds the values.
/// `BITS / D::BITS` digits (`M`) make an integer, and a group of `M / Q` threads works on one.
pub struct GpuUint<const BITS: usize, const Q: usize = 4, D: Digit = u64>(PhantomData<D>);

impl<const BITS: usize, const Q: usize, D: Digit> fmt::Debug for GpuUint<BITS, Q, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuUint<{BITS}, {Q}, {}>", D::KIND)
    }
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// The digits of a shape as a type, so that relations between widths are checked as types.
pub(crate) trait Counted {
    type Digits: typenum::Unsigned;
}

/// Implements [`Kernels`] for one shape of the catalogue.
macro_rules! built {
    ($bits:literal, $q:literal, $digit:ty, $digits:ty) => {
        impl $crate::shape::sealed::Sealed for $crate::GpuUint<$bits, $q, $digit> {}
        impl $crate::shape::Counted for $crate::GpuUint<$bits, $q, $digit> {
            type Digits = $digits;
        }
        #[diagnostic::do_not_recommend]
        impl $crate::Kernels for $crate::GpuUint<$bits, $q, $digit> {
            type Digit = $digit;
            const BITS: usize = $bits;
            const Q: usize = $q;
        }
        static_assertions::const_assert!(
            <$crate::GpuUint<$bits, $q, $digit> as $crate::Kernels>::SHAPE.is_valid()
        );
        static_assertions::const_assert_eq!(
            <$crate::GpuUint<$bits, $q, $digit> as $crate::Kernels>::DIGITS,
            <$digits as typenum::Unsigned>::USIZE
        );
    };
}

/// Implements [`Widen`] for one shape of the catalogue whose double is in it too.
macro_rules! widened {
    ($bits:literal => $wide:literal, $q:literal, $digit:ty) => {
        #[diagnostic::do_not_recommend]
        impl $crate::Widen for $crate::GpuUint<$bits, $q, $digit> {
            type Wide = $crate::GpuUint<$wide, $q, $digit>;
        }
        static_assertions::assert_type_eq_all!(
            typenum::Double<
                <$crate::GpuUint<$bits, $q, $digit> as $crate::shape::Counted>::Digits,
            >,
            <$crate::GpuUint<$wide, $q, $digit> as $crate::shape::Counted>::Digits
        );
    };
}

/// Written by `build.rs` from `kernels/catalogue.toml`.
mod catalogue {
    include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));
}
pub(crate) use catalogue::SHAPES;
use catalogue::with_catalogue_notes;
pub(crate) use catalogue::{INDEX, OTHER_BLOCKS, ROWS, SHARED_BYTES};

with_catalogue_notes! {
    /// A shape that has kernels.
    ///
    /// Implemented for the shapes of the catalogue that this crate was built with; [`shapes`]
    /// lists them. To build others, set `GPUINT_SHAPES="BITS:Q:DIGIT,..."` where this crate is
    /// compiled, for example in `.cargo/config.toml`:
    ///
    /// ```toml
    /// [env]
    /// GPUINT_SHAPES = "12288:4:u64,24576:4:u64"
    /// ```
    ///
    /// `BITS` must be a multiple of `Q` times the bits of a digit, with at most [`MAX_GROUP`](crate::MAX_GROUP)
    /// threads (`BITS / digit bits / Q`). This trait is sealed.
    pub trait Kernels: sealed::Sealed + Send + Sync + 'static {
        /// The machine word.
        type Digit: Digit;
        /// The width of an integer.
        const BITS: usize;
        /// Digits per thread.
        const Q: usize;
        /// The bits of a digit.
        const DIGIT_BITS: usize = <Self::Digit as Digit>::BITS;
        /// Digits per integer (`M`).
        const DIGITS: usize = Self::BITS / Self::DIGIT_BITS;
        /// The shape as a value.
        const SHAPE: Shape = Shape {
            bits: Self::BITS,
            q: Self::Q,
            digit: <Self::Digit as Digit>::KIND,
        };
    }
}

/// A shape whose double width is built too: what [`widening_mul`](crate::Batch::widening_mul)
/// returns.
#[diagnostic::on_unimplemented(
    message = "the product of two `{Self}` has no kernels of its own width",
    label = "twice this width is not built",
    note = "`mul_lo_hi` returns the two halves of the product, each as wide as its factors",
    note = "to build the double width, add it to GPUINT_SHAPES=\"BITS:Q:DIGIT,...\" (same Q and digit) where gpuint is compiled"
)]
pub trait Widen: Kernels {
    /// The shape of `2 * BITS` bits.
    type Wide: Kernels<Digit = Self::Digit>;
}

/// The shapes that have kernels, in the order of the catalogue.
#[must_use]
pub fn shapes() -> &'static [Shape] {
    SHAPES
}

/// Returns true if the shape has kernels.
pub(crate) fn is_built(shape: Shape) -> bool {
    SHAPES.contains(&shape)
}

/// Returns the shape of the narrowest width that holds integers of `bits` bits; `None` where no width
/// does. Of the shapes of one width it is the one with 64-bit digits and the `Q` nearest to 4.
///
/// ```
/// use gpuint::narrowest;
///
/// assert_eq!(narrowest(1025).unwrap().bits, 1536);
/// assert_eq!(narrowest(1 << 30), None);
/// ```
#[must_use]
pub fn narrowest(bits: usize) -> Option<Shape> {
    let wide_enough = SHAPES.iter().copied().filter(|shape| shape.bits >= bits);
    wide_enough.min_by_key(|shape| {
        (shape.bits, std::cmp::Reverse(shape.digit.bits()), shape.q.abs_diff(4))
    })
}

/// Declares a name for a shape, and checks at the declaration that it is built.
///
/// ```
/// gpuint::gpu_uint!(pub type U2048 = 2048 bits, Q = 4, u64);
/// gpuint::gpu_uint!(type U1024 = 1024 bits); // Q = 4 and u64 where nothing is said
/// # fn main() {
/// use gpuint::Kernels;
/// assert_eq!(U2048::DIGITS + U1024::DIGITS, 48);
/// # }
/// ```
#[macro_export]
macro_rules! gpu_uint {
    ($(#[$meta:meta])* $vis:vis type $name:ident = $bits:literal bits) => {
        $crate::gpu_uint!($(#[$meta])* $vis type $name = $bits bits, Q = 4, u64);
    };
    ($(#[$meta:meta])* $vis:vis type $name:ident = $bits:literal bits, Q = $q:literal, $digit:ty) => {
        $(#[$meta])*
        $vis type $name = $crate::GpuUint<$bits, $q, $digit>;
        const _: usize = <$name as $crate::Kernels>::DIGITS;
    };
}
