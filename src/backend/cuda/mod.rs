//! NVIDIA GPUs, through the driver.
//!
//! - `context`: what all handles to one GPU share: its kernels, from wherever they come
//! - `driver`, `nvrtc`: the functions of the two libraries
//! - `event`: points in a stream, and tasks that wait for them
//! - `info`: the properties of a GPU
//! - `memory`: memory of the GPU, and copies
//! - `module`: images in the memory of the GPU, and launches
//! - `pinned`: host memory that the GPU copies by itself
//! - `queue`: streams, and the order between them
//! - `runtime`: images that are made at run time, by NVRTC, and kept in `cache`
//! - `once`: what is made once for all threads
//!
//! The libraries are found at run time: nothing is linked, and where there is no driver, there is
//! no device.

mod cache;
mod context;
mod driver;
mod event;
mod info;
mod memory;
mod module;
mod nvrtc;
mod pinned;
mod queue;
mod runtime;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::auto::Gpu;
use crate::backend::launch::{self, LaunchBounds, RawOperands};
use crate::backend::long::{self, Grids, KeptProducts, TableCache, Transforms};
use crate::backend::sieve::{self, Divisions, Strikes, Windows};
use crate::backend::{Backend, BackendKind, Buffer, Call, HostBuffer, Mark, Span};
use crate::error::{Error, Result};
use crate::kernel::{Instance, LongKernelId};
use context::Context;
use driver::Fault;
use event::Event;
use info::Info;
use memory::DeviceMemory;
use module::Function;
use pinned::Pinned;
use queue::{Access, Queue};

/// A GPU with a stream of its own.
#[derive(Debug)]
pub(crate) struct Cuda {
    queue: Arc<Queue>,
    /// The threads per block that kernels aim at; `None`: what each was built with.
    block: Option<u32>,
    tables: TableCache<DeviceMemory>,
}

/// Opens the GPU of that number with a stream of its own, for kernels with their own blocks or
/// others.
pub(crate) fn open(ordinal: usize, block: Option<u32>) -> Result<Box<dyn Backend>> {
    let queue = Arc::new(Queue::new(Context::get(ordinal)?)?);
    Ok(Box::new(Cuda { queue, block, tables: TableCache::default() }))
}

/// Number of GPUs; 0 without a driver.
pub(crate) fn count() -> Result<usize> {
    driver::count()
}

/// Returns the name and version of the run-time compiler.
///
/// # Errors
/// Reason why there is none.
pub(crate) fn compiler() -> std::result::Result<String, &'static str> {
    nvrtc::Nvrtc::get().map(nvrtc::Nvrtc::describe)
}

impl Cuda {
    /// Copies addresses to memory of the GPU; `None` if there are none.
    fn table(&self, addresses: &[u64]) -> Result<Option<DeviceMemory>> {
        if addresses.is_empty() {
            return Ok(None);
        }
        let bytes: &[u8] = bytemuck::cast_slice(addresses);
        let mut table = DeviceMemory::new(&self.queue, bytes.len() as u64)?;
        table.stage(&self.queue, bytes)?;
        Ok(Some(table))
    }

    /// Allocates the workspace of `rows` rows; returns it with the number of rows. With `may_part`
    /// the number is halved while memory is short, down to the rows that run at a time.
    fn workspace(
        &self,
        function: &Function,
        mut rows: usize,
        may_part: bool,
    ) -> Result<(DeviceMemory, usize)> {
        loop {
            match DeviceMemory::new(&self.queue, function.workspace_bytes(rows)) {
                Err(Error::OutOfMemory { .. }) if may_part && rows > function.resident_rows() => {
                    rows = rows.div_ceil(2);
                }
                memory => return Ok((memory?, rows)),
            }
        }
    }

    /// Reads the number of steps that a phase has written to the first counter.
    fn steps(&self, counters: &DeviceMemory) -> Result<u32> {
        let (mut steps, span) = (0, Span { offset: 0, bytes: 4, unit: 4 });
        counters.download(&self.queue, span, &mut |_, bytes| {
            steps = bytemuck::pod_read_unaligned(bytes);
            Ok(())
        })?;
        Ok(steps)
    }
}

/// Kernels of long rows.
impl Cuda {
    fn long_function(&self, kernel: LongKernelId) -> Result<Arc<Function>> {
        self.queue.context.function(Instance::Long(kernel))
    }

    #[allow(unsafe_code)]
    fn launch_long(&self, call: Call<'_>) -> Result<()> {
        let queue = &self.queue;
        let kernel = call.kernel;
        let uses = RefCell::new(Vec::new());
        let operands = RawOperands::new(
            call.operands,
            |buffer| address(buffer, queue, Access::Read, &uses),
            |buffer| address(buffer, queue, Access::Write, &uses),
        )?;
        let _bound = queue.bind()?;
        // SAFETY: as in `launch`.
        let queued = unsafe { long::run(self, kernel, &operands) };
        note(uses.into_inner(), queue);
        queued
    }
}

