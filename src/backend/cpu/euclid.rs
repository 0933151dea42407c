//! Greatest common divisors and inverses by Euclid's algorithm with Lehmer's steps: as many
//! quotients as the leading bits of both numbers determine are found in one word, and applied
//! together (D. H. Lehmer, 1938; D. E. Knuth, TAOCP 2, 4.5.2, Algorithm L).
//!
//! For an inverse of `v` modulo `n`, the algorithm runs on `n` and `v mod n` and keeps `s` and `t`
//! with `x = s v` and `y = t v` modulo `n`. Their signs alternate from step to step and differ, so
//! that each new absolute value is a sum, and at most `n` (TAOCP 2, 4.5.2, exercise 21).

use std::mem::swap;

use super::division::{self, divide};
use super::limbs::{add_assign, assign, bit_length, compare, sub, trimmed};
use super::product::{self, multiply};

/// Scratch of [`gcd`] at integers of `n` limbs.
pub(super) const fn scratch_limbs(n: usize) -> usize {
    4 * n + division::scratch_limbs(n)
}

/// Sets `out` to the greatest common divisor of two integers, all of one length.
pub(super) fn gcd(out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
    let n = out.len();
    let (x, scratch) = scratch.split_at_mut(n);
    let (y, scratch) = scratch.split_at_mut(n);
    let (r, scratch) = scratch.split_at_mut(n);
    let (q, scratch) = scratch.split_at_mut(n);
    let (greater, lesser) = if compare(a, b).is_lt() { (b, a) } else { (a, b) };
    assign(x, greater);
    assign(y, lesser);
    let (mut x, mut y, mut r) = (x, y, r);
    loop {
        // x >= y.
        let len = trimmed(x).len();
        if trimmed(y).is_empty() {
            return assign(out, x);
        }
        if len == 1 {
            return assign(out, &[word_gcd(x[0], y[0])]);
        }
        match Steps::of(&x[..len], &y[..len]) {
            Some(steps) => steps.apply(&mut x[..len], &mut y[..len]),
            None => {
                divide(q, r, x, y, scratch);
                swap(&mut x, &mut y);
                swap(&mut y, &mut r);
            }
        }
    }
}

/// Scratch of [`invert`] and [`reconstruct`] at integers of `n` limbs.
pub(super) const fn invert_scratch_limbs(n: usize) -> usize {
    9 * n + division::scratch_limbs(n) + product::scratch_limbs(n)
}

/// Sets `out` to the inverse of `v` modulo `n >= 2`, all of one length; returns false where there
/// is none.
pub(super) fn invert(out: &mut [u64], v: &[u64], n: &[u64], scratch: &mut [u64]) -> bool {
    let (zero, scratch) = scratch.split_at_mut(out.len());
    zero.fill(0);
    let last = descend(v, n, zero, scratch);
    let exists = trimmed(last.x) == [1];
    if !exists {
        out.fill(0);
    } else if last.is_s_negative {
        sub(out, n, last.s);
    } else {
        assign(out, last.s);
    }
    exists
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
    let last = descend(u, m, bound, scratch);
    assign(numerator, last.y);
    assign(denominator, last.t);
    !last.is_s_negative && !trimmed(last.y).is_empty()
}

/// Neighbouring remainders `x > y` with the absolute values of their cofactors `s` and `t`, whose
/// signs differ.
struct Pair<'a> {
    x: &'a [u64],
    y: &'a [u64],
    s: &'a [u64],
    t: &'a [u64],
    is_s_negative: bool,
}

/// Euclid's algorithm on `n`, which is not 0, and `v mod n` until a remainder is at most `bound`.
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
    let (mut x, mut y, mut r, mut s, mut t) = (x, y, r, s, t);
    let mut is_s_negative = true;
    // The first of the remainders after steps is above the number before them divided by 2^63.
    let least = bit_length(bound) + 64;
    while compare(y, bound).is_gt() {
        let len = trimmed(x).len();
        let steps = if bit_length(x) > least { Steps::of(&x[..len], &y[..len]) } else { None };
        if let Some(steps) = steps {
            steps.apply(&mut x[..len], &mut y[..len]);
            steps.apply_absolute(s, t);
            is_s_negative ^= steps.count % 2 == 1;
        } else {
            divide(q, r, x, y, scratch);
            swap(&mut x, &mut y);
            swap(&mut y, &mut r);
            // (s, t) becomes (t, s + q t).
            let (quotient, cofactor) = (trimmed(q), trimmed(t));
            let product = &mut product[..quotient.len() + cofactor.len()];
            multiply(product, quotient, cofactor, scratch);
            add_assign(s, trimmed(product));
            swap(&mut s, &mut t);
            is_s_negative = !is_s_negative;
        }
    }
    Pair { x, y, s, t, is_s_negative }
}

