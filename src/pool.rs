//! One computation on all devices of a process.
//!
//! The rows lie in a shared list. Each worker, a thread with a queue of its device, takes the
//! lowest rows, computes them and comes back, so that a device that is twice as fast takes twice as
//! many. The sizes of chunks follow from measurements, without a model of a device:
//!
//! - A chunk has at least [`grain`] rows, the fewest that occupy the device. If a chunk takes
//!   clearly more time a row than the fastest one, later chunks are not shorter than the last one
//!   that did not: kernels may take as long for few rows as for many.
//! - Among devices of different names, a worker starts with that minimum and takes at most
//!   [`GROWTH`] times its last chunk, so that a slow device does not begin with many rows. Its
//!   first chunk, in which kernels are loaded, does not count as measured.
//! - [`CHUNK_BYTES`] bound a chunk: longer ones are no faster, and need more memory. A chunk that
//!   does not fit in the memory of the device is halved.
//! - With several workers, a chunk is at most half of the worker's share of the rest, by the
//!   measured speeds (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers
//!   C-36, 1987), so that all end at about the same time.
//! - A worker leaves the rest to another one that would compute all of it in half the time of one
//!   more chunk of this worker. The fastest worker never does, so the rest is computed.
//!
//! A worker ends at an error of its device, and its rows return to the list. An error of the data
//! bounds the list: rows below it are still computed, so that the error of the lowest row is
//! reported.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use once_cell::sync::OnceCell;
use rayon::prelude::*;

use crate::backend::BackendKind;
use crate::backend::host::reserved_vec;
use crate::batch::Batch;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::interrupt::{self, Stop};
use crate::ops::tree::batch_gcd_on;
use crate::ops::tree::checkpoint::Checkpoint;
use crate::shape::Kernels;
use crate::threads;

/// Workers of a GPU: while one waits for a kernel, the others copy, in both directions.
const WORKERS: usize = 3;
/// Most bytes of one operand in a chunk: a copy of a third of a millisecond.
const CHUNK_BYTES: usize = 16 << 20;
/// Largest ratio of a chunk to the last chunk of the worker, where devices differ.
const GROWTH: usize = 4;
/// A chunk whose speed is below this ratio to the fastest one is too short.
const TOO_SLOW: f64 = 0.75;

/// Several devices that compute the rows of one operation together.
///
/// [`map`](Self::map) takes and returns integers; [`run`](Self::run) works in memory of the caller.
/// Rows are computed in chunks, and faster devices take more of them. Copies of one chunk overlap
/// with the kernels of another. The order of the rows is kept.
///
/// Rows of a device that fails are computed by the others.
///
/// ```
/// use gpuint::num_bigint::BigUint;
/// use gpuint::{Batch, GpuUint, Pool};
///
/// let pool = Pool::new()?; // all GPUs, else the CPU
/// let u: Vec<BigUint> = (1u32..=1000).map(|n| BigUint::from(n).pow(90)).collect();
/// let v: Vec<BigUint> = (1u32..=1000).map(|n| BigUint::from(n).pow(60) + 1u32).collect();
/// let [q, r] = pool.map([&u, &v], |[u, v]: [Batch<GpuUint<1024>>; 2]| {
///     let (q, r) = u.div_rem(&v)?;
///     Ok([q, r])
/// })?;
/// assert_eq!(&q[999] * &v[999] + &r[999], u[999]);
/// # Ok::<(), gpuint::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pool {
    devices: Vec<Device>,
}

/// Part of a computation that one device of a [`Pool`] did.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Share {
    /// The device.
    pub device: Device,
    /// Number of rows that it computed.
    pub rows: usize,
    /// First error of the device. Other devices computed the rows that it did not.
    pub error: Option<Error>,
}

/// Consecutive rows that one device of a [`Pool`] computes.
#[derive(Debug)]
pub struct Chunk<'a> {
    device: &'a Device,
    rows: Range<usize>,
    total: usize,
}

