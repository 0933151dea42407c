//! Devices: where batches live and operations run.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::backend::{Backend, BackendKind, cpu::Cpu, cuda};
use crate::error::{Error, Result};

/// A handle to a device with its queue of work: calls take effect in the order in which they are
/// made, and results are waited for where they are read.
///
/// Clones are handles to the same device. Operands of one operation must live on one device.
#[derive(Clone)]
pub struct Device {
    backend: Arc<dyn Backend>,
}

static CPU: LazyLock<Device> = LazyLock::new(|| Device { backend: Arc::new(Cpu) });

impl Device {
    /// The first CUDA GPU; where there is no driver or no GPU, the processor.
    ///
    /// [`backend`](Self::backend) says which it is. A device never changes its kind later.
    ///
    /// # Errors
    /// [`Driver`](Error::Driver) where there is a GPU and it cannot be used.
    pub fn new() -> Result<Self> {
        match Self::cuda(0) {
            Err(Error::NoDevice) => {
                tracing::info!("no CUDA driver or GPU: using the processor");
                Ok(Self::cpu())
            }
            other => other,
        }
    }

    /// The CUDA GPU of that number, with a stream of its own.
    ///
    /// # Errors
    /// [`NoDevice`](Error::NoDevice) where there is no driver or no GPU of that number,
    /// [`Driver`](Error::Driver) where it cannot be used.
    pub fn cuda(ordinal: usize) -> Result<Self> {
        let device = Self { backend: cuda::open(ordinal)? };
        tracing::info!(device = %device, "using a CUDA GPU");
        Ok(device)
    }

    /// The processor: all its cores, through `num-bigint`. Every call returns the same device.
    #[must_use]
    pub fn cpu() -> Self {
        CPU.clone()
    }

    /// What kind of device this is.
    #[must_use]
    pub fn backend(&self) -> BackendKind {
        self.backend.kind()
    }

    /// Waits for all work queued so far.
    ///
    /// # Errors
    /// [`Driver`](Error::Driver) where some of that work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.backend.synchronize()
    }
}

/// Two handles are equal where they are handles to the same device and queue.
impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.backend, &other.backend)
    }
}

impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

/// The kind of the device, and the device in words: `cpu (8 threads)`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.backend(), self.backend.describe())
    }
}
