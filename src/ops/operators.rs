//! Operators on batches and references to batches, and their assigning forms.
//!
//! Each operator calls a method, and panics where that method returns an error.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Rem, RemAssign, Sub, SubAssign};

use crate::batch::Batch;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::shape::Kernels;

/// Returns the value of an operator, or panics with the error.
#[track_caller]
fn value<V>(operator: &str, result: Result<V>) -> V {
    match result {
        Ok(value) => value,
        Err(error) => panic!("batch {operator} batch: {error}"),
    }
}

macro_rules! operator {
    (
        $sign:literal, $trait:ident::$operator:ident, $assigning:ident::$assign:ident,
        $method:ident, $in_place:ident, $rule:literal
    ) => {
        operator! {
            @ ($sign, $trait::$operator, $assigning::$assign, $method, $in_place, $rule)
            (T: Kernels) Batch<T>
        }
        operator! {
            @ ($sign, $trait::$operator, $assigning::$assign, $method, $in_place, $rule)
            () DynBatch
        }
    };
    (
        @ ($sign:literal, $trait:ident::$operator:ident, $assigning:ident::$assign:ident,
           $method:ident, $in_place:ident, $rule:literal)
        ($($parameters:tt)*) $type:ty
    ) => {
        #[doc = concat!("`", stringify!($method), "`: ", $rule, ".")]
        ///
        /// # Panics
        #[doc = concat!("Where `", stringify!($method), "` returns an error.")]
        impl<$($parameters)*> $trait for &$type {
            type Output = $type;

            #[track_caller]
            fn $operator(self, rhs: Self) -> $type {
                value($sign, self.$method(rhs))
            }
        }

        #[doc = concat!("`", stringify!($in_place), "`, in the memory of the left batch: \
                                                     ", $rule, ".")]
        ///
        /// # Panics
        #[doc = concat!("Where `", stringify!($in_place), "` returns an error.")]
        impl<$($parameters)*> $trait<&Self> for $type {
            type Output = Self;

            #[track_caller]
            fn $operator(mut self, rhs: &Self) -> Self {
                value($sign, <$type>::$in_place(&mut self, rhs));
                self
            }
        }

        #[doc = concat!("`", stringify!($in_place), "`, in the memory of the left batch: \
                                                     ", $rule, ".")]
        ///
        /// # Panics
        #[doc = concat!("Where `", stringify!($in_place), "` returns an error.")]
        impl<$($parameters)*> $trait for $type {
            type Output = Self;

            #[track_caller]
            fn $operator(self, rhs: Self) -> Self {
                $trait::$operator(self, &rhs)
            }
        }

        #[doc = concat!("`", stringify!($in_place), "`: ", $rule, ".")]
        ///
        /// # Panics
        #[doc = concat!("Where `", stringify!($in_place), "` returns an error.")]
        impl<$($parameters)*> $assigning<&Self> for $type {
            #[track_caller]
            fn $assign(&mut self, rhs: &Self) {
                value($sign, <$type>::$in_place(self, rhs));
            }
        }
    };
}

operator!(
    "+",
    Add::add,
    AddAssign::add_assign,
    wrapping_add,
    wrapping_add_assign,
    "wraps modulo `2^BITS`"
);
operator!(
    "-",
    Sub::sub,
    SubAssign::sub_assign,
    wrapping_sub,
    wrapping_sub_assign,
    "wraps modulo `2^BITS`"
);
operator!(
    "*",
    Mul::mul,
    MulAssign::mul_assign,
    wrapping_mul,
    wrapping_mul_assign,
    "wraps modulo `2^BITS`"
);
operator!("/", Div::div, DivAssign::div_assign, div, div_assign, "rounds down");
operator!("%", Rem::rem, RemAssign::rem_assign, rem, rem_assign, "the remainder");
