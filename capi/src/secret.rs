//! Operands that are secret.
#![allow(unsafe_code)]

use gpuint::{DynBatch, Error, SecretBatch, Shape};

use crate::call::functions;
use crate::handle::{
    Batch, Byte, Device, Mask, Secret, SecretExponents, SecretFactor, SecretModulus, remove,
};
use crate::memory::{array, array_mut};
use crate::status::{Failure, Result};

/// Makes an operand of the bytes of its rows.
///
/// # Safety
/// `bytes` is NULL, misaligned, or points to `size` bytes that nothing writes meanwhile.
unsafe fn of_bytes<T>(
    device: &gpuint::Device,
    bits: usize,
    bytes: *const Byte,
    size: usize,
    make: impl FnOnce(&gpuint::Device, Shape, &[u8]) -> gpuint::Result<T>,
) -> Result<T> {
    // SAFETY: the caller's; a `Byte` is a `u8`.
    let rows = unsafe { array(bytes.cast::<u8>(), size, "bytes") }?;
    Ok(make(device, device.shape_for(bits)?, rows)?)
}

/// Makes a factor and its modulus of the bytes of their rows.
///
/// # Safety
/// As [`of_bytes`].
unsafe fn factor_of_bytes<T>(
    device: &gpuint::Device,
    bits: usize,
    factors: *const Byte,
    moduli: *const Byte,
    size: usize,
    make: impl FnOnce(&gpuint::Device, Shape, &[u8], &[u8]) -> gpuint::Result<T>,
) -> Result<T> {
    // SAFETY: the caller's; a `Byte` is a `u8`.
    let factors = unsafe { array(factors.cast::<u8>(), size, "factors") }?;
    // SAFETY: as above.
    let moduli = unsafe { array(moduli.cast::<u8>(), size, "moduli") }?;
    Ok(make(device, device.shape_for(bits)?, factors, moduli)?)
}

