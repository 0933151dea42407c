//! Small factors of numbers k a + c.
//!
//! A prime p that does not divide a divides k a + c for the k with k = -c / a modulo p: one inverse
//! modulo p finds the factors p of all numbers. The hits k are looked up in a table over the range
//! of the k if that is short, else by binary search. Small primes strike a dense table by segments,
//! each of one thread. Where there are fewer numbers than hits, each k is reduced modulo p instead.
//!
//! 1 / a modulo p is the power b^-n, or the inverse of a number that is reduced digit by digit.

use std::ops::RangeInclusive;

use num_bigint::{BigInt, BigUint};
use num_traits::{One, Signed, ToPrimitive};
use rayon::prelude::*;

use super::factors::{Factors, for_primes};
use super::montgomery::{Field, Residue};
use super::primes::primes;
use crate::error::Result;
use crate::interrupt::{self, Stop};

/// Entries of a table for each number, at most, and for any number of numbers.
const TABLE_RATIO: u64 = 64;
const TABLE_MIN: u64 = 1 << 16;
/// Entries of a table for each number, below which small primes strike segments of it.
const DENSE_RATIO: u64 = 8;
/// Entries of a segment: with their factors 384 KiB, of the second-level cache.
const SEGMENT: u64 = 1 << 15;
/// Primes below strike segments, which several threads share: they have 7 of 8 hits below 10^7.
const SMALL: u64 = 1 << 16;

/// The numbers k a + c, for k of 64 bits.
///
/// These are the terms of an arithmetic progression, candidates k b^n + c of one exponent n, and
/// numbers at distances k from a number c.
///
/// ```
/// use gpuint::sieve::Progression;
/// use num_bigint::BigUint;
///
/// // Distances from 10^50.
/// let near = Progression::new(BigUint::from(1u32), BigUint::from(10u32).pow(50));
/// assert_eq!(near.smallest_factors(&[1, 3, 9, 151], 1000)?, [101, 19, 53, 0]);
/// # Ok::<(), gpuint::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Progression {
    a: Factor,
    c: BigInt,
}

/// The number a.
#[derive(Debug, Clone)]
enum Factor {
    Number(BigUint),
    Power { base: u64, exponent: u64 },
}

impl Factor {
    /// Returns the inverse modulo a prime; `None` for a multiple of the prime.
    fn inverse(&self, field: Field, prime: u64) -> Option<Residue> {
        match self {
            Self::Number(number) if number.is_one() => Some(field.one()),
            Self::Number(number) => {
                let residue = field.residue_of(number);
                (residue.0 != 0).then(|| field.inverse(residue))
            }
            Self::Power { exponent: 0, .. } => Some(field.one()),
            Self::Power { base, .. } if base.is_multiple_of(prime) => None,
            Self::Power { base, exponent } => Some(field.pow_inverse(*base, *exponent)),
        }
    }

    /// Returns the number if it is below 2^64.
    fn small(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.to_u64(),
            Self::Power { base, exponent } => base.checked_pow(u32::try_from(*exponent).ok()?),
        }
    }
}

impl Progression {
    /// Numbers k a + c.
    #[must_use]
    pub fn new(a: BigUint, c: impl Into<BigInt>) -> Self {
        Self { a: Factor::Number(a), c: c.into() }
    }

    /// Numbers k b^n + c, of which no power is computed.
    #[must_use]
    pub fn of_power(base: u64, exponent: u64, c: impl Into<BigInt>) -> Self {
        Self { a: Factor::Power { base, exponent }, c: c.into() }
    }

