//! Products of powers modulo prepared divisors, with the squares of a row shared by all its bases.
//!
//! E. G. Straus, "Addition chains of vectors", Amer. Math. Monthly 71 (1964): the exponents are
//! read in base `2^k` from the top; for each position the product is squared `k` times and
//! multiplied by one power of each base, from a table. `kernels/modular/pow_product.cuh` counts the
//! products. Where the kernels of a width do not interleave powers, batches do.

use gpuint_catalogue::Op;
use num_bigint::BigUint;
use num_traits::One;

use super::exponents::{Exponents, MAX_BASES};
use super::products::Products;
use super::{View, faces};
use crate::backend::host::collected;
use crate::backend::{Operands, Params};
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};

/// Most bytes of tables of digits above 4 bits, and of their copy while they are joined.
const MAX_TABLE_BYTES: usize = 1 << 30;

/// Returns the bits of a digit of exponents of `longest` bits where batches interleave powers, with
/// `bytes` bytes for one power of each row. A bit more saves `longest / (w (w + 1))` products of a
/// base and takes `2^w` more for its table.
fn digit_bits(longest: usize, bytes: usize) -> usize {
    let pays = |&bits: &usize| longest > (bits * (bits - 1)) << (bits - 1);
    let fits = |&bits: &usize| bytes.saturating_mul(2 << bits) <= MAX_TABLE_BYTES;
    (5..=7).rev().filter(pays).find(fits).unwrap_or(4)
}

