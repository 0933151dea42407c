//! Residues: batches that stay modulo prepared moduli from operation to operation.
//!
//! A residue of `x` modulo an odd `n` is `x 2^BITS mod n` (P. Montgomery, "Modular multiplication
//! without trial division", Math. Comp. 44, 1985) at widths at which `mul_mod` has an engine for it
//! (`kernels/modular/odd_modulus.cuh`). Modulo `k 2^m + c` with small `k` and `c` it is `x / k mod
//! n` (`special.rs`). Elsewhere it is `x mod n`, and products are those of
//! [`mul_mod`](crate::Batch::mul_mod). In all forms residues are in `[0, n)`, so that sums,
//! equality and selection are the same.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use gpuint_catalogue::{Op, Shape};
use num_bigint::BigUint;

use super::View;
use super::exponents::Exponents;
use super::faces::residue_faces;
use super::products::Products;
use super::sliding::Multiply;
use super::special::{Folds, Special, has_powers, recognized, values};
use crate::backend::{Buffer, Operands, Params};
use crate::batch::Batch;
use crate::device::Device;
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::kernel::KernelId;
use crate::mask::Mask;
use crate::shape::Kernels;
use crate::special::SpecialModulus;
use crate::typed::{Typed, typed_rows};
use crate::value::Value;

/// Moduli of residues with a run-time width: the [`Modulus`] of a [`DynBatch`].
#[derive(Clone)]
pub struct DynModulus(Arc<Prepared>);

struct Prepared {
    divisor: DynDivisor,
    /// The lowest row that is even.
    even: Option<usize>,
    form: Form,
    /// Forms `k b^n + c` of moduli without folds, one for all rows or one for each; empty for other
    /// moduli.
    numbers: Vec<SpecialModulus>,
}

/// Form of residues.
enum Form {
    /// The numbers themselves.
    Plain,
    Montgomery(Montgomery),
    Special(Special),
}

/// Constants of Montgomery's form: one row for all rows if the modulus is one for all.
struct Montgomery {
    /// Records of odd moduli.
    moduli: Buffer,
    /// `2^(2 BITS) mod n`: a product with it enters the form.
    square: DynBatch,
    /// 1, one row: a product with it leaves the form.
    one: DynBatch,
}

impl DynModulus {
    /// Prepares each row of a batch as the modulus for the same row of residues.
    ///
    /// # Errors
    /// As [`Modulus::new`].
    pub fn of_rows(moduli: &DynBatch) -> Result<Self> {
        Self::noticed(moduli, Some(moduli.len()))
    }

    /// Prepares one modulus for all rows of residues of the shape.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing) if the shape is not built, and as [`Modulus::splat`].
    pub fn splat(device: &Device, shape: Shape, modulus: impl Value) -> Result<Self> {
        Self::noticed(&DynBatch::splat(device, shape, modulus, 1)?, None)
    }

    /// Prepares moduli, as special ones if all of them are and the width has no Montgomery form.
    fn noticed(moduli: &DynBatch, rows: Option<usize>) -> Result<Self> {
        let has_engine = moduli.view().has_engine_of_powers(Op::MulResidues);
        match if has_engine { None } else { recognized(moduli)? } {
            Some(special) => Self::special(moduli.device(), moduli.shape(), &special, rows),
            None => Self::prepare(moduli, rows, None, &[]),
        }
    }

    /// Prepares special moduli, each for the same row of residues.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing) if the shape is not built, and as
    /// [`Modulus::of_special`].
    pub fn of_special(device: &Device, shape: Shape, moduli: &[SpecialModulus]) -> Result<Self> {
        Self::special(device, shape, moduli, Some(moduli.len()))
    }

    /// Prepares one special modulus for all rows of residues.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing) if the shape is not built, and as
    /// [`Modulus::of_special`].
    pub fn splat_special(device: &Device, shape: Shape, modulus: SpecialModulus) -> Result<Self> {
        Self::special(device, shape, &[modulus], None)
    }

