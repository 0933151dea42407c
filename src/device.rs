//! Devices, on which batches live and operations run.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpuint_catalogue::{
    Algorithm, DigitKind, MAX_BITS, MAX_GROUP, MAX_LONG_BITS, MAX_Q, Op, Shape,
};
use once_cell::race::OnceBox;

use crate::auto::{Choices, Gpu, Tuning};
use crate::backend::long::on_cpu;
#[cfg(feature = "simt")]
use crate::backend::simt::{Simt, SimtOptions};
use crate::backend::{
    Backend, BackendKind, Buffer, Call, NO_ROW, Operands, cpu::Cpu, cuda, traced::Traced,
};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::faults::Faults;
use crate::kernel::KernelId;
use crate::shape::{Kernels, is_built, narrowest, selected, shapes};
use crate::strategy::Strategy;
use crate::threads;

/// Launches a call that has been checked, and checks its results.
pub(crate) type Verifier = fn(&Device, Call<'_>) -> Result<()>;

/// Handle to a device and its queue. Calls take effect in the order in which they are made; a call
/// that reads results waits for them.
///
/// Clones share one device and queue; [`queue`](Device::queue) makes another queue of the device.
/// All operands of an operation must live on one device.
///
/// # Processes
/// After a `fork`, the CPU works in the child process, with the batches of its parent: the child
/// starts threads of its own. GPUs do not survive a fork. In the child, every call on a GPU that
/// the parent opened returns [`Forked`](Error::Forked), and so does opening one, if the parent has
/// opened one or has called [`cuda_count`](Self::cuda_count). Dropping its batches has no effect.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
    /// True if batches of this handle may have shapes that are not built.
    jit: bool,
    /// Launches calls and checks their results, on handles of [`verified`](Self::verified).
    verifier: Option<Verifier>,
    /// Faults of the results of this handle, for tests.
    faults: Option<Arc<Faults>>,
}

/// Memory for reuse is behind locks that are only tried: a thread of the parent of this process may
/// have held one at a fork.
struct Inner {
    /// Idle status words, kept so that checked operations do not allocate.
    idle_status: Mutex<Vec<Buffer>>,
    /// Memory of the last assignment, reused by the next one of the same size.
    spare: Mutex<Option<Buffer>>,
    choices: Arc<Choices>,
    backend: Traced,
}

static CPU: OnceBox<Device> = OnceBox::new();

#[cfg(feature = "simt")]
static SIMT: OnceBox<Device> = OnceBox::new();

impl Device {
    /// Opens the first CUDA GPU, or the CPU if there is no driver or no GPU.
    ///
    /// [`backend`](Self::backend) returns which one it is. A device never changes its kind later.
    ///
    /// # Errors
    /// [`Driver`](Error::Driver) if there is a GPU that cannot be used.
    pub fn new() -> Result<Self> {
        match Self::cuda(0) {
            Err(Error::NoDevice) => {
                tracing::info!("no CUDA driver or GPU: using the CPU");
                Ok(Self::cpu())
            }
            other => other,
        }
    }

    /// Opens the CUDA GPU with this number, with a stream of its own.
    ///
    /// Kernels come from the images built into the crate. A kernel without an image for this GPU
    /// comes from the cache on disk: `GPUINT_CACHE_DIR` (`off` disables it), by default `gpuint` in
    /// `XDG_CACHE_HOME` or `~/.cache`. A kernel that is not there either is compiled by NVRTC;
    /// `GPUINT_NVRTC` or `CUDA_HOME` gives the place of the library. [`tuning`](Self::tuning)
    /// returns the table that [`Auto`](crate::Auto) follows; `GPUINT_TUNING` selects another: a
    /// built-in one (`h200`) or a file.
    ///
    /// # Errors
    /// [`NoDevice`](Error::NoDevice) if there is no driver or no GPU with this number,
    /// [`Driver`](Error::Driver) if the GPU cannot be used, [`Tuning`](Error::Tuning) if
    /// `GPUINT_TUNING` names no usable table.
    pub fn cuda(ordinal: usize) -> Result<Self> {
        let device = Self::over_gpu(cuda::open(ordinal, None)?)?;
        tracing::info!(device = %device, tuning = %device.tuning(), "using a CUDA GPU");
        Ok(device)
    }

    /// Number of CUDA GPUs of the machine; 0 without a driver.
    ///
    /// # Errors
    /// [`Driver`](Error::Driver) if there is a driver that does not start.
    pub fn cuda_count() -> Result<usize> {
        cuda::count()
    }

