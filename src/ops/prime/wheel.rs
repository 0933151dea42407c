//! Random candidates for primes: numbers of one length without a factor among the first primes.
//!
//! The first primes are multiplied to words `M_1, .., M_w`, and `M` is their product. A candidate
//! is `M y + R` for a random `y` and a random unit `R` modulo `M`. For safe primes `p = 2 q + 1`
//! both `R` and `2 R + 1` are units. A unit modulo a word is one of the allowed remainders for each
//! prime of the word, so that none is drawn in vain. The units `r_i` modulo the words give
//!
//! ```text
//! n = t_1 + M_1 (t_2 + M_2 (t_3 + .. M_w y)),     t_i = (r_i - v_i) / (M_1 .. M_(i-1)) mod M_i,
//! ```
//!
//! where `v_i` has the terms before `t_i` (H. Garner, "The Residue Number System", 1959). `y` is
//! one of the numbers for which some `R` gives the length, and candidates of another length are
//! drawn again. So all numbers of the length without these factors are equally likely.

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};
use rayon::prelude::*;

use super::factors::primes_up_to;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::threads;

/// Words of primes, at most: their primes end near 200. Each one more takes as much time as the
/// words before it, and leaves 15 % fewer candidates or less.
const WORDS: usize = 4;
/// Bits of a word, so that a sum of two remainders fits 64.
const WORD_BITS: u64 = 63;
/// Candidates that a thread draws at a time.
const DRAWN: usize = 256;

/// Kind of primes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Any,
    Safe,
}

/// Random bytes, taken from the operating system in blocks.
#[derive(Debug)]
pub(super) struct Source {
    block: Vec<u8>,
    used: usize,
}

impl Source {
    pub(super) fn new() -> Self {
        let block = vec![0; 1 << 14];
        Self { used: block.len(), block }
    }

    fn fill(&mut self, mut bytes: &mut [u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.used == self.block.len() {
                getrandom::fill(&mut self.block).map_err(|error| {
                    Error::Driver(format!("the operating system has no randomness: {error}"))
                })?;
                self.used = 0;
            }
            let len = bytes.len().min(self.block.len() - self.used);
            let (next, rest) = bytes.split_at_mut(len);
            next.copy_from_slice(&self.block[self.used..][..len]);
            self.used += len;
            bytes = rest;
        }
        Ok(())
    }

    /// Returns a number below a bound, all with the same probability.
    pub(super) fn below(&mut self, bound: u64) -> Result<u64> {
        let mut number = [0];
        self.limbs_below(&[bound], &mut number)?;
        Ok(number[0])
    }

    /// Writes a number below a positive bound of as many limbs, all with the same probability.
    fn limbs_below(&mut self, bound: &[u64], number: &mut [u64]) -> Result<()> {
        let bits = bit_length(bound);
        let (drawn, above) = number.split_at_mut(bits.div_ceil(64));
        above.fill(0);
        loop {
            self.fill(bytemuck::cast_slice_mut(drawn))?;
            if let (Some(top), 1..) = (drawn.last_mut(), bits % 64) {
                *top &= (1 << (bits % 64)) - 1;
            }
            if drawn.iter().rev().lt(bound[..drawn.len()].iter().rev()) {
                return Ok(());
            }
        }
    }
}

/// Product of consecutive primes that fits a word, and the units modulo it.
#[derive(Debug)]
struct Word {
    modulus: u64,
    /// Number of the units.
    units: u64,
    /// For each prime and each remainder modulo it that is allowed: the number modulo `modulus` of
    /// this remainder that the other primes divide.
    terms: Vec<Vec<u64>>,
    /// Inverse of the product of the words before, modulo `modulus`.
    inverse: u64,
}

impl Word {
    fn new(primes: &[u64], before: &BigUint, kind: Kind) -> Self {
        let modulus: u64 = primes.iter().product();
        let is_allowed =
            |&r: &u64, p: u64| r != 0 && (kind == Kind::Any || !(2 * r + 1).is_multiple_of(p));
        let terms_of = |&p: &u64| {
            let others = modulus / p;
            let inverse = (1..p).find(|x| others % p * x % p == 1).unwrap_or_default();
            (1..p).filter(|r| is_allowed(r, p)).map(|r| others * (r * inverse % p)).collect()
        };
        let terms: Vec<Vec<u64>> = primes.iter().map(terms_of).collect();
        let units = terms.iter().map(|terms| terms.len() as u64).product();
        let inverse = before.modinv(&modulus.into()).and_then(|inverse| inverse.to_u64());
        Self { modulus, units, terms, inverse: inverse.unwrap_or_default() }
    }