    fn special(
        device: &Device,
        shape: Shape,
        moduli: &[SpecialModulus],
        rows: Option<usize>,
    ) -> Result<Self> {
        let values = values(moduli, shape.bits)?;
        let batch = DynBatch::from_biguints(device, shape, &values)?;
        let special = Special::new(device, shape, moduli, &values, rows.is_none())?;
        let numbers = if special.is_some() { &[] } else { moduli };
        Self::prepare(&batch, rows, special, numbers)
    }

    fn prepare(
        moduli: &DynBatch,
        rows: Option<usize>,
        special: Option<Special>,
        numbers: &[SpecialModulus],
    ) -> Result<Self> {
        let view = moduli.view();
        let divisor = match &special {
            // Positive, so that they are divisors; long rows have no reciprocals.
            Some(_) if moduli.shape().is_long() => {
                DynDivisor::of_unprepared(moduli.try_clone()?, rows)
            }
            _ => view.prepared(rows)?,
        };
        let is_odd = view.bit_mask(0)?.to_bools()?;
        let even = is_odd.iter().position(|is_odd| !is_odd);
        let form = match (special, even) {
            (Some(special), _) => Form::Special(special),
            (None, None) if view.has_engine_of_powers(Op::MulResidues) => {
                Form::Montgomery(view.montgomery(&divisor)?)
            }
            _ => Form::Plain,
        };
        Ok(Self(Arc::new(Prepared { divisor, even, form, numbers: numbers.to_vec() })))
    }

    /// Number of rows that have their own modulus; `None` for one modulus for all rows.
    #[must_use]
    pub fn rows(&self) -> Option<usize> {
        self.divisor().rows()
    }

    /// Device of the moduli.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.divisor().device()
    }

    /// Shape of the moduli.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.divisor().shape()
    }

    /// Returns the moduli as prepared divisors.
    #[must_use]
    pub fn divisor(&self) -> &DynDivisor {
        &self.0.divisor
    }

    /// Returns true if residues are in Montgomery's form: the moduli are odd, and the device
    /// multiplies in this form at the width.
    #[must_use]
    pub fn is_montgomery(&self) -> bool {
        matches!(self.0.form, Form::Montgomery(_))
    }

    /// Returns true if products are reduced by folds: every modulus is `k 2^n + c` with `n >= 128`
    /// and coprime `k < 2^31` and `0 < |c| <= 2^13`.
    #[must_use]
    pub fn is_special(&self) -> bool {
        matches!(self.0.form, Form::Special(_))
    }
}

impl fmt::Debug for DynModulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Modulus")
            .field("shape", &format_args!("{}", self.shape()))
            .field("rows", &self.rows())
            .field("montgomery", &self.is_montgomery())
            .field("special", &self.is_special())
            .field("device", self.device())
            .finish()
    }
}

impl View<'_> {
    /// Returns true if the algorithm that powers of many rows take also has kernels for the
    /// operation: another one would be slower than they are.
    pub(super) fn has_engine_of_powers(&self, op: Op) -> bool {
        let powers = self.device().kernel(Op::PowMod, self.strategy, self.shape(), usize::MAX);
        self.has_kernel(op)
            && powers.is_ok_and(|powers| {
                KernelId::find(op, powers.row().algorithm, self.shape()).is_some()
            })
    }

    /// Computes the constants of Montgomery's form for these odd moduli.
    fn montgomery(&self, divisor: &DynDivisor) -> Result<Montgomery> {
        // As many rows as there are moduli.
        let splat =
            |value: &BigUint| DynBatch::splat(self.device(), self.shape(), value, self.len());
        let half = splat(&(BigUint::from(1u32) << (self.shape().bits - 1)))?;
        let radix = half.view().mul_mod(&splat(&BigUint::from(2u32))?, divisor)?;
        let square = radix.view().square_mod(divisor)?;
        let one = self.row_of(&BigUint::from(1u32))?;
        let mut moduli = self.device().alloc_rows(self.len(), 2 * self.shape().bytes())?;
        let outs = [Some(&mut moduli), None];
        self.launch(Op::PrepareOdd, Operands { outs, ..self.operands() })?;
        Ok(Montgomery { moduli, square, one })
    }

    /// Montgomery's product or, without a second operand, square: `self * rhs / 2^BITS mod n`.
    fn mul_residues(
        &self,
        rhs: Option<(&DynBatch, bool)>,
        modulus: &DynModulus,
        moduli: &Buffer,
        out: &mut DynBatch,
    ) -> Result<()> {
        let op = if rhs.is_some() { Op::MulResidues } else { Op::SquareResidues };
        let second = rhs.map(|(rhs, _)| rhs.buffer());
        let params = Params {
            broadcast_divisor: modulus.rows().is_none(),
            broadcast_rhs: rhs.is_some_and(|(_, is_broadcast)| is_broadcast),
            ..Params::default()
        };
        let operands = Operands {
            ins: [Some(self.batch.buffer()), second, Some(moduli)],
            outs: [Some(out.buffer_mut()), None],
            params,
            ..self.operands()
        };
        self.launch(op, operands)
    }
}

