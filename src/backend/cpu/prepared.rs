//! Prepared divisors of the cpu backend: remainders by Barrett's method, powers by Montgomery's.
//!
//! A record holds the bit length of a divisor `v` of `n` limbs, the divisor shifted to
//! `d = 2^s v >= B^n / 2`, and its reciprocal `Y = floor((B^2n - 1) / d) - B^n`.
//!
//! Barrett ("Implementing the Rivest Shamir and Adleman public key encryption algorithm on a
//! standard digital signal processor", CRYPTO '86), for a block of `t <= n` limbs of quotient: let
//! `x = r B^t + x0` with `r < d`, let `h` be the `t` top limbs of `r` and `I = B^t + y`, where `y`
//! are the `t` top limbs of `Y`. Then `q' = floor(h I / B^t)` is at most `q = floor(x / d)`, since
//! `h <= r / B^(n-t)` and `I <= B^(n+t) / d`. Further, `x < (h + 1) B^n` and
//! `B^(n+t) / d <= I + 1`, so
//!
//! ```text
//! x / d < (h + 1)(I + 1) / B^t = h I / B^t + (h + I + 1) / B^t < h I / B^t + 3,
//! ```
//!
//! and `q <= q' + 3`; a short product ([`multiply_high`]) may lessen `q'` by 1 more. So
//! `x - q' d < 5 d < B^(n+1)`: its `n + 1` low limbs suffice, and `d` is subtracted at most 4
//! times.
//!
//! Montgomery ("Modular multiplication without trial division", Math. Comp. 44, 1985), for odd `v`
//! and `t < B^n v`: adding the multiples `v B^i (-t_i / v mod B)` makes the limbs `t_i`, `i < n`,
//! zero one after the other. The sum divided by `B^n` is congruent to `t / B^n`, and less than
//! `(B^n v + B^n v) / B^n = 2 v`. It takes `n^2` products of limbs whatever they are, and so is
//! used where Karatsuba's method does not pay for Barrett's two products yet.

use super::division;
use super::limbs::{
    LEAF_WORK, LIMB_BITS, add, add_assign, add_limb, add_product, assign, bit, bit_length, compare,
    shift_left, shift_left_assign, shift_right, sub_assign, trimmed,
};
use super::product::{self, multiply, multiply_high, multiply_low, square};
use crate::interrupt;

/// Limbs of an odd modulus up to which powers are Montgomery's (measured on AMD Zen 5).
pub(super) const MONTGOMERY: usize = 160;

/// Limbs up to which a division by GMP takes less time than two of its products.
#[cfg(feature = "gmp")]
const GMP_DIVISION: usize = 160;

/// Maximum number of corrections of an estimated quotient.
const CORRECTIONS: usize = 4;

/// The greatest number of bits in a window of an exponent.
const MAX_WINDOW: usize = 7;

/// Limbs of a record: the bit length, the divisor and the reciprocal.
pub(super) const fn record_limbs(n: usize) -> usize {
    1 + 2 * n
}

/// Scratch of [`prepare`] at divisors of `n` limbs.
pub(super) const fn prepare_scratch_limbs(n: usize) -> usize {
    5 * n + 1 + division::block_scratch_limbs(n)
}

/// Scratch of [`Prepared::divide`] and [`Prepared::multiply`] at rows of `n` limbs.
pub(super) const fn scratch_limbs(n: usize) -> usize {
    // Product and quotient of twice the width, and a block.
    4 * n + 4 + block_scratch_limbs(n)
}

const fn block_scratch_limbs(n: usize) -> usize {
    2 * n + 2 + product::scratch_limbs(n + 1)
}

/// Scratch of [`Prepared::add`], [`Prepared::sub`] and [`Prepared::negate`] at rows of `n` limbs.
pub(super) const fn sum_scratch_limbs(n: usize) -> usize {
    4 * n + 2 + scratch_limbs(n)
}

