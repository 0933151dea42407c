//! Devices.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpuint::Error;
use pyo3::prelude::*;

use crate::error::{detached, exception};

type Gpus = BTreeMap<usize, gpuint::Device>;

/// Handles to the GPUs that were opened, by number: operands of one GPU share its queue.
///
/// The interpreter's lock is held meanwhile, as by `os.fork`: no child gets a locked table.
fn gpus(_: Python<'_>) -> MutexGuard<'static, Gpus> {
    static GPUS: Mutex<Gpus> = Mutex::new(BTreeMap::new());
    GPUS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The GPU of that number; `None` where there is none.
fn gpu(py: Python<'_>, ordinal: usize) -> PyResult<Option<gpuint::Device>> {
    let known = gpus(py).get(&ordinal).cloned();
    if known.is_some() {
        return Ok(known);
    }
    let opened = detached(py, || match gpuint::Device::cuda(ordinal) {
        Err(Error::NoDevice) => Ok(None),
        other => other.map(Some),
    })?;
    // Another thread may have opened it meanwhile.
    Ok(opened.map(|device| gpus(py).entry(ordinal).or_insert(device).clone()))
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
        let device = gpu(py, ordinal)?.ok_or_else(|| exception(py, &Error::NoDevice))?;
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
        let device = gpu(py, 0)?;
        Ok(device.map_or_else(Self::cpu, |device| Self { device, ordinal: Some(0) }))
    }

    /// Returns the handle to the same device for widths that are not built.
    fn with_jit(&self) -> Self {
        Self { device: self.device.with_jit(), ordinal: self.ordinal }
    }

    /// Returns the handle to the same device whose results are checked.
    fn verified(&self) -> Self {
        Self { device: self.device.verified(), ordinal: self.ordinal }
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

    #[getter]
    fn description(&self) -> String {
        self.device.to_string()
    }

    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.device.synchronize())
    }

    fn trim(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.device.trim())
    }
}