/// Residues with a run-time width: the [`Residues`] of a [`DynBatch`].
pub struct DynResidues {
    rows: DynBatch,
    modulus: DynModulus,
}

/// # Conversion
impl DynResidues {
    /// Converts the rows of a batch, which may exceed the moduli, to residues.
    ///
    /// # Errors
    /// As [`Residues::new`].
    pub fn new(values: &DynBatch, modulus: &DynModulus) -> Result<Self> {
        let view = values.view();
        // Also checks that the rows match the moduli.
        view.operands_by(modulus.divisor())?;
        let rows = match &modulus.0.form {
            Form::Plain => view.rem_by(modulus.divisor()),
            Form::Montgomery(Montgomery { moduli, square, .. }) => view.produce(|out| {
                let is_broadcast = modulus.rows().is_none();
                view.mul_residues(Some((square, is_broadcast)), modulus, moduli, out)
            }),
            Form::Special(special) => special.enter(values, modulus.divisor()),
        }?;
        Ok(Self { rows, modulus: modulus.clone() })
    }

    /// Makes `rows` residues of one value.
    ///
    /// # Errors
    /// As [`Residues::splat`].
    pub fn splat(value: &BigUint, rows: usize, modulus: &DynModulus) -> Result<Self> {
        Self::new(&DynBatch::splat(modulus.device(), modulus.shape(), value, rows)?, modulus)
    }

    /// Computes `base^exponents`, an exponent for each row. Modulo special moduli that are wide, a
    /// bit of the exponents takes one square; the base then costs nothing.
    ///
    /// # Errors
    /// As [`Residues::powers_of`].
    pub fn powers_of(base: u32, exponents: &DynBatch, modulus: &DynModulus) -> Result<Self> {
        if let Some(power) = Self::special_powers(base, exponents, modulus)? {
            return Ok(power);
        }
        let (device, shape, rows) = (modulus.device(), modulus.shape(), exponents.len());
        let bases = DynBatch::splat(device, shape, u64::from(base), rows)?;
        Self::new(&bases, modulus)?.pow(exponents)
    }

    /// Computes `base^exponents` by folds or in digits; `None` if the moduli have neither, or an
    /// exponent is longer than the rows.
    fn special_powers(
        base: u32,
        exponents: &DynBatch,
        modulus: &DynModulus,
    ) -> Result<Option<Self>> {
        let Prepared { form, numbers, .. } = &*modulus.0;
        if !modulus.is_special() && numbers.is_empty() {
            return Ok(None);
        }
        let one = Self::splat(&BigUint::from(1u32), exponents.len(), modulus)?;
        one.rows.view().check_operand(exponents.device(), exponents.len())?;
        let fitting = one.rows.view().fitting(exponents)?;
        let Some(exponents) = fitting.get(exponents).filter(|_| has_powers(&one.rows)) else {
            return Ok(None);
        };
        if let Form::Special(special) = form {
            let power = special.powers_of(base, &one.rows, exponents)?;
            return Ok(power.map(|power| Self::of_form(power, modulus)));
        }
        let values = || values(numbers, modulus.shape().bits);
        let exponents = || exponents.try_clone();
        let power = one.rows.view().powers_modulo_forms(base, (numbers, values), exponents)?;
        power.map(|power| Self::new(&power, modulus)).transpose()
    }

