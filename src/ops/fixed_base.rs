//! Powers of one base modulo one number, by a precomputed table.
//!
//! With an exponent in base 256, `e = sum of e_i 256^i`, the power is the product of the
//! `base^(e_i 256^i)`: one of 256 rows for each byte of the exponent, and no square (E. Brickell,
//! D. Gordon, K. McCurley and D. Wilson, "Fast exponentiation with precomputation", EUROCRYPT '92).

use std::fmt;
use std::marker::PhantomData;

use gpuint_catalogue::{Op, Shape};
use num_bigint::BigUint;

use super::View;
use super::exponents::Exponents;
use super::grouped_powers::{Groups, Order, is_coprime};
use crate::backend::host::collected;
use crate::backend::{Operands, Params};
use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::ops::residues::{DynModulus, DynResidues};
use crate::shape::Kernels;
use crate::strategy::Strategy;

/// Bits of a digit of an exponent.
pub(super) const WINDOW: usize = 8;
/// Rows of the table for each digit.
const POWERS: usize = 1 << WINDOW;

/// Prepared powers of one base with a run-time width: the [`FixedBase`] of a [`DynBatch`].
pub struct DynFixedBase {
    modulus: DynModulus,
    /// One table for each `BITS` bits of an exponent. In that of the bits from `k BITS` on, row
    /// `256 i + d` is `base^(d 256^i 2^(k BITS))`, a residue.
    tables: Vec<DynBatch>,
    exponent_bits: usize,
    /// The device verifies, and the base has no common divisor with the modulus: products of
    /// powers check them. The tables have one more digit then, for sums of exponents.
    is_grouped: bool,
}

impl DynFixedBase {
    /// Prepares the powers of `base` modulo `modulus` for exponents below `2^exponent_bits`.
    ///
    /// # Errors
    /// As [`FixedBase::new`].
    pub fn new(
        device: &Device,
        shape: Shape,
        base: &BigUint,
        modulus: &BigUint,
        exponent_bits: usize,
    ) -> Result<Self> {
        let n = modulus;
        let modulus = DynModulus::splat(device, shape, n)?;
        let is_grouped = device.is_verified() && is_coprime(&(base % n), n, shape)?;
        let digits = exponent_bits.div_ceil(WINDOW).max(1) + usize::from(is_grouped);
        // Fails at once if there is no memory for all tables.
        drop(device.alloc_rows(digits.saturating_mul(POWERS), shape.bytes())?);
        let digits_of_table = shape.bits / WINDOW;
        let distances = collected((0..digits.min(digits_of_table)).map(|i| WINDOW * i))?;
        let weights = DynBatch::splat(device, shape, 1, distances.len())?.shl_rows(&distances)?;
        let mut first = DynResidues::splat(base, weights.len(), &modulus)?.pow(&weights)?;
        let mut tables = Vec::new();
        for start in (0..digits).step_by(digits_of_table) {
            if start > 0 {
                first = first.square_repeatedly(shape.bits)?;
            }
            let digits = first.len().min(digits - start);
            // The last table may be shorter.
            let rows = first.rows().slice(0..digits)?;
            tables.push(table(&DynResidues::of_form(rows, &modulus))?);
        }
        Ok(Self { tables, modulus, exponent_bits, is_grouped })
    }

    /// Computes `base^exponents mod modulus`, row by row, by exponents of any width.
    ///
    /// # Errors
    /// As [`FixedBase::pow`].
    pub fn pow(&self, exponents: &DynBatch) -> Result<DynBatch> {
        let shape = self.modulus.shape();
        if exponents.shape() != shape {
            return self.pow_rows(&exponents.to_biguints()?);
        }
        if self.exponent_bits < shape.bits {
            self.check_lengths(exponents.bit_lengths()?.into_iter())?;
        }
        if self.is_grouped {
            exponents.view().check_operand(self.modulus.device(), exponents.len())?;
            return self.pow_rows(&exponents.to_biguints()?);
        }
        self.power(std::slice::from_ref(&exponents))
    }