impl View<'_> {
    pub(crate) fn pow_product_mod(
        &self,
        exponents: &DynBatch,
        bases: usize,
        divisor: &DynDivisor,
    ) -> Result<DynBatch> {
        let rows = self.len().checked_div(bases).unwrap_or(0);
        let mut out = DynBatch::alloc(self.device(), self.shape(), rows)?;
        self.pow_product_mod_into(exponents, bases, divisor, &mut out)?;
        Ok(out)
    }

    pub(crate) fn pow_product_mod_into(
        &self,
        exponents: &DynBatch,
        bases: usize,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        self.check_operand(exponents.device(), exponents.len())?;
        self.check_groups(bases, divisor, out)?;
        let fitting = self.fitting(exponents)?;
        match fitting.get(exponents) {
            Some(exponents)
                if bases <= MAX_BASES && self.has_engine_of_powers(Op::PowProductMod) =>
            {
                self.short_products(exponents, bases, divisor, out)
            }
            _ => self.powers(&Exponents::download(exponents)?, bases, divisor, out),
        }
    }

    pub(crate) fn pow_product_mod_rows(
        &self,
        exponents: &[BigUint],
        bases: usize,
        divisor: &DynDivisor,
    ) -> Result<DynBatch> {
        let rows = self.len().checked_div(bases).unwrap_or(0);
        let mut out = DynBatch::alloc(self.device(), self.shape(), rows)?;
        self.pow_product_mod_rows_into(exponents, bases, divisor, &mut out)?;
        Ok(out)
    }

    pub(crate) fn pow_product_mod_rows_into(
        &self,
        exponents: &[BigUint],
        bases: usize,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        if exponents.len() != self.len() {
            return Err(Error::LengthMismatch { left: self.len(), right: exponents.len() });
        }
        self.check_groups(bases, divisor, out)?;
        self.powers(&Exponents::new(exponents)?, bases, divisor, out)
    }

    /// Checks that the rows are groups of `bases` rows, one for each row of `out` and each divisor.
    fn check_groups(&self, bases: usize, divisor: &DynDivisor, out: &DynBatch) -> Result<()> {
        // Without bases the number of rows would be unknown.
        if bases == 0 || out.len().checked_mul(bases) != Some(self.len()) {
            let right = out.len().saturating_mul(bases);
            return Err(Error::LengthMismatch { left: self.len(), right });
        }
        if self.shape() != out.shape() {
            return Err(Error::ShapeMismatch { left: self.shape(), right: out.shape() });
        }
        out.view().check_operand(self.device(), out.len())?;
        out.view().operands_by(divisor).map(drop)
    }

    /// Computes products of powers by the kernel, by exponents as wide as the rows. The operands
    /// have been checked.
    pub(super) fn short_products(
        &self,
        exponents: &DynBatch,
        bases: usize,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let View { strategy, .. } = *self;
        let (rows, params) = (out.len(), out.view().operands_by(divisor)?.params);
        let operands = Operands {
            ins: [Some(self.batch.buffer()), Some(exponents.buffer()), divisor.buffer()],
            outs: [Some(out.buffer_mut()), None],
            rows,
            params: Params { bases, ..params },
            ..Operands::default()
        };
        let kernel = self.device().kernel(Op::PowProductMod, strategy, self.shape(), rows)?;
        self.device().launch(kernel, operands)
    }

    /// Interleaves the powers of a batch by operations on batches.
    pub(super) fn interleave(
        &self,
        exponents: &Exponents,
        bases: usize,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let bytes = self.len().saturating_mul(self.shape().bytes());
        let digit_bits = digit_bits(exponents.longest(), bytes);
        self.interleave_by(digit_bits, exponents, bases, divisor, out)
    }

    /// Interleaves powers by digits of `digit_bits` bits of the exponents.
    fn interleave_by(
        &self,
        digit_bits: usize,
        exponents: &Exponents,
        bases: usize,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let View { strategy, .. } = *self;
        let rows = out.len();
        let length = exponents.longest().div_ceil(digit_bits);
        let largest = exponents.largest_digit(digit_bits);
        let products = Products::new(&View { batch: out, strategy }, divisor)?;
        let table = self.table(bases, largest, divisor, &products, rows)?;
        // The factors of a base at a position; `None` if all are 1.
        let factors = |base: usize, position: usize| -> Result<Option<DynBatch>> {
            let digit = |row: usize| exponents.digit(row * bases + base, digit_bits, position);
            if (0..rows).all(|row| digit(row) == 0) {
                return Ok(None);
            }
            let index = |row| match digit(row) {
                0 => row,
                digit => (1 + base * largest + digit - 1) * rows + row,
            };
            table.gather(&collected((0..rows).map(index))?).map(Some)
        };
        // The powers 0.
        let mut product = table.slice(0..rows)?;
        let mut other = product.view().alloc()?;
        for position in (0..length).rev() {
            if position + 1 < length {
                for _ in 0..digit_bits {
                    products.square_into(&product, &mut other)?;
                    std::mem::swap(&mut product, &mut other);
                }
            }
            for base in 0..bases {
                if let Some(factors) = factors(base, position)? {
                    products.mul_into(&product, &factors, &mut other)?;
                    std::mem::swap(&mut product, &mut other);
                }
            }
        }
        product.view().copy_rows(0..rows, out, 0)
    }

    /// Computes the power 0 of all rows, then the powers 1 to `largest` of each base of all rows,
    /// all below the divisors.
    fn table(
        &self,
        bases: usize,
        largest: usize,
        divisor: &DynDivisor,
        products: &Products<'_>,
        rows: usize,
    ) -> Result<DynBatch> {
        let View { strategy, .. } = *self;
        let one = DynBatch::splat(self.device(), self.shape(), &BigUint::one(), rows)?;
        let mut powers = vec![View { batch: &one, strategy }.rem_by(divisor)?];
        let bases = if largest == 0 { 0 } else { bases };
        for base in 0..bases {
            let group = self.len() / rows;
            let numbers = collected((0..rows).map(|row| row * group + base))?;
            let column = self.gather(&numbers)?;
            let first = powers.len();
            powers.push(View { batch: &column, strategy }.rem_by(divisor)?);
            for _ in 1..largest {
                let mut next = one.view().alloc()?;
                products.mul_into(&powers[powers.len() - 1], &powers[first], &mut next)?;
                powers.push(next);
            }
        }
        DynBatch::concat(&powers.iter().collect::<Vec<_>>())
    }
}

