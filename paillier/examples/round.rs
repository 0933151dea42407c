//! Times a round of private gradient sums: encryption in both forms, decryption, addition,
//! multiplication and a histogram. It checks every decrypted row: plaintexts at the ends and in the
//! middle of the range, signed numbers and exponents at their limits.
//!
//! ```text
//! cargo run --release -p gpuint-paillier --example round -- --rows 100000 --bits 2048
//! ```

use std::time::Instant;

use clap::{Parser, ValueEnum};
use gpuint::num_bigint::{BigInt, BigUint};
use gpuint::{Device, Result as LibraryResult};
use gpuint_paillier::{
    Ciphertexts, Decryptor, Encryptor, Number, Primes, PrivateKey, Result, numbers, to_f64,
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
    /// Times that each step runs; the median is printed.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
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

/// Times steps on all rows.
struct Timer<'a> {
    device: &'a Device,
    rows: usize,
    runs: u16,
}

impl Timer<'_> {
    /// Runs `work` on few rows first, which loads the kernels, and prints the rows a second of all.
    fn time<T>(&self, label: &str, mut work: impl FnMut(bool) -> Result<T>) -> Result<T> {
        let Self { device, rows, runs } = *self;
        work(false)?;
        device.synchronize()?;
        let mut run = || -> Result<(f64, T)> {
            let start = Instant::now();
            let result = work(true)?;
            device.synchronize()?;
            Ok((start.elapsed().as_secs_f64(), result))
        };
        let (first, mut result) = run()?;
        let mut times = vec![first];
        for _ in 1..runs {
            // A run takes the memory of the result before it.
            drop(result);
            let seconds;
            (seconds, result) = run()?;
            times.push(seconds);
        }
        times.sort_by(f64::total_cmp);
        let seconds = times[times.len() / 2];
        println!("{label:28} {rows} rows {seconds:9.4} s {:14.0} rows/s", rows as f64 / seconds);
        Ok(result)
    }
}

/// Fails with the first row that is wrong.
fn check(label: &str, found: &[BigUint], expected: impl Iterator<Item = BigUint>) {
    let wrong = found.iter().zip(expected).position(|(found, expected)| *found != expected);
    assert_eq!(wrong, None, "{label}: wrong row");
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let Options { rows, bits, groups, runs, backend } = Options::parse();
    let device = open(backend)?;
    println!("{device}; keys of {bits} bits");
    let start = Instant::now();
    let key = PrivateKey::generate(&device, bits, Primes::Blum)?;
    println!("{:28} {:.3} s", "key generation", start.elapsed().as_secs_f64());
    let long = Encryptor::new(&device, key.public())?;
    let short = Encryptor::short(&device, key.public())?;
    let decryptor = Decryptor::new(&device, &key)?;

    let n = key.public().modulus();
    // Both ends of the range, and both sides of its middle.
    let hostile = |row: usize| {
        let distance = row / 4;
        match row % 4 {
            0 => distance.into(),
            1 => n - (distance + 1),
            2 => n / 2u32 - distance,
            _ => n / 2u32 + (distance + 1),
        }
    };
    let plaintexts: Vec<BigUint> = (0..rows).map(hostile).collect();
    let few = rows.min(64);
    let part = |all: bool| if all { rows } else { few };
    let timer = Timer { device: &device, rows, runs };
    let a = timer.time("encrypt, r^n", |all| long.encrypt(&plaintexts[..part(all)]))?;
    let b =
        timer.time("encrypt, short exponents", |all| short.encrypt(&plaintexts[..part(all)]))?;
    let first: Vec<usize> = (0..few).collect();
    let (few_a, few_b) = (a.gather(&first)?, b.gather(&first)?);
    let of = |all: bool| -> (&Ciphertexts, &Ciphertexts) {
        if all { (&a, &b) } else { (&few_a, &few_b) }
    };
    let sum = timer.time("add", |all| of(all).0.add(of(all).1))?;
    let found = timer.time("decrypt", |all| decryptor.decrypt(of(all).0))?;
    check("decrypt", &found, plaintexts.iter().cloned());
    let found = decryptor.decrypt(&sum)?;
    check("add", &found, plaintexts.iter().map(|plaintext| 2u32 * plaintext % n));
    let factors: Vec<BigUint> = (0..rows).map(|row| BigUint::from(row as u32)).collect();
    timer.time("multiply by 32-bit integers", |all| of(all).0.mul_plain(&factors[..part(all)]))?;
    timer.time("rerandomize", |all| short.rerandomize(of(all).0))?;

    // Signed numbers at both ends of their range, with the exponents at both ends of theirs.
    let max = BigInt::from(key.public().max_int());
    let limits = |row: usize| {
        let (distance, largest) = (row / 4, &max - row / 4);
        let mantissa = [-largest.clone(), -BigInt::from(distance), distance.into(), largest];
        Number::new(mantissa[row % 4].clone(), [i32::MIN, i32::MAX][row / 4 % 2])
    };
    let signed: Vec<Number> = (0..rows).map(limits).collect();
    let found = decryptor.decrypt_numbers(&short.encrypt_numbers(&signed)?)?;
    assert!(found == signed, "signed numbers: wrong row");

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
    timer.time("histogram", |all| of(all).1.sum_by(&group[..part(all)], groups))?;
    println!("all rows right");
    Ok(())
}
