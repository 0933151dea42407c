//! The public methods of operations, declared once for all types that have them.

use std::cmp::Ordering;
use std::ops::Range;

use num_bigint::BigUint;

use crate::batch::Batch;
use crate::divisor::{Divisor, DynDivisor};
use crate::dyn_batch::DynBatch;
use crate::factor::{DynFactor, Factor};
use crate::mask::Mask;
use crate::shape::Kernels;
use crate::typed::{Typed, Untyped};
use crate::words::Words;

impl<'a, T: Kernels> Untyped for &'a Divisor<T> {
    type Dyn = &'a DynDivisor;
    fn untyped(self) -> &'a DynDivisor {
        self.as_dyn()
    }
}

impl<'a, T: Kernels> Untyped for &'a Factor<T> {
    type Dyn = &'a DynFactor;
    fn untyped(self) -> &'a DynFactor {
        self.as_dyn()
    }
}

impl<T: Kernels> Typed<DynBatch> for Batch<T> {
    fn typed(untyped: DynBatch) -> Self {
        Self::typed(untyped)
    }
}

impl<T: Kernels> Typed<DynDivisor> for Divisor<T> {
    fn typed(untyped: DynDivisor) -> Self {
        Self::typed(untyped)
    }
}

impl<T: Kernels> Typed<(DynBatch, DynBatch)> for (Batch<T>, Batch<T>) {
    fn typed((first, second): (DynBatch, DynBatch)) -> Self {
        (Batch::typed(first), Batch::typed(second))
    }
}

impl<T: Kernels> Typed<(DynDivisor, Mask)> for (Divisor<T>, Mask) {
    fn typed((divisor, mask): (DynDivisor, Mask)) -> Self {
        (Divisor::typed(divisor), mask)
    }
}

impl<T: Kernels> Typed<(DynBatch, Mask)> for (Batch<T>, Mask) {
    fn typed((rows, mask): (DynBatch, Mask)) -> Self {
        (Batch::typed(rows), mask)
    }
}

impl<T: Kernels> Typed<(DynBatch, DynBatch, Mask, Mask)> for (Batch<T>, Batch<T>, Mask, Mask) {
    fn typed((a, b, first, second): (DynBatch, DynBatch, Mask, Mask)) -> Self {
        (Batch::typed(a), Batch::typed(b), first, second)
    }
}

impl<T: Kernels> Typed<(DynBatch, Words)> for (Batch<T>, Words) {
    fn typed((rows, words): (DynBatch, Words)) -> Self {
        (Batch::typed(rows), words)
    }
}

impl<T: Kernels> Typed<(DynBatch, Vec<u64>)> for (Batch<T>, Vec<u64>) {
    fn typed((rows, words): (DynBatch, Vec<u64>)) -> Self {
        (Batch::typed(rows), words)
    }
}

impl<T: Kernels> Typed<(DynBatch, DynBatch, DynBatch, Mask)>
    for (Batch<T>, Batch<T>, Batch<T>, Mask)
{
    fn typed((a, b, c, mask): (DynBatch, DynBatch, DynBatch, Mask)) -> Self {
        (Batch::typed(a), Batch::typed(b), Batch::typed(c), mask)
    }
}

impl<T: Kernels> Typed<(DynBatch, DynBatch, Mask)> for (Batch<T>, Batch<T>, Mask) {
    fn typed((first, second, mask): (DynBatch, DynBatch, Mask)) -> Self {
        (Batch::typed(first), Batch::typed(second), mask)
    }
}

macro_rules! shapeless {
    (arguments: $($argument:ty),*; results: $($result:ty),*) => {
        $(impl Untyped for $argument {
            type Dyn = Self;
            fn untyped(self) -> Self {
                self
            }
        })*
        $(impl Typed<$result> for $result {
            fn typed(untyped: Self) -> Self {
                untyped
            }
        })*
    };
}
shapeless! {
    arguments: usize, u64, &[usize], &[BigUint], Range<usize>, &Mask, &mut Mask, &mut Words,
        &mut [u64], &mut [Ordering];
    results: (), bool, BigUint, Mask, Words, Vec<u64>, Vec<usize>, Vec<i8>, Vec<Ordering>
}

