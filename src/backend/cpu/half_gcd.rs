//! Steps of Euclid's algorithm as matrices, from the leading bits of two numbers.
//!
//! A *half-gcd* of `x, y < 2^n` is a matrix of nonnegative entries with `u0 v1 - v0 u1 = 1` and
//!
//! ```text
//! x' = u0 x - v0 y >= 2^(n/2 + 1),    y' = v1 y - u1 x >= 2^(n/2 + 1),
//! ```
//!
//! or the identity. It suits all numbers with the leading bits `x` and `y`, and leaves them above
//! `2^(s + n/2)` where `s` bits follow: `src/ops/half_gcd.rs` has the proof, and the bound
//! `2^(n/2 - 1)` of the entries. So one step makes the matrix of twice the bits, at every length:
//!
//! ```text
//! bits        64          128                  up to 64 HALVES     above
//! by          division    two half-gcds        half-gcds           two half-gcds
//!             of limbs    of 64 leading bits   of 128 bits         of half the limbs
//! ```
//!
//! Half-gcds of 128 bits are Lehmer's steps (D. H. Lehmer, 1938; D. E. Knuth, TAOCP 2, 4.5.2,
//! Algorithm L): a pass over both numbers takes 62 bits from each. Halving is subquadratic (A.
//! Schönhage, 1971; N. Möller, "On Schönhage's algorithm and subquadratic integer gcd computation",
//! Mathematics of Computation 77, 2008).
//!
//! Every step subtracts a multiple of one number from the other and leaves both positive, for the
//! leading bits and so for the whole numbers. An [`Observer`] sees all quotients in order. A
//! quotient that no leading bits determine is found by a division at the length that has it.

use super::division::{self, divide};
use super::limbs::{LIMB_BITS, add_assign, assign, bit_length, compare, sub_assign, trimmed};
use super::product::multiply;
use crate::interrupt;

/// Limbs of half-gcds from which on they are made of half-gcds of half the limbs (measured on an
/// Intel Xeon).
const HALVES: usize = 192;

// A half of the limbs has room for its matrix, and is shorter than the whole.
const _: () = assert!(HALVES >= 16);

/// Receives the steps of a reduction in order. Only the low bits of quotients are sure.
pub(super) trait Observer {
    /// `x` became `x - q y`.
    fn reduced_x(&mut self, q: u64);
    /// `y` became `y - q x`.
    fn reduced_y(&mut self, q: u64);
}

impl Observer for () {
    #[inline(always)]
    fn reduced_x(&mut self, _: u64) {}
    #[inline(always)]
    fn reduced_y(&mut self, _: u64) {}
}

/// Computes `x / y`, rounded down. Two of five quotients are 1, and a division takes longer than a
/// comparison and a branch that is mispredicted.
#[inline(always)]
fn quotient(x: u64, y: u64) -> u64 {
    if x / 2 < y { u64::from(x >= y) } else { x / y }
}

/// Half-gcd of at most 128 bits, whose entries are below `2^63`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Steps {
    u0: u64,
    v0: u64,
    u1: u64,
    v1: u64,
}

impl Steps {
    const IDENTITY: Self = Self { u0: 1, v0: 0, u1: 0, v1: 1 };

    /// Computes the half-gcd of 64 bits; `None` for the identity.
    #[inline(always)]
    pub(super) fn of_limbs(mut x: u64, mut y: u64, observer: &mut impl Observer) -> Option<Self> {
        const MIN: u64 = 1 << 33;
        if x < MIN || y < MIN {
            return None;
        }
        let Self { mut u0, mut v0, mut u1, mut v1 } = Self::IDENTITY;
        // After the largest quotient of one number, only the other one may have another.
        let mut q = quotient(x - MIN, y);
        loop {
            if q > 0 {
                x -= q * y;
                (u0, v0) = (u0 + q * u1, v0 + q * v1);
                observer.reduced_x(q);
            }
            q = quotient(y - MIN, x);
            if q == 0 {
                break;
            }
            y -= q * x;
            (u1, v1) = (u1 + q * u0, v1 + q * v0);
            observer.reduced_y(q);
            q = quotient(x - MIN, y);
            if q == 0 {
                break;
            }
        }
        (v0 | u1 != 0).then_some(Self { u0, v0, u1, v1 })
    }

