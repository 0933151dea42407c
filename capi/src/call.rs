//! Functions of the crate as C functions, with one row of a table for each function.
#![allow(unsafe_code)]

use std::cmp::Ordering;
use std::convert::identity;
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gpuint::SpecialModulus;
use gpuint::num_bigint::{BigInt, BigUint};
use gpuint::sieve::Primes;

use crate::handle::{Byte, Handle, Integer, get, insert};
use crate::interrupt::interruptible;
use crate::memory::{check, check_array, format, integer, number, write, write_array, write_text};
use crate::status::{Failure, Result, Status};

/// A function of the caller that frees memory.
type Release = Option<unsafe extern "C" fn(*mut c_void)>;

/// Runs the body of a C function: a failure or a panic is kept as the thread's last error.
pub(crate) fn call(body: impl FnOnce() -> Result<()>) -> Status {
    // No state of this library is half changed by a panic: the table of handles changes by single
    // calls, and objects do not change.
    let result = catch_unwind(AssertUnwindSafe(|| interruptible(body)));
    match result.unwrap_or_else(|payload| Err(Failure::panicked(&*payload))) {
        Ok(()) => Status::Ok,
        Err(failure) => failure.record(),
    }
}

/// An argument of a C function.
pub(crate) trait Argument: 'static {
    /// The argument during the call.
    type Held;
    /// The argument as the crate takes it.
    type Passed<'a>;

    /// Checks the argument.
    ///
    /// # Safety
    /// The pointer is as the header requires.
    unsafe fn hold(self, name: &'static str) -> Result<Self::Held>;

    fn pass(held: &Self::Held) -> Self::Passed<'_>;
}

impl<H: Handle> Argument for *const H {
    type Held = Arc<H::Object>;
    type Passed<'a> = &'a H::Object;

    unsafe fn hold(self, name: &'static str) -> Result<Self::Held> {
        get(self, name)
    }

    fn pass(held: &Self::Held) -> &H::Object {
        held
    }
}

/// A number as text.
impl Argument for *const c_char {
    type Held = BigUint;
    type Passed<'a> = &'a BigUint;

    unsafe fn hold(self, name: &'static str) -> Result<BigUint> {
        // SAFETY: the caller's.
        unsafe { number(self, name) }
    }

    fn pass(held: &BigUint) -> &BigUint {
        held
    }
}

/// An integer as text.
impl Argument for *const Integer {
    type Held = BigInt;
    type Passed<'a> = &'a BigInt;

    unsafe fn hold(self, name: &'static str) -> Result<BigInt> {
        // SAFETY: the caller's.
        unsafe { integer(self.cast(), name) }
    }

    fn pass(held: &BigInt) -> &BigInt {
        held
    }
}

/// Arguments that are passed unchanged; arrays are checked where they are read.
macro_rules! plain_arguments {
    ($($input:ty),*; of handles: $($of_handle:ty),*) => {
        $(plain_arguments!(@ [] $input);)*
        $(plain_arguments!(@ [H: Handle] $of_handle);)*
    };
    (@ [$($generics:tt)*] $input:ty) => {
        impl<$($generics)*> Argument for $input {
            type Held = Self;
            type Passed<'a> = Self;

            unsafe fn hold(self, _: &'static str) -> Result<Self> {
                Ok(self)
            }

            fn pass(held: &Self) -> Self {
                *held
            }
        }
    };
}
plain_arguments! {
    usize, u32, u64, i32, bool, *const u32, *const u64, *const i32, *const Byte, *const usize,
    *const *const c_char,
    *mut u8, *mut u64, *mut c_void,
    Release;
    of handles: *const *const H, *mut H
}

