//! Division of integers: by limbs, by rows of limb products, and in halves above.
//!
//! A divisor is *normalized* where its top bit is set. Then the two top limbs of dividend and
//! divisor give a limb of the quotient that is at most 1 too large (D. E. Knuth, TAOCP 2, 4.3.1,
//! Algorithm D), by a reciprocal of the divisor's two top limbs instead of the CPU's division
//! (N. Möller and T. Granlund, "Improved division by invariant integers", IEEE Trans. Comput. 60,
//! 2011: Algorithms 4, 5 and 6). Long quotients are taken in halves, each by the top half of the
//! divisor, and corrected by the product with the rest (C. Burnikel and J. Ziegler, "Fast recursive
//! division", MPI-I-98-1-022, 1998).

use super::limbs::{
    LIMB_BITS, add_assign, assign, bit_length, compare, decrement, increment, shift_left,
    shift_right, sub_assign, sub_product, trimmed,
};
use super::product::{self, multiply};

/// Limbs of a quotient from which on it is taken in halves (measured on AMD Zen 5).
const HALVES: usize = 48;

// The shortened divisors of the recursion have two limbs or more.
const _: () = assert!(HALVES >= 4);

/// Scratch of [`divide_normalized`] by a divisor of `n` limbs.
pub(super) const fn block_scratch_limbs(n: usize) -> usize {
    n + product::scratch_limbs(n)
}

/// Scratch of [`divide`] at dividends of `m` limbs.
pub(super) const fn scratch_limbs(m: usize) -> usize {
    2 * m + 2 + block_scratch_limbs(m)
}

/// `(B^2 - 1) / d - B` for a normalized limb.
pub(super) fn reciprocal(d: u64) -> u64 {
    (u128::MAX / u128::from(d)) as u64
}

/// The quotient and the remainder of `(high, low)` by a normalized limb above `high`, whose
/// [`reciprocal`] is `inverse`.
#[inline(always)]
fn divide_pair(high: u64, low: u64, d: u64, inverse: u64) -> (u64, u64) {
    let estimate =
        u128::from(inverse) * u128::from(high) + (u128::from(high) << 64 | u128::from(low));
    let mut q = ((estimate >> 64) as u64).wrapping_add(1);
    let mut r = low.wrapping_sub(q.wrapping_mul(d));
    if r > estimate as u64 {
        q = q.wrapping_sub(1);
        r = r.wrapping_add(d);
    }
    if r >= d {
        q = q.wrapping_add(1);
        r -= d;
    }
    (q, r)
}

/// Divides by a limb, which is not zero: sets `quotient`, as long as `u`, and returns the
/// remainder.
///
/// Let `d` be normalized, `v` its [`reciprocal`], and `f = B^2 - (B + v) d`, which is from 1 to
/// `d`. The limbs of `u` above limb `j` are a quotient times `d` plus two limbs `(a, b)`. Limb `j`
/// appends `u[j]`, and `B^2 = (B + v) d + f` removes the new top limb:
///
/// ```text
/// (a, b, u[j]) = a (B + v) d + s,   s = a f + (b, u[j]) = c B^2 + (a', b'),   c = 0 or 1
/// c B^2 + (a', b') = c (B + v) d + (a', b' + c f)
/// ```
///
/// If `b' + c f` overflows, its carry `e` is removed as `B = d + (B - d)`, and the sum less `d` is
/// a limb, since `f <= d`. So limb `j` of the quotient gains `(a + c)(B + v) + e`. Only `a' <- a`
/// is in the chain from limb to limb: one product and one addition with carry, where a division of
/// two limbs by one has two products (Möller and Granlund, section 3, without its corrections). The
/// quotient is at most that of the limbs so far, so that it never overflows its own limbs.
pub(super) fn divide_by_limb(quotient: &mut [u64], u: &[u64], d: u64) -> u64 {
    let Some((&top, rest)) = u.split_last() else { return 0 };
    let quotient = &mut quotient[..u.len()];
    let shift = d.leading_zeros();
    let d = d << shift;
    let inverse = reciprocal(d);
    let fold = d.wrapping_mul(inverse).wrapping_neg();
    // The bits of a limb that the shift moves to the limb above.
    let carried = |limb: u64| limb >> 1 >> (u64::BITS - 1 - shift);
    let mut limb = rest.last().copied().unwrap_or(0);
    let (mut a, mut b) = (carried(top), top << shift | carried(limb));
    // Limbs j + 2 and j + 1 of the quotient.
    let (mut q2, mut q1) = (0_u64, 0_u64);
    for j in (0..rest.len()).rev() {
        let below = if j > 0 { rest[j - 1] } else { 0 };
        let appended = limb << shift | carried(below);
        limb = below;
        let (s, c) = (u128::from(a) * u128::from(fold))
            .overflowing_add(u128::from(b) << 64 | u128::from(appended));
        // Carries are random: they select by masks, not by branches.
        let mask = u64::from(c).wrapping_neg();
        let (sum, e) = (s as u64).overflowing_add(fold & mask);
        b = sum.wrapping_sub(d & u64::from(e).wrapping_neg());
        // a v <= (B - 1)^2 leaves room for c v + e.
        let low = u128::from(a) * u128::from(inverse) + u128::from(inverse & mask) + u128::from(e);
        let high = (low >> 64) + u128::from(a) + u128::from(c) + u128::from(q1);
        a = (s >> 64) as u64;
        let (sum, carry) = q2.overflowing_add((high >> 64) as u64);
        // Above the quotient there is nothing to store.
        if let Some(q) = quotient.get_mut(j + 2) {
            *q = sum;
            if carry {
                increment(&mut quotient[j + 3..]);
            }
        }
        (q2, q1) = (high as u64, low as u64);
    }
    let is_above = a >= d;
    let (q0, r) = divide_pair(if is_above { a - d } else { a }, b, d, inverse);
    let last = u128::from(q2) << 64 | u128::from(q1);
    let (last, carry) = last.overflowing_add(u128::from(is_above) << 64 | u128::from(q0));
    quotient[0] = last as u64;
    if let Some(q) = quotient.get_mut(1) {
        *q = (last >> 64) as u64;
        if carry {
            increment(&mut quotient[2..]);
        }
    }
    r >> shift
}

