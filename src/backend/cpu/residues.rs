//! Residues modulo odd numbers: products divided by `R = 2^BITS` (Montgomery, "Modular
//! multiplication without trial division", Math. Comp. 44, 1985).
//!
//! The record of a modulus `n` holds `n` and `-1 / n mod R`. Where the width is whole limbs and no
//! wider than [`MONTGOMERY`] limbs, a reduction takes a limb at a time and needs the inverse of the
//! lowest limb only. Else it takes two products: with `m = t (-1 / n) mod R`, `t + m n` is a
//! multiple of `R`, and divided by `R` less than `2 n` for `t < R n`.

use super::limbs::{
    LIMB_BITS, add_assign, add_limb, assign, compare, shift_left, shift_right, sub_assign,
};
use super::prepared::{MONTGOMERY, Montgomery, negative_inverse_of_limb};
use super::product::{self, multiply, multiply_low, square};

/// Scratch of [`prepare`] at moduli of `n` limbs.
pub(super) const fn prepare_scratch_limbs(n: usize) -> usize {
    n + inverse_scratch_limbs(n)
}

/// Scratch of [`reduce_product`] at rows of `n` limbs.
pub(super) const fn scratch_limbs(n: usize) -> usize {
    6 * n + 1 + product::scratch_limbs(n)
}

/// Clears the bits from `bits` on.
fn cut(a: &mut [u64], bits: usize) {
    if let Some(top) = a.get_mut(bits / LIMB_BITS) {
        *top &= (1 << (bits % LIMB_BITS)) - 1;
    }
}

/// Scratch of [`negative_inverse`] at numbers of `n` limbs.
pub(super) const fn inverse_scratch_limbs(n: usize) -> usize {
    2 * n + product::scratch_limbs(n)
}

/// Sets `x` to `-1 / n` modulo the base of `x`, which is as long as the odd `n`.
///
/// The inverse of the lowest limb is lengthened by Newton's iteration `x (2 - n x)`, which doubles
/// the number of right bits. For its negative, `y = -x`, this is `y (2 + n y)`.
pub(super) fn negative_inverse(x: &mut [u64], n: &[u64], scratch: &mut [u64]) {
    let limbs = n.len();
    let (correction, scratch) = scratch.split_at_mut(limbs);
    x[0] = negative_inverse_of_limb(n[0]);
    let mut len = 1;
    while len < limbs {
        let wider = limbs.min(2 * len);
        let correction = &mut correction[..wider];
        multiply_low(correction, &n[..wider], &x[..len], scratch);
        add_limb(correction, 2);
        let (product, scratch) = scratch.split_at_mut(wider);
        multiply_low(product, correction, &x[..len], scratch);
        x[..wider].copy_from_slice(product);
        len = wider;
    }
}

/// Writes the record of an odd modulus.
pub(super) fn prepare(record: &mut [u64], n: &[u64], bits: usize, scratch: &mut [u64]) {
    let (x, scratch) = scratch.split_at_mut(n.len());
    negative_inverse(x, n, scratch);
    cut(x, bits);
    shift_left(record, x, bits);
    for (record, &n) in record.iter_mut().zip(n) {
        *record |= n;
    }
}

/// Sets `out` to `a b / R mod n`, or to `a^2 / R mod n` without a `b`, where one factor is less
/// than `n` and the other less than `R`.
pub(super) fn reduce_product(
    out: &mut [u64],
    a: &[u64],
    b: Option<&[u64]>,
    record: &[u64],
    bits: usize,
    scratch: &mut [u64],
) {
    let limbs = a.len();
    let (n, scratch) = scratch.split_at_mut(limbs);
    let (t, scratch) = scratch.split_at_mut(2 * limbs + 1);
    let (product, above) = t.split_at_mut(2 * limbs);
    above.fill(0);
    match b {
        Some(b) => multiply(product, a, b, scratch),
        None => square(product, a, scratch),
    }
    assign(n, &record[..limbs]);
    cut(n, bits);
    if bits.is_multiple_of(LIMB_BITS) && limbs <= MONTGOMERY {
        let inverse = record[limbs];
        return Montgomery { v: n, inverse }.reduce(out, product);
    }
    let (m, scratch) = scratch.split_at_mut(limbs);
    let (multiple, scratch) = scratch.split_at_mut(2 * limbs);
    let (inverse, rest) = multiple.split_at_mut(limbs);
    shift_right(inverse, record, bits);
    let t_low = &mut rest[..limbs];
    assign(t_low, product);
    multiply_low(m, t_low, inverse, scratch);
    cut(m, bits);
    multiply(multiple, m, n, scratch);
    add_assign(t, multiple);
    // The sum is less than 2 n R: it may have a bit above the width.
    shift_right(multiple, t, bits);
    if multiple[limbs] != 0 || compare(&multiple[..limbs], n).is_ge() {
        sub_assign(multiple, n);
    }
    assign(out, multiple);
}