impl Grids for Cuda {
    type Memory = DeviceMemory;

    fn allocate(&self, bytes: u64) -> Result<DeviceMemory> {
        DeviceMemory::new(&self.queue, bytes)
    }

    fn allocate_copy(&self, bytes: &[u8]) -> Result<DeviceMemory> {
        let mut memory = DeviceMemory::new(&self.queue, bytes.len() as u64)?;
        let span = Span { offset: 0, bytes: bytes.len(), unit: 1 };
        memory.upload(&self.queue, span, &mut |start, part| {
            part.copy_from_slice(&bytes[start..][..part.len()]);
            Ok(())
        })?;
        Ok(memory)
    }

    fn clear(&self, memory: &mut DeviceMemory) -> Result<()> {
        memory.fill(&self.queue, 0)
    }

    fn address(&self, memory: &mut DeviceMemory) -> Result<u64> {
        DeviceMemory::address(memory, &self.queue, Access::Write)
    }

    fn tables(&self) -> &TableCache<DeviceMemory> {
        &self.tables
    }

    fn launch_bounds(&self, kernel: LongKernelId) -> Result<LaunchBounds> {
        Ok(self.long_function(kernel)?.launch_bounds())
    }

    #[allow(unsafe_code)]
    unsafe fn launch_grid(
        &self,
        kernel: LongKernelId,
        arguments: &[u8],
        blocks: u32,
    ) -> Result<()> {
        let function = self.long_function(kernel)?;
        // SAFETY: the caller's.
        unsafe { function.launch_grid(self.queue.stream, arguments, blocks) }
    }
}

/// For other libraries.
impl Cuda {
    /// A buffer over memory of another library, which is alive for as long as `owner`.
    ///
    /// # Safety
    /// That of [`DynBatch::from_device_ptr`](crate::DynBatch::from_device_ptr).
    #[allow(unsafe_code)]
    pub(crate) unsafe fn foreign(
        &self,
        address: u64,
        bytes: u64,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Buffer> {
        // SAFETY: the caller's.
        unsafe { DeviceMemory::foreign(&self.queue, address, bytes, owner) }.map(Buffer::new)
    }

    /// The address of a buffer, for work that comes on this queue: it comes after all other uses.
    pub(crate) fn address(&self, buffer: &Buffer) -> Result<u64> {
        buffer.memory::<DeviceMemory>()?.address(&self.queue, Access::Write)
    }

    /// The stream of this queue.
    pub(crate) fn stream(&self) -> *mut c_void {
        self.queue.stream.cast()
    }

    /// Delays all later work of this queue until the work queued so far on `stream` has ended.
    ///
    /// # Safety
    /// `stream` is a stream of this process, or null.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn wait_for_stream(&self, stream: *mut c_void) -> Result<()> {
        let _bound = self.queue.bind()?;
        let wait = || {
            let event = Event::new(&self.queue.context.gpu)?;
            event.record(stream.cast())?;
            event.hold(self.queue.stream)
        };
        wait().map_err(Fault::about("an event"))
    }

    /// Delays all later work of `stream` until the work queued so far on this queue has ended.
    ///
    /// # Safety
    /// `stream` is a stream of this process, or null.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn hold_stream(&self, stream: *mut c_void) -> Result<()> {
        let event = self.queue.record()?;
        let _bound = self.queue.bind()?;
        event.hold(stream.cast()).map_err(Fault::about("an event"))
    }
}

