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
    /// Computes `base^exponents` modulo the rows, which are generalized Fermat numbers with one
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
        let Some(first) = SpecialModulus::recognize_fermat(&self.batch.row(0)?) else {
            return Ok(None);
        };
        let q = first.n() as usize;
        let has_digits = |shape: &Shape| {
            shape.bits == DIGIT_BITS * q && algorithms(Op::PowFermat, *shape).next().is_some()
        };
        let Some(shape) = widths().find(has_digits) else { return Ok(None) };
        if bits < MIN_BITS_OF_DIGIT * q {
            return Ok(None);
        }
        let rows = self.batch.to_biguints()?;
        let forms = on_all_cores(rows.len(), shape.bytes(), |row| {
            Ok(SpecialModulus::recognize_fermat(&rows[row]))
        })?;
        let takes = |form: &SpecialModulus| form.n() == first.n() && form.takes_fermat_digits(base);
        let Some(moduli) = forms.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        if !moduli.iter().all(takes) {
            return Ok(None);
        }
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