    /// Returns the CPU: all its cores, with loops over limbs, or with the GMP of the host (feature
    /// `gmp`). Every call returns the same device.
    ///
    /// Its threads start at their first use, as many as the machine has, or `RAYON_NUM_THREADS`.
    /// The calling thread computes alone if no thread can start.
    #[must_use]
    pub fn cpu() -> Self {
        CPU.get_or_init(|| Box::new(Self::over(Box::new(Cpu)))).clone()
    }

    /// Returns the SIMT shim: the CUDA kernels compiled for the CPU by the host's C++ compiler,
    /// with checks of barriers, masks and memory. It is slow. Every call returns the same device.
    ///
    /// The compiler is `CXX`, else `c++`. It compiles kernels at their first use, some of a width
    /// together, which takes seconds. They are kept on disk for later processes, in the same cache
    /// as those of a GPU ([`cuda`](Self::cuda)). Without a compiler, operations return
    /// [`KernelMissing`](Error::KernelMissing).
    #[cfg(feature = "simt")]
    #[cfg_attr(docsrs, doc(cfg(feature = "simt")))]
    #[must_use]
    pub fn simt() -> Self {
        let open = || Box::new(Self::simt_with(SimtOptions::default()));
        SIMT.get_or_init(open).clone()
    }

    /// Returns a new [`simt`](Self::simt) device with its own thread schedule.
    #[cfg(feature = "simt")]
    #[cfg_attr(docsrs, doc(cfg(feature = "simt")))]
    #[must_use]
    pub fn simt_with(options: SimtOptions) -> Self {
        Self::over(Box::new(Simt::new(options)))
    }

    /// Returns a handle to the same device and queue whose batches may have every valid shape,
    /// built or not.
    ///
    /// A GPU gets the kernels of such a shape from the cache on disk, or from NVRTC at their first
    /// use, which takes seconds for each kernel ([`cuda`](Self::cuda)). [`Auto`](crate::Auto)
    /// selects by the widths next to it in the tuning table. The CPU needs no kernels. Results of
    /// operations on such batches, of any width, are on handles of this kind, too.
    ///
    /// For typed batches the type opts in: [`JitUint`](crate::JitUint). To use a built width
    /// instead, round up by [`narrowest`](crate::narrowest).
    ///
    /// ```
    /// use gpuint::{Device, DigitKind, DynBatch, Error, Shape};
    ///
    /// let shape = Shape { bits: 1280, q: 4, digit: DigitKind::U64 };
    /// let device = Device::cpu();
    /// let error = DynBatch::splat(&device, shape, 7, 3).unwrap_err();
    /// assert_eq!(error, Error::ShapeMissing { shape });
    ///
    /// let a = DynBatch::splat(&device.with_jit(), shape, 7, 3)?;
    /// assert_eq!(a.widening_mul(&a)?.shape().bits, 2560);
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_jit(&self) -> Self {
        self.with_jit_if(true)
    }

