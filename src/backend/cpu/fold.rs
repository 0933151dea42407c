//! Reduction modulo special moduli `N = k 2^n + c` and powers, by the equations of
//! `kernels/modular/special.cuh`, with limbs of 64 bits.
//!
//! One pass computes `r = m (k lo - c hi) - q N` for `x = hi 2^n + lo` and an estimate `q`. A limb
//! adds less than `2^31 2^64 + 2^13 2^64` and the limbs of `q N` to the carry of the limbs below,
//! so that sums of 128 bits with a sign do not overflow.

use super::limbs::LIMB_BITS;
use super::linear::limb_at;
use super::product;
use super::rows::{Failed, Outcome, Row, Rows};
use crate::backend::Params;
use crate::error::Result;

pub(super) fn fold(rows: Rows<'_>) -> Result<Failed> {
    let (digit, distance) = (rows.params.digit, i64::from(rows.params.distance));
    rows.each(0, |Row { ins: [x, exponent, record], outs: [out, _], .. }, _| {
        Fold::new(record, factor(exponent, distance, digit)).reduce(out, x);
        Outcome::default()
    })
}

pub(super) fn pow_special(rows: Rows<'_>) -> Result<Failed> {
    let Params { digit, distance, exponent_bits, .. } = rows.params;
    let n = rows.limbs();
    rows.each(2 * n + product::scratch_limbs(n), |row, scratch| {
        let Row { ins: [a, exponent, record], outs: [out, _], .. } = row;
        let (square, scratch) = scratch.split_at_mut(2 * n);
        out.copy_from_slice(a);
        for bit in (distance..distance + exponent_bits).rev() {
            product::square(square, out, scratch);
            Fold::new(record, factor(exponent, bit.into(), digit)).reduce(out, square);
        }
        Outcome::default()
    })
}

/// Returns the factor of a fold: the digit where the bit of the exponent is set.
pub(super) fn factor(exponent: &[u64], bit: i64, digit: u64) -> i64 {
    if limb_at(exponent, bit) & 1 == 1 { digit as i64 } else { 1 }
}

struct Fold {
    k: i64,
    c: i64,
    n: usize,
    factor: i64,
}

impl Fold {
    /// Reads the record of a modulus.
    fn new(record: &[u64], factor: i64) -> Self {
        let n = (record[0] >> 32) as usize;
        let k = i64::from(record[0] as u32);
        let c = i64::from(record[1] as i32);
        Self { k, c, n, factor }
    }

    /// Sets `out` to `m k x` modulo the modulus, for `x` below its square.
    fn reduce(&self, out: &mut [u64], x: &[u64]) {
        let quotient = self.quotient(x);
        if self.subtract(out, x, quotient) {
            self.subtract(out, x, quotient - 1);
        }
    }

    /// Returns `q` with `-1/32 < m k x / N - hi - q < 1`.
    fn quotient(&self, x: &[u64]) -> i64 {
        let Self { k, c, n, factor } = *self;
        let n = n as i64;
        const SCALE: f64 = 4_294_967_296.0;
        let low = f64::from(limb_at(x, n - 32) as u32) / SCALE;
        let high = limb_at(x, 2 * n + 32) as f64 * SCALE + limb_at(x, 2 * n - 32) as f64 / SCALE;
        let ratio = (factor * c) as f64 / k as f64;
        (factor as f64 * low - ratio * high + 1.0 / 64.0).floor() as i64
    }

    /// Sets `out` to `r`; returns true if it is negative.
    fn subtract(&self, out: &mut [u64], x: &[u64], quotient: i64) -> bool {
        let Self { k, c, n, factor } = *self;
        let (top, bits) = (n / LIMB_BITS, n % LIMB_BITS);
        let (low_factor, high_factor) = (i128::from(factor * k), i128::from(factor * c));
        let upper = -i128::from(quotient) * i128::from(k);
        let upper_rest = if bits == 0 { upper >> 64 } else { upper >> (LIMB_BITS - bits) };
        let limb = |index: usize| x.get(index).copied().unwrap_or(0);
        let mut sum = -i128::from(quotient * c);
        // `hi` may be longer than `r`, by less than `k` and a limb.
        for index in 0..out.len() + 2 {
            let low = match index {
                _ if index < top => limb(index),
                _ if index == top => limb(index) & ((1 << bits) - 1),
                _ => 0,
            };
            let mut high = limb(index + top) >> bits;
            if bits > 0 {
                high |= limb(index + top + 1) << (LIMB_BITS - bits);
            }
            sum += low_factor * i128::from(low) - high_factor * i128::from(high);
            if index == top {
                sum += i128::from(((upper as u128) << bits) as u64);
            } else if index == top + 1 {
                sum += upper_rest;
            }
            if let Some(out) = out.get_mut(index) {
                *out = sum as u64;
            }
            sum >>= LIMB_BITS;
        }
        sum < 0
    }
}
