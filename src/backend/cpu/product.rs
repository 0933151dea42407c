//! Products of integers: by rows of limb products, by Karatsuba's method above, and by transforms
//! (`transform.rs`) where factors are wide.
//!
//! Karatsuba, with `a = a1 B^h + a0` and `b = b1 B^h + b0`:
//!
//! ```text
//! a b = a1 b1 B^2h + (a1 b1 + a0 b0 - (a0 - a1)(b0 - b1)) B^h + a0 b0
//! ```
//!
//! The differences have `h` limbs and a sign, so no product is wider than its parts (A. Karatsuba
//! and Yu. Ofman, 1962; D. E. Knuth, TAOCP 2, 4.3.3). Functions that need memory take it as
//! `scratch`, of [`scratch_limbs`] limbs.

use super::limbs::{
    LIMB_BITS, abs_difference, add_assign, add_limb, add_product, assign, shift_right, sub_assign,
    sub_from_assign, trimmed,
};
use super::transform;

/// Limbs from which on Karatsuba's method is the faster one (measured on AMD Zen 5).
const KARATSUBA: usize = 40;
/// The same for squares, whose rows need half the products.
const KARATSUBA_SQUARE: usize = 64;
/// The same for low halves.
const SPLIT_LOW: usize = 48;
/// Limbs of the shorter factor from which on transforms are the fastest.
const TRANSFORM: usize = 6000;

// The recursions end: a part is shorter than the whole, and has limbs.
const _: () = assert!(KARATSUBA >= 4 && KARATSUBA_SQUARE >= 4 && SPLIT_LOW >= 4);

/// Scratch for every function of this file, where the shorter factor has `n` limbs.
///
/// Karatsuba takes `S(n) = 2h + S(h)`, `h = ceil(n / 2)`, which is at most `2n + 2 log2 n + 2`. A
/// factor that is longer is cut into parts of `n` limbs, whose products take `2n`; the last part of
/// `r < n` limbs swaps the roles, and `n + r + (n mod r) + ... <= 3n`, since a remainder and the
/// next one sum to no more than the one before. A low half takes `n + 1` limbs, and one of `h`.
pub(super) const fn scratch_limbs(n: usize) -> usize {
    10 * n + 128
}

/// Sets `out`, as long as both factors, to `a b`.
pub(super) fn multiply(out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
    let (a, b) = (trimmed(a), trimmed(b));
    let (out, zeros) = out.split_at_mut(a.len() + b.len());
    zeros.fill(0);
    let (a, b) = if a.len() < b.len() { (b, a) } else { (a, b) };
    if b.is_empty() {
        return out.fill(0);
    }
    #[cfg(feature = "gmp")]
    if let Some(gmp) = super::gmp::gmp() {
        return gmp.multiply(out, a, b);
    }
    if b.len() < TRANSFORM || !transform::multiply(out, a, Some(b)) {
        multiply_own(out, a, b, scratch);
    }
}

/// [`multiply`] for nonempty factors, the first no shorter than the second.
fn multiply_own(out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
    let n = b.len();
    if n < KARATSUBA {
        return multiply_rows(out, a, b);
    }
    if a.len() == n {
        return karatsuba(out, a, b, scratch);
    }
    let (part_product, scratch) = scratch.split_at_mut(2 * n);
    out.fill(0);
    for (index, part) in a.chunks(n).enumerate() {
        let part_product = &mut part_product[..part.len() + n];
        multiply_own(part_product, b, part, scratch);
        add_assign(&mut out[index * n..], part_product);
    }
}

fn multiply_rows(out: &mut [u64], a: &[u64], b: &[u64]) {
    out[..a.len()].fill(0);
    for (i, &limb) in b.iter().enumerate() {
        out[i + a.len()] = add_product(&mut out[i..i + a.len()], a, limb);
    }
}

/// The product of factors of one length.
fn karatsuba(out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
    let h = a.len().div_ceil(2);
    let ((a0, a1), (b0, b1)) = (a.split_at(h), b.split_at(h));
    let (middle, scratch) = scratch.split_at_mut(2 * h);
    let (a_difference, b_difference) = out[..2 * h].split_at_mut(h);
    let is_negative =
        signed_difference(a_difference, a0, a1) != signed_difference(b_difference, b0, b1);
    multiply_own(middle, a_difference, b_difference, scratch);
    multiply_own(&mut out[..2 * h], a0, b0, scratch);
    multiply_own(&mut out[2 * h..], a1, b1, scratch);
    join(out, middle, h, is_negative);
}

