//! Arrays, texts and outputs in memory of the caller.
//!
//! The header states the contract: an array has as many elements as the call is told, a text ends
//! with NUL, and no other thread writes the memory during the call. NULL and addresses that are not
//! aligned are errors.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::slice;

use gpuint::num_bigint::{BigInt, BigUint};

use crate::status::{Failure, Result};

/// Checks that a pointer is neither NULL nor misaligned.
pub(crate) fn check<T>(pointer: *const T, argument: &'static str) -> Result<()> {
    if pointer.is_null() {
        return Err(Failure::Null { argument });
    }
    if !pointer.is_aligned() {
        return Err(Failure::Misaligned { argument, align: align_of::<T>() });
    }
    Ok(())
}

/// Checks an array of `count` elements: an empty one may be NULL.
pub(crate) fn check_array<T>(
    pointer: *const T,
    count: usize,
    argument: &'static str,
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(gpuint::Error::OutOfMemory { bytes: u64::MAX }.into());
    }
    check(pointer, argument)
}

/// Returns an array of the caller.
///
/// # Safety
/// `pointer` is NULL, misaligned, or points to `count` elements that nothing writes during `'a`.
pub(crate) unsafe fn array<'a, T>(
    pointer: *const T,
    count: usize,
    argument: &'static str,
) -> Result<&'a [T]> {
    check_array(pointer, count, argument)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: checked to be neither NULL, nor misaligned, nor too large; the rest is the caller's.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// Returns an array of the caller for writing.
///
/// # Safety
/// `pointer` is NULL, misaligned, or points to `count` elements that nothing else accesses during
/// `'a`. Elements that C did not set have some value here: no compiler sees both sides.
pub(crate) unsafe fn array_mut<'a, T>(
    pointer: *mut T,
    count: usize,
    argument: &'static str,
) -> Result<&'a mut [T]> {
    check_array(pointer, count, argument)?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: checked to be neither NULL, nor misaligned, nor too large; the rest is the caller's.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, count) })
}

/// Writes an output.
///
/// # Safety
/// `pointer` may be written.
pub(crate) unsafe fn write<T>(pointer: *mut T, value: T) {
    // SAFETY: the caller's.
    unsafe { pointer.write(value) };
}

/// Writes an array that was checked by [`check_array`] and has `count` elements.
///
/// # Safety
/// `pointer` has room for `count` elements; nothing else accesses them.
pub(crate) unsafe fn write_array<T>(
    pointer: *mut T,
    count: usize,
    values: impl ExactSizeIterator<Item = T>,
) -> Result<()> {
    if values.len() != count {
        return Err(Failure::Elements { rows: values.len(), count });
    }
    if count > 0 {
        // SAFETY: the caller's.
        let array = unsafe { slice::from_raw_parts_mut(pointer, count) };
        array.iter_mut().zip(values).for_each(|(place, value)| *place = value);
    }
    Ok(())
}

/// Writes a text with its NUL, and its length without; `length` may be NULL, and `text` if `size`
/// is 0.
///
/// # Safety
/// `text` has room for `size` bytes, and `length` may be written.
pub(crate) unsafe fn write_text(
    text: *mut c_char,
    size: usize,
    length: *mut usize,
    value: &str,
) -> Result<()> {
    if !length.is_null() {
        // SAFETY: the caller's.
        unsafe { length.write(value.len()) };
    }
    let needed = value.len() + 1;
    if needed > size {
        return Err(Failure::Buffer { needed, size });
    }
    // SAFETY: `size` bytes hold the text and its NUL; the rest is the caller's.
    let (text, end) =
        unsafe { slice::from_raw_parts_mut(text.cast(), needed) }.split_at_mut(needed - 1);
    text.copy_from_slice(value.as_bytes());
    end.fill(0);
    Ok(())
}

/// Parses a number: decimal, or hexadecimal after `0x`.
///
/// # Safety
/// `text` is NULL or ends with NUL.
pub(crate) unsafe fn number(text: *const c_char, argument: &'static str) -> Result<BigUint> {
    check(text, argument)?;
    // SAFETY: checked to be not NULL; the rest is the caller's.
    let text = unsafe { CStr::from_ptr(text) };
    parse(text.to_bytes(), 0, argument)
}

/// Parses an integer: a number, or one after `-`.
///
/// # Safety
/// `text` is NULL or ends with NUL.
pub(crate) unsafe fn integer(text: *const c_char, argument: &'static str) -> Result<BigInt> {
    check(text, argument)?;
    // SAFETY: checked to be not NULL; the rest is the caller's.
    let text = unsafe { CStr::from_ptr(text) }.to_bytes();
    match text.first() {
        Some(b'-') => Ok(-BigInt::from(parse(text, 1, argument)?)),
        _ => Ok(parse(text, 0, argument)?.into()),
    }
}

/// Parses an array of numbers.
///
/// # Safety
/// `texts` is NULL or has `count` elements, each of them NULL or a text that ends with NUL.
pub(crate) unsafe fn numbers(
    texts: *const *const c_char,
    count: usize,
    argument: &'static str,
) -> Result<Vec<BigUint>> {
    // SAFETY: the caller's.
    let texts = unsafe { array(texts, count, argument) }?;
    // SAFETY: the caller's.
    texts.iter().map(|&text| unsafe { number(text, argument) }).collect()
}

/// Parses the number from byte `start` on, which is at a character.
fn parse(text: &[u8], start: usize, argument: &'static str) -> Result<BigUint> {
    let text = str::from_utf8(text).map_err(|_| Failure::NotUtf8 { argument })?;
    let number = &text[start..];
    let hexadecimal = number.strip_prefix("0x").or_else(|| number.strip_prefix("0X"));
    let (digits, base) = hexadecimal.map_or((number, 10), |digits| (digits, 16));
    let not_digit = digits.bytes().position(|byte| !char::from(byte).is_digit(base));
    if let Some(column) = not_digit.or(digits.is_empty().then_some(0)) {
        let column = text.len() - digits.len() + column;
        return Err(Failure::Number { argument, column, base });
    }
    Ok(BigUint::parse_bytes(digits.as_bytes(), base).unwrap_or_default())
}

/// Formats a number in base 10 or 16, in lower case without `0x`.
pub(crate) fn format(value: &BigUint, base: u32) -> Result<String> {
    match base {
        10 | 16 => Ok(value.to_str_radix(base)),
        base => Err(Failure::Base(base)),
    }
}
