//! Integers in the bytes of rows, written and checked on all cores.

use std::borrow::Borrow;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpuint_catalogue::Shape;
use num_bigint::BigUint;

use crate::backend::host::{write_integer, write_rows};
use crate::error::{Error, Result};

/// Checks that the value of a row has at most the bits of the shape.
pub(crate) fn check_width(shape: Shape, row: usize, value: &BigUint) -> Result<()> {
    let bits = value.bits();
    if bits > shape.bits as u64 {
        return Err(Error::TooWide { row, bits, width: shape.bits });
    }
    Ok(())
}

/// Writes the values of the rows of `bytes`, from row `first` on, on all cores.
pub(crate) fn write_integers<V: Borrow<BigUint> + Sync>(
    values: &[V],
    first: usize,
    shape: Shape,
    bytes: &mut [u8],
) -> Result<()> {
    write_checked(bytes, shape.bytes(), first, |row, bytes| {
        let value = values[row - first].borrow();
        check_width(shape, row, value)?;
        write_integer(value, bytes);
        Ok(())
    })
}

/// Writes the rows of `bytes`, from row `first` on, on all cores: `write(row, bytes)`. Returns the
/// error of the lowest row that fails; the others are written.
pub(crate) fn write_checked(
    bytes: &mut [u8],
    row_bytes: usize,
    first: usize,
    write: impl Fn(usize, &mut [u8]) -> Result<()> + Sync,
) -> Result<()> {
    let failed = AtomicUsize::new(usize::MAX);
    write_rows(bytes, row_bytes, |row, bytes| {
        if write(first + row, bytes).is_err() {
            failed.fetch_min(row, Ordering::Relaxed);
        }
    });
    match failed.into_inner() {
        usize::MAX => Ok(()),
        row => write(first + row, &mut bytes[row * row_bytes..][..row_bytes]),
    }
}

/// Number of rows of `len` bytes or digits.
pub(crate) fn whole_rows(len: usize, row: usize) -> Result<usize> {
    if !len.is_multiple_of(row) {
        return Err(Error::PartialRow { len, row });
    }
    Ok(len / row)
}
