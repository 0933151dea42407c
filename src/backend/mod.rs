//! The seam between operations and devices.
//!
//! An operation is data: a [`Call`] names a kernel and its operands. The cuda and simt backends
//! turn it into a kernel name and a launch, the cpu backend into a function per row. A new backend
//! implements [`Backend`] and its own [`Memory`], and nothing else changes.

pub(crate) mod cpu;
pub(crate) mod cuda;
pub(crate) mod host;
pub(crate) mod images;
pub(crate) mod launch;
#[cfg(feature = "simt")]
pub(crate) mod simt;
pub(crate) mod traced;

use std::any::Any;
use std::fmt::{self, Debug};
use std::time::{Duration, Instant};

use crate::codegen::Entry;
use crate::error::{Error, Result};
use crate::shape::{Shape, TASKS, block};
use crate::strategy::Strategy;

/// What a kernel computes.
///
/// `in` and `out` are the operands of the kernel, one integer a row; `mask` has one bit a row,
/// `status` is the lowest row that failed, `scalar` is the same for all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Op {
    /// `out[0] = in[0] + in[1] mod 2^BITS`; mask: the carry out.
    Add,
    /// `out[0] = in[0] - in[1] mod 2^BITS`; mask: the borrow out.
    Sub,
    /// `out[0] = in[0] * in[1] mod 2^BITS`.
    MulLow,
    /// `in[0] * in[1]`: the low half to `out[0]` and the high half to `out[1]`, or with
    /// `scalar = 1` both halves of a row side by side to `out[0]`.
    MulWide,
    /// `out[0] = in[0]^2 mod 2^BITS`.
    SquareLow,
    /// `out[0] = in[0] / in[1]`, `out[1] = in[0] mod in[1]`; mask and status: rows where
    /// `in[1] = 0`, whose quotient is all ones and whose remainder is `in[0]`.
    DivRem,
    /// `out[0] = 2^scalar / in[0]`; status: rows where `in[0] = 0` or the result is too wide.
    ShiftedInverse,
    /// `out[0]`: what divisions by `in[0]` need, prepared; status: rows where `in[0] = 0`.
    ///
    /// A prepared divisor is `in[2]` of the operations below. Bits of `scalar` say what there is
    /// one of for all rows: 1 for the divisor, 2 for the exponent.
    Prepare,
    /// `out[0] = in[0] / in[2]`, `out[1] = in[0] mod in[2]`, either may be left out.
    DivRemBy,
    /// `out[0] = in[0] * in[1] mod in[2]`.
    MulMod,
    /// `out[0] = in[0]^2 mod in[2]`.
    SquareMod,
    /// `out[0] = in[0]^in[1] mod in[2]`.
    PowMod,
    /// `out[0] = in[0] / scalar`, which may be left out; `out[1]`: a `u64` a row,
    /// `in[0] mod scalar`. The scalar is taken as unsigned, and not zero.
    DivRemDigit,
    /// `out[0] = in[0] * 2^scalar mod 2^BITS`.
    ShiftLeft,
    /// `out[0] = in[0] / 2^scalar`.
    ShiftRight,
    /// `out[0]`: an `i8` a row, -1, 0 or 1 as `in[0]` is less than, equal to or above `in[1]`.
    Compare,
    /// mask: `in[0] = in[1]`.
    Equal,
    /// mask: `in[0] < in[1]`.
    Less,
    /// mask: `in[0] = 0`.
    IsZero,
    /// `out[0]`: a `u32` a row, the bits of `in[0]` without leading zeros.
    BitLength,
}

impl Op {
    /// The operation's part of a kernel name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::MulLow => "mul_lo",
            Self::MulWide => "mul_wide",
            Self::SquareLow => "sqr_lo",
            Self::DivRem => "div_rem",
            Self::ShiftedInverse => "shinv",
            Self::Prepare => "prepare",
            Self::DivRemBy => "div_rem_by",
            Self::MulMod => "mul_mod",
            Self::SquareMod => "sqr_mod",
            Self::PowMod => "pow_mod",
            Self::DivRemDigit => "div_rem_digit",
            Self::ShiftLeft => "shl",
            Self::ShiftRight => "shr",
            Self::Compare => "cmp",
            Self::Equal => "eq_mask",
            Self::Less => "lt_mask",
            Self::IsZero => "is_zero",
            Self::BitLength => "bit_len",
        }
    }
}

