//! Times a round of private gradient sums: encryption in both forms, decryption, addition,
//! multiplication and a histogram. It checks every decrypted row.
//!
//! ```text
//! cargo run --release -p gpuint-paillier --example round -- --rows 100000 --bits 2048
//! ```

use std::time::Instant;

use clap::{Parser, ValueEnum};
use gpuint::num_bigint::BigUint;
use gpuint::{Device, Result as LibraryResult};
use gpuint_paillier::{
    Ciphertexts, Decryptor, Encryptor, Primes, PrivateKey, Result, numbers, to_f64,
};

#[derive(Debug, Parser)]
struct Options {
    /// Numbers of the column.
    #[arg(long, default_value_t = 1000)]
    rows: usize,
    /// Bits of the key.
    #[arg(long, default_value_t = 2048)]
    bits: usize,
    /// Groups of the histogram.
    #[arg(long, default_value_t = 256)]
    groups: usize,
    /// Device; by default the first GPU, else the CPU.
    #[arg(long)]
    backend: Option<Backend>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Backend {
    Cuda,
    Cpu,
}

fn open(backend: Option<Backend>) -> LibraryResult<Device> {
    match backend {
        None => Device::new(),
        Some(Backend::Cuda) => Device::cuda(0),
        Some(Backend::Cpu) => Ok(Device::cpu()),
    }
}

/// Runs `work` on few rows first, which loads the kernels, and prints the rows a second of all.
fn timed<T>(
    device: &Device,
    label: &str,
    rows: usize,
    mut work: impl FnMut(bool) -> Result<T>,
) -> Result<T> {
    work(false)?;
    device.synchronize()?;
    let start = Instant::now();
    let result = work(true)?;
    device.synchronize()?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{label:28} {rows} rows {seconds:9.4} s {:14.0} rows/s", rows as f64 / seconds);
    Ok(result)
}

/// Fails with the first row that is wrong.
fn check(label: &str, found: &[BigUint], expected: impl Iterator<Item = BigUint>) {
    let wrong = found.iter().zip(expected).position(|(found, expected)| *found != expected);
    assert_eq!(wrong, None, "{label}: wrong row");
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let Options { rows, bits, groups, backend } = Options::parse();
    let device = open(backend)?;
    println!("{device}; keys of {bits} bits");
    let start = Instant::now();
    let key = PrivateKey::generate(&device, bits, Primes::Blum)?;
    println!("{:28} {:.3} s", "key generation", start.elapsed().as_secs_f64());
    let long = Encryptor::new(&device, key.public())?;
    let short = Encryptor::short(&device, key.public())?;
    let decryptor = Decryptor::new(&device, &key)?;

    let n = key.public().modulus();
    // 0, n - 1, 1, n - 2, ..: both ends of the range.
    let ends =
        |row: usize| if row.is_multiple_of(2) { (row / 2).into() } else { n - (row / 2 + 1) };
    let plaintexts: Vec<BigUint> = (0..rows).map(ends).collect();
    let few = rows.min(64);
    let part = |all: bool| if all { rows } else { few };
    let a = timed(&device, "encrypt, r^n", rows, |all| long.encrypt(&plaintexts[..part(all)]))?;
    let b = timed(&device, "encrypt, short exponents", rows, |all| {
        short.encrypt(&plaintexts[..part(all)])
    })?;
    let first: Vec<usize> = (0..few).collect();
    let (few_a, few_b) = (a.gather(&first)?, b.gather(&first)?);
    let of = |all: bool| -> (&Ciphertexts, &Ciphertexts) {
        if all { (&a, &b) } else { (&few_a, &few_b) }
    };
    let sum = timed(&device, "add", rows, |all| of(all).0.add(of(all).1))?;
    let found = timed(&device, "decrypt", rows, |all| decryptor.decrypt(of(all).0))?;
    check("decrypt", &found, plaintexts.iter().cloned());
    let found = decryptor.decrypt(&sum)?;
    check("add", &found, plaintexts.iter().map(|plaintext| 2u32 * plaintext % n));
    let factors: Vec<BigUint> = (0..rows).map(|row| BigUint::from(row as u32)).collect();
    timed(&device, "multiply by 32-bit integers", rows, |all| {
        of(all).0.mul_plain(&factors[..part(all)])
    })?;
    timed(&device, "rerandomize", rows, |all| short.rerandomize(of(all).0))?;

    // Multiples of 2^-20, of which sums are exact in f64.
    let gradient = |row: usize| (row % 2001) as f64 / 1_048_576.0 - 0.001;
    let gradients: Vec<f64> =
        (0..rows).map(|row| (gradient(row) * 1_048_576.0).round() / 1_048_576.0).collect();
    let group: Vec<usize> = (0..rows).map(|row| row * 7919 % groups).collect();
    let start = Instant::now();
    let encrypted = short.encrypt_numbers(&numbers(&gradients, Some(-5))?)?;
    let histogram = encrypted.sum_by(&group, groups)?;
    let sums = to_f64(&decryptor.decrypt_numbers(&histogram)?)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{:28} {rows} rows {seconds:9.4} s, {groups} groups", "round: f64 to sums in f64");
    let mut expected = vec![0.0; groups];
    gradients.iter().zip(&group).for_each(|(gradient, &group)| expected[group] += gradient);
    assert_eq!(sums, expected, "histogram");
    timed(&device, "histogram", rows, |all| of(all).1.sum_by(&group[..part(all)], groups))?;
    println!("all rows right");
    Ok(())
}
