//! Masks.
#![allow(unsafe_code)]

use gpuint::Error;

use crate::call::functions;
use crate::handle::{Byte, Device, Mask, remove};
use crate::memory::array;
use crate::status::Failure;

functions! {
    /// Makes a mask of one byte a row: the bit is set unless the byte is 0.
    fn gpuint_mask_from_bytes(
        device: *const Device, bytes: *const Byte, rows: usize; out: *mut *mut Mask
    ) = |device, bytes, rows| {
        // SAFETY: the header requires that the array has `rows` elements.
        let bytes = unsafe { array(bytes, rows, "bytes") }?;
        let mut bits = Vec::new();
        let room = bits.try_reserve_exact(rows);
        room.map_err(|_| Error::OutOfMemory { bytes: rows as u64 })?;
        bits.extend(bytes.iter().map(|&Byte(byte)| byte != 0));
        Ok::<_, Failure>(gpuint::Mask::from_bools(device, &bits)?)
    };

    /// Stores one byte a row: 0 or 1.
    fn gpuint_mask_to_bytes(mask: *const Mask; bytes: *mut u8, rows: usize) =
        gpuint::Mask::to_bools;

    /// Stores the number of rows.
    fn gpuint_mask_rows(mask: *const Mask; rows: *mut usize) =
        |mask: &gpuint::Mask| Ok::<_, Error>(mask.len());

    /// Stores the number of rows whose bit is set.
    fn gpuint_mask_count(mask: *const Mask; count: *mut usize) = gpuint::Mask::count;

    /// Stores true if the bit of at least one row is set.
    fn gpuint_mask_any(mask: *const Mask; any: *mut bool) = gpuint::Mask::any;

    /// Stores the indices of the rows whose bit is set, in ascending order: as many as
    /// `gpuint_mask_count` stores.
    fn gpuint_mask_indices(mask: *const Mask; indices: *mut usize, count: usize) =
        gpuint::Mask::indices;

    /// Returns the rows that are set in both masks.
    fn gpuint_mask_and(a: *const Mask, b: *const Mask; out: *mut *mut Mask) = gpuint::Mask::and;

    /// Returns the rows that are set in either mask.
    fn gpuint_mask_or(a: *const Mask, b: *const Mask; out: *mut *mut Mask) = gpuint::Mask::or;

    /// Returns the rows that are set in exactly one of the masks.
    fn gpuint_mask_xor(a: *const Mask, b: *const Mask; out: *mut *mut Mask) = gpuint::Mask::xor;

    /// Returns the rows that are not set.
    fn gpuint_mask_not(a: *const Mask; out: *mut *mut Mask) = gpuint::Mask::not;

    /// Frees the handle. NULL is allowed.
    fn gpuint_mask_free(mask: *mut Mask) = |mask| remove(mask, "mask");
}
