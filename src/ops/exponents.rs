//! Powers by exponents of any length.
//!
//! Kernels read exponents that are as wide as the rows. A longer one is cut into digits in base
//! `2^m`, `m < BITS`, and Horner's rule reads them from the top: `x -> x^(2^m) a^(e_i)`. This is a
//! product of two powers, whose squares are shared (`pow_product.rs`), so that a bit of a long
//! exponent takes as many products as one of a short exponent. Rows whose exponents differ in
//! length by more than a factor of two are processed apart: a long exponent does not delay the
//! other rows.

use std::collections::BTreeMap;
use std::ops::Range;

use gpuint_catalogue::{Op, Shape};
use num_bigint::BigUint;

use super::products::Products;
use super::rows::{Indices, gather};
use super::{View, faces};
use crate::backend::host::{check_room, collected, push, zeroed_vec};
use crate::backend::{Operands, Params, SKIPPED_ROW};
use crate::device::Device;
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};

/// Maximum number of bases that a kernel interleaves: its tables have 63 integers for each.
pub(super) const MAX_BASES: usize = 64;

/// Exponents on the host, least significant byte first: one for each row, or one for all rows.
pub(super) struct Exponents(Vec<Vec<u8>>);

impl Exponents {
    pub(super) fn new(exponents: &[BigUint]) -> Result<Self> {
        let longest = exponents.iter().map(BigUint::bits).max().unwrap_or(0);
        check_room(exponents.len(), longest.div_ceil(8) as usize)?;
        collected(exponents.iter().map(BigUint::to_bytes_le)).map(Self)
    }

    /// Downloads the rows of a batch.
    pub(super) fn download(exponents: &DynBatch) -> Result<Self> {
        Self::new(&exponents.to_biguints()?)
    }

    /// Returns true if there is one exponent for all rows.
    fn is_broadcast(&self) -> bool {
        self.0.len() == 1
    }

    /// Returns the bytes of the exponent of a row, without zeros above.
    fn of(&self, row: usize) -> &[u8] {
        &self.0[if self.is_broadcast() { 0 } else { row }]
    }

    pub(super) fn bits(&self, row: usize) -> usize {
        let bytes = self.of(row);
        let top = bytes.last().map_or(0, |&byte| byte.leading_zeros() as usize);
        8 * bytes.len() - top.min(8)
    }

    pub(super) fn longest(&self) -> usize {
        (0..self.0.len()).map(|row| self.bits(row)).max().unwrap_or(0)
    }

    /// Returns the digit of a row in base `2^bits`, of at most 8 bits.
    pub(super) fn digit(&self, row: usize, bits: usize, position: usize) -> usize {
        let (index, shift) = (position * bits / 8, position * bits % 8);
        let byte = |index: usize| self.of(row).get(index).copied().unwrap_or(0);
        let pair = u16::from_le_bytes([byte(index), byte(index + 1)]);
        usize::from(pair >> shift) & ((1 << bits) - 1)
    }

    /// Returns the largest digit in base `2^bits` of all exponents, of at most 8 bits.
    pub(super) fn largest_digit(&self, bits: usize) -> usize {
        let digits = |row: usize| {
            let count = self.bits(row).div_ceil(bits);
            (0..count).map(move |position| self.digit(row, bits, position)).max().unwrap_or(0)
        };
        (0..self.0.len()).map(digits).max().unwrap_or(0)
    }

    /// Returns the bytes of the exponent of a row that are in the range and exist.
    fn part(&self, row: usize, bytes: Range<usize>) -> &[u8] {
        let all = self.of(row);
        &all[bytes.start.min(all.len())..bytes.end.min(all.len())]
    }

    /// Returns the bytes in the range of all exponents, in rows of a batch.
    pub(super) fn rows(
        &self,
        bytes: Range<usize>,
        device: &Device,
        shape: Shape,
    ) -> Result<DynBatch> {
        let size = shape.bytes();
        let mut rows = zeroed_vec(self.0.len() * size)?;
        for (row, to) in rows.chunks_exact_mut(size).enumerate() {
            let part = self.part(row, bytes.clone());
            to[..part.len()].copy_from_slice(part);
        }
        DynBatch::from_le_bytes(device, shape, &rows)
    }

