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
mod library;
pub(crate) mod long;
mod once;
pub(crate) mod sieve;
#[cfg(feature = "simt")]
pub(crate) mod simt;
pub(crate) mod traced;

use std::any::Any;
use std::fmt::{self, Debug};
use std::ops::Range;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use gpuint_catalogue::{Equation, Operand, Param};

use crate::auto::Gpu;
use crate::backend::launch::Strides;
use crate::backend::sieve::{Divisions, Strikes, Windows};
use crate::error::{Error, Result};
use crate::kernel::KernelId;

/// The operands of a call, in the order of the operation's signature; what an operation does not
/// use stays empty.
#[derive(Debug, Default)]
pub(crate) struct Operands<'a> {
    pub(crate) ins: [Option<&'a Buffer>; 3],
    /// The factors of the products of a sum: `params.pairs` of them, or none.
    pub(crate) pairs: &'a [[&'a Buffer; 2]],
    pub(crate) outs: [Option<&'a mut Buffer>; 2],
    pub(crate) rows: usize,
    /// One bit a row, in 32-bit words; zeroed by the caller.
    pub(crate) mask: Option<&'a mut Buffer>,
    /// A 64-bit word, set to [`NO_ROW`] by the caller: the lowest row that failed.
    pub(crate) status: Option<&'a mut Buffer>,
    pub(crate) params: Params,
}

impl Operands<'_> {
    /// Borrows the operands, for one of several launches.
    pub(crate) fn reborrow(&mut self) -> Operands<'_> {
        let Operands { ins, pairs, outs, rows, mask, status, params } = self;
        Operands {
            ins: *ins,
            pairs,
            outs: outs.each_mut().map(Option::as_deref_mut),
            rows: *rows,
            mask: mask.as_deref_mut(),
            status: status.as_deref_mut(),
            params: *params,
        }
    }
}

/// The parameters of a call, the same for all rows. An operation ignores the default values of
/// parameters that it does not have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Params {
    /// One-digit divisor, not zero.
    pub(crate) digit: u64,
    /// Distance of a shift in bits, at most the width.
    pub(crate) distance: u32,
    /// Exponent of the power of two that is inverted, below twice the width.
    pub(crate) exponent: u32,
    /// Both halves of a wide product side by side in the first output.
    pub(crate) joined: bool,
    /// One row of prepared divisors for all rows.
    pub(crate) broadcast_divisor: bool,
    /// One row of exponents for all rows.
    pub(crate) broadcast_exponent: bool,
    /// One row of second operands for all rows.
    pub(crate) broadcast_rhs: bool,
    /// Truth table of a bitwise function.
    pub(crate) table: u32,
    /// Bits of a row of the result of a change of width.
    pub(crate) target_bits: u32,
    /// Bases of a product of powers.
    pub(crate) bases: usize,
    /// Products of a sum.
    pub(crate) pairs: usize,
    /// Bits of a row of the number whose parts are read.
    pub(crate) source_bits: u32,
    /// Bits of a part of a number.
    pub(crate) part_bits: u32,
    /// Equation that the rows of another operation satisfy.
    pub(crate) equation: Equation,
}

impl Params {
    /// The parameters that are not their default.
    fn given(&self) -> impl Iterator<Item = Param> {
        let Self {
            digit,
            distance,
            exponent,
            joined,
            broadcast_divisor,
            broadcast_exponent,
            broadcast_rhs,
            table,
            target_bits,
            bases,
            pairs,
            source_bits,
            part_bits,
            equation,
        } = *self;
        [
            (Param::Digit, digit != 0),
            (Param::Distance, distance != 0),
            (Param::Exponent, exponent != 0),
            (Param::Joined, joined),
            (Param::BroadcastDivisor, broadcast_divisor),
            (Param::BroadcastExponent, broadcast_exponent),
            (Param::BroadcastRhs, broadcast_rhs),
            (Param::Table, table != 0),
            (Param::TargetBits, target_bits != 0),
            (Param::Bases, bases != 0),
            (Param::Pairs, pairs != 0),
            (Param::SourceBits, source_bits != 0),
            (Param::PartBits, part_bits != 0),
            (Param::Equation, equation != Equation::default()),
        ]
        .into_iter()
        .filter_map(|(param, is_given)| is_given.then_some(param))
    }
}

