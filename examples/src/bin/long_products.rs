//! Multiplies integers of 2^21 to 2^30 bits and prints the time of each product.
//!
//! A width has two lines: one product, and a batch whose results have 2^32 bits together. Factors
//! are rows, and prepared ones, one for each row. Every row of a product is checked modulo three
//! primes of 61 bits. With `--modular`, a width has two lines
//! of reciprocals, divisions by prepared divisors and squares modulo them, in units of a full
//! square.
//!
//! `cargo run --release --package gpuint-examples --bin long_products -- --help`

use std::error::Error;
use std::time::Duration;

use clap::Parser;
use gpuint::{Device, DynBatch, DynDivisor, DynFactor, Shape};
use gpuint_examples::Backend;
use rand::{SeedableRng, rngs::SmallRng};

#[derive(Parser)]
struct Options {
    /// Logarithm of the narrowest width.
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(21..=30))]
    from: u32,
    /// Logarithm of the widest width.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(21..=30))]
    to: u32,
    /// Logarithm of the bits of all results of a batch.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(22..=34))]
    batch: u32,
    /// Measurements of 8 calls each; the median is printed.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Measure operations by prepared divisors, too, up to 2^29 bits.
    #[arg(long)]
    modular: bool,
    /// Device [default: the first GPU, else the CPU].
    #[arg(long)]
    backend: Option<Backend>,
}

/// 2^61 - `below`, a prime.
struct Prime {
    below: u64,
}

const PRIMES: [Prime; 3] = [Prime { below: 1 }, Prime { below: 31 }, Prime { below: 45 }];

impl Prime {
    const MASK: u128 = (1 << 61) - 1;

    fn reduce(&self, value: u128) -> u64 {
        // 2^61 is `below`: twice, the value is below 2^62.
        let fold = |value: u128| (value & Self::MASK) + (value >> 61) * u128::from(self.below);
        let value = fold(fold(value)) as u64;
        value % ((1 << 61) - self.below)
    }

    fn product(&self, a: u64, b: u64) -> u64 {
        self.reduce(u128::from(a) * u128::from(b))
    }

    /// A little-endian number modulo the prime.
    fn residue(&self, number: &[u8]) -> u64 {
        let step = self.reduce(1 << 64);
        number.rchunks_exact(8).fold(0, |residue, bytes| {
            let digit = bytes.iter().rev().fold(0, |digit, &byte| digit << 8 | u64::from(byte));
            let upper = u128::from(residue) * u128::from(step);
            self.reduce(upper + u128::from(digit))
        })
    }
}

/// Returns true if each row of `product` is the product of the rows of `a` and `b`, modulo the
/// primes.
fn is_right(a: &DynBatch, b: &DynBatch, product: &DynBatch) -> gpuint::Result<bool> {
    let mut is_right = true;
    let read = |batch: &DynBatch, row| {
        let mut bytes = vec![0; batch.shape().bytes()];
        batch.read_le_bytes(row, &mut bytes).map(|()| bytes)
    };
    for row in 0..product.len() {
        let (a, b, product) = (read(a, row)?, read(b, row)?, read(product, row)?);
        is_right &= PRIMES.iter().all(|prime| {
            prime.residue(&product) == prime.product(prime.residue(&a), prime.residue(&b))
        });
    }
    Ok(is_right)
}

/// Calls that are measured together, so that the device does not wait for the host between them.
const CALLS: u32 = 8;

/// Median device time of a call of `work`.
fn median(
    device: &Device,
    runs: u32,
    mut work: impl FnMut() -> gpuint::Result<()>,
) -> gpuint::Result<Duration> {
    work()?;
    let mut times = Vec::new();
    for _ in 0..runs {
        let (_, time) = device.time(|| (0..CALLS).try_for_each(|_| work()))?;
        times.push(time / CALLS);
    }
    times.sort();
    Ok(times[times.len() / 2])
}

