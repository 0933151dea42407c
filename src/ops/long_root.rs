//! Square roots of long rows by their reciprocals, on devices without a kernel for them.
//!
//! Let `W` be the width, a multiple of 4, and let a row be shifted by an even number of bits to
//! `2^(W-2) <= A < 2^W`. With `x = A / 2^W`, the reciprocal root `y = x^(-1/2)` is in `(1, 2]`. Its
//! approximation of precision `p` is a `Z` with
//!
//! ```text
//! 0 <= 2^p y - Z < 2.                                                                         (1)
//! ```
//!
//! Newton's iteration doubles the precision (R. Brent and P. Zimmermann, "Modern Computer
//! Arithmetic", 2010, 3.5). A step from `p` to `q <= 2p - 5` takes the upper `d = q + 4` bits
//! `A_d`:
//!
//! ```text
//! T  = 2^(d + 2p) - A_d Z^2,         0 <= T < 2^(q + p + 7)
//! T' = floor(max(0, T - 2^(2p + 2)) / 2^(2p + 1))
//! Z <- Z 2^(q - p) + floor(Z T' / 2^(p + 4))
//! ```
//!
//! Proof of (1). Let `z = Z / 2^p` and `r = 1 - x z^2`, so that `0 <= r < 4 2^-p`. `A_d` adds at
//! most `4 2^-d` to `r`, which is the bound of `T`, and is subtracted again: `T' / 2^(q + 3)` is at
//! most `r`. As `y = z (1 - r)^(-1/2) >= z (1 + r / 2)`, the result is not above `2^q y`. In units
//! of `2^-q` it loses `12 2^-5` by the powers of `r` above the first, `1/4` by `A_d`, `1/8` by the
//! bits below `T'` and 1 by rounding: less than 2.
//!
//! The root is `2^h s`, `h = W / 2` and `s = x y`. With `p = h / 2 + 3` and the upper `e = p + 3`
//! bits `A_e`
//!
//! ```text
//! S = floor(A_e Z / 2^e),            0 <= s - S / 2^p < 3.25 2^-p
//! R = floor(A / 2^(h - 6)) - S^2,    0 <= R < 2^(p + 6)
//! S 2^(h - p) + floor(R Z / 2^(p + 7))
//! ```
//!
//! is the root rounded down or 1 less (A. Karp and P. Markstein, "High-precision division and
//! square root", ACM TOMS 23, 1997). With `c = S / 2^p`, `s = c + (x - c^2) / (s + c) >= c + (x -
//! c^2) y / 2`. In units of `2^-h` this loses `(3.25^2 + 6.5) 2^(h - 2p) < 0.3`, the bits below `R`
//! 0.02, and rounding 1: less than 2. The square of the result decides, and gives the remainder.
//!
//! The widest products have `W`-bit results: the last square, and three of half the width before
//! it.

use num_bigint::BigUint;
use num_traits::One;

use super::long_division::{cut, upper};
use crate::backend::host::collected;
use crate::dyn_batch::DynBatch;
use crate::error::Result;

/// Highest precision of a seed: a division and a square root of rows of few thousand bits.
const SEED: usize = 1024;

/// Computes the square roots, rounded down, and the remainders.
pub(super) fn isqrt_rem(a: &DynBatch) -> Result<(DynBatch, DynBatch)> {
    let (bits, shape) = (a.shape().bits, a.shape());
    let zeros = DynBatch::zeros(a.device(), shape, a.len())?;
    let is_zero = a.is_zero_mask()?;
    let rows = zeros.with_bit(0)?.select(&is_zero, a)?;
    let lengths = rows.bit_lengths()?;
    let shifts = collected(lengths.iter().map(|&length| (bits - length as usize) / 2))?;
    let rows = rows.shl_rows(&collected(shifts.iter().map(|shift| 2 * shift))?)?;

    let root = rough_root(&rows)?.shr_rows(&shifts)?;
    let rest = a.wrapping_sub(&square(&root)?)?;
    let twice = root.shl(1)?;
    let is_more = twice.lt_mask(&rest)?;
    let root = root.wrapping_add_all(1)?.select(&is_more, &root)?;
    let next = rest.wrapping_sub(&twice)?.wrapping_sub_all(1)?;
    let rest = next.select(&is_more, &rest)?;
    Ok((zeros.select(&is_zero, &root)?, zeros.select(&is_zero, &rest)?))
}

/// Computes roots of shifted rows, rounded down, or 1 less.
fn rough_root(rows: &DynBatch) -> Result<DynBatch> {
    let (bits, device) = (rows.shape().bits, rows.device());
    let (half, p) = (bits / 2, bits / 4 + 3);
    let reciprocals = reciprocals(rows, p)?;
    let e = p + 3;
    let shape = device.shape_for(e + p + 2)?;
    let upper_part = upper(rows, e, shape)?;
    let first = upper_part.wrapping_mul(&cut(&reciprocals, shape)?)?.shr(e)?;
    // The bits above those of the difference are equal.
    let shape = device.shape_for(p + 8)?;
    let first = cut(&first, shape)?;
    let rest = cut(&rows.shr(half - 6)?, shape)?.wrapping_sub(&first.wrapping_square()?)?;
    let shape = device.shape_for(half + 16)?;
    let product = cut(&rest, shape)?.wrapping_mul(&cut(&reciprocals, shape)?)?.shr(p + 7)?;
    let root = cut(&first, shape)?.shl(half - p)?.wrapping_add(&product)?;
    cut(&root, rows.shape())
}

