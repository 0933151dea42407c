//! The error type of the crate.

use gpuint_catalogue::Shape;

/// Result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a call failed.
///
/// Bad input always returns one of these errors: it never causes a panic, an abort or a wrong row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A divisor is zero.
    #[error("division by zero in row {row}")]
    DivisionByZero {
        /// The lowest row whose divisor is zero.
        row: usize,
    },

    /// A value, or a result, needs more bits than a row of its batch has.
    #[error("row {row} needs {bits} bits, but rows are {width} bits wide")]
    TooWide {
        /// The lowest row that does not fit.
        row: usize,
        /// The bits that the value needs.
        bits: u64,
        /// The bits that a row has.
        width: usize,
    },

    /// Two operands, or an operand and its output, have different numbers of rows.
    #[error("the numbers of rows differ: {left} and {right}")]
    LengthMismatch {
        /// Number of rows of the receiver.
        left: usize,
        /// Number of rows of the other operand.
        right: usize,
    },

    /// The bytes or digits do not fill a whole number of rows.
    #[error("{len} bytes or digits are not a whole number of rows of {row}")]
    PartialRow {
        /// Number of bytes or digits that were given.
        len: usize,
        /// Bytes or digits of one row.
        row: usize,
    },

    /// Two operands, or an operand and its output, have different shapes.
    #[error(
        "the shapes differ: {}:{}:{} and {}:{}:{} (bits, Q, digit)",
        left.bits, left.q, left.digit, right.bits, right.q, right.digit
    )]
    ShapeMismatch {
        /// The shape of the receiver, or the shape that was expected.
        left: Shape,
        /// The shape of the other operand.
        right: Shape,
    },

    /// No kernels are built for a shape.
    #[error(
        "no kernels are built for {} bits with Q = {} and {} digits; {}",
        shape.bits, shape.q, shape.digit, shape_remedy(*shape)
    )]
    ShapeMissing {
        /// The shape.
        shape: Shape,
    },

    /// No width is wide enough for an operation.
    #[error("{operation} of {bits} bits are not offered; the widest have {widest} bits")]
    WidthMissing {
        /// The operation, or the rows, in the plural.
        operation: &'static str,
        /// The requested width.
        bits: usize,
        /// The widest width at which the operation is offered.
        widest: usize,
    },

    /// Two operands are residues of different moduli.
    #[error("the residues have different moduli; clones of a modulus are the same")]
    ModulusMismatch,

    /// An operation that needs odd moduli has an even one.
    #[error("the modulus of row {row} is even; halves exist modulo odd numbers only")]
    EvenModulus {
        /// The lowest row whose modulus is even.
        row: usize,
    },

    /// A modulus for Chinese remaindering is not coprime to the others.
    #[error("the modulus of row {row} has a common divisor with another modulus")]
    CommonDivisor {
        /// The lowest row whose modulus is not coprime to all others.
        row: usize,
    },

    /// No prime of the requested kind has this length.
    #[error("no prime of the requested kind has {bits} bits; ask for more bits")]
    NoPrime {
        /// The requested length.
        bits: usize,
    },

    /// The batch has no row with this number.
    #[error("row {row} does not exist in a batch of {rows} rows")]
    NoSuchRow {
        /// The requested row.
        row: usize,
        /// The number of rows in the batch.
        rows: usize,
    },

    /// A value of an array is null.
    #[error("row {row} is null")]
    NullRow {
        /// The lowest row that is null.
        row: usize,
    },

    /// An integer is negative, but rows are unsigned.
    #[error("row {row} is negative, but rows are unsigned")]
    Negative {
        /// The lowest row that is negative.
        row: usize,
    },

    /// A text is not a number in the requested base.
    #[error("row {row}, column {column}: not a digit of base {base}")]
    Parse {
        /// The lowest row whose text is not a number.
        row: usize,
        /// Index of the first byte that is not a digit, or the length of the text if digits are
        /// missing.
        column: usize,
        /// The base: 10 or 16.
        base: u32,
    },

    /// Two operands, or an operand and its output, live on different devices.
    #[error("the operands live on different devices")]
    DeviceMismatch,

    /// An address cannot be that of rows.
    #[error("the device address {address:#x} is refused: {reason}")]
    DevicePointer {
        /// The address.
        address: u64,
        /// The rule that it breaks.
        reason: String,
    },

    /// There is no CUDA driver, or no GPU with this number.
    #[error("no such CUDA device: no driver is installed, or there is no GPU with that number")]
    NoDevice,

    /// The device cannot hold a buffer of this size.
    #[error("out of memory: {bytes} bytes requested")]
    OutOfMemory {
        /// Size of the buffer; [`u64::MAX`] if the size does not fit in 64 bits.
        bytes: u64,
    },

    /// The call was ended on request ([`interruptible`](crate::interruptible)), and its results are
    /// lost.
    #[error("the call was interrupted")]
    Interrupted,

    /// The device has no image of a kernel, and none could be compiled at run time.
    #[error("kernel {kernel} is missing: {remedy}")]
    KernelMissing {
        /// The name of the kernel.
        kernel: String,
        /// Remedy.
        remedy: String,
    },

    /// A kernel needs more shared memory per block than the device has.
    #[error(
        "kernel {kernel} needs {needed} bytes of shared memory per block, but the device has \
         {available}"
    )]
    SharedMemory {
        /// The name of the kernel.
        kernel: String,
        /// Bytes that a block of the kernel needs.
        needed: u32,
        /// Bytes that a block can have on this device.
        available: u32,
    },

    /// The tuning table named by `GPUINT_TUNING` cannot be used.
    #[error("tuning table {table} (GPUINT_TUNING): {reason}")]
    Tuning {
        /// The name of the table or its file.
        table: String,
        /// The problem with the table.
        reason: String,
    },

    /// The run-time compiler rejected a kernel.
    #[error("kernel compilation failed:\n{log}")]
    Compile {
        /// Messages of the compiler.
        log: String,
    },

    /// The device or its driver rejected a call. Later calls may succeed.
    #[error("the device reported: {0}")]
    Driver(String),

    /// A kernel or the hardware faulted, and this process has lost the GPU: every later call on it
    /// fails with this error, and all unread results are lost.
    ///
    /// GPUs run asynchronously, so the faulty call is not the call that returns this error. It is
    /// any call, on any handle to this GPU, since the last one that read a result or synchronized.
    /// Start a new process; within this one, other GPUs and [`Device::cpu`](crate::Device::cpu)
    /// still work.
    #[error(
        "the GPU is lost to this process, by this or an earlier call on it: {0}; start a new \
         process"
    )]
    DeviceLost(String),

    /// Results of a device failed their checks ([`Device::verified`](crate::Device::verified)),
    /// and failed again when they were computed once more: the device computes wrong results.
    ///
    /// The outputs of the call have rows of any value. Do not use the device.
    #[error(
        "the device computes wrong results: row {row} of {operation} failed its check twice; do \
         not use the device"
    )]
    FaultyDevice {
        /// The lowest row that failed the second time.
        row: usize,
        /// Name of the operation of the catalogue.
        operation: &'static str,
    },

    /// The device works in the process that opened it, and this process is a fork of that one.
    ///
    /// A GPU does not survive a fork. If the parent has opened one, the child cannot open any.
    /// [`Device::cpu`](crate::Device::cpu) and its batches work in both.
    #[error(
        "the device does not survive a fork: open devices only after the fork, or start processes \
         without one (in Python: multiprocessing's \"spawn\")"
    )]
    Forked,
}

