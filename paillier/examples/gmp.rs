//! Times the CPU backend beside loops over GMP's functions on the same threads, on one column.
//!
//! ```text
//! cargo run --release -p gpuint-paillier --example gmp -- --bits 2048
//! cargo run --release -p gpuint-paillier --example gmp --features gpuint/gmp -- --bits 2048
//! ```
//!
//! Microseconds are CPU time of all threads for a row, the median of several runs, which alternate.
//! GMP has its operands as `mpz_t`, random numbers too; the backend draws them, and takes and
//! returns `BigUint`. Powers with secret exponents are by `mpz_powm_sec`.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use clap::Parser;
use gpuint::Device;
use gpuint::num_bigint::BigUint;
use gpuint_paillier::{Decryptor, Encryptor, Primes, PrivateKey};
use gpuint_testkit::gmp_functions;
use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Times the CPU backend beside GMP.
#[derive(Debug, Parser)]
struct Options {
    /// Numbers of the column.
    #[arg(long, default_value_t = 64)]
    rows: usize,
    /// Bits of the key.
    #[arg(long, default_value_t = 2048)]
    bits: usize,
    /// Runs of each operation.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
}

/// `mpz_t` of gmp.h.
#[repr(C)]
struct Integer {
    alloc: c_int,
    size: c_int,
    limbs: *mut u64,
}

// SAFETY: an integer is changed by its owner only.
unsafe impl Send for Integer {}
// SAFETY: functions of GMP only read operands.
unsafe impl Sync for Integer {}

type Manage = unsafe extern "C" fn(*mut Integer);
type Import = unsafe extern "C" fn(*mut Integer, usize, c_int, usize, c_int, usize, *const c_void);
type Compute = unsafe extern "C" fn(*mut Integer, *const Integer, *const Integer);
type Power = unsafe extern "C" fn(*mut Integer, *const Integer, *const Integer, *const Integer);

gmp_functions! {
    /// Functions of the library.
    struct Gmp {
        init: Manage = c"__gmpz_init",
        clear: Manage = c"__gmpz_clear",
        import: Import = c"__gmpz_import",
        mul: Compute = c"__gmpz_mul",
        modulo: Compute = c"__gmpz_mod",
        power: Power = c"__gmpz_powm",
        secret_power: Power = c"__gmpz_powm_sec",
    }
}

fn gmp() -> &'static Gmp {
    static GMP: OnceLock<Gmp> = OnceLock::new();
    GMP.get_or_init(|| Gmp::load().expect("libgmp.so.10"))
}

impl Drop for Integer {
    fn drop(&mut self) {
        // SAFETY: the integer was initialised and is not used any more.
        unsafe { (gmp().clear)(self) }
    }
}

/// Returns the integer that `write` sets.
fn made(write: impl FnOnce(*mut Integer)) -> Integer {
    let mut integer = MaybeUninit::uninit();
    // SAFETY: this writes the fields.
    unsafe { (gmp().init)(integer.as_mut_ptr()) };
    write(integer.as_mut_ptr());
    // SAFETY: as above.
    unsafe { integer.assume_init() }
}

fn integer(value: &BigUint) -> Integer {
    let limbs = value.to_u64_digits();
    // SAFETY: the limbs live during the call.
    made(|out| unsafe { (gmp().import)(out, limbs.len(), -1, 8, 0, 0, limbs.as_ptr().cast()) })
}

fn integers(values: &[BigUint]) -> Vec<Integer> {
    values.iter().map(integer).collect()
}

fn computed(function: Compute, a: &Integer, b: &Integer) -> Integer {
    // SAFETY: both are integers, and a divisor is not zero.
    made(|out| unsafe { function(out, a, b) })
}

fn power(function: Power, a: &Integer, e: &Integer, n: &Integer) -> Integer {
    // SAFETY: exponent and modulus are above zero, and the modulus is odd.
    made(|out| unsafe { function(out, a, e, n) })
}

fn mul_mod(a: &Integer, b: &Integer, n: &Integer) -> Integer {
    computed(gmp().modulo, &computed(gmp().mul, a, b), n)
}