functions! {
    /// Makes secret rows for `bits` bits, a multiple of 1024 up to 8192: `size` bytes, the rows one
    /// after the other, each as wide as `gpuint_width` says and least significant byte first.
    /// Overwrite `bytes` after the call.
    ///
    /// Powers and products of secret operands take the same instructions, branches and addresses
    /// for all values of one width and length. SECURITY.md lists what that covers. Numbers of rows,
    /// widths, and lengths of exponents are public. An operand that is made by a `_splat` function
    /// has one row, which stands for all rows.
    fn gpuint_secret_from_le_bytes(
        device: *const Device, bits: usize, bytes: *const Byte, size: usize; out: *mut *mut Secret
    ) = |device: &gpuint::Device, bits, bytes, size| {
        // SAFETY: the header requires that the array has `size` bytes.
        unsafe { of_bytes(device, bits, bytes, size, SecretBatch::from_le_bytes) }
    };

    /// Writes the bytes of the rows, in the order of `gpuint_secret_from_le_bytes`. `size` is the
    /// number of all bytes.
    fn gpuint_secret_to_le_bytes(secret: *const Secret, bytes: *mut u8, size: usize) =
        |secret: &SecretBatch, bytes, size| {
            // SAFETY: the header requires that the array has `size` bytes.
            let place = unsafe { array_mut(bytes, size, "bytes") }?;
            let rows = secret.to_le_bytes()?;
            if rows.len() != size {
                let (left, right) = (rows.len(), size);
                return Err(Failure::from(Error::LengthMismatch { left, right }));
            }
            place.copy_from_slice(&rows);
            Ok(())
        };

    /// Copies the rows to a batch that is not secret.
    fn gpuint_secret_reveal(secret: *const Secret; out: *mut *mut Batch) = SecretBatch::reveal;

    /// Stores the number of rows.
    fn gpuint_secret_rows(secret: *const Secret; rows: *mut usize) =
        |secret: &SecretBatch| Ok::<_, Error>(secret.len());

    /// Stores the width of the rows in bits.
    fn gpuint_secret_bits(secret: *const Secret; bits: *mut usize) =
        |secret: &SecretBatch| Ok::<_, Error>(secret.shape().bits);

    /// Returns a mask of the rows that are 0. The mask is not secret.
    fn gpuint_secret_is_zero_mask(secret: *const Secret; mask: *mut *mut Mask) =
        SecretBatch::is_zero_mask;

    /// Computes `secret^exponents mod modulus`, row by row. Rows may exceed the moduli.
    fn gpuint_secret_pow_secret(
        secret: *const Secret, exponents: *const SecretExponents, modulus: *const SecretModulus;
        power: *mut *mut Secret
    ) = SecretBatch::pow_secret;

    /// Computes `secret * factor + addend`, row by row, modulo the moduli of the factor. `addend`
    /// has one row for each row, or one row for all rows. All may exceed the moduli.
    fn gpuint_secret_mul_add_secret(
        secret: *const Secret, factor: *const SecretFactor, addend: *const Secret;
        sum: *mut *mut Secret
    ) = SecretBatch::mul_add_secret;

    /// Computes `a^exponents mod modulus` as `gpuint_secret_pow_secret`, of rows that are not
    /// secret.
    fn gpuint_pow_secret(
        a: *const Batch, exponents: *const SecretExponents, modulus: *const SecretModulus;
        power: *mut *mut Secret
    ) = DynBatch::pow_secret;

    /// Computes `a * factor + addend` as `gpuint_secret_mul_add_secret`, of rows that are not
    /// secret.
    fn gpuint_mul_add_secret(
        a: *const Batch, factor: *const SecretFactor, addend: *const Secret;
        sum: *mut *mut Secret
    ) = DynBatch::mul_add_secret;

    /// Overwrites the rows and frees the handle. NULL is allowed.
    fn gpuint_secret_free(secret: *mut Secret) = |secret| remove(secret, "secret");

    /// Makes exponents of at most `length` bits, one a row, of bytes as
    /// `gpuint_secret_from_le_bytes`. The length is public, and the time grows with it. A longer
    /// exponent is GPUINT_STATUS_TOO_WIDE.
    fn gpuint_secret_exponents_of_rows(
        device: *const Device, bits: usize, length: usize, bytes: *const Byte, size: usize;
        out: *mut *mut SecretExponents
    ) = |device: &gpuint::Device, bits, length, bytes, size| {
        let make = |device: &_, shape, rows: &_| {
            gpuint::SecretExponents::of_rows(device, shape, length, rows)
        };
        // SAFETY: the header requires that the array has `size` bytes.
        unsafe { of_bytes(device, bits, bytes, size, make) }
    };

    /// Makes one exponent for all rows; otherwise as `gpuint_secret_exponents_of_rows`.
    fn gpuint_secret_exponents_splat(
        device: *const Device, bits: usize, length: usize, bytes: *const Byte, size: usize;
        out: *mut *mut SecretExponents
    ) = |device: &gpuint::Device, bits, length, bytes, size| {
        let make = |device: &_, shape, row: &_| {
            gpuint::SecretExponents::splat(device, shape, length, row)
        };
        // SAFETY: the header requires that the array has `size` bytes.
        unsafe { of_bytes(device, bits, bytes, size, make) }
    };

    /// Overwrites the exponents and frees the handle. NULL is allowed.
    fn gpuint_secret_exponents_free(exponents: *mut SecretExponents) =
        |exponents| remove(exponents, "exponents");

    /// Prepares odd moduli, one a row, of bytes as `gpuint_secret_from_le_bytes`.
    fn gpuint_secret_modulus_of_rows(
        device: *const Device, bits: usize, bytes: *const Byte, size: usize;
        out: *mut *mut SecretModulus
    ) = |device: &gpuint::Device, bits, bytes, size| {
        // SAFETY: the header requires that the array has `size` bytes.
        unsafe { of_bytes(device, bits, bytes, size, gpuint::SecretModulus::of_rows) }
    };

    /// Prepares one odd modulus for all rows.
    fn gpuint_secret_modulus_splat(
        device: *const Device, bits: usize, bytes: *const Byte, size: usize;
        out: *mut *mut SecretModulus
    ) = |device: &gpuint::Device, bits, bytes, size| {
        // SAFETY: the header requires that the array has `size` bytes.
        unsafe { of_bytes(device, bits, bytes, size, gpuint::SecretModulus::splat) }
    };

    /// Overwrites the moduli and frees the handle. NULL is allowed.
    fn gpuint_secret_modulus_free(modulus: *mut SecretModulus) =
        |modulus| remove(modulus, "modulus");

    /// Prepares factors and their odd moduli, one of both a row: `size` bytes each, as
    /// `gpuint_secret_from_le_bytes`. Factors may exceed their moduli.
    fn gpuint_secret_factor_of_rows(
        device: *const Device, bits: usize, factors: *const Byte, moduli: *const Byte, size: usize;
        out: *mut *mut SecretFactor
    ) = |device: &gpuint::Device, bits, factors, moduli, size| {
        let make = gpuint::SecretFactor::of_rows;
        // SAFETY: the header requires that the arrays have `size` bytes.
        unsafe { factor_of_bytes(device, bits, factors, moduli, size, make) }
    };

    /// Prepares one factor and its odd modulus for all rows.
    fn gpuint_secret_factor_splat(
        device: *const Device, bits: usize, factors: *const Byte, moduli: *const Byte, size: usize;
        out: *mut *mut SecretFactor
    ) = |device: &gpuint::Device, bits, factors, moduli, size| {
        let make = gpuint::SecretFactor::splat;
        // SAFETY: the header requires that the arrays have `size` bytes.
        unsafe { factor_of_bytes(device, bits, factors, moduli, size, make) }
    };

    /// Overwrites the factors and moduli and frees the handle. NULL is allowed.
    fn gpuint_secret_factor_free(factor: *mut SecretFactor) = |factor| remove(factor, "factor");
}
