//! Reciprocals of one long integer by Newton's iteration with wrapped products.
//!
//! Let `V` have `v` bits, `nu = V / 2^v`, and `y = 1 / nu`, which is in `(1, 2]`. The reciprocal of
//! precision `p` is a `Y` with
//!
//! ```text
//! 0 <= 2^p y - Y < 2.                                                                         (1)
//! ```
//!
//! The seed divides: with `d = min(v, p + 3)` and `V_d` the upper `d` bits of `V`,
//! `Y = floor(2^(p + d) / (V_d + 1))`, or without the 1 for `d = v`. The 1 costs at most
//! `2^p y^2 2^-d <= 4 / 8`, and rounding less than 1.
//!
//! A step from `p` to `q <= 2p - 3` takes the upper `d = min(v, q + 4)` bits:
//!
//! ```text
//! T  = 2^(d + p) - V_d Y,                computed modulo 2^w - 1, w >= d + 3
//! T' = max(0, T - 2^(p + 1)) for d < v, else T
//! Y <- Y 2^(q - p) + floor(Y floor(T' / 2^t) / 2^(2p + d - q - t)),   t = max(0, p - (q + 4 - d))
//! ```
//!
//! Proof of (1). Let `x = Y / 2^p` and `r = 1 - x nu`, which is in `[0, 2 2^-p)`. `T / 2^(d + p)`
//! is in `[r, r + 2^(1 - d))`, so `0 <= T < 3 2^d < 2^w - 1`, and the wrapped product gives `T`.
//! `T'` is at most `r 2^(d + p)` and smaller by less than `2^(1 - d)`, relative to `2^(d + p)`. As
//! `y - x - x r = nu (y - x)^2 >= 0`, the result is not above `2^q y`. In units of `2^-q` it loses
//! less than `4 2^-3` by the square, `2 2^(1 - d + q) <= 1/4` by `T'`, `2^(t + 1 - p - d + q) <=
//! 1/8` by `t`, and 1 by rounding: less than 1.875.

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use num_traits::One;

use super::nodes::{fitted, home, moved};
use super::products::times;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::ops::wrapped::wrapped_difference;

/// Highest precision of a seed: such a division takes the host microseconds.
const SEED: u64 = 2048;

/// Computes the reciprocal `Y` of a precision `p` up to `BITS` of the one row of a batch, which has
/// `length` bits, less than `p`, as `Y - 2^p`. At a power of two, where this is `2^p`, it is 1
/// less.
///
/// It is not negative: `2^p y >= 2^p + 2^(p - length)`, and `Y` is smaller by less than 2.
pub(super) fn reciprocal(row: &DynBatch, length: u64, precision: u64) -> Result<DynBatch> {
    let mut precisions = vec![precision];
    while let Some(&next) = precisions.last().filter(|&&next| next > SEED) {
        precisions.push((next + 3).div_ceil(2));
    }
    let mut p = precisions.pop().unwrap_or(SEED);
    let d = length.min(p + 3);
    let divisor = upper(row, length, d, home(row.device(), d)?)?.row(0)?;
    let divisor = divisor + u32::from(d < length);
    let seed = (BigUint::one() << (p + d)) / divisor;
    let (device, shape) = home(row.device(), p + 2)?;
    let mut y = DynBatch::splat(&device, shape, &seed, 1)?;
    while let Some(q) = precisions.pop() {
        y = step(&y, row, length, [p, q])?;
        p = q;
    }
    // Y - 2^p is at most 2^p, and 2^p only for a power of two, whose bit p + 1 is set.
    let is_most = y.bit_mask(p as usize + 1)?;
    let rest = y.without_bit(p as usize)?;
    let most = rest.wrapping_sub_all(1)?.without_bit(p as usize)?;
    let rest = most.select(&is_most, &rest)?;
    moved(rest, row.device(), row.shape())
}

/// Returns the upper `bits` bits of a row of `length` bits.
fn upper(
    row: &DynBatch,
    length: u64,
    bits: u64,
    (device, shape): (Device, Shape),
) -> Result<DynBatch> {
    moved(row.shr((length - bits) as usize)?, &device, shape)
}

/// One step of Newton's iteration, between these precisions.
fn step(y: &DynBatch, row: &DynBatch, length: u64, [p, q]: [u64; 2]) -> Result<DynBatch> {
    let d = length.min(q + 4);
    let (device, shape) = home(row.device(), (d + 3).max(p + 2))?;
    let divisor = upper(row, length, d, (device.clone(), shape))?;
    let y_there = moved(y.try_clone()?, &device, shape)?;
    let product = divisor.cyclic_mul(&y_there)?;
    let power = DynBatch::power_of_two(&device, shape, ((d + p) % shape.bits as u64) as usize)?;
    let mut t = wrapped_difference(&power, &product)?;
    if d < length {
        let loss = DynBatch::power_of_two(&device, shape, p as usize + 1)?;
        let (difference, is_less) = t.overflowing_sub(&loss)?;
        t = DynBatch::zeros(&device, shape, 1)?.select(&is_less, &difference)?;
    }
    let cut = p.saturating_sub(q + 4 - d);
    t = t.shr(cut as usize)?;
    let (device, shape) = home(row.device(), q + 8)?;
    let y = moved(y.try_clone()?, &device, shape)?;
    let t = moved(t, &device, shape)?;
    let product = times(&y, &t)?.shr((2 * p + d - q - cut) as usize)?;
    let next = y.shl((q - p) as usize)?.wrapping_add(&product)?;
    let (_, shape) = home(row.device(), q + 2)?;
    fitted(next, shape)
}