/// Scratch of [`Prepared::power`] at rows of `n` limbs.
pub(super) const fn power_scratch_limbs(n: usize, bases: usize) -> usize {
    // Of each base: itself, its table and its window.
    bases * (((1 << (MAX_WINDOW - 1)) + 1) * n + 2) + 4 * n + 4 + scratch_limbs(n)
}

/// Writes the record of a divisor, which is not zero.
pub(super) fn prepare(record: &mut [u64], v: &[u64], scratch: &mut [u64]) {
    let v = trimmed(v);
    let n = v.len();
    let bits = bit_length(v);
    let (record, unused) = record.split_at_mut(record_limbs(n));
    unused.fill(0);
    record[0] = bits as u64;
    let (d, inverse) = record[1..].split_at_mut(n);
    shift_left(d, v, n * LIMB_BITS - bits);
    if n == 1 {
        inverse[0] = division::reciprocal(d[0]);
        return;
    }
    // B^2n - 1 - d B^n: the n limbs on top are less than d.
    let (a, scratch) = scratch.split_at_mut(2 * n);
    a[..n].fill(u64::MAX);
    for (a, &d) in a[n..].iter_mut().zip(&*d) {
        *a = !d;
    }
    #[cfg(feature = "gmp")]
    if let Some(gmp) = super::gmp::gmp() {
        let (quotient, scratch) = scratch.split_at_mut(n + 1);
        gmp.divide(quotient, &mut scratch[..n], a, d);
        return inverse.copy_from_slice(&quotient[..n]);
    }
    division::divide_normalized(inverse, a, d, scratch);
}

/// Returns true if a record has a length of at most `width` bits, and a normalized divisor.
pub(super) fn is_record(record: &[u64], width: usize) -> bool {
    let Some((&bits, limbs)) = record.split_first() else { return false };
    let bits = usize::try_from(bits).unwrap_or(usize::MAX);
    (1..=width).contains(&bits) && bit(limbs, bits.next_multiple_of(LIMB_BITS) - 1)
}

/// The record of a divisor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prepared<'a> {
    shift: usize,
    d: &'a [u64],
    inverse: &'a [u64],
}

impl<'a> Prepared<'a> {
    pub(super) fn new(record: &'a [u64]) -> Self {
        let bits = record[0] as usize;
        let n = bits.div_ceil(LIMB_BITS);
        let (d, inverse) = record[1..record_limbs(n)].split_at(n);
        Self { shift: n * LIMB_BITS - bits, d, inverse }
    }

    /// Writes the divisor, and zeros above it.
    pub(super) fn write_divisor(&self, v: &mut [u64]) {
        shift_right(v, self.d, self.shift);
    }

    /// Number of limbs of the divisor.
    pub(super) fn limbs(self) -> usize {
        self.d.len()
    }

    /// Sets `q` and `r` to `u / v`, rounded down, and `u mod v`, both with zeros above.
    pub(super) fn divide(self, q: &mut [u64], r: &mut [u64], u: &[u64], scratch: &mut [u64]) {
        let u = trimmed(u);
        let n = self.d.len();
        if u.len() < n {
            q.fill(0);
            return assign(r, u);
        }
        let (x, scratch) = scratch.split_at_mut(u.len() + 1);
        let (quotient, scratch) = scratch.split_at_mut(u.len() + 1 - n);
        shift_left(x, u, self.shift);
        self.reduce(quotient, x, scratch);
        assign(q, quotient);
        let (r, zeros) = r.split_at_mut(n);
        zeros.fill(0);
        shift_right(r, &x[..n], self.shift);
    }

    /// Sets `out` to `a b mod v`, or to `a^2 mod v` without a `b`, with zeros above.
    pub(super) fn multiply(
        self,
        out: &mut [u64],
        a: &[u64],
        b: Option<&[u64]>,
        scratch: &mut [u64],
    ) {
        let a = trimmed(a);
        let b = b.map(trimmed);
        let n = self.d.len();
        let len = a.len() + b.map_or(a.len(), <[u64]>::len);
        let limbs = len.max(n) + 1;
        let (x, scratch) = scratch.split_at_mut(limbs);
        let (product, zeros) = x.split_at_mut(len);
        zeros.fill(0);
        match b {
            Some(b) => multiply(product, a, b, scratch),
            None => square(product, a, scratch),
        }
        shift_left_assign(x, self.shift);
        let (quotient, scratch) = scratch.split_at_mut(limbs - n);
        self.reduce(quotient, x, scratch);
        let (out, zeros) = out.split_at_mut(n);
        zeros.fill(0);
        shift_right(out, &x[..n], self.shift);
    }

