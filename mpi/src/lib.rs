//! Rows of [`gpuint`] on several machines, by MPI with one rank for each GPU.
//!
//! [`Ranks::open_device`] opens the GPU of a rank. Rank 0 has all rows; [`Ranks::scatter`] gives
//! each rank an equal part, and [`Ranks::gather`] returns the results to rank 0, in order. A part
//! in a [`HostBatch`](gpuint::HostBatch) is pinned memory, which the GPU copies directly. Messages
//! are at most 1 GiB long, because MPI counts their bytes in 31 bits; the rows may be any number.
//!
//! ```no_run
//! use gpuint::{DynBatch, HostBatch, narrowest};
//! use gpuint_mpi::Ranks;
//! use mpi::environment::{Threading, initialize_with_threading};
//!
//! let (universe, _) = initialize_with_threading(Threading::Funneled).expect("MPI starts once");
//! let ranks = Ranks::over(&universe.world());
//! let device = ranks.open_device()?;
//! let shape = narrowest(1024).expect("a width of the build");
//! let rows = 1_000_000;
//! let mut all = vec![0; if ranks.is_root() { rows * shape.bytes() } else { 0 }];
//!
//! let mut part = HostBatch::new(&device, shape, ranks.share(rows, ranks.rank()).len())?;
//! ranks.scatter(rows, shape.bytes(), &all, part.as_bytes_mut()?)?;
//! let mut batch = DynBatch::zeros(&device, shape, part.len())?;
//! batch.upload(0, &mut part)?;
//! batch.wrapping_square()?.download(0, &mut part)?;
//! ranks.gather(rows, shape.bytes(), part.as_bytes()?, &mut all)?;
//! # Ok::<(), gpuint::Error>(())
//! ```
//!
//! All ranks make the same calls with the same numbers of rows, on the thread that started MPI. MPI
//! ends all ranks if one of them ends without finishing MPI; call `abort` of the communicator at an
//! error that one rank has and others wait for.

mod trees;

use std::fmt;
use std::ops::Range;

use gpuint::{Device, Error, Result};
pub use mpi;
use mpi::request::scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};

pub use self::trees::RankDivisors;

/// Longest message, in bytes. MPI counts elements by a C `int`.
const MESSAGE_BYTES: usize = 1 << 30;

/// Ranks of MPI that compute rows together. Rank 0 is the root, which has all rows.
pub struct Ranks {
    world: SimpleCommunicator,
    message_bytes: usize,
}

impl Ranks {
    /// Makes a communicator with the ranks of `communicator`, whose messages do not meet those of
    /// others. All ranks call this.
    #[must_use]
    pub fn over(communicator: &impl Communicator) -> Self {
        Self { world: communicator.duplicate(), message_bytes: MESSAGE_BYTES }
    }

    /// Bounds the messages to this number of bytes, at least 1. A test sends many short ones.
    #[doc(hidden)]
    #[must_use]
    pub fn with_messages_of(self, bytes: usize) -> Self {
        Self { message_bytes: bytes.clamp(1, MESSAGE_BYTES), ..self }
    }

    /// The communicator.
    #[must_use]
    pub fn communicator(&self) -> &impl Communicator {
        &self.world
    }