    /// Returns the unit with this index below `units`.
    fn unit(&self, mut index: u64) -> u64 {
        let mut sum = 0;
        for terms in &self.terms {
            let count = terms.len() as u64;
            sum += terms[(index % count) as usize];
            if sum >= self.modulus {
                sum -= self.modulus;
            }
            index /= count;
        }
        sum
    }
}

/// Candidates of one length.
#[derive(Debug)]
pub(super) struct Wheel {
    bits: usize,
    words: Vec<Word>,
    /// Least `y`, and the number of all `y`, with the limbs of the greatest.
    least: Vec<u64>,
    count: Vec<u64>,
    candidates_per_prime: usize,
}

impl Wheel {
    /// Chooses the words: their product is at most half as long as the candidates of `bits` bits.
    pub(super) fn new(bits: usize, kind: Kind) -> Result<Self> {
        let mut groups: Vec<Vec<u64>> = Vec::new();
        let (mut modulus, mut last) = (BigUint::one(), BigUint::one());
        for p in primes_up_to(1 << 8)? {
            let next = &modulus * p;
            if next.bits() as usize > bits / 2 {
                break;
            }
            let grown = &last * p;
            let is_full = groups.len() == WORDS;
            match groups.last_mut().filter(|_| grown.bits() <= WORD_BITS) {
                Some(group) => {
                    group.push(p.into());
                    last = grown;
                }
                None if is_full => break,
                None => {
                    groups.push(vec![p.into()]);
                    last = p.into();
                }
            }
            modulus = next;
        }
        let mut before = BigUint::one();
        let mut words = Vec::new();
        for primes in &groups {
            let word = Word::new(primes, &before, kind);
            before *= word.modulus;
            words.push(word);
        }
        let power = |bits: usize| BigUint::one() << bits;
        let least = power(bits - 1) / &modulus;
        let greatest = (power(bits) - 1u32) / &modulus;
        let limbs = greatest.to_u64_digits().len();
        let padded = |number: BigUint| {
            let mut digits = number.to_u64_digits();
            digits.resize(limbs, 0);
            digits
        };
        let count = padded(greatest - &least + 1u32);

        // A number of this length is prime with probability 1 / ln 2^bits, and a unit is by the
        // factor 1 / (1 - 1 / p) for each prime more often.
        let primes = groups.iter().flatten();
        let thinned = primes
            .fold(bits as f64 * std::f64::consts::LN_2, |share, &p| share * (1.0 - 1.0 / p as f64));
        let share = if kind == Kind::Safe { thinned * thinned } else { thinned };
        Ok(Self {
            bits,
            words,
            least: padded(least),
            count,
            candidates_per_prime: share as usize + 1,
        })
    }

    /// Returns the number of candidates for each prime, or safe prime, among them.
    pub(super) fn candidates_per_prime(&self) -> usize {
        self.candidates_per_prime
    }

    /// Draws rows.
    pub(super) fn draw(&self, device: &Device, shape: Shape, rows: usize) -> Result<DynBatch> {
        let bytes = shape.bytes();
        DynBatch::from_parts(device, shape, rows, |_, part| {
            let tasks = part.par_chunks_mut(DRAWN * bytes).map(|rows| {
                let mut source = Source::new();
                let mut limbs = vec![0; self.least.len() + self.words.len()];
                rows.chunks_exact_mut(bytes).try_for_each(|row| {
                    self.draw_limbs(&mut source, &mut limbs)?;
                    let limbs: &[u8] = bytemuck::cast_slice(&limbs);
                    let len = limbs.len().min(bytes);
                    row[..len].copy_from_slice(&limbs[..len]);
                    row[len..].fill(0);
                    Ok(())
                })
            });
            threads::install(|| tasks.collect())
        })
    }

