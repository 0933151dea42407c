//! Residues modulo the product of all rows of a part: one long number.
//!
//! Let `N` be the product, of `v` bits, in a row of `F` bits, and `Y` its reciprocal of precision
//! `p <= F` (`reciprocal.rs`). The fraction of a number `a < 2^v` is `X = floor(a Y 2^(F - p) /
//! 2^v)`, and
//!
//! ```text
//! 0 <= a / N - X / 2^F < 3 / 2^p                                                              (1)
//! ```
//!
//! as `fractions.rs` proves for `p = F`. A precision of 64 bits less than a power of two keeps the
//! products of Newton's iteration, which have a few bits more, in transforms of that length. The
//! product of a residue `a` and a number `b <= 2^(p - 2)` modulo `N` is
//!
//! ```text
//! r = a b - Q N,   Q = floor(b X / 2^F),   minus N if r >= N.
//! ```
//!
//! Proof. By (1), `b X / 2^F` is below `a b / N` by less than `3 b / 2^p <= 3 / 4`, and rounding
//! loses less than 1. So `0 <= r < 1.75 N`, and one subtraction reduces it. As `2 N < 2^F - 1`, the
//! difference modulo `2^F - 1` or `2^F` is `r`.
//!
//! It takes six products of `F` bits: two each for `X` and `Q`, which are upper halves, and one
//! each for `a b` and `Q N`. `b` need not be below `N`.

use std::borrow::Cow;

use num_bigint::BigUint;

use super::nodes::{moved, tiled};
use super::products::{halves, is_wrapped, wrapped_difference};
use super::reciprocal::reciprocal;
use crate::backend::cpu::integers::remainder;
use crate::dyn_batch::DynBatch;
use crate::error::Result;

/// Longest root by which the host divides longer numbers: its division takes the product of both
/// lengths, and a device takes 12 products of one row for each piece of the length of the root.
const HOST_DIVISOR_BITS: u64 = 1 << 16;

/// Bits by which the precision of a reciprocal is less than the width of its row, if it can be.
const SPARE_BITS: u64 = 64;

/// The product of all rows of a part, with its reciprocal.
pub(super) struct Root {
    product: DynBatch,
    /// Length of the product, at least 7 less than the width of the row.
    length: u64,
    /// Precision of the reciprocal.
    precision: u64,
    /// The reciprocal as a fraction, minus 1.
    reciprocal: DynBatch,
}

impl Root {
    /// Computes the reciprocal of the one row of `product`, which has `length` bits, for fractions
    /// of at least `fraction_bits` bits.
    pub(super) fn new(product: DynBatch, length: u64, fraction_bits: u64) -> Result<Self> {
        let width = product.shape().bits as u64;
        let less = width.checked_sub(SPARE_BITS).filter(|&less| less >= fraction_bits);
        let precision = less.unwrap_or(width);
        let mut reciprocal = reciprocal(&product, length, precision)?;
        if precision < width {
            reciprocal = reciprocal.shl((width - precision) as usize)?;
        }
        Ok(Self { product, length, precision, reciprocal })
    }

    /// Returns numbers of at most as many bits as the root as fractions of it.
    pub(super) fn fractions(&self, numbers: DynBatch) -> Result<DynBatch> {
        let (device, shape) = (self.product.device(), self.product.shape());
        let numbers = moved(numbers, device, shape)?.shl(shape.bits - self.length as usize)?;
        let high = match numbers.len() {
            1 => halves(&numbers, &self.reciprocal)?.1,
            count => halves(&numbers, &tiled(&self.reciprocal, count)?)?.1,
        };
        // D Y = D (Y - 2^F) + D 2^F.
        numbers.wrapping_add(&high)
    }