/// Maps a type of a declaration to the type in `DynBatch`.
macro_rules! dyn_type {
    (Rows) => {
        &crate::DynBatch
    };
    (Out) => {
        &mut crate::DynBatch
    };
    (Divisor) => {
        &crate::DynDivisor
    };
    (Factor) => {
        &crate::DynFactor
    };
    (NewDivisor) => {
        crate::DynDivisor
    };
    (NewDivisorAndMask) => {
        (crate::DynDivisor, crate::Mask)
    };
    (New) => {
        crate::DynBatch
    };
    (NewPair) => {
        (crate::DynBatch, crate::DynBatch)
    };
    (NewAndMask) => {
        (crate::DynBatch, crate::Mask)
    };
    (NewAndWords) => {
        (crate::DynBatch, Vec<u64>)
    };
    (NewAndRemainders) => {
        (crate::DynBatch, crate::Words)
    };
    (NewPairAndMask) => {
        (crate::DynBatch, crate::DynBatch, crate::Mask)
    };
    (NewPairAndMasks) => {
        (crate::DynBatch, crate::DynBatch, crate::Mask, crate::Mask)
    };
    (NewTripleAndMask) => {
        (crate::DynBatch, crate::DynBatch, crate::DynBatch, crate::Mask)
    };
    (Residue) => {
        &crate::DynResidues
    };
    (OutResidues) => {
        &mut crate::DynResidues
    };
    (NewResidues) => {
        crate::DynResidues
    };
    (SignedRows) => {
        &crate::DynSignedBatch
    };
    (NewSigned) => {
        crate::DynSignedBatch
    };
    (NewSignedAndMask) => {
        (crate::DynSignedBatch, crate::Mask)
    };
    (NewSignedPair) => {
        (crate::DynSignedBatch, crate::DynSignedBatch)
    };
    (NewAndSignedPair) => {
        (crate::DynBatch, crate::DynSignedBatch, crate::DynSignedBatch)
    };
    ($other:ident) => {
        crate::ops::faces::shapeless_type!($other)
    };
}

/// Maps a type of a declaration to the type in a batch of shape `T`.
macro_rules! typed_type {
    (Rows) => { &crate::Batch<T> };
    (Out) => { &mut crate::Batch<T> };
    (Divisor) => { &crate::Divisor<T> };
    (Factor) => { &crate::Factor<T> };
    (NewDivisor) => { crate::Divisor<T> };
    (NewDivisorAndMask) => { (crate::Divisor<T>, crate::Mask) };
    (New) => { crate::Batch<T> };
    (NewPair) => { (crate::Batch<T>, crate::Batch<T>) };
    (NewAndMask) => { (crate::Batch<T>, crate::Mask) };
    (NewAndWords) => { (crate::Batch<T>, Vec<u64>) };
    (NewAndRemainders) => { (crate::Batch<T>, crate::Words) };
    (NewPairAndMask) => { (crate::Batch<T>, crate::Batch<T>, crate::Mask) };
    (NewPairAndMasks) => { (crate::Batch<T>, crate::Batch<T>, crate::Mask, crate::Mask) };
    (NewTripleAndMask) => {
        (crate::Batch<T>, crate::Batch<T>, crate::Batch<T>, crate::Mask)
    };
    (Residue) => { &crate::Residues<T> };
    (OutResidues) => { &mut crate::Residues<T> };
    (NewResidues) => { crate::Residues<T> };
    (SignedRows) => { &crate::SignedBatch<T> };
    (NewSigned) => { crate::SignedBatch<T> };
    (NewSignedAndMask) => { (crate::SignedBatch<T>, crate::Mask) };
    (NewSignedPair) => { (crate::SignedBatch<T>, crate::SignedBatch<T>) };
    (NewAndSignedPair) => { (crate::Batch<T>, crate::SignedBatch<T>, crate::SignedBatch<T>) };
    ($other:ident) => { crate::ops::faces::shapeless_type!($other) };
}

/// Maps a type of a declaration that has no shape.
macro_rules! shapeless_type {
    (Count) => { usize };
    (Steps) => { usize };
    (Word) => { u64 };
    (Counts) => { &[usize] };
    (RowRange) => { std::ops::Range<usize> };
    (Number) => { impl crate::Value };
    (Numbers) => { &[num_bigint::BigUint] };
    (InMask) => { &crate::Mask };
    (OutMask) => { &mut crate::Mask };
    (OutWords) => { &mut [u64] };
    (OutRemainders) => { &mut crate::Words };
    (OutOrders) => { &mut [std::cmp::Ordering] };
    (Nothing) => { () };
    (NewMask) => { crate::Mask };
    (NewNumber) => { num_bigint::BigUint };
    (IsTrue) => { bool };
    (Words) => { Vec<u64> };
    (NewRemainders) => { crate::Words };
    (Indices) => { Vec<usize> };
    (Signs) => { Vec<i8> };
    (Orders) => { Vec<std::cmp::Ordering> };
}

/// An argument of a batch whose shape is a value, for its view.
macro_rules! passed {
    (Number, $arg:ident) => {
        &*crate::Value::integer($arg)
    };
    ($kind:ident, $arg:ident) => {
        $arg
    };
}

/// An argument of a batch of shape `T`, for its view.
macro_rules! untyped {
    (Number, $arg:ident) => {
        &*crate::Value::integer($arg)
    };
    ($kind:ident, $arg:ident) => {
        crate::typed::Untyped::untyped($arg)
    };
}

