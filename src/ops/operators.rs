//! Operators on references to batches, and their assigning forms.
//!
//! Each is a name for a method, and panics exactly where that method returns an error.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Rem, RemAssign, Sub, SubAssign};

use crate::batch::Batch;
use crate::error::Result;
use crate::shape::Kernels;

/// The value of an operator, which cannot return an error.
#[track_caller]
fn value<V>(operator: &str, result: Result<V>) -> V {
    match result {
        Ok(value) => value,
        Err(error) => panic!("batch {operator} batch: {error}"),
    }
}

macro_rules! operator {
    ($sign:literal, $trait:ident::$operator:ident, $assigning:ident::$assign:ident, $method:ident, $rule:literal) => {
        #[doc = concat!("[`Batch::", stringify!($method), "`]: ", $rule, ".")]
        ///
        /// # Panics
        #[doc = concat!("Where [`Batch::", stringify!($method), "`] returns an error.")]
        impl<T: Kernels> $trait for &Batch<T> {
            type Output = Batch<T>;

            #[track_caller]
            fn $operator(self, rhs: Self) -> Batch<T> {
                value($sign, self.$method(rhs))
            }
        }

        #[doc = concat!("[`Batch::", stringify!($method), "`] in place: ", $rule, ".")]
        ///
        /// # Panics
        #[doc = concat!("Where [`Batch::", stringify!($method), "`] returns an error.")]
        impl<T: Kernels> $assigning<&Self> for Batch<T> {
            #[track_caller]
            fn $assign(&mut self, rhs: &Self) {
                *self = value($sign, self.$method(rhs));
            }
        }
    };
}

operator!("+", Add::add, AddAssign::add_assign, wrapping_add, "wraps modulo `2^BITS`");
operator!("-", Sub::sub, SubAssign::sub_assign, wrapping_sub, "wraps modulo `2^BITS`");
operator!("*", Mul::mul, MulAssign::mul_assign, wrapping_mul, "wraps modulo `2^BITS`");
operator!("/", Div::div, DivAssign::div_assign, div, "rounds down, nothing wraps");
operator!("%", Rem::rem, RemAssign::rem_assign, rem, "nothing wraps");