/// CPU time of the process in seconds.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Prints the CPU time of a row by the backend and by GMP.
fn compare(
    options: &Options,
    label: &str,
    ours: impl Fn() -> Result<()>,
    theirs: impl Fn(usize) -> Integer + Sync,
) -> Result<()> {
    let (mut times, mut others) = (Vec::new(), Vec::new());
    for _ in 0..options.runs {
        let start = cpu_seconds();
        ours()?;
        let middle = cpu_seconds();
        gpuint::threads::install(|| {
            (0..options.rows).into_par_iter().for_each(|row| drop(theirs(row)));
        });
        times.push(middle - start);
        others.push(cpu_seconds() - middle);
    }
    let [time, other] = [times, others].map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2] * 1e6 / options.rows as f64
    });
    println!("| {label} | {time:.1} | {other:.1} | {:.2} |", time / other);
    Ok(())
}

fn main() -> Result<()> {
    let options = Options::parse();
    let device = Device::cpu();
    let key = PrivateKey::generate(&device, options.bits, Primes::Blum)?;
    let n = key.public().modulus();
    let long = Encryptor::new(&device, key.public())?;
    let short = Encryptor::short(&device, key.public())?;
    let decryptor = Decryptor::new(&device, &key)?;
    let plaintexts: Vec<BigUint> = (0..options.rows).map(|row| n - (row + 1)).collect();
    let small: Vec<BigUint> = (1..=options.rows).map(|row| BigUint::from(!(row as u32))).collect();
    let (a, b) = (long.encrypt(&plaintexts)?, short.encrypt(&plaintexts)?);
    assert_eq!(decryptor.decrypt(&a.add(&b)?)?[0], n - 2u32);

    let (modulus, square) = (integer(n), integer(&(n * n)));
    // The digits of a power of 3 stand for random ones.
    let random = |bits: u64| BigUint::from(3u32).modpow(&(n >> 1), &(BigUint::from(1u32) << bits));
    let units = integers(&vec![random(n.bits() - 1); options.rows]);
    let exponent = integer(&random(n.bits() / 2));
    let bare: Vec<BigUint> = plaintexts.iter().map(|m| 1u32 + m * n).collect();
    let (bare, small_exponents) = (integers(&bare), integers(&small));
    let (left, right) = (integers(&a.to_biguints()?), integers(&b.to_biguints()?));
    let (p, q) = key.factors();
    let factors = [p, q].map(|p| (integer(&(&p * &p)), integer(&(&p - 1u32))));
    let decrypted = |function: Power, row: usize| {
        let [first, second] = factors.each_ref().map(|(square, less)| {
            power(function, &computed(gmp().modulo, &left[row], square), less, square)
        });
        drop(first);
        second
    };

    println!("# {device}; keys of {} bits, {} rows\n", options.bits, options.rows);
    println!("| operation | us a row | GMP | ratio |\n|---|---|---|---|");
    compare(
        &options,
        "encrypt, r^n",
        || Ok(long.encrypt(&plaintexts).map(drop)?),
        |row| mul_mod(&bare[row], &power(gmp().power, &units[row], &modulus, &square), &square),
    )?;
    compare(
        &options,
        "encrypt, short form; GMP without a table",
        || Ok(short.encrypt(&plaintexts).map(drop)?),
        |row| mul_mod(&bare[row], &power(gmp().power, &left[0], &exponent, &square), &square),
    )?;
    for (label, function) in [
        ("decrypt; GMP: two `mpz_powm_sec`", gmp().secret_power),
        ("decrypt; GMP: two `mpz_powm`", gmp().power),
    ] {
        compare(
            &options,
            label,
            || Ok(decryptor.decrypt(&a).map(drop)?),
            |row| decrypted(function, row),
        )?;
    }
    compare(
        &options,
        "add",
        || Ok(a.add(&b).map(drop)?),
        |row| mul_mod(&left[row], &right[row], &square),
    )?;
    compare(
        &options,
        "multiply by 32-bit integers",
        || Ok(a.mul_plain(&small).map(drop)?),
        |row| power(gmp().power, &left[row], &small_exponents[row], &square),
    )
}
