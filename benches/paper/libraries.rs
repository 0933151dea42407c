//! The same operations by libraries of the CPU, on one core.

use std::hint::black_box;
use std::time::Instant;

use gpuint::num_bigint::BigUint;
use malachite_base::num::arithmetic::traits::DivMod;
use malachite_nz::natural::Natural;
use num_integer::Integer;

use crate::DIVISORS;
#[cfg(feature = "gmp")]
use crate::gmp::Gmp;
use gpuint_benches::batches::Times;
use gpuint_benches::workload::Workload;

/// Pairs of numbers for each time.
const PAIRS: usize = 16;

/// Nanoseconds for one operation.
#[derive(Debug)]
pub(crate) struct LibraryTimes {
    pub(crate) library: String,
    pub(crate) bits: usize,
    /// Both halves of the product: these libraries offer no low half.
    pub(crate) mul: f64,
    /// By workload of the divisors, in the order of [`DIVISORS`].
    pub(crate) div: [f64; DIVISORS.len()],
}

/// A library of big integers.
trait Library {
    type Number;
    fn name(&self) -> String;
    fn number(&self, value: &BigUint) -> Self::Number;
    fn mul(&self, a: &Self::Number, b: &Self::Number) -> Self::Number;
    fn div_rem(&self, u: &Self::Number, v: &Self::Number) -> (Self::Number, Self::Number);
}

/// The library of the CPU backend.
struct NumBigint;

impl Library for NumBigint {
    type Number = BigUint;

    fn name(&self) -> String {
        "num-bigint".to_owned()
    }

    fn number(&self, value: &BigUint) -> BigUint {
        value.clone()
    }

    fn mul(&self, a: &BigUint, b: &BigUint) -> BigUint {
        a * b
    }

    fn div_rem(&self, u: &BigUint, v: &BigUint) -> (BigUint, BigUint) {
        u.div_rem(v)
    }
}

struct Malachite;

impl Library for Malachite {
    type Number = Natural;

    fn name(&self) -> String {
        "malachite".to_owned()
    }

    fn number(&self, value: &BigUint) -> Natural {
        Natural::from_owned_limbs_asc(value.to_u64_digits())
    }

    fn mul(&self, a: &Natural, b: &Natural) -> Natural {
        a * b
    }

    fn div_rem(&self, u: &Natural, v: &Natural) -> (Natural, Natural) {
        u.div_mod(v)
    }
}

#[cfg(feature = "gmp")]
impl Library for Gmp {
    type Number = Vec<u64>;

    fn name(&self) -> String {
        format!("GMP {}", self.version)
    }

    fn number(&self, value: &BigUint) -> Vec<u64> {
        value.to_u64_digits()
    }

    fn mul(&self, a: &Vec<u64>, b: &Vec<u64>) -> Vec<u64> {
        let (a, b) = if a.len() < b.len() { (b, a) } else { (a, b) };
        let mut product = vec![0; a.len() + b.len()];
        self.multiply(&mut product, a, b);
        product
    }

    fn div_rem(&self, u: &Vec<u64>, v: &Vec<u64>) -> (Vec<u64>, Vec<u64>) {
        let mut quotient = vec![0; u.len() - v.len() + 1];
        let mut remainder = vec![0; v.len()];
        self.divide(&mut quotient, &mut remainder, u, v);
        (quotient, remainder)
    }
}

/// The times of all libraries at a width, each of `runs` runs, for `seconds` at most, and
/// why GMP has none.
pub(crate) fn times(bits: usize, runs: u32, seconds: f64) -> (Vec<LibraryTimes>, Option<String>) {
    let mut all = vec![
        library_times(&NumBigint, bits, runs, seconds),
        library_times(&Malachite, bits, runs, seconds),
    ];
    match gmp_times(bits, runs, seconds) {
        Ok(times) => {
            all.push(times);
            (all, None)
        }
        Err(reason) => (all, Some(reason)),
    }
}

#[cfg(feature = "gmp")]
fn gmp_times(bits: usize, runs: u32, seconds: f64) -> Result<LibraryTimes, String> {
    Ok(library_times(&Gmp::load()?, bits, runs, seconds))
}

#[cfg(not(feature = "gmp"))]
fn gmp_times(_bits: usize, _runs: u32, _seconds: f64) -> Result<LibraryTimes, String> {
    Err("the feature `gmp` is off".to_owned())
}

fn library_times<L: Library>(library: &L, bits: usize, runs: u32, seconds: f64) -> LibraryTimes {
    let numbers = |pairs: Vec<[BigUint; 2]>| -> Vec<_> {
        pairs.into_iter().map(|pair| pair.map(|value| library.number(&value))).collect()
    };
    let factors = numbers(Workload::Uniform.pairs(bits, PAIRS));
    let time = |pairs: &[[L::Number; 2]], work: &dyn Fn(&L::Number, &L::Number)| {
        let pass = || {
            let start = Instant::now();
            for [a, b] in pairs {
                work(a, b);
            }
            Ok::<_, std::convert::Infallible>(start.elapsed())
        };
        let Ok(times) = Times::of(runs, seconds, pass);
        times.median().as_secs_f64() * 1e9 / pairs.len() as f64
    };
    LibraryTimes {
        library: library.name(),
        bits,
        mul: time(&factors, &|a, b| drop(black_box(library.mul(a, b)))),
        div: DIVISORS.map(|workload| {
            let pairs = numbers(workload.divisions(bits, PAIRS));
            time(&pairs, &|u, v| drop(black_box(library.div_rem(u, v))))
        }),
    }
}
