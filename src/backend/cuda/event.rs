//! Points in the queues of a GPU.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, PoisonError};
use std::task::Waker;

use crate::backend::Mark;
use crate::backend::cuda::driver::{
    Code, EVENT_DEFAULT, EVENT_WITHOUT_TIME, EventHandle, Fault, GpuHandle, StreamHandle,
    WakingStream,
};
use crate::error::Result;
use crate::interrupt;

/// A point in a queue, once it is recorded. An event that never was has passed.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) handle: EventHandle,
    pub(super) gpu: Arc<GpuHandle>,
}

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// A new event. The context is bound.
    pub(super) fn new(gpu: &Arc<GpuHandle>) -> Result<Self, Fault> {
        Self::with_flags(gpu, EVENT_WITHOUT_TIME)
    }

    /// A new event that also measures time. The context is bound.
    pub(super) fn with_time(gpu: &Arc<GpuHandle>) -> Result<Self, Fault> {
        Self::with_flags(gpu, EVENT_DEFAULT)
    }

    fn with_flags(gpu: &Arc<GpuHandle>, flags: u32) -> Result<Self, Fault> {
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        Fault::check(unsafe { (gpu.functions.event_create)(&raw mut handle, flags) })?;
        Ok(Self { handle, gpu: Arc::clone(gpu) })
    }

    /// Makes this the point behind all that was queued on `stream`. The context is bound.
    pub(super) fn record(&self, stream: StreamHandle) -> Result<(), Fault> {
        // SAFETY: both are there.
        Fault::check(unsafe { (self.gpu.functions.event_record)(self.handle, stream) })
    }

    /// Delays all later work of `stream` until this point. The context is bound.
    pub(super) fn hold(&self, stream: StreamHandle) -> Result<(), Fault> {
        // SAFETY: both are there.
        Fault::check(unsafe { (self.gpu.functions.stream_wait_event)(stream, self.handle, 0) })
    }

    /// Waits for this point. The context is bound.
    pub(super) fn synchronize(&self) -> Result<(), Fault> {
        // SAFETY: the event is there.
        Fault::check(unsafe { (self.gpu.functions.event_synchronize)(self.handle) })
    }

    /// Returns true if the queue is beyond this point. The context is bound.
    pub(super) fn query(&self) -> Result<bool, Fault> {
        // SAFETY: the event is there.
        Fault::has_ended(unsafe { (self.gpu.functions.event_query)(self.handle) })
    }

    /// Queues a wake-up behind this point, on a stream that does nothing else meanwhile: behind the
    /// point there may be other work of the queue, for which the task shall not wait.
    fn wake_behind(&self, waker: Waker) -> Result<(), Fault> {
        let gpu = &self.gpu;
        let _bound = gpu.bind()?;
        let idle = gpu.wakers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let stream = idle.map_or_else(|| gpu.stream().map(WakingStream), Ok)?;
        let handle = stream.0;
        let held = self.hold(handle);
        let call = Box::new(WakeUp { waker, stream, gpu: Arc::clone(gpu) });
        let data = Box::into_raw(call);
        let queued = held.and_then(|()| {
            // SAFETY: the stream is there, and the function takes such a box.
            Fault::check(unsafe { (gpu.functions.stream_callback)(handle, wake, data.cast(), 0) })
        });
        if queued.is_err() {
            // SAFETY: the driver did not take it.
            unsafe { Box::from_raw(data) }.keep_stream();
        }
        queued
    }
}

/// A wake-up that the driver will call.
struct WakeUp {
    waker: Waker,
    stream: WakingStream,
    gpu: Arc<GpuHandle>,
}

impl WakeUp {
    /// Keeps the stream for other wake-ups.
    fn keep_stream(self) -> Waker {
        self.gpu.wakers.lock().unwrap_or_else(PoisonError::into_inner).push(self.stream);
        self.waker
    }
}

/// Wakes a task. The driver calls this after a fault, too, which it does not do for the functions
/// of `cuLaunchHostFunc`: a task would wait for ever.
unsafe extern "C" fn wake(_: StreamHandle, _: Code, data: *mut c_void) {
    // SAFETY: it comes from `wake_behind`, and the driver calls this once.
    let call = unsafe { Box::from_raw(data.cast::<WakeUp>()) };
    // A panic of an executor must not unwind into the driver; the hook has reported it.
    let _ = catch_unwind(AssertUnwindSafe(|| call.keep_stream().wake()));
}

impl Mark for Event {
    fn has_passed(&self) -> Result<bool> {
        let query = || {
            let _bound = self.gpu.bind()?;
            self.query()
        };
        query().map_err(Fault::about("queued work"))
    }

    fn wait(&self) -> Result<()> {
        let _bound = self.gpu.bind().map_err(Fault::about("the context"))?;
        interrupt::wait(
            || self.query().map_err(Fault::about("queued work")),
            || self.synchronize().map_err(Fault::about("queued work")),
        )
    }

    fn wake(&self, waker: Waker) -> Result<()> {
        self.wake_behind(waker).map_err(Fault::about("a wake-up"))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let release = || {
            let _bound = self.gpu.bind()?;
            // SAFETY: the event is not used again. One that has not passed is destroyed when it
            // has.
            Fault::check(unsafe { (self.gpu.functions.event_destroy)(self.handle) })
        };
        Fault::log(release(), "an event is not released");
    }
}
