//! Greatest common divisors, Jacobi symbols and inverses by Euclid's algorithm: as many quotients
//! as the leading bits of both numbers determine are found at once, and applied together
//! (`half_gcd`). Where the leading bits determine none, the numbers are divided.
//!
//! For an inverse of `v` modulo `n`, the algorithm runs on `n` and `v mod n` and keeps `s` and `t`
//! with `x = -s v` and `y = t v` modulo `n`. Each step subtracts a multiple of `x` from `y` or of
//! `y` from `x`, so that `s` and `t` only grow, to at most `n` (D. E. Knuth, TAOCP 2, 4.5.2,
//! exercise 21).

use std::mem::swap;

use super::division::{self, divide};
use super::half_gcd::{self, Observer, Steps, common_len, leading, reduce_top};
use super::jacobi::Symbol;
use super::limbs::{
    LIMB_BITS, add_assign, assign, bit, bit_length, compare, shift_right, sub, trailing_zeros,
    trimmed,
};
use super::product::{self, multiply};
use crate::interrupt;

/// Limbs from which on numbers are reduced by half-gcds of their upper halves (measured on an
/// Intel Xeon).
const HALVES: usize = 384;

/// Scratch of [`gcd`] and [`jacobi`] at integers of `n` limbs.
pub(super) const fn scratch_limbs(n: usize) -> usize {
    let halves = if n < HALVES { 0 } else { half_gcd::scratch_limbs(n) };
    let divide = division::scratch_limbs(n);
    4 * n + if halves > divide { halves } else { divide }
}

/// Sets `out` to the greatest common divisor of two integers, all of one length.
pub(super) fn gcd(out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
    let (x, scratch) = scratch.split_at_mut(out.len());
    let (y, scratch) = scratch.split_at_mut(out.len());
    x.copy_from_slice(a);
    y.copy_from_slice(b);
    assign(out, common_divisor(x, y, &mut (), scratch));
}

/// Returns the Jacobi symbol of two integers of one length, Kronecker's for even `n`: `n = 2^k m`
/// gives `(a | n) = (2 | a)^k (a | m)`.
pub(super) fn jacobi(a: &[u64], n: &[u64], scratch: &mut [u64]) -> i8 {
    let Some(twos) = trailing_zeros(n) else { return i8::from(trimmed(a) == [1]) };
    if twos > 0 && !bit(a, 0) {
        return 0;
    }
    let (x, scratch) = scratch.split_at_mut(n.len());
    let (y, scratch) = scratch.split_at_mut(n.len());
    x.copy_from_slice(a);
    shift_right(y, n, twos);
    let mut symbol = Symbol::new(x[0], y[0], twos % 2 == 1 && matches!(x[0] % 8, 3 | 5));
    let divisor = common_divisor(x, y, &mut symbol, scratch);
    if trimmed(divisor) == [1] { symbol.sign() } else { 0 }
}

/// Returns the greatest common divisor of two integers of one length, which become scratch, and
/// shows the steps to an observer. Scratch: [`scratch_limbs`] less both integers. An interrupted
/// call returns any integer.
fn common_divisor<'a>(
    mut x: &'a mut [u64],
    mut y: &'a mut [u64],
    observer: &mut impl Observer,
    scratch: &'a mut [u64],
) -> &'a [u64] {
    let (mut r, scratch) = scratch.split_at_mut(x.len());
    let (q, scratch) = scratch.split_at_mut(x.len());
    let mut len = x.len();
    loop {
        len = common_len(&x[..len], &y[..len]);
        if len <= 2 {
            let pair = |limbs: &[u64]| {
                limbs.iter().take(2).rev().fold(0, |pair, &limb| pair << 64 | u128::from(limb))
            };
            let divisor = common_divisor_of_pairs(pair(x), pair(y), observer);
            assign(x, &[divisor as u64, (divisor >> 64) as u64]);
            return x;
        }
        let (x_limbs, y_limbs) = (&mut x[..len], &mut y[..len]);
        let is_reduced = if len >= HALVES {
            if interrupt::is_requested() {
                return y;
            }
            reduce_top(x_limbs, y_limbs, len.div_ceil(2), observer, scratch).is_some()
        } else {
            let steps = Steps::of_pairs(leading(x_limbs, y_limbs), observer);
            steps.inspect(|steps| steps.apply(x_limbs, y_limbs)).is_some()
        };
        if is_reduced {
            continue;
        }
        let is_x_less = compare(x_limbs, y_limbs).is_lt();
        let (greater, lesser) = if is_x_less { (&mut y, &x) } else { (&mut x, &y) };
        if trimmed(lesser).is_empty() {
            return if is_x_less { y } else { x };
        }
        divide(q, r, greater, lesser, scratch);
        swap(greater, &mut r);
        if is_x_less {
            observer.reduced_y(q[0]);
        } else {
            observer.reduced_x(q[0]);
        }
    }
}

/// [`common_divisor`] of two limbs.
fn common_divisor_of_pairs(mut x: u128, mut y: u128, observer: &mut impl Observer) -> u128 {
    loop {
        let shift = 64 - (x | y).leading_zeros().min(64);
        if shift == 0 {
            return common_divisor_of_limbs(x as u64, y as u64, observer).into();
        }
        let [x_top, y_top] = [x, y].map(|number| (number >> shift) as u64);
        if let Some(steps) = Steps::of_limbs(x_top, y_top, observer) {
            (x, y) = steps.apply_to_pairs(x, y);
        } else if x.min(y) == 0 {
            return x | y;
        } else if x < y {
            observer.reduced_y((y / x) as u64);
            y %= x;
        } else {
            observer.reduced_x((x / y) as u64);
            x %= y;
        }
    }
}