impl Chunk<'_> {
    /// Device that computes the rows.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.device
    }

    /// Numbers of the rows.
    #[must_use]
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Returns the part of `all` with these rows. `all` holds all rows of the computation, each
    /// with the same number of elements: one integer, or the bytes of a row.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if the length of `all` is not a multiple of the
    /// number of all rows.
    pub fn part<'r, T>(&self, all: &'r [T]) -> Result<&'r [T]> {
        let unit = elements_per_row(all.len(), self.total)?;
        Ok(&all[self.rows.start * unit..self.rows.end * unit])
    }
}

/// Number of elements of each of `rows` rows.
fn elements_per_row(len: usize, rows: usize) -> Result<usize> {
    match len.checked_rem(rows).unwrap_or(len) {
        0 => Ok(len.checked_div(rows).unwrap_or(0)),
        _ => Err(Error::LengthMismatch { left: rows, right: len }),
    }
}

/// Memory for results that a [`Pool`] splits at rows: slices with the same number of elements for
/// each row, and pairs and arrays of them.
pub trait RowsMut: Send + sealed::Split {}

impl<R: sealed::Split + Send> RowsMut for R {}

mod sealed {
    use super::{Result, elements_per_row};

    pub trait Split: Sized {
        /// Checks that the memory is that of `rows` rows.
        ///
        /// # Errors
        /// `LengthMismatch`.
        fn check(&self, rows: usize) -> Result<()>;

        /// Splits off the first `count` of `rows` rows, at least one.
        fn split(&mut self, count: usize, rows: usize) -> Self;
    }

    impl<T> Split for &mut [T] {
        fn check(&self, rows: usize) -> Result<()> {
            elements_per_row(self.len(), rows).map(drop)
        }

        fn split(&mut self, count: usize, rows: usize) -> Self {
            let all = std::mem::take(self);
            let unit = all.len() / rows;
            let (first, rest) = all.split_at_mut(count * unit);
            *self = rest;
            first
        }
    }

    impl<R: Split, const N: usize> Split for [R; N] {
        fn check(&self, rows: usize) -> Result<()> {
            self.iter().try_for_each(|memory| memory.check(rows))
        }

        fn split(&mut self, count: usize, rows: usize) -> Self {
            self.each_mut().map(|memory| memory.split(count, rows))
        }
    }

    impl<A: Split, B: Split> Split for (A, B) {
        fn check(&self, rows: usize) -> Result<()> {
            self.0.check(rows).and_then(|()| self.1.check(rows))
        }

        fn split(&mut self, count: usize, rows: usize) -> Self {
            (self.0.split(count, rows), self.1.split(count, rows))
        }
    }
}

impl Pool {
    /// Opens all CUDA GPUs, or the CPU if there is no driver or no GPU. A GPU that does not open is
    /// left out, with a warning in the log.
    ///
    /// # Errors
    /// As [`Device::new`], if no GPU can be used.
    pub fn new() -> Result<Self> {
        let count = Device::cuda_count()?;
        // A context takes tenths of a second.
        let opened: Vec<Result<Device>> =
            threads::install(|| (0..count).into_par_iter().map(Device::cuda).collect());
        if opened.is_empty() {
            tracing::info!("no CUDA driver or GPU: using the CPU");
            return Self::of([Device::cpu()]);
        }
        let mut failed = None;
        let mut devices = Vec::new();
        for (ordinal, device) in opened.into_iter().enumerate() {
            match device {
                Ok(device) => devices.push(device),
                Err(error) => {
                    tracing::warn!(ordinal, %error, "a GPU is left out");
                    failed = failed.or(Some(error));
                }
            }
        }
        match failed {
            Some(error) if devices.is_empty() => Err(error),
            _ => Self::of(devices),
        }
    }

    /// Makes a pool of these devices, of any kinds.
    ///
    /// # Errors
    /// [`NoDevice`](Error::NoDevice) without a device.
    pub fn of(devices: impl IntoIterator<Item = Device>) -> Result<Self> {
        let devices: Vec<Device> = devices.into_iter().collect();
        if devices.is_empty() { Err(Error::NoDevice) } else { Ok(Self { devices }) }
    }

