//! Powers of small bases modulo `k b^n + c`, in signed digits to base `t`, a power of `b`.
//!
//! A residue of `x` is a row of digits of `x / k` (`kernels/modular/fft/base_digits.cuh`). Digits
//! have 16 bits, of which numbers to base `t` use `log2(t)`, from 8 to 16. The host converts the
//! residues of 1, and the results.

use gpuint_catalogue::{Op, Shape};
use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;

use super::View;
use super::signed_digits::{row_of, value_of_row};
use super::special::{powers_in_digits, records};
use crate::backend::BackendKind;
use crate::backend::host::collected;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::interrupt::on_all_cores;
use crate::kernel::algorithms;
use crate::shape::widths;
use crate::special::SpecialModulus;

/// Width of digits, in widths of the rows, up to which they take less time than general products. A
/// square takes two transforms of twice its width, a square with its reduction by general products
/// seven of twice the width of the rows.
const MAX_WIDTHS: usize = 2;

/// Widest digits that have room in shared memory: a square in wider ones takes 2.7 times as long,
/// and only rows of the same width have them. H200, 2026-11-28: 24.6 powers a second of rows of
/// 131072 bits in digits of 262144, 40.8 by general products.
const MAX_SHARED_BITS: usize = 131_072;

impl View<'_> {
    /// Computes `base^exponents` modulo rows of the forms `k b^n + 1` and `k b^n - 1`; `None` if a
    /// row has another form, or the digits have no kernel or are slower.
    pub(super) fn powers_modulo_base(
        &self,
        base: u32,
        exponents: impl FnOnce() -> Result<DynBatch>,
    ) -> Result<Option<DynBatch>> {
        if !self.has_digits() {
            return Ok(None);
        }
        let Some(first) = SpecialModulus::recognize_base(&self.batch.row(0)?, None) else {
            return Ok(None);
        };
        let rows = self.batch.to_biguints()?;
        let forms = on_all_cores(rows.len(), size_of::<SpecialModulus>(), |row| {
            Ok(SpecialModulus::recognize_base(&rows[row], Some(first.base())))
        })?;
        let Some(forms) = forms.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        self.powers_modulo_forms(base, (&forms, || Ok(rows)), exponents)
    }

    /// Returns true if the device computes powers in digits. The CPU computes general powers in
    /// less time.
    pub(super) fn has_digits(&self) -> bool {
        !self.batch.is_empty() && self.device().backend() != BackendKind::Cpu
    }

    /// Computes `base^exponents`, in the shape and with the number of these rows. `forms` has a
    /// modulus `k b^n + c` for each row, or one for all rows, and `values` computes the moduli.
    /// `None` if the digits have no kernel or are slower.
    pub(super) fn powers_modulo_forms(
        &self,
        base: u32,
        (forms, values): (&[SpecialModulus], impl FnOnce() -> Result<Vec<BigUint>>),
        exponents: impl FnOnce() -> Result<DynBatch>,
    ) -> Result<Option<DynBatch>> {
        if !self.has_digits() {
            return Ok(None);
        }
        let moduli = forms.iter().map(|form| form.in_digits());
        let Some(moduli) = moduli.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let Some(shape) = shape_of_digits(&moduli, base, self.shape().bits) else {
            return Ok(None);
        };
        let (device, values) = (self.device(), values()?);
        let ones = on_all_cores(moduli.len(), shape.bytes(), |index| {
            Ok(start(moduli[index], &values[index], shape))
        })?;
        let Some(ones) = ones.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        let index = |row: usize| if moduli.len() == 1 { 0 } else { row };
        let ones = (0..self.len()).flat_map(|row| ones[index(row)].iter().copied());
        let ones = DynBatch::from_le_bytes(device, shape, &collected(ones)?)?;
        let given = exponents()?;
        let fitting = ones.view().fitting(&given)?;
        let Some(exponents) = fitting.get(&given) else { return Ok(None) };
        let power = powers_of_digits(Op::PowSpecialBase, ones, base, exponents, &moduli)?;
        let number = |row: usize, value: BigInt| {
            let n = BigInt::from(values[index(row)].clone());
            (value * moduli[index(row)].k()).mod_floor(&n).into_parts().1
        };
        self.numbers_of_digits(&power, &moduli, number).map(Some)
    }

    /// Converts digits modulo a modulus for each row, or one for all, to numbers in the shape of
    /// these rows: `number` gets a row and its value.
    pub(super) fn numbers_of_digits(
        &self,
        digits: &DynBatch,
        moduli: &[SpecialModulus],
        number: impl Fn(usize, BigInt) -> BigUint + Send + Sync,
    ) -> Result<DynBatch> {
        let (bytes, size) = (digits.to_le_bytes()?, digits.shape().bytes());
        let numbers = on_all_cores(digits.len(), 4 * size, |row| {
            let digits = &bytes[row * size..][..size];
            Ok(number(row, value_of_row(digits, moduli[row % moduli.len()].base())))
        })?;
        DynBatch::from_biguints(self.device(), self.shape(), numbers)
    }
}

/// Returns the shape of the digits of rows of `bits` bits; `None` if the digits have no kernel or
/// are slower.
fn shape_of_digits(moduli: &[SpecialModulus], factor: u32, bits: usize) -> Option<Shape> {
    let most = bits.max(MAX_SHARED_BITS.min(MAX_WIDTHS * bits));
    widths().find(|shape| {
        shape.bits <= most
            && algorithms(Op::PowSpecialBase, *shape).next().is_some()
            && moduli.iter().all(|modulus| modulus.takes_digits(factor, shape.bits))
    })
}