    fn gather(&self, rows: &[usize]) -> Result<Self> {
        check_room(rows.len(), self.longest().div_ceil(8))?;
        collected(rows.iter().map(|&row| self.of(row).to_vec())).map(Self)
    }
}

/// Squares that one kernel computes by the exponent `2^m` at rows of `bits` bits: a number of whole
/// bytes below `bits`.
///
/// If the width permits, it is also a multiple of all lengths of windows, up to 7 bits from 2800
/// bits on and up to 6 below. The top digit of `2^m` is then 1, so that kernels make no table.
fn squares_of_step(bits: usize) -> usize {
    let unit = match bits {
        2800.. => 840,
        121.. => 120,
        _ => 8,
    };
    (bits - 1) / unit * unit
}

impl View<'_> {
    pub(crate) fn pow_mod(&self, exponents: &DynBatch, divisor: &DynDivisor) -> Result<DynBatch> {
        self.produce(|out| self.pow_mod_into(exponents, divisor, out))
    }

    pub(crate) fn pow_mod_into(
        &self,
        exponents: &DynBatch,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        self.check_operand(exponents.device(), exponents.len())?;
        self.operands_by(divisor)?;
        self.check(out)?;
        let fitting = self.fitting(exponents)?;
        match fitting.get(exponents) {
            Some(exponents) => self.short_powers(exponents, divisor, out),
            None => self.powers(&Exponents::download(exponents)?, 1, divisor, out),
        }
    }

    pub(crate) fn pow_mod_rows(
        &self,
        exponents: &[BigUint],
        divisor: &DynDivisor,
    ) -> Result<DynBatch> {
        self.produce(|out| self.pow_mod_rows_into(exponents, divisor, out))
    }

    pub(crate) fn pow_mod_rows_into(
        &self,
        exponents: &[BigUint],
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        if exponents.len() != self.len() {
            return Err(Error::LengthMismatch { left: self.len(), right: exponents.len() });
        }
        self.operands_by(divisor)?;
        self.check(out)?;
        self.powers(&Exponents::new(exponents)?, 1, divisor, out)
    }

    pub(crate) fn pow_mod_all(&self, exponent: &BigUint, divisor: &DynDivisor) -> Result<DynBatch> {
        self.produce(|out| self.pow_mod_all_into(exponent, divisor, out))
    }

    pub(crate) fn pow_mod_all_into(
        &self,
        exponent: &BigUint,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        self.operands_by(divisor)?;
        self.check(out)?;
        let is_grouped = self.device().is_verified() && divisor.rows().is_none() && self.len() > 0;
        if is_grouped && self.grouped_powers(exponent, divisor, out)? {
            return Ok(());
        }
        if divisor.unprepared().is_some() || exponent.bits() > self.shape().bits as u64 {
            let exponent = Exponents::new(std::slice::from_ref(exponent))?;
            return self.powers(&exponent, 1, divisor, out);
        }
        self.short_powers_all(&self.row_of(exponent)?, divisor, out)
    }

    pub(crate) fn square_mod_repeatedly(
        &self,
        count: usize,
        divisor: &DynDivisor,
    ) -> Result<DynBatch> {
        self.produce(|out| self.square_mod_repeatedly_into(count, divisor, out))
    }

    pub(crate) fn square_mod_repeatedly_into(
        &self,
        count: usize,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let View { strategy, .. } = *self;
        self.operands_by(divisor)?;
        self.check(out)?;
        let step = squares_of_step(self.shape().bits);
        if self.device().is_verified() && divisor.unprepared().is_none() {
            return self.square_repeatedly_checked(count, step, divisor, out);
        }
        let mut next = self.alloc()?;
        let mut power;
        if divisor.unprepared().is_some() {
            power = self.rem_by(divisor)?;
            let products = Products::new(self, divisor)?;
            for _ in 0..count {
                products.square_into(&power, &mut next)?;
                std::mem::swap(&mut power, &mut next);
            }
        } else {
            let exponent = |squares: usize| self.row_of(&(BigUint::from(1u32) << squares));
            power = self.alloc()?;
            self.short_powers_all(&exponent(count % step)?, divisor, &mut power)?;
            let exponent = exponent(step)?;
            for _ in 0..count / step {
                let view = View { batch: &power, strategy };
                view.short_powers_all(&exponent, divisor, &mut next)?;
                std::mem::swap(&mut power, &mut next);
            }
        }
        power.view().copy_rows(0..self.len(), out, 0)
    }

    /// Selects the form of exponents for rows of this width.
    pub(super) fn fitting(&self, exponents: &DynBatch) -> Result<Fitting> {
        if exponents.shape() == self.shape() {
            return Ok(Fitting::Same);
        }
        let bits = self.shape().bits;
        if exponents.shape().bits > bits
            && exponents.bit_lengths()?.iter().any(|&length| length > bits as u64)
        {
            return Ok(Fitting::Longer);
        }
        exponents.view().truncated(self.shape()).map(Fitting::Resized)
    }

    /// Computes powers by exponents as wide as the rows. The other operands have been checked.
    fn short_powers(
        &self,
        exponents: &DynBatch,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        if divisor.unprepared().is_some() {
            return self.powers(&Exponents::download(exponents)?, 1, divisor, out);
        }
        self.modular_of(Op::PowMod, Some(exponents), &self.operands_by(divisor)?, out)
    }

    /// Computes powers by one exponent as wide as the rows, by divisors with reciprocals.
    pub(super) fn short_powers_all(
        &self,
        exponent: &DynBatch,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let operands = self.operands_by(divisor)?;
        let params = Params { broadcast_exponent: true, ..operands.params };
        self.modular_of(Op::PowMod, Some(exponent), &Operands { params, ..operands }, out)
    }

    /// Computes the products of powers of `bases` consecutive rows, by exponents of any length. The
    /// operands have been checked.
    pub(super) fn powers(
        &self,
        exponents: &Exponents,
        bases: usize,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let bits = self.shape().bits;
        let step = squares_of_step(bits);
        let group = |row: usize| row * bases..(row + 1) * bases;
        let mut classes = BTreeMap::<usize, Vec<usize>>::new();
        let rows = if exponents.is_broadcast() { 0 } else { out.len() };
        for row in 0..rows {
            let length = group(row).map(|row| exponents.bits(row)).max().unwrap_or(0);
            let steps = if length <= bits { 1 } else { length.div_ceil(step) };
            push(classes.entry(steps.next_power_of_two()).or_default(), row)?;
        }
        if classes.len() <= 1 {
            return self.powers_of_class(exponents, bases, divisor, out);
        }
        let View { strategy, .. } = *self;
        for rows in classes.values() {
            let sources = collected(rows.iter().flat_map(|&row| group(row)))?;
            let batch = self.gather(&sources)?;
            let view = View { batch: &batch, strategy };
            let mut powers = DynBatch::alloc(self.device(), self.shape(), rows.len())?;
            let own = divisor.gather(rows)?;
            let divisor = own.as_ref().unwrap_or(divisor);
            view.powers_of_class(&exponents.gather(&sources)?, bases, divisor, &mut powers)?;
            powers.scatter_into(rows, out)?;
        }
        Ok(())
    }

    /// Computes [`powers`](Self::powers) by exponents of about one length.
    fn powers_of_class(
        &self,
        exponents: &Exponents,
        bases: usize,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let (bits, longest) = (self.shape().bits, exponents.longest());
        if divisor.unprepared().is_some() {
            return match exponents.is_broadcast() && bases == 1 && longest > 0 {
                true => self.sliding_powers(exponents, divisor, out),
                false => self.interleave(exponents, bases, divisor, out),
            };
        }
        if longest <= bits && bases == 1 {
            let exponents = exponents.rows(0..bits / 8, self.device(), self.shape())?;
            return self.short_powers(&exponents, divisor, out);
        }
        if bases >= MAX_BASES || !self.has_engine_of_powers(Op::PowProductMod) {
            return self.interleave(exponents, bases, divisor, out);
        }
        if longest <= bits {
            let exponents = exponents.rows(0..bits / 8, self.device(), self.shape())?;
            return self.short_products(&exponents, bases, divisor, out);
        }
        self.long_products(exponents, bases, divisor, out)
    }

    /// Computes products of powers by Horner's rule. The product so far is one more base of each
    /// group, in front of the others.
    fn long_products(
        &self,
        exponents: &Exponents,
        bases: usize,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let View { strategy, .. } = *self;
        let (device, shape) = (self.device(), self.shape());
        let (group, rows) = (bases + 1, out.len() * (bases + 1));
        let step = squares_of_step(shape.bits);
        let steps = exponents.longest().div_ceil(step);
        let sources = (0..rows).map(|row| row / group * bases + (row % group).saturating_sub(1));
        let mut factors = self.gather(&collected(sources)?)?;
        let front = |row: usize| {
            if row.is_multiple_of(group) { row as u64 / group as u64 } else { SKIPPED_ROW }
        };
        let front = Indices::new(device, (0..rows).map(front), rows)?;

        // The digits of a group serve all groups if there is one exponent.
        let is_broadcast = exponents.is_broadcast();
        let given = if is_broadcast { group } else { rows };
        let spread = Indices::new(device, (0..rows).map(|row| (row % group) as u64), rows)?;
        let mut spread_digits =
            DynBatch::alloc(device, shape, if is_broadcast { rows } else { 0 })?;
        let mut bytes = zeroed_vec(given * shape.bytes())?;
        for digit in (0..steps).rev() {
            let range = digit * step / 8..(digit + 1) * step / 8;
            for (row, to) in bytes.chunks_exact_mut(shape.bytes()).enumerate() {
                let Some(base) = (row % group).checked_sub(1) else {
                    // The first product does not exist before the top digit.
                    to[step / 8] = u8::from(digit + 1 < steps);
                    continue;
                };
                let part = exponents.part(row / group * bases + base, range.clone());
                to[..part.len()].copy_from_slice(part);
            }
            let digits = DynBatch::from_le_bytes(device, shape, &bytes)?;
            let digits = if is_broadcast {
                gather(device, shape, digits.buffer(), &spread, spread_digits.buffer_mut())?;
                &spread_digits
            } else {
                &digits
            };
            let view = View { batch: &factors, strategy };
            view.short_products(digits, group, divisor, out)?;
            if digit > 0 {
                gather(device, shape, out.buffer(), &front, factors.buffer_mut())?;
            }
        }
        Ok(())
    }
}