    /// Devices of the pool.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Applies `op` to batches of the operands, and returns the integers of its results, in order.
    ///
    /// `op` is called once for each chunk of rows.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if the operands, or a result and its operands,
    /// have different numbers of rows, [`TooWide`](Error::TooWide), and as [`run`](Self::run).
    pub fn map<T: Kernels, R: Kernels, const N: usize, const M: usize>(
        &self,
        operands: [&[BigUint]; N],
        op: impl Fn([Batch<T>; N]) -> Result<[Batch<R>; M]> + Sync,
    ) -> Result<[Vec<BigUint>; M]> {
        let rows = operands.first().map_or(0, |operand| operand.len());
        if let Some(other) = operands.iter().find(|operand| operand.len() != rows) {
            return Err(Error::LengthMismatch { left: rows, right: other.len() });
        }
        let mut results = [const { Vec::new() }; M];
        for result in &mut results {
            *result = reserved_vec(rows)?;
            result.resize(rows, BigUint::ZERO);
        }
        let memory = results.each_mut().map(Vec::as_mut_slice);
        self.compute(
            T::SHAPE,
            rows,
            Cut::Overlapped,
            memory,
            |_| Ok(()),
            |(), chunk, memory| {
                let batch = |&operand| Batch::from_biguints(chunk.device(), chunk.part(operand)?);
                let batches: Vec<Batch<T>> = operands.iter().map(batch).collect::<Result<_>>()?;
                let batches = batches.try_into().unwrap_or_else(|_| unreachable!("N operands"));
                for (memory, result) in memory.iter_mut().zip(op(batches)?) {
                    if result.len() != memory.len() {
                        return Err(Error::LengthMismatch {
                            left: memory.len(),
                            right: result.len(),
                        });
                    }
                    let values = result.to_biguints()?;
                    memory.iter_mut().zip(values).for_each(|(place, value)| *place = value);
                }
                Ok(())
            },
        )?;
        Ok(results)
    }

    /// Computes the greatest common divisor of each value and the product of all other values, as
    /// [`Batch::batch_gcd`] does. Each device computes at least one part of the values, and reads
    /// the products of the other parts. The parts are equal, so the slowest device sets the time.
    ///
    /// ```
    /// use gpuint::num_bigint::BigUint;
    /// use gpuint::{Device, Pool};
    ///
    /// let pool = Pool::of([Device::cpu(), Device::cpu()])?;
    /// let moduli = [101u32 * 103, 107 * 109, 101 * 113].map(BigUint::from);
    /// assert_eq!(pool.batch_gcd(&moduli)?, [101u32, 1, 101].map(BigUint::from));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DivisionByZero`](Error::DivisionByZero) with the lowest value that is zero,
    /// [`WidthMissing`](Error::WidthMissing) if a value has more than 2^30 - 128 bits, and the
    /// error of the first part whose device fails.
    pub fn batch_gcd(&self, values: &[BigUint]) -> Result<Vec<BigUint>> {
        self.batch_gcd_against(values, &[])
    }

    /// Computes the greatest common divisor of each value and the product of all other values and
    /// of `numbers`, as [`Batch::batch_gcd_against`] does, in the parts of
    /// [`batch_gcd`](Self::batch_gcd).
    ///
    /// # Errors
    /// As [`batch_gcd`](Self::batch_gcd).
    pub fn batch_gcd_against(
        &self,
        values: &[BigUint],
        numbers: &[BigUint],
    ) -> Result<Vec<BigUint>> {
        batch_gcd_on(&self.devices, values, numbers, None)
    }

    /// Computes [`batch_gcd_against`](Self::batch_gcd_against), and saves intermediate results in a
    /// checkpoint: [`DynBatch::resumable_batch_gcd`](crate::DynBatch::resumable_batch_gcd).
    ///
    /// # Errors
    /// As [`batch_gcd`](Self::batch_gcd).
    pub fn resumable_batch_gcd(
        &self,
        values: &[BigUint],
        numbers: &[BigUint],
        checkpoint: &dyn Checkpoint,
    ) -> Result<Vec<BigUint>> {
        batch_gcd_on(&self.devices, values, numbers, Some(checkpoint))
    }

