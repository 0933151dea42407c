//! The sieve of Eratosthenes, by segments.
//!
//! A composite n has a prime factor p <= sqrt(n). Each segment of odd numbers is a bit map that
//! fits in the first-level cache; for each prime p up to the root of its end, the multiples of p
//! from p^2 on are crossed out. The memory is that of one segment and of the primes up to the root
//! of the end of the range, and the time of a range of N numbers is O(N log log N).

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::backend::host::reserved_vec;
use crate::error::Result;
use crate::interrupt::{self, Stop};

/// Odd numbers of a segment: bits of 32 KiB.
const SEGMENT: u64 = 1 << 18;

/// Returns the primes of a range, in ascending order.
///
/// Primes up to the root of the end of the range are computed first. They take 4 bytes each: for
/// ranges that end at 2^64, 0.8 GB.
///
/// ```
/// use gpuint::sieve::primes;
///
/// assert_eq!(primes(0..20).collect::<Vec<_>>(), [2, 3, 5, 7, 11, 13, 17, 19]);
/// assert_eq!(primes(1_000_000_000_000..1_000_000_000_100).next(), Some(1_000_000_000_039));
/// ```
#[must_use]
pub fn primes(range: Range<u64>) -> Primes {
    Primes::with_base(&base_of(range.end), range)
}

/// Returns the primes of a range below 2^32, in ascending order, by all threads.
pub(super) fn primes_in_parallel(range: Range<u64>) -> Result<Vec<u32>> {
    /// Numbers of a part.
    const PART: u64 = 1 << 20;
    let base = base_of(range.end);
    let stop = Stop::current();
    let parts: Vec<Vec<u32>> = interrupt::on_pool(|| {
        let starts: Vec<u64> = range.clone().step_by(PART as usize).collect();
        let part = |start: u64| {
            let part = start..range.end.min(start + PART);
            stop.during(|| Ok(Primes::with_base(&base, part).map(|prime| prime as u32).collect()))
        };
        starts.into_par_iter().map(part).collect::<Result<_>>()
    })?;
    let mut primes = reserved_vec(parts.iter().map(Vec::len).sum())?;
    primes.extend(parts.into_iter().flatten());
    Ok(primes)
}

/// The odd primes up to the root of `end`.
pub(super) fn base_of(end: u64) -> Arc<[u32]> {
    let root = end.isqrt();
    if root < 3 {
        return Arc::new([]);
    }
    // The root of a number below 2^64 is below 2^32.
    primes(3..root + 1).map(|prime| prime as u32).collect()
}

/// Primes of a range, in ascending order: see [`primes`].
#[derive(Debug, Clone)]
pub struct Primes {
    /// Odd primes up to the root of the end.
    base: Arc<[u32]>,
    /// Bit i is set if `start + 2 i` is composite.
    segment: Vec<u64>,
    /// First number of the segment, odd, and the number of its odd numbers.
    start: u64,
    length: u64,
    /// Index of the next number in the segment.
    next: u64,
    end: u64,
    /// True until 2 has been returned or skipped.
    is_two_left: bool,
}

impl Primes {
    /// Returns the primes of a range, with the odd primes up to the root of its end.
    pub(super) fn with_base(base: &Arc<[u32]>, range: Range<u64>) -> Self {
        Self {
            base: Arc::clone(base),
            segment: Vec::new(),
            start: range.start.max(3) | 1,
            length: 0,
            next: 0,
            end: range.end,
            is_two_left: range.contains(&2),
        }
    }

    /// Sieves the segment after the current one; returns false at the end of the range.
    fn advance(&mut self) -> bool {
        let Some(start) = self.start.checked_add(2 * self.length) else { return false };
        if start >= self.end {
            return false;
        }
        self.start = start;
        self.length = (self.end - start).div_ceil(2).min(SEGMENT);
        self.next = 0;
        self.segment.clear();
        self.segment.resize(self.length.div_ceil(64) as usize, 0);
        let last = start + 2 * (self.length - 1);
        for &prime in self.base.iter() {
            let prime = u64::from(prime);
            let square = prime * prime;
            if square > last {
                break;
            }
            // The first odd multiple from p^2 on: start + 2 i = 0 modulo p.
            let mut index = if square >= start {
                (square - start) / 2
            } else {
                let over = start % prime;
                let missing = if over == 0 { 0 } else { prime - over };
                if missing % 2 == 0 { missing / 2 } else { (missing + prime) / 2 }
            };
            while index < self.length {
                self.segment[(index / 64) as usize] |= 1 << (index % 64);
                index += prime;
            }
        }
        true
    }
}

impl Iterator for Primes {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if std::mem::take(&mut self.is_two_left) {
            return Some(2);
        }
        loop {
            while self.next < self.length {
                let word = !self.segment[(self.next / 64) as usize] >> (self.next % 64);
                if word == 0 {
                    self.next = (self.next / 64 + 1) * 64;
                    continue;
                }
                let index = self.next + u64::from(word.trailing_zeros());
                if index >= self.length {
                    break;
                }
                self.next = index + 1;
                return Some(self.start + 2 * index);
            }
            if !self.advance() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_prime(n: u64) -> bool {
        n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
    }

    #[test]
    fn ranges_hold_all_primes_and_nothing_else() {
        for (start, end) in [(0, 0), (0, 2), (0, 3), (2, 3), (3, 4), (4, 9), (9, 10), (0, 3000)] {
            let expected: Vec<u64> = (start..end).filter(|&n| is_prime(n)).collect();
            assert_eq!(primes(start..end).collect::<Vec<_>>(), expected, "{start}..{end}");
        }
        for start in 0..200 {
            let expected: Vec<u64> = (start..start + 60).filter(|&n| is_prime(n)).collect();
            assert_eq!(primes(start..start + 60).collect::<Vec<_>>(), expected, "{start}");
        }
        let high = (1 << 40) - 50..(1 << 40) + 50;
        let expected: Vec<u64> = high.clone().filter(|&n| is_prime(n)).collect();
        assert_eq!(primes(high).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn counts_of_primes_are_those_of_tables() {
        // OEIS A006880.
        for (end, count) in [(1000, 168), (1_000_000, 78_498), (10_000_000, 664_579)] {
            assert_eq!(primes(0..end).count(), count);
        }
        // Parts of a range add up, also across segments.
        let parts = (0..10).map(|i| primes(i * 1_000_000..(i + 1) * 1_000_000).count());
        assert_eq!(parts.sum::<usize>(), 664_579);
    }
}
