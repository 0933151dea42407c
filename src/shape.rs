//! Shapes: types that give the width of the rows of a batch and the threads that share a row.
//!
//! A shape is a type, `GpuUint<BITS, Q, D>`, that implements [`Kernels`]. The build script expands
//! `kernels/catalogue.toml` into these implementations, so that a width that is not built fails in
//! `cargo check`, on the line that names it. [`JitUint`] implements it for all valid shapes.

use std::fmt;
use std::marker::PhantomData;

use gpuint_catalogue::{DigitKind, MAX_GROUP, MAX_LONG_BITS, MAX_Q, Shape};

use crate::digit::Digit;

/// A shape: integers of `BITS` bits in digits of type `D`, with `Q` digits per thread.
///
/// The type has no values; a [`Batch`](crate::Batch) holds the integers. An integer has `M = BITS /
/// D::BITS` digits, and a group of `M / Q` threads works on it.
pub struct GpuUint<const BITS: usize, const Q: usize = 4, D: Digit = u64>(PhantomData<D>);

impl<const BITS: usize, const Q: usize, D: Digit> fmt::Debug for GpuUint<BITS, Q, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuUint<{BITS}, {Q}, {}>", D::KIND)
    }
}

/// A shape that need not be built: as [`GpuUint`], with kernels that are compiled at first use.
///
/// At a built shape it has the embedded kernels. At others a GPU compiles each kernel by NVRTC at
/// its first use, and keeps it on disk ([`Device::with_jit`](crate::Device::with_jit)). The first
/// use takes seconds; later processes read the kernel from the disk. The CPU needs no kernels, and
/// neither do long shapes ([`Shape::is_long`]): above 2^20 bits, any multiple of 64 up to 2^31,
/// with `Q = 4` and `u64`.
/// [`gpu_uint!`](crate::gpu_uint) declares one with `jit` and checks it where it is declared.
///
/// The type of twice the width is [`Double`].
///
/// ```
/// use gpuint::{Batch, Device, Divisor, JitUint};
///
/// type U1280 = JitUint<1280>;
/// let a = Batch::<U1280>::splat(&Device::cpu(), 1 << 60, 3)?;
/// let n = Divisor::splat(a.device(), 1_000_000_007)?;
/// assert_eq!(a.pow_mod_all(2, &n)?.row(2)?, ((1u128 << 120) % 1_000_000_007).into());
/// # Ok::<(), gpuint::Error>(())
/// ```
pub struct JitUint<const BITS: usize, const Q: usize = 4, D: Digit = u64>(PhantomData<D>);

impl<const BITS: usize, const Q: usize, D: Digit> fmt::Debug for JitUint<BITS, Q, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JitUint<{BITS}, {Q}, {}>", D::KIND)
    }
}

/// The shape of twice the width of a [`JitUint`], or of another `Double`, and of this kind itself:
/// the type of its [`widening_mul`](crate::Batch::widening_mul). It has the same `Q`, or the lowest
/// `Q` with which at most [`MAX_GROUP`](crate::MAX_GROUP) threads share an integer. Above 2^20 bits
/// it is a long shape ([`Shape::is_long`]).
///
/// ```
/// use gpuint::{Batch, Device, Double, JitUint};
///
/// type U1280 = JitUint<1280>;
/// type U2560 = Double<U1280>;
/// let a = Batch::<U1280>::splat(&Device::cpu(), 3, 5)?.shl(1270)?;
/// let square: Batch<U2560> = a.widening_mul(&a)?;
/// assert_eq!(square.shr(2540)?.row(4)?, 9u32.into());
/// let (low, high) = square.split::<U1280>()?;
/// assert_eq!(low.join(&high)?.eq_mask(&square)?.count()?, 5);
/// # Ok::<(), gpuint::Error>(())
/// ```
///
/// A product of more than 2^31 bits does not compile:
///
/// ```compile_fail,E0080
/// # use gpuint::{Batch, Device, JitUint};
/// let a = Batch::<JitUint<2147483648>>::zeros(&Device::cpu(), 0)?;
/// let product = a.widening_mul(&a)?;
/// # Ok::<(), gpuint::Error>(())
/// ```
pub struct Double<T>(PhantomData<T>);

impl<T: sealed::Jit> fmt::Debug for Double<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { bits, q, digit } = <Self as Kernels>::SHAPE;
        write!(f, "JitUint<{bits}, {q}, {digit}>")
    }
}

