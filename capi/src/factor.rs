//! Prepared factors of many products.
#![allow(unsafe_code)]

use std::ffi::c_char;

use gpuint::num_bigint::BigUint;
use gpuint::{DynBatch, DynFactor};

use crate::call::functions;
use crate::handle::{Batch, Device, Factor, remove};

functions! {
    /// Prepares one factor for all rows of batches for `bits` bits.
    fn gpuint_factor_splat(
        device: *const Device, bits: usize, factor: *const c_char; out: *mut *mut Factor
    ) = |device: &gpuint::Device, bits, factor: &BigUint| {
        DynFactor::splat(device, device.shape_for(bits)?, factor)
    };

    /// Prepares the rows of a batch, each as the factor of the same row.
    fn gpuint_factor_of_rows(factors: *const Batch; out: *mut *mut Factor) = DynFactor::of_rows;

    /// Computes `a * factor` modulo `2^bits`.
    fn gpuint_wrapping_mul_by(
        a: *const Batch, factor: *const Factor; product: *mut *mut Batch
    ) = DynBatch::wrapping_mul_by;

    /// Computes both halves of `a * factor`.
    fn gpuint_mul_lo_hi_by(
        a: *const Batch, factor: *const Factor; low: *mut *mut Batch, high: *mut *mut Batch
    ) = DynBatch::mul_lo_hi_by;

    /// Computes `a * factor` modulo `2^bits - 1`: 0 only where a factor is 0.
    fn gpuint_cyclic_mul_by(
        a: *const Batch, factor: *const Factor; product: *mut *mut Batch
    ) = DynBatch::cyclic_mul_by;

    /// Frees the handle. NULL is allowed.
    fn gpuint_factor_free(factor: *mut Factor) = |factor| remove(factor, "factor");
}