    /// Returns the moduli.
    #[must_use]
    pub fn modulus(&self) -> &DynModulus {
        &self.modulus
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Device of the rows.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.rows.device()
    }

    /// Rows in their form on the device, for the operations that are the same in both forms.
    pub(super) fn rows(&self) -> &DynBatch {
        &self.rows
    }

    /// Rows in their form on the device, to be changed within the form.
    pub(super) fn rows_mut(&mut self) -> &mut DynBatch {
        &mut self.rows
    }

    /// Wraps rows that have the form.
    pub(super) fn of_form(rows: DynBatch, modulus: &DynModulus) -> Self {
        Self { rows, modulus: modulus.clone() }
    }

    fn ring(&self) -> Ring<'_> {
        Ring(self)
    }
}

impl fmt::Debug for DynResidues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Residues")
            .field("rows", &self.len())
            .field("modulus", &self.modulus)
            .finish()
    }
}

/// The operations of residues.
pub(crate) struct Ring<'a>(&'a DynResidues);

impl Ring<'_> {
    fn view(&self) -> View<'_> {
        self.0.rows.view()
    }

    fn divisor(&self) -> &DynDivisor {
        self.0.modulus.divisor()
    }

    /// Checks that residues have the same moduli and number of rows as these.
    fn check(&self, other: &DynResidues) -> Result<()> {
        if !Arc::ptr_eq(&self.0.modulus.0, &other.modulus.0) {
            return Err(Error::ModulusMismatch);
        }
        self.view().check(&other.rows)
    }

    /// Makes new residues, written by `write`.
    fn produce(&self, write: impl FnOnce(&mut DynResidues) -> Result<()>) -> Result<DynResidues> {
        let mut out = DynResidues::of_form(self.view().alloc()?, &self.0.modulus);
        write(&mut out)?;
        Ok(out)
    }

    fn try_clone(&self) -> Result<DynResidues> {
        Ok(DynResidues::of_form(self.0.rows.try_clone()?, &self.0.modulus))
    }

    fn to_batch(&self) -> Result<DynBatch> {
        let view = self.view();
        match &self.0.modulus.0.form {
            Form::Plain => self.0.rows.try_clone(),
            Form::Montgomery(Montgomery { moduli, one, .. }) => view
                .produce(|out| view.mul_residues(Some((one, true)), &self.0.modulus, moduli, out)),
            Form::Special(special) => special.leave(&self.0.rows),
        }
    }

    fn mul(&self, rhs: &DynResidues) -> Result<DynResidues> {
        self.produce(|out| self.mul_into(rhs, out))
    }

    fn mul_into(&self, rhs: &DynResidues, out: &mut DynResidues) -> Result<()> {
        self.check(rhs)?;
        self.check(out)?;
        match &self.0.modulus.0.form {
            Form::Plain => {
                let products = Products::new(&self.view(), self.divisor())?;
                products.mul_into(&self.0.rows, &rhs.rows, &mut out.rows)
            }
            Form::Montgomery(Montgomery { moduli, .. }) => {
                let rhs = Some((&rhs.rows, false));
                self.view().mul_residues(rhs, &self.0.modulus, moduli, &mut out.rows)
            }
            Form::Special(special) => {
                let rows = &self.0.rows;
                Folds::new(special, rows)?.multiply(rows, &rhs.rows, &mut out.rows)
            }
        }
    }

    fn square(&self) -> Result<DynResidues> {
        self.produce(|out| self.square_into(out))
    }

    fn square_into(&self, out: &mut DynResidues) -> Result<()> {
        self.check(out)?;
        match &self.0.modulus.0.form {
            Form::Plain => Products::new(&self.view(), self.divisor())?
                .square_into(&self.0.rows, &mut out.rows),
            Form::Montgomery(Montgomery { moduli, .. }) => {
                self.view().mul_residues(None, &self.0.modulus, moduli, &mut out.rows)
            }
            Form::Special(special) => {
                let rows = &self.0.rows;
                Folds::new(special, rows)?.square(rows, &mut out.rows)
            }
        }
    }

    fn add(&self, rhs: &DynResidues) -> Result<DynResidues> {
        self.produce(|out| self.add_into(rhs, out))
    }

    fn add_into(&self, rhs: &DynResidues, out: &mut DynResidues) -> Result<()> {
        self.check(rhs)?;
        self.check(out)?;
        self.view().add_mod_into(&rhs.rows, self.divisor(), &mut out.rows)
    }

    fn sub(&self, rhs: &DynResidues) -> Result<DynResidues> {
        self.produce(|out| self.sub_into(rhs, out))
    }

    fn sub_into(&self, rhs: &DynResidues, out: &mut DynResidues) -> Result<()> {
        self.check(rhs)?;
        self.check(out)?;
        self.view().sub_mod_into(&rhs.rows, self.divisor(), &mut out.rows)
    }

    fn neg(&self) -> Result<DynResidues> {
        self.produce(|out| self.neg_into(out))
    }

    fn neg_into(&self, out: &mut DynResidues) -> Result<()> {
        self.check(out)?;
        self.view().neg_mod_into(self.divisor(), &mut out.rows)
    }

    fn double(&self) -> Result<DynResidues> {
        self.produce(|out| self.double_into(out))
    }

    fn double_into(&self, out: &mut DynResidues) -> Result<()> {
        self.add_into(self.0, out)
    }

    fn halve(&self) -> Result<DynResidues> {
        self.produce(|out| self.halve_into(out))
    }

    fn halve_into(&self, out: &mut DynResidues) -> Result<()> {
        self.check(out)?;
        if let Some(row) = self.0.modulus.0.even {
            return Err(Error::EvenModulus { row });
        }
        self.view().halve_mod_into(self.divisor(), &mut out.rows)
    }

    /// Computes powers by products and folds if these are the fastest way; `None` otherwise.
    fn folded(
        &self,
        power: impl FnOnce(&Special, &DynBatch, &DynBatch) -> Result<DynBatch>,
    ) -> Result<Option<DynResidues>> {
        let DynResidues { rows, modulus } = self.0;
        let Form::Special(special) = &modulus.0.form else { return Ok(None) };
        if !has_powers(rows) {
            return Ok(None);
        }
        let one = DynResidues::splat(&BigUint::from(1u32), rows.len(), modulus)?;
        Ok(Some(DynResidues::of_form(power(special, rows, &one.rows)?, modulus)))
    }

    fn pow(&self, exponents: &DynBatch) -> Result<DynResidues> {
        self.view().check_operand(exponents.device(), exponents.len())?;
        let folded = self.folded(|special, rows, one| {
            special.pow_rows(rows, one, &Exponents::download(exponents)?)
        })?;
        if let Some(power) = folded {
            return Ok(power);
        }
        let power = self.to_batch()?.view().pow_mod(exponents, self.divisor())?;
        DynResidues::new(&power, &self.0.modulus)
    }

    fn pow_all(&self, exponent: &BigUint) -> Result<DynResidues> {
        let folded = self.folded(|special, rows, one| special.pow_all(rows, one, exponent))?;
        if let Some(power) = folded {
            return Ok(power);
        }
        let power = self.to_batch()?.view().pow_mod_all(exponent, self.divisor())?;
        DynResidues::new(&power, &self.0.modulus)
    }

    fn pow_rows(&self, exponents: &[BigUint]) -> Result<DynResidues> {
        if exponents.len() != self.view().len() {
            return Err(Error::LengthMismatch { left: self.view().len(), right: exponents.len() });
        }
        let folded = self.folded(|special, rows, one| {
            special.pow_rows(rows, one, &Exponents::new(exponents)?)
        })?;
        if let Some(power) = folded {
            return Ok(power);
        }
        let power = self.to_batch()?.view().pow_mod_rows(exponents, self.divisor())?;
        DynResidues::new(&power, &self.0.modulus)
    }

    fn square_repeatedly(&self, count: usize) -> Result<DynResidues> {
        let folded = self.folded(|special, rows, _| special.square_repeatedly(rows, count))?;
        if let Some(power) = folded {
            return Ok(power);
        }
        let power = self.to_batch()?.view().square_mod_repeatedly(count, self.divisor())?;
        DynResidues::new(&power, &self.0.modulus)
    }

    fn eq_mask(&self, rhs: &DynResidues) -> Result<Mask> {
        self.check(rhs)?;
        self.view().eq_mask(&rhs.rows)
    }

    fn is_zero_mask(&self) -> Result<Mask> {
        self.view().is_zero_mask()
    }

    fn select(&self, mask: &Mask, other: &DynResidues) -> Result<DynResidues> {
        self.produce(|out| self.select_into(mask, other, out))
    }

    fn select_into(&self, mask: &Mask, other: &DynResidues, out: &mut DynResidues) -> Result<()> {
        self.check(other)?;
        self.check(out)?;
        self.view().select_into(mask, &other.rows, &mut out.rows)
    }
}