/// A kernel: an operation, how it is done, and the shape it is done on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Kernel {
    pub(crate) op: Op,
    pub(crate) strategy: Strategy,
    pub(crate) shape: Shape,
}

impl Kernel {
    /// The catalogue's name of what the kernel does: `mul_lo_classical`, `add`.
    pub(crate) fn task(&self) -> String {
        match self.strategy {
            Strategy::None => self.op.name().to_owned(),
            strategy => format!("{}_{strategy}", self.op.name()),
        }
    }

    /// What translation units say of it; `None` where the catalogue does not offer it.
    pub(crate) fn entry(&self) -> Option<Entry<'static>> {
        let Shape { bits, q, digit } = self.shape;
        let (name, digit) = (self.task(), digit.name());
        let task = TASKS.iter().find(|task| task.name == name && task.is_offered(bits, digit))?;
        Some(Entry { task: *task, bits, q, digit, block: block(task.name, self.shape) })
    }
}

/// The name of the kernel's entry point: `gpuint_mul_lo_classical_b8192_q4_u64`.
impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry() {
            Some(entry) => f.write_str(&entry.name()),
            None => write!(f, "gpuint_{}_{}", self.task(), self.shape),
        }
    }
}

/// The operands of a call; what an operation does not use stays empty.
///
/// Rows of `ins` and `outs` are whole integers of the shape, one after the other, except where
/// [`Op`] says otherwise.
#[derive(Debug, Default)]
pub(crate) struct Operands<'a> {
    pub(crate) ins: [Option<&'a Buffer>; 3],
    pub(crate) outs: [Option<&'a mut Buffer>; 2],
    pub(crate) rows: usize,
    /// One bit a row, in 32-bit words; zeroed by the caller.
    pub(crate) mask: Option<&'a mut Buffer>,
    /// A 64-bit word, set to [`NO_ROW`] by the caller: the lowest row that failed.
    pub(crate) status: Option<&'a mut Buffer>,
    /// What is the same for all rows, as [`Op`] says.
    pub(crate) scalar: i64,
}

/// The status word of a call in which no row failed.
pub(crate) const NO_ROW: u64 = u64::MAX;

/// A kernel and its operands: what a device is asked to do. There is at least one row.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) kernel: Kernel,
    pub(crate) operands: Operands<'a>,
}

impl Call<'_> {
    /// The bytes of a row of an output.
    pub(crate) fn out_row_bytes(&self, index: usize) -> usize {
        let integer = self.kernel.shape.bytes();
        match (self.kernel.op, index) {
            (Op::Compare, _) => size_of::<i8>(),
            (Op::BitLength, _) => size_of::<u32>(),
            (Op::DivRemDigit, 1) => size_of::<u64>(),
            (Op::Prepare, _) => self.kernel.shape.prepared_bytes(),
            (Op::MulWide, _) if self.operands.scalar == SIDE_BY_SIDE => 2 * integer,
            _ => integer,
        }
    }

    /// The bytes of a row of an input.
    pub(crate) fn in_row_bytes(&self, index: usize) -> usize {
        match index {
            PREPARED => self.kernel.shape.prepared_bytes(),
            _ => self.kernel.shape.bytes(),
        }
    }

    /// Whether all rows have one row of an input in common.
    pub(crate) fn is_one_for_all(&self, index: usize) -> bool {
        let scalar = self.operands.scalar;
        match (self.kernel.op, index) {
            (Op::DivRemBy | Op::MulMod | Op::SquareMod | Op::PowMod, PREPARED) => {
                scalar & ONE_DIVISOR != 0
            }
            (Op::PowMod, 1) => scalar & ONE_EXPONENT != 0,
            _ => false,
        }
    }

    /// Checks that every buffer holds what the kernel will read and write: the bound that the
    /// kernels rely on.
    pub(crate) fn check(&self) -> Result<()> {
        let Operands { ins, outs, rows, mask, status, .. } = &self.operands;
        let holds = |buffer: Option<&Buffer>, units: usize, unit_bytes: usize| {
            buffer.is_none_or(|buffer| {
                (units as u64)
                    .checked_mul(unit_bytes as u64)
                    .is_some_and(|bytes| bytes <= buffer.bytes())
            })
        };
        let in_rows = |index| if self.is_one_for_all(index) { 1 } else { *rows };
        let fits = (0..ins.len())
            .all(|index| holds(ins[index], in_rows(index), self.in_row_bytes(index)))
            && (0..outs.len())
                .all(|index| holds(outs[index].as_deref(), *rows, self.out_row_bytes(index)))
            && holds(mask.as_deref(), rows.div_ceil(32), size_of::<u32>())
            && holds(status.as_deref(), 1, size_of::<u64>());
        if fits {
            return Ok(());
        }
        Err(Error::Driver(format!("{}: a buffer is shorter than its {rows} rows", self.kernel)))
    }
}