/// Returns what to do about a shape that is not built.
fn shape_remedy(shape: Shape) -> String {
    if shape.is_long() {
        return "above 2^20 bits, shapes have a multiple of 64 bits up to 2^31, Q = 4 and u64 \
                digits"
            .to_owned();
    }
    match shape.checked() {
        Ok(Shape { bits, q, digit }) => format!(
            "use a shape of gpuint::shapes(), compile kernels at first use \
             (Device::with_jit), or set GPUINT_SHAPES=\"{bits}:{q}:{digit}\" where gpuint is \
             compiled"
        ),
        Err(reason) => reason,
    }
}

/// Errors of a part of the rows.
impl Error {
    /// Returns true if the device caused the error, so that another device may succeed.
    pub(crate) fn is_of_device(&self) -> bool {
        match self {
            Self::NoDevice
            | Self::OutOfMemory { .. }
            | Self::KernelMissing { .. }
            | Self::SharedMemory { .. }
            | Self::Compile { .. }
            | Self::Driver(_)
            | Self::DeviceLost(_)
            | Self::FaultyDevice { .. }
            | Self::Forked => true,
            Self::DivisionByZero { .. }
            | Self::TooWide { .. }
            | Self::LengthMismatch { .. }
            | Self::PartialRow { .. }
            | Self::ShapeMismatch { .. }
            | Self::ShapeMissing { .. }
            | Self::WidthMissing { .. }
            | Self::ModulusMismatch
            | Self::EvenModulus { .. }
            | Self::CommonDivisor { .. }
            | Self::NoPrime { .. }
            | Self::NoSuchRow { .. }
            | Self::NullRow { .. }
            | Self::Negative { .. }
            | Self::Parse { .. }
            | Self::DeviceMismatch
            | Self::DevicePointer { .. }
            | Self::Interrupted
            | Self::Tuning { .. } => false,
        }
    }

    /// The row whose value caused the error.
    fn row_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::DivisionByZero { row }
            | Self::TooWide { row, .. }
            | Self::EvenModulus { row }
            | Self::CommonDivisor { row }
            | Self::NullRow { row }
            | Self::Negative { row }
            | Self::FaultyDevice { row, .. }
            | Self::Parse { row, .. } => Some(row),
            _ => None,
        }
    }

    /// Returns the error of rows that begin at row `first`, with the row counted from row 0; and
    /// this row, or `first` if the error is not that of a row.
    pub(crate) fn counted_from(mut self, first: usize) -> (usize, Self) {
        let row = match self.row_mut() {
            Some(row) => {
                *row += first;
                *row
            }
            None => first,
        };
        (row, self)
    }
}
