//! Reports of the progress of calls to a function of Python.
//!
//! The crate counts its work by events (`gpuint::progress`). A subscriber for the duration of a
//! call adds them up, and leaves all other events to the log.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// Target of the events.
const TARGET: &str = "gpuint::progress";

thread_local! {
    static FUNCTION: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// Sets the function that calls of this thread report to; returns the one before.
#[pyfunction]
#[pyo3(signature = (function))]
pub(crate) fn set_progress(function: Option<Py<PyAny>>) -> Option<Py<PyAny>> {
    FUNCTION.replace(function)
}

/// Work of a call.
#[derive(Debug, Default)]
struct Work {
    done: u64,
    planned: u64,
    raised: Option<PyErr>,
}

impl Visit for Work {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "done" => self.done = self.done.saturating_add(value),
            "planned" => self.planned = self.planned.saturating_add(value),
            "resumed" => self.planned = self.planned.saturating_sub(value),
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

/// The reports of a call.
#[derive(Clone)]
pub(crate) struct Reports {
    function: Arc<Py<PyAny>>,
    work: Arc<Mutex<Work>>,
}

impl Reports {
    /// Returns the reports of the next call of this thread, if it has a function for them.
    pub(crate) fn of_thread(py: Python<'_>) -> Option<Self> {
        let function =
            FUNCTION.with_borrow(|function| function.as_ref().map(|it| it.clone_ref(py)));
        function.map(|function| Self { function: Arc::new(function), work: Arc::default() })
    }

    /// Runs a call, which reports its work.
    pub(crate) fn during<R>(&self, call: impl FnOnce() -> R) -> R {
        let log = tracing::dispatcher::get_default(Clone::clone);
        let dispatch = Dispatch::new(Reporter { reports: self.clone(), log });
        tracing::dispatcher::with_default(&dispatch, call)
    }

    /// Returns the exception that the function raised, once.
    pub(crate) fn take_raised(&self) -> Option<PyErr> {
        self.with_work(|work| work.raised.take())
    }

    fn with_work<R>(&self, change: impl FnOnce(&mut Work) -> R) -> R {
        change(&mut self.work.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, event: &Event<'_>) {
        let (done, planned) = self.with_work(|work| {
            event.record(work);
            (work.done.min(work.planned), work.planned)
        });
        let raised = Python::attach(|py| self.function.call1(py, (done, planned)).err());
        if raised.is_some() {
            self.with_work(|work| work.raised = raised);
        }
    }
}

/// Takes the events of the progress, and passes all events to the log of the process.
struct Reporter {
    reports: Reports,
    log: Dispatch,
}

impl Subscriber for Reporter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET || self.log.enabled(metadata)
    }

    fn event(&self, event: &Event<'_>) {
        if self.log.enabled(event.metadata()) {
            self.log.event(event);
        }
        if event.metadata().target() == TARGET {
            self.reports.add(event);
        }
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.log.new_span(span)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.log.record(span, values);
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.log.record_follows_from(span, follows);
    }

    fn enter(&self, span: &Id) {
        self.log.enter(span);
    }

    fn exit(&self, span: &Id) {
        self.log.exit(span);
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.log.clone_span(span)
    }

    fn try_close(&self, span: Id) -> bool {
        self.log.try_close(span)
    }
}