    /// Computes the product of a residue and a number of at most `precision - 2` bits, both one row
    /// of the shape of the root.
    pub(super) fn product(&self, residue: &DynBatch, number: &DynBatch) -> Result<DynBatch> {
        let fraction = self.fractions(residue.try_clone()?)?;
        let (_, quotient) = halves(number, &fraction)?;
        drop(fraction);
        let rest = if is_wrapped(residue.device(), residue.shape()) {
            let product = residue.cyclic_mul(number)?;
            wrapped_difference(&product, &quotient.cyclic_mul(&self.product)?)?
        } else {
            let product = residue.wrapping_mul(number)?;
            product.wrapping_sub(&quotient.wrapping_mul(&self.product)?)?
        };
        self.reduced(&rest)
    }

    /// Computes the product of a residue and a number of any length: pieces of the number from the
    /// highest one on, by Horner's rule, where the root is long.
    pub(super) fn long_product(&self, residue: &DynBatch, number: &BigUint) -> Result<DynBatch> {
        let is_divided = number.bits() > self.length && self.length <= HOST_DIVISOR_BITS;
        let number = match is_divided {
            true => Cow::Owned(remainder(number, &self.product.row(0)?)?),
            false => Cow::Borrowed(number),
        };
        let (device, shape) = (self.product.device(), self.product.shape());
        // Whole bytes, so that the radix, which has a bit more, is small enough, too.
        let bits = (self.precision as usize - 2) / 8 * 8;
        let radix = DynBatch::power_of_two(device, shape, bits)?;
        let mut sum: Option<DynBatch> = None;
        for piece in number.to_bytes_le().chunks(bits / 8).rev() {
            let piece = DynBatch::single(device, shape, &BigUint::from_bytes_le(piece))?;
            let term = self.product(residue, &piece)?;
            sum = Some(match sum {
                None => term,
                Some(sum) => self.reduced(&self.product(&sum, &radix)?.wrapping_add(&term)?)?,
            });
        }
        sum.map_or_else(|| DynBatch::zeros(device, shape, 1), Ok)
    }

    /// Reduces a number below twice the root.
    fn reduced(&self, number: &DynBatch) -> Result<DynBatch> {
        let (difference, borrow) = number.overflowing_sub(&self.product)?;
        number.select(&borrow, &difference)
    }
}

#[cfg(test)]
mod tests {
    use num_traits::One;

    use super::*;
    use crate::device::Device;
    use crate::ops::tree::nodes::home;

    #[test]
    fn products_are_exact_for_hostile_roots_and_factors() {
        let device = Device::cpu();
        let power = |exponent: u64| BigUint::one() << exponent;
        for bits in [1u64, 2, 63, 2040, HOST_DIVISOR_BITS + 100] {
            let (device, shape) = home(&device, bits + 7).unwrap();
            let row = |value: &BigUint| DynBatch::single(&device, shape, value).unwrap();
            let is_long = bits > HOST_DIVISOR_BITS;
            let roots = [power(bits) - 1u32, power(bits - 1), power(bits - 1) | power(bits / 2)];
            for root in &roots[..if is_long { 1 } else { 3 }] {
                let prepared = Root::new(row(root), root.bits(), bits + 7).unwrap();
                let most = prepared.precision - 2;
                let residues = [root - 1u32, BigUint::ZERO, BigUint::one() % root, root / 3u32];
                for residue in &residues[..if is_long { 1 } else { 4 }] {
                    for number in [BigUint::ZERO, power(most), power(most) - 1u32, root.clone()] {
                        let product = prepared.product(&row(residue), &row(&number)).unwrap();
                        let expected = residue * &number % root;
                        assert!(product.row(0).unwrap() == expected, "{bits} bits");
                    }
                }
                let residue = root / 3u32;
                for number in [power(3 * most), power(2 * most) - 1u32, power(2 * most) / 7u32] {
                    let product = prepared.long_product(&row(&residue), &number).unwrap();
                    let expected = &residue * &number % root;
                    assert!(product.row(0).unwrap() == expected, "{bits} bits, long");
                }
            }
        }
    }
}
