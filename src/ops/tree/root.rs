//! Residues modulo the product of all rows of a part: one long number.
//!
//! Let `P` be the product, in a row of `F` bits, and `p <= F` the precision of a reciprocal `Y`
//! (`reciprocal.rs`). All computations are modulo `N = 2^k P`, of `v = p - 3` bits: a residue of a
//! number `x` is `2^k x mod N`, and its fraction of `N` is that of `x mod P` of `P`. The fraction
//! of a number `a < 2^v` is `X = floor(a Y 2^(F - p) / 2^v)`, and
//!
//! ```text
//! 0 <= a / N - X / 2^F < 3 / 2^p                                                              (1)
//! ```
//!
//! as `fractions.rs` proves for `p = F`. A precision of 64 bits less than a power of two keeps the
//! products of Newton's iteration, which have a few bits more, in transforms of that length.
//!
//! # Remainders
//! Let `z = h 2^v + l`, where `l < 2^v` and `h < N`, and `X` be the fraction of `h`. Then
//!
//! ```text
//! r = z - Q N,   Q = floor(X / 2^(F - v)),   0 <= r < 4 N,
//! ```
//!
//! By (1), `X 2^v / 2^F` is below `h 2^v / N` by less than `3 / 8`, and rounding loses less than 1.
//! So `r < 1.375 N + l`, and `l < 2 N`. Subtractions of `2 N` and `N` reduce it. As `4 N < 2^F`,
//! the difference modulo `2^F - 1` or `2^F` is `r`. A remainder takes three products of `F` bits:
//! two for `X`, which is an upper half, and one for `Q N`.
//!
//! # Products
//! The product of a residue `a` and a number `b <= 2^v` is below `N 2^v`: two products for `a b`,
//! and three for its remainder.
//!
//! Products of one residue `a` and several numbers `b` share the fraction `X` of `a`:
//!
//! ```text
//! r = a b - Q N,   Q = floor(b X / 2^F).
//! ```
//!
//! By (1), `b X / 2^F` is below `a b / N` by less than `3 b / 2^p <= 3 / 8`, so that `r < 1.375 N`.
//! They take four products each, and two for `X`.

use std::ops::Deref;

use num_bigint::BigUint;

use super::nodes::{moved, tiled};
use super::products::{difference, halves, times};
use super::reciprocal::reciprocal;
use crate::backend::cpu::integers::remainder;
use crate::backend::host::collected;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::ops::transform::Transform;
use crate::ops::wrapped::{is_wrapped, wrapped_sum};

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

/// Returns the bits of `N` in rows of `width` bits, for fractions of at least `fraction_bits` bits.
pub(super) fn modulus_bits(width: usize, fraction_bits: u64) -> u64 {
    let width = width as u64;
    let less = width.checked_sub(SPARE_BITS).filter(|&less| less >= fraction_bits);
    less.unwrap_or(width) - 3
}

/// A number of two rows: a product.
pub(super) struct Wide {
    /// `floor(z / 2^v)`.
    high: DynBatch,
    /// `z` modulo `2^F - 1` or `2^F`.
    rest: DynBatch,
}

impl Wide {
    /// Computes the product of two numbers for roots of `bits` bits.
    pub(super) fn product(a: &DynBatch, b: &DynBatch, bits: u64) -> Result<Self> {
        let bits = bits as usize;
        let (low, high) = halves(a, b)?;
        let upper = high.shl(a.shape().bits - bits)?.or(&low.shr(bits)?)?;
        let rest = if is_wrapped(a.device(), a.shape()) { wrapped_sum(&low, &high)? } else { low };
        Ok(Self { high: upper, rest })
    }
}

/// The product of all rows of a part, with its reciprocal.
pub(super) struct Root {
    /// `N`.
    modulus: DynBatch,
    /// `2 N`.
    double: DynBatch,
    /// Length of `N`.
    bits: u64,
    /// `k`: the product has `bits - shift` bits.
    shift: usize,
    /// The reciprocal as a fraction, minus 1.
    reciprocal: DynBatch,
    /// Transforms of the reciprocal and of `N`.
    transforms: [Option<Transform>; 2],
}

impl Root {
    /// Computes the reciprocal of the one row of `product`, which has `length` bits, at least 7
    /// less than `fraction_bits`, for fractions of at least `fraction_bits` bits.
    pub(super) fn new(product: &DynBatch, length: u64, fraction_bits: u64) -> Result<Self> {
        let width = product.shape().bits;
        let bits = modulus_bits(width, fraction_bits);
        let precision = bits + 3;
        let shift = (bits - length) as usize;
        let modulus = product.shl(shift)?;
        let double = modulus.shl(1)?;
        let reciprocal = reciprocal(&modulus, bits, precision)?.shl(width - precision as usize)?;
        Ok(Self { modulus, double, bits, shift, reciprocal, transforms: [None, None] })
    }

    /// Keeps the transforms of the reciprocal and of `N`, for many products.
    pub(super) fn with_transforms(self) -> Result<Self> {
        let wide = Transform::wide(&self.reciprocal, u64::MAX)?;
        let cyclic = Transform::cyclic(&self.modulus, u64::MAX)?;
        Ok(Self { transforms: [wide, cyclic], ..self })
    }

    /// Returns the residues of numbers of at most as many bits as the product.
    pub(super) fn residues(&self, numbers: DynBatch) -> Result<DynBatch> {
        moved(numbers, self.modulus.device(), self.modulus.shape())?.shl(self.shift)
    }