/// [`common_divisor`] of a limb.
fn common_divisor_of_limbs(mut x: u64, mut y: u64, observer: &mut impl Observer) -> u64 {
    loop {
        if y == 0 {
            return x;
        }
        observer.reduced_x(x / y);
        x %= y;
        if x == 0 {
            return y;
        }
        observer.reduced_y(y / x);
        y %= x;
    }
}

/// Scratch of [`invert`] and [`reconstruct`] at integers of `n` limbs.
pub(super) const fn invert_scratch_limbs(n: usize) -> usize {
    let halves = if n < HALVES { 0 } else { half_gcd::scratch_limbs(n) };
    9 * n + division::scratch_limbs(n) + product::scratch_limbs(n) + halves
}

/// Sets `out` to the inverse of `v` modulo `n >= 2`, all of one length; returns false where there
/// is none.
pub(super) fn invert(out: &mut [u64], v: &[u64], n: &[u64], scratch: &mut [u64]) -> bool {
    let (zero, scratch) = scratch.split_at_mut(out.len());
    zero.fill(0);
    let Pair { x, y, s, t } = descend(v, n, zero, scratch);
    if trimmed(y) == [1] {
        assign(out, t);
    } else if trimmed(x) == [1] {
        sub(out, n, s);
    } else {
        out.fill(0);
        return false;
    }
    true
}

/// Sets `numerator` to the first remainder of `m` and `u < m` that is at most `bound`, and
/// `denominator` to the absolute value of its cofactor of `u`, all of one length; returns true if
/// the cofactor is negative and the remainder is not 0.
pub(super) fn reconstruct(
    numerator: &mut [u64],
    denominator: &mut [u64],
    u: &[u64],
    m: &[u64],
    bound: &[u64],
    scratch: &mut [u64],
) -> bool {
    if trimmed(m).is_empty() {
        assign(numerator, &[]);
        assign(denominator, &[]);
        return false;
    }
    let Pair { x, y, s, t } = descend(u, m, bound, scratch);
    let is_negative = compare(x, y).is_lt();
    let (remainder, cofactor) = if is_negative { (x, s) } else { (y, t) };
    assign(numerator, remainder);
    assign(denominator, cofactor);
    is_negative && !trimmed(remainder).is_empty()
}

/// Two numbers `x = -s v` and `y = t v` modulo `n`: neighbouring remainders, or the greater one
/// with a multiple of the other.
struct Pair<'a> {
    x: &'a [u64],
    y: &'a [u64],
    s: &'a [u64],
    t: &'a [u64],
}

/// Euclid's algorithm on `n`, which is not 0, and `v mod n` until a remainder, the lesser number of
/// the pair, is at most `bound`, or until the call is interrupted.
fn descend<'a>(v: &[u64], n: &[u64], bound: &[u64], scratch: &'a mut [u64]) -> Pair<'a> {
    let limbs = n.len();
    let (x, scratch) = scratch.split_at_mut(limbs);
    let (y, scratch) = scratch.split_at_mut(limbs);
    let (r, scratch) = scratch.split_at_mut(limbs);
    let (q, scratch) = scratch.split_at_mut(limbs);
    let (s, scratch) = scratch.split_at_mut(limbs);
    let (t, scratch) = scratch.split_at_mut(limbs);
    let (product, scratch) = scratch.split_at_mut(2 * limbs);
    assign(x, n);
    divide(q, y, v, n, scratch);
    s.fill(0);
    assign(t, &[1]);
    let (mut x, mut y, mut r) = (x, y, r);
    let bound_length = bit_length(bound);
    let mut len = limbs;
    loop {
        len = common_len(&x[..len], &y[..len]);
        let is_x_less = compare(&x[..len], &y[..len]).is_lt();
        let (greater, lesser) = if is_x_less { (&y, &x) } else { (&x, &y) };
        if compare(lesser, bound).is_le() {
            return Pair { x, y, s, t };
        }
        if len >= HALVES && interrupt::is_requested() {
            return Pair { x, y, s, t };
        }
        // Half-gcds of n leading bits leave numbers above 2^(length - n/2), and so above the bound.
        let excess = bit_length(&greater[..len]) - bound_length;
        let (x_limbs, y_limbs) = (&mut x[..len], &mut y[..len]);
        let w = len.div_ceil(2).min((len * LIMB_BITS - bound_length) / (LIMB_BITS / 2));
        if len >= HALVES
            && w >= HALVES / 4
            && let Some((steps, scratch)) = reduce_top(x_limbs, y_limbs, w, &mut (), scratch)
        {
            steps.apply_to_cofactors(s, t, scratch);
            continue;
        }
        let leading = leading(x_limbs, y_limbs);
        let steps = match excess {
            64.. => Steps::of_pairs(leading, &mut ()),
            32.. => {
                let [x, y] = leading.map(|pair| (pair >> 64) as u64);
                Steps::of_limbs(x, y, &mut ())
            }
            _ => None,
        };
        if let Some(steps) = steps {
            steps.apply(x_limbs, y_limbs);
            steps.apply_to_cofactors(s, t);
            continue;
        }
        let (greater, lesser) = if is_x_less { (&mut y, &x) } else { (&mut x, &y) };
        divide(q, r, greater, lesser, scratch);
        swap(greater, &mut r);
        // The cofactor of the greater number grows by q times the other.
        let (grown, cofactor) = if is_x_less { (&mut *t, &*s) } else { (&mut *s, &*t) };
        let (quotient, cofactor) = (trimmed(q), trimmed(cofactor));
        let product = &mut product[..quotient.len() + cofactor.len()];
        multiply(product, quotient, cofactor, scratch);
        add_assign(grown, trimmed(product));
    }
}
