//! Residues modulo special moduli `N = k 2^n + c`: a product and a fold in linear time.
//!
//! The residue of `x` is `x / k mod N`, and the fold of `y < N^2` is `k y mod N`
//! (`kernels/modular/special.cuh`). A product of residues is one product and one fold, where other
//! moduli take three products. A fold also multiplies by a small factor, so that a power of a small
//! base is a square and a fold for each bit of the exponent. Where products are by transforms, one
//! kernel computes the squares and folds of many bits (`kernels/modular/fft/pow_special.cuh`). It
//! requires smaller `k` and `c` than folds.

use gpuint_catalogue::{MAX_LONG_BITS, Op, Shape};
use num_bigint::BigUint;

use super::exponents::Exponents;
use super::rows::{Indices, gather};
use super::sliding::{self, Multiply};
use crate::backend::host::collected;
use crate::backend::{BackendKind, Buffer, Operands, Params};
use crate::device::Device;
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::interrupt::on_all_cores;
use crate::kernel::algorithms;
use crate::special::SpecialModulus;
use crate::strategy::Strategy;

/// Least width at which a GPU computes powers by products and folds: narrower rows have kernels of
/// whole powers, which keep a row on the chip.
const MIN_POWER_BITS_OF_GPU: usize = 32768;

/// Least width at which the CPU does: a call for each product takes longer than narrower products.
const MIN_POWER_BITS: usize = 1024;

/// Bits of the digits of exponents that differ from row to row.
const DIGIT_BITS: usize = 4;

/// Bits of the exponents that one launch of `pow_special` reads. A call can be interrupted between
/// launches; the cost of a launch is negligible beside 1024 squares.
const BITS_OF_LAUNCH: u32 = 1024;

/// Special moduli on a device.
pub(super) struct Special {
    moduli: Vec<SpecialModulus>,
    /// One row for all rows if `is_broadcast`.
    records: Buffer,
    is_broadcast: bool,
    /// True if a fold reduces every row: all of them are below the squares of the moduli.
    reduces_rows: bool,
    /// A product with it enters the form, after the reduction: `1 / k^2` for each modulus, or `1 /
    /// k^3` after a fold. `None` if every `k` is 1.
    scale: Option<DynBatch>,
}

/// Returns the values of moduli for rows of `width` bits.
///
/// # Errors
/// [`DivisionByZero`](Error::DivisionByZero) with the first modulus that is not positive.
/// [`TooWide`](Error::TooWide), with a lower bound of its bits, for a modulus whose bound exceeds
/// the width: computing it might take hours.
pub(super) fn values(moduli: &[SpecialModulus], width: usize) -> Result<Vec<BigUint>> {
    // A power and its products.
    on_all_cores(moduli.len(), width / 2, |row| {
        let bits = moduli[row].min_bits();
        if bits > width as u64 {
            return Err(Error::TooWide { row, bits, width });
        }
        moduli[row].value().ok_or(Error::DivisionByZero { row })
    })
}

/// Returns the forms of rows; `None` if one of them has no form, or the device no folds.
pub(super) fn recognized(rows: &DynBatch) -> Result<Option<Vec<SpecialModulus>>> {
    if rows.is_empty() || !has_folds(rows.shape()) {
        return Ok(None);
    }
    // Most batches have no special rows: the first one decides without a copy of the others.
    if SpecialModulus::recognize(&rows.row(0)?).is_none() {
        return Ok(None);
    }
    Ok(rows.to_biguints()?.iter().map(SpecialModulus::recognize).collect())
}

impl Special {
    /// Returns the moduli in the form of folds; `None` if one has none, or the device no kernel.
    pub(super) fn new(
        device: &Device,
        shape: Shape,
        moduli: &[SpecialModulus],
        values: &[BigUint],
        is_broadcast: bool,
    ) -> Result<Option<Self>> {
        if !has_folds(shape) || !moduli.iter().all(|modulus| modulus.is_foldable()) {
            return Ok(None);
        }
        let reduces_rows = moduli.iter().all(|modulus| modulus.has_square_of(shape.bits));
        let power = if reduces_rows { 3 } else { 2 };
        let scale = if moduli.iter().all(|modulus| modulus.k() == 1) {
            None
        } else {
            let scale =
                |(modulus, value): (&SpecialModulus, _)| modulus.inverse_power(power, value);
            let scales: Option<Vec<_>> = moduli.iter().zip(values).map(scale).collect();
            let Some(scales) = scales else { return Ok(None) };
            Some(DynBatch::from_biguints(device, shape, scales)?)
        };
        let records = records(device, moduli)?;
        Ok(Some(Self { moduli: moduli.to_vec(), records, is_broadcast, reduces_rows, scale }))
    }

    /// Returns true if folds may multiply by the factor.
    fn takes_factor(&self, factor: u32) -> bool {
        self.moduli.iter().all(|modulus| modulus.takes_factor(factor))
    }

