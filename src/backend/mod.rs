//! The seam between operations and devices.
//!
//! An operation is data: a [`Call`] names a kernel and its operands. The cuda and simt backends
//! turn it into a kernel name and a launch, the cpu backend into a function per row. A new backend
//! implements [`Backend`] and its own [`Memory`], and nothing else changes.

mod buffer;
mod call;
pub(crate) mod cpu;
pub(crate) mod cuda;
mod freed;
pub(crate) mod host;
pub(crate) mod images;
pub(crate) mod launch;
mod library;
pub(crate) mod long;
mod once;
mod pages;
pub(crate) mod sieve;
#[cfg(feature = "simt")]
pub(crate) mod simt;
pub(crate) mod traced;

use std::any::Any;
use std::fmt::{self, Debug};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpuint_catalogue::auto::Gpu;

use crate::backend::long::{KeptProducts, Transforms};
use crate::backend::sieve::{Divisions, Strikes, Windows};
use crate::error::Result;

pub(crate) use buffer::{Buffer, HostBuffer, Mark, Memory, Span};
pub use call::Params;
pub(crate) use call::{Call, NO_ROW, Operands, SKIPPED_ROW, Strides};

/// A kind of device. One value is one device with its queue of work: calls take effect in the
/// order in which they are made, and `download` and `synchronize` wait for all before them.
pub(crate) trait Backend: Debug + Send + Sync {
    /// Returns the kind of the device.
    fn kind(&self) -> BackendKind;

    /// Checks that the device works in this process.
    ///
    /// # Errors
    /// [`Forked`](Error::Forked).
    fn check_process(&self) -> Result<()> {
        Ok(())
    }

    /// The device as its own type, for functions that other devices do not have.
    fn as_any(&self) -> Option<&dyn Any> {
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

    /// Returns true if the device keeps transforms of long rows.
    fn has_transforms(&self) -> bool {
        false
    }

    /// Queues transforms of long rows.
    fn transform(&self, _transforms: Transforms<'_>) -> Result<()> {
        Err(long::missing())
    }

    /// Queues products of long rows and factors with kept transforms.
    fn multiply(&self, _products: KeptProducts<'_>) -> Result<()> {
        Err(long::missing())
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

/// Kind of device that runs the operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum BackendKind {
    /// An NVIDIA GPU.
    Cuda,
    /// The CPU, by loops over limbs, or by GMP (feature `gmp`).
    Cpu,
    /// The CUDA kernels, compiled for the CPU (feature `simt`).
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
