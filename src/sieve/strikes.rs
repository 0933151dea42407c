//! Strikes on the threads of the CPU.
//!
//! Primes below 2^16 strike segments of the table that fit in the second-level cache, and larger
//! ones the table at once: a thread has the primes of a block, and clears bits by atomic functions.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use num_bigint::{BigInt, Sign};
use num_traits::ToPrimitive;
use rayon::prelude::*;

use super::factors::{LARGEST, for_primes};
use super::family::Terms;
use super::montgomery::Field;
use super::primes::primes;
use crate::backend::host::reserved_vec;
use crate::error::Result;
use crate::interrupt::{self, Stop};

/// Words of a segment: 32 KiB.
const SEGMENT: usize = 1 << 13;
/// Primes below strike segments.
const SMALL: u64 = 1 << 16;

/// Returns words of ones for `len` bits.
pub(super) fn all(len: usize) -> Result<Vec<u32>> {
    let mut words = reserved_vec(len.div_ceil(32))?;
    words.resize(len.div_ceil(32), u32::MAX);
    Ok(words)
}

/// Families of terms and the number of their indices.
pub(super) struct Job<'a> {
    pub(super) terms: &'a [&'a Terms],
    pub(super) len: u64,
}

/// The numbers of a family that may be primes of the sieve.
#[derive(Debug, Clone, Copy, Default)]
struct Small {
    first: u64,
    count: u64,
    value: i64,
    step: i64,
}

impl Small {
    fn of(terms: &Terms, len: u64) -> Self {
        let Some((first, count)) = terms.small(LARGEST, len) else { return Self::default() };
        // Several numbers below 2^62 have a step below 2^62.
        let step = terms.step.to_i64().filter(|_| count > 1).unwrap_or(0);
        let value = (&terms.first + &terms.step * first).to_i64().unwrap_or(0);
        Self { first, count, value, step }
    }

    /// Returns true if the number at an index is the prime.
    fn is_own(self, index: u64, prime: u64) -> bool {
        let place = index.wrapping_sub(self.first);
        place < self.count && self.value + place as i64 * self.step == prime as i64
    }
}

impl Job<'_> {
    /// Returns the words of the indices that the odd primes of a range leave, and finds primes that
    /// divide all numbers of a family.
    pub(super) fn strike(&self, range: Range<u64>, common: &mut [Option<u64>]) -> Result<Vec<u32>> {
        let words = all(self.len as usize)?;
        let mut words: Vec<AtomicU32> = words.into_iter().map(AtomicU32::new).collect();
        let least: Vec<AtomicU64> =
            common.iter().map(|prime| AtomicU64::new(prime.unwrap_or(u64::MAX))).collect();
        let families: Vec<(&Terms, Small)> =
            self.terms.iter().map(|&terms| (terms, Small::of(terms, self.len))).collect();
        let root = |family: usize, prime: u64| {
            let root = self.terms[family].root(prime);
            if let Root::All = root {
                least[family].fetch_min(prime, Ordering::Relaxed);
            }
            root
        };

        let mut roots = Vec::new();
        for prime in primes(range.start..range.end.min(SMALL)) {
            for (family, (_, small)) in families.iter().enumerate() {
                if let Root::Class(root) = root(family, prime) {
                    roots.push((prime, root, *small));
                }
            }
        }
        let stop = Stop::current();
        interrupt::on_pool(|| {
            words.par_chunks_mut(SEGMENT).enumerate().try_for_each(|(segment, words)| {
                stop.during(|| {
                    let base = (segment * SEGMENT * 32) as u64;
                    let length = (words.len() * 32) as u64;
                    for &(prime, root, small) in &roots {
                        // The first hit from `base` on.
                        let over = base % prime;
                        let mut hit = if root >= over { root - over } else { root + prime - over };
                        while hit < length {
                            if small.count == 0 || !small.is_own(base + hit, prime) {
                                *words[(hit / 32) as usize].get_mut() &= !(1 << (hit % 32));
                            }
                            hit += prime;
                        }
                    }
                    Ok(())
                })
            })
        })?;
        for_primes(
            range.start.max(SMALL)..range.end,
            || (),
            |(), primes| {
                for prime in primes {
                    for (family, (_, small)) in families.iter().enumerate() {
                        let Root::Class(root) = root(family, prime) else { continue };
                        let mut hit = Some(root);
                        while let Some(index) = hit.filter(|&hit| hit < self.len) {
                            if !small.is_own(index, prime) {
                                words[(index / 32) as usize]
                                    .fetch_and(!(1 << (index % 32)), Ordering::Relaxed);
                            }
                            hit = index.checked_add(prime);
                        }
                    }
                }
            },
        )?;
        for (common, least) in common.iter_mut().zip(least) {
            *common = Some(least.into_inner()).filter(|&prime| prime < u64::MAX);
        }
        Ok(words.into_iter().map(AtomicU32::into_inner).collect())
    }
}

/// Indices whose numbers a prime divides.
enum Root {
    None,
    All,
    /// One class modulo the prime.
    Class(u64),
}

impl Terms {
    /// Solves first + i step = 0 modulo an odd prime.
    fn root(&self, prime: u64) -> Root {
        let field = Field::new(prime);
        let residue = |number: &BigInt| {
            let residue = field.residue_of(number.magnitude());
            if number.sign() == Sign::Minus { field.negate(residue) } else { residue }
        };
        let (first, step) = (residue(&self.first), residue(&self.step));
        match (first.0, step.0) {
            (0, 0) => Root::All,
            (_, 0) => Root::None,
            _ => {
                let quotient = field.mul(first, field.inverse(step));
                Root::Class(field.value(field.negate(quotient)))
            }
        }
    }
}
