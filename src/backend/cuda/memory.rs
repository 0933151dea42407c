//! Memory of a GPU, allocated and freed in the order of one stream and used on any.
#![allow(unsafe_code)]

use std::any::Any;
use std::collections::VecDeque;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use crate::backend::cuda::driver::{Address, Fault, Functions};
use crate::backend::cuda::event::Event;
use crate::backend::cuda::pinned::Pinned;
use crate::backend::cuda::queue::{Access, Queue, Uses};
use crate::backend::host::{HostMemory, copy_bytes, parts};
use crate::backend::{HostBuffer, Memory, Span};
use crate::error::{Error, Result};

/// Chunks of a copy: one that the host works on, one that the bus works on, and two more so that
/// neither waits for the other.
const DEPTH: usize = 4;

impl Queue {
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

    /// Queues a copy between pinned memory and the GPU. The context is bound.
    ///
    /// # Safety
    /// `copy` queues a copy on this stream that uses no host memory but `pinned`.
    unsafe fn copy_pinned(
        &self,
        pinned: &mut Pinned,
        copy: impl FnOnce(*mut u8) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if let Some(last) = pinned.under_way() {
            last.hold(self.stream)?;
        }
        let new = || Event::new(&self.context.gpu).map(Arc::new);
        let copied = pinned.take_event().map_or_else(new, Ok)?;
        copy(pinned.start())?;
        if let Err(fault) = copied.record(self.stream) {
            // The memory must not be touched before the copy has ended.
            let _ = self.wait();
            return Err(fault);
        }
        pinned.copied(copied);
        Ok(())
    }
}

/// Memory of a GPU. Where it has no bytes, there is no memory and the address is null.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    address: Address,
    bytes: u64,
    /// The queue in whose order it was allocated and will be freed.
    queue: Arc<Queue>,
    uses: Uses,
    /// Memory of another library: dropped, not freed.
    owner: Option<Box<dyn Any + Send + Sync>>,
}

/// Boundary at which kernels expect rows to begin: that of their widest load.
const ALIGNMENT: u64 = 16;

impl Memory for DeviceMemory {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn is_foreign(&self) -> bool {
        self.owner.is_some()
    }
}

impl DeviceMemory {
    /// Allocates `bytes` bytes, uninitialized.
    pub(super) fn new(queue: &Arc<Queue>, bytes: u64) -> Result<Self> {
        let out_of_memory = Error::OutOfMemory { bytes };
        if bytes > queue.context.info.total_memory {
            return Err(out_of_memory);
        }
        let mut address = 0;
        if bytes > 0 {
            let size = usize::try_from(bytes).map_err(|_| out_of_memory.clone())?;
            let _bound = queue.bind()?;
            let allocated = match queue.allocate(size) {
                // Freed memory may not have come back yet, or may be kept in pieces.
                Err(Fault::OUT_OF_MEMORY) => {
                    tracing::debug!(bytes, "out of memory: giving back what is not in use");
                    queue.trim()?;
                    queue.allocate(size)
                }
                other => other,
            };
            address = allocated.map_err(|fault| match fault {
                Fault::OUT_OF_MEMORY => out_of_memory,
                fault => Fault::about("an allocation")(fault),
            })?;
        }
        Ok(Self { address, bytes, queue: Arc::clone(queue), uses: Uses::new(queue), owner: None })
    }

    /// Memory of another library, which is alive for as long as `owner`.
    ///
    /// # Safety
    /// The memory is there for as long as `owner`, and it is used by others only in an order with
    /// the work of this process's queues on it.
    pub(super) unsafe fn foreign(
        queue: &Arc<Queue>,
        address: Address,
        bytes: u64,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let refused = |reason: String| Err(Error::DevicePointer { address, reason });
        if bytes > 0 {
            if !address.is_multiple_of(ALIGNMENT) {
                return refused(format!("it is not a multiple of {ALIGNMENT}"));
            }
            let _bound = queue.bind()?;
            match queue.context.gpu.bytes_from(address) {
                Ok(Some(there)) if there >= bytes => {}
                Ok(Some(there)) => {
                    return refused(format!(
                        "its allocation ends {there} bytes later, and the rows have {bytes}"
                    ));
                }
                Ok(None) => return refused("it is of another device".to_owned()),
                Err(fault) => return refused(format!("the driver does not know it: {fault}")),
            }
        }
        let uses = Uses::new(queue);
        Ok(Self { address, bytes, queue: Arc::clone(queue), uses, owner: Some(owner) })
    }

