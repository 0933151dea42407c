//! Residues, and powers of one base.
#![allow(unsafe_code)]

use std::ffi::c_char;

use gpuint::num_bigint::BigUint;
use gpuint::{DynFixedBase, DynModulus, DynResidues, Error, SpecialModulus};

use crate::call::functions;
use crate::handle::{Batch, Device, FixedBase, Mask, Modulus, Residues, remove};
use crate::memory::{array, numbers};
use crate::status::{Failure, Result};

/// Returns the moduli `k base^n + c` of arrays of the caller, of base 2 without `base`.
///
/// # Safety
/// Of [`array`], for arrays of `rows` elements.
unsafe fn special_moduli(
    k: *const u32,
    base: Option<*const u32>,
    n: *const u32,
    c: *const i32,
    rows: usize,
) -> Result<Vec<SpecialModulus>> {
    // SAFETY: the caller's.
    let k = unsafe { array(k, rows, "k") }?;
    // SAFETY: the caller's.
    let base = base.map(|base| unsafe { array(base, rows, "base") }).transpose()?;
    // SAFETY: the caller's.
    let n = unsafe { array(n, rows, "n") }?;
    // SAFETY: the caller's.
    let c = unsafe { array(c, rows, "c") }?;
    let base = |row: usize| base.map_or(2, |base| base[row]);
    let modulus = |row| SpecialModulus::with_base(k[row], base(row), n[row], c[row]);
    Ok((0..rows).map(modulus).collect())
}

