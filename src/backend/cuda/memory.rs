//! Memory of a GPU, allocated, used and freed in the order of one stream.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::backend::Memory;
use crate::backend::cuda::context::Context;
use crate::backend::cuda::driver::{
    Address, Bound, EVENT_DEFAULT, EVENT_WITHOUT_TIME, EventHandle, Fault, Functions, Gpu,
    NON_BLOCKING, StreamHandle,
};
use crate::error::{Error, Result};

/// The longest copy that goes through pinned memory. The driver blocks other threads' calls on the
/// same stream while it copies from or to ordinary memory; for long copies that does not matter.
const STAGED_BYTES: usize = 1 << 16;

/// A stream: work takes effect in the order in which it is queued.
///
/// Memory belongs to one queue and is used on no other, so this order is all the ordering that
/// there is, and all that is needed.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) stream: StreamHandle,
    pub(super) context: Arc<Context>,
    /// Pinned memory that no copy uses at the moment.
    staging: Mutex<Vec<Staging>>,
}

// SAFETY: the stream is a handle of the driver, which takes it from any thread.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    /// A new queue, which waits for no other.
    pub(super) fn new(context: Arc<Context>) -> Result<Self> {
        let create = || {
            let _bound = context.gpu.bind()?;
            let mut stream = ptr::null_mut();
            let create = context.gpu.functions.stream_create;
            // SAFETY: the pointer is valid for a write.
            Fault::check(unsafe { create(&raw mut stream, NON_BLOCKING) })?;
            Ok(stream)
        };
        let stream = create().map_err(Fault::about("a stream"))?;
        Ok(Self { stream, context, staging: Mutex::default() })
    }

    fn functions(&self) -> &'static Functions {
        self.context.gpu.functions
    }

    /// Makes the context of this queue that of the calling thread, for calls of the driver.
    pub(super) fn bind(&self) -> Result<Bound> {
        self.context.gpu.bind().map_err(Fault::about("the context"))
    }

    /// Waits for all that is queued.
    pub(super) fn synchronize(&self) -> Result<()> {
        let _bound = self.bind()?;
        self.wait().map_err(Fault::about("queued work"))
    }

    /// Waits for all that is queued. The context is bound.
    fn wait(&self) -> Result<(), Fault> {
        // SAFETY: the stream is there.
        Fault::check(unsafe { (self.functions().stream_synchronize)(self.stream) })
    }

    /// Waits for all that is queued, and gives the memory that no buffer uses back to the system.
    pub(super) fn trim(&self) -> Result<()> {
        let _bound = self.bind()?;
        self.wait().map_err(Fault::about("queued work"))?;
        self.context.trim().map_err(Fault::about("the memory pool"))
    }

    /// A mark in the queue, for [`elapsed`](Self::elapsed).
    pub(super) fn mark(&self) -> Result<Event> {
        let _bound = self.bind()?;
        let mark = || {
            let event = Event::new(&self.context.gpu, EVENT_DEFAULT)?;
            event.record(self.stream)?;
            Ok(event)
        };
        mark().map_err(Fault::about("an event"))
    }

    /// Waits for the second mark, and returns the time from the first to it.
    pub(super) fn elapsed(&self, start: &Event, end: &Event) -> Result<Duration> {
        let _bound = self.bind()?;
        end.wait().map_err(Fault::about("queued work"))?;
        let mut milliseconds = 0.0;
        let elapsed = self.functions().event_elapsed;
        // SAFETY: both events are there and have passed, and the pointer is valid for a write.
        Fault::check(unsafe { elapsed(&raw mut milliseconds, start.handle, end.handle) })
            .map_err(Fault::about("the time between two events"))?;
        Ok(Duration::from_secs_f64((f64::from(milliseconds) / 1e3).max(0.0)))
    }

    /// Allocates. The context is bound.
    fn allocate(&self, bytes: usize) -> Result<Address, Fault> {
        let Functions { alloc, alloc_async, .. } = self.functions();
        let mut address = 0;
        Fault::check(if self.context.has_pool() {
            // SAFETY: the pointer is valid for a write, and the stream is there.
            unsafe { alloc_async(&raw mut address, bytes, self.stream) }
        } else {
            // SAFETY: the pointer is valid for a write.
            unsafe { alloc(&raw mut address, bytes) }
        })?;
        Ok(address)
    }

    /// Copies at most [`STAGED_BYTES`] through pinned memory: `fill` writes it before the copy that
    /// `copy` queues, `read` reads it after.
    fn staged(
        &self,
        fill: impl FnOnce(&mut [u8]),
        copy: impl FnOnce(*mut u8) -> Result<(), Fault>,
        read: impl FnOnce(&[u8]),
    ) -> Result<(), Fault> {
        let idle = || self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        let reused = idle().pop();
        let mut staging = reused.map_or_else(|| Staging::new(&self.context.gpu), Ok)?;
        fill(staging.bytes_mut());
        copy(staging.start)?;
        staging.event.record(self.stream)?;
        // No lock is held: other threads queue work meanwhile.
        staging.event.wait()?;
        read(staging.bytes_mut());
        idle().push(staging);
        Ok(())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let release = || {
            let _bound = self.context.gpu.bind()?;
            // Kernels that are still running use their modules, and what was freed becomes free.
            let done = self.wait();
            // SAFETY: the stream is not used again.
            let gone = Fault::check(unsafe { (self.functions().stream_destroy)(self.stream) });
            done.and(gone).and(self.context.trim())
        };
        Fault::log(release(), "a stream is not released");
    }
}

