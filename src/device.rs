//! Devices: where batches live and operations run.

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use gpuint_catalogue::{Algorithm, Op, Shape};

use crate::auto::{Choices, Gpu, Tuning};
#[cfg(feature = "simt")]
use crate::backend::simt::{Simt, SimtOptions};
use crate::backend::{
    Backend, BackendKind, Buffer, Call, NO_ROW, Operands, cpu::Cpu, cuda, traced::Traced,
};
use crate::error::{Error, Result};
use crate::kernel::KernelId;
use crate::strategy::Strategy;

/// A handle to a device with its queue of work: calls take effect in the order in which they are
/// made, and results are waited for where they are read.
///
/// Clones are handles to the same device. Operands of one operation must live on one device.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    /// Status words that no call uses at the moment: checked operations do not allocate.
    idle_status: Mutex<Vec<Buffer>>,
    /// Memory of the last assignment, for the next one of the same size.
    spare: Mutex<Option<Buffer>>,
    choices: Arc<Choices>,
    backend: Traced,
}

static CPU: LazyLock<Device> = LazyLock::new(|| Device::over(Box::new(Cpu)));

#[cfg(feature = "simt")]
static SIMT: LazyLock<Device> = LazyLock::new(|| Device::simt_with(SimtOptions::default()));

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
    /// Kernels are taken from the images that were built with the crate; where there is none for
    /// this GPU, from `GPUINT_CACHE_DIR` (`off` switches it off; by default `gpuint` in
    /// `XDG_CACHE_HOME` or `~/.cache`); where it is not there either, NVRTC makes it, which
    /// `GPUINT_NVRTC` or `CUDA_HOME` may say the place of. [`tuning`](Self::tuning) tells which table
    /// [`Auto`](crate::Auto) follows; `GPUINT_TUNING` names another: one that was built in (`h200`),
    /// or a file.
    ///
    /// # Errors
    /// [`NoDevice`](Error::NoDevice) where there is no driver or no GPU of that number,
    /// [`Driver`](Error::Driver) where it cannot be used, [`Tuning`](Error::Tuning) where
    /// `GPUINT_TUNING` names no usable table.
    pub fn cuda(ordinal: usize) -> Result<Self> {
        let device = Self::over_gpu(cuda::open(ordinal, None)?)?;
        tracing::info!(device = %device, tuning = %device.tuning(), "using a CUDA GPU");
        Ok(device)
    }

    /// The CPU: all its cores, by loops over limbs, or by the GMP of the host (feature `gmp`).
    /// Every call returns the same device.
    #[must_use]
    pub fn cpu() -> Self {
        CPU.clone()
    }

    /// The processor, running the CUDA kernels themselves, compiled by the host's C++ compiler: slow,
    /// and strict about barriers, masks and memory. Every call returns the same device.
    #[cfg(feature = "simt")]
    #[cfg_attr(docsrs, doc(cfg(feature = "simt")))]
    #[must_use]
    pub fn simt() -> Self {
        SIMT.clone()
    }

    /// [`simt`](Self::simt) with a schedule of its own: a new device.
    #[cfg(feature = "simt")]
    #[cfg_attr(docsrs, doc(cfg(feature = "simt")))]
    #[must_use]
    pub fn simt_with(options: SimtOptions) -> Self {
        Self::over(Box::new(Simt::new(options)))
    }

    /// What kind of device this is.
    #[must_use]
    pub fn backend(&self) -> BackendKind {
        self.0.backend.kind()
    }

    /// The name of the device: that of the GPU, or `cpu` or `simt`.
    #[must_use]
    pub fn name(&self) -> String {
        self.0.backend.name()
    }

    /// Returns the algorithm that a strategy selects for an operation on a batch of this shape and
    /// this number of rows.
    ///
    /// # Errors
    /// [`KernelMissing`](Error::KernelMissing) where the catalogue offers none.
    pub fn algorithm(
        &self,
        op: Op,
        strategy: Strategy,
        shape: Shape,
        rows: usize,
    ) -> Result<Algorithm> {
        Ok(self.kernel(op, strategy, shape, rows)?.row().algorithm)
    }

    /// The properties of the GPU; `None` where the device is none.
    #[must_use]
    pub fn gpu(&self) -> Option<Gpu> {
        self.0.backend.gpu()
    }

    /// The tuning table by which [`Auto`](crate::Auto) chooses on this device, and whether it was
    /// measured on it.
    #[must_use]
    pub fn tuning(&self) -> &Tuning {
        &self.0.choices.tuning
    }

    /// Does `work`, waits for what it queues on this device, and returns its result with the time
    /// that the device took: measured by events in the queue of a GPU, by the clock elsewhere.
    ///
    /// The first call of an operation loads its kernel, which counts: call it once before. So does
    /// what other threads queue on this device meanwhile, and a GPU's waiting for the host between
    /// two operations.
    ///
    /// # Errors
    /// Those of `work`, and [`Driver`](Error::Driver).
    pub fn time<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<(R, Duration)> {
        let mut work = Some(work);
        let mut result = None;
        let time = self.0.backend.time(&mut || {
            if let Some(work) = work.take() {
                result = Some(work()?);
            }
            Ok(())
        })?;
        let result = result.ok_or_else(|| Error::Driver("the work was not done".to_owned()))?;
        Ok((result, time))
    }

    /// Waits for all work queued so far.
    ///
    /// # Errors
    /// [`DeviceLost`](Error::DeviceLost) or [`Driver`](Error::Driver) if some of that work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.0.backend.synchronize()
    }

    /// Waits for all work queued so far, and gives GPU memory that no batch uses back to the system.
    ///
    /// Memory of dropped batches stays with the process, for all its handles to the GPU, so that
    /// the next batch gets it without asking the system. Call this before another process needs
    /// the memory. It also happens when a handle's last clone is dropped, and before an allocation
    /// fails with [`OutOfMemory`](Error::OutOfMemory).
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    pub fn trim(&self) -> Result<()> {
        drop(self.0.spare.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.0.backend.trim()
    }
}

