//! Finds the probable primes among many random odd numbers: trial division by small primes, then a
//! Fermat and a Miller-Rabin test of the remaining numbers, all in batches.
//!
//! `cargo run --release --example primality -- --help`
//!
//! Each candidate is its own modulus: its reciprocal is prepared once and serves both tests. Some
//! known numbers are among the candidates, and the program fails if a test misjudges one of them.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use gpuint::num_bigint::BigUint;
use gpuint::{Device, DigitKind, DynBatch, DynDivisor, Shape, shapes};
use num_traits::One;
use rand::SeedableRng;
use rand::rngs::SmallRng;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Tests random odd numbers for primality.
#[derive(Debug, Parser)]
struct Options {
    /// Device [default: the first GPU, else the CPU]
    #[arg(long)]
    backend: Option<Backend>,
    /// Width of a candidate.
    #[arg(long, default_value_t = 1024)]
    bits: usize,
    /// Number of candidates.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// Bound of the primes for trial division.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u16).range(3..13_000))]
    sieve: u16,
    /// Seed of the candidates.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Backend {
    Cuda,
    Cpu,
    Simt,
}

/// Known result for a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Prime,
    /// Passes Fermat's test to base 2, but not the strong test to the bases 2 and 3.
    FermatPseudoprime,
    Composite,
}

/// Known numbers among the candidates. None has a small factor.
fn known(bits: usize) -> Vec<(BigUint, Known)> {
    let mersenne = |exponent: u32| (BigUint::one() << exponent) - 1u32;
    [
        (mersenne(521), Known::Prime),
        (mersenne(127) * mersenne(89), Known::Composite),
        // A prime exponent makes it a pseudoprime; its least factor is 13367.
        (mersenne(41), Known::FermatPseudoprime),
        (mersenne(607) * mersenne(107), Known::Composite),
    ]
    .into_iter()
    .filter(|(number, _)| number.bits() <= bits as u64)
    .collect()
}

/// Returns the odd primes below a number.
fn small_primes(end: u16) -> Vec<u16> {
    (3..end).step_by(2).filter(|&n| (3..n).step_by(2).all(|d| n % d != 0)).collect()
}

/// The tests at one shape.
struct AtShape<'a> {
    options: &'a Options,
    device: &'a Device,
}

/// Prints the time of a step.
fn report(step: &str, rows: usize, left: usize, time: Duration) {
    let seconds = time.as_secs_f64();
    println!(
        "{step:<32} {rows:>9} -> {left:>8} {:>12.3} ms {:>12.0} rows/s",
        seconds * 1e3,
        rows as f64 / seconds
    );
}

impl AtShape<'_> {
    fn run(self, shape: Shape) -> Result<()> {
        let Self { options, device } = self;
        let mut rng = SmallRng::seed_from_u64(options.seed);
        let random = DynBatch::random(device, shape, options.rows as usize, &mut rng)?;
        let mut candidates = random.to_biguints()?;
        for candidate in &mut candidates {
            candidate.set_bit(0, true);
            candidate.set_bit(shape.bits as u64 - 1, true);
        }
        let known = known(shape.bits);
        candidates.extend(known.iter().map(|(number, _)| number.clone()));

        // Trial division by one digit for all rows.
        let rows = candidates.len();
        let batch = DynBatch::from_biguints(device, shape, &candidates)?;
        batch.rem_digit(1)?; // loads the kernel
        let mut has_factor = vec![false; rows];
        let ((), time) = device.time(|| {
            for prime in small_primes(options.sieve) {
                let remainders = batch.rem_digit(prime.into())?;
                for (has_factor, remainder) in has_factor.iter_mut().zip(&remainders) {
                    *has_factor |= *remainder == 0;
                }
            }
            Ok(())
        })?;
        let mut left: Vec<usize> = (0..rows).filter(|&row| !has_factor[row]).collect();
        report("trial division", rows, left.len(), time);

        // The tests load their kernels on one row.
        strong(&DynBatch::splat(device, shape, &BigUint::from(7u32), 1)?, 2)?;

        let rows = left.len();
        let n = select(shape, device, &candidates, &left)?;
        let (passed, time) = device.time(|| fermat(&n, 2))?;
        let fermat_passed: Vec<usize> = pick(&left, &passed);
        report("Fermat, base 2", rows, fermat_passed.len(), time);
        for (index, (_, kind)) in known.iter().enumerate() {
            let passed = fermat_passed.contains(&(candidates.len() - known.len() + index));
            if passed != (*kind != Known::Composite) {
                return Err(format!("Fermat's test is wrong on known number {index}").into());
            }
        }

        left = fermat_passed;
        for base in [2, 3] {
            let rows = left.len();
            let n = select(shape, device, &candidates, &left)?;
            let (passed, time) = device.time(|| strong(&n, base))?;
            left = pick(&left, &passed);
            report(&format!("Miller-Rabin, base {base}"), rows, left.len(), time);
        }
        for (index, (_, kind)) in known.iter().enumerate() {
            let passed = left.contains(&(candidates.len() - known.len() + index));
            if passed != (*kind == Known::Prime) {
                return Err(
                    format!("the Miller-Rabin test is wrong on known number {index}").into()
                );
            }
        }
        println!("{} of {} are probable primes", left.len(), candidates.len());
        Ok(())
    }
}

