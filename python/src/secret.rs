//! Operands that are secret.

use gpuint::{Device as Queue, SecretBatch as Rows, Shape};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::batch::Batch;
use crate::buffer::Bytes;
use crate::device::Device;
use crate::error::{byte_array, detached};
use crate::mask::Mask;

/// Integers whose memory is overwritten before it is freed.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct SecretBatch(Rows);

#[pymethods]
impl SecretBatch {
    /// Makes a batch of the bytes of its rows, each row least significant byte first.
    #[staticmethod]
    fn from_le_bytes(py: Python<'_>, device: &Device, bits: usize, rows: Bytes) -> PyResult<Self> {
        let (device, rows) = (&device.device, rows.as_slice());
        detached(py, || Rows::from_le_bytes(device, device.shape_for(bits)?, rows)).map(Self)
    }

    /// Returns the bytes of the rows. No other copy of them stays.
    fn to_le_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let bytes = detached(py, || self.0.to_le_bytes())?;
        byte_array(py, bytes.len(), |place| {
            place.copy_from_slice(&bytes);
            Ok(())
        })
    }

    /// Copies the rows to a batch that is not secret.
    fn reveal(&self, py: Python<'_>) -> PyResult<Batch> {
        detached(py, || self.0.reveal()).map(Batch)
    }

    fn is_zero_mask(&self, py: Python<'_>) -> PyResult<Mask> {
        detached(py, || self.0.is_zero_mask()).map(Mask)
    }

    fn pow_secret(
        &self,
        py: Python<'_>,
        exponents: &SecretExponents,
        modulus: &SecretModulus,
    ) -> PyResult<Self> {
        let (exponents, modulus) = (&exponents.0, &modulus.0);
        detached(py, || self.0.pow_secret(exponents, modulus)).map(Self)
    }

    fn mul_add_secret(
        &self,
        py: Python<'_>,
        factor: &SecretFactor,
        addend: &Self,
    ) -> PyResult<Self> {
        let (factor, addend) = (&factor.0, &addend.0);
        detached(py, || self.0.mul_add_secret(factor, addend)).map(Self)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn bits(&self) -> usize {
        self.0.shape().bits
    }
}

#[pymethods]
impl Batch {
    fn pow_secret(
        &self,
        py: Python<'_>,
        exponents: &SecretExponents,
        modulus: &SecretModulus,
    ) -> PyResult<SecretBatch> {
        let (exponents, modulus) = (&exponents.0, &modulus.0);
        detached(py, || self.0.pow_secret(exponents, modulus)).map(SecretBatch)
    }

    fn mul_add_secret(
        &self,
        py: Python<'_>,
        factor: &SecretFactor,
        addend: &SecretBatch,
    ) -> PyResult<SecretBatch> {
        let (factor, addend) = (&factor.0, &addend.0);
        detached(py, || self.0.mul_add_secret(factor, addend)).map(SecretBatch)
    }
}

/// Prepares one operand for all rows if there is one row of bytes, else one for each row.
fn prepared<T: Send>(
    py: Python<'_>,
    device: &Device,
    bits: usize,
    rows: &[u8],
    splat: impl FnOnce(&Queue, Shape, &[u8]) -> gpuint::Result<T> + Send,
    of_rows: impl FnOnce(&Queue, Shape, &[u8]) -> gpuint::Result<T> + Send,
) -> PyResult<T> {
    let device = &device.device;
    detached(py, || {
        let shape = device.shape_for(bits)?;
        match rows.len() == shape.bytes() {
            true => splat(device, shape, rows),
            false => of_rows(device, shape, rows),
        }
    })
}

/// Exponents of a public length.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct SecretExponents(gpuint::SecretExponents);

#[pymethods]
impl SecretExponents {
    /// Makes exponents of at most `length` bits: one for each row, or one for all rows.
    #[staticmethod]
    fn of_le_bytes(
        py: Python<'_>,
        device: &Device,
        bits: usize,
        length: usize,
        rows: Bytes,
    ) -> PyResult<Self> {
        use gpuint::SecretExponents as Exponents;
        let splat =
            |device: &Queue, shape, row: &[u8]| Exponents::splat(device, shape, length, row);
        let of_rows =
            |device: &Queue, shape, rows: &[u8]| Exponents::of_rows(device, shape, length, rows);
        prepared(py, device, bits, rows.as_slice(), splat, of_rows).map(Self)
    }
}

/// Odd moduli.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct SecretModulus(gpuint::SecretModulus);

#[pymethods]
impl SecretModulus {
    /// Prepares a modulus for each row, or one for all rows.
    #[staticmethod]
    fn of_le_bytes(py: Python<'_>, device: &Device, bits: usize, rows: Bytes) -> PyResult<Self> {
        use gpuint::SecretModulus as Modulus;
        prepared(py, device, bits, rows.as_slice(), Modulus::splat, Modulus::of_rows).map(Self)
    }
}

/// Factors modulo odd moduli.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct SecretFactor(gpuint::SecretFactor);

#[pymethods]
impl SecretFactor {
    /// Prepares a factor and a modulus for each row, or one of both for all rows.
    #[staticmethod]
    fn of_le_bytes(
        py: Python<'_>,
        device: &Device,
        bits: usize,
        factors: Bytes,
        moduli: Bytes,
    ) -> PyResult<Self> {
        use gpuint::SecretFactor as Factor;
        let moduli = moduli.as_slice();
        let splat = |device: &Queue, shape, row: &[u8]| Factor::splat(device, shape, row, moduli);
        let of_rows =
            |device: &Queue, shape, rows: &[u8]| Factor::of_rows(device, shape, rows, moduli);
        prepared(py, device, bits, factors.as_slice(), splat, of_rows).map(Self)
    }
}