    /// Sets `out` to `a + b mod v`, with zeros above.
    pub(super) fn add(self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let (sum, scratch) = scratch.split_at_mut(a.len() + 1);
        let (quotient, scratch) = scratch.split_at_mut(a.len() + 1);
        sum[a.len()] = add(&mut sum[..a.len()], a, b).into();
        self.divide(quotient, out, sum, scratch);
    }

    /// Sets `out` to `a - b mod v`, with zeros above.
    pub(super) fn sub(self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let n = self.d.len();
        let (quotient, scratch) = scratch.split_at_mut(a.len());
        let (b_residue, scratch) = scratch.split_at_mut(n);
        let (v, scratch) = scratch.split_at_mut(n);
        self.divide(quotient, out, a, scratch);
        self.divide(quotient, b_residue, b, scratch);
        if sub_assign(&mut out[..n], b_residue) {
            shift_right(v, self.d, self.shift);
            add_assign(&mut out[..n], v);
        }
    }

    /// Sets `out` to `-a mod v`, with zeros above.
    pub(super) fn negate(self, out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
        let n = self.d.len();
        let (quotient, scratch) = scratch.split_at_mut(a.len());
        let (residue, scratch) = scratch.split_at_mut(n);
        self.divide(quotient, residue, a, scratch);
        let is_zero = trimmed(residue).is_empty();
        out.fill(0);
        if !is_zero {
            shift_right(&mut out[..n], self.d, self.shift);
            sub_assign(&mut out[..n], residue);
        }
    }

    /// Sets `out` to `a / 2 mod v` for `a < v`, where `v` is odd.
    pub(super) fn halve(self, out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
        let (sum, scratch) = scratch.split_at_mut(a.len() + 1);
        assign(sum, a);
        if bit(a, 0) {
            let v = &mut scratch[..self.d.len()];
            shift_right(v, self.d, self.shift);
            add_assign(sum, v);
        }
        shift_right(out, sum, 1);
    }

    /// Divides `x`, whose `n` top limbs are less than `d`: the remainder replaces the `n` low
    /// limbs. The quotient has the limbs that `x` has above `n`.
    fn reduce(self, q: &mut [u64], x: &mut [u64], scratch: &mut [u64]) {
        let n = self.d.len();
        #[cfg(feature = "gmp")]
        if n <= GMP_DIVISION
            && let Some(gmp) = super::gmp::gmp()
        {
            let (quotient, scratch) = scratch.split_at_mut(q.len() + 1);
            gmp.divide(quotient, &mut scratch[..n], x, self.d);
            q.copy_from_slice(&quotient[..q.len()]);
            return x[..n].copy_from_slice(&scratch[..n]);
        }
        // The top block is the short one.
        let mut end = q.len();
        while end > 0 {
            let start = (end - 1) / n * n;
            self.reduce_block(&mut q[start..end], &mut x[start..end + n], scratch);
            end = start;
        }
    }

    /// [`reduce`](Self::reduce) for a quotient of `t <= n` limbs.
    fn reduce_block(self, q: &mut [u64], x: &mut [u64], scratch: &mut [u64]) {
        let (n, t) = (self.d.len(), q.len());
        let high = &x[n..];
        multiply_high(q, high, &self.inverse[n - t..], scratch);
        add_assign(q, high);
        let (product, scratch) = scratch.split_at_mut(n + 1);
        multiply_low(product, q, self.d, scratch);
        let (x, zeros) = x.split_at_mut(n + 1);
        zeros.fill(0);
        sub_assign(x, product);
        // More corrections than the bound are those of a damaged record, up to 2^(64 t) of them.
        for _ in 0..CORRECTIONS {
            if x[n] == 0 && compare(&x[..n], self.d).is_lt() {
                break;
            }
            sub_assign(x, self.d);
            add_limb(q, 1);
        }
    }

