//! Statuses and error messages.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

use gpuint::Error;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Result of a call.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The call succeeded.
    Ok = 0,
    /// A pointer is NULL where an array, text, output or handle is required, or is not aligned.
    InvalidPointer = 1,
    /// A handle was freed, is of another kind, or was never returned by this library.
    InvalidHandle = 2,
    /// A text is not a number, or a base is neither 10 nor 16.
    InvalidText = 3,
    /// The memory for a text is too small; the required size was stored.
    BufferTooSmall = 4,
    /// The numbers of rows or elements differ.
    LengthMismatch = 5,
    /// The widths differ.
    WidthMismatch = 6,
    /// No kernels are built for the width.
    WidthMissing = 7,
    /// Operands live on different devices.
    DeviceMismatch = 8,
    /// Residues have different moduli.
    ModulusMismatch = 9,
    /// A modulus is even where it must be odd.
    EvenModulus = 10,
    /// A modulus for Chinese remaindering has a common divisor with another one.
    CommonDivisor = 11,
    /// A divisor or modulus is zero.
    DivisionByZero = 12,
    /// A value does not fit the width.
    TooWide = 13,
    /// A row does not exist.
    NoSuchRow = 14,
    /// There is no CUDA driver, or no GPU of that number.
    NoDevice = 15,
    /// The device or the host has no memory for a result.
    OutOfMemory = 16,
    /// The device cannot run a kernel: it is missing, was not compiled, or needs more shared
    /// memory.
    KernelUnavailable = 17,
    /// The tuning table named by `GPUINT_TUNING` cannot be used.
    InvalidTuning = 18,
    /// A device address cannot be that of rows.
    InvalidDevicePointer = 19,
    /// The driver rejected the call. Later calls may succeed.
    Driver = 20,
    /// The GPU is lost to this process. Start a new process.
    DeviceLost = 21,
    /// A defect of this library, with its message. Please report it.
    Internal = 22,
    /// The GPU was opened before a fork, and does not work in the child process.
    Forked = 23,
    /// The function of `gpuint_set_interrupt` ended the call.
    Interrupted = 24,
    /// The device computes wrong results: a row failed its check twice (`gpuint_device_verified`).
    FaultyDevice = 25,
}

/// Every status and its text.
const TEXTS: [(Status, &CStr); 26] = [
    (Status::Ok, c"success"),
    (Status::InvalidPointer, c"invalid pointer"),
    (Status::InvalidHandle, c"invalid handle"),
    (Status::InvalidText, c"invalid text"),
    (Status::BufferTooSmall, c"buffer too small"),
    (Status::LengthMismatch, c"the lengths differ"),
    (Status::WidthMismatch, c"the widths differ"),
    (Status::WidthMissing, c"no kernels are built for the width"),
    (Status::DeviceMismatch, c"the operands live on different devices"),
    (Status::ModulusMismatch, c"the residues have different moduli"),
    (Status::EvenModulus, c"even modulus"),
    (Status::CommonDivisor, c"the moduli are not coprime"),
    (Status::DivisionByZero, c"division by zero"),
    (Status::TooWide, c"the value does not fit the width"),
    (Status::NoSuchRow, c"the row does not exist"),
    (Status::NoDevice, c"no such CUDA device"),
    (Status::OutOfMemory, c"out of memory"),
    (Status::KernelUnavailable, c"the device cannot run the kernel"),
    (Status::InvalidTuning, c"the tuning table cannot be used"),
    (Status::InvalidDevicePointer, c"invalid device address"),
    (Status::Driver, c"the driver rejected the call"),
    (Status::DeviceLost, c"the GPU is lost to this process"),
    (Status::Internal, c"defect of the library"),
    (Status::Forked, c"the device does not survive a fork"),
    (Status::Interrupted, c"interrupted"),
    (Status::FaultyDevice, c"the device computes wrong results"),
];

