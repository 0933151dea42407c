//! Streams, and the order between them.
//!
//! The work of one stream takes effect in order. Memory may be used on several streams of a
//! GPU: each counts its calls by tickets, memory has the tickets of its last write and of the reads
//! since ([`Uses`]), and a stream that uses the memory next first waits for the calls of other
//! streams, by an event. Each stream records the last ticket that it has waited for of each other
//! stream, so that events are only made where streams meet: these are vector clocks, kept on the
//! host.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::backend::Mark;
use crate::backend::cuda::context::Context;
use crate::backend::cuda::driver::{Bound, Fault, Functions, StreamHandle};
use crate::backend::cuda::event::Event;
use crate::error::Result;
use crate::interrupt;

/// A stream of a GPU.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) stream: StreamHandle,
    pub(super) context: Arc<Context>,
    /// Distinguishes the queues of a process.
    number: u64,
    /// Ticket of the last call. A call takes its ticket after it was queued: an event that is
    /// recorded after the ticket was read is behind the call.
    ticket: AtomicU64,
    /// The tickets of other queues, by their number, which this one has waited for.
    waited: Mutex<HashMap<u64, u64>>,
}

// SAFETY: the stream is a handle of the driver, which takes it from any thread.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    /// A new queue, which waits for no other.
    pub(super) fn new(context: Arc<Context>) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let create = || {
            let _bound = context.gpu.bind()?;
            context.gpu.stream()
        };
        let stream = create().map_err(Fault::about("a stream"))?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Ok(Self { stream, context, number, ticket: AtomicU64::new(0), waited: Mutex::default() })
    }

    pub(super) fn functions(&self) -> &'static Functions {
        self.context.gpu.functions
    }

    /// Makes the context of this queue that of the calling thread, for calls of the driver.
    pub(super) fn bind(&self) -> Result<Bound> {
        self.context.gpu.bind().map_err(Fault::about("the context"))
    }

    /// Waits for all that is queued, unless the call is interrupted.
    pub(super) fn synchronize(&self) -> Result<()> {
        let _bound = self.bind()?;
        interrupt::wait(
            || self.query().map_err(Fault::about("queued work")),
            || self.wait().map_err(Fault::about("queued work")),
        )
    }

    /// Waits for all that is queued. The context is bound.
    pub(super) fn wait(&self) -> Result<(), Fault> {
        // SAFETY: the stream is there.
        Fault::check(unsafe { (self.functions().stream_synchronize)(self.stream) })
    }

    /// Returns true if all that was queued has ended. The context is bound.
    fn query(&self) -> Result<bool, Fault> {
        // SAFETY: the stream is there.
        Fault::has_ended(unsafe { (self.functions().stream_query)(self.stream) })
    }

    /// Returns true if all that was queued has ended.
    fn is_idle(&self) -> bool {
        let Ok(_bound) = self.context.gpu.bind() else { return false };
        self.query() == Ok(true)
    }

    /// Waits for all that is queued, and gives the memory that no buffer uses back to the system.
    pub(super) fn trim(&self) -> Result<()> {
        self.synchronize()?;
        let _bound = self.bind()?;
        self.context.trim().map_err(Fault::about("the memory pool"))
    }

    /// The point behind all that was queued.
    pub(super) fn record(&self) -> Result<Event> {
        let _bound = self.bind()?;
        let record = || {
            let event = Event::new(&self.context.gpu)?;
            event.record(self.stream)?;
            Ok(event)
        };
        record().map_err(Fault::about("an event"))
    }

    /// As [`record`](Self::record), for [`elapsed`](Self::elapsed).
    pub(super) fn mark(&self) -> Result<Event> {
        let _bound = self.bind()?;
        let mark = || {
            let event = Event::with_time(&self.context.gpu)?;
            event.record(self.stream)?;
            Ok(event)
        };
        mark().map_err(Fault::about("an event"))
    }

    /// Waits for the second mark, and returns the time from the first to it.
    pub(super) fn elapsed(&self, start: &Event, end: &Event) -> Result<Duration> {
        let _bound = self.bind()?;
        end.wait()?;
        let mut milliseconds = 0.0;
        let elapsed = self.functions().event_elapsed;
        // SAFETY: both events are there and have passed, and the pointer is valid for a write.
        Fault::check(unsafe { elapsed(&raw mut milliseconds, start.handle, end.handle) })
            .map_err(Fault::about("the time between two events"))?;
        Ok(Duration::from_secs_f64((f64::from(milliseconds) / 1e3).max(0.0)))
    }

    /// Delays all later work of this queue until `event`.
    pub(super) fn wait_for(&self, event: &Event) -> Result<()> {
        let _bound = self.bind()?;
        event.hold(self.stream).map_err(Fault::about("an event"))
    }

    /// The ticket of a call that was queued.
    pub(super) fn ticket(&self) -> u64 {
        self.ticket.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Delays all later work of this queue until `call`, of any queue, has ended.
    fn wait_for_call(&self, call: &Call) -> Result<(), Fault> {
        if self.number == call.queue.number {
            return Ok(());
        }
        let mut waited = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = waited.entry(call.queue.number).or_insert(0);
        if *seen >= call.ticket {
            return Ok(());
        }
        let _bound = self.context.gpu.bind()?;
        let ticket = call.queue.ticket.load(Ordering::Acquire);
        let event = Event::new(&self.context.gpu)?;
        event.record(call.queue.stream)?;
        event.hold(self.stream)?;
        *seen = ticket;
        Ok(())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let release = || {
            let _bound = self.context.gpu.bind()?;
            // Running kernels still use their modules, and freed memory is still pending.
            let done = self.wait();
            // SAFETY: the stream is not used again.
            let gone = Fault::check(unsafe { (self.functions().stream_destroy)(self.stream) });
            // The process has the context, and every other queue.
            let is_last = Arc::strong_count(&self.context) <= 2;
            done.and(gone).and(if is_last { self.context.trim() } else { Ok(()) })
        };
        Fault::log(release(), "a stream is not released");
    }
}