    /// Sets `out`, of `n` limbs, to `a B^n mod v`; `a` has `n` limbs or more.
    fn scaled(self, out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
        let n = self.d.len();
        let (x, scratch) = scratch.split_at_mut(a.len() + n + 1);
        let (quotient, scratch) = scratch.split_at_mut(a.len() + 1);
        x[..n].fill(0);
        shift_left(&mut x[n..], a, self.shift);
        self.reduce(quotient, x, scratch);
        shift_right(out, &x[..n], self.shift);
    }

    /// Sets `out` to the product of the powers `a^e mod v` of `bases` equal parts of `a` and `e`,
    /// with zeros above. The power 0 is 1, and everything is 0 modulo 1.
    pub(super) fn power(
        self,
        out: &mut [u64],
        a: &[u64],
        e: &[u64],
        bases: usize,
        scratch: &mut [u64],
    ) {
        let n = self.d.len();
        let (v, scratch) = scratch.split_at_mut(n);
        shift_right(v, self.d, self.shift);
        #[cfg(feature = "gmp")]
        if let (1, Some(gmp)) = (bases, super::gmp::gmp()) {
            return gmp.power(out, trimmed(a), trimmed(e), v);
        }
        if trimmed(e).is_empty() || *v == [1] {
            return assign(out, &[u64::from(*v != [1])]);
        }
        let is_montgomery = v[0] & 1 == 1 && n <= MONTGOMERY;
        let (reduced, scratch) = scratch.split_at_mut(bases * n);
        let rows = reduced.chunks_exact_mut(n).zip(a.chunks_exact(a.len() / bases));
        let (result, zeros) = out.split_at_mut(n);
        zeros.fill(0);
        if is_montgomery {
            let modulus = Montgomery { v, inverse: negative_inverse_of_limb(v[0]) };
            rows.for_each(|(reduced, a)| self.scaled(reduced, a, scratch));
            windows(result, reduced, e, bases, scratch, |out, a, b, scratch| {
                let (t, scratch) = scratch.split_at_mut(2 * n);
                match b {
                    Some(b) => multiply(t, a, b, scratch),
                    None => square(t, a, scratch),
                }
                modulus.reduce(out, t);
            });
            let t = &mut scratch[..2 * n];
            assign(t, result);
            modulus.reduce(result, t);
        } else {
            rows.for_each(|(reduced, a)| {
                let (quotient, scratch) = scratch.split_at_mut(a.len());
                self.divide(quotient, reduced, a, scratch);
            });
            windows(result, reduced, e, bases, scratch, |out, a, b, scratch| {
                self.multiply(out, a, b, scratch);
            });
        }
    }
}

/// `-1 / limb mod B` for an odd limb.
///
/// `x = 3 limb ^ 2` is the inverse modulo 2^5, and a step of Newton's iteration doubles the bits.
pub(super) fn negative_inverse_of_limb(limb: u64) -> u64 {
    let mut x = limb.wrapping_mul(3) ^ 2;
    for _ in 0..4 {
        x = x.wrapping_mul(2u64.wrapping_sub(limb.wrapping_mul(x)));
    }
    x.wrapping_neg()
}

/// An odd modulus.
#[derive(Debug, Clone, Copy)]
pub(super) struct Montgomery<'a> {
    pub(super) v: &'a [u64],
    /// `-1 / v mod B`.
    pub(super) inverse: u64,
}

impl Montgomery<'_> {
    /// Sets `out` to `t / B^n mod v` for `t < B^n v` of `2n` limbs, which is overwritten.
    pub(super) fn reduce(self, out: &mut [u64], t: &mut [u64]) {
        let n = self.v.len();
        for i in 0..n {
            let factor = t[i].wrapping_mul(self.inverse);
            // The limb becomes zero, and its place holds the carry for the limb n places above.
            t[i] = add_product(&mut t[i..i + n], self.v, factor);
        }
        let (above, high) = t.split_at_mut(n);
        let carry = add_assign(high, above);
        out.copy_from_slice(high);
        if carry || compare(out, self.v).is_ge() {
            sub_assign(out, self.v);
        }
    }
}

