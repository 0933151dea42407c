//! Finds the probable primes of a file, or among random odd numbers: trial division by small
//! primes, then strong tests (Miller and Rabin) to two bases, all candidates at once.
//!
//! `cargo run --release --package gpuint-examples --bin primality -- --help`
//!
//! Each candidate is its own modulus: its reciprocal is prepared once for each test.

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::time::Instant;
use std::{fs, process::ExitCode};

use clap::Parser;
use gpuint::num_bigint::BigUint;
use gpuint::{Device, DynBatch, DynDivisor};
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

/// Returns the rows with a prime factor below `end`, the number itself apart.
fn has_small_factor(numbers: &DynBatch, end: u16) -> gpuint::Result<Vec<bool>> {
    let mut has_factor = vec![false; numbers.len()];
    for prime in (2..end).filter(|&n| (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0)) {
        let is_prime = numbers.eq_mask_all(u64::from(prime))?.to_bools()?;
        let remainders = numbers.rem_digit(prime.into())?;
        for ((has_factor, remainder), is_prime) in
            has_factor.iter_mut().zip(remainders).zip(is_prime)
        {
            *has_factor |= remainder == 0 && !is_prime;
        }
    }
    Ok(has_factor)
}

/// Returns the rows n, odd and above 2, that are strong probable primes: with n - 1 = d 2^s and d
/// odd, a^d is 1, or a^(d 2^i) is -1 for some i < s.
fn is_strong(n: &DynBatch, base: u64) -> gpuint::Result<Vec<bool>> {
    let minus_one = n.wrapping_sub_all(1)?;
    let zeros = minus_one.trailing_zeros()?;
    let distances: Vec<usize> = zeros.iter().map(|&zeros| zeros as usize).collect();
    let divisor = DynDivisor::of_rows(n)?;
    let a = DynBatch::splat(n.device(), n.shape(), base, n.len())?;
    let mut x = a.pow_mod(&minus_one.shr_rows(&distances)?, &divisor)?;
    let mut is_strong = x.eq_mask_all(1)?.to_bools()?;
    for i in 0..zeros.iter().copied().max().unwrap_or(0) {
        let is_minus_one = x.eq_mask(&minus_one)?.to_bools()?;
        for ((is_strong, is_minus_one), &s) in is_strong.iter_mut().zip(is_minus_one).zip(&zeros) {
            *is_strong |= is_minus_one && i < s;
        }
        x = x.square_mod(&divisor)?;
    }
    Ok(is_strong)
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
    let mut step = |name: &str, passed: &dyn Fn(&DynBatch) -> gpuint::Result<Vec<bool>>| {
        let (rows, start) = (left.len(), Instant::now());
        let passed = passed(&left)?;
        let indices: Vec<usize> = (0..rows).filter(|&row| passed[row]).collect();
        left = left.gather(&indices)?;
        eprintln!("{name:<20} {rows:>9} -> {:>8} {:>12.1?}", left.len(), start.elapsed());
        gpuint::Result::Ok(())
    };
    step("trial division", &|rows| {
        Ok(has_small_factor(rows, sieve)?.into_iter().map(|has_factor| !has_factor).collect())
    })?;
    for base in [2, 3] {
        step(&format!("strong, base {base}"), &|rows| {
            // Modulo 2 and 3 the bases are not units.
            let small = rows.lt_mask_all(4)?.to_bools()?;
            Ok(is_strong(rows, base)?.into_iter().zip(small).map(|(a, b)| a || b).collect())
        })?;
    }
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
