//! Finds the primes among numbers 2^p - 1 by the test of Lucas and Lehmer, all at the same time.
//!
//! `cargo run --release --package gpuint-examples --bin mersenne`
//!
//! For odd primes p, 2^p - 1 is prime exactly where s(p - 2) = 0 mod 2^p - 1, with s(0) = 4 and
//! s(i) = s(i - 1)^2 - 2 (D. H. Lehmer, "An extended theory of Lucas' functions", 1930). Each row
//! has its own modulus. Residues stay on the device, in the form in which products are fastest,
//! until they are compared with 0.

use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Device, GpuUint, Kernels, Modulus, Residues, Result};

type U1024 = GpuUint<1024>;

/// The exponents of the Mersenne primes below 1024.
const KNOWN: [usize; 13] = [3, 5, 7, 13, 17, 19, 31, 61, 89, 107, 127, 521, 607];

fn main() -> Result<()> {
    let device = Device::new()?;
    let is_prime = |n: usize| (2..n).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
    let exponents: Vec<usize> = (3..U1024::BITS).filter(|&p| is_prime(p)).collect();
    let numbers: Vec<_> = exponents.iter().map(|&p| (BigUint::from(1u32) << p) - 1u32).collect();

    let modulus = Modulus::new(&Batch::<U1024>::from_biguints(&device, &numbers)?)?;
    let two = Residues::splat(&BigUint::from(2u32), numbers.len(), &modulus)?;
    let mut s = two.double()?;
    let (mut square, mut found) = (s.try_clone()?, Vec::new());
    for step in 1..U1024::BITS {
        s.square_into(&mut square)?;
        square.sub_into(&two, &mut s)?;
        if let Ok(row) = exponents.binary_search(&(step + 2))
            && s.is_zero_mask()?.to_bools()?[row]
        {
            found.push(exponents[row]);
        }
    }
    println!("{device}: 2^p - 1 is prime for p = {found:?}");
    assert_eq!(found, KNOWN);
    Ok(())
}
