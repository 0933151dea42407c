//! Residues modulo the product of all rows of a part: one long number.
//!
//! Let `N` be the product, of `v` bits, and `Y` its reciprocal (`reciprocal.rs`) in rows of `F`
//! bits. The fraction of a number `a < 2^v` is `X = floor(a Y / 2^v)`, and
//!
//! ```text
//! 0 <= 2^F a / N - X < 3                                                                      (1)
//! ```
//!
//! as `fractions.rs` proves. The product of a residue `a` and a number `b <= 2^(F - 2)` modulo `N`
//! is
//!
//! ```text
//! r = a b - Q N,   Q = floor(b X / 2^F),   minus N if r >= N.
//! ```
//!
//! Proof. By (1), `b X / 2^F` is below `a b / N` by less than `3 b / 2^F <= 3 / 4`, and rounding
//! loses less than 1. So `0 <= r < 1.75 N`, and one subtraction reduces it. As `2 N < 2^F - 1`, the
//! difference modulo `2^F - 1` or `2^F` is `r`.
//!
//! It takes six products of `F` bits: two each for `X` and `Q`, which are upper halves, and one
//! each for `a b` and `Q N`. `b` need not be below `N`.

use num_bigint::BigUint;

use super::nodes::{moved, tiled};
use super::reciprocal::reciprocal;
use super::{halves, is_wrapped, wrapped_difference};
use crate::dyn_batch::DynBatch;
use crate::error::Result;

/// Bits of a row that factors leave free: at least 2, and whole bytes.
const SPARE_BITS: usize = 8;

/// The product of all rows of a part, with its reciprocal.
pub(super) struct Root {
    product: DynBatch,
    /// Length of the product, at least 7 less than the width of the row.
    length: u64,
    reciprocal: DynBatch,
}

impl Root {
    /// Computes the reciprocal of the one row of `product`, which has `length` bits.
    pub(super) fn new(product: DynBatch, length: u64) -> Result<Self> {
        let reciprocal = reciprocal(&product, length)?;
        Ok(Self { product, length, reciprocal })
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

    /// Computes the product of a residue and a number below `2^(BITS - 2)`, both one row of the
    /// shape of the root.
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
    /// highest one on, by Horner's rule.
    pub(super) fn long_product(&self, residue: &DynBatch, number: &BigUint) -> Result<DynBatch> {
        let (device, shape) = (self.product.device(), self.product.shape());
        let bits = shape.bits - SPARE_BITS;
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
