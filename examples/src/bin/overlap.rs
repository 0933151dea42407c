//! Squares more integers than a GPU can hold at a time: while one part is computed, the next is
//! uploaded and the previous one is downloaded.
//!
//! Each part has its own queue and pinned memory, which the GPU copies directly. Only the calls
//! that read results wait. In a task, `event.await` waits instead of `event.wait()`.
//!
//! `cargo run --release --package gpuint-examples --bin overlap -- --help`

use std::error::Error;

use clap::Parser;
use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Device, Event, GpuUint, HostBatch, Kernels};
use gpuint_examples::Backend;
use rand::{Rng, SeedableRng, rngs::SmallRng};

type Integer = GpuUint<1024>;
const ROW_BYTES: usize = Integer::BITS / 8;

#[derive(Parser)]
struct Options {
    /// Number of integers.
    #[arg(long, default_value_t = 100_000)]
    rows: usize,
    /// Number of integers on the device at a time, in each of three parts.
    #[arg(long, default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..))]
    part: u32,
    /// Device [default: the first GPU, else the CPU].
    #[arg(long)]
    backend: Option<Backend>,
}

/// A part of the integers in progress.
struct Part {
    host: HostBatch,
    integers: Batch<Integer>,
    squares: Batch<Integer>,
    /// End of the download, if there is one.
    done: Option<Event>,
}

impl Part {
    fn new(device: &Device, rows: usize) -> gpuint::Result<Self> {
        let queue = device.queue()?;
        Ok(Self {
            host: HostBatch::new(&queue, Integer::SHAPE, rows)?,
            integers: Batch::zeros(&queue, rows)?,
            squares: Batch::zeros(&queue, rows)?,
            done: None,
        })
    }

    /// Starts the work on these rows.
    fn start(&mut self, rows: &[u8]) -> gpuint::Result<()> {
        self.host.set_len(rows.len() / ROW_BYTES)?;
        self.host.as_bytes_mut()?.copy_from_slice(rows);
        self.integers.upload(0, &mut self.host)?;
        self.integers.wrapping_square_into(&mut self.squares)?;
        self.done = Some(self.squares.download(0, &mut self.host)?);
        Ok(())
    }

    /// Waits for the started work, and appends the results.
    fn finish(&mut self, results: &mut Vec<u8>) -> gpuint::Result<()> {
        if let Some(done) = self.done.take() {
            done.wait()?;
            results.extend_from_slice(self.host.as_bytes()?);
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let Options { rows, part, backend } = Options::parse();
    gpuint_examples::start_log()?;
    let device = gpuint_examples::open(backend)?;
    let mut source = vec![0; rows * ROW_BYTES];
    SmallRng::seed_from_u64(1).fill_bytes(&mut source);

    let part = part as usize;
    let mut parts =
        [Part::new(&device, part)?, Part::new(&device, part)?, Part::new(&device, part)?];
    let mut results = Vec::with_capacity(source.len());
    for (index, rows) in source.chunks(part * ROW_BYTES).enumerate() {
        let part = &mut parts[index % 3];
        part.finish(&mut results)?;
        part.start(rows)?;
    }
    // The oldest first.
    let started = rows.div_ceil(part);
    for index in started..started + 3 {
        parts[index % 3].finish(&mut results)?;
    }

    for (row, bytes) in source.chunks(ROW_BYTES).enumerate() {
        let value = BigUint::from_bytes_le(bytes);
        let square = (&value * &value).to_bytes_le();
        let square = &square[..square.len().min(ROW_BYTES)];
        let result = &results[row * ROW_BYTES..][..ROW_BYTES];
        let (low, high) = result.split_at(square.len());
        if low != square || high.iter().any(|&byte| byte != 0) {
            return Err(format!("row {row} is wrong").into());
        }
    }
    println!("{rows} squares on {device}: all right");
    Ok(())
}