    /// The address, for work that is queued next on `queue`: it comes after all that it must come
    /// after. [`note`](Self::note) follows once it is queued.
    pub(super) fn address(&self, queue: &Queue, access: Access) -> Result<Address> {
        if !Arc::ptr_eq(&self.queue.context, &queue.context) {
            return Err(Error::DeviceMismatch);
        }
        self.uses.order(queue, access).map_err(Fault::about("an event"))?;
        Ok(self.address)
    }

    /// Notes work that was queued on `queue`.
    pub(super) fn note(&self, queue: &Arc<Queue>, ticket: u64, access: Access) {
        self.uses.note(queue, ticket, access);
    }

    /// Queues work on a part of the memory: `work` gets its address. The context is bound while it
    /// runs.
    fn with_part(
        &self,
        queue: &Arc<Queue>,
        access: Access,
        (offset, bytes): (u64, usize),
        work: impl FnOnce(Address) -> Result<()>,
    ) -> Result<()> {
        let end = offset.checked_add(bytes as u64);
        if end.is_none_or(|end| end > self.bytes) {
            let size = self.bytes;
            return Err(Error::Driver(format!(
                "{bytes} bytes at {offset} are outside a buffer of {size} bytes"
            )));
        }
        let address = self.address(queue, access)?;
        if bytes == 0 {
            return Ok(());
        }
        let _bound = queue.bind()?;
        // Also after an error or a panic: a part of the work may be queued.
        let _noted = Noted { memory: self, queue, access };
        work(address + offset)
    }

    /// Queues setting all bytes to one value.
    pub(super) fn fill(&mut self, queue: &Arc<Queue>, byte: u8) -> Result<()> {
        // It was allocated, so its size is one of memory.
        let size = self.bytes as usize;
        self.with_part(queue, Access::Write, (0, size), |address| {
            let fill = queue.functions().fill_async;
            // SAFETY: the memory is there, has that size, and the stream waits for its other uses.
            Fault::check(unsafe { fill(address, byte, size, queue.stream) })
                .map_err(Fault::about("setting memory"))
        })
    }

    /// Copies few bytes from the host. The driver copies pageable memory to a staging buffer
    /// before it returns, and does not wait for the stream (CUDA driver API, "API synchronization
    /// behavior"); a pinned chunk would be busy until the work before the copy has ended.
    pub(super) fn stage(&mut self, queue: &Arc<Queue>, bytes: &[u8]) -> Result<()> {
        self.with_part(queue, Access::Write, (0, bytes.len()), |address| {
            let upload = queue.functions().upload_async;
            // SAFETY: the memory has these bytes and the stream waits for its other uses; the bytes
            // are read before the call returns.
            Fault::check(unsafe {
                upload(address, bytes.as_ptr().cast(), bytes.len(), queue.stream)
            })
            .map_err(Fault::about("a copy"))
        })
    }