faces! {
    by Mult, "Products of powers";

    /// Computes the product of the powers `self^exponents mod divisor` of each group of `bases`
    /// consecutive rows: `self[0]^exponents[0] * self[1]^exponents[1] * .. mod divisor[0]` is the
    /// first of `len / bases` results. The rows may exceed the divisor. The power 0 is 1, and
    /// everything is 0 modulo 1. Exponents of a [`DynBatch`](crate::DynBatch) may have any width.
    ///
    /// The squares are shared by all bases, so that a product of two powers takes about as many
    /// products as 1.2 powers ([`pow_mod`](Self::pow_mod)). The time depends on the exponents, so
    /// do not use it with secret exponents.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Divisor, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let batch = |n: [u32; 4]| {
    ///     Batch::<GpuUint<1024>>::from_biguints(&device, &n.map(BigUint::from))
    /// };
    /// let (a, e) = (batch([2, 3, 5, 7])?, batch([5, 2, 1, 0])?);
    /// let v = Divisor::splat(&device, &BigUint::from(101u32))?;
    /// let products = a.pow_product_mod(&e, 2, &v)?; // 2^5 * 3^2 = 288 and 5^1 * 7^0
    /// assert_eq!(products.to_biguints()?, [BigUint::from(86u32), BigUint::from(5u32)]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`LengthMismatch`](crate::Error::LengthMismatch) if the rows are not whole groups, if
    /// `bases` is 0, or if there are divisors for another number of groups, and as
    /// [`mul_mod`](Self::mul_mod).
    fn pow_product_mod(exponents: Rows, bases: Count, divisor: Divisor) -> New;

    /// Computes [`pow_product_mod`](Self::pow_product_mod) into an existing batch. During the call
    /// the GPU holds the powers of each window: at most 63 integers for each base of the rows that
    /// are processed at the same time. At widths at which the device has no kernel for it, these
    /// are at most 30 integers for each base of all rows, or 254 in at most 1 GiB. If an exponent
    /// is longer than the rows, the call waits for all exponents, and the GPU also holds two
    /// integers for each base.
    ///
    /// # Errors
    /// As [`pow_product_mod`](Self::pow_product_mod).
    fn pow_product_mod_into(exponents: Rows, bases: Count, divisor: Divisor, out: Out) -> Nothing;

    /// Computes [`pow_product_mod`](Self::pow_product_mod) with exponents of any length, one for
    /// each row.
    ///
    /// # Errors
    /// [`LengthMismatch`](crate::Error::LengthMismatch) if there is not one exponent for each row,
    /// and as [`pow_product_mod`](Self::pow_product_mod).
    fn pow_product_mod_rows(exponents: Numbers, bases: Count, divisor: Divisor) -> New;

    /// Computes [`pow_product_mod_rows`](Self::pow_product_mod_rows) into an existing batch, with
    /// the memory of [`pow_product_mod_into`](Self::pow_product_mod_into) and of the exponents.
    ///
    /// # Errors
    /// As [`pow_product_mod_rows`](Self::pow_product_mod_rows).
    fn pow_product_mod_rows_into(
        exponents: Numbers,
        bases: Count,
        divisor: Divisor,
        out: Out
    ) -> Nothing;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::strategy::Strategy;

    #[test]
    fn digits_grow_with_exponents_as_far_as_tables_have_room() {
        let of = |longest| digit_bits(longest, 1 << 20);
        assert_eq!([320, 321, 960, 961, 2688, 2689, 1 << 20].map(of), [4, 5, 5, 6, 6, 7, 7]);
        let of = |bytes| digit_bits(1 << 20, bytes);
        assert_eq!([1 << 22, (1 << 22) + 1, 1 << 24, 1 << 25].map(of), [7, 6, 5, 4]);
    }

    #[test]
    fn powers_are_equal_by_digits_of_every_length() {
        let device = Device::cpu();
        let number = |seed: u64, bits: u32| {
            let words = (0..bits / 32).map(|it| (seed + u64::from(it)).wrapping_mul(0x9e37_79b9));
            BigUint::new(words.map(|word| word as u32 ^ (word >> 17) as u32).collect())
        };
        let modulus = (BigUint::one() << 250u32) - 207u32;
        let shape = device.shape_for(256).unwrap();
        let divisor = DynDivisor::splat(&device, shape, &modulus).unwrap();
        let bases: Vec<BigUint> = (0..6).map(|row| number(row, 224)).collect();
        let batch = DynBatch::from_biguints(&device, shape, &bases).unwrap();
        let view = View { batch: &batch, strategy: Strategy::Auto };
        // Lengths beside multiples of all digits, zeros among them.
        let exponents: Vec<BigUint> = [0, 1, 64, 160, 416, 704]
            .map(|bits| number(u64::from(bits), bits) >> (bits % 5))
            .into();
        let power = |row: usize| bases[row].modpow(&exponents[row], &modulus);
        let expected: Vec<BigUint> =
            (0..3).map(|row| power(2 * row) * power(2 * row + 1) % &modulus).collect();
        let exponents = Exponents::new(&exponents).unwrap();
        for digit_bits in 1..=8 {
            let mut out = DynBatch::alloc(&device, shape, 3).unwrap();
            view.interleave_by(digit_bits, &exponents, 2, &divisor, &mut out).unwrap();
            assert_eq!(out.to_biguints().unwrap(), expected, "{digit_bits}");
        }
    }
}
