//! Signed batches.
#![allow(unsafe_code)]

use gpuint::{DynBatch, DynSignedBatch, Error, Mask as Bits};

use crate::call::functions;
use crate::handle::{Batch, Mask, Signed, remove};

functions! {
    /// Makes signed integers of magnitudes and a mask of the rows that are negative. Zeros lose
    /// their sign.
    fn gpuint_signed_of_parts(
        magnitude: *const Batch, negative: *const Mask; out: *mut *mut Signed
    ) = |magnitude: &DynBatch, negative| {
        DynSignedBatch::from_parts(magnitude.try_clone()?, negative)
    };

    /// Returns the magnitudes and a mask of the rows that are negative.
    fn gpuint_signed_parts(
        a: *const Signed; magnitude: *mut *mut Batch, negative: *mut *mut Mask
    ) = |a: &DynSignedBatch| {
        let copy = |mask: &Bits| mask.or(mask);
        Ok::<_, Error>((a.magnitude().try_clone()?, copy(a.negative())?))
    };

    /// Stores the number of rows.
    fn gpuint_signed_rows(a: *const Signed; rows: *mut usize) =
        |a: &DynSignedBatch| Ok::<_, Error>(a.len());

    /// Computes `a + b` with the magnitude modulo `2^bits`, and a mask of the rows that overflowed.
    fn gpuint_signed_overflowing_add(
        a: *const Signed, b: *const Signed; sum: *mut *mut Signed, overflow: *mut *mut Mask
    ) = DynSignedBatch::overflowing_add;

    /// Computes `a - b` with the magnitude modulo `2^bits`, and a mask of the rows that overflowed.
    fn gpuint_signed_overflowing_sub(
        a: *const Signed, b: *const Signed; difference: *mut *mut Signed, overflow: *mut *mut Mask
    ) = DynSignedBatch::overflowing_sub;

    /// Computes `a * b` with the magnitude modulo `2^bits`, and a mask of the rows that overflowed.
    fn gpuint_signed_overflowing_mul(
        a: *const Signed, b: *const Signed; product: *mut *mut Signed, overflow: *mut *mut Mask
    ) = DynSignedBatch::overflowing_mul;

    /// Computes `a * b` in rows of twice the width, which must be built.
    fn gpuint_signed_widening_mul(
        a: *const Signed, b: *const Signed; product: *mut *mut Signed
    ) = DynSignedBatch::widening_mul;

    /// Computes `-a`.
    fn gpuint_signed_neg(a: *const Signed; negative: *mut *mut Signed) = DynSignedBatch::neg;

    /// Computes `a / b` rounded to zero, and the remainder, which has the sign of `a`.
    fn gpuint_signed_div_rem(
        a: *const Signed, b: *const Signed; quotient: *mut *mut Signed, remainder: *mut *mut Signed
    ) = DynSignedBatch::div_rem;

    /// Computes `a / b` rounded down, and the remainder, which has the sign of `b`.
    fn gpuint_signed_div_rem_floor(
        a: *const Signed, b: *const Signed; quotient: *mut *mut Signed, remainder: *mut *mut Signed
    ) = DynSignedBatch::div_rem_floor;

    /// Computes the quotient and the remainder with `0 <= remainder < |b|`.
    fn gpuint_signed_div_rem_euclid(
        a: *const Signed, b: *const Signed; quotient: *mut *mut Signed, remainder: *mut *mut Signed
    ) = DynSignedBatch::div_rem_euclid;

    /// Stores -1, 0 or 1 for each row where `a` is less than, equal to or greater than `b`.
    fn gpuint_signed_cmp(a: *const Signed, b: *const Signed; orders: *mut i8, rows: usize) =
        DynSignedBatch::cmp;

    /// Returns a mask of the rows with `a = b`.
    fn gpuint_signed_eq_mask(a: *const Signed, b: *const Signed; mask: *mut *mut Mask) =
        DynSignedBatch::eq_mask;

    /// Returns a mask of the rows with `a < b`.
    fn gpuint_signed_lt_mask(a: *const Signed, b: *const Signed; mask: *mut *mut Mask) =
        DynSignedBatch::lt_mask;

    /// Computes `gcd = a x + b y`, with the cofactors of `gpuint_xgcd`.
    fn gpuint_xgcd_signed(
        a: *const Batch, b: *const Batch;
        gcd: *mut *mut Batch, x: *mut *mut Signed, y: *mut *mut Signed
    ) = DynBatch::xgcd_signed;

    /// Frees the handle. NULL is allowed.
    fn gpuint_signed_free(signed: *mut Signed) = |signed| remove(signed, "signed");
}