/// Prepared moduli of [`Residues`]: one for each row, or one for all rows. Clones share them.
///
/// A modulus takes the memory of a [`Divisor`](crate::Divisor) and, in Montgomery's form, of three
/// integers more.
#[derive(Debug)]
pub struct Modulus<T: Kernels> {
    inner: DynModulus,
    shape: PhantomData<T>,
}

impl<T: Kernels> Clone for Modulus<T> {
    fn clone(&self) -> Self {
        Self::typed(self.inner.clone())
    }
}

impl<T: Kernels> Modulus<T> {
    /// Prepares each row of a batch as the modulus for the same row of residues. Residues are in
    /// Montgomery's form only if all moduli are odd. At widths without this form, above 16384 bits,
    /// moduli are special if all rows are ([`SpecialModulus::recognize`]).
    ///
    /// # Errors
    /// As [`Divisor::new`](crate::Divisor::new).
    pub fn new(moduli: &Batch<T>) -> Result<Self> {
        DynModulus::of_rows(moduli.as_dyn()).map(Self::typed)
    }

    /// Prepares one modulus for all rows of residues.
    ///
    /// # Errors
    /// As [`Divisor::splat`](crate::Divisor::splat).
    pub fn splat(device: &Device, modulus: impl Value) -> Result<Self> {
        DynModulus::splat(&device.of::<T>(), T::SHAPE, modulus).map(Self::typed)
    }