/// Access of a call to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// A call of a queue.
#[derive(Debug, Clone)]
struct Call {
    queue: Arc<Queue>,
    ticket: u64,
}

/// The calls that the next use of some memory comes after.
#[derive(Debug)]
pub(super) struct Uses(Mutex<Calls>);

#[derive(Debug)]
struct Calls {
    write: Call,
    /// The last read of each queue since the last write.
    reads: Vec<Call>,
}

impl Uses {
    /// The uses of memory that a queue has just allocated.
    pub(super) fn new(queue: &Arc<Queue>) -> Self {
        let write = Call { queue: Arc::clone(queue), ticket: queue.ticket() };
        Self(Mutex::new(Calls { write, reads: Vec::new() }))
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delays all later work of `queue` until the conflicting uses have ended: the last write, and
    /// for a write also the reads since.
    pub(super) fn order(&self, queue: &Queue, access: Access) -> Result<(), Fault> {
        let calls = self.calls();
        queue.wait_for_call(&calls.write)?;
        match access {
            Access::Read => Ok(()),
            Access::Write => calls.reads.iter().try_for_each(|call| queue.wait_for_call(call)),
        }
    }

    /// Notes a call that was queued on `queue`.
    pub(super) fn note(&self, queue: &Arc<Queue>, ticket: u64, access: Access) {
        let mut calls = self.calls();
        let Calls { write, reads } = &mut *calls;
        let is_own = |call: &&mut Call| Arc::ptr_eq(&call.queue, queue);
        let own = match access {
            Access::Read => reads.iter_mut().find(is_own),
            Access::Write => {
                reads.clear();
                Some(write).filter(is_own)
            }
        };
        match (own, access) {
            // Another thread may have noted a later call.
            (Some(own), _) => own.ticket = own.ticket.max(ticket),
            (None, Access::Write) => calls.write = Call { queue: Arc::clone(queue), ticket },
            (None, Access::Read) => {
                // Queues that have done all their work need no more waiting: they may be closed.
                reads.retain(|call| !call.queue.is_idle());
                reads.push(Call { queue: Arc::clone(queue), ticket });
            }
        }
    }
}