/// Methods over a shape that is a value; each calls the method of the same name of `self.$inner()`.
macro_rules! dyn_methods {
    (
        $inner:ident;
        $($(#[$meta:meta])* fn $name:ident($($arg:ident: $kind:ident),*) -> $result:ident;)*
    ) => {
        $($(#[$meta])*
        pub fn $name(
            &self,
            $($arg: crate::ops::faces::dyn_type!($kind)),*
        ) -> crate::Result<crate::ops::faces::dyn_type!($result)> {
            self.$inner().$name($(crate::ops::faces::passed!($kind, $arg)),*)
        })*
    };
}

/// The methods of [`dyn_methods`] over a typed shape, where the bounds in brackets hold.
macro_rules! typed_methods {
    (
        $inner:ident, $bounds:tt;
        $($(#[$meta:meta])* fn $name:ident($($arg:ident: $kind:ident),*) -> $result:ident;)*
    ) => {
        $(crate::ops::faces::typed_method! {
            $inner, $bounds; $(#[$meta])* fn $name($($arg: $kind),*) -> $result;
        })*
    };
}

/// One of [`typed_methods`].
macro_rules! typed_method {
    (
        $inner:ident, [$($bounds:tt)*];
        $(#[$meta:meta])* fn $name:ident($($arg:ident: $kind:ident),*) -> $result:ident;
    ) => {
        $(#[$meta])*
        pub fn $name(
            &self,
            $($arg: crate::ops::faces::typed_type!($kind)),*
        ) -> crate::Result<crate::ops::faces::typed_type!($result)>
        where
            $($bounds)*
        {
            let result = self.$inner().$name($(crate::ops::faces::untyped!($kind, $arg)),*);
            result.map(crate::typed::Typed::typed)
        }
    };
}

/// Declares methods of batches: `faces!(title; fn name(argument: Type, ..) -> Type; ..)`; with
/// `by Mult` or `by Division` before the title, of the views through a strategy, too. The types are
/// names of `dyn_type` and `typed_type`.
macro_rules! faces {
    (by $strategy:ident, $title:literal; $($methods:tt)*) => {
        crate::ops::faces::faces! { $title; $($methods)* }

        #[doc = concat!("# ", $title)]
        impl crate::DynUsing<'_> {
            crate::ops::faces::dyn_methods! { view; $($methods)* }
        }

        #[doc = concat!("# ", $title)]
        impl<T: crate::Kernels, S: crate::strategy::sealed::Sealed> crate::Using<'_, T, S> {
            crate::ops::faces::typed_methods! { view, [S: crate::$strategy<T>]; $($methods)* }
        }
    };
    ($title:literal; $($methods:tt)*) => {
        #[doc = concat!("# ", $title)]
        impl crate::DynBatch {
            crate::ops::faces::dyn_methods! { view; $($methods)* }
        }

        #[doc = concat!("# ", $title)]
        impl<T: crate::Kernels> crate::Batch<T> {
            crate::ops::faces::typed_methods! { view, []; $($methods)* }
        }
    };
}

/// Declares methods of residues, as [`faces`] does those of batches.
macro_rules! residue_faces {
    ($title:literal; $($methods:tt)*) => {
        #[doc = concat!("# ", $title)]
        impl crate::DynResidues {
            crate::ops::faces::dyn_methods! { ring; $($methods)* }
        }

        #[doc = concat!("# ", $title)]
        impl<T: crate::Kernels> crate::Residues<T> {
            crate::ops::faces::typed_methods! { ring, []; $($methods)* }
        }
    };
}

/// Declares methods that replace the rows of a batch; `$into` computes the new rows.
macro_rules! assigning_faces {
    ($title:literal; $(fn $assign:ident = $into:ident;)*) => {
        #[doc = concat!("# ", $title)]
        impl crate::DynBatch {
            $(
                #[doc = concat!("[`", stringify!($into), "`](Self::", stringify!($into), ") in \
                                                                                          place.")]
                ///
                /// The rows are unchanged where it fails. The device keeps memory for one batch of
                /// the size, so that only the first call allocates.
                ///
                /// # Errors
                #[doc = concat!("As [`", stringify!($into), "`](Self::", stringify!($into), ").")]
                pub fn $assign(&mut self, rhs: &Self) -> crate::Result<()> {
                    self.assign(|rows, out| rows.$into(rhs, out))
                }
            )*
        }

        #[doc = concat!("# ", $title)]
        impl<T: crate::Kernels> crate::Batch<T> {
            $(
                #[doc = concat!("[`", stringify!($into), "`](Self::", stringify!($into), ") in \
                                                                                          place.")]
                ///
                /// The rows are unchanged where it fails. The device keeps memory for one batch of
                /// the size, so that only the first call allocates.
                ///
                /// # Errors
                #[doc = concat!("As [`", stringify!($into), "`](Self::", stringify!($into), ").")]
                pub fn $assign(&mut self, rhs: &Self) -> crate::Result<()> {
                    self.as_dyn_mut().$assign(rhs.as_dyn())
                }
            )*
        }
    };
}

pub(crate) use {
    assigning_faces, dyn_methods, dyn_type, faces, passed, residue_faces, shapeless_type,
    typed_method, typed_methods, typed_type, untyped,
};