functions! {
    /// Prepares one modulus for all rows of batches for `bits` bits.
    fn gpuint_modulus_splat(
        device: *const Device, bits: usize, modulus: *const c_char; out: *mut *mut Modulus
    ) = |device: &gpuint::Device, bits, modulus: &BigUint| {
        DynModulus::splat(device, device.shape_for(bits)?, modulus)
    };

    /// Prepares the rows of a batch, each as the modulus of the same row of residues.
    fn gpuint_modulus_of_rows(moduli: *const Batch; out: *mut *mut Modulus) = DynModulus::of_rows;

    /// Prepares `rows` moduli `k * 2^n + c`, each as the modulus of the same row of residues of
    /// batches for `bits` bits. With small `k` and `c`, a product of residues is one product and a
    /// fold in linear time.
    fn gpuint_modulus_of_special(
        device: *const Device, bits: usize, k: *const u32, n: *const u32, c: *const i32,
        rows: usize;
        out: *mut *mut Modulus
    ) = |device: &gpuint::Device, bits, k, n, c, rows| {
        // SAFETY: the header requires that the arrays have `rows` elements.
        let moduli = unsafe { special_moduli(k, None, n, c, rows) }?;
        Ok::<_, Failure>(DynModulus::of_special(device, device.shape_for(bits)?, &moduli)?)
    };

    /// Prepares `rows` moduli `k * base^n + c`; otherwise as `gpuint_modulus_of_special`. Folds
    /// reduce modulo numbers of base 2 only.
    fn gpuint_modulus_of_special_base(
        device: *const Device, bits: usize, k: *const u32, base: *const u32, n: *const u32,
        c: *const i32, rows: usize;
        out: *mut *mut Modulus
    ) = |device: &gpuint::Device, bits, k, base, n, c, rows| {
        // SAFETY: the header requires that the arrays have `rows` elements.
        let moduli = unsafe { special_moduli(k, Some(base), n, c, rows) }?;
        Ok::<_, Failure>(DynModulus::of_special(device, device.shape_for(bits)?, &moduli)?)
    };

    /// Prepares the modulus `k * 2^n + c` for all rows; otherwise as `gpuint_modulus_of_special`.
    fn gpuint_modulus_splat_special(
        device: *const Device, bits: usize, k: u32, n: u32, c: i32; out: *mut *mut Modulus
    ) = |device: &gpuint::Device, bits, k, n, c| {
        let modulus = SpecialModulus::new(k, n, c);
        DynModulus::splat_special(device, device.shape_for(bits)?, modulus)
    };

    /// Stores true and the parts of a number `k * 2^n + c` with odd `k < 2^31`, `n >= 128` and
    /// `0 < |c| <= 2^13`, and false and zeros for other numbers.
    fn gpuint_special_modulus_recognize(
        number: *const c_char; is_special: *mut bool, k: *mut u32, n: *mut u32, c: *mut i32
    ) = |number: &BigUint| Ok::<_, Error>(SpecialModulus::recognize(number));

    /// Stores true if products of residues are reduced in linear time.
    fn gpuint_modulus_is_special(modulus: *const Modulus; is_special: *mut bool) =
        |modulus: &DynModulus| Ok::<_, Error>(modulus.is_special());

    /// Frees the handle. NULL is allowed. Its residues stay valid.
    fn gpuint_modulus_free(modulus: *mut Modulus) = |modulus| remove(modulus, "modulus");

    /// Makes residues of values.
    fn gpuint_residues_of_batch(
        values: *const Batch, modulus: *const Modulus; out: *mut *mut Residues
    ) = DynResidues::new;

    /// Makes `rows` residues, all of one value.
    fn gpuint_residues_splat(
        value: *const c_char, rows: usize, modulus: *const Modulus; out: *mut *mut Residues
    ) = DynResidues::splat;

    /// Stores the number of rows.
    fn gpuint_residues_rows(a: *const Residues; rows: *mut usize) =
        |a: &DynResidues| Ok::<_, Error>(a.len());

    /// Converts the residues to numbers from 0 to `modulus - 1`.
    fn gpuint_residues_to_batch(a: *const Residues; out: *mut *mut Batch) = DynResidues::to_batch;

    /// Computes `a + b`.
    fn gpuint_residues_add(a: *const Residues, b: *const Residues; sum: *mut *mut Residues) =
        DynResidues::add;

    /// Computes `a - b`.
    fn gpuint_residues_sub(
        a: *const Residues, b: *const Residues; difference: *mut *mut Residues
    ) = DynResidues::sub;

    /// Computes `-a`.
    fn gpuint_residues_neg(a: *const Residues; out: *mut *mut Residues) = DynResidues::neg;

    /// Computes `2 * a`.
    fn gpuint_residues_double(a: *const Residues; out: *mut *mut Residues) = DynResidues::double;

    /// Computes `a / 2`, the residue whose double is `a`. The moduli must be odd.
    fn gpuint_residues_halve(a: *const Residues; out: *mut *mut Residues) = DynResidues::halve;

    /// Computes `a * b`.
    fn gpuint_residues_mul(a: *const Residues, b: *const Residues; product: *mut *mut Residues) =
        DynResidues::mul;

    /// Computes `a^2`.
    fn gpuint_residues_square(a: *const Residues; square: *mut *mut Residues) =
        DynResidues::square;

    /// Computes `a^(2^count)`: `count` squares one after the other.
    fn gpuint_residues_square_repeatedly(
        a: *const Residues, count: usize; power: *mut *mut Residues
    ) = DynResidues::square_repeatedly;

    /// Computes `base^exponents`, an exponent for each row. Modulo wide special moduli, a bit of
    /// the exponents takes one square; the base then costs nothing.
    fn gpuint_residues_powers_of(
        base: u32, exponents: *const Batch, modulus: *const Modulus; power: *mut *mut Residues
    ) = DynResidues::powers_of;

    /// Computes `a^exponents`, row by row. The exponents may have another width than `a`.
    fn gpuint_residues_pow(
        a: *const Residues, exponents: *const Batch; power: *mut *mut Residues
    ) = DynResidues::pow;

    /// Computes `a^exponents` with `count` exponents of any length, one for each row, which are
    /// numbers as text.
    fn gpuint_residues_pow_rows(
        a: *const Residues, exponents: *const *const c_char, count: usize;
        power: *mut *mut Residues
    ) = |a: &DynResidues, exponents, count| {
        // SAFETY: the header requires that there are `count` texts, which end with NUL.
        let exponents = unsafe { numbers(exponents, count, "exponents") }?;
        Ok::<_, Failure>(a.pow_rows(&exponents)?)
    };

    /// Computes `a^exponent`, with one exponent of any length for all rows.
    fn gpuint_residues_pow_all(
        a: *const Residues, exponent: *const c_char; power: *mut *mut Residues
    ) = DynResidues::pow_all;

    /// Returns a mask of the rows with `a = b`.
    fn gpuint_residues_eq_mask(a: *const Residues, b: *const Residues; mask: *mut *mut Mask) =
        DynResidues::eq_mask;

    /// Returns a mask of the rows that are 0.
    fn gpuint_residues_is_zero_mask(a: *const Residues; mask: *mut *mut Mask) =
        DynResidues::is_zero_mask;

    /// Returns the rows of `a` whose bit in the mask is set, and the rows of `b` elsewhere.
    fn gpuint_residues_select(
        a: *const Residues, mask: *const Mask, b: *const Residues; out: *mut *mut Residues
    ) = DynResidues::select;

    /// Frees the handle. NULL is allowed.
    fn gpuint_residues_free(residues: *mut Residues) = |residues| remove(residues, "residues");

    /// Prepares the powers of `base` modulo `modulus`, both of at most `bits` bits, for exponents
    /// below `2^exponent_bits`.
    fn gpuint_fixed_base_new(
        device: *const Device, bits: usize, base: *const c_char, modulus: *const c_char,
        exponent_bits: usize;
        out: *mut *mut FixedBase
    ) = |device: &gpuint::Device, bits, base, modulus, exponent_bits| {
        DynFixedBase::new(device, device.shape_for(bits)?, base, modulus, exponent_bits)
    };

    /// Computes the powers by the rows of a batch of any width.
    fn gpuint_fixed_base_pow(
        base: *const FixedBase, exponents: *const Batch; power: *mut *mut Batch
    ) = DynFixedBase::pow;

    /// Computes the powers by `count` numbers, which are texts.
    fn gpuint_fixed_base_pow_rows(
        base: *const FixedBase, exponents: *const *const c_char, count: usize;
        power: *mut *mut Batch
    ) = |base: &DynFixedBase, exponents, count| {
        // SAFETY: the header requires that there are `count` texts, which end with NUL.
        let exponents = unsafe { numbers(exponents, count, "exponents") }?;
        Ok::<_, Failure>(base.pow_rows(&exponents)?)
    };

    /// Frees the handle. NULL is allowed.
    fn gpuint_fixed_base_free(base: *mut FixedBase) = |base| remove(base, "base");
}