    /// Prepares special moduli `k 2^n + c`, each for the same row of residues.
    ///
    /// A product of residues is then one product and a fold in linear time, where other moduli take
    /// three products ([`DynModulus::is_special`]). Other moduli among them, or a width without
    /// kernels of folds, make them moduli as those of [`new`](Self::new).
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint, Modulus, Residues, SpecialModulus};
    /// use num_bigint::BigUint;
    ///
    /// // N = 3 2^n + 1 is prime if a^((N - 1) / 2) = -1 for some a (F. Proth).
    /// let device = Device::cpu();
    /// let numbers = [188, 189].map(|n| SpecialModulus::new(3, n, 1));
    /// let modulus = Modulus::<GpuUint<256>>::of_special(&device, &numbers)?;
    /// let minus_one: Vec<_> =
    ///     numbers.iter().filter_map(|number| number.value()).map(|n| n - 1u32).collect();
    /// let halves: Vec<_> = minus_one.iter().map(|n| n / 2u32).collect();
    /// let halves = Batch::from_biguints(&device, &halves)?;
    /// let power = Residues::powers_of(5, &halves, &modulus)?.to_batch()?;
    /// let minus_one = Batch::from_biguints(&device, &minus_one)?;
    /// assert_eq!(power.eq_mask(&minus_one)?.to_bools()?, [false, true]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) with the lowest row whose modulus needs more than `BITS` bits,
    /// [`DivisionByZero`](Error::DivisionByZero) with the lowest row whose modulus is not positive,
    /// and as [`new`](Self::new).
    pub fn of_special(device: &Device, moduli: &[SpecialModulus]) -> Result<Self> {
        DynModulus::of_special(&device.of::<T>(), T::SHAPE, moduli).map(Self::typed)
    }

    /// Prepares one special modulus for all rows of residues; otherwise as
    /// [`of_special`](Self::of_special).
    ///
    /// # Errors
    /// As [`of_special`](Self::of_special).
    pub fn splat_special(device: &Device, modulus: SpecialModulus) -> Result<Self> {
        DynModulus::splat_special(&device.of::<T>(), T::SHAPE, modulus).map(Self::typed)
    }

    /// Returns the moduli as a [`DynModulus`], whose shape is a value.
    #[must_use]
    pub fn as_dyn(&self) -> &DynModulus {
        &self.inner
    }

    fn typed(inner: DynModulus) -> Self {
        Self { inner, shape: PhantomData }
    }
}

