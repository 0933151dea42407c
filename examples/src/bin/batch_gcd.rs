//! Finds RSA moduli that share a prime, as an audit of public keys does.
//!
//! `cargo run --release --package gpuint-examples --bin batch_gcd -- moduli.txt`:
//! one hexadecimal modulus a line; without a file, a few known ones.

use std::{env, error::Error, fs};

use gpuint::num_bigint::BigUint;
use gpuint::{Device, DynBatch, narrowest};

fn main() -> Result<(), Box<dyn Error>> {
    let mersenne = |exponent: u32| (BigUint::from(1u32) << exponent) - 1u32; // primes
    let known = [(521, 607), (1279, 127), (607, 2203)].map(|(p, q)| mersenne(p) * mersenne(q));
    let text = match env::args().nth(1) {
        Some(path) => fs::read_to_string(path)?,
        None => known.map(|modulus| format!("{modulus:x}")).join("\n"),
    };
    let lines: Vec<&str> = text.split_whitespace().collect();
    let bits = 4 * lines.iter().map(|line| line.len()).max().unwrap_or(0);
    let shape = narrowest(bits).ok_or("a modulus is wider than all shapes")?;
    let moduli = DynBatch::from_hex(&Device::new()?, shape, &lines)?;
    let divisors = moduli.batch_gcd()?;
    let weak = divisors.eq_mask_all(1)?.not()?.indices()?;
    println!("{} of {} moduli share a prime with another one", weak.len(), lines.len());
    for row in weak {
        println!("line {}: {:#x}", row + 1, divisors.row(row)?);
    }
    Ok(())
}
