//! Raises integers to one power modulo one number, on all GPUs of the machine at once.
//!
//! A pool gives each GPU chunks of the rows, as many as it computes in the same time. Each GPU
//! prepares the modulus once. If a GPU fails, the others compute its rows.
//!
//! `cargo run --release --package gpuint-examples --bin several_gpus -- --help`

use std::error::Error;
use std::time::Instant;

use clap::Parser;
use gpuint::num_bigint::BigUint;
use gpuint::{Device, DynBatch, DynDivisor, Pool, narrowest};
use gpuint_examples::Backend;
use rand::{Rng, SeedableRng, rngs::SmallRng};

/// Raises integers to the power 65537 on all devices of a pool.
#[derive(Parser)]
struct Options {
    /// Number of integers.
    #[arg(long, default_value_t = 20_000)]
    rows: usize,
    /// Width of the integers in bits.
    #[arg(long, default_value_t = 1024)]
    bits: usize,
    /// Devices, separated by commas [default: all GPUs, else the CPU].
    #[arg(long, value_delimiter = ',')]
    devices: Vec<Backend>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Options { rows, bits, devices } = Options::parse();
    gpuint_examples::start_log()?;
    let pool = if devices.is_empty() {
        Pool::new()?
    } else {
        let open = |backend| gpuint_examples::open(Some(backend));
        Pool::of(devices.into_iter().map(open).collect::<gpuint::Result<Vec<_>>>()?)?
    };
    let shape = narrowest(bits).ok_or("no such width is built")?;
    let mut random = SmallRng::seed_from_u64(1);
    let mut bases = vec![0; rows * shape.bytes()];
    random.fill_bytes(&mut bases);
    let mut modulus = vec![0; shape.bytes()];
    random.fill_bytes(&mut modulus);
    modulus[0] |= 1;
    let modulus = BigUint::from_bytes_le(&modulus);
    let exponent = BigUint::from(65_537u32);

    let start = Instant::now();
    let mut powers = vec![0; bases.len()];
    let prepare = |device: &Device| DynDivisor::splat(device, shape, &modulus);
    let shares = pool.run(shape, rows, &mut powers[..], prepare, |modulus, chunk, powers| {
        let bases = DynBatch::from_le_bytes(chunk.device(), shape, chunk.part(&bases)?)?;
        bases.pow_mod_all(&exponent, modulus)?.read_le_bytes(0, powers)
    })?;
    println!("{rows} powers of {} bits in {:.1?}", shape.bits, start.elapsed());
    for share in shares {
        print!("{:>8} by {}", share.rows, share.device);
        match share.error {
            Some(error) => println!(", until it failed: {error}"),
            None => println!(),
        }
    }

    let rows = bases.chunks(shape.bytes()).zip(powers.chunks(shape.bytes())).enumerate();
    for (row, (base, power)) in rows.step_by(97) {
        let [base, power] = [base, power].map(BigUint::from_bytes_le);
        if base.modpow(&exponent, &modulus) != power {
            return Err(format!("row {row} is wrong").into());
        }
    }
    Ok(())
}