    /// Copies from the host, through pinned chunks that `fill` writes. Returns when all of them are
    /// written and queued: while the GPU copies one, `fill` writes the next. A unit that is longer
    /// than a chunk passes through pageable memory of its length.
    pub(super) fn upload(
        &mut self,
        queue: &Arc<Queue>,
        Span { offset, bytes, unit }: Span,
        fill: &mut dyn FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let chunks = queue.context.chunks(bytes);
        let row_bytes = unit.min(bytes);
        if row_bytes > chunks.bytes {
            let mut row = HostMemory::zeroed(row_bytes as u64)?;
            return parts(bytes, unit, unit).try_for_each(|(start, len)| {
                let row = &mut row.as_bytes_mut()[..len];
                fill(start, row)?;
                let part = Span { offset: offset + start as u64, bytes: len, unit: 1 };
                self.upload(queue, part, &mut |at, chunk| {
                    copy_bytes(&row[at..][..chunk.len()], chunk);
                    Ok(())
                })
            });
        }
        self.with_part(queue, Access::Write, (offset, bytes), |address| {
            let mut busy = VecDeque::with_capacity(DEPTH);
            let mut copy = |start: usize, len: usize| {
                let mut chunk = match busy.len() {
                    DEPTH => busy.pop_front(),
                    _ => None,
                }
                .map_or_else(|| chunks.take(&queue.context.gpu), Ok)
                .map_err(Fault::about("pinned memory"))?;
                let filled = chunk.bytes_mut().and_then(|bytes| fill(start, &mut bytes[..len]));
                let queued = filled.and_then(|()| {
                    // SAFETY: the memory has these bytes and the stream waits for its other uses;
                    // the chunk has them, too.
                    unsafe { queue.upload(address + start as u64, &mut chunk, 0..len) }
                });
                // Also after an error: to drop it would wait for its last copy.
                busy.push_back(chunk);
                queued
            };
            let done =
                parts(bytes, unit, chunks.bytes).try_for_each(|(start, len)| copy(start, len));
            chunks.keep(busy);
            done
        })
    }

    /// Copies to the host, through pinned chunks that `read` reads: while it reads one, the GPU
    /// writes the next. Units that are longer than a chunk as in [`upload`](Self::upload).
    pub(super) fn download(
        &self,
        queue: &Arc<Queue>,
        Span { offset, bytes, unit }: Span,
        read: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let chunks = queue.context.chunks(bytes);
        let row_bytes = unit.min(bytes);
        if row_bytes > chunks.bytes {
            let mut row = HostMemory::zeroed(row_bytes as u64)?;
            return parts(bytes, unit, unit).try_for_each(|(start, len)| {
                let row = &mut row.as_bytes_mut()[..len];
                let part = Span { offset: offset + start as u64, bytes: len, unit: 1 };
                self.download(queue, part, &mut |at, chunk| {
                    copy_bytes(chunk, &mut row[at..][..chunk.len()]);
                    Ok(())
                })?;
                read(start, row)
            });
        }
        self.with_part(queue, Access::Read, (offset, bytes), |address| {
            let mut busy: VecDeque<(usize, usize, Pinned)> = VecDeque::with_capacity(DEPTH);
            let mut copy = |start: usize, len: usize| {
                let mut chunk = match busy.len() {
                    DEPTH => busy.pop_front(),
                    _ => None,
                }
                .map_or_else(
                    || chunks.take(&queue.context.gpu).map_err(Fault::about("pinned memory")),
                    |(start, len, mut chunk)| {
                        let bytes = chunk.settled_bytes();
                        match bytes.and_then(|bytes| read(start, &bytes[..len])) {
                            Ok(()) => Ok(chunk),
                            Err(error) => {
                                // To drop it would wait for its copy.
                                chunks.keep([chunk]);
                                Err(error)
                            }
                        }
                    },
                )?;
                // SAFETY: as in `upload`.
                let queued = unsafe { queue.download(&mut chunk, 0..len, address + start as u64) };
                busy.push_back((start, len, chunk));
                queued
            };
            let mut done =
                parts(bytes, unit, chunks.bytes).try_for_each(|(start, len)| copy(start, len));
            for (start, len, mut chunk) in busy {
                done = done.and_then(|()| read(start, &chunk.settled_bytes()?[..len]));
                chunks.keep([chunk]);
            }
            done
        })
    }

    /// Queues a copy of a part of pinned memory to this one, from `offset` on.
    pub(super) fn upload_pinned(
        &mut self,
        queue: &Arc<Queue>,
        offset: u64,
        source: &mut Pinned,
        part: Range<usize>,
    ) -> Result<()> {
        check_pinned(queue, source, &part)?;
        self.with_part(queue, Access::Write, (offset, part.len()), |address| {
            // SAFETY: both sides have these bytes, and the stream waits for their other uses.
            unsafe { queue.upload(address, source, part) }
        })
    }