    /// Number of this rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        index(self.world.rank())
    }

    /// Number of ranks.
    #[must_use]
    pub fn count(&self) -> usize {
        index(self.world.size())
    }

    /// Returns true for rank 0.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.world.rank() == 0
    }

    /// Opens the device of this rank: on each machine the first rank takes the first GPU and so on,
    /// from the beginning again if there are more ranks than GPUs. Without a GPU it is the CPU. All
    /// ranks call this.
    ///
    /// # Errors
    /// [`Driver`](Error::Driver) if there is a GPU that cannot be used.
    pub fn open_device(&self) -> Result<Device> {
        let local = index(self.world.split_shared(self.world.rank()).rank());
        match Device::cuda_count()? {
            0 => Ok(Device::cpu()),
            gpus => Device::cuda(local % gpus),
        }
    }

    /// Returns the rows that `rank` computes, of `rows` in all: consecutive, and equally many but
    /// for one.
    #[must_use]
    pub fn share(&self, rows: usize, rank: usize) -> Range<usize> {
        let start = |rank: usize| {
            // At most the number of rows.
            (rows as u128 * rank as u128 / self.count() as u128) as usize
        };
        start(rank)..start(rank + 1)
    }

    /// Copies the rows of each rank's [`share`](Self::share) from `all` of rank 0, which other
    /// ranks leave empty, to `part` of the rank. A row has `row_bytes` bytes.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if a slice of this rank has another number of
    /// bytes. Other ranks then still wait.
    pub fn scatter(
        &self,
        rows: usize,
        row_bytes: usize,
        all: &[u8],
        part: &mut [u8],
    ) -> Result<()> {
        self.check(rows, row_bytes, all, part)?;
        if !self.is_root() {
            let root = self.world.process_at_rank(0);
            part.chunks_mut(self.message_bytes).for_each(|bytes| _ = root.receive_into(bytes));
            return Ok(());
        }
        scope(|scope| {
            let mut requests = Vec::new();
            let mut rest = all;
            for rank in 0..self.count() {
                let theirs =
                    rest.split_off(..self.share_bytes(rows, row_bytes, rank)).unwrap_or_default();
                if rank == 0 {
                    part.copy_from_slice(theirs);
                    continue;
                }
                let process = self.world.process_at_rank(rank as i32);
                let messages = theirs.chunks(self.message_bytes);
                requests.extend(messages.map(|bytes| process.immediate_send(scope, bytes)));
            }
            requests.into_iter().for_each(|request| _ = request.wait());
        });
        Ok(())
    }

    /// Copies `part` of each rank to the rows of its [`share`](Self::share) in `all` of rank 0,
    /// which other ranks leave empty. A row has `row_bytes` bytes.
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter).
    pub fn gather(&self, rows: usize, row_bytes: usize, part: &[u8], all: &mut [u8]) -> Result<()> {
        self.check(rows, row_bytes, all, part)?;
        if !self.is_root() {
            let root = self.world.process_at_rank(0);
            part.chunks(self.message_bytes).for_each(|bytes| root.send(bytes));
            return Ok(());
        }
        scope(|scope| {
            let mut requests = Vec::new();
            let mut rest = all;
            for rank in 0..self.count() {
                let bytes = self.share_bytes(rows, row_bytes, rank);
                let theirs = rest.split_off_mut(..bytes).unwrap_or_default();
                if rank == 0 {
                    theirs.copy_from_slice(part);
                    continue;
                }
                let process = self.world.process_at_rank(rank as i32);
                let messages = theirs.chunks_mut(self.message_bytes);
                requests.extend(messages.map(|bytes| process.immediate_receive_into(scope, bytes)));
            }
            requests.into_iter().for_each(|request| _ = request.wait());
        });
        Ok(())
    }

    /// Bytes of the rows of a rank.
    fn share_bytes(&self, rows: usize, row_bytes: usize, rank: usize) -> usize {
        self.share(rows, rank).len().saturating_mul(row_bytes)
    }

    /// Checks the lengths of the slices of this rank.
    fn check(&self, rows: usize, row_bytes: usize, all: &[u8], part: &[u8]) -> Result<()> {
        let bytes = |rows: usize| rows.saturating_mul(row_bytes);
        let whole = if self.is_root() { bytes(rows) } else { 0 };
        let own = self.share_bytes(rows, row_bytes, self.rank());
        for (expected, len) in [(whole, all.len()), (own, part.len())] {
            if expected != len {
                return Err(Error::LengthMismatch { left: expected, right: len });
            }
        }
        Ok(())
    }
}

/// The rank and the number of ranks.
impl fmt::Debug for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ranks({} of {})", self.rank(), self.count())
    }
}

/// A rank or a number of ranks, which MPI does not make negative.
fn index(number: i32) -> usize {
    usize::try_from(number).unwrap_or(0)
}