fn word_gcd(mut x: u64, mut y: u64) -> u64 {
    while y != 0 {
        (x, y) = (y, x % y);
    }
    x
}

/// Steps of Euclid's algorithm: `(x, y)` becomes `(a x + b y, c x + d y)`.
#[derive(Debug, Clone, Copy)]
struct Steps {
    a: i64,
    b: i64,
    c: i64,
    d: i64,
    /// Number of steps.
    count: u32,
}

impl Steps {
    /// The steps that the leading bits determine; `None` where they are none. `x >= y`, both of two
    /// limbs or more, the top limb of `x` not zero.
    ///
    /// With 62 bits of each, `x` lies in `[x', x' + 1)` and `y` in `[y', y' + 1)` times a power of
    /// two, so the cofactors and their sums with the leading bits stay below `2^63`. A quotient is
    /// right where both ends of the interval give it.
    fn of(x: &[u64], y: &[u64]) -> Option<Self> {
        let top = x.len() - 1;
        let shift = x[top].leading_zeros();
        let leading = |limbs: &[u64]| {
            let pair = u128::from(limbs[top]) << 64 | u128::from(limbs[top - 1]);
            (pair << shift >> 66) as i64
        };
        let (mut x, mut y) = (leading(x), leading(y));
        let mut steps = Self { a: 1, b: 0, c: 0, d: 1, count: 0 };
        while y + steps.c != 0 && y + steps.d != 0 {
            let Self { a, b, c, d, count } = steps;
            let q = (x + a) / (y + c);
            if q != (x + b) / (y + d) {
                break;
            }
            steps = Self { a: c, b: d, c: a - q * c, d: b - q * d, count: count + 1 };
            (x, y) = (y, x - q * y);
        }
        (steps.b != 0).then_some(steps)
    }

    /// Applies the steps. Both results are at least 0 and at most the numbers that they replace.
    fn apply(self, x: &mut [u64], y: &mut [u64]) {
        let Self { a, b, c, d, .. } = self;
        // In each row of the matrix, one is positive or zero and the other negative or zero.
        let product = |factor: i64, limb: u64| u128::from(factor.unsigned_abs()) * u128::from(limb);
        let is_x_first = a > 0 || b < 0;
        let (mut x_carry, mut y_carry) = (0i128, 0i128);
        for (x, y) in x.iter_mut().zip(y) {
            let difference = |of_x: i64, of_y: i64, is_x_first: bool| {
                // The products are below 2^126.
                let (p, q) = (product(of_x, *x) as i128, product(of_y, *y) as i128);
                if is_x_first { p - q } else { q - p }
            };
            x_carry += difference(a, b, is_x_first);
            y_carry += difference(c, d, !is_x_first);
            (*x, *y) = (x_carry as u64, y_carry as u64);
            x_carry >>= 64;
            y_carry >>= 64;
        }
        debug_assert_eq!((x_carry, y_carry), (0, 0), "a quotient is wrong");
    }
    /// Applies the steps to absolute values of cofactors, whose signs differ: all terms add up.
    fn apply_absolute(self, s: &mut [u64], t: &mut [u64]) {
        let Self { a, b, c, d, .. } = self;
        let (mut s_carry, mut t_carry) = (0u128, 0u128);
        for (s, t) in s.iter_mut().zip(t) {
            let sum = |of_s: i64, of_t: i64| {
                u128::from(of_s.unsigned_abs()) * u128::from(*s)
                    + u128::from(of_t.unsigned_abs()) * u128::from(*t)
            };
            s_carry += sum(a, b);
            t_carry += sum(c, d);
            (*s, *t) = (s_carry as u64, t_carry as u64);
            s_carry >>= 64;
            t_carry >>= 64;
        }
        debug_assert_eq!((s_carry, t_carry), (0, 0), "cofactors are at most the modulus");
    }
}