    /// Returns true if the handle is one of [`verified`](Self::verified).
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.verifier.is_some()
    }

    /// Returns a handle with faults, for tests of [`verified`](Self::verified).
    #[doc(hidden)]
    #[must_use]
    pub fn with_faults(&self, faults: &Arc<Faults>) -> Self {
        Self { faults: Some(Arc::clone(faults)), ..self.clone() }
    }

    /// Returns the narrowest shape for integers of `bits` bits that batches of this handle may
    /// have; `None` above 2^31 bits.
    ///
    /// This is [`narrowest`], and on a handle of [`with_jit`](Self::with_jit) 64-bit digits and the
    /// lowest multiple of 256 bits for which there is a `Q` of at least 4. Above 2^20 bits it is
    /// the lowest multiple of 64 ([`Shape::is_long`]).
    ///
    /// ```
    /// use gpuint::Device;
    ///
    /// let device = Device::cpu();
    /// assert_eq!(device.narrowest(1100).unwrap().bits, 1536);
    /// assert_eq!(device.with_jit().narrowest(1100).unwrap().bits, 1280);
    /// assert_eq!(device.with_jit().narrowest((1 << 30) - 1).unwrap().bits, 1 << 30);
    /// assert_eq!(device.with_jit().narrowest((1 << 31) + 1), None);
    /// ```
    #[must_use]
    pub fn narrowest(&self, bits: usize) -> Option<Shape> {
        if !self.jit {
            return narrowest(bits);
        }
        const UNIT: usize = 4 * DigitKind::U64.bits();
        let first = bits.max(1).checked_next_multiple_of(UNIT)?;
        let shapes = (first..=MAX_BITS).step_by(UNIT);
        let mut shapes = shapes.map(|bits| Shape { bits, q: 4, digit: DigitKind::U64 });
        shapes.find_map(|shape| self.selected(shape).ok()).or_else(|| Shape::long(bits))
    }

    /// Returns the shape of [`narrowest`](Self::narrowest), or the error with the widest width.
    ///
    /// ```
    /// use gpuint::{Device, Error};
    ///
    /// let device = Device::cpu();
    /// assert_eq!(device.shape_for(1100)?.bits, 1536);
    /// assert_eq!(device.shape_for(1 << 21)?.bits, 1 << 21);
    /// let error = device.shape_for(1 << 32).unwrap_err();
    /// assert!(matches!(error, Error::WidthMissing { widest: 2147483648, .. }));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WidthMissing`](Error::WidthMissing) if no shape has `bits` bits.
    pub fn shape_for(&self, bits: usize) -> Result<Shape> {
        let widest = MAX_LONG_BITS;
        self.narrowest(bits).ok_or(Error::WidthMissing { operation: "rows", bits, widest })
    }

    /// Kind of the device.
    #[must_use]
    pub fn backend(&self) -> BackendKind {
        self.inner.backend.kind()
    }

    /// Name of the device: the name of the GPU, `cpu` or `simt`.
    #[must_use]
    pub fn name(&self) -> String {
        self.inner.backend.name()
    }

    /// Returns the algorithm that a strategy selects for an operation on `rows` rows of this shape.
    ///
    /// # Errors
    /// [`KernelMissing`](Error::KernelMissing) if the catalogue offers none.
    pub fn algorithm(
        &self,
        op: Op,
        strategy: Strategy,
        shape: Shape,
        rows: usize,
    ) -> Result<Algorithm> {
        Ok(self.kernel(op, strategy, shape, rows)?.row().algorithm)
    }

    /// Properties of the GPU; `None` if the device is not a GPU.
    #[must_use]
    pub fn gpu(&self) -> Option<Gpu> {
        self.inner.backend.gpu()
    }

    /// Tuning table that [`Auto`](crate::Auto) follows on this device, and whether it was measured
    /// on this GPU.
    #[must_use]
    pub fn tuning(&self) -> &Tuning {
        &self.inner.choices.tuning
    }

    /// Runs `work`, waits for everything it queues on this device, and returns its result and the
    /// device time: by events on a GPU, by the clock elsewhere.
    ///
    /// The first call of an operation includes the time to load its kernel, so call the operation
    /// once before. The time also includes concurrent work of other threads on this device, and
    /// gaps in which a GPU waits for the host.
    ///
    /// # Errors
    /// The errors of `work`, and [`Driver`](Error::Driver).
    pub fn time<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<(R, Duration)> {
        let mut work = Some(work);
        let mut result = None;
        let time = self.inner.backend.time(&mut || {
            if let Some(work) = work.take() {
                result = Some(work()?);
            }
            Ok(())
        })?;
        let result = result.ok_or_else(|| Error::Driver("the work was not done".to_owned()))?;
        Ok((result, time))
    }

    /// A further queue of the same GPU: a handle whose work runs beside that of this one.
    ///
    /// The queues share batches, masks and divisors. Calls on one batch take effect in the order of
    /// the calls, on any queue; otherwise queues wait for each other only by
    /// [`wait_for`](Self::wait_for). An operation is queued where its receiver is:
    /// [`DynBatch::on`](crate::DynBatch::on) moves a batch to another queue. On the CPU calls end
    /// before they return, and this is the device itself.
    ///
    /// # Errors
    /// [`Driver`](Error::Driver).
    pub fn queue(&self) -> Result<Self> {
        let backend = self.inner.backend.queue()?;
        Ok(backend.map_or_else(
            || self.clone(),
            |backend| {
                let queue = Self::choosing(backend, Arc::clone(&self.inner.choices));
                Self { inner: queue.inner, ..self.clone() }
            },
        ))
    }

    /// Returns the point behind all work queued so far, to wait for it or to ask if it has ended.
    ///
    /// # Errors
    /// [`Driver`](Error::Driver).
    pub fn record(&self) -> Result<Event> {
        self.inner.backend.record().map(Event::new)
    }

    /// Makes work that is queued from now on wait for a point in another queue. The call itself
    /// does not wait.
    ///
    /// # Errors
    /// [`Driver`](Error::Driver).
    pub fn wait_for(&self, event: &Event) -> Result<()> {
        self.inner.backend.wait_for(event.mark())
    }

    /// Returns true if batches of one device can be operands of the other: they are queues of one
    /// GPU, or the same device.
    #[must_use]
    pub fn shares_memory_with(&self, other: &Self) -> bool {
        let id = self.inner.backend.memory_id();
        self == other || (id.is_some() && id == other.inner.backend.memory_id())
    }

    /// Waits for all work queued so far.
    ///
    /// # Errors
    /// [`DeviceLost`](Error::DeviceLost) or [`Driver`](Error::Driver) if some of that work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.inner.backend.synchronize()
    }

    /// Waits for all work queued so far, and returns unused memory of the device and pinned memory
    /// to the system.
    ///
    /// The process keeps the memory of dropped batches for all its handles to the GPU, so that the
    /// next batch gets it without asking the system. Call this before another process needs the
    /// memory. The memory is also returned when the last handle to the GPU is dropped, and before
    /// an allocation fails with [`OutOfMemory`](Error::OutOfMemory).
    ///
    /// The CPU keeps at most as much memory as its batches use, and at most 1 GiB.
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    pub fn trim(&self) -> Result<()> {
        drop(self.inner.spare.try_lock().ok().and_then(|mut spare| spare.take()));
        self.inner.backend.trim()
    }
}