/// Residues modulo a [`Modulus`], one a row, on a device.
///
/// Operations on residues need no conversions in between, so that a ladder, a Lucas chain or a
/// curve is a sequence of calls. For odd moduli products take less time than
/// [`mul_mod`](Batch::mul_mod) ([`DynModulus::is_montgomery`]). An operation whose name ends in
/// `_into` writes to existing residues, without allocating.
///
/// ```
/// use gpuint::{Batch, Device, GpuUint, Modulus, Residues};
/// use num_bigint::BigUint;
///
/// let device = Device::cpu();
/// let number = |n: u32| BigUint::from(n);
/// let modulus = Modulus::<GpuUint<1024>>::splat(&device, &number(101))?;
/// let x = Batch::from_biguints(&device, &[number(7), number(100)])?;
///
/// let x = Residues::new(&x, &modulus)?;
/// let y = x.square()?.sub(&x)?.halve()?; // x (x - 1) / 2
/// assert_eq!(y.to_batch()?.to_biguints()?, [number(21), number(1)]);
/// assert_eq!(x.pow_all(&number(100))?.to_batch()?.to_biguints()?, [number(1), number(1)]);
/// # Ok::<(), gpuint::Error>(())
/// ```
#[derive(Debug)]
pub struct Residues<T: Kernels> {
    inner: DynResidues,
    shape: PhantomData<T>,
}

/// # Conversion
impl<T: Kernels> Residues<T> {
    /// Converts the rows of a batch, which may exceed the moduli, to residues.
    ///
    /// # Errors
    /// [`DeviceMismatch`](Error::DeviceMismatch), [`LengthMismatch`](Error::LengthMismatch), and
    /// what any operation may return: [`OutOfMemory`](Error::OutOfMemory),
    /// [`KernelMissing`](Error::KernelMissing), [`Compile`](Error::Compile),
    /// [`Driver`](Error::Driver).
    pub fn new(values: &Batch<T>, modulus: &Modulus<T>) -> Result<Self> {
        DynResidues::new(values.as_dyn(), modulus.as_dyn()).map(<Self as Typed<_>>::typed)
    }

    /// Makes `rows` residues of one value.
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) if the value needs more than `BITS` bits (row 0), and as
    /// [`new`](Self::new).
    pub fn splat(value: &BigUint, rows: usize, modulus: &Modulus<T>) -> Result<Self> {
        DynResidues::splat(value, rows, modulus.as_dyn()).map(<Self as Typed<_>>::typed)
    }

    /// Computes `base^exponents`, an exponent for each row. Modulo special moduli of at least
    /// 32768 bits, or 1024 bits on the CPU, a bit of the exponents takes one square; the base then
    /// costs nothing. On a GPU, this also holds for numbers `k b^n + c` of
    /// [`of_special`](Modulus::of_special) with `b` up to 65532 and small `k` and `c`.
    ///
    /// # Errors
    /// As [`pow`](Self::pow).
    pub fn powers_of(base: u32, exponents: &Batch<T>, modulus: &Modulus<T>) -> Result<Self> {
        DynResidues::powers_of(base, exponents.as_dyn(), modulus.as_dyn())
            .map(<Self as Typed<_>>::typed)
    }

    fn ring(&self) -> Ring<'_> {
        self.inner.ring()
    }
}