    /// Returns the smallest prime factor below `limit` of k a + c for each k of `terms`, and 0
    /// where there is none.
    ///
    /// A prime is no factor of itself: 7 has none. 0 has the factor 2. A limit above 2^62 acts as
    /// 2^62, for which no computation ends.
    ///
    /// # Errors
    /// [`Interrupted`](crate::Error::Interrupted).
    pub fn smallest_factors(&self, terms: &[u64], limit: u64) -> Result<Vec<u64>> {
        let factors = Factors::new(terms.len());
        let Some(places) = Places::of(terms) else { return Ok(factors.finish()) };
        let own = OwnPrimes::of(self);
        let record = |index: usize, prime: u64| {
            if !own.is(terms[index], prime) {
                factors.record(index, prime);
            }
        };
        let segments = places.segments(terms.len());
        let small = if segments.is_empty() { 0 } else { SMALL.min(limit) };
        let mut classes = Vec::new();
        for prime in primes(0..small) {
            match self.hits(prime) {
                Hits::None => {}
                Hits::All => (0..terms.len()).for_each(|index| record(index, prime)),
                Hits::Class(class) => classes.push((prime, class)),
            }
        }
        let stop = Stop::current();
        interrupt::on_pool(|| {
            segments.into_par_iter().try_for_each(|segment| {
                stop.during(|| {
                    for &(prime, class) in &classes {
                        places.strike(&segment, prime, class, &mut |index| record(index, prime));
                    }
                    Ok(())
                })
            })
        })?;
        for_primes(
            small..limit,
            || (),
            |(), primes| {
                for prime in primes {
                    let mut hit = |index| record(index, prime);
                    match self.hits(prime) {
                        Hits::None => {}
                        Hits::All => (0..terms.len()).for_each(hit),
                        Hits::Class(class) => places.visit(terms, prime, class, &mut hit),
                    }
                }
            },
        )?;
        Ok(factors.finish())
    }

    /// Finds the k for which a prime divides k a + c.
    fn hits(&self, prime: u64) -> Hits {
        if prime == 2 {
            let a_is_odd = match &self.a {
                Factor::Number(number) => number.bit(0),
                Factor::Power { base, exponent } => base % 2 == 1 || *exponent == 0,
            };
            let c_is_odd = self.c.bit(0);
            return match (a_is_odd, c_is_odd) {
                (true, c_is_odd) => Hits::Class(u64::from(c_is_odd)),
                (false, false) => Hits::All,
                (false, true) => Hits::None,
            };
        }
        let field = Field::new(prime);
        let c = field.residue_of(self.c.magnitude());
        match self.a.inverse(field, prime) {
            None if c.0 == 0 => Hits::All,
            None => Hits::None,
            Some(inverse) => {
                let quotient = field.mul(c, inverse);
                let k = if self.c.is_negative() { quotient } else { field.negate(quotient) };
                Hits::Class(field.value(k))
            }
        }
    }
}

/// Terms that a prime divides.
enum Hits {
    None,
    All,
    /// Those of one residue class.
    Class(u64),
}

/// Finds terms that are themselves primes of the sieve, which are below 2^62.
enum OwnPrimes {
    Small {
        a: u64,
        c: i64,
    },
    /// a or c is so large that every term with k > 0 is negative or above 2^62.
    First {
        c: Option<i64>,
    },
    /// Differences of large numbers may be small.
    Large {
        a: BigUint,
        c: BigInt,
    },
}

impl OwnPrimes {
    fn of(progression: &Progression) -> Self {
        let Progression { a, c } = progression;
        let small_c = c.to_i64();
        if let (Some(a), Some(c)) = (a.small(), small_c) {
            return Self::Small { a, c };
        }
        // a >= 2^least.
        let least = match a {
            Factor::Number(number) => number.bits().saturating_sub(1),
            Factor::Power { base, exponent } => {
                u64::from(base.checked_ilog2().unwrap_or(0)).saturating_mul(*exponent)
            }
        };
        if !c.is_negative() || least >= c.bits() + 64 {
            return Self::First { c: small_c };
        }
        let a = match a {
            Factor::Number(number) => number.clone(),
            // The exponent is at most the bits of c and 64, or the base is at most 1.
            Factor::Power { base, exponent } => BigUint::from(*base).pow(*exponent as u32),
        };
        Self::Large { a, c: c.clone() }
    }

    /// Returns true if k a + c is the prime.
    fn is(&self, k: u64, prime: u64) -> bool {
        match self {
            Self::Small { a, c } => {
                let product = i128::try_from(u128::from(k) * u128::from(*a));
                product.is_ok_and(|product| product + i128::from(*c) == i128::from(prime))
            }
            Self::First { c } => k == 0 && *c == i64::try_from(prime).ok(),
            Self::Large { a, c } => BigInt::from(a * k) + c == BigInt::from(prime),
        }
    }
}

