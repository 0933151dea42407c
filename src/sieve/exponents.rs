//! Small factors of numbers k b^n + c for many exponents n.
//!
//! A prime p that divides neither b nor k divides k b^n + c for the n with b^n = -c / k modulo p: a
//! discrete logarithm, in a range of N exponents. Baby steps and giant steps (D. Shanks 1971) take
//! about 2 sqrt(N) products: a table holds b^j for j < m = sqrt(N), and the target divided by
//! b^(m i) is looked up for each i. If b^j = 1 for some 0 < j < m, that j is the order of b, and
//! the table alone gives the n of one residue class modulo the order. Otherwise the powers of the
//! table differ, and each i has at most one j. For few n in a wide range, each power is computed.

use num_bigint::{BigInt, BigUint};
use num_traits::{Signed, ToPrimitive};

use super::factors::{Factors, for_primes};
use super::montgomery::{Field, Residue};
use super::progression::Places;
use crate::error::Result;

/// The numbers k b^n + c, for exponents n of 64 bits.
///
/// ```
/// use gpuint::sieve::Exponents;
///
/// let mersenne = Exponents::new(1, 2, -1);
/// let exponents = [11, 23, 29, 31, 37];
/// assert_eq!(mersenne.smallest_factors(&exponents, 1000)?, [23, 47, 233, 0, 223]);
/// # Ok::<(), gpuint::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Exponents {
    k: u64,
    base: u64,
    c: BigInt,
}

impl Exponents {
    /// Numbers k b^n + c.
    #[must_use]
    pub fn new(k: u64, base: u64, c: impl Into<BigInt>) -> Self {
        Self { k, base, c: c.into() }
    }

    /// The numbers at a distance from these.
    pub(super) fn shifted(&self, distance: BigInt) -> Self {
        Self { c: &self.c + distance, ..*self }
    }

    /// Returns the smallest prime factor below `limit` of k b^n + c for each n of `exponents`, and
    /// 0 where there is none.
    ///
    /// A prime is no factor of itself: 7 has none. 0 has the factor 2. A limit above 2^62 acts as
    /// 2^62, for which no computation ends. The time of a prime is proportional to the square root
    /// of the range of the exponents.
    ///
    /// # Errors
    /// [`Interrupted`](crate::Error::Interrupted).
    pub fn smallest_factors(&self, exponents: &[u64], limit: u64) -> Result<Vec<u64>> {
        let factors = Factors::new(exponents.len());
        let Some(places) = Places::of(exponents) else { return Ok(factors.finish()) };
        let range = places.range();
        let steps = Steps::over(range.end() - range.start());
        // A power takes up to two products for each bit of its exponent.
        let products = 2 * u64::from(64 - range.end().leading_zeros());
        let is_direct =
            (exponents.len() as u64).saturating_mul(products) <= steps.baby + steps.giant;
        let make = || Table::new(if is_direct { 0 } else { steps.baby });
        for_primes(0..limit, make, |table, primes| {
            for prime in primes {
                let mut hit = |index: usize| {
                    if !self.is(exponents[index], prime) {
                        factors.record(index, prime);
                    }
                };
                if self.k.is_multiple_of(prime) || self.base.is_multiple_of(prime) || prime == 2 {
                    // Few primes: each number has its own residue.
                    for (index, &exponent) in exponents.iter().enumerate() {
                        if self.is_divided(exponent, prime) {
                            hit(index);
                        }
                    }
                } else if is_direct {
                    let field = Field::new(prime);
                    let (base, k) = (field.from(self.base), field.from(self.k));
                    let target = self.target(field);
                    for (index, &exponent) in exponents.iter().enumerate() {
                        if field.mul(k, field.pow(base, exponent)) == target {
                            hit(index);
                        }
                    }
                } else {
                    let at = |exponent| places.at(exponent, &mut hit);
                    self.solve(Field::new(prime), *range.start(), *range.end(), steps, table, at);
                }
            }
        })?;
        Ok(factors.finish())
    }

    /// Calls `at` with each n from `first` to `last` for which the modulus divides k b^n + c. The
    /// modulus divides neither k nor b.
    fn solve(
        &self,
        field: Field,
        first: u64,
        last: u64,
        steps: Steps,
        table: &mut Table,
        mut at: impl FnMut(u64),
    ) {
        let base = field.from(self.base);
        let start = field.mul(field.from(self.k), field.pow(base, first));
        // b^(n - first) = -c / (k b^first).
        let mut target = field.mul(self.target(field), field.inverse(start));
        if target.0 == 0 {
            return;
        }

        table.clear();
        let mut power = field.one();
        for j in 0..steps.baby {
            if j > 0 && power == field.one() {
                // The order of b.
                let found = table.find(target);
                let mut n = found.and_then(|found| first.checked_add(found));
                while let Some(solution) = n.filter(|&n| n <= last) {
                    at(solution);
                    n = solution.checked_add(j);
                }
                return;
            }
            table.insert(power, j);
            power = field.mul(power, base);
        }
        // b^-m.
        let giant = field.inverse(power);
        for i in 0..steps.giant {
            if let Some(j) = table.find(target) {
                let n = first.checked_add(i * steps.baby + j).filter(|&n| n <= last);
                n.into_iter().for_each(&mut at);
            }
            target = field.mul(target, giant);
        }
    }

    /// The residue of -c.
    fn target(&self, field: Field) -> Residue {
        let c = field.residue_of(self.c.magnitude());
        if self.c.is_negative() { c } else { field.negate(c) }
    }