typed_rows!(Residues, DynResidues);

impl<T: Kernels> Typed<DynResidues> for Residues<T> {
    fn typed(inner: DynResidues) -> Self {
        Self { inner, shape: PhantomData }
    }
}

residue_faces! {
    "Operations";

    /// Copies the residues, on their device.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Driver`](crate::Error::Driver).
    fn try_clone() -> NewResidues;

    /// Converts the residues to numbers in `[0, n)`.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn to_batch() -> New;

    /// Computes `self * rhs`.
    ///
    /// # Errors
    /// [`ModulusMismatch`](crate::Error::ModulusMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    fn mul(rhs: Residue) -> NewResidues;

    /// Computes [`mul`](Self::mul) into existing residues, without allocating.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn mul_into(rhs: Residue, out: OutResidues) -> Nothing;

    /// Computes `self^2`.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn square() -> NewResidues;

    /// Computes [`square`](Self::square) into existing residues, without allocating.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn square_into(out: OutResidues) -> Nothing;

    /// Computes `self + rhs`.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn add(rhs: Residue) -> NewResidues;

    /// Computes [`add`](Self::add) into existing residues, without allocating.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn add_into(rhs: Residue, out: OutResidues) -> Nothing;

    /// Computes `self - rhs`.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn sub(rhs: Residue) -> NewResidues;

    /// Computes [`sub`](Self::sub) into existing residues, without allocating.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn sub_into(rhs: Residue, out: OutResidues) -> Nothing;

    /// Computes `-self`.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn neg() -> NewResidues;

    /// Computes [`neg`](Self::neg) into existing residues, without allocating.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn neg_into(out: OutResidues) -> Nothing;

    /// Computes `2 * self`.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn double() -> NewResidues;

    /// Computes [`double`](Self::double) into existing residues, without allocating.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn double_into(out: OutResidues) -> Nothing;

    /// Computes `self / 2`, the residue whose double is `self`. It exists and is unique modulo odd
    /// numbers.
    ///
    /// # Errors
    /// [`EvenModulus`](crate::Error::EvenModulus) with the lowest row whose modulus is even, and as
    /// [`mul`](Self::mul).
    fn halve() -> NewResidues;

    /// Computes [`halve`](Self::halve) into existing residues, without allocating.
    ///
    /// # Errors
    /// As [`halve`](Self::halve).
    fn halve_into(out: OutResidues) -> Nothing;

    /// Computes `self^exponents`, row by row: [`pow_mod`](crate::Batch::pow_mod) and two more
    /// products. Exponents of a [`DynBatch`](crate::DynBatch) may have any width.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn pow(exponents: Rows) -> NewResidues;

    /// Computes [`pow`](Self::pow) with exponents of any length, one for each row.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn pow_rows(exponents: Numbers) -> NewResidues;

    /// Computes `self^exponent`, with one exponent of any length for all rows.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn pow_all(exponent: Number) -> NewResidues;

    /// Computes `self^(2^count)`: `count` squares one after the other
    /// ([`square_mod_repeatedly`](crate::Batch::square_mod_repeatedly)).
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn square_repeatedly(count: Steps) -> NewResidues;

    /// Returns a mask of the rows with `self = rhs`.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn eq_mask(rhs: Residue) -> NewMask;

    /// Returns a mask of the rows that are 0.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn is_zero_mask() -> NewMask;

    /// The rows of these residues where the mask is set, and those of `other` elsewhere.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn select(mask: InMask, other: Residue) -> NewResidues;

    /// Computes [`select`](Self::select) into existing residues, without allocating.
    ///
    /// # Errors
    /// As [`mul`](Self::mul).
    fn select_into(mask: InMask, other: Residue, out: OutResidues) -> Nothing;
}
