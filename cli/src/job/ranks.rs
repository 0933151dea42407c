//! Ranks of MPI that compute rows for rank 0.
//!
//! Rank 0 runs the job: it reads, verifies and writes; each rank, rank 0 included, computes an
//! equal part of the rows on its device. For the rows of each width, rank 0 broadcasts an order and
//! scatters the operands; it gathers the results, and a message from each rank whose device failed.
//! Rank 0 then computes the rows of that rank itself.

use std::error;
use std::io::{self, Write};
use std::ops::Range;
use std::process::ExitCode;

use gpuint::{BackendKind, Device, Error, HostBatch, Pool, Result, Shape};
use gpuint_mpi::Ranks;
use gpuint_mpi::mpi::environment::{Threading, initialize_with_threading};
use gpuint_mpi::mpi::traits::{Communicator, Root};

use super::devices::{BackendChoice, DeviceOptions, names};

/// The ranks, and the device of this one.
#[derive(Debug)]
pub struct Cluster {
    pub ranks: Ranks,
    pub pool: Pool,
}

/// Rows that all ranks compute.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    pub shape: Shape,
    pub rows: usize,
    /// A number of the job.
    pub detail: u64,
}

/// Width in bits, number of rows, and the number of the job. A width of 0 ends the job.
type Message = [u64; 3];

/// Bytes of the message of a rank: empty, or the error, cut, with zeros behind.
const MESSAGE_BYTES: usize = 256;

/// Runs a job on all ranks that mpirun started: `run` on rank 0, and `serve` for each of its orders
/// on the others.
///
/// # Errors
/// Those of `run`, and a second start of MPI.
pub fn run_on_ranks(
    name: &str,
    options: &DeviceOptions,
    serve: impl Fn(&Cluster, Order) -> Result<()>,
    run: impl FnOnce(&Cluster) -> Result<ExitCode, Box<dyn error::Error>>,
) -> Result<ExitCode, Box<dyn error::Error>> {
    // Only this thread calls MPI.
    let (universe, _) =
        initialize_with_threading(Threading::Funneled).ok_or("MPI is started already")?;
    let ranks = Ranks::over(&universe.world());
    let rank = ranks.rank();
    let opened = Cluster::open(ranks, options);
    let served = opened.and_then(|cluster| match rank {
        0 => Ok(Some(cluster)),
        _ => cluster.serve(serve).map(|()| None),
    });
    match served {
        Ok(None) => Ok(ExitCode::SUCCESS),
        Ok(Some(cluster)) => run(&cluster),
        Err(error) => {
            let _ = writeln!(io::stderr(), "{name}: rank {rank}: {error}");
            // Other ranks may wait for this one.
            universe.world().abort(2)
        }
    }
}

impl Cluster {
    /// Opens the device of this rank.
    fn open(ranks: Ranks, options: &DeviceOptions) -> Result<Self> {
        let backend = options.backend;
        let mut device = match backend {
            BackendChoice::Cpu => Device::cpu(),
            #[cfg(feature = "simt")]
            BackendChoice::Simt => Device::simt(),
            BackendChoice::Auto | BackendChoice::Cuda => {
                let device = ranks.open_device()?;
                if backend == BackendChoice::Cuda && device.backend() != BackendKind::Cuda {
                    return Err(Error::NoDevice);
                }
                device
            }
        };
        if options.verified {
            device = device.verified();
        }
        Ok(Self { ranks, pool: Pool::of([device])? })
    }

    /// Computes the orders of rank 0, until it ends.
    fn serve(&self, compute: impl Fn(&Self, Order) -> Result<()>) -> Result<()> {
        loop {
            let mut message = Message::default();
            self.broadcast(&mut message);
            let [bits, rows, detail] = message;
            if bits == 0 {
                return Ok(());
            }
            let shape = self.pool.devices()[0].shape_for(bits as usize)?;
            if shape.bits as u64 != bits {
                return Err(other_build(bits));
            }
            compute(self, Order { shape, rows: rows as usize, detail })?;
        }
    }

    /// At rank 0, gives the other ranks an order.
    pub fn order(&self, order: Order) {
        let Order { shape, rows, detail } = order;
        self.broadcast(&mut [shape.bits as u64, rows as u64, detail]);
    }

    fn broadcast(&self, message: &mut Message) {
        let root = self.ranks.communicator().process_at_rank(0);
        root.broadcast_into(&mut message[..]);
    }

    /// Returns zeros for this rank's share of the rows, in memory of the host.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory).
    pub fn share(&self, order: Order) -> Result<HostBatch> {
        let rows = self.ranks.share(order.rows, self.ranks.rank()).len();
        HostBatch::new(&Device::cpu(), order.shape, rows)
    }

    /// Returns the messages of all ranks at rank 0.
    pub fn gather_messages(&self, message: &str) -> Vec<String> {
        let root = self.ranks.communicator().process_at_rank(0);
        let mut bytes = [0; MESSAGE_BYTES];
        bytes.iter_mut().zip(message.bytes()).for_each(|(place, byte)| *place = byte);
        if !self.ranks.is_root() {
            root.gather_into(&bytes[..]);
            return Vec::new();
        }
        let mut all = vec![0; self.ranks.count() * MESSAGE_BYTES];
        root.gather_into_root(&bytes[..], &mut all[..]);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
        all.chunks(MESSAGE_BYTES).map(text).collect()
    }

    /// Computes the rows of the ranks with a message by `again`. Returns the ranks with their
    /// messages.
    ///
    /// # Errors
    /// Those of `again`.
    pub fn repeat_failed(
        &self,
        rows: usize,
        messages: &[String],
        mut again: impl FnMut(Range<usize>) -> Result<()>,
    ) -> Result<Vec<String>> {
        let mut failed = Vec::new();
        for (rank, message) in messages.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            again(self.ranks.share(rows, rank))?;
            failed.push(format!("rank {rank}: {message}"));
        }
        Ok(failed)
    }

    /// Names of the devices.
    pub fn names(&self) -> String {
        format!("{} ranks, the first on {},", self.ranks.count(), names(&self.pool))
    }
}

fn other_build(bits: u64) -> Error {
    Error::Driver(format!("rank 0 has rows of {bits} bits: it is of another build"))
}

/// At rank 0, ends the other ranks.
impl Drop for Cluster {
    fn drop(&mut self) {
        if self.ranks.is_root() {
            self.broadcast(&mut Message::default());
        }
    }
}