pub(crate) mod sealed {
    pub trait Sealed {
        /// True if the shape may be one that is not built.
        const IS_JIT: bool = false;
    }

    /// A shape that need not be built.
    pub trait Jit: super::Kernels {}
}

impl<const BITS: usize, const Q: usize, D: Digit> sealed::Sealed for JitUint<BITS, Q, D> {
    const IS_JIT: bool = true;
}

impl<const BITS: usize, const Q: usize, D: Digit> sealed::Jit for JitUint<BITS, Q, D> {}

impl<T: sealed::Jit> sealed::Sealed for Double<T> {
    const IS_JIT: bool = true;
}

impl<T: sealed::Jit> sealed::Jit for Double<T> {}

/// Number of digits as a type, so that the compiler checks relations between widths.
pub(crate) trait Counted {
    type Digits: typenum::Unsigned;
}

/// Implements [`Kernels`] for one shape, whose kernels have `threads_q` digits per thread.
macro_rules! built {
    ($bits:literal, $q:literal, $digit:ty, $digits:ty, $threads_q:literal) => {
        impl $crate::shape::sealed::Sealed for $crate::GpuUint<$bits, $q, $digit> {}
        impl $crate::shape::Counted for $crate::GpuUint<$bits, $q, $digit> {
            type Digits = $digits;
        }
        #[diagnostic::do_not_recommend]
        impl $crate::Kernels for $crate::GpuUint<$bits, $q, $digit> {
            type Digit = $digit;
            const BITS: usize = $bits;
            const Q: usize = $threads_q;
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

/// Implements [`Widen`] for one shape of the catalogue whose double is also in it.
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

/// Generated by the build script from `kernels/catalogue.toml`.
mod catalogue {
    include!(concat!(env!("OUT_DIR"), "/shapes.rs"));
}
pub(crate) use catalogue::SHAPES;
use catalogue::{WIDTHS, with_catalogue_notes};

with_catalogue_notes! {
    /// A shape that has kernels.
    ///
    /// Implemented for the shapes of the catalogue that this crate was built with; [`shapes`] lists
    /// them. To build others, set `GPUINT_SHAPES="BITS:Q:DIGIT,..."` where this crate is compiled,
    /// for example in `.cargo/config.toml`:
    ///
    /// ```toml
    /// [env]
    /// GPUINT_SHAPES = "12288:4:u64,24576:4:u64"
    /// ```
    ///
    /// `BITS` must be a multiple of `Q` digits, and at most [`MAX_GROUP`](crate::MAX_GROUP) threads
    /// (`BITS / digit bits / Q`) may share a row. This trait is sealed.
    pub trait Kernels: sealed::Sealed + Send + Sync + 'static {
        /// The machine word.
        type Digit: Digit;
        /// Width of an integer in bits.
        const BITS: usize;
        /// Digits per thread: the `Q` of the type, or more for `Q = 4` at widths where
        /// [`MAX_GROUP`](crate::MAX_GROUP) threads of 4 digits do not hold a row.
        const Q: usize;
        /// Number of bits of a digit.
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

#[diagnostic::do_not_recommend]
impl<const BITS: usize, const Q: usize, D: Digit> Kernels for JitUint<BITS, Q, D> {
    type Digit = D;
    const BITS: usize = BITS;
    const Q: usize = Q;
    const SHAPE: Shape = checked(Shape { bits: BITS, q: Q, digit: D::KIND });
}

#[diagnostic::do_not_recommend]
impl<T: sealed::Jit> Kernels for Double<T> {
    type Digit = T::Digit;
    const BITS: usize = 2 * T::BITS;
    const Q: usize = match Shape::long(Self::BITS) {
        Some(Shape { bits, q, .. }) if bits == Self::BITS => q,
        _ => {
            let mut shape = Shape { bits: Self::BITS, ..T::SHAPE };
            while shape.q < MAX_Q && !shape.is_valid() {
                shape.q += 1;
            }
            shape.q
        }
    };
    const SHAPE: Shape =
        checked(Shape { bits: Self::BITS, q: Self::Q, digit: <T::Digit as Digit>::KIND });
}

// Not for every type of the kind: the compiler's message for a `GpuUint` would name `Double`.
#[diagnostic::do_not_recommend]
impl<const BITS: usize, const Q: usize, D: Digit> Widen for JitUint<BITS, Q, D> {
    type Wide = Double<Self>;
}

#[diagnostic::do_not_recommend]
impl<T: sealed::Jit> Widen for Double<T> {
    type Wide = Double<Self>;
}

/// Returns the shape of a type; the type does not compile if it is not valid.
const fn checked(shape: Shape) -> Shape {
    assert!(
        shape.bits <= MAX_LONG_BITS && shape.q <= MAX_Q && shape.is_valid(),
        "BITS must be a positive multiple of Q times the bits of a digit, and BITS / digit bits / \
         Q, the threads of an integer, at most 1024; above 2^20, a multiple of 64 up to 2^31, with \
         Q = 4 and u64"
    );
    shape
}

/// A shape whose double width is also built: [`widening_mul`](crate::Batch::widening_mul) returns
/// rows of that width.
#[diagnostic::on_unimplemented(
    message = "the product of two `{Self}` has no kernels of its own width",
    label = "twice this width is not built",
    note = "`mul_lo_hi` returns the two halves of the product, each as wide as its factors",
    note = "to build the double width, add it to GPUINT_SHAPES=\"BITS:Q:DIGIT,...\" (same Q and \
            digit) where gpuint is compiled"
)]
pub trait Widen: Kernels {
    /// The shape of `2 * BITS` bits.
    type Wide: Kernels<Digit = Self::Digit>;
}

/// Returns the shapes that have kernels, in the order of the catalogue. Above 2^20 bits, every
/// multiple of 64 up to 2^31 is a shape, too: [`Shape::is_long`].
#[must_use]
pub fn shapes() -> &'static [Shape] {
    SHAPES
}

/// Returns the narrowest width of at least `bits` bits that [`GpuUint`] has with these digits; see
/// [`gpu_uint!`](crate::gpu_uint).
#[doc(hidden)]
#[must_use]
pub const fn built_bits(bits: usize, q: usize, digit: DigitKind) -> usize {
    let mut narrowest = usize::MAX;
    let mut index = 0;
    while index < SHAPES.len() {
        let shape = SHAPES[index];
        // A type whose groups were too large has more digits per thread (`Shape::select`).
        let is_named = shape.q == q || shape.digits() / q > MAX_GROUP;
        let is_digit = shape.digit as usize == digit as usize;
        if is_digit && is_named && shape.bits >= bits && shape.bits < narrowest {
            narrowest = shape.bits;
        }
        index += 1;
    }
    assert!(narrowest < usize::MAX, "no built width has at least this many bits");
    narrowest
}

/// Returns the shape with kernels that a shape selects, as [`Shape::select`].
pub(crate) fn selected(shape: Shape) -> Option<Shape> {
    shape.select(SHAPES.iter().copied())
}

/// Returns true if the shape has kernels.
pub(crate) fn is_built(shape: Shape) -> bool {
    SHAPES.contains(&shape)
}

/// Returns the narrowest shape that holds integers of `bits` bits; `None` above 2^31 bits. Of the
/// shapes of one width it selects 64-bit digits and the `Q` nearest to 4. Beyond the widths that
/// are built it is a long shape ([`Shape::is_long`]).
///
/// ```
/// use gpuint::narrowest;
///
/// assert_eq!(narrowest(1025).unwrap().bits, 1536);
/// assert_eq!(narrowest((1 << 24) + 1).unwrap().bits, (1 << 24) + 64);
/// assert_eq!(narrowest((1 << 31) + 1), None);
/// ```
#[must_use]
pub fn narrowest(bits: usize) -> Option<Shape> {
    narrowest_built(bits).or_else(|| Shape::long(bits))
}

/// Returns the narrowest built shape that holds integers of `bits` bits.
pub(crate) fn narrowest_built(bits: usize) -> Option<Shape> {
    WIDTHS.get(WIDTHS.partition_point(|shape| shape.bits < bits)).copied()
}

/// Returns the widths that are built, narrowest first, each as the shape that [`narrowest`] selects
/// for it. Above 2^20 bits, every multiple of 64 up to 2^31 is a width, too: [`Shape::is_long`].
///
/// ```
/// use gpuint::{narrowest, widths};
///
/// assert_eq!(widths().next(), narrowest(0));
/// assert!(widths().all(|shape| narrowest(shape.bits) == Some(shape)));
/// ```
pub fn widths() -> impl Iterator<Item = Shape> {
    WIDTHS.iter().copied()
}

/// The type that a declaration of `N bits` names: [`GpuUint`], or [`JitUint`] where the shape is
/// long.
#[doc(hidden)]
#[derive(Debug)]
pub struct Declared<const BITS: usize, const Q: usize, D: Digit, const IS_LONG: bool>(
    PhantomData<D>,
);

#[doc(hidden)]
pub trait Named {
    type Shape;
}

impl<const BITS: usize, const Q: usize, D: Digit> Named for Declared<BITS, Q, D, false> {
    type Shape = GpuUint<BITS, Q, D>;
}

impl<const BITS: usize, const Q: usize, D: Digit> Named for Declared<BITS, Q, D, true> {
    type Shape = JitUint<BITS, Q, D>;
}

/// Declares a name for a shape, and checks it at compile time.
///
/// | declaration of `N bits` | the type |
/// |---|---|
/// | `= N bits` | [`GpuUint`]; a compile error with the list of widths if the width is not built |
/// | `= N bits` above 2^20 | [`JitUint`] of a long shape: any multiple of 64 up to 2^31 |
/// | `= at least N bits` | [`GpuUint`] of the narrowest built width of at least `N` bits |
/// | `= N bits, jit` | [`JitUint`]; kernels that are not built are compiled at first use |
///
/// `, Q = 4, u64` may follow `bits`, and is the default.
///
/// ```
/// gpuint::gpu_uint!(pub type U2048 = 2048 bits, Q = 4, u64);
/// gpuint::gpu_uint!(type U1024 = 1024 bits);
/// gpuint::gpu_uint!(type Rounded = at least 1280 bits);
/// gpuint::gpu_uint!(type Exact = 1280 bits, jit);
/// gpuint::gpu_uint!(type Long = 16777216 bits);
/// # fn main() {
/// use gpuint::Kernels;
/// assert_eq!(U2048::DIGITS + U1024::DIGITS, 48);
/// assert_eq!((Rounded::BITS, Exact::BITS), (1536, 1280));
/// assert!(Long::SHAPE.is_long());
/// # }
/// ```
///
/// A declaration that cannot be met does not compile:
///
/// ```compile_fail
/// gpuint::gpu_uint!(type TooManyThreads = 1000000 bits, Q = 1, u64, jit);
/// ```
#[macro_export]
macro_rules! gpu_uint {
    ($(#[$meta:meta])* $vis:vis type $name:ident = $bits:literal bits) => {
        $crate::gpu_uint!($(#[$meta])* $vis type $name = $bits bits, Q = 4, u64);
    };
    (
        $(#[$meta:meta])*
        $vis:vis type $name:ident = $bits:literal bits, Q = $q:literal, $digit:ty
    ) => {
        $(#[$meta])*
        $vis type $name = <$crate::Declared<$bits, $q, $digit, { $bits > $crate::MAX_BITS }> as
            $crate::Named>::Shape;
        const _: $crate::Shape = <$name as $crate::Kernels>::SHAPE;
    };
    ($(#[$meta:meta])* $vis:vis type $name:ident = at least $bits:literal bits) => {
        $crate::gpu_uint!($(#[$meta])* $vis type $name = at least $bits bits, Q = 4, u64);
    };
    (
        $(#[$meta:meta])* $vis:vis type $name:ident = at least $bits:literal bits,
        Q = $q:literal, $digit:ty
    ) => {
        $(#[$meta])*
        $vis type $name = $crate::GpuUint<
            { $crate::built_bits($bits, $q, <$digit as $crate::Digit>::KIND) },
            $q,
            $digit,
        >;
        const _: usize = <$name as $crate::Kernels>::DIGITS;
    };
    ($(#[$meta:meta])* $vis:vis type $name:ident = $bits:literal bits, jit) => {
        $crate::gpu_uint!($(#[$meta])* $vis type $name = $bits bits, Q = 4, u64, jit);
    };
    (
        $(#[$meta:meta])* $vis:vis type $name:ident = $bits:literal bits,
        Q = $q:literal, $digit:ty, jit
    ) => {
        $(#[$meta])*
        $vis type $name = $crate::JitUint<$bits, $q, $digit>;
        const _: $crate::Shape = <$name as $crate::Kernels>::SHAPE;
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowest_width_is_that_of_a_search_in_all_shapes() {
        for &Shape { bits: width, .. } in SHAPES {
            for bits in [0, width - 1, width, width + 1] {
                let searched = Shape::narrowest(bits, SHAPES.iter().copied());
                assert_eq!(narrowest_built(bits), searched, "{bits} bits");
            }
        }
    }
}