/// Sets `out` to `|a0 - a1|`, where `a1` has as many limbs as `a0` or one less; returns true if
/// `a0 < a1`.
fn signed_difference(out: &mut [u64], a0: &[u64], a1: &[u64]) -> bool {
    let n = a1.len();
    if a0[n..].iter().all(|&limb| limb == 0) {
        out[n..].fill(0);
        return abs_difference(&mut out[..n], &a0[..n], a1);
    }
    out.copy_from_slice(a0);
    sub_assign(out, a1);
    false
}

/// The last step: `out` is `a1 b1 B^2h + a0 b0`, `middle` is `|(a0 - a1)(b0 - b1)|`.
fn join(out: &mut [u64], middle: &mut [u64], h: usize, is_negative: bool) {
    let (low, high) = out.split_at(2 * h);
    // a1 b1 + a0 b0 -+ middle is a0 b1 + a1 b0: it is not negative.
    let mut above = if is_negative {
        u64::from(add_assign(middle, low))
    } else {
        u64::from(sub_from_assign(middle, low)).wrapping_neg()
    };
    above = above.wrapping_add(add_assign(middle, high).into());
    above += u64::from(add_assign(&mut out[h..3 * h], middle));
    add_limb(&mut out[3 * h..], above);
}

/// Sets `out`, twice as long as the factor, to `a^2`.
pub(super) fn square(out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
    let a = trimmed(a);
    let (out, zeros) = out.split_at_mut(2 * a.len());
    zeros.fill(0);
    if a.is_empty() {
        return;
    }
    #[cfg(feature = "gmp")]
    if let Some(gmp) = super::gmp::gmp() {
        return gmp.square(out, a);
    }
    if a.len() < TRANSFORM || !transform::multiply(out, a, None) {
        square_own(out, a, scratch);
    }
}

fn square_own(out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
    if a.len() < KARATSUBA_SQUARE {
        return square_rows(out, a);
    }
    let h = a.len().div_ceil(2);
    let (a0, a1) = a.split_at(h);
    let (middle, scratch) = scratch.split_at_mut(2 * h);
    signed_difference(&mut out[..h], a0, a1);
    square_own(middle, &out[..h], scratch);
    square_own(&mut out[..2 * h], a0, scratch);
    square_own(&mut out[2 * h..], a1, scratch);
    join(out, middle, h, false);
}

/// Twice the products of two different limbs, and the squares of limbs.
fn square_rows(out: &mut [u64], a: &[u64]) {
    let n = a.len();
    out.fill(0);
    for i in 0..n {
        out[i + n] = add_product(&mut out[2 * i + 1..i + n], &a[i + 1..], a[i]);
    }
    let mut carry = 0;
    let mut top = 0;
    for (pair, &limb) in out.as_chunks_mut::<2>().0.iter_mut().zip(a) {
        let doubled = [pair[0] << 1 | top, pair[1] << 1 | pair[0] >> 63];
        top = pair[1] >> 63;
        let square = u128::from(limb) * u128::from(limb);
        let low = u128::from(doubled[0]) + u128::from(square as u64) + carry;
        let high = u128::from(doubled[1]) + (square >> 64) + (low >> 64);
        *pair = [low as u64, high as u64];
        carry = high >> 64;
    }
}

/// Sets `out` to the low limbs of `a b`.
pub(super) fn multiply_low(out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
    let n = out.len();
    let (a, b) = (trimmed(&a[..a.len().min(n)]), trimmed(&b[..b.len().min(n)]));
    let (a, b) = if a.len() < b.len() { (b, a) } else { (a, b) };
    if a.len() + b.len() <= n {
        return multiply(out, a, b, scratch);
    }
    // GMP has whole products only.
    #[cfg(feature = "gmp")]
    if n >= SPLIT_LOW
        && let Some(gmp) = super::gmp::gmp()
    {
        let product = &mut scratch[..a.len() + b.len()];
        gmp.multiply(product, a, b);
        return out.copy_from_slice(&product[..n]);
    }
    if b.len() >= TRANSFORM {
        let product = &mut scratch[..a.len() + b.len()];
        if transform::multiply(product, a, Some(b)) {
            return out.copy_from_slice(&product[..n]);
        }
    }
    multiply_low_own(out, a, b, scratch);
}