    /// Computes `rows` rows in chunks on all devices: `work` makes batches of the rows of a
    /// [`Chunk`] on its device, and writes their results to its part of `results`.
    ///
    /// `shape` is that of the widest operand. `prepare` makes what all chunks of a device share: a
    /// divisor, a table. Returns the share of each device.
    ///
    /// `work` may be called again for rows whose device failed. Its errors count rows from the
    /// start of the chunk; the returned error counts them from the first of all rows, and is that
    /// of the lowest row.
    ///
    /// ```
    /// use gpuint::{Device, DynBatch, DynDivisor, Pool, narrowest};
    ///
    /// let pool = Pool::of([Device::cpu()])?;
    /// let shape = narrowest(256).unwrap();
    /// let rows = 1000;
    /// let u = vec![0xff; rows * 32];
    /// let (mut q, mut r) = (vec![0; u.len()], vec![0; u.len()]);
    /// let prepare = |device: &Device| DynDivisor::splat(device, shape, 7);
    /// pool.run(shape, rows, [&mut q[..], &mut r[..]], prepare, |divisor, chunk, [q, r]| {
    ///     let u = DynBatch::from_le_bytes(chunk.device(), shape, chunk.part(&u)?)?;
    ///     let (quotients, remainders) = u.div_rem_by(divisor)?;
    ///     quotients.read_le_bytes(0, q)?;
    ///     remainders.read_le_bytes(0, r)
    /// })?;
    /// assert_eq!(r[999 * 32], 1); // 2^256 - 1 = 1 modulo 7
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if the length of a result is not a multiple of
    /// `rows`,
    /// [`ShapeMissing`](Error::ShapeMissing), the errors of `prepare` and `work`, and the error of
    /// the last device if all have failed. `results` are then partly written.
    ///
    /// # Panics
    /// If `prepare` or `work` panics, with its panic.
    pub fn run<M: RowsMut, S: Send + Sync>(
        &self,
        shape: Shape,
        rows: usize,
        results: M,
        prepare: impl Fn(&Device) -> Result<S> + Sync,
        work: impl Fn(&S, &Chunk<'_>, &mut M) -> Result<()> + Sync,
    ) -> Result<Vec<Share>> {
        self.devices.iter().try_for_each(|device| device.check_shape(shape))?;
        self.compute(shape, rows, Cut::Overlapped, results, prepare, work)
    }

    /// Computes as [`run`](Self::run), in as few chunks as possible: for work that takes much
    /// longer than the copies of its rows, as powers and tests of primes do. One thread serves each
    /// device, and begins with the device's share of all rows, as far as memory for a chunk allows.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn run_whole<M: RowsMut, S: Send + Sync>(
        &self,
        shape: Shape,
        rows: usize,
        results: M,
        prepare: impl Fn(&Device) -> Result<S> + Sync,
        work: impl Fn(&S, &Chunk<'_>, &mut M) -> Result<()> + Sync,
    ) -> Result<Vec<Share>> {
        self.devices.iter().try_for_each(|device| device.check_shape(shape))?;
        self.compute(shape, rows, Cut::Whole, results, prepare, work)
    }

    /// Computes [`run`](Self::run) for a shape that batches on the devices may have.
    fn compute<M: RowsMut, S: Send + Sync>(
        &self,
        shape: Shape,
        rows: usize,
        cut: Cut,
        results: M,
        prepare: impl Fn(&Device) -> Result<S> + Sync,
        work: impl Fn(&S, &Chunk<'_>, &mut M) -> Result<()> + Sync,
    ) -> Result<Vec<Share>> {
        results.check(rows)?;
        let prepared: Vec<OnceCell<S>> = self.devices.iter().map(|_| OnceCell::new()).collect();
        let workers: Vec<usize> = (0..self.devices.len())
            .flat_map(|index| vec![index; worker_count(&self.devices[index], rows, cut)])
            .collect();
        let list = List::new(rows, results, self, &workers, shape, cut);
        let stop = Stop::current();
        let serve = |number: usize| {
            let _ending = Ending { list: &list, number };
            let index = workers[number];
            let queue = OnceCell::new();
            while let Some(mut piece) = list.take(number) {
                let start = Instant::now();
                let queue = queue.get_or_try_init(|| self.devices[index].queue());
                let result = queue.and_then(|device| {
                    let state = prepared[index].get_or_try_init(|| prepare(device))?;
                    let range = piece.start..piece.start + piece.rows;
                    let chunk = Chunk { device, rows: range, total: rows };
                    stop.during(|| work(state, &chunk, &mut piece.results))
                });
                match result {
                    Ok(()) => list.done(number, piece.rows, start.elapsed()),
                    Err(error) => list.undone(number, piece, error),
                }
            }
        };
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for number in 1..workers.len() {
                let serve = &serve;
                match thread::Builder::new().spawn_scoped(scope, move || serve(number)) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        let _ending = Ending { list: &list, number };
                        list.failed(number, Error::Driver(format!("no thread: {error}")));
                    }
                }
            }
            // One device needs no other thread.
            serve(0);
            for thread in threads {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
        list.shares(&self.devices)
    }
}

/// Sizes of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// Copies of one chunk overlap with the kernels of another.
    Overlapped,
    /// As few chunks as possible.
    Whole,
}

