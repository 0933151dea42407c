//! Residues, and powers of one base.

use gpuint::{DynBatch, DynFixedBase, DynModulus, DynResidues, SpecialModulus};
use pyo3::prelude::*;

use crate::batch::Batch;
use crate::device::Device;
use crate::error::detached;
use crate::mask::Mask;
use crate::methods::methods;
use crate::number::{Number, Numbers};

/// Moduli of one width on a device.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct Modulus(DynModulus);

#[pymethods]
impl Modulus {
    /// Prepares one modulus for all rows.
    #[staticmethod]
    fn splat(py: Python<'_>, device: &Device, bits: usize, modulus: Number) -> PyResult<Self> {
        let device = &device.device;
        detached(py, || DynModulus::splat(device, device.shape_for(bits)?, &modulus.0)).map(Self)
    }

    /// Prepares the rows of a batch, each for the same row of residues.
    #[staticmethod]
    fn of_rows(py: Python<'_>, moduli: &Batch) -> PyResult<Self> {
        let moduli = &moduli.0;
        detached(py, || DynModulus::of_rows(moduli)).map(Self)
    }

    /// Prepares special moduli, each for the same row of residues.
    #[staticmethod]
    fn of_special(
        py: Python<'_>,
        device: &Device,
        bits: usize,
        moduli: Vec<Special>,
    ) -> PyResult<Self> {
        let device = &device.device;
        let moduli: Vec<SpecialModulus> = moduli.into_iter().map(special).collect();
        detached(py, || DynModulus::of_special(device, device.shape_for(bits)?, &moduli)).map(Self)
    }

    /// Prepares one special modulus for all rows.
    #[staticmethod]
    fn splat_special(
        py: Python<'_>,
        device: &Device,
        bits: usize,
        modulus: Special,
    ) -> PyResult<Self> {
        let (device, modulus) = (&device.device, special(modulus));
        detached(py, || DynModulus::splat_special(device, device.shape_for(bits)?, modulus))
            .map(Self)
    }

    /// Returns true if products are reduced in linear time.
    fn is_special(&self) -> bool {
        self.0.is_special()
    }
}

/// The numbers k, base, n and c of a special modulus.
type Special = (u32, u32, u32, i32);

fn special((k, base, n, c): Special) -> SpecialModulus {
    SpecialModulus::with_base(k, base, n, c)
}

/// Returns k, n and c of a number `k 2^n + c`; `None` for numbers without the form.
#[pyfunction]
pub(crate) fn recognize_special(number: Number) -> Option<(u32, u32, i32)> {
    let form = SpecialModulus::recognize(&number.0)?;
    Some((form.k(), form.n(), form.c()))
}

/// Residues modulo moduli, one a row.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct Residues(pub(crate) DynResidues);

#[pymethods]
impl Residues {
    /// Makes residues of values.
    #[staticmethod]
    fn of_batch(py: Python<'_>, values: &Batch, modulus: &Modulus) -> PyResult<Self> {
        let (values, modulus) = (&values.0, &modulus.0);
        detached(py, || DynResidues::new(values, modulus)).map(Self)
    }

    /// Computes the powers of a small base by an exponent for each row.
    #[staticmethod]
    fn powers_of(
        py: Python<'_>,
        base: u32,
        exponents: &Batch,
        modulus: &Modulus,
    ) -> PyResult<Self> {
        let (exponents, modulus) = (&exponents.0, &modulus.0);
        detached(py, || DynResidues::powers_of(base, exponents, modulus)).map(Self)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

methods! {
    Residues;

    fn to_batch() -> DynBatch;
    fn add(rhs: &Residues) -> DynResidues;
    fn sub(rhs: &Residues) -> DynResidues;
    fn neg() -> DynResidues;
    fn double() -> DynResidues;
    fn halve() -> DynResidues;
    fn mul(rhs: &Residues) -> DynResidues;
    fn square() -> DynResidues;
    fn square_repeatedly(count: usize) -> DynResidues;
    fn pow(exponents: &Batch) -> DynResidues;
    fn pow_rows(exponents: Numbers) -> DynResidues;
    fn pow_all(exponent: Number) -> DynResidues;
    fn eq_mask(rhs: &Residues) -> gpuint::Mask;
    fn is_zero_mask() -> gpuint::Mask;
    fn select(mask: &Mask, other: &Residues) -> DynResidues;
}

/// Powers of one base modulo one number, prepared.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct FixedBase(DynFixedBase);

#[pymethods]
impl FixedBase {
    /// Prepares the powers for exponents of `exponent_bits` bits.
    #[staticmethod]
    fn prepare(
        py: Python<'_>,
        device: &Device,
        bits: usize,
        base: Number,
        modulus: Number,
        exponent_bits: usize,
    ) -> PyResult<Self> {
        let device = &device.device;
        detached(py, || {
            DynFixedBase::new(device, device.shape_for(bits)?, &base.0, &modulus.0, exponent_bits)
        })
        .map(Self)
    }
}

methods! {
    FixedBase;

    fn pow(exponents: &Batch) -> DynBatch;
    fn pow_rows(exponents: Numbers) -> DynBatch;
}
