//! Memory of devices and of the host, and points in queues, each of its backend's own type.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::task::Waker;

use crate::error::{Error, Result};

/// The memory behind a [`Buffer`], of the backend's own type.
pub(crate) trait Memory: Any + Debug + Send + Sync {
    /// The size in bytes.
    fn bytes(&self) -> u64;

    /// Returns true if the memory belongs to another library.
    fn is_foreign(&self) -> bool {
        false
    }
}

/// Memory of a device, opaque outside its backend.
#[derive(Debug)]
pub(crate) struct Buffer(Box<dyn Memory>);

impl Buffer {
    pub(crate) fn new(memory: impl Memory) -> Self {
        Self(Box::new(memory))
    }

    /// The size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Returns true if the memory belongs to another library: rows stay in it.
    pub(crate) fn is_foreign(&self) -> bool {
        self.0.is_foreign()
    }

    /// The memory, as its backend knows it.
    pub(crate) fn memory<M: Memory>(&self) -> Result<&M> {
        let memory: &dyn Any = &*self.0;
        memory.downcast_ref().ok_or(Error::DeviceMismatch)
    }

    /// The memory, as its backend knows it.
    pub(crate) fn memory_mut<M: Memory>(&mut self) -> Result<&mut M> {
        let memory: &mut dyn Any = &mut *self.0;
        memory.downcast_mut().ok_or(Error::DeviceMismatch)
    }
}

/// A part of a buffer that is copied in parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// First byte of the part of the buffer.
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
    /// Bytes of a unit; parts of the copy are whole units.
    pub(crate) unit: usize,
}

/// A point in the queue of a device.
pub(crate) trait Mark: Any + Debug + Send + Sync {
    /// Returns true if the queue is beyond the point.
    fn has_passed(&self) -> Result<bool>;

    /// Waits until the queue is beyond the point.
    fn wait(&self) -> Result<()>;

    /// Wakes a task when the queue is beyond the point, or has failed.
    fn wake(&self, waker: Waker) -> Result<()>;
}

/// Host memory that a device copies by itself: page-locked where it is a GPU.
pub(crate) trait HostBuffer: Any + Debug + Send + Sync {
    /// Waits for the last copy, and returns the bytes.
    fn bytes(&self) -> Result<&[u8]>;

    /// Waits for the last copy, and returns the bytes.
    fn bytes_mut(&mut self) -> Result<&mut [u8]>;

    /// The point behind the last copy that was queued; `None` where all have ended.
    fn last_copy(&self) -> Option<Arc<dyn Mark>>;
}