/// Internals for the rest of the crate.
impl Device {
    /// Opens a CUDA GPU with kernels that aim at `block` threads per block.
    pub(crate) fn cuda_with_block(ordinal: usize, block: u32) -> Result<Self> {
        Self::over_gpu(cuda::open(ordinal, Some(block))?)
    }

    fn over(backend: Box<dyn Backend>) -> Self {
        Self::choosing(backend, Choices::of_the_build())
    }

    fn choosing(backend: Box<dyn Backend>, choices: Arc<Choices>) -> Self {
        threads::prepare();
        let inner = Inner {
            idle_status: Mutex::default(),
            spare: Mutex::default(),
            choices,
            backend: Traced(backend),
        };
        Self { inner: Arc::new(inner), jit: false, verifier: None, faults: None }
    }

    /// Makes a GPU device with the choices of its tuning table.
    fn over_gpu(backend: Box<dyn Backend>) -> Result<Self> {
        let choices = match backend.gpu() {
            Some(gpu) => Arc::new(Choices::of(&gpu)?),
            None => Choices::of_the_build(),
        };
        Ok(Self::choosing(backend, choices))
    }

    /// Returns this handle, with [`with_jit`](Self::with_jit) if `jit` is set.
    pub(crate) fn with_jit_if(&self, jit: bool) -> Self {
        Self { jit: self.jit || jit, ..self.clone() }
    }

    /// Returns a handle whose batches may have the shape of a type.
    pub(crate) fn of<T: Kernels>(&self) -> Self {
        self.with_jit_if(T::IS_JIT)
    }

    /// Returns true if the handle is one of [`with_jit`](Self::with_jit).
    pub(crate) fn has_jit(&self) -> bool {
        self.jit
    }

    /// Returns this handle with a launcher that checks results, or without one.
    pub(crate) fn with_verifier(&self, verifier: Option<Verifier>) -> Self {
        Self { verifier, ..self.clone() }
    }

    /// Checks that batches of this handle may have the shape.
    pub(crate) fn check_shape(&self, shape: Shape) -> Result<()> {
        let is_compiled_at_use = || self.jit && shape.checked().is_ok();
        let is_long = shape.is_long() && shape.is_valid();
        if is_built(shape) || is_long || is_compiled_at_use() {
            return Ok(());
        }
        Err(Error::ShapeMissing { shape })
    }

    /// Returns the shape that a shape selects: itself, or, if it needs too many threads, the one
    /// with the fewest digits per thread that batches of this handle may have.
    pub(crate) fn selected(&self, shape: Shape) -> Result<Shape> {
        if shape.is_long() {
            let long = Shape::long(shape.bits).filter(|long| long.bits == shape.bits);
            let has_digits = |long: &Shape| long.digit == shape.digit;
            return long.filter(has_digits).ok_or(Error::ShapeMissing { shape });
        }
        let jit = || {
            let most = if shape.threads() > MAX_GROUP { MAX_Q } else { shape.q };
            let mut shapes = (shape.q..=most).map(|q| Shape { q, ..shape });
            shapes.find(|&shape| self.check_shape(shape).is_ok())
        };
        selected(shape).or_else(jit).ok_or(Error::ShapeMissing { shape })
    }

    /// Returns the shape of half the width with the same digits, and with the same `Q` or the
    /// nearest one that is built.
    pub(crate) fn halved(&self, shape: Shape) -> Result<Shape> {
        let half = Shape { bits: shape.bits / 2, ..shape };
        if self.check_shape(half).is_ok() {
            return Ok(half);
        }
        let halves =
            shapes().iter().filter(|other| (other.bits, other.digit) == (half.bits, half.digit));
        let nearest = halves.min_by_key(|other| other.q.abs_diff(half.q));
        nearest.copied().map_or_else(|| self.selected(half), Ok)
    }

