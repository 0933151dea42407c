//! Square roots by Zimmermann's recursion ("Karatsuba square root", INRIA RR-3805, 1999), as in
//! `src/ops/sqrt.rs`, in base `B = 2^64`.
//!
//! The upper limbs of `a = a' B^2l + a1 B^l + a0` have the root `s'` and the remainder `r'`, and
//!
//! ```text
//! q, u = (r' B^l + a1) / 2s'      s = s' B^l + q      r = u B^l + a0 - q^2.
//! ```
//!
//! If `r` is negative, `s - 1` is the root, and `r + 2s - 1` its remainder.

use super::division::{self, divide};
use super::limbs::{
    LIMB_BITS, add_assign, assign, bit_length, decrement, increment, shift_left, shift_left_assign,
    shift_right, sub, sub_assign, trimmed,
};
use super::product::{self, square};

/// Scratch of [`root`] at integers of `n` limbs.
pub(super) const fn scratch_limbs(n: usize) -> usize {
    let half = n.div_ceil(2);
    let level = 6 * (half + 1) + division::scratch_limbs(half + 1);
    4 * half + 1 + level + 2 * n + product::scratch_limbs(n + 1)
}

/// Sets `root` to the square root of `a`, rounded down, and `remainder` to `a - root^2`, all of one
/// length.
pub(super) fn root(root: &mut [u64], remainder: &mut [u64], a: &[u64], scratch: &mut [u64]) {
    let n = trimmed(a).len().div_ceil(2);
    if n == 0 {
        root.fill(0);
        return remainder.fill(0);
    }
    let (normalized, scratch) = scratch.split_at_mut(2 * n);
    let (normalized_root, scratch) = scratch.split_at_mut(n);
    let (rest, scratch) = scratch.split_at_mut(n + 1);
    let shift = (2 * n * LIMB_BITS - bit_length(a)) / 2;
    shift_left(normalized, trimmed(a), 2 * shift);
    normalized_root_of(normalized_root, rest, normalized, scratch);
    if shift == 0 {
        assign(root, normalized_root);
        return assign(remainder, rest);
    }
    shift_right(root, normalized_root, shift);
    let (product, scratch) = scratch.split_at_mut(2 * root.len());
    square(product, root, scratch);
    sub(remainder, a, &product[..a.len()]);
}

/// Computes the root, of `n` limbs, and the remainder, of `n + 1` limbs, of `2n` limbs whose top
/// two bits are not both zero.
fn normalized_root_of(root: &mut [u64], remainder: &mut [u64], a: &[u64], scratch: &mut [u64]) {
    let n = root.len();
    if n == 1 {
        let a = u128::from(a[1]) << 64 | u128::from(a[0]);
        root[0] = a.isqrt() as u64;
        let rest = a - u128::from(root[0]).pow(2);
        return remainder.copy_from_slice(&[rest as u64, (rest >> 64) as u64]);
    }
    let low = n / 2;
    let high = n - low;
    normalized_root_of(&mut root[low..], &mut remainder[..=high], &a[2 * low..], scratch);
    let (dividend, scratch) = scratch.split_at_mut(n + 1);
    let (half, scratch) = scratch.split_at_mut(n + 1);
    let (quotient, scratch) = scratch.split_at_mut(n + 1);
    let (rest, scratch) = scratch.split_at_mut(n + 1);
    dividend[..low].copy_from_slice(&a[low..2 * low]);
    dividend[low..].copy_from_slice(&remainder[..=high]);
    // Half the dividend, by s', whose top bit is set.
    let is_odd = dividend[0] & 1;
    shift_right(half, dividend, 1);
    divide(quotient, rest, half, &root[low..], scratch);
    shift_left_assign(rest, 1);
    rest[0] |= is_odd;
    remainder[..low].copy_from_slice(&a[..low]);
    assign(&mut remainder[low..], &rest[..=high]);
    let (product, scratch) = scratch.split_at_mut(2 * n + 2);
    square(product, quotient, scratch);
    let is_negative = sub_assign(remainder, &product[..=n]);
    root[..low].copy_from_slice(&quotient[..low]);
    if quotient[low] != 0 {
        // B^n wraps to 0. Then it is too large, and B^n - 1 is right.
        increment(&mut root[low..]);
    }
    if is_negative {
        decrement(root);
        add_assign(remainder, root);
        add_assign(remainder, root);
        increment(remainder);
    }
}
