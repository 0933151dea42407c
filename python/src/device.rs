//! Devices.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use gpuint::Error;
use pyo3::prelude::*;

use crate::error::detached;

/// Handles to the GPUs that were opened, by number: operands of one GPU share its queue.
static GPUS: LazyLock<Mutex<HashMap<usize, gpuint::Device>>> = LazyLock::new(Mutex::default);

/// The GPU of that number, opened once a process.
fn gpu(ordinal: usize) -> gpuint::Result<gpuint::Device> {
    let mut gpus = GPUS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = gpus.get(&ordinal) {
        return Ok(device.clone());
    }
    let device = gpuint::Device::cuda(ordinal)?;
    gpus.insert(ordinal, device.clone());
    Ok(device)
}

/// A GPU or the CPU.
#[pyclass(module = "gpuint._gpuint", frozen, eq, from_py_object)]
#[derive(Clone, PartialEq)]
pub(crate) struct Device {
    pub(crate) device: gpuint::Device,
    /// `None`: the CPU.
    ordinal: Option<usize>,
}

#[pymethods]
impl Device {
    /// Opens the GPU of a number.
    #[staticmethod]
    fn cuda(py: Python<'_>, ordinal: usize) -> PyResult<Self> {
        let device = detached(py, || gpu(ordinal))?;
        Ok(Self { device, ordinal: Some(ordinal) })
    }

    /// Returns the CPU.
    #[staticmethod]
    fn cpu() -> Self {
        Self { device: gpuint::Device::cpu(), ordinal: None }
    }

    /// Opens the first GPU; where there is none, returns the CPU.
    #[staticmethod]
    fn first(py: Python<'_>) -> PyResult<Self> {
        let device = detached(py, || match gpu(0) {
            Err(Error::NoDevice) => Ok(None),
            other => other.map(Some),
        })?;
        Ok(device.map_or_else(Self::cpu, |device| Self { device, ordinal: Some(0) }))
    }

    /// Returns the handle to the same device for widths that are not built.
    fn with_jit(&self) -> Self {
        Self { device: self.device.with_jit(), ordinal: self.ordinal }
    }

    /// Returns the narrowest width of the device for numbers of `bits` bits; `None` if no width is
    /// that wide.
    fn narrowest(&self, bits: usize) -> Option<usize> {
        self.device.narrowest(bits).map(|shape| shape.bits)
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.device.backend().name()
    }

    #[getter]
    fn ordinal(&self) -> Option<usize> {
        self.ordinal
    }

    /// The CUDA stream of the device's queue; `None` for the CPU.
    #[getter]
    fn stream(&self) -> Option<usize> {
        self.device.stream().map(|stream| stream as usize)
    }

    #[getter]
    fn name(&self) -> String {
        self.device.name()
    }

    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.device.synchronize())
    }

    fn trim(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.device.trim())
    }
}