    /// Selects the kernel of an operation at a shape.
    pub(crate) fn kernel(
        &self,
        op: Op,
        strategy: Strategy,
        shape: Shape,
        rows: usize,
    ) -> Result<KernelId> {
        strategy.kernel(op, shape, rows, &self.inner.choices)
    }

    pub(crate) fn memory(&self) -> &dyn Backend {
        &self.inner.backend
    }

    /// Returns true if products of long rows take kept transforms: their results are not verified.
    pub(crate) fn has_transforms(&self) -> bool {
        !self.is_verified() && self.memory().has_transforms()
    }

    /// Returns true if kernels sieve and divide by small primes: their results are not verified.
    pub(crate) fn has_sieves(&self) -> bool {
        !self.is_verified() && self.memory().has_sieves()
    }

    /// Returns the memory stored by [`keep_spare`](Self::keep_spare), if it has this size.
    pub(crate) fn take_spare(&self, bytes: u64) -> Option<Buffer> {
        self.inner.spare.try_lock().ok()?.take_if(|buffer| buffer.bytes() == bytes)
    }

    /// Stores memory for the next assignment.
    pub(crate) fn keep_spare(&self, buffer: Buffer) {
        if let Ok(mut spare) = self.inner.spare.try_lock() {
            *spare = Some(buffer);
        }
    }

    /// Allocates `rows` rows, uninitialized.
    pub(crate) fn alloc_rows(&self, rows: usize, row_bytes: usize) -> Result<Buffer> {
        self.memory().alloc(total_bytes(rows, row_bytes)?)
    }

    /// Allocates `rows` rows of zeros.
    pub(crate) fn zeroed_rows(&self, rows: usize, row_bytes: usize) -> Result<Buffer> {
        self.memory().alloc_zeroed(total_bytes(rows, row_bytes)?)
    }

    /// Queues a kernel.
    pub(crate) fn launch(&self, kernel: KernelId, operands: Operands<'_>) -> Result<()> {
        if operands.rows == 0 {
            return Ok(());
        }
        let mut call = Call { kernel, operands };
        call.check()?;
        if let Some(verifier) = self.verifier {
            return verifier(self, call);
        }
        let Some(faults) = &self.faults else { return self.run(call) };
        self.launch_unharmed(kernel, call.operands.reborrow())?;
        faults.strike(self.memory(), kernel, &mut call.operands)
    }

    /// Queues a kernel whose results are neither checked nor harmed.
    pub(crate) fn launch_unharmed(&self, kernel: KernelId, operands: Operands<'_>) -> Result<()> {
        let call = Call { kernel, operands };
        call.check()?;
        self.run(call)
    }

    /// Queues a call on the device, or runs it on the CPU where the device has no kernel for it.
    fn run(&self, call: Call<'_>) -> Result<()> {
        let backend = &self.inner.backend;
        if on_cpu::is_for_cpu(backend, &call) {
            return on_cpu::run(backend, call);
        }
        backend.launch(call)
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
        let idle = || self.inner.idle_status.try_lock().ok();
        let reused = idle().and_then(|mut idle| idle.pop());
        let mut status = reused.map_or_else(|| self.memory().alloc(8), Ok)?;
        self.memory().fill(&mut status, NO_ROW_BYTE)?;
        self.launch(kernel, Operands { status: Some(&mut status), ..operands })?;
        let mut lowest = [0; 8];
        self.memory().download(&status, 0, &mut lowest)?;
        if let Some(mut idle) = idle() {
            idle.push(status);
        }
        match u64::from_le_bytes(lowest) {
            NO_ROW => Ok(None),
            row => usize::try_from(row).map(Some).map_err(|error| Error::Driver(error.to_string())),
        }
    }
}

/// Every byte of [`NO_ROW`].
const NO_ROW_BYTE: u8 = 0xff;
static_assertions::const_assert_eq!(u64::from_le_bytes([NO_ROW_BYTE; 8]), NO_ROW);

/// Bytes of `rows` rows.
fn total_bytes(rows: usize, row_bytes: usize) -> Result<u64> {
    (rows as u64).checked_mul(row_bytes as u64).ok_or(Error::OutOfMemory { bytes: u64::MAX })
}

/// Two handles are equal if they share one device and queue.
impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

/// Formats the kind and the description of the device: `cpu (8 threads)`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.backend(), self.inner.backend.describe())
    }
}