impl Backend for Cuda {
    fn check_process(&self) -> Result<()> {
        driver::check_process().map_err(Fault::about("the device"))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn kind(&self) -> BackendKind {
        BackendKind::Cuda
    }

    fn name(&self) -> String {
        self.queue.context.info.name.clone()
    }

    fn gpu(&self) -> Option<Gpu> {
        let Info { name, capability, shared_memory, multiprocessors, .. } =
            &self.queue.context.info;
        Some(Gpu {
            name: name.clone(),
            capability: *capability,
            shared_memory: *shared_memory,
            multiprocessors: *multiprocessors,
        })
    }

    fn describe(&self) -> String {
        self.queue.context.info.to_string()
    }

    fn alloc(&self, bytes: u64) -> Result<Buffer> {
        DeviceMemory::new(&self.queue, bytes).map(Buffer::new)
    }

    fn alloc_zeroed(&self, bytes: u64) -> Result<Buffer> {
        let mut memory = DeviceMemory::new(&self.queue, bytes)?;
        memory.fill(&self.queue, 0)?;
        Ok(Buffer::new(memory))
    }

    fn fill(&self, target: &mut Buffer, byte: u8) -> Result<()> {
        target.memory_mut::<DeviceMemory>()?.fill(&self.queue, byte)
    }

    fn upload_parts(
        &self,
        target: &mut Buffer,
        span: Span,
        fill: &mut dyn FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        target.memory_mut::<DeviceMemory>()?.upload(&self.queue, span, fill)
    }

    fn download_parts(
        &self,
        source: &Buffer,
        span: Span,
        read: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        source.memory::<DeviceMemory>()?.download(&self.queue, span, read)
    }

    fn alloc_host(&self, bytes: usize) -> Result<Box<dyn HostBuffer>> {
        let _bound = self.queue.bind()?;
        let pinned = Pinned::new(&self.queue.context.gpu, bytes).map_err(|fault| match fault {
            Fault::OUT_OF_MEMORY => Error::OutOfMemory { bytes: bytes as u64 },
            fault => Fault::about("pinned memory")(fault),
        })?;
        Ok(Box::new(pinned))
    }

    fn upload_from(
        &self,
        target: &mut Buffer,
        offset: u64,
        source: &mut dyn HostBuffer,
        part: Range<usize>,
    ) -> Result<()> {
        let target = target.memory_mut::<DeviceMemory>()?;
        target.upload_pinned(&self.queue, offset, pinned(source)?, part)
    }

    fn download_to(
        &self,
        source: &Buffer,
        offset: u64,
        target: &mut dyn HostBuffer,
        part: Range<usize>,
    ) -> Result<()> {
        let source = source.memory::<DeviceMemory>()?;
        source.download_pinned(&self.queue, offset, pinned(target)?, part)
    }

    fn copy(
        &self,
        target: &mut Buffer,
        to: u64,
        source: &Buffer,
        from: u64,
        bytes: u64,
    ) -> Result<()> {
        let source = source.memory::<DeviceMemory>()?;
        target.memory_mut::<DeviceMemory>()?.copy(&self.queue, to, source, from, bytes)
    }

    fn has_long_rows(&self) -> bool {
        true
    }

    fn has_transforms(&self) -> bool {
        true
    }

    #[allow(unsafe_code)]
    fn transform(&self, transforms: Transforms<'_>) -> Result<()> {
        let queue = &self.queue;
        let uses = RefCell::new(Vec::new());
        let addresses = [
            address(transforms.rows, queue, Access::Read, &uses)?,
            address(transforms.out, queue, Access::Write, &uses)?,
        ];
        let _bound = queue.bind()?;
        // SAFETY: as for strikes; the rows are only read.
        let queued = unsafe { long::transform(self, &transforms, addresses) };
        note(uses.into_inner(), queue);
        queued
    }

    #[allow(unsafe_code)]
    fn multiply(&self, products: KeptProducts<'_>) -> Result<()> {
        let queue = &self.queue;
        let uses = RefCell::new(Vec::new());
        let out = |index: usize| match &products.outs[index] {
            Some(out) => address(out, queue, Access::Write, &uses),
            None => Ok(0),
        };
        let addresses = [
            address(products.rows, queue, Access::Read, &uses)?,
            address(products.transforms, queue, Access::Read, &uses)?,
            out(0)?,
            out(1)?,
        ];
        let _bound = queue.bind()?;
        // SAFETY: as for strikes; rows and transforms are only read.
        let queued = unsafe { long::multiply(self, &products, addresses) };
        note(uses.into_inner(), queue);
        queued
    }

    fn has_sieves(&self) -> bool {
        true
    }

    #[allow(unsafe_code)]
    fn strike(&self, strikes: Strikes<'_>) -> Result<()> {
        let queue = &self.queue;
        let uses = RefCell::new(Vec::new());
        let addresses = [
            address(strikes.words, queue, Access::Write, &uses)?,
            address(strikes.common, queue, Access::Write, &uses)?,
        ];
        let _bound = queue.bind()?;
        // SAFETY: the stream waits for other uses of the buffers, which the call borrows mutably.
        // Later uses, frees included, are ordered after the kernels.
        let queued = unsafe { sieve::run(self, &strikes, addresses) };
        note(uses.into_inner(), queue);
        queued
    }

    #[allow(unsafe_code)]
    fn divide_by_primes(&self, divisions: Divisions<'_>) -> Result<()> {
        let queue = &self.queue;
        let uses = RefCell::new(Vec::new());
        let addresses = [
            address(divisions.rows, queue, Access::Read, &uses)?,
            address(divisions.mask, queue, Access::Write, &uses)?,
        ];
        let _bound = queue.bind()?;
        // SAFETY: as for strikes; the rows are only read.
        let queued = unsafe { sieve::divide(self, &divisions, addresses) };
        note(uses.into_inner(), queue);
        queued
    }

    #[allow(unsafe_code)]
    fn sieve_windows(&self, windows: Windows<'_>) -> Result<()> {
        let queue = &self.queue;
        let uses = RefCell::new(Vec::new());
        let addresses = [
            address(windows.rows, queue, Access::Read, &uses)?,
            address(windows.words, queue, Access::Write, &uses)?,
        ];
        let _bound = queue.bind()?;
        // SAFETY: as for strikes; the rows are only read.
        let queued = unsafe { sieve::search(self, &windows, addresses) };
        note(uses.into_inner(), queue);
        queued
    }

    #[allow(unsafe_code)]
    fn launch(&self, call: Call<'_>) -> Result<()> {
        if call.kernel.is_long() {
            return self.launch_long(call);
        }
        let queue = &self.queue;
        let kernel = Instance::Operation { kernel: call.kernel, block: self.block };
        let function = queue.context.function(kernel)?;
        let strides = call.strides();
        let rows = call.operands.rows;
        let max_rows = if strides.is_some() { rows.min(function.rows_of_part()) } else { rows };
        let uses = RefCell::new(Vec::with_capacity(7));
        let pairs = call.operands.pairs.as_flattened();
        let mut operands = RawOperands::new(
            call.operands,
            |buffer| address(buffer, queue, Access::Read, &uses),
            |buffer| address(buffer, queue, Access::Write, &uses),
        )?;
        let factors = pairs
            .iter()
            .map(|buffer| address(buffer, queue, Access::Read, &uses))
            .collect::<Result<Vec<_>>>()?;
        let table = self.table(&factors)?;
        if let Some(table) = &table {
            operands.ins[0] = table.address(queue, Access::Read)?;
        }
        let _bound = queue.bind()?;
        // Freed in the order of the stream, like the table: after the kernel.
        let (workspace, max_rows) = self.workspace(&function, max_rows, strides.is_some())?;
        let bases = operands.params.bases.into();
        let scratch = DeviceMemory::new(queue, function.scratch_bytes(max_rows, bases))?;
        let mut counters = DeviceMemory::new(queue, function.counters_bytes())?;
        operands.scratch = scratch.address(queue, Access::Write)?;
        operands.workspace = workspace.address(queue, Access::Write)?;
        operands.counters = counters.address(queue, Access::Write)?;
        let queued = launch::parts(rows, max_rows).try_for_each(|part| {
            counters.fill(queue, 0)?;
            let operands = strides.map_or(operands, |strides| operands.part(strides, part));
            let steps = || self.steps(&counters);
            // SAFETY: the stream waits for other uses of the buffers. The call borrows the buffers,
            // outputs mutably, and `Call::check` found them long enough. Later uses, frees
            // included, are ordered after the kernel.
            unsafe { function.launch(queue.stream, operands, steps) }
        });
        // Also after an error: some of the phases may be queued.
        note(uses.into_inner(), queue);
        queued
    }

    fn record(&self) -> Result<Arc<dyn Mark>> {
        Ok(Arc::new(self.queue.record()?))
    }

    fn wait_for(&self, mark: &dyn Mark) -> Result<()> {
        let mark: &dyn Any = mark;
        match mark.downcast_ref::<Event>() {
            Some(event) => self.queue.wait_for(event),
            // Points in the queues of other kinds of devices have passed.
            None => Ok(()),
        }
    }

    fn queue(&self) -> Result<Option<Box<dyn Backend>>> {
        let queue = Arc::new(Queue::new(Arc::clone(&self.queue.context))?);
        Ok(Some(Box::new(Self { queue, block: self.block, tables: TableCache::default() })))
    }

    fn memory_id(&self) -> Option<usize> {
        Some(Arc::as_ptr(&self.queue.context).addr())
    }

    fn synchronize(&self) -> Result<()> {
        self.queue.synchronize()
    }

    fn trim(&self) -> Result<()> {
        self.queue.context.release_chunks();
        self.queue.trim()
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        let start = self.queue.mark()?;
        work()?;
        let end = self.queue.mark()?;
        self.queue.elapsed(&start, &end)
    }
}

/// The address of an operand, for a call that is queued next; its use is added to `uses`.
fn address<'a>(
    buffer: &'a Buffer,
    queue: &Queue,
    access: Access,
    uses: &RefCell<Vec<(&'a DeviceMemory, Access)>>,
) -> Result<u64> {
    let memory = buffer.memory::<DeviceMemory>()?;
    uses.borrow_mut().push((memory, access));
    memory.address(queue, access)
}

/// Notes the uses of memory by a call that was queued.
fn note(uses: Vec<(&DeviceMemory, Access)>, queue: &Arc<Queue>) {
    let ticket = queue.ticket();
    for (memory, access) in uses {
        memory.note(queue, ticket, access);
    }
}

fn pinned(buffer: &mut dyn HostBuffer) -> Result<&mut Pinned> {
    let buffer: &mut dyn Any = buffer;
    buffer.downcast_mut().ok_or(Error::DeviceMismatch)
}
