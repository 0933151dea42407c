//! Body of the three examples by word size: runs every operation on a batch of random integers, and
//! checks each result.

use std::error::Error;
use std::time::Instant;

use clap::Parser;
use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Widen};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::{Backend, open, start_log};

/// Divides, multiplies, adds and compares a batch of random integers, and checks every row.
#[derive(Parser)]
struct Options {
    /// Number of integers in the batch.
    #[arg(long, default_value_t = 1000)]
    rows: usize,
    /// Device [default: the first GPU, else the CPU]
    #[arg(long)]
    backend: Option<Backend>,
}

/// Runs the tour at a shape.
///
/// # Errors
/// A wrong row, an invalid log filter, or an error of the device.
pub fn run<T: Widen>() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    start_log()?;
    let device = open(options.backend)?;
    let rows = options.rows;
    println!("{rows} integers of {} bits, {} digits of {} bits", T::BITS, T::DIGITS, T::DIGIT_BITS);
    println!("on {device}");

    let mut rng = SmallRng::seed_from_u64(1);
    let u = Batch::<T>::random(&device, rows, &mut rng)?;
    // Divisors of half the width, none of them zero.
    let one = Batch::splat(&device, &BigUint::from(1u32), rows)?;
    let v = &Batch::random(&device, rows, &mut rng)?.shr(T::BITS / 2)? + &one;
    let (us, vs) = (u.to_biguints()?, v.to_biguints()?);
    let modulus = BigUint::from(1u32) << T::BITS;

    let start = Instant::now();
    let (q, r) = u.div_rem(&v)?;
    device.synchronize()?;
    println!("division: {:.2?}", start.elapsed());
    let (qs, rs) = (q.to_biguints()?, r.to_biguints()?);
    check("u = q v + r and r < v", rows, |i| &qs[i] * &vs[i] + &rs[i] == us[i] && rs[i] < vs[i])?;
    let below = r.lt_mask(&v)?.to_bools()?;
    let again = (&(&q * &v) + &r).eq_mask(&u)?.to_bools()?;
    check("the same, found on the device", rows, |i| below[i] && again[i])?;

    let product = u.widening_mul(&v)?.to_biguints()?;
    check("u v in twice the width", rows, |i| product[i] == &us[i] * &vs[i])?;
    let square = u.wrapping_square()?.to_biguints()?;
    check("u^2 modulo 2^BITS", rows, |i| square[i] == &us[i] * &us[i] % &modulus)?;
    let (sum, carry) = u.overflowing_add(&u)?;
    let (sums, carries) = (sum.to_biguints()?, carry.to_bools()?);
    check("u + u and its carry", rows, |i| {
        sums[i] == (&us[i] << 1) % &modulus && carries[i] == (us[i].bits() == T::BITS as u64)
    })?;
    let lengths = v.bit_lengths()?;
    check("bit lengths", rows, |i| lengths[i] == vs[i].bits())?;
    let inverse = v.shifted_inverse(T::DIGITS)?.to_biguints()?;
    check("floor(2^BITS / v)", rows, |i| inverse[i] == &modulus / &vs[i])?;
    Ok(())
}

/// Prints a line for a claim that holds for `rows` rows.
fn check(claim: &str, rows: usize, holds: impl Fn(usize) -> bool) -> Result<(), Box<dyn Error>> {
    match (0..rows).find(|&row| !holds(row)) {
        None => {
            println!("{claim}: {rows} rows right");
            Ok(())
        }
        Some(row) => Err(format!("{claim}: row {row} is wrong").into()),
    }
}