    /// Computes [`pow`](Self::pow) with exponents in the memory of the host.
    ///
    /// # Errors
    /// As [`FixedBase::pow`].
    pub fn pow_rows(&self, exponents: &[BigUint]) -> Result<DynBatch> {
        self.check_lengths(exponents.iter().map(BigUint::bits))?;
        let device = self.modulus.device();
        if !self.is_grouped || exponents.is_empty() {
            return self.power_by(exponents, device);
        }
        // The products of groups check the powers.
        let plain = device.with_verifier(None);
        let groups = Groups::new(device, Strategy::Auto, self.modulus.divisor())?;
        let compute = || self.power_by(exponents, &plain);
        let of_groups = |order: &Order| self.power_by(&order.sums(exponents.to_vec()), &plain);
        groups.checked(exponents.len(), compute, of_groups, "fixed_base")
    }

    /// Computes the powers by exponents for which there are tables.
    fn power_by(&self, exponents: &[BigUint], device: &Device) -> Result<DynBatch> {
        let shape = self.modulus.shape();
        let exponents = Exponents::new(exponents)?;
        let parts = exponents.longest().div_ceil(shape.bits).max(1);
        let part =
            |k: usize| exponents.rows(k * shape.bytes()..(k + 1) * shape.bytes(), device, shape);
        let parts: Vec<_> = (0..parts).map(part).collect::<Result<_>>()?;
        self.power(&parts.iter().collect::<Vec<_>>())
    }

    fn check_lengths(&self, mut lengths: impl Iterator<Item = u64>) -> Result<()> {
        let width = self.exponent_bits;
        match lengths.by_ref().enumerate().find(|&(_, bits)| bits > width as u64) {
            Some((row, bits)) => Err(Error::TooWide { row, bits, width }),
            None => Ok(()),
        }
    }

    /// Computes the powers by exponents of which `parts` are `BITS` bits each, the lowest first.
    fn power(&self, parts: &[&DynBatch]) -> Result<DynBatch> {
        let residues = |rows| DynResidues::of_form(rows, &self.modulus);
        let view = parts[0].view();
        let mut power = residues(view.produce(|out| view.lookup_into(&self.tables[0], 0, out))?);
        let mut factor = residues(view.alloc()?);
        let mut product = residues(view.alloc()?);
        for (k, (table, part)) in self.tables.iter().zip(parts).enumerate() {
            for digit in usize::from(k == 0)..table.len() / POWERS {
                part.view().lookup_into(table, digit, factor.rows_mut())?;
                power.mul_into(&factor, &mut product)?;
                std::mem::swap(&mut power, &mut product);
            }
        }
        power.to_batch()
    }

    /// Maximum number of bits of an exponent.
    #[must_use]
    pub fn exponent_bits(&self) -> usize {
        self.exponent_bits
    }
}

/// Computes the powers 0 .. 255 of each of these residues, one after the other.
fn table(first: &DynResidues) -> Result<DynBatch> {
    let (device, shape) = (first.rows().device(), first.rows().shape());
    let digits = first.len();
    // All large allocations come first, so that nothing is computed in vain.
    let mut table = DynBatch::alloc(device, shape, digits * POWERS)?;
    let mut by_power = DynBatch::alloc(device, shape, digits * POWERS)?;
    let order = (0..digits * POWERS).map(|row| row % POWERS * digits + row / POWERS);
    let order = collected(order)?;
    let mut power = DynResidues::splat(&BigUint::from(1u32), digits, first.modulus())?;
    let mut next = power.try_clone()?;
    for d in 0..POWERS {
        power.rows().view().copy_rows(0..digits, &mut by_power, d * digits)?;
        power.mul_into(first, &mut next)?;
        std::mem::swap(&mut power, &mut next);
    }
    by_power.gather_into(&order, &mut table)?;
    Ok(table)
}

