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
//! each for `a b` and `Q N`. `b` need not be below `N`, nor `a` if it has at most `v` bits.
//! Products of one residue and several numbers share `X`: four products each.

use std::ops::Deref;

use num_bigint::BigUint;

use super::nodes::{moved, tiled};
use super::products::{halves, is_wrapped, wrapped_difference};
use super::reciprocal::reciprocal;
use crate::backend::cpu::integers::remainder;
use crate::backend::host::collected;
use crate::dyn_batch::DynBatch;
use crate::error::Result;

/// Longest root by which the host divides longer numbers: its division takes the product of both
/// lengths, and a device takes four products for each piece of the length of the root.
const HOST_DIVISOR_BITS: u64 = 1 << 16;

/// Bits by which the precision of a reciprocal is less than the width of its row, if it can be.
const SPARE_BITS: u64 = 64;

/// Copies of a row, as the second operand of a batch.
enum Copies<'r> {
    One(&'r DynBatch),
    Several(DynBatch),
}

impl<'r> Copies<'r> {
    fn of(row: &'r DynBatch, count: usize) -> Result<Self> {
        Ok(if count == 1 { Self::One(row) } else { Self::Several(tiled(row, count)?) })
    }
}

impl Deref for Copies<'_> {
    type Target = DynBatch;

    fn deref(&self) -> &DynBatch {
        match self {
            Self::One(row) => row,
            Self::Several(rows) => rows,
        }
    }
}

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
        let (_, high) = halves(&numbers, &*Copies::of(&self.reciprocal, numbers.len())?)?;
        // D Y = D (Y - 2^F) + D 2^F.
        numbers.wrapping_add(&high)
    }

    /// Computes the products of a residue of one row and numbers of at most `precision - 2` bits,
    /// in the shape of the root.
    pub(super) fn products(&self, residue: &DynBatch, numbers: &DynBatch) -> Result<DynBatch> {
        let count = numbers.len();
        let fraction = self.fractions(residue.try_clone()?)?;
        let (_, quotients) = halves(numbers, &*Copies::of(&fraction, count)?)?;
        drop(fraction);
        let (residues, roots) = (Copies::of(residue, count)?, Copies::of(&self.product, count)?);
        let rest = if is_wrapped(residue.device(), residue.shape()) {
            let products = numbers.cyclic_mul(&residues)?;
            wrapped_difference(&products, &quotients.cyclic_mul(&roots)?)?
        } else {
            let products = numbers.wrapping_mul(&residues)?;
            products.wrapping_sub(&quotients.wrapping_mul(&roots)?)?
        };
        self.reduced(&rest)
    }

    /// Computes the product of a residue and a number of any length.
    pub(super) fn long_product(&self, residue: &DynBatch, number: &BigUint) -> Result<DynBatch> {
        self.products(residue, &self.remainder(number)?)
    }

    /// Returns a number that is congruent to a number of any length, of at most `precision - 2`
    /// bits.
    ///
    /// Pieces of a longer number are below the root. Pairs of neighbours are combined until one is
    /// left: `4 m` products for `m` pieces, in `log2(m)` steps of batches.
    pub(super) fn remainder(&self, number: &BigUint) -> Result<DynBatch> {
        let (device, shape) = (self.product.device(), self.product.shape());
        if number.bits() <= self.precision - 2 {
            return DynBatch::single(device, shape, number);
        }
        if self.length <= HOST_DIVISOR_BITS {
            return DynBatch::single(device, shape, &remainder(number, &self.product.row(0)?)?);
        }
        // Whole bytes. The power is at most the root.
        let bytes = (self.length as usize - 1) / 8;
        let mut power = DynBatch::power_of_two(device, shape, 8 * bytes)?;
        let number = number.to_bytes_le();
        let pieces = number.chunks(bytes).map(BigUint::from_bytes_le);
        let mut pieces = DynBatch::from_biguints(device, shape, pieces)?;
        while pieces.len() > 1 {
            let highs = pieces.gather(&collected((1..pieces.len()).step_by(2))?)?;
            let terms = self.products(&power, &highs)?;
            let lows = pieces.gather(&collected((0..pieces.len()).step_by(2))?)?;
            // A highest piece without a partner.
            let rest = lows.slice(terms.len()..lows.len())?;
            let sums = self.reduced(&lows.slice(0..terms.len())?.wrapping_add(&terms)?)?;
            pieces = if rest.is_empty() { sums } else { DynBatch::concat(&[&sums, &rest])? };
            if pieces.len() > 1 {
                power = self.products(&power, &power)?;
            }
        }
        Ok(pieces)
    }

    /// Reduces numbers below twice the root.
    fn reduced(&self, numbers: &DynBatch) -> Result<DynBatch> {
        let roots = Copies::of(&self.product, numbers.len())?;
        let (difference, borrow) = numbers.overflowing_sub(&roots)?;
        numbers.select(&borrow, &difference)
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
                        let product = prepared.products(&row(residue), &row(&number)).unwrap();
                        let expected = residue * &number % root;
                        assert!(product.row(0).unwrap() == expected, "{bits} bits");
                    }
                }
                let residue = root / 3u32;
                let mut long =
                    vec![power(3 * most), power(2 * most) - 1u32, power(2 * most) / 7u32];
                if is_long {
                    // Seven pieces of ones: the highest one has no partner in two steps.
                    long.push(power((root.bits() - 1) / 8 * 56) - 1u32);
                }
                for number in long {
                    let product = prepared.long_product(&row(&residue), &number).unwrap();
                    let expected = &residue * &number % root;
                    assert!(product.row(0).unwrap() == expected, "{bits} bits, long");
                }
            }
        }
    }
}