/// The two top limbs of a normalized divisor with their reciprocal
/// `(B^3 - 1) / (d1 B + d0) - B`.
#[derive(Debug, Clone, Copy)]
struct Top {
    d1: u64,
    d0: u64,
    inverse: u64,
}

impl Top {
    fn new(d: &[u64]) -> Self {
        let (d1, d0) = (d[d.len() - 1], d[d.len() - 2]);
        let mut inverse = reciprocal(d1);
        let mut p = d1.wrapping_mul(inverse).wrapping_add(d0);
        if p < d0 {
            inverse = inverse.wrapping_sub(1);
            if p >= d1 {
                inverse = inverse.wrapping_sub(1);
                p = p.wrapping_sub(d1);
            }
            p = p.wrapping_sub(d1);
        }
        let t = u128::from(inverse) * u128::from(d0);
        let (p, carry) = p.overflowing_add((t >> 64) as u64);
        if carry {
            inverse = inverse.wrapping_sub(1);
            if (p, t as u64) >= (d1, d0) {
                inverse = inverse.wrapping_sub(1);
            }
        }
        Self { d1, d0, inverse }
    }

    /// Returns the quotient of three limbs, whose two top limbs are below the divisor's, and the
    /// two limbs of the remainder.
    #[inline(always)]
    fn divide(self, u2: u64, u1: u64, u0: u64) -> (u64, u128) {
        let d = u128::from(self.d1) << 64 | u128::from(self.d0);
        let estimate =
            u128::from(self.inverse) * u128::from(u2) + (u128::from(u2) << 64 | u128::from(u1));
        let (mut q, q0) = ((estimate >> 64) as u64, estimate as u64);
        let r1 = u1.wrapping_sub(q.wrapping_mul(self.d1));
        let t = u128::from(self.d0) * u128::from(q);
        let mut r = (u128::from(r1) << 64 | u128::from(u0)).wrapping_sub(t).wrapping_sub(d);
        q = q.wrapping_add(1);
        if (r >> 64) as u64 >= q0 {
            q = q.wrapping_sub(1);
            r = r.wrapping_add(d);
        }
        if r >= d {
            q = q.wrapping_add(1);
            r -= d;
        }
        (q, r)
    }
}

/// Divides `a` by a normalized divisor of `n >= 2` limbs that is greater than the `n` top limbs of
/// `a`: the remainder replaces the `n` low limbs, and the limbs above become zero. The quotient has
/// the limbs that `a` has above `n`.
pub(super) fn divide_normalized(q: &mut [u64], a: &mut [u64], d: &[u64], scratch: &mut [u64]) {
    let n = d.len();
    // The top block is the short one.
    let mut end = q.len();
    while end > 0 {
        let start = (end - 1) / n * n;
        let above = divide_block(&mut q[start..end], &mut a[start..end + n], d, scratch);
        debug_assert_eq!(above, 0, "the remainder is less than the divisor");
        end = start;
    }
}

