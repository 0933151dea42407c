//! Prepared divisors.

use gpuint::DynDivisor;
use pyo3::prelude::*;

use crate::device::Device;
use crate::error::detached;
use crate::number::Number;

/// Divisors of one width on a device, prepared.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct Divisor(pub(crate) DynDivisor);

#[pymethods]
impl Divisor {
    /// Prepares one divisor for all rows.
    #[staticmethod]
    fn splat(py: Python<'_>, device: &Device, bits: usize, divisor: Number) -> PyResult<Self> {
        let device = &device.device;
        detached(py, || DynDivisor::splat(device, device.shape_for(bits)?, &divisor.0)).map(Self)
    }
}
