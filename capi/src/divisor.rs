//! Prepared divisors.
#![allow(unsafe_code)]

use std::ffi::c_char;

use gpuint::num_bigint::BigUint;
use gpuint::{DynBatch, DynDivisor};

use crate::call::functions;
use crate::handle::{Batch, Device, Divisor, Mask, remove};

functions! {
    /// Prepares one divisor for all rows of batches for `bits` bits.
    fn gpuint_divisor_splat(
        device: *const Device, bits: usize, divisor: *const c_char; out: *mut *mut Divisor
    ) = |device: &gpuint::Device, bits, divisor: &BigUint| {
        DynDivisor::splat(device, device.shape_for(bits)?, divisor)
    };

    /// Prepares the rows of a batch, each as the divisor of the same row.
    fn gpuint_prepare(divisors: *const Batch; out: *mut *mut Divisor) = DynBatch::prepare;

    /// Prepares the rows of a batch, and stores a mask of the rows that are zero, which are
    /// prepared as 1.
    fn gpuint_prepare_masked(
        divisors: *const Batch; out: *mut *mut Divisor, zero: *mut *mut Mask
    ) = DynBatch::prepare_masked;

    /// Frees the handle. NULL is allowed.
    fn gpuint_divisor_free(divisor: *mut Divisor) = |divisor| remove(divisor, "divisor");
}