/// [`divide_normalized`] for a quotient of `t <= n` limbs, where the `n` top limbs of `a` may also
/// equal the divisor: then the quotient is `B^t - 1`, and the remainder may be longer than the
/// divisor by a limb, which is returned; otherwise that is zero.
fn divide_block(q: &mut [u64], a: &mut [u64], d: &[u64], scratch: &mut [u64]) -> u64 {
    let (n, t) = (d.len(), q.len());
    if compare(&a[t..], d).is_ge() {
        // a - (B^t - 1) d = a mod B^t + d.
        q.fill(u64::MAX);
        a[t..].fill(0);
        return add_assign(&mut a[..n], d).into();
    }
    if t < HALVES {
        divide_rows(q, a, d);
        return 0;
    }
    if t == n {
        let low = n / 2;
        let above = divide_block(&mut q[low..], &mut a[low..], d, scratch);
        debug_assert_eq!(above, 0, "the remainder is less than the divisor");
        return divide_block(&mut q[..low], &mut a[..low + n], d, scratch);
    }
    // The t top limbs of the divisor give a quotient that is too large by at most 2 (Burnikel and
    // Ziegler, Lemma 2). `above` is -1, 0 or 1.
    let (d_low, d_high) = d.split_at(n - t);
    let mut above = divide_block(q, &mut a[n - t..], d_high, scratch);
    let (product, scratch) = scratch.split_at_mut(n);
    multiply(product, q, d_low, scratch);
    above = above.wrapping_sub(sub_assign(&mut a[..n], product).into());
    while above > 1 {
        decrement(q);
        above = above.wrapping_add(add_assign(&mut a[..n], d).into());
    }
    above
}

/// Algorithm D, a limb of the quotient at a time.
fn divide_rows(q: &mut [u64], a: &mut [u64], d: &[u64]) {
    let n = d.len();
    let top = Top::new(d);
    for (j, q) in q.iter_mut().enumerate().rev() {
        let a = &mut a[j..=j + n];
        let (u2, u1, u0) = (a[n], a[n - 1], a[n - 2]);
        a[n] = 0;
        if (u2, u1) == (top.d1, top.d0) {
            // The rest is below d and has the same two limbs: d lacks less than B^(n-2) to the
            // next limb's step, so the quotient is B - 1.
            *q = u64::MAX;
            sub_product(&mut a[..n], d, u64::MAX);
            continue;
        }
        let (estimate, r) = top.divide(u2, u1, u0);
        *q = estimate;
        let borrow = sub_product(&mut a[..n - 2], &d[..n - 2], estimate);
        let (r, is_negative) = r.overflowing_sub(borrow.into());
        (a[n - 1], a[n - 2]) = ((r >> 64) as u64, r as u64);
        if is_negative {
            *q -= 1;
            add_assign(&mut a[..n], d);
        }
    }
}

/// Sets `q` and `r` to `u / v`, rounded down, and `u mod v`, both with zeros above; `v` is not
/// zero. The outputs have room for the results.
pub(super) fn divide(q: &mut [u64], r: &mut [u64], u: &[u64], v: &[u64], scratch: &mut [u64]) {
    let (u, v) = (trimmed(u), trimmed(v));
    let (m, n) = (u.len(), v.len());
    if m < n {
        q.fill(0);
        return assign(r, u);
    }
    if n == 1 {
        let (quotient, zeros) = q.split_at_mut(m);
        zeros.fill(0);
        return assign(r, &[divide_by_limb(quotient, u, v[0])]);
    }
    #[cfg(feature = "gmp")]
    if let Some(gmp) = super::gmp::gmp() {
        let (quotient, zeros) = q.split_at_mut(m - n + 1);
        zeros.fill(0);
        let (remainder, zeros) = r.split_at_mut(n);
        zeros.fill(0);
        return gmp.divide(quotient, remainder, u, v);
    }
    let shift = v[n - 1].leading_zeros() as usize;
    let (a, scratch) = scratch.split_at_mut(m + 1);
    let (d, scratch) = scratch.split_at_mut(n);
    shift_left(a, u, shift);
    shift_left(d, v, shift);
    // The top limb of a is below 2^shift, or zero, so the top of a is below d.
    let (quotient, zeros) = q.split_at_mut(m - n + 1);
    zeros.fill(0);
    divide_normalized(quotient, a, d, scratch);
    let (remainder, zeros) = r.split_at_mut(n);
    zeros.fill(0);
    shift_right(remainder, &a[..n], shift);
}

/// Returns true if `2^exponent / v`, rounded down, fits into `out`, which is set to it, or to its
/// low limbs; `v` is not zero, and `out` may have bits above `bits`, which do not count.
pub(super) fn shifted_inverse(
    out: &mut [u64],
    v: &[u64],
    exponent: usize,
    bits: usize,
    scratch: &mut [u64],
) -> bool {
    let limbs = exponent / LIMB_BITS + 1;
    let (u, scratch) = scratch.split_at_mut(limbs);
    let (q, scratch) = scratch.split_at_mut(limbs);
    let (r, scratch) = scratch.split_at_mut(v.len());
    u.fill(0);
    u[limbs - 1] = 1 << (exponent % LIMB_BITS);
    divide(q, r, u, v, scratch);
    assign(out, q);
    bit_length(q) <= bits
}