/// Reason why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Crate(Error),
    Null { argument: &'static str },
    Misaligned { argument: &'static str, align: usize },
    Handle { argument: &'static str, kind: &'static str },
    NotUtf8 { argument: &'static str },
    Number { argument: &'static str, column: usize, base: u32 },
    Base(u32),
    Buffer { needed: usize, size: usize },
    Elements { rows: usize, count: usize },
    NotBuilt { bits: usize, next: usize },
    Panic(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Crate(error)
    }
}

impl Failure {
    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self::Panic(text.unwrap_or("unknown").to_owned())
    }

    fn status(&self) -> Status {
        match self {
            Self::Crate(error) => of_crate(error),
            Self::Null { .. } | Self::Misaligned { .. } => Status::InvalidPointer,
            Self::Handle { .. } => Status::InvalidHandle,
            Self::NotUtf8 { .. } | Self::Number { .. } | Self::Base(_) => Status::InvalidText,
            Self::Buffer { .. } => Status::BufferTooSmall,
            Self::Elements { .. } => Status::LengthMismatch,
            Self::NotBuilt { .. } => Status::WidthMissing,
            Self::Panic(_) => Status::Internal,
        }
    }

    fn row(&self) -> Option<usize> {
        match self {
            Self::Crate(
                Error::DivisionByZero { row }
                | Error::TooWide { row, .. }
                | Error::EvenModulus { row }
                | Error::CommonDivisor { row }
                | Error::NoSuchRow { row, .. }
                | Error::FaultyDevice { row, .. }
                | Error::Parse { row, .. },
            ) => Some(*row),
            _ => None,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Crate(Error::ShapeMissing { shape }) => {
                let bits = shape.bits;
                format!("{bits} bits are not built; see gpuint_width and gpuint_device_with_jit")
            }
            Self::Crate(Error::ShapeMismatch { left, right }) => {
                format!("the widths differ: {} and {} bits", left.bits, right.bits)
            }
            Self::Crate(error) => error.to_string(),
            Self::Null { argument } => format!("argument {argument} is NULL"),
            Self::Misaligned { argument, align } => {
                format!("argument {argument} is not a multiple of {align}")
            }
            Self::Handle { argument, kind } => {
                format!("argument {argument} is not a live handle of kind {kind}")
            }
            Self::NotUtf8 { argument } => format!("argument {argument} is not UTF-8"),
            Self::Number { argument, column, base } => {
                format!("argument {argument}, column {column}: not a digit of base {base}")
            }
            Self::Base(base) => format!("unknown base {base}; expected 10 or 16"),
            Self::Buffer { needed, size } => {
                format!("the text needs {needed} bytes with its NUL, but the memory has {size}")
            }
            Self::Elements { rows, count } => {
                format!("an array of {count} elements is given for {rows} rows")
            }
            Self::NotBuilt { bits, next } => {
                format!("{bits} bits are no width that is built; the next one has {next}")
            }
            Self::Panic(text) => format!("panic: {text}; please report it"),
        }
    }

    /// Keeps the message for [`gpuint_last_error`] and returns the status.
    pub(crate) fn record(&self) -> Status {
        let mut text = self.message().into_bytes();
        text.retain(|&byte| byte != 0);
        let text = CString::new(text).unwrap_or_default();
        let last = Last { text, row: self.row() };
        // No message is kept while the thread's local values are being dropped.
        let _ = LAST.try_with(|kept| kept.replace(last));
        self.status()
    }
}

fn of_crate(error: &Error) -> Status {
    match error {
        Error::DivisionByZero { .. } => Status::DivisionByZero,
        Error::TooWide { .. } => Status::TooWide,
        Error::NoPrime { .. } => Status::WidthMissing,
        Error::LengthMismatch { .. } | Error::PartialRow { .. } => Status::LengthMismatch,
        Error::ShapeMismatch { .. } => Status::WidthMismatch,
        Error::ShapeMissing { .. } | Error::WidthMissing { .. } => Status::WidthMissing,
        Error::ModulusMismatch => Status::ModulusMismatch,
        Error::EvenModulus { .. } => Status::EvenModulus,
        Error::CommonDivisor { .. } => Status::CommonDivisor,
        Error::NoSuchRow { .. } => Status::NoSuchRow,
        Error::Parse { .. } => Status::InvalidText,
        Error::DeviceMismatch => Status::DeviceMismatch,
        Error::DevicePointer { .. } => Status::InvalidDevicePointer,
        Error::NoDevice => Status::NoDevice,
        Error::OutOfMemory { .. } => Status::OutOfMemory,
        Error::KernelMissing { .. } | Error::SharedMemory { .. } | Error::Compile { .. } => {
            Status::KernelUnavailable
        }
        Error::Tuning { .. } => Status::InvalidTuning,
        Error::DeviceLost(_) => Status::DeviceLost,
        Error::Forked => Status::Forked,
        Error::Interrupted => Status::Interrupted,
        Error::FaultyDevice { .. } => Status::FaultyDevice,
        // The enum may grow; the message says more.
        _ => Status::Driver,
    }
}

#[derive(Default)]
struct Last {
    text: CString,
    row: Option<usize>,
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::default();
}

/// Returns the text of a status: a few words. It is `"unknown status"` for other numbers,
/// and stays valid.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn gpuint_status_text(status: i32) -> *const c_char {
    let entry = TEXTS.iter().find(|(known, _)| *known as i32 == status);
    entry.map_or(c"unknown status", |(_, text)| text).as_ptr()
}

/// Returns the message of the last call of this thread that failed: the values that were wrong and
/// the remedy. It is valid until the next call of this thread fails; `""` if none failed.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn gpuint_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().text.as_ptr()).unwrap_or(c"".as_ptr())
}

/// Returns the lowest row at fault in the last call of this thread that failed; -1 if the fault is
/// of no row.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn gpuint_last_error_row() -> i64 {
    let row = LAST.try_with(|last| last.borrow().row).ok().flatten();
    row.and_then(|row| i64::try_from(row).ok()).unwrap_or(-1)
}

/// Returns the version of this library, as in `"0.1.0"`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn gpuint_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}