/// Exponents for rows of some width.
pub(super) enum Fitting {
    /// They have the shape of the rows.
    Same,
    Resized(DynBatch),
    /// An exponent is longer than the rows.
    Longer,
}

impl Fitting {
    /// Returns the exponents in the shape of the rows; `None` if one is longer.
    pub(super) fn get<'a>(&'a self, exponents: &'a DynBatch) -> Option<&'a DynBatch> {
        match self {
            Self::Same => Some(exponents),
            Self::Resized(exponents) => Some(exponents),
            Self::Longer => None,
        }
    }
}

faces! {
    by Mult, "Powers";

    /// Computes `self^exponents mod divisor`, row by row. The rows may exceed the divisor. The
    /// power 0 is 1, and everything is 0 modulo 1.
    ///
    /// Exponents of a [`DynBatch`](crate::DynBatch) may have any width; see
    /// [`pow_mod_rows`](Self::pow_mod_rows) for exponents of any length. The time of a row grows
    /// with the length of its exponent and depends on its bits, so do not use it with secret
    /// exponents.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Divisor, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let number = |n: u32| BigUint::from(n);
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&device, &[number(3), number(4)])?;
    /// let e = Batch::from_biguints(&device, &[number(100), number(0)])?;
    /// let v = Divisor::splat(&device, &number(101))?; // a prime: 3^100 = 1 (Fermat)
    /// assert_eq!(a.pow_mod(&e, &v)?.to_biguints()?, [number(1), number(1)]);
    /// assert_eq!(a.pow_mod_all(&number(2), &v)?.to_biguints()?, [number(9), number(16)]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn pow_mod(exponents: Rows, divisor: Divisor) -> New;

    /// Computes [`pow_mod`](Self::pow_mod) into an existing batch. During the call the GPU holds
    /// the powers of each window: at most 63 integers for each row that is processed at the same
    /// time. By [`TensorCore`](crate::TensorCore) below 16384 bits, where the width is no multiple
    /// of 1024, it also holds a prepared divisor of the next multiple for each row. At 32768 bits,
    /// the call waits for the length of the longest exponent. If an exponent is longer than the
    /// rows, the call waits for all exponents, and the GPU also holds four integers for each row.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn pow_mod_into(exponents: Rows, divisor: Divisor, out: Out) -> Nothing;

    /// Computes [`pow_mod`](Self::pow_mod) with exponents of any length, one for each row.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Divisor, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let a = Batch::<GpuUint<256>>::splat(&device, 3, 2)?;
    /// let v = Divisor::splat(&device, 101)?; // a prime: 3^100 = 1 (Fermat)
    /// let long = BigUint::from(10u32).pow(1000);
    /// let powers = a.pow_mod_rows(&[&long + 1u32, 2u32.into()], &v)?;
    /// assert_eq!(powers.to_biguints()?, [3u32, 9].map(BigUint::from));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`LengthMismatch`](crate::Error::LengthMismatch) if there is not one exponent for each row,
    /// and as [`mul_mod`](Self::mul_mod).
    fn pow_mod_rows(exponents: Numbers, divisor: Divisor) -> New;

    /// Computes [`pow_mod_rows`](Self::pow_mod_rows) into an existing batch, with the memory of
    /// [`pow_mod_into`](Self::pow_mod_into) and of the exponents.
    ///
    /// # Errors
    /// As [`pow_mod_rows`](Self::pow_mod_rows).
    fn pow_mod_rows_into(exponents: Numbers, divisor: Divisor, out: Out) -> Nothing;

    /// Computes `self^exponent mod divisor`, with one exponent of any length for all rows;
    /// otherwise as [`pow_mod`](Self::pow_mod).
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn pow_mod_all(exponent: Number, divisor: Divisor) -> New;

    /// Computes [`pow_mod_all`](Self::pow_mod_all) into an existing batch, with the memory of
    /// [`pow_mod_into`](Self::pow_mod_into) and of the exponent.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn pow_mod_all_into(exponent: Number, divisor: Divisor, out: Out) -> Nothing;

    /// Computes `self^(2^count) mod divisor`: `count` squares one after the other, as time-lock
    /// puzzles and verifiable delay functions do. The exponent is not stored.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Divisor, GpuUint};
    ///
    /// let device = Device::cpu();
    /// let a = Batch::<GpuUint<256>>::splat(&device, 3, 1)?;
    /// let v = Divisor::splat(&device, 1_000_003)?;
    /// // 2^1000 = 966400 modulo 1000002, the order of the group.
    /// let power = a.pow_mod_all(966_400, &v)?;
    /// assert!(a.square_mod_repeatedly(1000, &v)?.is_equal(&power)?);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn square_mod_repeatedly(count: Steps, divisor: Divisor) -> New;

    /// Computes [`square_mod_repeatedly`](Self::square_mod_repeatedly) into an existing batch, with
    /// the memory of [`pow_mod_into`](Self::pow_mod_into) and of two batches.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn square_mod_repeatedly_into(count: Steps, divisor: Divisor, out: Out) -> Nothing;
}
