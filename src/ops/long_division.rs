//! Division of long rows by reciprocals, on devices without a kernel for it.
//!
//! Let `W` be the width of the rows, and `V` a divisor shifted to `W` bits: `2^(W-1) <= V < 2^W`.
//! Its reciprocal of precision `p` is a `Y` with
//!
//! ```text
//! 0 <= 2^(p + W) / V - Y < 2.                                                                 (1)
//! ```
//!
//! Newton's iteration doubles the precision (R. Brent and P. Zimmermann, "Modern Computer
//! Arithmetic", 2010, 3.4). A step from `p` to `q <= 2p - 3` takes the upper `d = min(W, q + 4)`
//! bits `V_d` of `V`:
//!
//! ```text
//! T  = 2^(d + p) - V_d Y,               computed modulo 2^w - 1, w >= d + 3
//! T' = max(0, T - 2^(p + 1)) for d < W, else T
//! Y <- Y 2^(q - p) + floor(Y floor(T' / 2^t) / 2^(2p + d - q - t)),   t = max(0, p - (q + 4 - d))
//! ```
//!
//! In units of `2^-q` the result is not above `2^(q + W) / V`, and loses less than `4 2^-3` by the
//! square of the error, `1/4` by the bits of `V` below `V_d`, `1/8` by `t`, and 1 by rounding:
//! less than 1.875, which is (1).
//!
//! Let `V = v 2^s`. With `p = W`, `u 2^s Y / 2^(2W)` is below `u / v` by less than `2 u 2^s /
//! 2^(2W) < 1`. So its floor is the quotient or 1 less, and one comparison of the remainder with
//! `v` corrects it. A row takes two products for the reciprocal and two more at widths for which
//! transforms have no unused points.

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use num_traits::One;

use super::View;
use crate::backend::host::collected;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;

/// Highest precision of a seed: a division of a row of few thousand bits.
const SEED: usize = 2048;

/// Computes quotients and remainders, and the mask of the rows with a divisor of zero, whose
/// quotient is `2^BITS - 1` and whose remainder is the dividend.
pub(super) fn div_rem(u: &DynBatch, v: &DynBatch) -> Result<(DynBatch, DynBatch, Mask)> {
    let zero = v.is_zero_mask()?;
    let zeros = DynBatch::zeros(v.device(), v.shape(), v.len())?;
    let v = zeros.with_bit(0)?.select(&zero, v)?;
    let shifts = shifts_to_top(&v)?;
    let (quotient, remainder) = divide(u, &v, &reciprocals(&v.shl_rows(&shifts)?)?, &shifts)?;
    let quotient = zeros.not()?.select(&zero, &quotient)?;
    Ok((quotient, u.select(&zero, &remainder)?, zero))
}

/// Returns the distances of shifts that set the top bit of rows that are not zero.
pub(super) fn shifts_to_top(rows: &DynBatch) -> Result<Vec<usize>> {
    let bits = rows.shape().bits;
    collected(rows.bit_lengths()?.into_iter().map(|length| bits - length as usize))
}

/// Divides by rows that are not zero, whose reciprocals and shifts are known.
pub(super) fn divide(
    u: &DynBatch,
    v: &DynBatch,
    reciprocals: &DynBatch,
    shifts: &[usize],
) -> Result<(DynBatch, DynBatch)> {
    let bits = u.shape().bits;
    // The upper half of u Y, with its carry.
    let (_, high) = u.mul_lo_hi(reciprocals)?;
    let (high, carry) = high.overflowing_add(u)?;
    let high = high.shr(1)?;
    let high = high.with_bit(bits - 1)?.select(&carry, &high)?;
    let quotient = high.shr_rows(&collected(shifts.iter().map(|shift| bits - 1 - shift))?)?;
    let remainder = u.wrapping_sub(&quotient.wrapping_mul(v)?)?;
    let is_right = remainder.lt_mask(v)?;
    let quotient = quotient.select(&is_right, &quotient.wrapping_add_all(1)?)?;
    let remainder = remainder.select(&is_right, &remainder.wrapping_sub(v)?)?;
    Ok((quotient, remainder))
}

/// Computes reciprocals `Y - 2^BITS` of precision `BITS` of rows whose top bit is set. At `2^(BITS
/// - 1)`, where this is `2^BITS`, the result is 1 less.
pub(super) fn reciprocals(rows: &DynBatch) -> Result<DynBatch> {
    let bits = rows.shape().bits;
    let mut precisions = vec![bits];
    while let Some(&next) = precisions.last().filter(|&&next| next > SEED) {
        precisions.push((next + 3).div_ceil(2));
    }
    let mut p = precisions.pop().unwrap_or(SEED);
    let mut y = seeds(rows, p)?;
    while let Some(q) = precisions.pop() {
        y = step(&y, rows, [p, q])?;
        p = q;
    }
    // Y - 2^BITS is at most 2^BITS.
    let rest = y.without_bit(bits)?;
    let is_most = rest.lt_mask_all(&(BigUint::one() << bits))?;
    let most = rest.wrapping_sub_all(1)?;
    cut(&rest.select(&is_most, &most)?, rows.shape())
}