/// Number of threads that serve a device. Calls on devices other than GPUs use all cores already.
fn worker_count(device: &Device, rows: usize, cut: Cut) -> usize {
    match device.backend() {
        BackendKind::Cuda if cut == Cut::Overlapped => {
            rows.div_ceil(grain(device)).clamp(1, WORKERS)
        }
        _ => 1,
    }
}

/// Number of rows that a device computes at once, at least.
fn grain(device: &Device) -> usize {
    match (device.gpu(), device.backend()) {
        (Some(gpu), _) => gpu.multiprocessors as usize,
        (None, BackendKind::Cpu) => threads::count(),
        (None, _) => 1,
    }
    .max(1)
}

/// Rows and the memory of their results.
struct Piece<M> {
    start: usize,
    rows: usize,
    results: M,
}

/// Measurements of all devices of one name.
#[derive(Debug, Default)]
struct Kind {
    /// Fewest rows of a chunk.
    grain: usize,
    /// Rows a second in the fastest chunk, and the rows of the last one that was about as fast.
    best: f64,
    fast: usize,
}

impl Kind {
    /// Records a completed chunk.
    fn record(&mut self, rows: usize, speed: f64, is_first: bool) {
        self.best = self.best.max(speed);
        if speed >= TOO_SLOW * self.best {
            self.fast = rows;
        } else if rows < self.fast && !is_first {
            self.grain = self.grain.max(self.fast);
        }
    }
}

/// State of a worker.
#[derive(Debug)]
struct Worker {
    /// Index of its device, and of the name of the device.
    device: usize,
    kind: usize,
    is_live: bool,
    /// Most rows of a chunk.
    most: usize,
    /// Rows of the last chunk; 0 before the first.
    last: usize,
    /// Rows a second in the last chunk but the first.
    speed: Option<f64>,
}

/// Rows that are to be computed, and the workers that do it.
struct List<M> {
    state: Mutex<State<M>>,
    /// Rows have come back, or a worker has ended.
    changed: Condvar,
}

struct State<M> {
    /// Rows that no worker has, by the first.
    free: BTreeMap<usize, Piece<M>>,
    free_rows: usize,
    /// Number of chunks that workers have.
    taken: usize,
    workers: Vec<Worker>,
    kinds: Vec<Kind>,
    /// Rows of the first chunk of a worker, where chunks are as few as possible.
    first: Option<usize>,
    /// For each device, the number of rows it computed and its first error.
    shares: Vec<(usize, Option<Error>)>,
    /// The error of the data with the lowest row, and this row.
    failure: Option<(usize, Error)>,
    /// Last error of a device.
    device_error: Option<Error>,
    has_panicked: bool,
}

