//! Errors of the crate and signals as Python exceptions.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gpuint::Error;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::progress::Reports;

/// Runs `work` without the interpreter's lock, and raises its error. On the main thread, a signal
/// ends the work if its handler raises an exception, as that of Ctrl-C does. On all threads an
/// exception of the function of `set_progress` ends it.
pub(crate) fn detached<R: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> gpuint::Result<R> + Send,
) -> PyResult<R> {
    detached_as(py, work, exception)
}

/// Runs `work` as [`detached`] does, with errors of another type.
pub(crate) fn detached_as<R: Send, E: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<R, E> + Send,
    exception: impl FnOnce(Python<'_>, &E) -> PyErr,
) -> PyResult<R> {
    let (is_main, reports) = (is_main_thread(py), Reports::of_thread(py));
    let result = if is_main || reports.is_some() {
        let (result, raised) = py.detach(|| with_hooks(work, is_main, reports));
        if let Some(raised) = raised {
            return Err(raised);
        }
        result
    } else {
        py.detach(work)
    };
    result.map_err(|error| exception(py, &error))
}

/// Returns true on the thread that runs handlers of signals.
fn is_main_thread(py: Python<'_>) -> bool {
    thread_local! {
        static IS_MAIN: Cell<Option<bool>> = const { Cell::new(None) };
    }
    IS_MAIN.get().unwrap_or_else(|| {
        let thread = |name| py.import("threading")?.call_method0(name);
        let main_and_this = (thread("main_thread"), thread("current_thread"));
        let is_main = matches!(main_and_this, (Ok(main), Ok(this)) if main.is(&this));
        IS_MAIN.set(Some(is_main));
        is_main
    })
}

/// Runs `work` and, on the main thread, the handlers of signals, and reports its progress; returns
/// the exception that a handler or the function of the reports raised.
fn with_hooks<R>(
    work: impl FnOnce() -> R,
    is_main: bool,
    reports: Option<Reports>,
) -> (R, Option<PyErr>) {
    let raised = Rc::new(RefCell::new(None));
    let (kept, asked) = (Rc::clone(&raised), reports.clone());
    let should_stop = move || {
        let of_signals = || Python::attach(|py| py.check_signals().err());
        let exception = asked.as_ref().and_then(Reports::take_raised);
        let exception = exception.or_else(|| is_main.then(of_signals).flatten());
        let is_raised = exception.is_some();
        kept.replace(exception);
        is_raised
    };
    let result = gpuint::interruptible(should_stop, || match &reports {
        Some(reports) => reports.during(work),
        None => work(),
    });
    // The last report may have raised after the last question.
    (result, raised.take().or_else(|| reports.as_ref().and_then(Reports::take_raised)))
}

/// Makes an object of `len` bytes that `fill` writes.
pub(crate) fn byte_array<'py>(
    py: Python<'py>,
    len: usize,
    fill: impl FnOnce(&mut [u8]) -> PyResult<()>,
) -> PyResult<Bound<'py, PyByteArray>> {
    // Without memory CPython destroys the object before it has set its count of exports, and
    // may write a SystemError to standard error.
    drop(reserved::<u8>(len).map_err(|error| exception(py, &error))?);
    PyByteArray::new_with(py, len, fill).map_err(|error| {
        // That of the interpreter has no text.
        if error.get_type(py).is(py.get_type::<PyMemoryError>()) {
            return exception(py, &Error::OutOfMemory { bytes: len as u64 });
        }
        error
    })
}

/// Returns an empty vector with memory for `len` elements.
pub(crate) fn reserved<T>(len: usize) -> gpuint::Result<Vec<T>> {
    let mut elements = Vec::new();
    let bytes = (len * size_of::<T>()) as u64;
    elements.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
    Ok(elements)
}

/// The exception of an error: a class of `gpuint.errors`, with the message and the row.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let (class, row) = match error {
        Error::DivisionByZero { row } => ("DivisionByZeroError", Some(*row)),
        Error::TooWide { row, .. } => ("RangeError", Some(*row)),
        Error::NoPrime { .. } => ("RangeError", None),
        Error::Parse { row, .. } => ("ParseError", Some(*row)),
        Error::NoSuchRow { row, .. } => ("RowError", Some(*row)),
        Error::EvenModulus { row } | Error::CommonDivisor { row } => ("MismatchError", Some(*row)),
        Error::LengthMismatch { .. }
        | Error::PartialRow { .. }
        | Error::ShapeMismatch { .. }
        | Error::ShapeMissing { .. }
        | Error::WidthMissing { .. }
        | Error::ModulusMismatch
        | Error::DevicePointer { .. }
        | Error::DeviceMismatch => ("MismatchError", None),
        Error::OutOfMemory { .. } => ("OutOfMemoryError", None),
        Error::NoDevice
        | Error::KernelMissing { .. }
        | Error::SharedMemory { .. }
        | Error::Tuning { .. }
        | Error::Compile { .. }
        | Error::Driver(_) => ("DeviceError", None),
        Error::DeviceLost(_) => ("DeviceLostError", None),
        Error::FaultyDevice { row, .. } => ("FaultyDeviceError", Some(*row)),
        Error::Forked => ("ForkedError", None),
        _ => ("GpuintError", None),
    };
    exception_of(py, class, &message(error), row.and_then(|row| i64::try_from(row).ok()))
}

/// The message of an error, in the terms of the package.
fn message(error: &Error) -> String {
    match error {
        Error::ShapeMissing { shape } => format!(
            "no kernels are built for {} bits; see gpuint.widths() and gpuint.Device(jit=True)",
            shape.bits
        ),
        Error::Parse { row, column, base } => {
            let kind = if *base == 16 { "hexadecimal" } else { "decimal" };
            format!("the text of row {row} is no {kind} number: byte {column}")
        }
        Error::ShapeMismatch { left, right } => {
            format!("the widths differ: {} and {} bits", left.bits, right.bits)
        }
        _ => error.to_string(),
    }
}

/// An exception of a class of `gpuint.errors`.
pub(crate) fn exception_of(py: Python<'_>, class: &str, message: &str, row: Option<i64>) -> PyErr {
    let made =
        py.import("gpuint.errors").and_then(|errors| errors.getattr(class)?.call1((message, row)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}