/// A point in a queue.
#[derive(Debug)]
pub(super) struct Event {
    handle: EventHandle,
    gpu: Arc<Gpu>,
}

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// A new event. The context is bound.
    fn new(gpu: &Arc<Gpu>, flags: u32) -> Result<Self, Fault> {
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        Fault::check(unsafe { (gpu.functions.event_create)(&raw mut handle, flags) })?;
        Ok(Self { handle, gpu: Arc::clone(gpu) })
    }

    fn record(&self, stream: StreamHandle) -> Result<(), Fault> {
        // SAFETY: both are there.
        Fault::check(unsafe { (self.gpu.functions.event_record)(self.handle, stream) })
    }

    fn wait(&self) -> Result<(), Fault> {
        // SAFETY: the event is there.
        Fault::check(unsafe { (self.gpu.functions.event_synchronize)(self.handle) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let release = || {
            let _bound = self.gpu.bind()?;
            // SAFETY: the event is not used again. One that has not passed is destroyed when it has.
            Fault::check(unsafe { (self.gpu.functions.event_destroy)(self.handle) })
        };
        Fault::log(release(), "an event is not released");
    }
}

/// [`STAGED_BYTES`] of pinned host memory, with an event for the copy that uses it.
#[derive(Debug)]
struct Staging {
    start: *mut u8,
    event: Event,
}

// SAFETY: nothing else refers to the memory.
unsafe impl Send for Staging {}

impl Staging {
    /// New memory. The context is bound.
    fn new(gpu: &Arc<Gpu>) -> Result<Self, Fault> {
        let event = Event::new(gpu, EVENT_WITHOUT_TIME)?;
        let mut start = ptr::null_mut();
        // Flags 0: write-combined memory would be slow to read.
        // SAFETY: the pointer is valid for a write.
        Fault::check(unsafe { (gpu.functions.alloc_host)(&raw mut start, STAGED_BYTES, 0) })?;
        let start = start.cast::<u8>();
        // SAFETY: the memory has that size.
        unsafe { start.write_bytes(0, STAGED_BYTES) };
        Ok(Self { start, event })
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the memory has that size and was set; no copy uses it outside `Queue::staged`.
        unsafe { std::slice::from_raw_parts_mut(self.start, STAGED_BYTES) }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let gpu = &self.event.gpu;
        let release = || {
            let _bound = gpu.bind()?;
            // SAFETY: the memory is not used again; the driver waits for a copy that is under way.
            Fault::check(unsafe { (gpu.functions.free_host)(self.start.cast()) })
        };
        Fault::log(release(), "pinned memory is not released");
    }
}

/// Memory of a GPU. Where it has no bytes, there is no memory and the address is null.
#[derive(Debug)]
pub(super) struct DeviceMemory {
    address: Address,
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
        let size = usize::try_from(bytes).map_err(|_| out_of_memory.clone())?;
        let _bound = queue.bind()?;
        let address = match queue.allocate(size) {
            // What was freed may not have come back yet, or may be kept in pieces.
            Err(Fault::OUT_OF_MEMORY) => {
                tracing::debug!(bytes, "out of memory: giving back what is not in use");
                queue.trim()?;
                queue.allocate(size)
            }
            other => other,
        };
        memory.address = address.map_err(|fault| match fault {
            Fault::OUT_OF_MEMORY => out_of_memory,
            fault => Fault::about("an allocation")(fault),
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
    fn part(&self, offset: u64, len: usize) -> Result<Address> {
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
        let _bound = self.queue.bind()?;
        // It was allocated, so its size is one of memory.
        let size = self.bytes as usize;
        let fill = self.queue.functions().fill_async;
        // SAFETY: the memory is there, has that size, and belongs to the stream.
        Fault::check(unsafe { fill(self.address, byte, size, self.queue.stream) })
            .map_err(Fault::about("setting memory"))
    }

    /// Copies from the host, and waits.
    pub(super) fn upload(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        let target = self.part(offset, source.len())?;
        if source.is_empty() {
            return Ok(());
        }
        let _bound = self.queue.bind()?;
        let upload = self.queue.functions().upload_async;
        let stream = self.queue.stream;
        let copy = |start: *const u8| {
            // SAFETY: both sides have that size, the memory belongs to the stream, and the source
            // stays until the copy has ended: callers wait for it.
            Fault::check(unsafe { upload(target, start.cast(), source.len(), stream) })
        };
        let done = if source.len() <= STAGED_BYTES {
            let fill = |staging: &mut [u8]| staging[..source.len()].copy_from_slice(source);
            self.queue.staged(fill, |start| copy(start), |_| {})
        } else {
            let queued = copy(source.as_ptr());
            // GPUs that read the host's pages by themselves may read them until then, so also after
            // a failure.
            let done = self.queue.wait();
            queued.and(done)
        };
        done.map_err(Fault::about("a copy from the host"))
    }

    /// Waits for what is queued, and copies to the host.
    pub(super) fn download(&self, offset: u64, target: &mut [u8]) -> Result<()> {
        let source = self.part(offset, target.len())?;
        if target.is_empty() {
            return Ok(());
        }
        let _bound = self.queue.bind()?;
        let download = self.queue.functions().download_async;
        let (length, stream) = (target.len(), self.queue.stream);
        let copy = |start: *mut u8| {
            // SAFETY: both sides have that size, the memory belongs to the stream, and the target
            // stays until the copy has ended: callers wait for it.
            Fault::check(unsafe { download(start.cast(), source, length, stream) })
        };
        let done = if length <= STAGED_BYTES {
            self.queue.staged(|_| {}, copy, |staging| target.copy_from_slice(&staging[..length]))
        } else {
            let queued = copy(target.as_mut_ptr());
            let done = self.queue.wait();
            queued.and(done)
        };
        done.map_err(Fault::about("a copy to the host"))
    }

    /// Queues a copy of a part of another memory of the same queue to a part of this one.
    pub(super) fn copy(&mut self, to: u64, source: &Self, from: u64, bytes: u64) -> Result<()> {
        source.address(&self.queue)?;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let address = source.part(from, bytes)?;
        let target = self.part(to, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let _bound = self.queue.bind()?;
        let copy = self.queue.functions().copy_async;
        // SAFETY: both parts have that size and belong to the stream; they are of different
        // memories, as one of them is borrowed mutably.
        Fault::check(unsafe { copy(target, address, bytes, self.queue.stream) })
            .map_err(Fault::about("a copy"))
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let Queue { stream, context, .. } = &*self.queue;
        let Functions { free, free_async, .. } = context.gpu.functions;
        let release = || {
            let _bound = context.gpu.bind()?;
            if context.has_pool() {
                // SAFETY: the memory is used on this stream only, all of it was queued before, and
                // no more can be.
                return Fault::check(unsafe { free_async(self.address, *stream) });
            }
            let done = self.queue.wait();
            // SAFETY: the memory is used on this stream only, which has done all of it.
            let gone = Fault::check(unsafe { free(self.address) });
            done.and(gone)
        };
        Fault::log(release(), "memory is not released");
    }
}
