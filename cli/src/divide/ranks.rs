//! Divides rows on the ranks of MPI. Rank 0 runs the job: it reads, verifies and writes; each rank,
//! rank 0 included, divides an equal part of the rows on its device.
//!
//! For the rows of each width, rank 0 broadcasts an order and scatters the operands; it gathers the
//! results, and a message from each rank whose device failed. Rank 0 then divides the rows of that
//! rank itself.

use std::time::Instant;

use gpuint::{BackendKind, Device, Error, HostBatch, Pool, Result, Shape};
use gpuint_mpi::Ranks;
use gpuint_mpi::mpi::traits::{Communicator, Root};

use super::devices::{Divide, Done, Rows, divide_chunks};
use crate::job::devices::BackendChoice;

/// The ranks, and the device of this one.
#[derive(Debug)]
pub struct Cluster {
    ranks: Ranks,
    pool: Pool,
}

/// Width in bits, number of rows, and 1 for the first rows of the width. A width of 0 ends the job.
type Order = [u64; 3];

/// Bytes of the message of a rank: empty, or the error, cut, with zeros behind.
const MESSAGE_BYTES: usize = 256;

impl Cluster {
    /// Opens the device of this rank.
    pub fn open(ranks: Ranks, backend: BackendChoice, verified: bool) -> Result<Self> {
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
        if verified {
            device = device.verified();
        }
        Ok(Self { ranks, pool: Pool::of([device])? })
    }

    /// Divides what rank 0 orders, until it ends.
    pub fn serve(&self) -> Result<()> {
        loop {
            let mut order = Order::default();
            self.broadcast(&mut order);
            let [bits, rows, is_first] = order.map(|number| number as usize);
            if bits == 0 {
                return Ok(());
            }
            let shape = self.pool.devices()[0].shape_for(bits)?;
            if shape.bits != bits {
                return Err(other_build(bits));
            }
            self.divide_share(shape, rows, is_first != 0, [&[], &[]], [&mut [], &mut []])?;
        }
    }

    fn broadcast(&self, order: &mut Order) {
        let root = self.ranks.communicator().process_at_rank(0);
        root.broadcast_into(&mut order[..]);
    }

    /// Divides this rank's share of the rows; rank 0 has `all` rows. Returns the statistics of this
    /// rank and, at rank 0, the message of each rank.
    fn divide_share(
        &self,
        shape: Shape,
        rows: usize,
        is_first: bool,
        all: [&[u8]; 2],
        results: [&mut [u8]; 2],
    ) -> Result<(Done, Vec<String>)> {
        let (ranks, row) = (&self.ranks, shape.bytes());
        let part = || host_rows(shape, ranks.share(rows, ranks.rank()).len());
        let [mut u, mut v, mut q, mut r] = [part()?, part()?, part()?, part()?];
        for (part, all) in [&mut u, &mut v].into_iter().zip(all) {
            ranks.scatter(rows, row, all, part.as_bytes_mut()?)?;
        }
        let (u, v) = (u.as_bytes()?, v.as_bytes()?);
        let parts = [q.as_bytes_mut()?, r.as_bytes_mut()?];
        let done = divide_chunks(&self.pool, shape, [u, v], is_first, parts);
        for (part, all) in [q, r].iter().zip(results) {
            ranks.gather(rows, row, part.as_bytes()?, all)?;
        }
        let (done, error) = match done {
            Ok(done) => (done, String::new()),
            Err(error) => (Done::default(), error.to_string()),
        };
        Ok((done, self.gather_messages(&error)))
    }

    /// Returns the messages of all ranks at rank 0.
    fn gather_messages(&self, message: &str) -> Vec<String> {
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
}

/// Zeros in memory of the host.
fn host_rows(shape: Shape, rows: usize) -> Result<HostBatch> {
    HostBatch::new(&Device::cpu(), shape, rows)
}

fn other_build(bits: usize) -> Error {
    Error::Driver(format!("rank 0 has rows of {bits} bits: it is of another build"))
}

impl Divide for Cluster {
    fn divide(&self, rows: Rows<'_>, results: [&mut [u8]; 2]) -> Result<Done> {
        let Rows { shape, u, v, is_first } = rows;
        let (row, [q, r]) = (shape.bytes(), results);
        let count = u.len() / row;
        let start = Instant::now();
        self.broadcast(&mut [shape.bits as u64, count as u64, u64::from(is_first)]);
        let memory = [&mut *q, &mut *r];
        let (mut done, messages) = self.divide_share(shape, count, is_first, [u, v], memory)?;
        done.copy = start.elapsed().saturating_sub(done.divide + done.setup);
        for (rank, message) in messages.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            let share = self.ranks.share(count, rank);
            let bytes = share.start * row..share.end * row;
            let (u, v) = (&u[bytes.clone()], &v[bytes.clone()]);
            let results = [&mut q[bytes.clone()], &mut r[bytes]];
            let again = self.pool.divide(Rows { shape, u, v, is_first: false }, results)?;
            done.divide += again.divide;
            done.copy += again.copy;
            done.failed.push(format!("rank {rank}: {message}"));
        }
        Ok(done)
    }

    fn name(&self) -> String {
        format!("{} ranks, the first on {},", self.ranks.count(), self.pool.name())
    }
}

/// At rank 0, ends the other ranks.
impl Drop for Cluster {
    fn drop(&mut self) {
        if self.ranks.is_root() {
            self.broadcast(&mut Order::default());
        }
    }
}