    /// Computes the half-gcd of 128 bits, or a part of it where a quotient is large; `None` for the
    /// identity.
    ///
    /// With `s >= 33` bits below 64 leading ones, both numbers stay above `2^(s + 32) >= 2^65`.
    #[inline(always)]
    pub(super) fn of_pairs(
        [mut x, mut y]: [u128; 2],
        observer: &mut impl Observer,
    ) -> Option<Self> {
        let mut all = None;
        loop {
            let shift = (64 - (x | y).leading_zeros().min(64)).max(33);
            let [x_top, y_top] = [x, y].map(|number| (number >> shift) as u64);
            let Some(steps) = Self::of_limbs(x_top, y_top, observer) else { return all };
            (x, y) = steps.apply_to_pairs(x, y);
            all = Some(all.map_or(steps, |before| steps.after(before)));
        }
    }

    /// Returns the matrix of the steps `before` and then these.
    fn after(self, before: Self) -> Self {
        let Self { u0, v0, u1, v1 } = before;
        let [u0, u1] = [self.u0 * u0 + self.v0 * u1, self.u1 * u0 + self.v1 * u1];
        let [v0, v1] = [self.u0 * v0 + self.v0 * v1, self.u1 * v0 + self.v1 * v1];
        Self { u0, v0, u1, v1 }
    }

    /// Applies the steps to numbers of two limbs.
    #[inline(always)]
    pub(super) fn apply_to_pairs(self, x: u128, y: u128) -> (u128, u128) {
        let difference = |p: u64, x: u128, q: u64, y: u128| {
            u128::from(p).wrapping_mul(x).wrapping_sub(u128::from(q).wrapping_mul(y))
        };
        (difference(self.u0, x, self.v0, y), difference(self.v1, y, self.u1, x))
    }

    /// Applies the steps. Both results are positive, and at most the numbers that they replace.
    pub(super) fn apply(self, x: &mut [u64], y: &mut [u64]) {
        // Products of an entry and a limb are below 2^127 - 2^64.
        let product = |entry: u64, limb: u64| (u128::from(entry) * u128::from(limb)) as i128;
        let (mut x_carry, mut y_carry) = (0i128, 0i128);
        for (x, y) in x.iter_mut().zip(y) {
            x_carry += product(self.u0, *x) - product(self.v0, *y);
            y_carry += product(self.v1, *y) - product(self.u1, *x);
            (*x, *y) = (x_carry as u64, y_carry as u64);
            x_carry >>= 64;
            y_carry >>= 64;
        }
        debug_assert_eq!((x_carry, y_carry), (0, 0), "a quotient is wrong");
    }

    /// Applies the steps to absolute values of cofactors, whose signs differ: all terms add up.
    pub(super) fn apply_to_cofactors(self, s: &mut [u64], t: &mut [u64]) {
        let (mut s_carry, mut t_carry) = (0u128, 0u128);
        for (s, t) in s.iter_mut().zip(t) {
            let sum = |of_s: u64, of_t: u64| {
                u128::from(of_s) * u128::from(*s) + u128::from(of_t) * u128::from(*t)
            };
            s_carry += sum(self.u0, self.v0);
            t_carry += sum(self.u1, self.v1);
            (*s, *t) = (s_carry as u64, t_carry as u64);
            s_carry >>= 64;
            t_carry >>= 64;
        }
        debug_assert_eq!((s_carry, t_carry), (0, 0), "cofactors have room");
    }
}

/// Returns the 128 leading bits of two numbers of one length, at least one of them with a top limb,
/// with zeros below where they have less.
#[inline(always)]
pub(super) fn leading(x: &[u64], y: &[u64]) -> [u128; 2] {
    let top = x.len() - 1;
    let shift = (x[top] | y[top]).leading_zeros();
    [x, y].map(|limbs| {
        let limb = |below: usize| top.checked_sub(below).map_or(0, |index| limbs[index]);
        let pair = u128::from(limb(0)) << 64 | u128::from(limb(1));
        // In two steps, since the shift may be 0.
        pair << shift | u128::from(limb(2) >> 1 >> (63 - shift))
    })
}

/// Matrix of steps, of entries of one length.
#[derive(Debug)]
pub(super) struct Matrix<'a> {
    pub(super) u0: &'a mut [u64],
    pub(super) v0: &'a mut [u64],
    pub(super) u1: &'a mut [u64],
    pub(super) v1: &'a mut [u64],
}

impl<'a> Matrix<'a> {
    /// Limbs of an entry of a half-gcd of `n` limbs.
    pub(super) const fn entry_limbs(n: usize) -> usize {
        n.div_ceil(2)
    }