    /// Converts rows, which may exceed the moduli, to residues.
    pub(super) fn enter(&self, rows: &DynBatch, divisor: &DynDivisor) -> Result<DynBatch> {
        let view = rows.view();
        let mut folds = Folds::new(self, rows)?;
        let below = if self.reduces_rows {
            view.produce(|out| folds.reduce(rows, out))?
        } else {
            view.rem_by(divisor)?
        };
        let Some(scale) = &self.scale else { return Ok(below) };
        let copies = if self.is_broadcast { Some(view.copies_of(scale)?) } else { None };
        view.produce(|out| folds.multiply(&below, copies.as_ref().unwrap_or(scale), out))
    }

    /// Converts residues to numbers below the moduli: the fold of `x / k` is `x`.
    pub(super) fn leave(&self, rows: &DynBatch) -> Result<DynBatch> {
        if self.scale.is_none() {
            return rows.try_clone();
        }
        rows.view().produce(|out| Folds::new(self, rows)?.reduce(rows, out))
    }

    /// Computes the power of residues by one exponent; `one` has the residues of 1.
    pub(super) fn pow_all(
        &self,
        rows: &DynBatch,
        one: &DynBatch,
        exponent: &BigUint,
    ) -> Result<DynBatch> {
        if exponent.bits() == 0 {
            return one.try_clone();
        }
        let bits = usize::try_from(exponent.bits()).unwrap_or(usize::MAX);
        let mut folds = Folds::new(self, rows)?;
        sliding::power(&mut folds, rows.try_clone()?, bits, |place| exponent.bit(place as u64))
    }

    /// Computes the powers of residues by an exponent for each row; `one` has the residues of 1.
    pub(super) fn pow_rows(
        &self,
        rows: &DynBatch,
        one: &DynBatch,
        exponents: &Exponents,
    ) -> Result<DynBatch> {
        let (device, shape, len) = (rows.device(), rows.shape(), rows.len());
        let mut folds = Folds::new(self, rows)?;
        let mut table = DynBatch::alloc(device, shape, len << DIGIT_BITS)?;
        let mut power = one.try_clone()?;
        let mut next = rows.view().alloc()?;
        for digit in 0..1 << DIGIT_BITS {
            power.view().copy_rows(0..len, &mut table, digit * len)?;
            folds.multiply(&power, rows, &mut next)?;
            std::mem::swap(&mut power, &mut next);
        }
        let mut factors = rows.view().alloc()?;
        let mut power = one.try_clone()?;
        let digits = exponents.longest().div_ceil(DIGIT_BITS);
        for position in (0..digits).rev() {
            let index = |row| exponents.digit(row, DIGIT_BITS, position) * len + row;
            let indices = Indices::new(device, (0..len).map(|row| index(row) as u64), len)?;
            gather(device, shape, table.buffer(), &indices, factors.buffer_mut())?;
            if position + 1 == digits {
                std::mem::swap(&mut power, &mut factors);
                continue;
            }
            for _ in 0..DIGIT_BITS {
                folds.square(&power, &mut next)?;
                std::mem::swap(&mut power, &mut next);
            }
            folds.multiply(&power, &factors, &mut next)?;
            std::mem::swap(&mut power, &mut next);
        }
        Ok(power)
    }

    /// Computes `count` squares of residues, one after the other.
    pub(super) fn square_repeatedly(&self, rows: &DynBatch, count: usize) -> Result<DynBatch> {
        let mut folds = Folds::new(self, rows)?;
        let mut power = rows.try_clone()?;
        let mut next = rows.view().alloc()?;
        for _ in 0..count {
            folds.square(&power, &mut next)?;
            std::mem::swap(&mut power, &mut next);
        }
        Ok(power)
    }

    /// Computes powers of a small base by an exponent for each row, from the residues of 1; `None`
    /// if folds do not multiply by the base. Zeros above an exponent square 1.
    pub(super) fn powers_of(
        &self,
        base: u32,
        one: &DynBatch,
        exponents: &DynBatch,
    ) -> Result<Option<DynBatch>> {
        if !self.takes_factor(base) {
            return Ok(None);
        }
        let mut power = one.try_clone()?;
        let bits = one.shape().bits;
        let fits = |modulus: &SpecialModulus| modulus.fits_digits(base, bits);
        if algorithms(Op::PowSpecial, one.shape()).next().is_some() && self.moduli.iter().all(fits)
        {
            let moduli = (&self.records, self.is_broadcast);
            return powers_in_digits(Op::PowSpecial, power, base, exponents, moduli).map(Some);
        }
        let mut next = one.view().alloc()?;
        let mut folds = Folds::new(self, one)?;
        for bit in (0..longest_of(exponents)?).rev() {
            folds.square_and_multiply(&power, base, (exponents, bit), &mut next)?;
            std::mem::swap(&mut power, &mut next);
        }
        Ok(Some(power))
    }
}

/// Uploads the records of moduli.
pub(super) fn records(device: &Device, moduli: &[SpecialModulus]) -> Result<Buffer> {
    let words = collected(moduli.iter().map(|modulus| modulus.record()))?;
    let mut records = device.alloc_rows(moduli.len(), size_of::<[u32; 4]>())?;
    device.memory().upload(&mut records, 0, bytemuck::cast_slice(&words))?;
    Ok(records)
}

