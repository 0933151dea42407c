//! Starts and ends of stages of all threads, without waits.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

/// Stage of a run on a thread.
#[derive(Debug)]
pub(crate) struct Stage {
    name: &'static str,
    thread: ThreadId,
    /// Milliseconds since the start of the run.
    start: f64,
    end: f64,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, thread, start, end } = self;
        write!(f, "{start:>9.2} to {end:>9.2} ms: {name}, {thread:?}")
    }
}

/// Subscriber that records the stages of trees between [`begin`](Self::begin) and
/// [`end`](Self::end).
#[derive(Debug, Clone, Default)]
pub(crate) struct Timeline(Arc<Mutex<State>>, Arc<AtomicU64>);

#[derive(Debug, Default)]
struct State {
    start: Option<Instant>,
    /// Names of the spans that are open, and the times of their starts.
    open: HashMap<u64, (&'static str, Instant)>,
    stages: Vec<Stage>,
}

impl Timeline {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to record.
    pub(crate) fn begin(&self) {
        self.state().start = Some(Instant::now());
    }

    /// Ends to record, and returns the stages by their starts.
    pub(crate) fn end(&self) -> Vec<Stage> {
        let mut stages = std::mem::take(&mut *self.state()).stages;
        stages.sort_by(|a, b| a.start.total_cmp(&b.start));
        stages
    }
}

impl Subscriber for Timeline {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span()
            && metadata.target().starts_with("gpuint::ops::tree")
            && self.state().start.is_some()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.1.fetch_add(1, Ordering::Relaxed) + 1;
        self.state().open.insert(id, (span.metadata().name(), Instant::now()));
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, id: &Id) {
        let end = Instant::now();
        let mut state = self.state();
        let (Some(begin), Some((name, start))) = (state.start, state.open.remove(&id.into_u64()))
        else {
            return;
        };
        let [start, end] = [start, end].map(|time| (time - begin).as_secs_f64() * 1e3);
        state.stages.push(Stage { name, thread: thread::current().id(), start, end });
    }
}