    /// Returns the fractions of residues.
    pub(super) fn fractions(&self, residues: &DynBatch) -> Result<DynBatch> {
        let numbers = residues.shl(residues.shape().bits - self.bits as usize)?;
        let (_, high) = match &self.transforms[0] {
            Some(transform) => transform.mul_lo_hi(&numbers)?,
            None => halves(&numbers, &*Copies::of(&self.reciprocal, numbers.len())?)?,
        };
        // D Y = D (Y - 2^F) + D 2^F.
        numbers.wrapping_add(&high)
    }

    /// Computes `z` modulo `N`, for a number of one row below `N 2^v`.
    pub(super) fn remainder(&self, number: &Wide) -> Result<DynBatch> {
        let fraction = self.fractions(&number.high)?;
        let quotient = fraction.shr(fraction.shape().bits - self.bits as usize)?;
        drop(fraction);
        let product = match &self.transforms[1] {
            Some(transform) => transform.cyclic_mul(&quotient)?,
            None => times(&quotient, &self.modulus)?,
        };
        let rest = difference(&number.rest, &product)?;
        below(&below(&rest, &self.double)?, &self.modulus)
    }

    /// Computes the product of a residue and a number up to `2^v`, one row each.
    pub(super) fn product(&self, residue: &DynBatch, number: &DynBatch) -> Result<DynBatch> {
        self.remainder(&Wide::product(residue, number, self.bits)?)
    }

    /// Computes the products of a residue of one row and numbers up to `2^v`.
    fn products(&self, residue: &DynBatch, numbers: &DynBatch) -> Result<DynBatch> {
        let count = numbers.len();
        if count == 1 {
            return self.product(residue, numbers);
        }
        let fraction = self.fractions(residue)?;
        let (_, quotients) = halves(numbers, &*Copies::of(&fraction, count)?)?;
        drop(fraction);
        let (residues, moduli) = (Copies::of(residue, count)?, Copies::of(&self.modulus, count)?);
        let rests = difference(&times(numbers, &residues)?, &times(&quotients, &moduli)?)?;
        below(&rests, &moduli)
    }

    /// Computes the product of a residue and a number of any length.
    pub(super) fn long_product(&self, residue: &DynBatch, number: &BigUint) -> Result<DynBatch> {
        self.product(residue, &self.shortened(number)?)
    }

    /// Returns a number of at most `v` bits that is congruent to a number of any length.
    ///
    /// Pieces of a longer number are below `N`. Pairs of neighbours are combined until one is left:
    /// `4 m` products for `m` pieces, in `log2(m)` steps of batches.
    fn shortened(&self, number: &BigUint) -> Result<DynBatch> {
        let (device, shape) = (self.modulus.device(), self.modulus.shape());
        if number.bits() <= self.bits {
            return DynBatch::single(device, shape, number);
        }
        if self.bits <= HOST_DIVISOR_BITS {
            return DynBatch::single(device, shape, &remainder(number, &self.modulus.row(0)?)?);
        }
        // Whole bytes. The power is at most `N`.
        let bytes = (self.bits as usize - 1) / 8;
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
            let sums = lows.slice(0..terms.len())?.wrapping_add(&terms)?;
            let sums = below(&sums, &*Copies::of(&self.modulus, sums.len())?)?;
            pieces = if rest.is_empty() { sums } else { DynBatch::concat(&[&sums, &rest])? };
            if pieces.len() > 1 {
                power = self.product(&power, &power)?;
            }
        }
        Ok(pieces)
    }
}

/// Returns numbers below twice the moduli modulo them.
fn below(numbers: &DynBatch, moduli: &DynBatch) -> Result<DynBatch> {
    let (difference, borrow) = numbers.overflowing_sub(moduli)?;
    numbers.select(&borrow, &difference)
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
                let prepared = Root::new(&row(root), root.bits(), bits + 7).unwrap();
                let most = prepared.bits;
                let modulus = root << prepared.shift;
                let residues = [&modulus - 1u32, BigUint::ZERO, BigUint::one(), &modulus / 3u32];
                let numbers =
                    [BigUint::ZERO, power(most), power(most) - 1u32, root.clone(), modulus.clone()];
                for residue in &residues[..if is_long { 1 } else { 4 }] {
                    let expected = numbers.each_ref().map(|number| residue * number % &modulus);
                    for (number, expected) in numbers.iter().zip(&expected) {
                        let product = prepared.product(&row(residue), &row(number)).unwrap();
                        assert!(product.row(0).unwrap() == *expected, "{bits} bits");
                    }
                    let all = DynBatch::from_biguints(&device, shape, &numbers).unwrap();
                    let products = prepared.products(&row(residue), &all).unwrap();
                    assert!(products.to_biguints().unwrap() == expected, "{bits} bits, all");
                }
                let residue = root / 3u32;
                let mut long =
                    vec![power(3 * most), power(2 * most) - 1u32, power(2 * most) / 7u32];
                if is_long {
                    // Seven pieces of ones: the highest one has no partner in two steps.
                    long.push(power((root.bits() - 1) / 8 * 56) - 1u32);
                }
                for number in long {
                    let entered = prepared.residues(row(&residue)).unwrap();
                    let product = prepared.long_product(&entered, &number).unwrap();
                    let expected = (&residue * &number % root) << prepared.shift;
                    assert!(product.row(0).unwrap() == expected, "{bits} bits, long");
                }
            }
        }
    }
}