/// Returns the number of bits of the longest exponent.
fn longest_of(exponents: &DynBatch) -> Result<u32> {
    Ok(exponents.bit_lengths()?.into_iter().max().unwrap_or(0) as u32)
}

/// Computes powers of `base` by an exponent for each row, from `power`, the residues of 1. `op`
/// computes a square for each bit, from the highest one on, and multiplies it by `base` where the
/// bit is set. The moduli are records, and true if one serves all rows.
pub(super) fn powers_in_digits(
    op: Op,
    mut power: DynBatch,
    base: u32,
    exponents: &DynBatch,
    (records, broadcast_divisor): (&Buffer, bool),
) -> Result<DynBatch> {
    let (device, rows) = (power.device().clone(), power.len());
    let mut next = power.view().alloc()?;
    let mut end = longest_of(exponents)?;
    while end > 0 {
        let distance = end.saturating_sub(BITS_OF_LAUNCH);
        let params = Params {
            digit: base.into(),
            distance,
            exponent_bits: end - distance,
            broadcast_divisor,
            ..Params::default()
        };
        let ins = [Some(power.buffer()), Some(exponents.buffer()), Some(records)];
        let kernel = device.kernel(op, Strategy::Auto, power.shape(), rows)?;
        let outs = [Some(next.buffer_mut()), None];
        device.launch(kernel, Operands { ins, outs, rows, params, ..Operands::default() })?;
        std::mem::swap(&mut power, &mut next);
        end = distance;
    }
    Ok(power)
}

/// Returns true if powers of special residues are computed by products and folds at the width.
pub(super) fn has_powers(rows: &DynBatch) -> bool {
    let least = match rows.device().backend() {
        BackendKind::Cuda => MIN_POWER_BITS_OF_GPU,
        _ => MIN_POWER_BITS,
    };
    rows.shape().bits >= least && has_folds(rows.shape())
}

/// Returns true if the device has folds at the shape.
fn has_folds(shape: Shape) -> bool {
    // Products of wider rows have no width.
    shape.bits <= MAX_LONG_BITS / 2 && algorithms(Op::Fold, shape).next().is_some()
}

/// Products of residues, with memory for the whole product.
pub(super) struct Folds<'a> {
    special: &'a Special,
    wide: Buffer,
}

impl Multiply for Folds<'_> {
    fn square(&mut self, a: &DynBatch, out: &mut DynBatch) -> Result<()> {
        self.multiply(a, a, out)
    }

    fn multiply(&mut self, a: &DynBatch, b: &DynBatch, out: &mut DynBatch) -> Result<()> {
        self.multiply_wide(a, b)?;
        self.fold(1, (a, 0), out)
    }
}

impl<'a> Folds<'a> {
    pub(super) fn new(special: &'a Special, rows: &DynBatch) -> Result<Self> {
        let wide = rows.device().alloc_rows(rows.len(), 2 * rows.shape().bytes())?;
        Ok(Self { special, wide })
    }

    /// Computes the squares of residues, multiplied by `base` where the bit of the exponent is set.
    fn square_and_multiply(
        &mut self,
        a: &DynBatch,
        base: u32,
        bit: (&DynBatch, u32),
        out: &mut DynBatch,
    ) -> Result<()> {
        self.multiply_wide(a, a)?;
        self.fold(base, bit, out)
    }

    /// Computes `k a` modulo the moduli, for rows below their squares.
    fn reduce(&mut self, a: &DynBatch, out: &mut DynBatch) -> Result<()> {
        let view = a.view();
        let target_bits = 2 * a.shape().bits as u32;
        let params = Params { target_bits, ..Params::default() };
        let outs = [Some(&mut self.wide), None];
        view.launch(Op::Resize, Operands { outs, params, ..view.operands() })?;
        self.fold(1, (a, 0), out)
    }

    fn multiply_wide(&mut self, a: &DynBatch, b: &DynBatch) -> Result<()> {
        let view = a.view();
        let params = Params { joined: true, ..Params::default() };
        let outs = [Some(&mut self.wide), None];
        view.launch(Op::MulWide, Operands { outs, params, ..view.operands_with(b)? })
    }

    fn fold(
        &self,
        factor: u32,
        (exponents, bit): (&DynBatch, u32),
        out: &mut DynBatch,
    ) -> Result<()> {
        let (device, shape, rows) = (out.device().clone(), out.shape(), out.len());
        let params = Params {
            digit: factor.into(),
            distance: bit,
            broadcast_divisor: self.special.is_broadcast,
            ..Params::default()
        };
        let operands = Operands {
            ins: [Some(&self.wide), Some(exponents.buffer()), Some(&self.special.records)],
            outs: [Some(out.buffer_mut()), None],
            rows,
            params,
            ..Operands::default()
        };
        device.launch(device.kernel(Op::Fold, Strategy::Auto, shape, rows)?, operands)
    }
}