    /// Draws a candidate; `limbs` has room for the limbs of `y` and one for each word.
    fn draw_limbs(&self, source: &mut Source, limbs: &mut [u64]) -> Result<()> {
        loop {
            let (y, above) = limbs.split_at_mut(self.least.len());
            source.limbs_below(&self.count, y)?;
            above.fill(0);
            let mut carry = 0;
            for (y, least) in y.iter_mut().zip(&self.least) {
                let sum = u128::from(*y) + u128::from(*least) + carry;
                *y = sum as u64;
                carry = sum >> 64;
            }
            let mut terms = [0; WORDS];
            for (i, word) in self.words.iter().enumerate() {
                let unit = word.unit(source.below(word.units)?);
                terms[i] = self.term(i, &terms, unit);
            }
            for (word, term) in self.words.iter().zip(terms).rev() {
                multiply_add(limbs, word.modulus, term);
            }
            if bit_length(limbs) == self.bits {
                return Ok(());
            }
        }
    }

    /// Returns `t_i` for a unit modulo word `i` and the terms before it.
    fn term(&self, i: usize, terms: &[u64], unit: u64) -> u64 {
        let word = &self.words[i];
        let modulus = u128::from(word.modulus);
        let before = self.words[..i].iter().zip(terms).rev();
        let value = before.fold(0, |value, (word, &term)| {
            (value * u128::from(word.modulus) + u128::from(term)) % modulus
        });
        ((u128::from(unit) + modulus - value) * u128::from(word.inverse) % modulus) as u64
    }
}

/// Computes `limbs * factor + summand`, which has room.
fn multiply_add(limbs: &mut [u64], factor: u64, summand: u64) {
    let mut carry = u128::from(summand);
    for limb in limbs {
        carry += u128::from(*limb) * u128::from(factor);
        *limb = carry as u64;
        carry >>= 64;
    }
}

fn bit_length(limbs: &[u64]) -> usize {
    let top = limbs.iter().rposition(|&limb| limb != 0);
    top.map_or(0, |top| 64 * (top + 1) - limbs[top].leading_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn drawn(wheel: &Wheel, count: usize) -> Vec<BigUint> {
        let mut source = Source::new();
        let mut limbs = vec![0; wheel.least.len() + wheel.words.len()];
        let mut draw = || {
            wheel.draw_limbs(&mut source, &mut limbs).unwrap();
            BigUint::new(limbs.iter().flat_map(|&l| [l as u32, (l >> 32) as u32]).collect())
        };
        (0..count).map(|_| draw()).collect()
    }

    fn has_factor(n: &BigUint, primes: &[u32]) -> bool {
        primes.iter().any(|&p| (n % p).bits() == 0)
    }

    #[test]
    fn candidates_have_the_length_and_no_factor_of_the_wheel() {
        for (bits, words) in [(17, 1), (64, 1), (130, 2), (1024, 4), (4096, 4)] {
            for kind in [Kind::Any, Kind::Safe] {
                let wheel = Wheel::new(bits, kind).unwrap();
                assert_eq!(wheel.words.len(), words, "{bits} bits");
                let factors = wheel.words.iter().map(|word| word.modulus);
                let modulus: BigUint = factors.map(BigUint::from).product();
                let all = primes_up_to(1 << 8).unwrap();
                let primes: Vec<u32> =
                    all.into_iter().filter(|&p| (&modulus % p).bits() == 0).collect();
                for n in drawn(&wheel, 500) {
                    assert_eq!(n.bits(), bits as u64);
                    assert!(!has_factor(&n, &primes), "{n}");
                    let double: BigUint = 2u32 * &n + 1u32;
                    assert!(kind == Kind::Any || !has_factor(&double, &primes), "{n}");
                }
            }
        }
    }

    #[test]
    fn all_candidates_of_a_length_are_equally_likely() {
        // M is 6; units are 1 and 5, and for safe primes 5.
        for (kind, share) in [(Kind::Any, 3), (Kind::Safe, 6)] {
            let wheel = Wheel::new(9, kind).unwrap();
            let mut counts: HashMap<u64, usize> = HashMap::new();
            for n in drawn(&wheel, 60_000) {
                *counts.entry(n.to_u64().unwrap()).or_default() += 1;
            }
            let is_unit = |&n: &u64| match kind {
                Kind::Any => n % 6 == 1 || n % 6 == 5,
                Kind::Safe => n % 6 == 5,
            };
            let units: Vec<u64> = (256..512).filter(is_unit).collect();
            assert!(units.len().abs_diff(256 / share) <= 1);
            assert_eq!(counts.len(), units.len());
            let mean = 60_000.0 / units.len() as f64;
            for unit in units {
                // Ten standard deviations.
                assert!((counts[&unit] as f64 - mean).abs() < 10.0 * mean.sqrt(), "{unit}");
            }
        }
    }
}
