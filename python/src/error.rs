//! Errors of the crate as Python exceptions.

use gpuint::Error;
use pyo3::prelude::*;

/// Runs `work` without the interpreter's lock, and raises its error.
pub(crate) fn detached<R: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> gpuint::Result<R> + Send,
) -> PyResult<R> {
    py.detach(work).map_err(|error| exception(py, &error))
}

/// The exception of an error: a class of `gpuint.errors`, with the message and the row.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let (class, row) = match error {
        Error::DivisionByZero { row } => ("DivisionByZeroError", Some(*row)),
        Error::TooWide { row, .. } => ("RangeError", Some(*row)),
        Error::WidthMissing { .. } => ("RangeError", None),
        Error::NoSuchRow { row, .. } => ("RowError", Some(*row)),
        Error::EvenModulus { row } | Error::CommonDivisor { row } => ("MismatchError", Some(*row)),
        Error::LengthMismatch { .. }
        | Error::PartialRow { .. }
        | Error::ShapeMismatch { .. }
        | Error::ShapeMissing { .. }
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
        Error::Forked => ("ForkedError", None),
        _ => ("GpuintError", None),
    };
    let message = match error {
        // In the words of Python.
        Error::ShapeMissing { shape } => format!(
            "no kernels are built for {} bits; see gpuint.widths() and gpuint.Device(jit=True)",
            shape.bits
        ),
        Error::ShapeMismatch { left, right } => {
            format!("the widths differ: {} and {} bits", left.bits, right.bits)
        }
        _ => error.to_string(),
    };
    let made =
        py.import("gpuint.errors").and_then(|errors| errors.getattr(class)?.call1((message, row)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}