/// Reciprocals of precision `p` of the upper `p + 3` bits: `2^(p + d) / (V_d + 1)` rounded down.
/// The 1 costs at most `2^p 4 2^-d`, and rounding less than 1.
fn seeds(rows: &DynBatch, p: usize) -> Result<DynBatch> {
    let d = p + 3;
    let shape = rows.device().shape_for(p + d + 1)?;
    let divisors = upper(rows, d, shape)?.wrapping_add_all(1)?;
    let power = DynBatch::zeros(rows.device(), shape, rows.len())?.with_bit(p + d)?;
    power.div(&divisors)
}

/// One step of Newton's iteration, between these precisions.
fn step(y: &DynBatch, rows: &DynBatch, [p, q]: [usize; 2]) -> Result<DynBatch> {
    let bits = rows.shape().bits;
    let d = bits.min(q + 4);
    let device = rows.device();
    let shape = device.shape_for((d + 3).max(p + 2))?;
    let product = upper(rows, d, shape)?.cyclic_mul(&cut(y, shape)?)?;
    let zeros = DynBatch::zeros(device, shape, rows.len())?;
    let power = zeros.with_bit((d + p) % shape.bits)?;
    let (difference, borrow) = power.overflowing_sub(&product)?;
    // 2^w is 1 more than the modulus.
    let mut t = difference.wrapping_sub_all(1)?.select(&borrow, &difference)?;
    if d < bits {
        let loss = BigUint::one() << (p + 1);
        let is_less = t.lt_mask_all(&loss)?;
        t = zeros.select(&is_less, &t.wrapping_sub_all(&loss)?)?;
    }
    let unused = p.saturating_sub(q + 4 - d);
    let shape = device.shape_for(q + 8)?;
    let (y, t) = (cut(y, shape)?, cut(&t.shr(unused)?, shape)?);
    let product = y.wrapping_mul(&t)?.shr(2 * p + d - q - unused)?;
    y.shl(q - p)?.wrapping_add(&product)
}

/// Returns the upper `bits` bits of rows.
pub(super) fn upper(rows: &DynBatch, bits: usize, shape: Shape) -> Result<DynBatch> {
    cut(&rows.shr(rows.shape().bits - bits)?, shape)
}

/// Returns rows modulo the width of a shape.
pub(super) fn cut(rows: &DynBatch, shape: Shape) -> Result<DynBatch> {
    if rows.shape() == shape { rows.try_clone() } else { rows.view().truncated(shape) }
}

/// Writes the rows of a result to a batch of the same shape.
pub(super) fn write(result: &DynBatch, out: Option<&mut DynBatch>) -> Result<()> {
    let Some(out) = out else { return Ok(()) };
    View::copy_rows(&result.view(), 0..result.len(), out, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;

    /// Divisors of all lengths and both ends of the range of reciprocals.
    #[test]
    fn reciprocals_divide_hostile_rows() {
        let device = Device::cpu();
        let bits = (1 << 20) + 64;
        let shape = device.shape_for(bits).unwrap();
        let power = |exponent: usize| BigUint::one() << exponent;
        let ones = power(bits) - 1u32;
        let uneven = (power(bits) / 3u32) ^ (power(bits / 2) / 7u32);
        let divisors = [
            BigUint::one(),
            power(bits - 1),
            power(bits - 1) + 1u32,
            ones.clone(),
            uneven.clone(),
            &uneven >> (bits / 2 + 5),
            &uneven >> (bits - 70),
            BigUint::from(0u32),
            power(2049) - 1u32,
            &ones - 1u32,
        ];
        let dividends = [
            ones.clone(),
            ones.clone(),
            power(bits - 1),
            &ones - 1u32,
            ones.clone(),
            &divisors[5] * 0xffff_fffe_u32 - 1u32,
            uneven.clone(),
            uneven.clone(),
            &ones - &uneven,
            BigUint::from(5u32),
        ];
        let [u, v] = [&dividends, &divisors]
            .map(|values| DynBatch::from_biguints(&device, shape, values).unwrap());
        let (quotient, remainder, zero) = div_rem(&u, &v).unwrap();
        let (quotient, remainder) =
            (quotient.to_biguints().unwrap(), remainder.to_biguints().unwrap());
        for (row, (u, v)) in dividends.iter().zip(&divisors).enumerate() {
            let is_zero = *v == BigUint::from(0u32);
            assert_eq!(zero.row(row).unwrap(), is_zero);
            let expected = if is_zero { (ones.clone(), u.clone()) } else { (u / v, u % v) };
            assert!((&quotient[row], &remainder[row]) == (&expected.0, &expected.1), "row {row}");
        }
    }
}