/// Outputs of a C function for a result of type `T`.
pub(crate) trait Output<T> {
    /// Checks the pointers, so that a call with a wrong one computes nothing.
    fn check(&self, names: &[&'static str]) -> Result<()>;

    /// Stores the result.
    ///
    /// # Safety
    /// The pointers were checked and are as the header requires.
    unsafe fn store(self, value: T) -> Result<()>;
}

impl Output<()> for () {
    fn check(&self, _: &[&'static str]) -> Result<()> {
        Ok(())
    }

    unsafe fn store(self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl<A: Handle> Output<A::Object> for (*mut *mut A,) {
    fn check(&self, names: &[&'static str]) -> Result<()> {
        check(self.0, names[0])
    }

    unsafe fn store(self, value: A::Object) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { write(self.0, insert(value)) };
        Ok(())
    }
}

macro_rules! handle_outputs {
    ($($index:tt $handle:ident),*) => {
        impl<$($handle: Handle),*> Output<($($handle::Object),*)> for ($(*mut *mut $handle),*) {
            fn check(&self, names: &[&'static str]) -> Result<()> {
                $(check(self.$index, names[$index])?;)*
                Ok(())
            }

            unsafe fn store(self, value: ($($handle::Object),*)) -> Result<()> {
                $(
                    // SAFETY: the caller's.
                    unsafe { write(self.$index, insert(value.$index)) };
                )*
                Ok(())
            }
        }
    };
}
handle_outputs!(0 A, 1 B);
handle_outputs!(0 A, 1 B, 2 C);
handle_outputs!(0 A, 1 B, 2 C, 3 D);

macro_rules! scalar_outputs {
    ($($scalar:ty),*) => {
        $(impl Output<$scalar> for (*mut $scalar,) {
            fn check(&self, names: &[&'static str]) -> Result<()> {
                check(self.0, names[0])
            }

            unsafe fn store(self, value: $scalar) -> Result<()> {
                // SAFETY: the caller's.
                unsafe { write(self.0, value) };
                Ok(())
            }
        })*
    };
}
scalar_outputs!(bool, usize, u64, *mut c_void);

/// One element a row: the caller says how many rows there is room for.
macro_rules! array_outputs {
    ($($value:ty => $element:ty: $convert:expr;)*) => {
        $(impl Output<Vec<$value>> for (*mut $element, usize) {
            fn check(&self, names: &[&'static str]) -> Result<()> {
                check_array(self.0, self.1, names[0])
            }

            unsafe fn store(self, values: Vec<$value>) -> Result<()> {
                // SAFETY: the caller's.
                unsafe { write_array(self.0, self.1, values.into_iter().map($convert)) }
            }
        })*
    };
}
array_outputs! {
    u64 => u64: identity;
    usize => usize: identity;
    i8 => i8: identity;
    Ordering => i8: |order| order as i8;
    bool => u8: u8::from;
}

/// Rows, and one word for each.
impl<A: Handle> Output<(A::Object, Vec<u64>)> for (*mut *mut A, *mut u64, usize) {
    fn check(&self, names: &[&'static str]) -> Result<()> {
        check(self.0, names[0])?;
        check_array(self.1, self.2, names[1])
    }

    unsafe fn store(self, (rows, words): (A::Object, Vec<u64>)) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { write_array(self.1, self.2, words.into_iter()) }?;
        // SAFETY: the caller's.
        unsafe { write(self.0, insert(rows)) };
        Ok(())
    }
}

/// The first primes, and their number.
impl Output<Primes> for (*mut u64, usize, *mut usize) {
    fn check(&self, names: &[&'static str]) -> Result<()> {
        check_array(self.0, self.1, names[0])?;
        check(self.2, names[2])
    }

    unsafe fn store(self, primes: Primes) -> Result<()> {
        let primes: Vec<u64> = primes.take(self.1).collect();
        // SAFETY: the caller's.
        unsafe { write(self.2, primes.len()) };
        // SAFETY: the array has at least as many elements.
        unsafe { write_array(self.0, primes.len(), primes.into_iter()) }
    }
}

/// True and the parts of a special modulus, or false and zeros.
impl Output<Option<SpecialModulus>> for (*mut bool, *mut u32, *mut u32, *mut i32) {
    fn check(&self, names: &[&'static str]) -> Result<()> {
        check(self.0, names[0])?;
        check(self.1, names[1])?;
        check(self.2, names[2])?;
        check(self.3, names[3])
    }

    unsafe fn store(self, form: Option<SpecialModulus>) -> Result<()> {
        let (k, n, c) = form.map_or((0, 0, 0), |form| (form.k(), form.n(), form.c()));
        // SAFETY: the caller's.
        unsafe { write(self.0, form.is_some()) };
        // SAFETY: as above.
        unsafe { write(self.1, k) };
        // SAFETY: as above.
        unsafe { write(self.2, n) };
        // SAFETY: as above.
        unsafe { write(self.3, c) };
        Ok(())
    }
}

impl Output<String> for (*mut c_char, usize, *mut usize) {
    fn check(&self, names: &[&'static str]) -> Result<()> {
        check_array(self.0, self.1, names[0])?;
        if self.2.is_null() { Ok(()) } else { check(self.2, names[2]) }
    }

    unsafe fn store(self, value: String) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { write_text(self.0, self.1, self.2, &value) }
    }
}

/// A number as text in a base.
impl Output<BigUint> for (u32, *mut c_char, usize, *mut usize) {
    fn check(&self, names: &[&'static str]) -> Result<()> {
        format(&BigUint::ZERO, self.0)?;
        (self.1, self.2, self.3).check(&names[1..])
    }

    unsafe fn store(self, value: BigUint) -> Result<()> {
        let text = format(&value, self.0)?;
        // SAFETY: the caller's.
        unsafe { (self.1, self.2, self.3).store(text) }
    }
}

/// Declares C functions: `functions!(fn name(arguments; outputs) = function; ..)`. The arguments
/// go to `function`, and its result to the outputs. If the call fails, no output is written.
///
/// `DECLARATIONS` has the declarations for cbindgen, which does not expand macros.
macro_rules! functions {
    ($(
        $(#[$meta:meta])*
        fn $name:ident(
            $($input:ident: $input_type:ty),* $(; $($output:ident: $output_type:ty),*)?
        ) = $function:expr;
    )*) => {
        $($(#[$meta])*
        ///
        /// # Safety
        /// Pointers are as the header requires.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($input: $input_type,)*
            $($($output: $output_type),*)?
        ) -> crate::status::Status {
            use crate::call;
            call::call(|| {
                $(
                    // SAFETY: the caller's.
                    let $input = unsafe { call::Argument::hold($input, stringify!($input)) }?;
                )*
                let outputs = ($($($output,)*)?);
                let names = [$($(stringify!($output)),*)?];
                let result = call::compute(&outputs, &names, || {
                    ($function)($(<$input_type as call::Argument>::pass(&$input)),*)
                })?;
                // SAFETY: the outputs were checked; the rest is the caller's.
                unsafe { call::Output::store(outputs, result) }
            })
        })*

        #[cfg(test)]
        pub(crate) const DECLARATIONS: &str = stringify!($(
            $(#[$meta])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                $($input: $input_type,)*
                $($($output: $output_type),*)?
            ) -> Status {}
        )*);
    };
}

/// Checks the outputs of a result, and then computes it.
pub(crate) fn compute<T, E: Into<Failure>>(
    outputs: &impl Output<T>,
    names: &[&'static str],
    function: impl FnOnce() -> Result<T, E>,
) -> Result<T> {
    outputs.check(names)?;
    function().map_err(Into::into)
}

pub(crate) use functions;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::gpuint_last_error;

    #[test]
    fn panic_becomes_a_status_with_its_message() {
        let status = call(|| panic!("of a test, row {}", 3));
        assert_eq!(status, Status::Internal);
        // SAFETY: the message ends with NUL, and no call of this thread has failed since.
        let text = unsafe { std::ffi::CStr::from_ptr(gpuint_last_error()) };
        assert_eq!(text.to_str().unwrap(), "panic: of a test, row 3; please report it");
    }
}
