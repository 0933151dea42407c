//! Powers of small bases modulo generalized Fermat numbers `b^q + 1`, in digits to base `b`.
//!
//! A residue is a row of `q` signed digits of 16 bits, and so has `16 q` bits whatever `b` is
//! (`kernels/modular/fft/fermat_digits.cuh`). Powers begin with 1, which is a digit; only results
//! are converted to numbers, on the host.

use gpuint_catalogue::{Op, Shape};
use num_bigint::{BigInt, BigUint, Sign};

use super::View;
use super::special::{powers_in_digits, records};
use crate::backend::BackendKind;
use crate::backend::host::collected;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::interrupt::on_all_cores;
use crate::kernel::algorithms;
use crate::shape::widths;
use crate::special::SpecialModulus;

/// Bits of a digit.
const DIGIT_BITS: usize = 16;

/// Digits that a conversion evaluates one after the other.
const LEAF_DIGITS: usize = 64;

/// A row of fewer bits than this many for each digit takes less time by general products: the time
/// of the digits does not depend on `b`.
const MIN_BITS_OF_DIGIT: usize = 8;

impl View<'_> {
    /// Computes `base^exponents` modulo the rows, which are generalized Fermat numbers of one
    /// exponent; `None` if they are not, or the digits have no kernel or are slower.
    pub(super) fn powers_modulo_fermat(
        &self,
        base: u32,
        exponents: impl FnOnce() -> Result<DynBatch>,
    ) -> Result<Option<DynBatch>> {
        let (device, bits) = (self.device(), self.shape().bits);
        // The CPU computes general powers in less time.
        if self.batch.is_empty() || device.backend() == BackendKind::Cpu {
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
        let Some((shape, moduli)) = in_digits(forms, base, bits) else { return Ok(None) };
        // Exponents below a number b^q + 1, b < 2^16, fit.
        let exponents = exponents()?.view().truncated(shape)?;
        let one = DynBatch::splat(device, shape, 1, self.len())?;
        let records = records(device, &moduli)?;
        let power = powers_in_digits(Op::PowFermat, one, base, &exponents, (&records, false))?;
        let bytes = power.to_le_bytes()?;
        let values = on_all_cores(rows.len(), 4 * shape.bytes(), |row| {
            let bytes = &bytes[row * shape.bytes()..][..shape.bytes()];
            let halves = bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]));
            Ok(number_of(&collected(halves)?, moduli[row].base(), &rows[row]))
        })?;
        DynBatch::from_biguints(device, self.shape(), values).map(Some)
    }
}

/// Returns the shape of digits of rows of `bits` bits and the rows' moduli, of one exponent; `None`
/// if a row has none, or the digits do not fit, have no kernel or are slower.
fn in_digits(
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

/// Returns the number of `q` digits to this base modulo `n = base^q + 1`.
fn number_of(digits: &[i16], base: u32, n: &BigUint) -> BigUint {
    let base = i64::from(base);
    let leaf = |digits: &[i16]| {
        digits.iter().rev().fold(BigInt::ZERO, |value, &digit| value * base + digit)
    };
    let mut parts: Vec<BigInt> = digits.chunks(LEAF_DIGITS).map(leaf).collect();
    let mut power = BigInt::from(base).pow(LEAF_DIGITS as u32);
    while parts.len() > 1 {
        parts = parts.chunks(2).map(|pair| &pair[0] + &pair[1] * &power).collect();
        power = &power * &power;
    }
    let value = parts.pop().unwrap_or_default();
    // Digits are at most b / 2 + 1 <= b - 1, so that |value| < b^q.
    match value.into_parts() {
        (Sign::Minus, magnitude) => n - magnitude,
        (_, magnitude) => magnitude,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_among_bases_have_the_exponent_of_the_others() {
        let form = |base, n| Some(SpecialModulus::with_base(1, base, n, 1));
        let n = 4096;
        let bits = 65536;
        let Some((shape, moduli)) = in_digits(vec![form(60514, n), form(246, 2 * n)], 3, bits)
        else {
            panic!("the digits have a kernel");
        };
        assert_eq!(shape.bits, DIGIT_BITS * n as usize);
        assert_eq!(
            moduli.into_iter().map(Some).collect::<Vec<_>>(),
            [form(60514, n), form(60516, n)]
        );
        // One row of another form, a base of more than 16 bits, and digits of few bits.
        assert_eq!(in_digits(vec![form(60514, n), None], 3, bits), None);
        assert_eq!(in_digits(vec![form(60514, n), form(258, 2 * n)], 3, bits), None);
        assert_eq!(in_digits(vec![form(6, n)], 3, 16384), None);
    }

    #[test]
    fn number_of_digits_is_their_sum_modulo_the_number() {
        let (base, q) = (10u32, 1024usize);
        let n = BigUint::from(base).pow(q as u32) + 1u32;
        let number = |place: usize, digit: i16| {
            let mut digits = vec![0; q];
            digits[place] = digit;
            number_of(&digits, base, &n)
        };
        assert_eq!(number(0, 1), BigUint::from(1u32));
        assert_eq!(number(0, -1), &n - 1u32);
        assert_eq!(number(1000, 6), BigUint::from(base).pow(1000) * 6u32);
        assert_eq!(number(1000, -6), &n - BigUint::from(base).pow(1000) * 6u32);
        let ones = (&n - 2u32) / 9u32;
        assert_eq!(number_of(&vec![6; q], base, &n), ones * 6u32);
    }
}