/// Computes reciprocal roots of precision `p` of shifted rows.
fn reciprocals(rows: &DynBatch, p: usize) -> Result<DynBatch> {
    let mut precisions = vec![p];
    while let Some(&next) = precisions.last().filter(|&&next| next > SEED) {
        precisions.push((next + 5).div_ceil(2));
    }
    let mut p = precisions.pop().unwrap_or(SEED);
    let mut z = seeds(rows, p)?;
    while let Some(q) = precisions.pop() {
        z = step(&z, rows, [p, q])?;
        p = q;
    }
    Ok(z)
}

/// Reciprocal roots of precision `p` of the upper `d = p + 6` bits: the root of `2^(2p + d) / (A_d
/// + 1)`. The 1 costs at most `8 2^-6`, and rounding less than 1.5.
fn seeds(rows: &DynBatch, p: usize) -> Result<DynBatch> {
    let d = p + 6;
    let shape = rows.device().shape_for(2 * p + d + 1)?;
    let divisors = upper(rows, d, shape)?.wrapping_add_all(1)?;
    let power = DynBatch::zeros(rows.device(), shape, rows.len())?.with_bit(2 * p + d)?;
    power.div(&divisors)?.isqrt()
}

/// One step of Newton's iteration, between these precisions.
fn step(z: &DynBatch, rows: &DynBatch, [p, q]: [usize; 2]) -> Result<DynBatch> {
    let device = rows.device();
    let d = q + 4;
    let shape = device.shape_for(q + p + 7)?;
    let square = cut(z, shape)?.wrapping_square()?;
    let zeros = DynBatch::zeros(device, shape, rows.len())?;
    let is_wider = d + 2 * p < shape.bits;
    let power = if is_wider { zeros.with_bit(d + 2 * p)? } else { zeros.try_clone()? };
    let t = power.wrapping_sub(&upper(rows, d, shape)?.wrapping_mul(&square)?)?;
    let loss = BigUint::one() << (2 * p + 2);
    let is_less = t.lt_mask_all(&loss)?;
    let t = zeros.select(&is_less, &t.wrapping_sub_all(&loss)?)?.shr(2 * p + 1)?;
    let shape = device.shape_for(q + 10)?;
    let z = cut(z, shape)?;
    let product = z.wrapping_mul(&cut(&t, shape)?)?.shr(p + 4)?;
    z.shl(q - p)?.wrapping_add(&product)
}

/// Squares rows of at most half the bits of their shape.
fn square(rows: &DynBatch) -> Result<DynBatch> {
    let shape = rows.shape();
    let half = rows.device().shape_for(shape.bits / 2)?;
    if 2 * half.bits != shape.bits || half.digit != shape.digit {
        return rows.wrapping_square();
    }
    let rows = cut(rows, half)?;
    rows.view().widening_mul(&rows, shape)
}

#[cfg(test)]
mod tests {
    use num_traits::Zero;

    use super::*;
    use crate::device::Device;

    /// Squares, their neighbours, and rows of all lengths.
    #[test]
    fn square_roots_of_hostile_rows_are_exact() {
        let device = Device::cpu();
        for bits in [512, 4096, 8192] {
            let shape = device.shape_for(bits).unwrap();
            assert_eq!(shape.bits, bits);
            let power = |exponent: usize| BigUint::one() << exponent;
            let ones = power(bits / 2) - 1u32;
            let uneven = (power(bits) / 3u32) ^ (power(bits / 2) / 7u32);
            let mut values = vec![BigUint::zero(), BigUint::one(), 2u32.into(), 3u32.into()];
            let roots = [
                ones.clone(),
                power(bits / 2 - 1),
                power(bits / 2 - 1) + 1u32,
                &ones - power(bits / 4),
                &uneven >> (bits / 2),
                &uneven >> (bits / 2 + 1),
                &ones >> 77u32,
                power(bits / 5),
            ];
            for root in roots {
                let square = &root * &root;
                values.extend([&square - 1u32, &square + &root + &root, square]);
            }
            values.extend((0..bits).step_by(bits / 31).map(|shift| &uneven >> shift));
            values.extend([power(bits) - 1u32, power(bits - 2), power(bits - 2) - 1u32]);
            let a = DynBatch::from_biguints(&device, shape, &values).unwrap();
            let (roots, rests) = isqrt_rem(&a).unwrap();
            let rests = rests.to_biguints().unwrap();
            for ((root, rest), a) in roots.to_biguints().unwrap().iter().zip(&rests).zip(&values) {
                assert_eq!(root * root + rest, *a, "{bits} bits, root {root:x}");
                assert!(*rest <= root << 1u32, "{bits} bits, {a:x}: {root:x}");
            }
        }
    }
}
