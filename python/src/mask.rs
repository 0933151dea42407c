//! Masks.

use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::buffer::{Bytes, RowNumbers};
use crate::device::Device;
use crate::error::{detached, reserved};
use crate::methods::bytes_of;

/// One bit a row, on a device.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct Mask(pub(crate) gpuint::Mask);

#[pymethods]
impl Mask {
    /// Makes a mask of one byte a row, which is set unless 0.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, device: &Device, bits: Bytes) -> PyResult<Self> {
        let device = &device.device;
        let bytes = bits.as_slice();
        detached(py, || {
            let mut bits = reserved(bytes.len())?;
            bits.extend(bytes.iter().map(|&byte| byte != 0));
            gpuint::Mask::from_bools(device, &bits)
        })
        .map(Self)
    }

    /// Returns one byte a row: 0 or 1.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let bits = detached(py, || self.0.to_bools())?;
        bytes_of(py, &bits, |bit| [u8::from(bit)])
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Returns the bit of a row.
    fn row(&self, py: Python<'_>, row: usize) -> PyResult<bool> {
        detached(py, || self.0.row(row))
    }

    /// Returns the bits of the rows of these numbers, of which negative ones count from the end.
    fn gather(&self, py: Python<'_>, rows: RowNumbers) -> PyResult<Self> {
        let rows = rows.among(py, self.0.len())?;
        detached(py, || {
            let bits = self.0.to_bools()?;
            let mut gathered = reserved(rows.len())?;
            gathered.extend(rows.iter().map(|&row| bits[row]));
            gpuint::Mask::from_bools(self.0.device(), &gathered)
        })
        .map(Self)
    }

    fn count(&self, py: Python<'_>) -> PyResult<usize> {
        detached(py, || self.0.count())
    }

    fn and_(&self, py: Python<'_>, rhs: &Self) -> PyResult<Self> {
        let (mask, rhs) = (&self.0, &rhs.0);
        detached(py, || mask.and(rhs)).map(Self)
    }

    fn or_(&self, py: Python<'_>, rhs: &Self) -> PyResult<Self> {
        let (mask, rhs) = (&self.0, &rhs.0);
        detached(py, || mask.or(rhs)).map(Self)
    }

    fn xor(&self, py: Python<'_>, rhs: &Self) -> PyResult<Self> {
        let (mask, rhs) = (&self.0, &rhs.0);
        detached(py, || mask.xor(rhs)).map(Self)
    }

    fn not_(&self, py: Python<'_>) -> PyResult<Self> {
        detached(py, || self.0.not()).map(Self)
    }
}
