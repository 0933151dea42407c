//! Powers by one exponent for all rows, by windows that slide over its bits.
//!
//! A window of `w` bits ends in a bit that is set, so that a table has the odd powers alone (A.
//! Menezes, P. van Oorschot and S. Vanstone, "Handbook of Applied Cryptography", 1996, 14.85). An
//! exponent of `b` random bits takes `b` squares, about `b / (w + 1)` products, and `2^(w - 1)` for
//! the table.

use super::View;
use super::exponents::Exponents;
use super::products::Products;
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::Result;

/// Squares and products of residues, row by row.
pub(super) trait Multiply {
    fn square(&mut self, a: &DynBatch, out: &mut DynBatch) -> Result<()>;

    fn multiply(&mut self, a: &DynBatch, b: &DynBatch, out: &mut DynBatch) -> Result<()>;
}

impl Multiply for Products<'_> {
    fn square(&mut self, a: &DynBatch, out: &mut DynBatch) -> Result<()> {
        self.square_into(a, out)
    }

    fn multiply(&mut self, a: &DynBatch, b: &DynBatch, out: &mut DynBatch) -> Result<()> {
        self.mul_into(a, b, out)
    }
}

/// Returns the length of the windows for an exponent of `bits` bits: a bit more saves `bits / ((w +
/// 1) (w + 2))` products and takes `2^(w - 1)` more for the table.
const fn window_bits(bits: usize) -> usize {
    match bits {
        0..=6 => 1,
        7..=24 => 2,
        25..=80 => 3,
        81..=240 => 4,
        _ => 5,
    }
}

/// Computes powers of residues by an exponent of `bits` bits, at least one. `bit` returns its bits.
pub(super) fn power(
    products: &mut impl Multiply,
    base: DynBatch,
    bits: usize,
    bit: impl Fn(usize) -> bool,
) -> Result<DynBatch> {
    let window = window_bits(bits);
    let mut next = base.view().alloc()?;
    let mut odd_powers = vec![base];
    if window > 1 {
        products.square(&odd_powers[0], &mut next)?;
    }
    for index in 1..1 << (window - 1) {
        let mut power = next.view().alloc()?;
        products.multiply(&odd_powers[index - 1], &next, &mut power)?;
        odd_powers.push(power);
    }
    let mut power: Option<DynBatch> = None;
    let mut position = bits;
    while position > 0 {
        let mut low = position - 1;
        let mut factor = None;
        if bit(low) {
            let end = position.saturating_sub(window);
            low = (end..position).find(|&place| bit(place)).unwrap_or(low);
            let bits = (low + 1..position).rev().map(|place| usize::from(bit(place)));
            factor = Some(&odd_powers[bits.fold(0, |digit, bit| 2 * digit + bit)]);
        }
        match (&mut power, factor) {
            (None, factor) => power = factor.map(DynBatch::try_clone).transpose()?,
            (Some(power), factor) => {
                for _ in low..position {
                    products.square(power, &mut next)?;
                    std::mem::swap(power, &mut next);
                }
                if let Some(factor) = factor {
                    products.multiply(power, factor, &mut next)?;
                    std::mem::swap(power, &mut next);
                }
            }
        }
        position = low;
    }
    Ok(power.unwrap_or(next))
}

impl View<'_> {
    /// Computes powers by the exponent of all rows, which is not 0. The operands have been checked.
    pub(super) fn sliding_powers(
        &self,
        exponents: &Exponents,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let mut products = Products::new(self, divisor)?;
        let base = self.rem_by(divisor)?;
        let bit = |position: usize| exponents.digit(0, 1, position) == 1;
        let power = power(&mut products, base, exponents.bits(0), bit)?;
        power.view().copy_rows(0..self.len(), out, 0)
    }
}