/// Finds the index of a term.
#[derive(Debug)]
pub(super) struct Places {
    range: RangeInclusive<u64>,
    /// For each number of the range the index of its term plus 1, or 0.
    table: Vec<u32>,
    /// Terms in ascending order with their indices, if there is no table.
    sorted: Vec<(u64, u32)>,
    /// Terms that occur again: their index, and that of the first one.
    again: Vec<(u32, u32)>,
}

impl Places {
    /// Returns `None` without terms.
    pub(super) fn of(terms: &[u64]) -> Option<Self> {
        let range = *terms.iter().min()?..=*terms.iter().max()?;
        let span = range.end() - range.start();
        let indices = (0..terms.len()).map(|index| index as u32);
        let (mut table, mut sorted, mut again) = (Vec::new(), Vec::new(), Vec::new());
        if span < (terms.len() as u64 * TABLE_RATIO).max(TABLE_MIN) {
            table.resize(span as usize + 1, 0);
            for (&term, index) in terms.iter().zip(indices) {
                let place = &mut table[(term - range.start()) as usize];
                match *place {
                    0 => *place = index + 1,
                    first => again.push((index, first - 1)),
                }
            }
        } else {
            sorted = terms.iter().copied().zip(indices).collect();
            sorted.sort_unstable();
            sorted.dedup_by(|next, first| {
                let is_same = next.0 == first.0;
                if is_same {
                    again.push((next.1, first.1));
                }
                is_same
            });
        }
        again.sort_unstable_by_key(|pair| pair.1);
        Some(Self { range, table, sorted, again })
    }

    /// Calls `hit` with the indices of all terms that equal `term`.
    pub(super) fn at(&self, term: u64, hit: &mut impl FnMut(usize)) {
        if !self.range.contains(&term) {
            return;
        }
        let index = if self.table.is_empty() {
            let Ok(place) = self.sorted.binary_search_by_key(&term, |pair| pair.0) else { return };
            self.sorted[place].1
        } else {
            match self.table[(term - self.range.start()) as usize] {
                0 => return,
                index => index - 1,
            }
        };
        hit(index as usize);
        if !self.again.is_empty() {
            let start = self.again.partition_point(|pair| pair.1 < index);
            let same = self.again[start..].iter().take_while(|pair| pair.1 == index);
            same.for_each(|pair| hit(pair.0 as usize));
        }
    }

    pub(super) fn range(&self) -> RangeInclusive<u64> {
        self.range.clone()
    }

    /// Returns the segments of a dense table; none for another one.
    fn segments(&self, terms: usize) -> Vec<RangeInclusive<u64>> {
        let entries = self.table.len() as u64;
        if entries <= SEGMENT || entries >= DENSE_RATIO * terms as u64 {
            return Vec::new();
        }
        let (start, end) = (*self.range.start(), *self.range.end());
        let starts = (start..=end).step_by(SEGMENT as usize);
        starts.map(|start| start..=end.min(start.saturating_add(SEGMENT - 1))).collect()
    }

    /// Calls `hit` with the indices of the terms of a residue class.
    fn visit(&self, terms: &[u64], modulus: u64, class: u64, hit: &mut impl FnMut(usize)) {
        let hits = (self.range.end() - self.range.start()) / modulus;
        // A lookup takes about as long as a remainder.
        if hits > terms.len() as u64 {
            let terms = terms.iter().enumerate();
            terms.filter(|(_, term)| *term % modulus == class).for_each(|(index, _)| hit(index));
            return;
        }
        self.strike(&self.range, modulus, class, hit);
    }

