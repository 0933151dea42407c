//! Times the cpu backend beside num-bigint and GMP on the same rows, all with rayon.
//!
//! `cargo bench -p gpuint-benches --bench cpu` compares with num-bigint. With `--features gmp` the
//! backend takes the GMP of this host, and another column has GMP's own functions on limbs in
//! place. Nanoseconds are for a row, the least of several runs. Ratios are the backend's time over
//! the library's: less than 1 where the backend is faster. The libraries write into memory that
//! exists; num-bigint allocates each result, as its operators do. They have no low half of a
//! product, no prepared divisor and no batch: the table shows their shortest way to the same
//! numbers.
//!
//! Operands have full width, dividends twice the width of divisors, exponents at most 4096 bits,
//! moduli are odd, or even in the last lines of powers. Tests of primes are of primes, so that no
//! row is decided early; beside them are `mpz_powm` to base 2, the internal `mpz_stronglucas` (a
//! part of `mpz_probab_prime_p`), and `mpz_probab_prime_p` without further bases.

#[cfg(feature = "gmp")]
mod limbs;
mod numbers;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use gpuint::{Batch, Device, Divisor, GpuUint, Kernels, Mask};
use gpuint_benches::batches::Times;
use gpuint_benches::enter_root;
use gpuint_benches::machine::Machine;
use numbers::{Operands, Operation};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Times the cpu backend beside num-bigint and GMP, all with rayon.
#[derive(Debug, Parser)]
#[command(name = "cpu")]
struct Options {
    /// Widths, separated by commas: 256, 512, 1024, 2048, 4096, 8192 or 65536
    #[arg(long, value_delimiter = ',', default_values_t = [2048, 8192, 65536])]
    bits: Vec<usize>,
    /// Operations, separated by commas, as in the table [default: all]
    #[arg(long, value_delimiter = ',')]
    ops: Vec<String>,
    /// Bits of a batch, as a power of two
    #[arg(long, default_value_t = 22, value_parser = clap::value_parser!(u32).range(12..=32))]
    batch: u32,
    /// Measurements of each cell, at most
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Seconds for each cell, about, after the third measurement
    #[arg(long, default_value_t = 0.2)]
    seconds: f64,
    /// Measures one width on few rows: a test of this program
    #[arg(long)]
    test: bool,
    /// Passed by `cargo bench` and not by `cargo test --benches`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    enter_root();
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cpu: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut options: Options) -> Result<()> {
    if options.test || !options.bench {
        options.bits = vec![1024];
        options.batch = 13;
        options.runs = 1;
        options.seconds = 0.0;
    }
    let Machine { device, processor, date, commit, .. } = Machine::of(&Device::cpu(), None);
    println!("# The cpu backend beside other libraries\n");
    println!("{device}; {processor}; {date}; commit {commit}.\n");
    println!("| operation | bits | rows | ns a row | num-bigint | ratio | GMP | ratio |");
    println!("|---|---|---|---|---|---|---|---|");
    for bits in options.bits.clone() {
        match bits {
            256 => compare::<GpuUint<256>>(&options)?,
            512 => compare::<GpuUint<512>>(&options)?,
            1024 => compare::<GpuUint<1024>>(&options)?,
            2048 => compare::<GpuUint<2048>>(&options)?,
            4096 => compare::<GpuUint<4096>>(&options)?,
            8192 => compare::<GpuUint<8192>>(&options)?,
            65536 => compare::<GpuUint<65536>>(&options)?,
            _ => return Err(format!("{bits} bits are not compared").into()),
        }
    }
    Ok(())
}