fn measure(device: &Device, log: u32, rows: usize, runs: u32) -> gpuint::Result<bool> {
    let shape = device.shape_for(1 << log)?;
    let wide = device.shape_for(2 << log)?;
    let mut random = SmallRng::seed_from_u64(u64::from(log));
    let a = DynBatch::random(device, shape, rows, &mut random)?;
    let b = DynBatch::random(device, shape, rows, &mut random)?;
    let mut product = DynBatch::zeros(device, wide, rows)?;
    let mut low = DynBatch::zeros(device, shape, rows)?;
    let mut high = DynBatch::zeros(device, shape, rows)?;
    let factor = DynFactor::of_rows(&b)?;
    let full = median(device, runs, || a.widening_mul_into(&b, &mut product))?;
    let cyclic = median(device, runs, || a.cyclic_mul_into(&b, &mut low))?;
    let square = median(device, runs, || a.wrapping_square_into(&mut low))?;
    let sum = median(device, runs, || a.wrapping_add_into(&b, &mut low))?;
    let prepared_cyclic = median(device, runs, || a.cyclic_mul_by_into(&factor, &mut low))?;
    let are_cyclic = low.is_equal(&a.cyclic_mul(&b)?)?;
    let prepared = median(device, runs, || a.mul_lo_hi_by_into(&factor, &mut low, &mut high))?;
    let are_halves = low.join(&high)?.is_equal(&product)?;
    let is_right = is_right(&a, &b, &product)? && are_cyclic && are_halves;
    let scaled = |time: Duration, Shape { bits, .. }: Shape| {
        let milliseconds = time.as_secs_f64() * 1e3;
        let share = (1u64 << 32) as f64 / (bits as f64 * rows as f64);
        format!("{milliseconds:9.4} ({:7.3})", milliseconds * share)
    };
    println!(
        "2^{log} bits, {rows:4} rows: product {}, prepared {}, cyclic {}, prepared {}, \
         low square {}, sum {}: {}",
        scaled(full, wide),
        scaled(prepared, wide),
        scaled(cyclic, shape),
        scaled(prepared_cyclic, shape),
        scaled(square, shape),
        scaled(sum, shape),
        if is_right { "all rows right" } else { "WRONG" },
    );
    Ok(is_right)
}

/// Squares modulo a divisor that are measured together.
const SQUARES: usize = 8;

/// Measures operations by divisors whose top bit is set, and checks them by products and a
/// division of twice the width.
fn measure_modular(device: &Device, log: u32, rows: usize, runs: u32) -> gpuint::Result<bool> {
    let shape = device.shape_for(1 << log)?;
    let mut random = SmallRng::seed_from_u64(u64::from(log));
    let a = DynBatch::random(device, shape, rows, &mut random)?;
    let v = DynBatch::random(device, shape, rows, &mut random)?.with_bit((1 << log) - 1)?;
    let mut wide = DynBatch::zeros(device, device.shape_for(2 << log)?, rows)?;
    let square = median(device, runs, || a.widening_mul_into(&a, &mut wide))?;
    // The first product computes the reciprocals.
    let prepared = median(device, runs, || {
        let divisor = DynDivisor::of_rows(&v)?;
        a.square_mod(&divisor).map(drop)
    })?;
    let divisor = DynDivisor::of_rows(&v)?;
    let residue = a.square_mod(&divisor)?;
    let division = median(device, runs, || a.div_rem_by(&divisor).map(drop))?;
    let squares =
        median(device, runs, || residue.square_mod_repeatedly(SQUARES, &divisor).map(drop))?;
    let squares = squares / SQUARES as u32;
    let preparation = prepared.saturating_sub(squares);
    let units = |time: Duration| {
        let units = time.as_secs_f64() / square.as_secs_f64();
        format!("{:9.4} ({units:5.2})", time.as_secs_f64() * 1e3)
    };
    let next = residue.square_mod(&divisor)?;
    let (low, high) = residue.mul_lo_hi(&residue)?;
    let (quotient, rest) = low.div_rem_wide(&high, &v)?;
    let product = quotient.wrapping_mul(&v.resized(quotient.shape())?)?;
    let sum = product.wrapping_add(&rest.resized(quotient.shape())?)?;
    let is_right = rest.is_equal(&next)?
        && rest.lt_mask(&v)?.count()? == rows
        && is_right(&residue, &residue, &sum)?;
    println!(
        "2^{log} bits, {rows:4} rows: full square {}, reciprocal {}, division {}, \
         modular square {}: {}",
        units(square),
        units(preparation),
        units(division),
        units(squares),
        if is_right { "all rows right" } else { "WRONG" },
    );
    Ok(is_right)
}

fn main() -> Result<(), Box<dyn Error>> {
    gpuint_examples::start_log()?;
    let Options { from, to, batch, runs, modular, backend } = Options::parse();
    let device = gpuint_examples::open(backend)?;
    println!("{device}; ms of device time, in brackets for results of 2^32 bits");
    let mut are_right = true;
    for log in from..=to {
        are_right &= measure(&device, log, 1, runs)?;
        let rows = 1usize.checked_shl(batch.saturating_sub(log + 1)).unwrap_or(1);
        if batch > log + 1 {
            are_right &= measure(&device, log, rows, runs)?;
        }
    }
    // Divisions of twice the width check the results.
    for log in (from..=to.min(29)).filter(|_| modular) {
        are_right &= measure_modular(&device, log, 1, runs)?;
        let rows = 1usize.checked_shl(batch.saturating_sub(log + 1)).unwrap_or(1);
        if batch > log + 1 {
            are_right &= measure_modular(&device, log, rows, runs)?;
        }
    }
    if are_right { Ok(()) } else { Err("a product is wrong".into()) }
}
