//! Finds the probable primes of a file, or among random odd numbers: trial division by small
//! primes, a strong test to base 2, then a strong Lucas test (Baillie-PSW), all candidates at once.
//!
//! `cargo run --release --package gpuint-examples --bin primality -- --help`

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::time::Instant;
use std::{fs, process::ExitCode};

use clap::Parser;
use gpuint::num_bigint::BigUint;
use gpuint::{Device, DynBatch, Mask};
use gpuint_examples::Backend;
use rand::{Rng, SeedableRng, rngs::SmallRng};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Prints the probable primes among the candidates, in hexadecimal, and the times of the tests on
/// standard error.
#[derive(Debug, Parser)]
struct Options {
    /// File of candidates, one a line, decimal or hexadecimal with 0x.
    file: Option<PathBuf>,
    /// Width of random candidates, where there is no file.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(2..))]
    bits: u32,
    /// Number of random candidates.
    #[arg(long, default_value_t = 2000)]
    rows: usize,
    /// Bound of the primes for trial division.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u16).range(3..13_000))]
    sieve: u16,
    /// Device [default: the first GPU, else the CPU]
    #[arg(long)]
    backend: Option<Backend>,
}

/// Reads the candidates of a file.
fn read(file: &PathBuf) -> Result<Vec<BigUint>> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let parse = |(line, text): (usize, &str)| {
        let hexadecimal = text.strip_prefix("0x").map(|digits| (digits, 16));
        let (digits, base) = hexadecimal.unwrap_or((text, 10));
        BigUint::parse_bytes(digits.as_bytes(), base)
            .ok_or_else(|| format!("{}, line {}: not a number", file.display(), line + 1).into())
    };
    let lines = text.lines().map(str::trim).enumerate();
    lines.filter(|(_, text)| !text.is_empty()).map(parse).collect()
}

/// Draws odd numbers of a width.
fn random(bits: u32, rows: usize) -> Vec<BigUint> {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut number = || {
        let mut words = vec![0; bits.div_ceil(32) as usize];
        words.fill_with(|| rng.next_u32());
        let mut number = BigUint::new(words) >> (bits.next_multiple_of(32) - bits);
        number.set_bit(0, true);
        number.set_bit(u64::from(bits) - 1, true);
        number
    };
    (0..rows).map(|_| number()).collect()
}

fn run(options: &Options) -> Result<()> {
    gpuint_examples::start_log()?;
    let device = gpuint_examples::open(options.backend)?;
    let mut numbers = match &options.file {
        Some(file) => read(file)?,
        None => random(options.bits, options.rows),
    };
    numbers.retain(|number| *number > BigUint::from(1u32));
    let found = probable_primes(&device, options.sieve, &numbers)?;
    let mut out = io::stdout().lock();
    found.iter().try_for_each(|prime| writeln!(out, "{prime:#x}"))?;
    eprintln!("{} of {} are probable primes", found.len(), numbers.len());
    Ok(())
}

/// Returns the probable primes among numbers from 2 on, of any sizes.
fn probable_primes(
    device: &Device,
    sieve: u16,
    numbers: &[BigUint],
) -> gpuint::Result<Vec<BigUint>> {
    // The narrowest width that holds all.
    let mut left = DynBatch::fitting(device, numbers)?;
    eprintln!("{device}: {} candidates in rows of {} bits", left.len(), left.shape().bits);
    let mut step = |name: &str, passed: &dyn Fn(&DynBatch) -> gpuint::Result<Mask>| {
        let (rows, start) = (left.len(), Instant::now());
        left = left.filter(&passed(&left)?)?;
        eprintln!("{name:<20} {rows:>9} -> {:>8} {:>12.1?}", left.len(), start.elapsed());
        gpuint::Result::Ok(())
    };
    step("trial division", &|rows| rows.has_small_factor(sieve.into())?.not())?;
    step("strong, base 2", &|rows| rows.is_strong_probable_prime(2))?;
    step("strong Lucas", &DynBatch::is_strong_lucas_probable_prime)?;
    left.to_biguints()
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the primes has enough of them.
        Err(error)
            if error
                .downcast_ref()
                .is_some_and(|error: &io::Error| error.kind() == ErrorKind::BrokenPipe) =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("primality: {error}");
            ExitCode::FAILURE
        }
    }
}
