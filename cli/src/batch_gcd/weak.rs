//! Keys that are weak by themselves: with a small factor, or with two factors close to each other.

use num_bigint::BigUint;
use num_traits::{One, Zero};

/// Maximum limit of small factors, so that the product of the primes has some megabytes.
pub(crate) const LARGEST_LIMIT: u32 = 10_000_000;

/// Returns the primes up to `limit`, ascending, by the sieve of Eratosthenes.
pub(crate) fn primes(limit: u32) -> Vec<u32> {
    let limit = limit as usize;
    let mut is_composite = vec![false; limit + 1];
    let mut primes = Vec::new();
    for number in 2..=limit {
        if is_composite[number] {
            continue;
        }
        primes.push(number as u32);
        for multiple in (number * number..=limit).step_by(number) {
            is_composite[multiple] = true;
        }
    }
    primes
}

/// Returns the prime factors of a modulus among `primes`, ascending and as often as they divide it,
/// and what is left of it unless that is 1. `divisor` is its greatest common divisor with the
/// product of the primes.
pub(crate) fn small_factors(modulus: &BigUint, divisor: &BigUint, primes: &[u32]) -> Vec<BigUint> {
    let mut factors = Vec::new();
    let (mut rest, mut left) = (modulus.clone(), divisor.clone());
    for &prime in primes {
        if left.is_one() {
            break;
        }
        if !(&left % prime).is_zero() {
            continue;
        }
        left /= prime;
        while (&rest % prime).is_zero() {
            rest /= prime;
            factors.push(prime.into());
        }
    }
    if !rest.is_one() {
        factors.push(rest);
    }
    factors
}

/// Returns the factors `a - b` and `a + b` of an odd number by P. Fermat's method: the numbers `a`
/// from the square root of `n` up, `steps` of them, for one with `a^2 - n = b^2`.
///
/// It finds factors `p < q` with `(q - p)^2 < 8 steps sqrt(n)`, about: `a = (p + q) / 2` is at most
/// `(q - p)^2 / (8 sqrt(n))` above `sqrt(n)`.
pub(crate) fn close_factors(n: &BigUint, steps: u64) -> Option<[BigUint; 2]> {
    if !n.bit(0) {
        return None;
    }
    let root = n.sqrt();
    let first = if &root * &root == *n { root } else { root + 1u32 };
    let mut square = &first * &first - n;
    // (a + 1)^2 - a^2.
    let mut step = (first << 1) + 1u32;
    for _ in 0..steps {
        if may_be_square(&square) {
            let b = square.sqrt();
            if &b * &b == square {
                let a = (n + square).sqrt();
                let factors = [&a - &b, a + b];
                // Further on there are only 1 and n.
                return (!factors[0].is_one()).then_some(factors);
            }
        }
        square += &step;
        step += 2u32;
    }
    None
}

/// Returns false for most numbers that are no squares, by their residues.
fn may_be_square(number: &BigUint) -> bool {
    /// Bit r is set if r is a square modulo 64, 63, 65 and 11, as in GMP's `mpz_perfect_square_p`.
    const fn squares(modulus: u64) -> u128 {
        let (mut bits, mut root) = (0, 0);
        while root < modulus {
            bits |= 1 << (root * root % modulus);
            root += 1;
        }
        bits
    }
    const SQUARES: [(u64, u128); 4] =
        [(64, squares(64)), (63, squares(63)), (65, squares(65)), (11, squares(11))];
    let low = number.iter_u64_digits().next().unwrap_or(0);
    if SQUARES[0].1 >> (low % 64) & 1 == 0 {
        return false;
    }
    // One division by their product serves the others.
    let rest = number % (63u32 * 65 * 11);
    let rest = rest.iter_u64_digits().next().unwrap_or(0);
    SQUARES[1..].iter().all(|(modulus, squares)| squares >> (rest % modulus) & 1 == 1)
}
