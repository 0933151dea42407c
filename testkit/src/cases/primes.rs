//! Tests for primes.

use gpuint::Op;
use gpuint::num_bigint::BigUint;

use super::draws::Draws;
use super::row::{Expected, Row};
use crate::launch::Operands;
use crate::operands::{SUMS, low, power};
use crate::{oracle, primes};

/// Product of the odd primes up to 43.
const SMALL_PRIMES: u64 = 111_546_435 * 58_642_669;

/// Product of all prime factors of the first parameters of Lucas tests: `|D|` up to 137, or `P + 2`
/// up to 54.
fn primes_of_parameters(is_extra: bool) -> BigUint {
    let is_prime = primes::sieve(if is_extra { 54 } else { 138 });
    (3u32..).zip(&is_prime[3..]).filter(|(_, is_prime)| **is_prime).map(|(p, _)| p).product()
}

/// The first term of a chain. Rows whose discriminant is not among the first ones fail, and are in
/// the mask: all squares without a small factor, and few other numbers.
pub(super) fn term(x: &Row<'_>, is_extra: bool) -> Expected {
    let n = x.a();
    let root = oracle::isqrt(&n);
    let is_square = n.bit(0) && n > BigUint::from(64u32) && &root * &root == n;
    let has_small_factor = oracle::gcd(&n, &primes_of_parameters(is_extra)) != BigUint::from(1u32);
    let (term, is_among) = match is_square {
        true => (0, has_small_factor),
        // D = P^2 - 4 for P up to 52.
        false if is_extra => {
            let term = primes::extra_strong_term(&n);
            (term, term >> 32 <= 52)
        }
        // D = 1 - 4 Q up to 137, down to -135.
        false => {
            let term = primes::strong_term(&n);
            (term, term as u32 <= 34)
        }
    };
    let value = Expected::value(if is_among { term } else { 0 }.into());
    Expected { mark: Some(!is_among), ..value }.failing(!is_among)
}

/// A Lucas test. The kernels conclude `c^d = 1` or `-1` from two terms of the chain, for which
/// `T^2 - 4` must be a unit.
pub(super) fn lucas(x: &Row<'_>) -> Expected {
    let (n, term) = (x.a(), x.word(1));
    let (numerator, denominator) = ((term >> 32) as i32, term as u32);
    let square = |x: i64| x * x;
    let d = square(numerator.into()) - 4 * square(denominator.into());
    let is_unit = oracle::gcd(&d.unsigned_abs().into(), &n) == BigUint::from(1u32);
    let is_odd = n.bit(0) && n.bits() > 1;
    let mark = is_odd && primes::is_lucas(&n, numerator, denominator);
    Expected { mark: (is_unit || !is_odd).then_some(mark), ..Expected::none() }
}

/// Composite numbers that pass Fermat's test to base 2 (OEIS A001567). Of these, 2047 and 3277 pass
/// the strong test; at the others a square of another number than 1 and -1 is 1.
const PSEUDOPRIMES: [u32; 12] =
    [341, 561, 645, 1105, 1387, 1729, 1905, 2047, 2465, 2701, 2821, 3277];

/// Primes of the form 4 k + 1. With a first term that they divide, the last term of a chain is 0.
const PRIMES_OF_ZEROS: [u32; 6] = [5, 13, 17, 29, 37, 41];

/// Numbers of all kinds, short, since kernels and oracle walk over all their bits.
fn numbers(draws: &mut Draws<'_>) -> Vec<BigUint> {
    let most = match (draws.is_slow, draws.bits()) {
        (true, 4096..) => 61,
        (true, _) | (false, 1025..) => 127,
        _ => 607,
    };
    let known = primes::known_primes(most.min(draws.bits()));
    let drawn = draws.rows(SUMS);
    let number = |(index, row): (usize, crate::operands::Row)| {
        let prime = &known[draws.random.below(known.len())];
        let number = match index % 9 {
            0 | 1 => prime.clone(),
            2 => prime * &known[draws.random.below(known.len())],
            3 => prime * prime,
            4 => prime * 2u32,
            5 => low(row.a, 40),
            6 => low(row.a, 70) | BigUint::from(1u32),
            // Small: by the definitions.
            7 => match index / 9 % 4 {
                0 => PSEUDOPRIMES[draws.random.below(PSEUDOPRIMES.len())].into(),
                1 => PRIMES_OF_ZEROS[draws.random.below(PRIMES_OF_ZEROS.len())].into(),
                2 => draws.random.below(300).into(),
                _ => draws.random.below(1 << 31).into(),
            },
            _ => BigUint::from(SMALL_PRIMES) * (draws.random.below(1 << 31) | 1),
        };
        // Squares of more than the width, and numbers whose test is their definition.
        if number.bits() > draws.shape.bits as u64 { low(number, 64) } else { number }
    };
    drawn.into_iter().enumerate().map(number).collect()
}

pub(super) fn operands(draws: &mut Draws<'_>) -> Operands {
    let op = draws.op;
    let numbers = numbers(draws);
    let mut launch = draws.launch([draws.column(&numbers), vec![], vec![]], 0);
    match op {
        Op::StrongTerms | Op::ExtraStrongTerms => {
            launch.outputs[0] = 8 * draws.count;
            launch.mask = true;
        }
        Op::StrongLucas => {
            launch.mask = true;
            let terms = numbers.iter().flat_map(|n| term_of(draws, n).to_le_bytes()).collect();
            launch.inputs[1] = terms;
        }
        _ => launch.mask = true,
    }
    launch
}

/// A first term: that of Lucas and Lehmer for Mersenne's primes, 0 modulo some small primes, else a
/// fraction `N / E` with `|N| - 2 E` from -50 to 50.
fn term_of(draws: &mut Draws<'_>, n: &BigUint) -> u64 {
    if let Ok(prime) = u32::try_from(n)
        && PRIMES_OF_ZEROS.contains(&prime)
        && !draws.random.one_in(3)
    {
        return u64::from(prime) << 32 | 1;
    }
    let is_mersenne = n + 1u32 == power(n.bits() as usize);
    if is_mersenne && !draws.random.one_in(3) {
        return 4 << 32 | 1;
    }
    let denominator = 1 << draws.random.below(6);
    let (twice, distance) = (2 * denominator as i32, 1 + draws.random.below(50) as i32);
    let numerator = if draws.random.one_in(2) { twice + distance } else { twice - distance };
    let numerator = if draws.random.one_in(2) { -numerator } else { numerator };
    u64::from(numerator as u32) << 32 | denominator
}