/// With `l = ceil(n / 2)` and `h = n - l`: the product of the low parts of `l` limbs, and the low
/// `h` limbs of both mixed products above.
fn multiply_low_own(out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
    let n = out.len();
    let (a, b) = (&a[..a.len().min(n)], &b[..b.len().min(n)]);
    if n < SPLIT_LOW || b.len() < KARATSUBA {
        out.fill(0);
        for (i, &limb) in b.iter().enumerate() {
            let len = a.len().min(n - i);
            let above = add_product(&mut out[i..i + len], &a[..len], limb);
            if let Some(next) = out.get_mut(i + len) {
                *next = above;
            }
        }
        return;
    }
    let l = n.div_ceil(2);
    let (a0, a1) = a.split_at(l.min(a.len()));
    let (b0, b1) = b.split_at(l.min(b.len()));
    let (product, scratch) = scratch.split_at_mut(2 * l);
    let low = &mut product[..a0.len() + b0.len()];
    multiply_own(low, a0, b0, scratch);
    assign(out, low);
    for (high, low) in [(a1, b0), (b1, a0)] {
        if !high.is_empty() {
            let mixed = &mut product[..n - l];
            let (longer, shorter) = if high.len() < low.len() { (low, high) } else { (high, low) };
            multiply_low_own(mixed, longer, shorter, scratch);
            add_assign(&mut out[l..], mixed);
        }
    }
}

/// Sets `out`, of `bits` bits, to `a b` modulo `2^bits - 1`: 0 where a factor is 0, else the number
/// from 1 to `2^bits - 1`, by the sum of the low and the high half with an end-around carry.
///
/// The sum is positive with the product, and below `2^(bits + 1) - 1`: with a carry, 1 more than
/// its low bits is at least 1 and at most `2^bits - 1`.
pub(super) fn multiply_cyclic(
    out: &mut [u64],
    a: &[u64],
    b: &[u64],
    bits: usize,
    scratch: &mut [u64],
) {
    let n = out.len();
    let has_whole_limbs = bits == n * LIMB_BITS;
    let (a, b) = (trimmed(a), trimmed(b));
    let (a, b) = if a.len() < b.len() { (b, a) } else { (a, b) };
    if has_whole_limbs && a.len() + b.len() <= n {
        return multiply(out, a, b, scratch);
    }
    #[cfg(feature = "gmp")]
    if has_whole_limbs
        && let Some(gmp) = super::gmp::gmp()
        && !b.is_empty()
        && gmp.multiply_cyclic(out, a, b, scratch)
    {
        return;
    }
    if has_whole_limbs
        && b.len() >= TRANSFORM
        && transform::wraps(n)
        && let Some(carry) = transform::multiply_cyclic(out, a, b)
    {
        // The number is positive, and stays so as its carries come in below.
        let carry = add_limb(out, carry);
        add_limb(out, carry.into());
        return;
    }
    let (product, scratch) = scratch.split_at_mut(2 * n);
    multiply(product, a, b, scratch);
    assign(out, product);
    if has_whole_limbs {
        let carry = add_assign(out, &product[n..]);
        add_limb(out, carry.into());
        return;
    }
    let (rest, top) = (bits % LIMB_BITS, n - 1);
    let mask = (1 << rest) - 1;
    out[top] &= mask;
    let (high, _) = scratch.split_at_mut(n);
    shift_right(high, product, bits);
    // Both are below 2^bits: there is room for the sum.
    add_assign(out, high);
    let carry = out[top] >> rest;
    out[top] &= mask;
    add_limb(out, carry);
}

/// Sets `out` to `a b / B^n` for factors of `n` limbs, or to 1 less: rounded down, or without the
/// products of limbs in the columns below `n - 2`, which sum to less than `B^n`.
///
/// They hold at most `k + 1` products below `B^2` in column `k`, so their sum is below
/// `sum_{k <= n-3} (k + 1) B^(k+2) < (n - 1) B^(n-1)`, and `n < B`.
pub(super) fn multiply_high(out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
    let n = a.len();
    let (product, scratch) = scratch.split_at_mut(2 * n);
    #[cfg(feature = "gmp")]
    let takes_rows = n < KARATSUBA && super::gmp::gmp().is_none();
    #[cfg(not(feature = "gmp"))]
    let takes_rows = n < KARATSUBA;
    if takes_rows {
        // Column k of the product is product[k]; columns below n - 2 stay unused.
        product.fill(0);
        for (i, &limb) in b.iter().enumerate() {
            let skipped = (n - i).saturating_sub(2);
            let columns = i + skipped..i + n;
            product[i + n] = add_product(&mut product[columns], &a[skipped..], limb);
        }
    } else {
        multiply(product, a, b, scratch);
    }
    out.copy_from_slice(&product[n..]);
}

/// Sets `out` to the low limbs of `a^2`.
pub(super) fn square_low(out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
    let a = trimmed(a);
    let (product, scratch) = scratch.split_at_mut(2 * a.len());
    square(product, a, scratch);
    assign(out, product);
}
