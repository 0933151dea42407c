//! Prepared factors.

use gpuint::DynFactor;
use pyo3::prelude::*;

use crate::device::Device;
use crate::error::detached;
use crate::number::Number;

/// Factors of one width on a device, prepared.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct Factor(pub(crate) DynFactor);

#[pymethods]
impl Factor {
    /// Prepares one factor for all rows.
    #[staticmethod]
    fn splat(py: Python<'_>, device: &Device, bits: usize, factor: Number) -> PyResult<Self> {
        let device = &device.device;
        detached(py, || DynFactor::splat(device, device.shape_for(bits)?, &factor.0)).map(Self)
    }
}