/// For the rest of the crate.
impl Device {
    /// The CUDA GPU of that number, with kernels that aim at so many threads per block.
    pub(crate) fn cuda_with_block(ordinal: usize, block: u32) -> Result<Self> {
        Self::over_gpu(cuda::open(ordinal, Some(block))?)
    }

    fn over(backend: Box<dyn Backend>) -> Self {
        Self::choosing(backend, Choices::of_the_build())
    }

    fn choosing(backend: Box<dyn Backend>, choices: Arc<Choices>) -> Self {
        Self(Arc::new(Inner {
            idle_status: Mutex::default(),
            spare: Mutex::default(),
            choices,
            backend: Traced(backend),
        }))
    }

    /// A GPU, with the choices of its tuning table.
    fn over_gpu(backend: Box<dyn Backend>) -> Result<Self> {
        let choices = match backend.gpu() {
            Some(gpu) => Arc::new(Choices::of(&gpu)?),
            None => Choices::of_the_build(),
        };
        Ok(Self::choosing(backend, choices))
    }

    /// Selects the kernel of an operation at a shape.
    pub(crate) fn kernel(
        &self,
        op: Op,
        strategy: Strategy,
        shape: Shape,
        rows: usize,
    ) -> Result<KernelId> {
        strategy.kernel(op, shape, rows, &self.0.choices)
    }

    pub(crate) fn memory(&self) -> &dyn Backend {
        &self.0.backend
    }

    /// The memory that [`keep_spare`](Self::keep_spare) kept, if it has this size.
    pub(crate) fn take_spare(&self, bytes: u64) -> Option<Buffer> {
        let mut spare = self.0.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.take_if(|buffer| buffer.bytes() == bytes)
    }

    /// Keeps memory for the next assignment.
    pub(crate) fn keep_spare(&self, buffer: Buffer) {
        *self.0.spare.lock().unwrap_or_else(PoisonError::into_inner) = Some(buffer);
    }

    /// Allocates `rows` rows, uninitialized.
    pub(crate) fn alloc_rows(&self, rows: usize, row_bytes: usize) -> Result<Buffer> {
        self.memory().alloc(total_bytes(rows, row_bytes)?)
    }

    /// Memory for so many rows of zeros.
    pub(crate) fn zeroed_rows(&self, rows: usize, row_bytes: usize) -> Result<Buffer> {
        self.memory().alloc_zeroed(total_bytes(rows, row_bytes)?)
    }

    /// Queues a kernel.
    pub(crate) fn launch(&self, kernel: KernelId, operands: Operands<'_>) -> Result<()> {
        if operands.rows == 0 {
            return Ok(());
        }
        let call = Call { kernel, operands };
        call.check()?;
        self.0.backend.launch(call)
    }

    /// Runs a kernel that reports failed rows, and returns the lowest one.
    pub(crate) fn launch_checked(
        &self,
        kernel: KernelId,
        operands: Operands<'_>,
    ) -> Result<Option<usize>> {
        if operands.rows == 0 {
            return Ok(None);
        }
        let idle = || self.0.idle_status.lock().unwrap_or_else(PoisonError::into_inner);
        let reused = idle().pop();
        let mut status = reused.map_or_else(|| self.memory().alloc(8), Ok)?;
        self.memory().fill(&mut status, NO_ROW_BYTE)?;
        self.launch(kernel, Operands { status: Some(&mut status), ..operands })?;
        let mut lowest = [0; 8];
        self.memory().download(&status, 0, &mut lowest)?;
        idle().push(status);
        match u64::from_le_bytes(lowest) {
            NO_ROW => Ok(None),
            row => usize::try_from(row).map(Some).map_err(|error| Error::Driver(error.to_string())),
        }
    }
}

/// Every byte of [`NO_ROW`].
const NO_ROW_BYTE: u8 = 0xff;
static_assertions::const_assert_eq!(u64::from_le_bytes([NO_ROW_BYTE; 8]), NO_ROW);

/// The size of so many rows.
fn total_bytes(rows: usize, row_bytes: usize) -> Result<u64> {
    (rows as u64).checked_mul(row_bytes as u64).ok_or(Error::OutOfMemory { bytes: u64::MAX })
}

/// Two handles are equal where they are handles to the same device and queue.
impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
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
        write!(f, "{} ({})", self.backend(), self.0.backend.describe())
    }
}