    /// Queues a copy from `offset` on to a part of pinned memory.
    pub(super) fn download_pinned(
        &self,
        queue: &Arc<Queue>,
        offset: u64,
        target: &mut Pinned,
        part: Range<usize>,
    ) -> Result<()> {
        check_pinned(queue, target, &part)?;
        self.with_part(queue, Access::Read, (offset, part.len()), |address| {
            // SAFETY: as in `upload_pinned`.
            unsafe { queue.download(target, part, address) }
        })
    }

    /// Queues a copy of a part of another memory of the same GPU to a part of this one.
    pub(super) fn copy(
        &mut self,
        queue: &Arc<Queue>,
        to: u64,
        source: &Self,
        from: u64,
        bytes: u64,
    ) -> Result<()> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        source.with_part(queue, Access::Read, (from, bytes), |source| {
            self.with_part(queue, Access::Write, (to, bytes), |target| {
                let copy = queue.functions().copy_async;
                // SAFETY: both parts have that size, and the stream waits for their other uses;
                // they are of different memories, as one of them is borrowed mutably.
                Fault::check(unsafe { copy(target, source, bytes, queue.stream) })
                    .map_err(Fault::about("a copy"))
            })
        })
    }
}

/// Notes work when it is dropped.
struct Noted<'a> {
    memory: &'a DeviceMemory,
    queue: &'a Arc<Queue>,
    access: Access,
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.memory.note(self.queue, self.queue.ticket(), self.access);
    }
}

/// Checks that pinned memory has a part, and that its GPU is that of the queue.
fn check_pinned(queue: &Queue, pinned: &Pinned, part: &Range<usize>) -> Result<()> {
    if !Arc::ptr_eq(&pinned.gpu, &queue.context.gpu) {
        return Err(Error::DeviceMismatch);
    }
    if part.start > part.end || part.end > pinned.len() {
        let len = pinned.len();
        return Err(Error::Driver(format!("{part:?} is outside host memory of {len} bytes")));
    }
    Ok(())
}

impl Queue {
    /// Queues a copy of a part of pinned memory to `target`. The context is bound.
    ///
    /// # Safety
    /// Both have the bytes, and the stream waits for other uses of `target`.
    unsafe fn upload(
        &self,
        target: Address,
        source: &mut Pinned,
        part: Range<usize>,
    ) -> Result<()> {
        let upload = self.functions().upload_async;
        let copy = |start: *mut u8| {
            // SAFETY: the caller's.
            let start = unsafe { start.add(part.start) };
            // SAFETY: the caller's; nothing writes the source until the copy has ended.
            Fault::check(unsafe { upload(target, start.cast(), part.len(), self.stream) })
        };
        // SAFETY: the copy uses no other host memory.
        unsafe { self.copy_pinned(source, copy) }.map_err(Fault::about("a copy from the host"))
    }

    /// Queues a copy from `source` to a part of pinned memory. The context is bound.
    ///
    /// # Safety
    /// As [`upload`](Self::upload).
    unsafe fn download(
        &self,
        target: &mut Pinned,
        part: Range<usize>,
        source: Address,
    ) -> Result<()> {
        let download = self.functions().download_async;
        let copy = |start: *mut u8| {
            // SAFETY: the caller's.
            let start = unsafe { start.add(part.start) };
            // SAFETY: the caller's; the target is not read before the copy has ended.
            Fault::check(unsafe { download(start.cast(), source, part.len(), self.stream) })
        };
        // SAFETY: the copy uses no other host memory.
        unsafe { self.copy_pinned(target, copy) }.map_err(Fault::about("a copy to the host"))
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
            self.uses.order(&self.queue, Access::Write)?;
            if self.owner.is_some() {
                return self.queue.wait();
            }
            if context.has_pool() {
                // SAFETY: the stream waits for all uses, all of which were queued before, and no
                // more can be.
                return Fault::check(unsafe { free_async(self.address, *stream) });
            }
            let done = self.queue.wait();
            // SAFETY: the stream has waited for all uses.
            let gone = Fault::check(unsafe { free(self.address) });
            done.and(gone)
        };
        let released = release();
        if released == Err(Fault::FORKED) {
            // The owner would release its memory by the driver.
            mem::forget(self.owner.take());
        }
        Fault::log(released, "memory is not released");
    }
}