    /// Takes the identity for half-gcds of `n` limbs, and the rest of `scratch`.
    pub(super) fn identity(n: usize, scratch: &'a mut [u64]) -> (Self, &'a mut [u64]) {
        let limbs = Self::entry_limbs(n);
        let (u0, rest) = scratch.split_at_mut(limbs);
        let (v0, rest) = rest.split_at_mut(limbs);
        let (u1, rest) = rest.split_at_mut(limbs);
        let (v1, rest) = rest.split_at_mut(limbs);
        assign(u0, &[1]);
        v0.fill(0);
        u1.fill(0);
        assign(v1, &[1]);
        (Self { u0, v0, u1, v1 }, rest)
    }

    fn is_identity(&self) -> bool {
        trimmed(self.v0).is_empty() && trimmed(self.u1).is_empty()
    }

    /// Extends the steps to whole numbers of one length, whose limbs from `low` on are reduced.
    fn apply_below(&self, x: &mut [u64], y: &mut [u64], low: usize, scratch: &mut [u64]) {
        let (x_low, scratch) = scratch.split_at_mut(low);
        let (product, scratch) = scratch.split_at_mut(x.len());
        x_low.copy_from_slice(&x[..low]);
        // Sums may wrap on the way, but the results are positive and have room.
        x[..low].fill(0);
        add_assign(x, times(product, self.u0, x_low, scratch));
        sub_assign(x, times(product, self.v0, &y[..low], scratch));
        let of_y = times(product, self.v1, &y[..low], scratch);
        y[..low].fill(0);
        add_assign(y, of_y);
        sub_assign(y, times(product, self.u1, x_low, scratch));
    }

    /// Applies the steps to absolute values of cofactors of one length, whose signs differ.
    pub(super) fn apply_to_cofactors(&self, s: &mut [u64], t: &mut [u64], scratch: &mut [u64]) {
        // A product of trimmed factors has at most one limb more than its value.
        let n = s.len() + 1;
        let (first, scratch) = scratch.split_at_mut(n);
        let (second, scratch) = scratch.split_at_mut(n);
        let (term, scratch) = scratch.split_at_mut(n);
        multiply(first, self.u0, s, scratch);
        multiply(term, self.v0, t, scratch);
        add_assign(first, term);
        multiply(second, self.u1, s, scratch);
        multiply(term, self.v1, t, scratch);
        add_assign(second, term);
        assign(s, first);
        assign(t, second);
    }
}

/// Computes `a b` into a part of `out`, which it returns.
fn times<'a>(out: &'a mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) -> &'a [u64] {
    let (a, b) = (trimmed(a), trimmed(b));
    let out = &mut out[..a.len() + b.len()];
    multiply(out, a, b, scratch);
    out
}

/// Returns the number of limbs of the longer of two numbers of one length.
pub(super) fn common_len(x: &[u64], y: &[u64]) -> usize {
    x.iter().zip(y).rposition(|(&x, &y)| x | y != 0).map_or(0, |top| top + 1)
}

/// Scratch of [`half_gcd`] and [`reduce_top`] at numbers of `n` limbs.
///
/// A level has the matrix of the level below, of `n` and some limbs, and then two numbers of `n`
/// limbs, or three of half as many. Levels below sum to as much.
pub(super) const fn scratch_limbs(n: usize) -> usize {
    8 * n + 256 + division::scratch_limbs(n)
}

/// Sets `matrix` to a half-gcd of two numbers of `n` limbs, both of one length, and applies it to
/// them. Returns false for the identity. An interrupted call ends after fewer steps.
pub(super) fn half_gcd(
    x: &mut [u64],
    y: &mut [u64],
    matrix: &mut Matrix<'_>,
    observer: &mut impl Observer,
    scratch: &mut [u64],
) -> bool {
    let n = x.len();
    if n < HALVES {
        return half_gcd_by_steps(x, y, matrix, observer, scratch);
    }
    let half = n.div_ceil(2);
    loop {
        let len = common_len(x, y);
        // The top w of the limbs leave numbers above B^(len - w/2) >= 2^(n/2 + 1).
        let w = half.min((2 * len).saturating_sub(n + 1));
        // The steps so far are a whole number of steps.
        if w <= n / 8 || interrupt::is_requested() {
            break;
        }
        let (x, y) = (&mut x[..len], &mut y[..len]);
        let Some((steps, scratch)) = reduce_top(x, y, w, observer, scratch) else {
            if divide_above(x, y, n, matrix, observer, scratch) {
                continue;
            }
            break;
        };
        if matrix.is_identity() {
            assign(matrix.u0, steps.u0);
            assign(matrix.v0, steps.v0);
            assign(matrix.u1, steps.u1);
            assign(matrix.v1, steps.v1);
        } else {
            steps.apply_to_cofactors(matrix.u0, matrix.u1, scratch);
            steps.apply_to_cofactors(matrix.v0, matrix.v1, scratch);
        }
    }
    !matrix.is_identity()
}

