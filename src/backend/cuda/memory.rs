//! Memory of a GPU, allocated, used and freed in the order of one stream.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::{CudaEvent, CudaStream, sys};

use crate::backend::Memory;
use crate::backend::cuda::context::{Context, driver};
use crate::error::{Error, Result};

/// A stream: work takes effect in the order in which it is queued.
///
/// Memory belongs to one queue and is used on no other, so this order is all the ordering that
/// there is, and all that is needed.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) stream: Arc<CudaStream>,
    pub(super) context: Arc<Context>,
}

impl Queue {
    /// A new queue, which waits for no other.
    pub(super) fn new(context: Arc<Context>) -> Result<Self> {
        let stream = context.cuda.new_stream().map_err(driver("a stream"))?;
        Ok(Self { stream, context })
    }

    /// Waits for all that is queued.
    pub(super) fn synchronize(&self) -> Result<()> {
        self.stream.synchronize().map_err(driver("queued work"))
    }

    /// A mark in the queue, for [`elapsed`](Self::elapsed).
    pub(super) fn mark(&self) -> Result<CudaEvent> {
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        self.stream.record_event(Some(flags)).map_err(driver("an event"))
    }

    /// Waits for the second mark, and returns the time from the first to it.
    pub(super) fn elapsed(&self, start: &CudaEvent, end: &CudaEvent) -> Result<Duration> {
        type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;
        end.synchronize().map_err(driver("queued work"))?;
        // The binding takes the symbol of the CUDA version it was built for, and panics on drivers
        // that lack it; both have this type and meaning.
        // SAFETY: the driver is loaded: there is a context.
        let library = unsafe { sys::culib() };
        let symbol = |name: &CStr| {
            // SAFETY: the type is that of the function in cuda.h.
            unsafe { library.get::<Elapsed>(name) }
        };
        let elapsed = symbol(c"cuEventElapsedTime_v2")
            .or_else(|_| symbol(c"cuEventElapsedTime"))
            .map_err(|error| Error::Driver(error.to_string()))?;
        let mut milliseconds = 0.0;
        // SAFETY: both events are there and have passed, and the pointer is valid for a write.
        unsafe { elapsed(&raw mut milliseconds, start.cu_event(), end.cu_event()) }
            .result()
            .map_err(driver("the time between two events"))?;
        Ok(Duration::from_secs_f64((f64::from(milliseconds) / 1e3).max(0.0)))
    }

    fn allocate(&self, bytes: usize) -> Result<sys::CUdeviceptr, DriverError> {
        if self.context.cuda.has_async_alloc() {
            // SAFETY: the stream is there; nothing is read before it was written, as far as the
            // contents matter.
            unsafe { result::malloc_async(self.stream.cu_stream(), bytes) }
        } else {
            // SAFETY: as above.
            unsafe { result::malloc_sync(bytes) }
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Kernels that are still running use their modules, and what was freed becomes free.
        let cuda = &self.context.cuda;
        self.context.bind_to_drop();
        // SAFETY: the stream is there.
        cuda.record_err(unsafe { result::stream::synchronize(self.stream.cu_stream()) });
        cuda.record_err(self.context.trim());
    }
}

/// Memory of a GPU. Where it has no bytes, there is no memory and the address is null.
#[derive(Debug)]
pub(super) struct DeviceMemory {
    address: sys::CUdeviceptr,
    bytes: u64,
    queue: Arc<Queue>,
}

impl Memory for DeviceMemory {
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl DeviceMemory {
    /// So many bytes, contents not specified.
    pub(super) fn new(queue: &Arc<Queue>, bytes: u64) -> Result<Self> {
        let out_of_memory = Error::OutOfMemory { bytes };
        let mut memory = Self { address: 0, bytes: 0, queue: Arc::clone(queue) };
        if bytes == 0 {
            return Ok(memory);
        }
        if bytes > queue.context.info.total_memory {
            return Err(out_of_memory);
        }
        let is_full = |error: &DriverError| error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        let size = usize::try_from(bytes).map_err(|_| out_of_memory.clone())?;
        queue.context.bind()?;
        let address = match queue.allocate(size) {
            // What was freed may not have come back yet, or may be kept in pieces.
            Err(error) if is_full(&error) => {
                tracing::debug!(bytes, "out of memory: giving back what is not in use");
                queue.synchronize()?;
                queue.context.trim().map_err(driver("the memory pool"))?;
                queue.allocate(size)
            }
            other => other,
        };
        memory.address = address.map_err(|error| {
            if is_full(&error) { out_of_memory } else { driver("an allocation")(error) }
        })?;
        memory.bytes = bytes;
        Ok(memory)
    }

    /// The address, for work on this queue.
    pub(super) fn address(&self, queue: &Arc<Queue>) -> Result<u64> {
        if !Arc::ptr_eq(&self.queue, queue) {
            return Err(Error::DeviceMismatch);
        }
        Ok(self.address)
    }

    /// The address of a part.
    fn part(&self, offset: u64, len: usize) -> Result<sys::CUdeviceptr> {
        let end = offset.checked_add(len as u64);
        if end.is_none_or(|end| end > self.bytes) {
            let bytes = self.bytes;
            return Err(Error::Driver(format!(
                "{len} bytes at {offset} are outside a buffer of {bytes} bytes"
            )));
        }
        Ok(self.address + offset)
    }

    /// Queues setting all bytes to one value.
    pub(super) fn fill(&mut self, byte: u8) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        self.queue.context.bind()?;
        // It was allocated, so its size is one of memory.
        let size = self.bytes as usize;
        let stream = self.queue.stream.cu_stream();
        // SAFETY: the memory is there, has that size, and belongs to the stream.
        unsafe { result::memset_d8_async(self.address, byte, size, stream) }
            .map_err(driver("setting memory"))
    }