/// All operations at a width.
fn compare<T: Kernels<Digit = u64>>(options: &Options) -> Result<()> {
    for &operation in Operation::ALL {
        let name = operation.name();
        let is_asked = options.ops.is_empty() || options.ops.iter().any(|op| op == name);
        if !is_asked || !operation.has_width(T::BITS) {
            continue;
        }
        let rows = operation.rows(T::BITS, 1 << options.batch);
        let operands = Operands::new(operation, T::BITS, rows)?;
        let time = |work: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
            let device = Device::cpu();
            let times = Times::of(options.runs, options.seconds, || {
                let mut result = Ok(());
                let work = || {
                    result = work();
                    Ok(())
                };
                let ((), time) = device.time(work)?;
                result.map(|()| time)
            })?;
            Ok(times.least().as_secs_f64() * 1e9 / rows as f64)
        };
        let batch = |numbers: &[_]| Batch::<T>::from_biguints(&Device::cpu(), numbers);
        let (a, b, v) = (batch(&operands.a)?, batch(&operands.b)?, batch(&operands.v)?);
        let divisor = Divisor::new(&v)?;
        let mut out = a.try_clone()?;
        let mut other = a.try_clone()?;
        let mut mask = Mask::none(a.device(), rows)?;
        let mut remainders = vec![0; rows];
        let ours = time(&mut || {
            match operation {
                Operation::Add => a.wrapping_add_into(&b, &mut out)?,
                Operation::Sub => a.wrapping_sub_into(&b, &mut out)?,
                Operation::Shl => a.shl_into(77, &mut out)?,
                Operation::Less => a.lt_mask_into(&b, &mut mask)?,
                Operation::And => a.and_into(&b, &mut out)?,
                Operation::DivRemDigit => {
                    a.div_rem_digit_into(numbers::DIGIT, &mut out, &mut remainders)?;
                }
                Operation::MulLo => a.wrapping_mul_into(&b, &mut out)?,
                Operation::MulWide => a.mul_lo_hi_into(&b, &mut out, &mut other)?,
                Operation::Square => a.wrapping_square_into(&mut out)?,
                Operation::DivRem => a.div_rem_into(&v, &mut out, &mut other)?,
                Operation::Prepare => drop(Divisor::new(&v)?),
                Operation::DivRemBy => a.div_rem_by_into(&divisor, &mut out, &mut other)?,
                Operation::MulMod => a.mul_mod_into(&b, &divisor, &mut out)?,
                Operation::PowModOdd | Operation::PowModEven => {
                    a.pow_mod_into(&b, &divisor, &mut out)?;
                }
                Operation::Gcd => a.gcd_into(&b, &mut out)?,
                Operation::InverseMod => a.inverse_mod_into(&v, &mut out, &mut mask)?,
                Operation::Jacobi => drop(a.jacobi(&v)?),
                Operation::StrongBase2 => mask = v.is_strong_probable_prime(2)?,
                Operation::StrongLucas => mask = v.is_strong_lucas_probable_prime()?,
                Operation::ProbablePrime => mask = v.is_probable_prime()?,
            }
            Ok(())
        })?;
        let mut results = vec![Default::default(); rows];
        let num_bigint = match operation.has_num_bigint() {
            true => Some(time(&mut || {
                operands.compute(&mut results);
                Ok(())
            })?),
            false => None,
        };
        let is_wrong = (operation.is_compared() && out.to_biguints()? != results)
            || (operation.is_test() && mask.count()? != rows);
        if is_wrong {
            return Err(format!("{name} at {} bits is wrong", T::BITS).into());
        }
        #[cfg(feature = "gmp")]
        let gmp = match limbs::Rows::new(&operands)? {
            Some(mut rows) => Some(time(&mut || {
                rows.compute();
                Ok(())
            })?),
            None => None,
        };
        #[cfg(not(feature = "gmp"))]
        let gmp: Option<f64> = None;
        let cell = |time: Option<f64>| time.map_or(String::new(), |time| format!("{time:.0}"));
        let ratio =
            |time: Option<f64>| time.map_or(String::new(), |time| format!("{:.2}", ours / time));
        println!(
            "| {name} | {} | {rows} | {ours:.0} | {} | {} | {} | {} |",
            T::BITS,
            cell(num_bigint),
            ratio(num_bigint),
            cell(gmp),
            ratio(gmp)
        );
    }
    Ok(())
}