/// Bits of a window for exponents of this length: each bound is where one bit more saves the
/// products that its table takes, `2^(k-1)` of odd powers against `bits / (k+1)` of windows.
fn window_bits(exponent_bits: usize) -> usize {
    match exponent_bits {
        ..=6 => 1,
        7..=24 => 2,
        25..=80 => 3,
        81..=240 => 4,
        241..=672 => 5,
        673..=1792 => 6,
        _ => MAX_WINDOW,
    }
}

/// Sets `result` to the product of the powers of `count` bases, from left to right by windows that
/// start and end with a set bit (D. E. Knuth, TAOCP 2, 4.6.3). Each base has its own windows, and
/// the squares serve all of them (E. G. Straus, Amer. Math. Monthly 71, 1964). The bases and the
/// exponents, not all 0, are equal parts of `bases` and `e`. `multiply(out, a, b, scratch)`
/// multiplies residues, or squares one where there is no `b`. An interrupted call ends early.
fn windows(
    result: &mut [u64],
    bases: &[u64],
    e: &[u64],
    count: usize,
    scratch: &mut [u64],
    mut multiply: impl FnMut(&mut [u64], &[u64], Option<&[u64]>, &mut [u64]),
) {
    let n = bases.len() / count;
    let exponents = e.chunks_exact(e.len() / count);
    let bits = exponents.clone().map(|e| bit_length(trimmed(e))).max().unwrap_or(0);
    let k = window_bits(bits);
    // The odd powers of each base.
    let (tables, scratch) = scratch.split_at_mut(count * (n << (k - 1)));
    // The value of a window, 0 for none, and the position of its last bit.
    let (open, scratch) = scratch.split_at_mut(2 * count);
    let (other, scratch) = scratch.split_at_mut(n);
    open.fill(0);
    for (table, base) in tables.chunks_exact_mut(n << (k - 1)).zip(bases.chunks_exact(n)) {
        table[..n].copy_from_slice(base);
        if k > 1 {
            multiply(other, base, None, scratch);
        }
        for i in 1..1 << (k - 1) {
            let (below, power) = table.split_at_mut(i * n);
            multiply(&mut power[..n], &below[(i - 1) * n..], Some(&*other), scratch);
        }
    }
    let (mut now, mut next) = (result, other);
    let mut is_swapped = false;
    let mut is_first = true;
    // About every 10 microseconds.
    let checked = 1 + LEAF_WORK / (n * n);
    for position in (0..bits).rev() {
        if position.is_multiple_of(checked) && interrupt::is_requested() {
            return;
        }
        if !is_first {
            multiply(next, now, None, scratch);
            std::mem::swap(&mut now, &mut next);
            is_swapped = !is_swapped;
        }
        let tables = tables.chunks_exact(n << (k - 1));
        for ((e, table), open) in exponents.clone().zip(tables).zip(open.chunks_exact_mut(2)) {
            if open[0] == 0 && bit(e, position) {
                let mut low = (position + 1).saturating_sub(k);
                while !bit(e, low) {
                    low += 1;
                }
                open[0] = (low..=position).rev().fold(0, |v, i| v << 1 | u64::from(bit(e, i)));
                open[1] = low as u64;
            }
            if open[0] == 0 || open[1] != position as u64 {
                continue;
            }
            let power = &table[std::mem::take(&mut open[0]) as usize / 2 * n..][..n];
            if is_first {
                now.copy_from_slice(power);
                is_first = false;
            } else {
                multiply(next, now, Some(power), scratch);
                std::mem::swap(&mut now, &mut next);
                is_swapped = !is_swapped;
            }
        }
    }
    if is_swapped {
        next.copy_from_slice(now);
    }
}