impl<M: RowsMut> List<M> {
    fn new(
        rows: usize,
        results: M,
        pool: &Pool,
        workers: &[usize],
        shape: Shape,
        cut: Cut,
    ) -> Self {
        let mut names = Vec::new();
        let mut kinds = Vec::new();
        let mut worker = |&device: &usize| {
            let (name, grain) = (pool.devices[device].name(), grain(&pool.devices[device]));
            let kind = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                kinds.push(Kind { grain, ..Kind::default() });
                kinds.len() - 1
            });
            let most = (CHUNK_BYTES / shape.bytes()).max(grain);
            Worker { device, kind, is_live: true, most, last: 0, speed: None }
        };
        let first = (cut == Cut::Whole).then(|| rows.div_ceil(workers.len()));
        let workers = workers.iter().map(&mut worker).collect();
        let mut free = BTreeMap::new();
        if rows > 0 {
            free.insert(0, Piece { start: 0, rows, results });
        }
        let state = State {
            free,
            free_rows: rows,
            taken: 0,
            workers,
            kinds,
            first,
            shares: vec![(0, None); pool.devices.len()],
            failure: None,
            device_error: None,
            has_panicked: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next chunk for a worker, waiting while chunks of others may come back; `None` when
    /// nothing is left for it.
    fn take(&self, number: usize) -> Option<Piece<M>> {
        let mut state = self.state();
        loop {
            if state.has_panicked || !state.workers[number].is_live {
                return None;
            }
            if let Some(piece) = state.take(number) {
                return Some(piece);
            }
            if state.taken == 0 && !state.has_rows() {
                return None;
            }
            if interrupt::is_watched() {
                let wait = self.changed.wait_timeout(state, interrupt::INTERVAL);
                drop(wait.unwrap_or_else(PoisonError::into_inner));
                // Ends the work of the other threads, too.
                interrupt::is_requested();
                state = self.state();
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Records a completed chunk.
    fn done(&self, number: usize, rows: usize, time: Duration) {
        let mut state = self.state();
        state.taken -= 1;
        let speed = rows as f64 / time.as_secs_f64().max(1e-9);
        let worker = &mut state.workers[number];
        let (device, kind, is_first) = (worker.device, worker.kind, worker.last == 0);
        worker.last = rows;
        if !is_first {
            worker.speed = Some(speed);
        }
        state.kinds[kind].record(rows, speed, is_first);
        state.shares[device].0 += rows;
        self.changed.notify_all();
    }

    /// Records the error of a chunk, and takes its rows back if the device caused it.
    fn undone(&self, number: usize, piece: Piece<M>, error: Error) {
        let mut state = self.state();
        state.taken -= 1;
        self.changed.notify_all();
        let Piece { start, rows, .. } = piece;
        if !error.is_of_device() {
            // The rows below the reported one have no error.
            let (row, error) = error.counted_from(start);
            if state.failure.as_ref().is_none_or(|&(lowest, _)| row < lowest) {
                state.failure = Some((row, error));
            }
            return;
        }
        state.free_rows += rows;
        state.free.insert(start, piece);
        if matches!(error, Error::OutOfMemory { .. }) && rows > 1 {
            state.workers[number].most = rows / 2;
        } else {
            state.failed(number, error);
        }
    }

    /// Ends a worker whose device failed.
    fn failed(&self, number: usize, error: Error) {
        self.state().failed(number, error);
        self.changed.notify_all();
    }

    /// The result after all workers have ended.
    fn shares(self, devices: &[Device]) -> Result<Vec<Share>> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let is_complete = !state.has_rows();
        match (state.failure, state.device_error) {
            (Some((_, error)), _) if is_complete => Err(error),
            (_, Some(error)) if !is_complete => Err(error),
            _ => Ok(devices
                .iter()
                .zip(state.shares)
                .map(|(device, (rows, error))| Share { device: device.clone(), rows, error })
                .collect()),
        }
    }
}

impl<M: RowsMut> State<M> {
    /// Returns true if rows below the lowest failed one are free.
    fn has_rows(&self) -> bool {
        let end = self.failure.as_ref().map_or(usize::MAX, |&(row, _)| row);
        self.free.first_key_value().is_some_and(|(&start, _)| start < end)
    }

    /// Ends a worker whose device failed.
    fn failed(&mut self, number: usize, error: Error) {
        tracing::warn!(%error, "a device of a pool failed");
        self.workers[number].is_live = false;
        self.device_error = Some(error.clone());
        let device = self.workers[number].device;
        self.shares[device].1.get_or_insert(error);
    }

    /// Takes the next chunk of a worker from the lowest free rows.
    fn take(&mut self, number: usize) -> Option<Piece<M>> {
        if !self.has_rows() {
            return None;
        }
        let count = self.next_rows(number)?;
        let (_, mut first) = self.free.pop_first()?;
        let count = count.min(first.rows);
        let results = first.results.split(count, first.rows);
        let piece = Piece { start: first.start, rows: count, results };
        first.start += count;
        first.rows -= count;
        if first.rows > 0 {
            self.free.insert(first.start, first);
        }
        self.free_rows -= count;
        self.taken += 1;
        Some(piece)
    }

    /// Rows of the next chunk of a worker; `None` if it leaves them to a faster one.
    fn next_rows(&self, number: usize) -> Option<usize> {
        let worker = &self.workers[number];
        let rest = self.free_rows;
        let grain = self.kinds[worker.kind].grain.min(worker.most);
        let most = match &self.kinds[..] {
            [_] => worker.most,
            _ => worker.most.min(worker.last.saturating_mul(GROWTH).max(grain)),
        };
        let live = || self.workers.iter().filter(|worker| worker.is_live);
        let count = live().count();
        if count == 1 {
            return Some(most);
        }
        let (mut fastest, mut total, mut known) = (0f64, 0.0, 0);
        for speed in live().filter_map(|worker| worker.speed) {
            fastest = fastest.max(speed);
            total += speed;
            known += 1;
        }
        let share = match worker.speed {
            Some(speed) => {
                if 2.0 * rest as f64 / fastest < grain.min(rest) as f64 / speed {
                    return None;
                }
                // The others are taken to be as fast as these on average.
                speed / total * known as f64 / count as f64
            }
            None => 1.0 / count as f64,
        };
        if let (Some(first), 0) = (self.first, worker.last) {
            return Some(first.clamp(grain, most));
        }
        let half = (rest as f64 * share / 2.0) as usize;
        Some(half.clamp(grain, most))
    }
}

/// Marks a worker as ended when it is dropped, also by a panic.
struct Ending<'a, M: RowsMut> {
    list: &'a List<M>,
    number: usize,
}

impl<M: RowsMut> Drop for Ending<'_, M> {
    fn drop(&mut self) {
        let mut state = self.list.state();
        state.workers[self.number].is_live = false;
        state.has_panicked |= thread::panicking();
        self.list.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of `rest` rows with workers of these grains and speeds, each of another kind and
    /// after a chunk of 100 rows.
    fn list(rest: usize, workers: &[(usize, Option<f64>)]) -> State<()> {
        let worker = |(kind, &(_, speed)): (usize, &(usize, Option<f64>))| Worker {
            device: 0,
            kind,
            is_live: true,
            most: 10_000,
            last: 100,
            speed,
        };
        let kind = |&(grain, _): &(usize, Option<f64>)| Kind { grain, ..Kind::default() };
        State {
            free: BTreeMap::from([(0, Piece { start: 0, rows: rest, results: () })]),
            free_rows: rest,
            taken: 0,
            workers: workers.iter().enumerate().map(worker).collect(),
            kinds: workers.iter().map(kind).collect(),
            first: None,
            shares: vec![(0, None)],
            failure: None,
            device_error: None,
            has_panicked: false,
        }
    }

    impl sealed::Split for () {
        fn check(&self, _: usize) -> Result<()> {
            Ok(())
        }

        fn split(&mut self, _: usize, _: usize) -> Self {}
    }

    #[test]
    fn chunk_follows_the_measured_speeds() {
        let next = |rest, speeds: &[Option<f64>]| {
            let workers: Vec<_> = speeds.iter().map(|&speed| (8, speed)).collect();
            let list = list(rest, &workers);
            (0..speeds.len()).map(|number| list.next_rows(number)).collect::<Vec<_>>()
        };
        // A single worker takes as much as it may.
        assert_eq!(next(100_000, &[Some(5.0)]), [Some(10_000)]);
        // Growth is bounded, and so is the share of the rest.
        assert_eq!(next(100_000, &[Some(5.0), Some(1.0)]), [Some(400); 2]);
        assert_eq!(next(600, &[Some(5.0), Some(1.0)]), [Some(250), Some(50)]);
        // Not fewer than occupy the device.
        assert_eq!(next(20, &[Some(3.0), Some(2.0)]), [Some(8); 2]);
        // Before the first measurement all are alike.
        assert_eq!(next(600, &[None, None, Some(1.0)]), [Some(100); 3]);
        assert_eq!(next(600, &[None, Some(3.0), Some(1.0)]), [Some(100), Some(150), Some(50)]);
    }

    #[test]
    fn devices_that_are_alike_begin_with_long_chunks() {
        let mut list = list(60_000, &[(8, None), (8, None)]);
        assert_eq!(list.next_rows(0), Some(400));
        list.kinds.pop();
        list.workers[1].kind = 0;
        assert_eq!(list.next_rows(0), Some(10_000));
        list.free_rows = 6000;
        assert_eq!(list.next_rows(0), Some(1500));
    }

    #[test]
    fn few_chunks_begin_with_the_share_of_a_device() {
        let mut list = list(6000, &[(8, None), (8, None)]);
        (list.workers[1].kind, list.first) = (0, Some(3000));
        list.kinds.pop();
        // The rest after a first chunk is cut as elsewhere.
        assert_eq!(list.next_rows(0), Some(1500));
        list.workers[1].last = 0;
        assert_eq!(list.next_rows(1), Some(3000));
    }

    #[test]
    fn chunks_stay_as_long_as_is_fast() {
        let mut kind = Kind { grain: 8, ..Kind::default() };
        for (rows, speed, is_first, grain) in [
            (400, 1000.0, true, 8),
            // The first chunk of another worker, which loads kernels.
            (390, 10.0, true, 8),
            (200, 990.0, false, 8),
            // A kernel that takes as long for few rows, where chunks become shorter slowly.
            (180, 891.0, false, 8),
            (162, 801.0, false, 8),
            (146, 721.0, false, 162),
            // A long chunk that is slow changes nothing.
            (300, 100.0, false, 162),
        ] {
            kind.record(rows, speed, is_first);
            assert_eq!(kind.grain, grain, "{rows}");
        }
        // The most rows that fit remain the bound.
        let mut list = list(60_000, &[(8, Some(1.0)), (8, Some(1.0))]);
        list.kinds[0].grain = 20_000;
        assert_eq!(list.next_rows(0), Some(10_000));
    }

    #[test]
    fn slow_worker_leaves_the_rest_to_a_fast_one() {
        let workers = [(100, Some(1000.0)), (16, Some(2.0)), (16, Some(600.0)), (16, None)];
        // The first worker computes 5000 rows in 5 seconds, the second 16 rows in 8.
        let mut list = list(5000, &workers);
        assert!(list.next_rows(1).is_some());
        list.free_rows = 3000;
        assert_eq!(list.next_rows(1), None);
        for rest in [1, 20, 3000] {
            list.free_rows = rest;
            for number in [0, 2, 3] {
                assert!(list.next_rows(number).is_some(), "{rest} {number}");
            }
        }
        // Unless the fast ones have failed.
        list.failed(0, Error::NoDevice);
        list.failed(2, Error::NoDevice);
        assert!(list.next_rows(1).is_some());
    }
}
