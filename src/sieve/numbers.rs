//! Small factors of numbers without a common form.
//!
//! Each number is reduced modulo products of primes below 2^63, and each remainder modulo the
//! primes: one pass over the digits of a number serves several primes.

use num_bigint::BigUint;
use num_traits::ToPrimitive;
use rayon::prelude::*;

use super::montgomery::Field;
use super::primes::primes;
use crate::error::Result;
use crate::interrupt::{self, Stop};

/// Returns the smallest prime factor below `limit` of each number, and 0 where there is none.
///
/// A prime is no factor of itself: 7 has none. 0 has the factor 2. The time of a number is
/// proportional to its length and to the number of primes: use a small limit, or
/// [`Progression`](super::Progression) and [`Exponents`](super::Exponents) for numbers of a form.
///
/// ```
/// use gpuint::sieve::smallest_factors;
/// use num_bigint::BigUint;
///
/// let numbers = [91u32, 97, 1, 10403].map(BigUint::from);
/// assert_eq!(smallest_factors(&numbers, 100)?, [7, 0, 0, 0]);
/// assert_eq!(smallest_factors(&numbers, 102)?, [7, 0, 0, 101]);
/// # Ok::<(), gpuint::Error>(())
/// ```
///
/// # Errors
/// [`Interrupted`](crate::Error::Interrupted).
pub fn smallest_factors(numbers: &[BigUint], limit: u32) -> Result<Vec<u64>> {
    let groups = groups(limit);
    let stop = Stop::current();
    interrupt::on_pool(|| {
        let factor = |number: &BigUint| stop.during(|| Ok(smallest_factor(number, limit, &groups)));
        numbers.par_iter().map(factor).collect()
    })
}

/// Odd primes, and the modulus that is their product.
struct Group {
    product: Field,
    primes: Vec<u64>,
}

/// The odd primes below `limit` in groups.
fn groups(limit: u32) -> Vec<Group> {
    let mut groups = Vec::new();
    let (mut product, mut members) = (1u64, Vec::new());
    for prime in primes(3..limit.into()) {
        match product.checked_mul(prime).filter(|&product| product < 1 << 63) {
            Some(next) => product = next,
            None => {
                let primes = std::mem::take(&mut members);
                groups.push(Group { product: Field::new(product), primes });
                product = prime;
            }
        }
        members.push(prime);
    }
    if product > 1 {
        groups.push(Group { product: Field::new(product), primes: members });
    }
    groups
}

fn smallest_factor(number: &BigUint, limit: u32, groups: &[Group]) -> u64 {
    let small = number.to_u64();
    if limit > 2 && !number.bit(0) && small != Some(2) {
        return 2;
    }
    for Group { product, primes } in groups {
        let remainder = product.value(product.residue_of(number));
        let divides = |prime: &&u64| remainder % **prime == 0 && small != Some(**prime);
        if let Some(prime) = primes.iter().find(divides) {
            return *prime;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_agree_with_divisions() {
        let small = (0..2000u32).map(BigUint::from);
        let large = (0..200u32).map(|i| BigUint::from(10u32).pow(97) + i);
        let numbers: Vec<BigUint> = small.chain(large).collect();
        for limit in [0, 2, 3, 4, 50, 1000] {
            let factors = smallest_factors(&numbers, limit).unwrap();
            for (number, factor) in numbers.iter().zip(factors) {
                let divides =
                    |p: &u64| (number % *p) == BigUint::ZERO && *number != BigUint::from(*p);
                let expected = primes(0..limit.into()).find(divides).unwrap_or(0);
                assert_eq!(factor, expected, "{number} below {limit}");
            }
        }
    }
}