    /// Calls `hit` with the indices of the terms of a residue class in a part of the range.
    fn strike(
        &self,
        part: &RangeInclusive<u64>,
        modulus: u64,
        class: u64,
        hit: &mut impl FnMut(usize),
    ) {
        let (start, end) = (*part.start(), *part.end());
        let over = start % modulus;
        let step = if class >= over { class - over } else { class + modulus - over };
        let mut term = start.checked_add(step);
        while let Some(at) = term.filter(|&at| at <= end) {
            self.at(at, hit);
            term = at.checked_add(modulus);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest factor below `limit` of a number, by division.
    fn divided(number: &BigInt, limit: u64) -> u64 {
        let mut primes = crate::sieve::primes(0..limit);
        let divides = |p: &u64| (number % *p) == BigInt::ZERO && *number != BigInt::from(*p);
        primes.find(divides).unwrap_or(0)
    }

    #[test]
    fn factors_agree_with_divisions() {
        let big = BigUint::from(7u32).pow(60) + 4u32;
        let terms: Vec<Vec<u64>> = vec![
            (0..300).collect(),
            (0..300).rev().collect(),
            vec![5, 1 << 40, 7, 5, u64::MAX, 0, 5, 1 << 40],
            (0..200).map(|i| i * i * i * 97 + 1).collect(),
        ];
        let offset = BigInt::from(10).pow(40);
        for c in [0, 1, -1, 5, -97].map(BigInt::from).into_iter().chain([-offset.clone(), offset]) {
            let progressions = [
                (Progression::new(big.clone(), c.clone()), BigInt::from(big.clone())),
                (Progression::new(6u32.into(), c.clone()), 6.into()),
                (Progression::new(1u32.into(), c.clone()), 1.into()),
                (Progression::of_power(2, 133, c.clone()), BigInt::from(2).pow(133)),
                (Progression::of_power(10, 4, c.clone()), 10_000.into()),
                (Progression::of_power(15, 0, c.clone()), 1.into()),
            ];
            for (progression, a) in progressions {
                for terms in &terms {
                    let factors = progression.smallest_factors(terms, 400).unwrap();
                    for (&k, factor) in terms.iter().zip(factors) {
                        let number = &a * k + &c;
                        assert_eq!(factor, divided(&number, 400), "{k} {a} + {c}");
                    }
                }
            }
        }
    }

    #[test]
    fn segments_of_dense_tables_are_struck() {
        let offset: BigInt = BigInt::from(10).pow(30) - 1;
        for (progression, a, c) in [
            (Progression::of_power(2, 90, offset.clone()), BigInt::from(2).pow(90), &offset),
            (Progression::of_power(3, 50, offset.clone()), BigInt::from(3).pow(50), &offset),
            (Progression::new(1u32.into(), 5), BigInt::from(1), &BigInt::from(5)),
        ] {
            for first in [0, 1 << 63] {
                // Every third number, and one of them twice.
                let count = 2 * SEGMENT / 3 + 1000;
                let mut terms: Vec<u64> = (0..count).map(|i| first + 3 * i).collect();
                terms.push(first + 3);
                assert_eq!(Places::of(&terms).unwrap().segments(terms.len()).len(), 3);
                let factors = progression.smallest_factors(&terms, 70_000).unwrap();
                for (&k, &factor) in terms.iter().zip(&factors).step_by(97) {
                    let number = &a * k + c;
                    assert_eq!(factor, divided(&number, 70_000), "{k} {a} + {c}");
                }
                assert_eq!(factors[1], factors[terms.len() - 1]);
            }
        }
    }

    #[test]
    fn large_primes_are_found() {
        // The smallest factors of F_5 and M_59.
        let fermat = Progression::of_power(2, 32, 1);
        assert_eq!(fermat.smallest_factors(&[1], 1000).unwrap(), [641]);
        let mersenne = Progression::of_power(2, 59, -1);
        assert_eq!(mersenne.smallest_factors(&[1], 179_952).unwrap(), [179_951]);
        assert_eq!(mersenne.smallest_factors(&[1], 179_951).unwrap(), [0]);
        assert_eq!(mersenne.smallest_factors(&[], 100).unwrap(), [0u64; 0]);
    }

    #[test]
    fn exponents_beyond_memory_have_residues() {
        let huge = Progression::of_power(10, u64::MAX, 1);
        // n = 2^64 - 1 = 3 modulo 6, the order of 10 modulo 7, and 10^3 = -1.
        assert_eq!(huge.smallest_factors(&[1], 12).unwrap(), [7]);
    }
}
