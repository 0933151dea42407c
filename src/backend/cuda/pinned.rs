//! Page-locked host memory, which a GPU copies by itself, at the speed of the bus.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::backend::cuda::driver::{self, Fault, GpuHandle};
use crate::backend::cuda::event::Event;
use crate::backend::{HostBuffer, Mark};
use crate::error::Result;

/// Pinned memory, and the last copy that uses it. Without bytes there is no memory.
#[derive(Debug)]
pub(super) struct Pinned {
    start: NonNull<u8>,
    bytes: usize,
    /// Recorded behind the last copy. The memory is neither read nor written by the host before it
    /// has passed.
    copied: Option<Arc<Event>>,
    /// True if that point is known to have passed, which saves a query of the driver.
    has_passed: bool,
    pub(super) gpu: Arc<GpuHandle>,
}

// SAFETY: nothing else refers to the memory.
unsafe impl Send for Pinned {}
// SAFETY: a shared reference only reads the memory.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Allocates zeros. The context is bound.
    pub(super) fn new(gpu: &Arc<GpuHandle>, bytes: usize) -> Result<Self, Fault> {
        let gpu = Arc::clone(gpu);
        let mut pinned =
            Self { start: NonNull::dangling(), bytes: 0, copied: None, has_passed: true, gpu };
        if bytes == 0 {
            return Ok(pinned);
        }
        let mut start = ptr::null_mut();
        // Flags 0: write-combined memory would be slow to read.
        // SAFETY: the pointer is valid for a write.
        Fault::check(unsafe { (pinned.gpu.functions.alloc_host)(&raw mut start, bytes, 0) })?;
        pinned.start = NonNull::new(start.cast()).ok_or(Fault::OUT_OF_MEMORY)?;
        pinned.bytes = bytes;
        // SAFETY: the memory has that size.
        unsafe { pinned.start.write_bytes(0, bytes) };
        Ok(pinned)
    }

    /// Number of bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// The address, for a copy that [`copied`](Self::copied) is told of.
    pub(super) fn start(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The last copy, if it is not known to have ended.
    pub(super) fn under_way(&self) -> Option<&Arc<Event>> {
        self.copied.as_ref().filter(|_| !self.has_passed)
    }

    /// Takes the event of a copy that has ended, for another copy, if the event has no other owner.
    pub(super) fn take_event(&mut self) -> Option<Arc<Event>> {
        let is_free = self.has_passed && self.copied.as_mut().and_then(Arc::get_mut).is_some();
        if is_free { self.copied.take() } else { None }
    }

    /// Notes the point behind a copy that was queued.
    pub(super) fn copied(&mut self, copied: Arc<Event>) {
        self.copied = Some(copied);
        self.has_passed = false;
    }

    /// Waits for the last copy, unless the call is interrupted.
    fn wait(&self) -> Result<()> {
        // A fork need not have the memory.
        driver::check_process().map_err(Fault::about("pinned memory"))?;
        self.under_way().map_or(Ok(()), |copied| copied.wait())
    }

    /// Waits for the last copy and notes that it has ended.
    fn settle(&mut self) -> Result<()> {
        self.wait()?;
        self.has_passed = true;
        Ok(())
    }

    /// The bytes, after the last copy.
    pub(super) fn settled_bytes(&mut self) -> Result<&[u8]> {
        self.settle()?;
        HostBuffer::bytes(self)
    }

    /// Returns true if no copy uses the memory. The context is bound.
    fn is_idle(&self) -> bool {
        let has_ended = |copied: &Arc<Event>| copied.query() == Ok(true);
        self.has_passed || self.copied.as_ref().is_none_or(has_ended)
    }
}

impl HostBuffer for Pinned {
    fn bytes(&self) -> Result<&[u8]> {
        self.wait()?;
        // SAFETY: the memory has that size and was set, and no copy writes it.
        Ok(unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) })
    }

    fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        self.settle()?;
        // SAFETY: as above, no copy reads it, and it is borrowed with its only owner.
        Ok(unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) })
    }

    fn last_copy(&self) -> Option<Arc<dyn Mark>> {
        Some(Arc::clone(self.copied.as_ref()?) as Arc<dyn Mark>)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let release = || {
            let _bound = self.gpu.bind()?;
            let done = self.under_way().map_or(Ok(()), |copied| copied.synchronize());
            // SAFETY: the memory is not used again; the driver waits for copies under way, too.
            let gone =
                Fault::check(unsafe { (self.gpu.functions.free_host)(self.start.as_ptr().cast()) });
            done.and(gone)
        };
        Fault::log(release(), "pinned memory is not released");
    }
}

/// Pinned chunks of one size, kept for later copies.
#[derive(Debug)]
pub(super) struct Chunks {
    pub(super) bytes: usize,
    /// Number of kept chunks from which on a copy waits for the oldest one, not for a new one.
    most: usize,
    /// The oldest first. Copies of the last ones may be under way.
    kept: Mutex<VecDeque<Pinned>>,
}

impl Chunks {
    pub(super) fn new(bytes: usize, most: usize) -> Self {
        Self { bytes, most, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Pinned>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A chunk that no other copy takes. The context is bound.
    pub(super) fn take(&self, gpu: &Arc<GpuHandle>) -> Result<Pinned, Fault> {
        let kept = {
            let mut kept = self.kept();
            let is_taken = kept.len() >= self.most || kept.front().is_some_and(Pinned::is_idle);
            if is_taken { kept.pop_front() } else { None }
        };
        kept.map_or_else(|| Pinned::new(gpu, self.bytes), Ok)
    }

    /// Keeps chunks for later copies.
    pub(super) fn keep(&self, chunks: impl IntoIterator<Item = Pinned>) {
        self.kept().extend(chunks);
    }

    /// Releases the chunks that no copy has taken.
    pub(super) fn clear(&self) {
        // They are dropped without the lock.
        drop(std::mem::take(&mut *self.kept()));
    }
}