/// Computes powers of `base` in digits, from the digits of the residues of 1. `moduli` has a
/// modulus for each row, or one for all rows.
pub(super) fn powers_of_digits(
    op: Op,
    ones: DynBatch,
    base: u32,
    exponents: &DynBatch,
    moduli: &[SpecialModulus],
) -> Result<DynBatch> {
    let (records, is_broadcast) = (records(ones.device(), moduli)?, moduli.len() == 1);
    powers_in_digits(op, ones, base, exponents, (&records, is_broadcast))
}

/// Returns the row of digits of `1 / k` modulo `n`, nearest to 0; `None` if `k` has no inverse.
fn start(modulus: SpecialModulus, n: &BigUint, shape: Shape) -> Option<Vec<u8>> {
    let inverse = modulus.inverse_power(1, n)?;
    let below = n - &inverse;
    let value = if below < inverse {
        BigInt::from_biguint(Sign::Minus, below)
    } else {
        BigInt::from(inverse)
    };
    Some(row_of(&value, modulus.base(), shape.bits / 16))
}

#[cfg(test)]
mod shape_tests {
    use super::*;

    #[test]
    fn digits_wider_than_rows_fit_shared_memory() {
        let bits_of_digits = |n: u32, bits: usize| {
            let modulus = SpecialModulus::with_base(3, 10_000, n, 1);
            shape_of_digits(&[modulus], 3, bits).map(|shape| shape.bits)
        };
        assert_eq!(bits_of_digits(2040, 32_768), Some(32_768));
        assert_eq!(bits_of_digits(2400, 32_768), Some(65_536));
        assert_eq!(bits_of_digits(4900, 65_536), Some(131_072));
        assert_eq!(bits_of_digits(8100, 131_072), Some(131_072));
        assert_eq!(bits_of_digits(9800, 131_072), None);
        assert_eq!(bits_of_digits(16_300, 262_144), Some(262_144));
        assert_eq!(bits_of_digits(19_600, 262_144), None);
    }
}

#[cfg(all(test, feature = "simt"))]
mod tests {
    use super::*;
    use crate::Device;
    use crate::error::Error;

    fn row(k: u32, base: u32, n: u32, c: i32) -> BigUint {
        SpecialModulus::with_base(k, base, n, c).value().unwrap()
    }

    /// The powers modulo rows of 16384 bits by the digits.
    fn powers(base: u32, rows: &[BigUint]) -> Result<Option<Vec<BigUint>>> {
        let device = Device::simt();
        let shape = widths().find(|shape| shape.bits == 16384).expect("the width is built");
        let batch = DynBatch::from_biguints(&device, shape, rows)?;
        let power = batch.view().powers_modulo_base(base, || batch.wrapping_sub_all(1))?;
        power.map(|power| power.to_biguints()).transpose()
    }

    #[test]
    fn powers_modulo_numbers_of_any_base_are_those_of_products() -> Result<()> {
        // The first three are prime.
        let rows = [
            row(2, 3, 384, -1),
            row(4, 5, 290, 1),
            row(715_827_880, 10, 247, 1),
            row(5, 6, 300, -1),
            row(6, 97, 101, 1),
            row(3, 1000, 71, 1),
            row(1, 65521, 45, -1),
            row(65536, 7, 250, 1),
        ];
        let power = match powers(3, &rows) {
            Err(error @ Error::KernelMissing { .. }) => {
                gpuint_skip::skip("cxx", error);
                return Ok(());
            }
            power => power?,
        };
        let expected = rows.each_ref().map(|n| BigUint::from(3u32).modpow(&(n - 1u32), n));
        assert_eq!(power.as_deref(), Some(&expected[..]));
        assert!(expected[..3].iter().all(|power| *power == BigUint::from(1u32)));
        // Other factors of k than its bound, other terms, and other numbers are left.
        let others = [row(715_827_884, 10, 247, 1), row(2, 3, 384, 5), BigUint::from(97u32)];
        for other in others {
            assert_eq!(powers(3, &[rows[0].clone(), other])?, None);
        }
        Ok(())
    }

    /// The function of the CPU, which checks the kernel and is slower than general powers.
    #[test]
    fn powers_by_the_cpu_are_those_of_products() -> Result<()> {
        let device = Device::cpu();
        let shape = widths().find(|shape| shape.bits == 32768).expect("the width is built");
        let forms = [
            SpecialModulus::with_base(715_827_880, 10, 247, -1),
            SpecialModulus::with_base(5, 257, 2000, -9),
            SpecialModulus::with_base(1, 65532, 2047, 1),
        ];
        let moduli = forms.map(|form| form.in_digits().unwrap());
        assert!(moduli.iter().all(|modulus| modulus.takes_digits(3, shape.bits)));
        let values = forms.map(|form| form.value().unwrap());
        let ones: Vec<u8> = (0..forms.len())
            .flat_map(|row| start(moduli[row], &values[row], shape).unwrap())
            .collect();
        let ones = DynBatch::from_le_bytes(&device, shape, &ones)?;
        let exponents = [0u32, 1_000_003, 0xfffff].map(BigUint::from);
        let batch = DynBatch::from_biguints(&device, shape, &exponents)?;
        let power = powers_of_digits(Op::PowSpecialBase, ones, 3, &batch, &moduli)?;
        let number = |row: usize, value: BigInt| {
            (value * moduli[row].k()).mod_floor(&values[row].clone().into()).into_parts().1
        };
        let power = batch.view().numbers_of_digits(&power, &moduli, number)?.to_biguints()?;
        for (row, n) in values.iter().enumerate() {
            assert_eq!(power[row], BigUint::from(3u32).modpow(&exponents[row], n), "row {row}");
        }
        Ok(())
    }
}
