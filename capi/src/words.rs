//! Division by one digit, and words of rows.
#![allow(unsafe_code)]

use gpuint::{DynBatch, Error};

use crate::call::functions;
use crate::handle::{Batch, Words, remove};

functions! {
    /// Computes the quotients by one number for all rows, and stores the remainders. The divisor
    /// has at most the bits of a digit, 64 bits in batches of this library.
    fn gpuint_div_rem_digit(
        a: *const Batch, divisor: u64;
        quotient: *mut *mut Batch, remainders: *mut u64, rows: usize
    ) = DynBatch::div_rem_digit;

    /// Stores the remainders by one number for all rows, as `gpuint_div_rem_digit`.
    fn gpuint_rem_digit(a: *const Batch, divisor: u64; remainders: *mut u64, rows: usize) =
        DynBatch::rem_digit;

    /// As `gpuint_div_rem_digit`; the remainders stay on the device.
    fn gpuint_div_rem_digit_words(
        a: *const Batch, divisor: u64; quotient: *mut *mut Batch, remainders: *mut *mut Words
    ) = DynBatch::div_rem_digit_words;

    /// As `gpuint_rem_digit`; the remainders stay on the device.
    fn gpuint_rem_digit_words(a: *const Batch, divisor: u64; remainders: *mut *mut Words) =
        DynBatch::rem_digit_words;

    /// Stores the number of rows.
    fn gpuint_words_rows(words: *const Words; rows: *mut usize) =
        |words: &gpuint::Words| Ok::<_, Error>(words.len());

    /// Stores the word of each row.
    fn gpuint_words_read(words: *const Words; values: *mut u64, rows: usize) =
        gpuint::Words::to_vec;

    /// Frees the handle. NULL is allowed.
    fn gpuint_words_free(words: *mut Words) = |words| remove(words, "words");
}