    /// Returns true if the prime divides k b^n + c.
    fn is_divided(&self, n: u64, prime: u64) -> bool {
        let c = (&self.c % prime).to_i128().unwrap_or(0);
        let power = if prime == 2 {
            // Powers modulo 2.
            u64::from(self.base % 2 == 1 || n == 0)
        } else {
            let field = Field::new(prime);
            field.value(field.pow(field.from(self.base), n))
        };
        let product = u128::from(self.k % prime) * u128::from(power) % u128::from(prime);
        (product as i128 + c) % i128::from(prime) == 0
    }

    /// Returns true if k b^n + c is the prime.
    fn is(&self, n: u64, prime: u64) -> bool {
        // Of k b^n = p - c both sides are computed only if their lengths agree.
        let wanted = BigInt::from(prime) - &self.c;
        let Some(wanted) = wanted.to_biguint() else { return false };
        if self.k == 0 || self.base < 2 || n == 0 {
            let power = u64::from(n == 0 || self.base == 1);
            return wanted == BigUint::from(self.k) * power;
        }
        let least = u64::from(self.base.ilog2()).saturating_mul(n);
        least < wanted.bits()
            && wanted == BigUint::from(self.base).pow(n as u32) * BigUint::from(self.k)
    }
}

/// Numbers of baby steps and of giant steps: their product covers the range.
#[derive(Debug, Clone, Copy)]
struct Steps {
    baby: u64,
    giant: u64,
}

impl Steps {
    /// Steps for exponents from 0 to `last`.
    fn over(last: u64) -> Self {
        /// Powers of a table, at most: 32 MiB.
        const MAX: u64 = 1 << 20;
        let baby = (last.isqrt() + 1).min(MAX);
        Self { baby, giant: last / baby + 1 }
    }
}

/// A hash table of powers, which is cleared in constant time.
#[derive(Debug)]
struct Table {
    entries: Vec<Entry>,
    /// Entries of other rounds are free.
    round: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    power: u64,
    exponent: u32,
    round: u32,
}

impl Table {
    /// Makes a table for `powers` powers.
    fn new(powers: u64) -> Self {
        let size = (2 * powers as usize).next_power_of_two();
        Self { entries: vec![Entry::default(); size], round: 0 }
    }

    fn clear(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.entries.fill(Entry::default());
            self.round = 1;
        }
    }

    fn insert(&mut self, power: Residue, exponent: u64) {
        let place = self.place(power);
        // Exponents are below the root of 2^64.
        self.entries[place] =
            Entry { power: power.0, exponent: exponent as u32, round: self.round };
    }

    fn find(&self, power: Residue) -> Option<u64> {
        let entry = self.entries[self.place(power)];
        (entry.round == self.round).then_some(entry.exponent.into())
    }

    /// The place of a power, or the free place for it. Half of the places are free.
    fn place(&self, power: Residue) -> usize {
        // D. E. Knuth: multiplication by 2^64 / golden ratio; the high bits select the place.
        let mask = self.entries.len() - 1;
        let mut place = (power.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            let entry = &self.entries[place];
            if entry.round != self.round || entry.power == power.0 {
                return place;
            }
            place = (place + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_agree_with_divisions() {
        let exponents: Vec<Vec<u64>> = vec![
            (0..150).collect(),
            (90..130).rev().collect(),
            vec![3, 140, 3, 100, 7, 140],
            vec![1, 90_000, 70_001],
            vec![20],
        ];
        let offset: BigInt = BigInt::from(10).pow(30) + 7;
        for (k, base) in [(1, 2), (3, 2), (15, 10), (7, 35), (1, 1), (5, 0), (0, 3), (6, 97)] {
            let cs = [0, 1, -1, 6, -35].map(BigInt::from).into_iter();
            for c in cs.chain([offset.clone(), -offset.clone()]) {
                let numbers = Exponents::new(k, base, c.clone());
                for exponents in &exponents {
                    let factors = numbers.smallest_factors(exponents, 300).unwrap();
                    for (&n, factor) in exponents.iter().zip(factors) {
                        let divides = |p: &u64| {
                            let power = BigInt::from(base).modpow(&n.into(), &(*p).into());
                            let is_own = (n < 1000 || base < 2)
                                && BigInt::from(base).pow(n as u32) * k + &c == BigInt::from(*p);
                            (power * k + &c) % *p == BigInt::ZERO && !is_own
                        };
                        let expected = crate::sieve::primes(0..300).find(divides).unwrap_or(0);
                        assert_eq!(factor, expected, "{k} {base}^{n} + {c}");
                    }
                }
            }
        }
    }

    #[test]
    fn wide_ranges_are_searched() {
        // 11 itself, and 10^n + 1 with n = 2^64 - 1 = 3 modulo 6, the order of 10 modulo 7.
        let widest = Exponents::new(1, 10, 1).smallest_factors(&[1, u64::MAX], 12);
        assert_eq!(widest.unwrap(), [0, 7]);
        // Every exponent of a class modulo the order of 3 modulo 100003.
        let exponents: Vec<u64> = (1_000_000..1_400_000).collect();
        let factors = Exponents::new(1, 3, 2).smallest_factors(&exponents, 100_100).unwrap();
        for prime in [100_003, 99_991, 65_537, 257, 7] {
            let field = Field::new(prime);
            let mut power = field.pow(field.from(3), exponents[0]);
            for factor in &factors {
                let divides = (field.value(power) + 2).is_multiple_of(prime);
                assert!(!divides || (*factor > 0 && *factor <= prime));
                assert!(divides || *factor != prime);
                power = field.mul(power, field.from(3));
            }
        }
    }
}