/// The status word of a call in which no row failed.
pub(crate) const NO_ROW: u64 = u64::MAX;

/// The index of a gathered row that stays as it is (`kernels/rows/gather.cuh`).
pub(crate) const SKIPPED_ROW: u64 = u64::MAX;

/// A kernel and its operands: the work of a device. There is at least one row.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) kernel: KernelId,
    pub(crate) operands: Operands<'a>,
}

impl Call<'_> {
    /// The bytes of a row of an output.
    pub(crate) fn out_row_bytes(&self, index: usize) -> usize {
        let operand = self.kernel.op().signature().outputs[index];
        let bytes = operand.map_or(0, |operand| operand.row_bytes(self.kernel.shape()));
        let Params { joined, target_bits, .. } = self.operands.params;
        match operand {
            Some(Operand::Resized) => target_bits as usize / 8,
            _ if joined => 2 * bytes,
            _ => bytes,
        }
    }

    /// The bytes of a row of an input.
    pub(crate) fn in_row_bytes(&self, index: usize) -> usize {
        let operand = self.kernel.op().signature().inputs[index];
        let bytes = operand.map_or(0, |operand| operand.row_bytes(self.kernel.shape()));
        match operand {
            Some(Operand::Group) => bytes.saturating_mul(self.operands.params.bases),
            Some(Operand::Source) => self.operands.params.source_bits as usize / 8,
            _ => bytes,
        }
    }

    /// Returns true if one row of an input serves all rows.
    pub(crate) fn is_broadcast(&self, index: usize) -> bool {
        let Params { broadcast_divisor, broadcast_exponent, broadcast_rhs, .. } =
            self.operands.params;
        match self.kernel.op().signature().inputs[index] {
            Some(Operand::Prepared | Operand::OddModulus | Operand::SpecialModulus) => {
                broadcast_divisor
            }
            Some(Operand::Exponent) => broadcast_exponent,
            Some(Operand::Rhs) => broadcast_rhs,
            _ => false,
        }
    }

    /// Bytes from row to row of the operands; `None` if the rows cannot be processed in parts.
    pub(crate) fn strides(&self) -> Option<Strides> {
        let Operands { ins, mask, status, pairs, .. } = &self.operands;
        let inputs = self.kernel.op().signature().inputs;
        let is_by_rows =
            |operand: &Option<Operand>| !matches!(operand, Some(Operand::Indexed | Operand::Bits));
        let in_stride = |index| match ins[index] {
            Some(_) if !self.is_broadcast(index) => self.in_row_bytes(index),
            _ => 0,
        };
        let has_rows_only = mask.is_none() && status.is_none() && pairs.is_empty();
        (has_rows_only && inputs.iter().all(is_by_rows)).then(|| Strides {
            ins: [0, 1, 2].map(in_stride),
            outs: [0, 1].map(|index| self.out_row_bytes(index)),
        })
    }

    /// Rows of an input that a kernel may read; none of an indexed one, whose indices the caller
    /// has checked.
    fn in_rows(&self, index: usize) -> usize {
        let rows = self.operands.rows;
        match self.kernel.op().signature().inputs[index] {
            Some(Operand::Indexed) => 0,
            Some(Operand::Bits) => rows.div_ceil(32),
            _ if self.is_broadcast(index) => 1,
            _ => rows,
        }
    }

    /// Checks the operands against the signature of the operation, and that every buffer holds what
    /// the kernel reads and writes: the bound that the kernels rely on.
    pub(crate) fn check(&self) -> Result<()> {
        let Operands { ins, pairs, outs, rows, mask, status, params } = &self.operands;
        let signature = self.kernel.op().signature();
        let is_given = |i: usize| match signature.inputs[i] {
            Some(Operand::Factors) => ins[i].is_none(),
            operand => ins[i].is_some() == operand.is_some(),
        };
        let has_pairs = signature.inputs.contains(&Some(Operand::Factors));
        let is_signed = (0..ins.len()).all(is_given)
            && has_pairs != pairs.is_empty()
            && pairs.len() == params.pairs
            && (0..outs.len()).all(|i| outs[i].is_none() || signature.outputs[i].is_some())
            && (mask.is_none() || signature.mask)
            && (status.is_none() || signature.status)
            && params.given().all(|param| signature.params.contains(&param));
        if !is_signed {
            let reason = "the operands are not those of the operation";
            return Err(Error::Driver(format!("{}: {reason}", self.kernel)));
        }
        let holds = |buffer: Option<&Buffer>, units: usize, unit_bytes: usize| {
            buffer.is_none_or(|buffer| {
                (units as u64)
                    .checked_mul(unit_bytes as u64)
                    .is_some_and(|bytes| bytes <= buffer.bytes())
            })
        };
        let fits = (0..ins.len())
            .all(|index| holds(ins[index], self.in_rows(index), self.in_row_bytes(index)))
            && pairs
                .as_flattened()
                .iter()
                .all(|factor| holds(Some(factor), *rows, self.kernel.shape().bytes()))
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

/// The memory behind a [`Buffer`], of the backend's own type.
pub(crate) trait Memory: Any + Debug + Send + Sync {
    /// The size in bytes.
    fn bytes(&self) -> u64;

    /// Returns true if the memory belongs to another library.
    fn is_foreign(&self) -> bool {
        false
    }
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

    /// Returns true if the memory belongs to another library: rows stay in it.
    pub(crate) fn is_foreign(&self) -> bool {
        self.0.is_foreign()
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

/// A part of a buffer that is copied in parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// First byte of the part of the buffer.
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
    /// Bytes of a unit; parts of the copy are whole units.
    pub(crate) unit: usize,
}

/// A point in the queue of a device.
pub(crate) trait Mark: Any + Debug + Send + Sync {
    /// Returns true if the queue is beyond the point.
    fn has_passed(&self) -> Result<bool>;

    /// Waits until the queue is beyond the point.
    fn wait(&self) -> Result<()>;

    /// Wakes a task when the queue is beyond the point, or has failed.
    fn wake(&self, waker: Waker) -> Result<()>;
}

/// Host memory that a device copies by itself: page-locked where it is a GPU.
pub(crate) trait HostBuffer: Any + Debug + Send + Sync {
    /// Waits for the last copy, and returns the bytes.
    fn bytes(&self) -> Result<&[u8]>;

    /// Waits for the last copy, and returns the bytes.
    fn bytes_mut(&mut self) -> Result<&mut [u8]>;

    /// The point behind the last copy that was queued; `None` where all have ended.
    fn last_copy(&self) -> Option<Arc<dyn Mark>>;
}

/// A kind of device. One value is one device with its queue of work: calls take effect in the
/// order in which they are made, and `download` and `synchronize` wait for all before them.
pub(crate) trait Backend: Debug + Send + Sync {
    /// What kind of device this is.
    fn kind(&self) -> BackendKind;

    /// Checks that the device works in this process.
    ///
    /// # Errors
    /// [`Forked`](Error::Forked).
    fn check_process(&self) -> Result<()> {
        Ok(())
    }

    /// The GPU, where this is one.
    fn as_cuda(&self) -> Option<&cuda::Cuda> {
        None
    }

    /// The name of the device: a product's where there is one.
    fn name(&self) -> String {
        self.kind().to_string()
    }

    /// The properties by which algorithms are chosen, where the device is a GPU.
    fn gpu(&self) -> Option<Gpu> {
        None
    }

    /// The device in words, for people.
    fn describe(&self) -> String;

    /// Memory whose contents are not specified. `bytes` may be 0.
    fn alloc(&self, bytes: u64) -> Result<Buffer>;

    /// Memory of zeros. `bytes` may be 0.
    fn alloc_zeroed(&self, bytes: u64) -> Result<Buffer>;

    /// Sets every byte of a buffer.
    fn fill(&self, target: &mut Buffer, byte: u8) -> Result<()>;

    /// Copies from the host to a part of `target`: `fill(start, bytes)` writes each of its parts,
    /// in order, the one that begins at byte `start` of the copy. Returns when all of them are
    /// written; where it fails, the contents of `target` are not specified.
    fn upload_parts(
        &self,
        target: &mut Buffer,
        span: Span,
        fill: &mut dyn FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()>;

    /// Copies a part of `source` to the host: `read(start, bytes)` reads each of its parts, in
    /// order, the one that begins at byte `start` of the copy.
    fn download_parts(
        &self,
        source: &Buffer,
        span: Span,
        read: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()>;

    /// Copies from the host to `target`, from byte `offset` on. `source` is free when this returns.
    fn upload(&self, target: &mut Buffer, offset: u64, source: &[u8]) -> Result<()> {
        let span = Span { offset, bytes: source.len(), unit: 1 };
        self.upload_parts(target, span, &mut |start, part| {
            host::copy_bytes(&source[start..][..part.len()], part);
            Ok(())
        })
    }

    /// Copies from byte `offset` of `source` on to the host.
    fn download(&self, source: &Buffer, offset: u64, target: &mut [u8]) -> Result<()> {
        let span = Span { offset, bytes: target.len(), unit: 1 };
        self.download_parts(source, span, &mut |start, part| {
            host::copy_bytes(part, &mut target[start..][..part.len()]);
            Ok(())
        })
    }

    /// Allocates zeros in host memory that the device copies by itself.
    fn alloc_host(&self, bytes: usize) -> Result<Box<dyn HostBuffer>>;

    /// Queues a copy of a part of `source` to `target`, from byte `offset` on.
    fn upload_from(
        &self,
        target: &mut Buffer,
        offset: u64,
        source: &mut dyn HostBuffer,
        part: Range<usize>,
    ) -> Result<()>;

    /// Queues a copy from byte `offset` of `source` on to a part of `target`.
    fn download_to(
        &self,
        source: &Buffer,
        offset: u64,
        target: &mut dyn HostBuffer,
        part: Range<usize>,
    ) -> Result<()>;

    /// Queues a copy of `bytes` bytes of `source`, from byte `from` on, to `target`, from byte `to`
    /// on.
    fn copy(
        &self,
        target: &mut Buffer,
        to: u64,
        source: &Buffer,
        from: u64,
        bytes: u64,
    ) -> Result<()>;

    /// Queues a kernel.
    fn launch(&self, call: Call<'_>) -> Result<()>;

    /// Returns true if the device computes products and sums of long rows.
    fn has_long_rows(&self) -> bool {
        false
    }

    /// Returns true if the device sieves and divides by small primes.
    fn has_sieves(&self) -> bool {
        false
    }

    /// Queues strikes of a sieve.
    fn strike(&self, _strikes: Strikes<'_>) -> Result<()> {
        Err(sieve::missing())
    }

    /// Queues divisions of rows by primes.
    fn divide_by_primes(&self, _divisions: Divisions<'_>) -> Result<()> {
        Err(sieve::missing())
    }

    /// Queues sieves of windows above rows.
    fn sieve_windows(&self, _windows: Windows<'_>) -> Result<()> {
        Err(sieve::missing())
    }

    /// The point behind all that was queued so far.
    fn record(&self) -> Result<Arc<dyn Mark>>;

    /// Delays all later work of this queue until a point in another queue.
    fn wait_for(&self, mark: &dyn Mark) -> Result<()>;

    /// A new queue of the same device; `None` where calls end before they return.
    fn queue(&self) -> Result<Option<Box<dyn Backend>>>;

    /// The same number for all queues that share memory; `None` where no others do.
    fn memory_id(&self) -> Option<usize>;

    /// Waits for all work queued so far.
    fn synchronize(&self) -> Result<()>;

    /// Waits for all work queued so far, and gives memory that no buffer uses back to the system.
    fn trim(&self) -> Result<()> {
        self.synchronize()
    }

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
    /// The CPU, by loops over limbs, or by GMP (feature `gmp`).
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
