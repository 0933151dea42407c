//! Powers of small bases modulo generalized Fermat numbers `b^q + 1`, in digits to base `b`.
//!
//! A residue is a row of `q` signed digits of 16 bits, and so has `16 q` bits whatever `b` is
//! (`kernels/modular/fft/fermat_digits.cuh`). Powers begin with 1, which is a digit; only results
//! are converted to numbers, on the host.

use gpuint_catalogue::{Op, Shape};
use num_bigint::{BigInt, Sign};

use super::View;
use super::special_base::powers_of_digits;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::interrupt::on_all_cores;
use crate::kernel::algorithms;
use crate::shape::widths;
use crate::special::SpecialModulus;

/// Bits of a digit.
const DIGIT_BITS: usize = 16;

/// A row of fewer bits than this many for each digit takes less time by general products: the time
/// of the digits does not depend on `b`.
const MIN_BITS_OF_DIGIT: usize = 8;

impl View<'_> {
    /// Computes `base^exponents` modulo rows that are generalized Fermat numbers of one exponent;
    /// `None` if a row is another number, or the digits have no kernel or are slower.
    pub(super) fn powers_modulo_fermat(
        &self,
        base: u32,
        exponents: impl FnOnce() -> Result<DynBatch>,
    ) -> Result<Option<DynBatch>> {
        let (device, bits) = (self.device(), self.shape().bits);
        if !self.has_digits() {
            return Ok(None);
        }
        // Most rows are of other forms, and are not copied.
        if SpecialModulus::recognize_fermat(&self.batch.row(0)?).is_none() {
            return Ok(None);
        }
        let rows = self.batch.to_biguints()?;
        let forms = on_all_cores(rows.len(), self.shape().bytes(), |row| {
            Ok(SpecialModulus::recognize_fermat(&rows[row]))
        })?;
        let Some((shape, moduli)) = of_one_exponent(forms, base, bits) else { return Ok(None) };
        // Exponents below a number b^q + 1, b < 2^16, fit.
        let exponents = exponents()?.view().truncated(shape)?;
        let one = DynBatch::splat(device, shape, 1, self.len())?;
        let power = powers_of_digits(Op::PowFermat, one, base, &exponents, &moduli)?;
        // Digits are at most b / 2 + 1 <= b - 1, so that |value| < b^q.
        let number = |row: usize, value: BigInt| match value.into_parts() {
            (Sign::Minus, magnitude) => &rows[row] - magnitude,
            (_, magnitude) => magnitude,
        };
        self.numbers_of_digits(&power, &moduli, number).map(Some)
    }
}

/// Returns the shape of digits of rows of `bits` bits and the rows' moduli, of one exponent; `None`
/// if a row has none, or the digits do not fit, have no kernel or are slower.
fn of_one_exponent(
    forms: Vec<Option<SpecialModulus>>,
    factor: u32,
    bits: usize,
) -> Option<(Shape, Vec<SpecialModulus>)> {
    let forms = forms.into_iter().collect::<Option<Vec<_>>>()?;
    // The form of a square has twice the exponent: (c^2)^n = c^(2 n).
    let n = forms.iter().map(|form| form.n()).min()?;
    let moduli: Option<Vec<_>> = forms
        .into_iter()
        .map(|form| form.with_exponent(n).filter(|form| form.takes_fermat_digits(factor)))
        .collect();
    let q = n as usize;
    let has_digits = |shape: &Shape| {
        shape.bits == DIGIT_BITS * q && algorithms(Op::PowFermat, *shape).next().is_some()
    };
    let shape = widths().find(has_digits).filter(|_| bits >= MIN_BITS_OF_DIGIT * q)?;
    Some((shape, moduli?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_among_bases_have_the_exponent_of_the_others() {
        let form = |base, n| Some(SpecialModulus::with_base(1, base, n, 1));
        let n = 4096;
        let bits = 65536;
        let Some((shape, moduli)) =
            of_one_exponent(vec![form(60514, n), form(246, 2 * n)], 3, bits)
        else {
            panic!("the digits have a kernel");
        };
        assert_eq!(shape.bits, DIGIT_BITS * n as usize);
        assert_eq!(
            moduli.into_iter().map(Some).collect::<Vec<_>>(),
            [form(60514, n), form(60516, n)]
        );
        // One row of another form, a base of more than 16 bits, and digits of few bits.
        assert_eq!(of_one_exponent(vec![form(60514, n), None], 3, bits), None);
        assert_eq!(of_one_exponent(vec![form(60514, n), form(258, 2 * n)], 3, bits), None);
        assert_eq!(of_one_exponent(vec![form(6, n)], 3, 16384), None);
    }
}