/// The `scalar` of [`Op::MulWide`] that writes both halves of a product to `out[0]`.
pub(crate) const SIDE_BY_SIDE: i64 = 1;

/// The input that is prepared divisors.
const PREPARED: usize = 2;
/// The bits of `scalar` that say what there is one of for all rows (`kernels/div/prepare.cuh`).
pub(crate) const ONE_DIVISOR: i64 = 1;
pub(crate) const ONE_EXPONENT: i64 = 2;

/// The memory behind a [`Buffer`], of the backend's own type.
pub(crate) trait Memory: Any + Debug + Send + Sync {
    /// The size in bytes.
    fn bytes(&self) -> u64;
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

/// A kind of device. One value is one device with its queue of work: calls take effect in the
/// order in which they are made, and `download` and `synchronize` wait for all before them.
pub(crate) trait Backend: Debug + Send + Sync {
    /// What kind of device this is.
    fn kind(&self) -> BackendKind;

    /// The name of the device: a product's where there is one.
    fn name(&self) -> String {
        self.kind().to_string()
    }

    /// The device in words, for people.
    fn describe(&self) -> String;

    /// Memory whose contents are not specified. `bytes` may be 0.
    fn alloc(&self, bytes: u64) -> Result<Buffer>;

    /// Memory of zeros. `bytes` may be 0.
    fn alloc_zeroed(&self, bytes: u64) -> Result<Buffer>;

    /// Sets every byte of a buffer.
    fn fill(&self, target: &mut Buffer, byte: u8) -> Result<()>;

    /// Copies from the host to `target`, from byte `offset` on.
    fn upload(&self, target: &mut Buffer, offset: u64, source: &[u8]) -> Result<()>;

    /// Copies from byte `offset` of `source` on to the host.
    fn download(&self, source: &Buffer, offset: u64, target: &mut [u8]) -> Result<()>;

    /// Copies all of `source` to a buffer of the same size.
    fn copy(&self, target: &mut Buffer, source: &Buffer) -> Result<()>;

    /// Queues a kernel.
    fn launch(&self, call: Call<'_>) -> Result<()>;

    /// Waits for all work queued so far.
    fn synchronize(&self) -> Result<()>;

    /// Does `work`, waits for what it queues, and returns how long the device took for that.
    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        self.synchronize()?;
        let start = Instant::now();
        work()?;
        self.synchronize()?;
        Ok(start.elapsed())
    }
}

/// What kind of device runs the operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum BackendKind {
    /// An NVIDIA GPU.
    Cuda,
    /// The processor, through `num-bigint`.
    Cpu,
    /// The processor, running the CUDA kernels themselves (feature `simt`).
    Simt,
}

impl BackendKind {
    /// `"cuda"`, `"cpu"` or `"simt"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Cpu => "cpu",
            Self::Simt => "simt",
        }
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