impl View<'_> {
    /// Rows of a table with 256 rows for each byte of a number, selected by this byte of each row.
    pub(super) fn lookup_into(
        &self,
        table: &DynBatch,
        byte: usize,
        out: &mut DynBatch,
    ) -> Result<()> {
        if self.shape() != table.shape() {
            return Err(Error::ShapeMismatch { left: table.shape(), right: self.shape() });
        }
        self.check_operand(table.device(), self.len())?;
        self.check(out)?;
        // The build script rejects shapes of 2^32 bits or more.
        let params = Params { distance: (WINDOW * byte) as u32, ..Params::default() };
        let operands = Operands {
            ins: [Some(table.buffer()), Some(self.batch.buffer()), None],
            outs: [Some(out.buffer_mut()), None],
            params,
            ..self.operands()
        };
        self.launch(Op::Lookup, operands)
    }
}

impl fmt::Debug for DynFixedBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedBase")
            .field("modulus", &self.modulus)
            .field("exponent_bits", &self.exponent_bits)
            .finish()
    }
}

/// Prepared powers of one base modulo one number, for many exponents.
///
/// A power takes one product for every 8 bits of the longest exponent, where
/// [`pow_mod`](Batch::pow_mod) takes about 10. The table has 256 integers for every 8 bits.
///
/// ```
/// use gpuint::{Batch, Device, FixedBase, GpuUint};
/// use num_bigint::BigUint;
///
/// let device = Device::cpu();
/// let number = |n: u32| BigUint::from(n);
/// let powers = FixedBase::<GpuUint<1024>>::new(&device, &number(3), &number(1009), 16)?;
/// let e = Batch::from_biguints(&device, &[number(0), number(5), number(1008)])?;
/// assert_eq!(powers.pow(&e)?.to_biguints()?, [number(1), number(243), number(1)]);
/// # Ok::<(), gpuint::Error>(())
/// ```
#[derive(Debug)]
pub struct FixedBase<T: Kernels> {
    inner: DynFixedBase,
    shape: PhantomData<T>,
}

impl<T: Kernels> FixedBase<T> {
    /// Prepares the powers of `base` modulo `modulus` for exponents below `2^exponent_bits`.
    ///
    /// # Errors
    /// [`DivisionByZero`](Error::DivisionByZero) if the modulus is 0, [`TooWide`](Error::TooWide)
    /// if the base or the modulus needs more than `BITS` bits, and what any operation may return:
    /// [`OutOfMemory`](Error::OutOfMemory), [`KernelMissing`](Error::KernelMissing),
    /// [`Compile`](Error::Compile), [`Driver`](Error::Driver).
    pub fn new(
        device: &Device,
        base: &BigUint,
        modulus: &BigUint,
        exponent_bits: usize,
    ) -> Result<Self> {
        let inner = DynFixedBase::new(&device.of::<T>(), T::SHAPE, base, modulus, exponent_bits)?;
        Ok(Self { inner, shape: PhantomData })
    }

    /// Computes `base^exponents mod modulus`, row by row. The power 0 is 1, and everything is 0
    /// modulo 1.
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) with the lowest row whose exponent is longer than the table
    /// allows, [`DeviceMismatch`](Error::DeviceMismatch), and what any operation may return.
    pub fn pow(&self, exponents: &Batch<T>) -> Result<Batch<T>> {
        self.inner.pow(exponents.as_dyn()).map(Batch::typed)
    }

    /// Computes [`pow`](Self::pow) with exponents in the memory of the host, of any length that the
    /// table allows.
    ///
    /// # Errors
    /// As [`pow`](Self::pow).
    pub fn pow_rows(&self, exponents: &[BigUint]) -> Result<Batch<T>> {
        self.inner.pow_rows(exponents).map(Batch::typed)
    }

    /// Returns the powers as [`DynFixedBase`], whose shape is a value.
    #[must_use]
    pub fn as_dyn(&self) -> &DynFixedBase {
        &self.inner
    }
}