fn select(
    shape: Shape,
    device: &Device,
    candidates: &[BigUint],
    rows: &[usize],
) -> gpuint::Result<DynBatch> {
    let chosen: Vec<_> = rows.iter().map(|&row| candidates[row].clone()).collect();
    DynBatch::from_biguints(device, shape, &chosen)
}

fn pick(rows: &[usize], passed: &[bool]) -> Vec<usize> {
    rows.iter().zip(passed).filter(|(_, passed)| **passed).map(|(&row, _)| row).collect()
}

/// Returns for each row n whether a^(n-1) = 1 modulo n.
fn fermat(n: &DynBatch, base: u32) -> gpuint::Result<Vec<bool>> {
    let (device, shape) = (n.device(), n.shape());
    let one = DynBatch::splat(device, shape, &BigUint::one(), n.len())?;
    let a = DynBatch::splat(device, shape, &BigUint::from(base), n.len())?;
    a.pow_mod(&n.wrapping_sub(&one)?, &DynDivisor::of_rows(n)?)?.eq_mask(&one)?.to_bools()
}

/// Returns for each odd row n, with n - 1 = d 2^s and d odd, whether it is a strong probable prime:
/// a^d is 1, or a^(d 2^i) is -1 for some i < s.
fn strong(n: &DynBatch, base: u32) -> gpuint::Result<Vec<bool>> {
    let (device, shape) = (n.device(), n.shape());
    let one = DynBatch::splat(device, shape, &BigUint::one(), n.len())?;
    let minus_one = n.wrapping_sub(&one)?;
    // Each row has its own s, so the exponents are shifted on the host.
    let mut exponents = minus_one.to_biguints()?;
    let mut zeros = Vec::with_capacity(exponents.len());
    for exponent in &mut exponents {
        let s = exponent.trailing_zeros().unwrap_or(0);
        *exponent >>= s;
        zeros.push(s);
    }
    let divisor = DynDivisor::of_rows(n)?;
    let a = DynBatch::splat(device, shape, &BigUint::from(base), n.len())?;
    let mut x = a.pow_mod(&DynBatch::from_biguints(device, shape, &exponents)?, &divisor)?;
    let mut passed = x.eq_mask(&one)?.to_bools()?;
    let mut square = x.try_clone()?;
    for i in 0..zeros.iter().copied().max().unwrap_or(0) {
        let is_minus_one = x.eq_mask(&minus_one)?.to_bools()?;
        for ((passed, is_minus_one), &s) in passed.iter_mut().zip(is_minus_one).zip(&zeros) {
            *passed |= is_minus_one && i < s;
        }
        x.square_mod_into(&divisor, &mut square)?;
        std::mem::swap(&mut x, &mut square);
    }
    Ok(passed)
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("primality: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let device = match options.backend {
        None => Device::new()?,
        Some(Backend::Cuda) => Device::cuda(0)?,
        Some(Backend::Cpu) => Device::cpu(),
        Some(Backend::Simt) => Device::simt(),
    };
    let shape = shapes()
        .iter()
        .find(|shape| (shape.bits, shape.q, shape.digit) == (options.bits, 4, DigitKind::U64))
        .ok_or_else(|| format!("{} bits are not built", options.bits))?;
    println!("{device}: {} random odd numbers of {} bits", options.rows, shape.bits);
    AtShape { options, device: &device }.run(*shape)
}