/// Reduces two numbers of one length by a half-gcd of their top `w` limbs. Returns it with the rest
/// of `scratch`; `None` for the identity.
pub(super) fn reduce_top<'a>(
    x: &mut [u64],
    y: &mut [u64],
    w: usize,
    observer: &mut impl Observer,
    scratch: &'a mut [u64],
) -> Option<(Matrix<'a>, &'a mut [u64])> {
    let low = x.len() - w;
    let (mut steps, scratch) = Matrix::identity(w, scratch);
    if !half_gcd(&mut x[low..], &mut y[low..], &mut steps, observer, scratch) {
        return None;
    }
    steps.apply_below(x, y, low, scratch);
    Some((steps, scratch))
}

/// [`half_gcd`] by steps of 128 leading bits. The last one leaves numbers above `2^(n/2 + 1)` if
/// the longer number had 65 bits more.
fn half_gcd_by_steps(
    x: &mut [u64],
    y: &mut [u64],
    matrix: &mut Matrix<'_>,
    observer: &mut impl Observer,
    scratch: &mut [u64],
) -> bool {
    let n = x.len();
    let least = n * LIMB_BITS / 2 + 65;
    let (mut len, mut entry_limbs) = (x.len(), 1);
    loop {
        len = common_len(&x[..len], &y[..len]);
        if bit_length(&x[..len]).max(bit_length(&y[..len])) < least {
            break;
        }
        let (x, y) = (&mut x[..len], &mut y[..len]);
        let mut grown = matrix.u0.len();
        if let Some(steps) = Steps::of_pairs(leading(x, y), observer) {
            steps.apply(x, y);
            grown = grown.min(entry_limbs + 1);
            let Matrix { u0, v0, u1, v1 } = matrix;
            steps.apply_to_cofactors(&mut u0[..grown], &mut u1[..grown]);
            steps.apply_to_cofactors(&mut v0[..grown], &mut v1[..grown]);
        } else if !divide_above(x, y, n, matrix, observer, scratch) {
            break;
        }
        let Matrix { u0, v0, u1, v1 } = &*matrix;
        entry_limbs = common_len(&u0[..grown], &u1[..grown]);
        entry_limbs = entry_limbs.max(common_len(&v0[..grown], &v1[..grown]));
    }
    !matrix.is_identity()
}

/// Subtracts the largest multiple of the lesser number from the greater one that leaves it at least
/// `2^(n/2 + 1)`, the bound of a half-gcd of `n` limbs, and adds the step to `matrix`. Returns
/// false if there is none.
fn divide_above(
    x: &mut [u64],
    y: &mut [u64],
    n: usize,
    matrix: &mut Matrix<'_>,
    observer: &mut impl Observer,
    scratch: &mut [u64],
) -> bool {
    let bound = n * LIMB_BITS / 2 + 1;
    let is_x_less = compare(x, y).is_lt();
    let (greater, lesser) = if is_x_less { (y, x) } else { (x, y) };
    if bit_length(lesser) <= bound {
        return false;
    }
    let (q, scratch) = scratch.split_at_mut(greater.len());
    let (r, scratch) = scratch.split_at_mut(greater.len());
    let (limb, power) = (bound / LIMB_BITS, [1 << (bound % LIMB_BITS)]);
    sub_assign(&mut greater[limb..], &power);
    divide(q, r, greater, lesser, scratch);
    greater.copy_from_slice(r);
    add_assign(&mut greater[limb..], &power);
    if trimmed(q).is_empty() {
        return false;
    }
    let Matrix { u0, v0, u1, v1 } = matrix;
    let entries = if is_x_less { [(u1, u0), (v1, v0)] } else { [(u0, u1), (v0, v1)] };
    for (of_greater, of_lesser) in entries {
        add_assign(of_greater, trimmed(times(r, q, of_lesser, scratch)));
    }
    if is_x_less {
        observer.reduced_y(q[0]);
    } else {
        observer.reduced_x(q[0]);
    }
    true
}
