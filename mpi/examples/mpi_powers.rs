//! Raises integers to a power modulo one number, on all GPUs of several machines.
//!
//! Each rank has one GPU, or the CPU of a machine without one. Rank 0 has all integers, scatters
//! them, and gathers the powers in order. The parts are pinned memory, from and to which the GPU
//! copies directly.
//!
//! `mpirun -n 4 target/release/examples/mpi_powers --rows 100000`

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use gpuint::num_bigint::BigUint;
use gpuint::{DynBatch, DynDivisor, HostBatch, narrowest};
use gpuint_mpi::Ranks;
use mpi::environment::{Threading, initialize_with_threading};
use mpi::traits::Communicator;

/// Raises integers to the power 65537 on all ranks.
#[derive(Parser)]
struct Options {
    /// Number of integers.
    #[arg(long, default_value_t = 10_000)]
    rows: usize,
    /// Width of the integers in bits.
    #[arg(long, default_value_t = 1024)]
    bits: usize,
}

fn main() -> ExitCode {
    let options = Options::parse();
    // Only this thread calls MPI.
    let Some((universe, _)) = initialize_with_threading(Threading::Funneled) else {
        return ExitCode::FAILURE;
    };
    let ranks = Ranks::over(&universe.world());
    if let Err(error) = run(&options, &ranks) {
        eprintln!("rank {}: {error}", ranks.rank());
        // Other ranks may wait for this one.
        universe.world().abort(1);
    }
    ExitCode::SUCCESS
}

fn run(&Options { rows, bits }: &Options, ranks: &Ranks) -> Result<(), Box<dyn Error>> {
    let device = ranks.open_device()?;
    println!("rank {} of {}: {device}", ranks.rank(), ranks.count());
    let shape = narrowest(bits).ok_or("no such width is built")?;
    let row = shape.bytes();
    let modulus = (BigUint::from(1u32) << (shape.bits - 1)) + 12_345u32;
    let exponent = BigUint::from(65_537u32);

    // Pseudorandom, at rank 0.
    let count = if ranks.is_root() { rows * row } else { 0 };
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let bases: Vec<u8> = (0..count).map(|_| next()).collect();

    let start = Instant::now();
    let mut part = HostBatch::new(&device, shape, ranks.share(rows, ranks.rank()).len())?;
    ranks.scatter(rows, row, &bases, part.as_bytes_mut()?)?;
    let mut batch = DynBatch::zeros(&device, shape, part.len())?;
    batch.upload(0, &mut part)?;
    let modulus_on_device = DynDivisor::splat(&device, shape, &modulus)?;
    batch.pow_mod_all(&exponent, &modulus_on_device)?.download(0, &mut part)?;
    let mut powers = vec![0; count];
    ranks.gather(rows, row, part.as_bytes()?, &mut powers)?;

    if ranks.is_root() {
        println!("{rows} powers of {} bits in {:.1?}", shape.bits, start.elapsed());
        let pairs = bases.chunks(row).zip(powers.chunks(row)).enumerate();
        for (index, (base, power)) in pairs.step_by(97) {
            let [base, power] = [base, power].map(BigUint::from_bytes_le);
            if base.modpow(&exponent, &modulus) != power {
                return Err(format!("row {index} is wrong").into());
            }
        }
        println!("every 97th row is right");
    }
    Ok(())
}
