//! Everything that can go wrong, in one enum.

use gpuint_catalogue::Shape;

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
///
/// Bad input is always answered by one of these: never by a panic, an abort or a wrong row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A divisor is zero.
    #[error("division by zero in row {row}")]
    DivisionByZero {
        /// The lowest row whose divisor is zero.
        row: usize,
    },

    /// A value needs more bits than a row of the batch has.
    #[error("the value of row {row} has {bits} bits, but rows are {width} bits wide")]
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
        /// The rows of the receiver.
        left: usize,
        /// The rows of the other operand.
        right: usize,
    },

    /// Bytes or digits that are not a whole number of rows.
    #[error("{len} bytes or digits are not whole rows of {row}")]
    PartialRow {
        /// The number of bytes or digits that were given.
        len: usize,
        /// The bytes or digits of a row.
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
        "no kernels are built for {} bits with Q = {} and {} digits; set \
         GPUINT_SHAPES=\"{}:{}:{}\" where gpuint is compiled, or use a shape of gpuint::shapes()",
        shape.bits, shape.q, shape.digit, shape.bits, shape.q, shape.digit
    )]
    ShapeMissing {
        /// The shape.
        shape: Shape,
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

    /// A row beyond the end of the batch was asked for.
    #[error("row {row} does not exist in a batch of {rows} rows")]
    NoSuchRow {
        /// The row that was asked for.
        row: usize,
        /// The number of rows in the batch.
        rows: usize,
    },

    /// A text is not a number in the base that was asked for.
    #[error("row {row}, column {column}: not a digit of base {base}")]
    Parse {
        /// The lowest row whose text is not a number.
        row: usize,
        /// The byte of the text that is not a digit, or its length where digits are missing.
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

    /// There is no CUDA driver, or no GPU of that number.
    #[error("no such CUDA device: no driver is installed, or there is no GPU of that number")]
    NoDevice,

    /// The device cannot hold a buffer of this size.
    #[error("out of memory: {bytes} bytes were asked for")]
    OutOfMemory {
        /// The size of the buffer, [`u64::MAX`] where even the size does not fit in 64 bits.
        bytes: u64,
    },

    /// There is no image of a kernel for this device, and none could be made at run time.
    #[error("the kernel {kernel} is missing: {remedy}")]
    KernelMissing {
        /// The name of the kernel.
        kernel: String,
        /// What to do about it.
        remedy: String,
    },

    /// The device has less shared memory per block than a kernel needs.
    #[error(
        "the kernel {kernel} needs {needed} bytes of shared memory per block, and the device has {available}"
    )]
    SharedMemory {
        /// The name of the kernel.
        kernel: String,
        /// The bytes that a block of the kernel needs.
        needed: u32,
        /// The bytes that a block can have on this device.
        available: u32,
    },

    /// A tuning table that `GPUINT_TUNING` names cannot be used.
    #[error("tuning table {table} (GPUINT_TUNING): {reason}")]
    Tuning {
        /// The name of the table or its file.
        table: String,
        /// What is wrong with it.
        reason: String,
    },

    /// The run-time compiler refused a kernel.
    #[error("a kernel did not compile:\n{log}")]
    Compile {
        /// What the compiler said.
        log: String,
    },

    /// The device or its driver refused a call. Later calls may succeed.
    #[error("the device reported: {0}")]
    Driver(String),

    /// A kernel or the hardware faulted, and the GPU is lost to this process: every later call on
    /// it fails with this error, and all results that were not read are lost.
    ///
    /// GPUs work behind the calls: the faulty call is any since the last one that read a result or
    /// synchronized, on any handle to this GPU, and not the call that returns this error. Start a
    /// new process; within one, other GPUs and [`Device::cpu`](crate::Device::cpu) still work.
    #[error(
        "the GPU is lost to this process, by this or an earlier call on it: {0}; start a new process"
    )]
    DeviceLost(String),
}