    /// Copies from the host, and waits.
    pub(super) fn upload(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        let target = self.part(offset, source.len())?;
        if source.is_empty() {
            return Ok(());
        }
        self.queue.context.bind()?;
        let stream = self.queue.stream.cu_stream();
        // SAFETY: both sides have that size, the memory belongs to the stream, and the wait below
        // keeps the borrow until the copy has ended.
        let queued = unsafe { result::memcpy_htod_async(target, source, stream) };
        // GPUs that read the host's pages by themselves may read them until then.
        let done = self.queue.synchronize();
        queued.map_err(driver("a copy from the host"))?;
        done
    }

    /// Waits for what is queued, and copies to the host.
    pub(super) fn download(&self, offset: u64, target: &mut [u8]) -> Result<()> {
        let source = self.part(offset, target.len())?;
        if target.is_empty() {
            return Ok(());
        }
        self.queue.context.bind()?;
        let stream = self.queue.stream.cu_stream();
        // SAFETY: both sides have that size, the memory belongs to the stream, and the wait below
        // keeps the borrow until the copy has ended.
        let queued = unsafe { result::memcpy_dtoh_async(target, source, stream) };
        let done = self.queue.synchronize();
        queued.map_err(driver("a copy to the host"))?;
        done
    }

    /// Queues a copy of all of another memory of the same size and queue.
    pub(super) fn copy(&mut self, source: &Self) -> Result<()> {
        let address = source.address(&self.queue)?;
        let bytes = usize::try_from(source.bytes).unwrap_or(usize::MAX);
        let target = self.part(0, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        self.queue.context.bind()?;
        let stream = self.queue.stream.cu_stream();
        // SAFETY: both sides have that size and belong to the stream; they are different memories,
        // as one of them is borrowed mutably.
        unsafe { result::memcpy_dtod_async(target, address, bytes, stream) }
            .map_err(driver("a copy"))
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let Queue { stream, context } = &*self.queue;
        context.bind_to_drop();
        if context.cuda.has_async_alloc() {
            // SAFETY: the memory is used on this stream only, all of it was queued before, and no
            // more can be.
            let freed = unsafe { result::free_async(self.address, stream.cu_stream()) };
            context.cuda.record_err(freed);
        } else {
            // SAFETY: the stream is there.
            let done = unsafe { result::stream::synchronize(stream.cu_stream()) };
            context.cuda.record_err(done);
            // SAFETY: the memory is used on this stream only, which has done all of it.
            context.cuda.record_err(unsafe { result::free_sync(self.address) });
        }
    }
}
