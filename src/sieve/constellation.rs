//! Joint sieves: an index survives if no number there has a small factor, in any family.
//!
//! Strikes start from a mask in which a number that is even, and not 2, clears its bit: a word
//! pattern by the parities of first number and step. A device with kernels then strikes by the
//! primes below 2^32 (`kernels/sieve`), and the CPU by all others. A prime that divides first
//! number and step divides all numbers, and its family leaves at most the index where the number is
//! the prime itself.

use std::ops::Range;

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::{Signed, ToPrimitive, Zero};

use super::factors::LARGEST;
use super::family::{Family, Kind, Terms};
use super::primes::primes_in_parallel;
use super::strikes;
use crate::backend::host::{check_room, collected};
use crate::backend::sieve::{MAX_BITS, MAX_PRIMES, RawFamily, Strikes};
use crate::device::Device;
use crate::error::Result;
use crate::interrupt;
use crate::mask::Mask;

/// First number that is no prime of a kernel.
const KERNEL_LIMIT: u64 = 1 << 32;

/// Families of numbers that are prime at the same index: twins, safe primes, patterns of a tuplet.
///
/// ```
/// use gpuint::Device;
/// use gpuint::sieve::{Constellation, Family};
///
/// // q = 2 i + 1 and the safe prime 2 q + 1 = 4 i + 3, for i below 50.
/// let safe = Constellation::new([Family::terms(1, 2), Family::terms(3, 4)]);
/// let left = safe.survivors(&Device::cpu(), 50, 100)?.indices()?;
/// let q: Vec<usize> = left.into_iter().map(|i| 2 * i + 1).collect();
/// assert_eq!(q, [1, 3, 5, 11, 23, 29, 41, 53, 83, 89]);
/// # Ok::<(), gpuint::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Constellation {
    families: Vec<Family>,
}

impl Constellation {
    /// Families whose numbers survive together.
    #[must_use]
    pub fn new(families: impl IntoIterator<Item = Family>) -> Self {
        Self { families: families.into_iter().collect() }
    }

    /// The numbers of a family and those at `offsets` from them: (0, 2) for twins.
    ///
    /// ```
    /// use gpuint::Device;
    /// use gpuint::sieve::{Constellation, Family};
    ///
    /// // p, p + 2, p + 6, p + 8 with p = 30 i + 11: the quadruplets of primes above 7.
    /// let quadruplets = Constellation::tuplet(&Family::terms(11, 30), &[0, 2, 6, 8]);
    /// let left = quadruplets.survivors(&Device::cpu(), 100, 100)?.indices()?;
    /// let first: Vec<usize> = left.into_iter().map(|i| 30 * i + 11).collect();
    /// assert_eq!(first, [11, 101, 191, 821, 1481, 1871, 2081]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    #[must_use]
    pub fn tuplet(family: &Family, offsets: &[i64]) -> Self {
        Self::new(offsets.iter().map(|&offset| family.shifted(offset)))
    }

    /// Returns a mask of the indices below `len` at which no number of any family has a prime
    /// factor below `limit`.
    ///
    /// A prime is no factor of itself: 7 survives, and -7 does not. 0 has the factor 2; 1 and -1
    /// survive. A limit above 2^62 acts as 2^62, for which no computation ends.
    ///
    /// A GPU strikes terms by the primes below 2^32. The threads of the CPU strike powers, and
    /// terms by larger primes; on a handle of [`Device::verified`] they do all the work. Terms take
    /// time proportional to `len` and to the number of primes, and memory for `len` bits. Powers
    /// take the times of [`Exponents`](super::Exponents).
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`Interrupted`](crate::Error::Interrupted),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    pub fn survivors(&self, device: &Device, len: usize, limit: u64) -> Result<Mask> {
        let limit = limit.min(LARGEST);
        let mut terms = Vec::new();
        let mut mask = Mask::alloc(device, len)?;
        let mut others = Vec::new();
        for family in &self.families {
            match &family.0 {
                Kind::Terms(family) => terms.push(family),
                Kind::Powers { numbers, first } => others.push((numbers, *first)),
            }
        }
        if len == 0 {
            return Ok(mask);
        }
        let job = Job { terms, len: len as u64, limit };
        job.strike(&mut mask)?;
        for (numbers, first) in others {
            let count = (u64::MAX - first).saturating_add(1).min(len as u64);
            check_room(len, size_of::<[u64; 2]>())?;
            let exponents: Vec<u64> = collected((0..count).map(|i| first + i))?;
            let factors = numbers.smallest_factors(&exponents, limit)?;
            let mut words = strikes::all(len)?;
            for (index, _) in factors.iter().enumerate().filter(|(_, factor)| **factor > 0) {
                words[index / 32] &= !(1 << (index % 32));
            }
            mask = mask.and(&Mask::from_words(device, &words, len)?)?;
        }
        Ok(mask)
    }
}

impl Family {
    /// Returns a mask of the indices below `len` whose numbers have no prime factor below `limit`:
    /// [`Constellation::survivors`] of one family.
    ///
    /// # Errors
    /// As [`Constellation::survivors`].
    pub fn survivors(&self, device: &Device, len: usize, limit: u64) -> Result<Mask> {
        Constellation::new([self.clone()]).survivors(device, len, limit)
    }
}

/// Families of terms, and the bounds of their sieve.
struct Job<'a> {
    terms: Vec<&'a Terms>,
    len: u64,
    limit: u64,
}

impl Job<'_> {
    /// Writes the survivors to a mask.
    fn strike(&self, mask: &mut Mask) -> Result<()> {
        let device = mask.device().clone();
        device.memory().fill(mask.buffer_mut(), self.even_pattern())?;
        if self.limit <= 2 || self.terms.is_empty() {
            return Ok(());
        }
        for index in self.indices_of(|_| Some(2)) {
            mask.set_bit(index, self.terms.iter().all(|terms| !terms.is_struck(index, 2)))?;
        }
        let mut common: Vec<Option<u64>> = vec![None; self.terms.len()];
        let mut start = 3;
        if device.has_sieves() {
            start = self.limit.min(KERNEL_LIMIT);
            self.strike_on_device(mask, 3..start, &mut common)?;
        }
        let left = start..self.limit;
        if !left.is_empty() {
            let terms = strikes::Job { terms: &self.terms, len: self.len };
            let words = terms.strike(left, &mut common)?;
            *mask = mask.and(&Mask::from_words(&device, &words, mask.len())?)?;
        }
        if self.terms.iter().zip(&common).any(|(terms, p)| terms.is_emptied_by(*p)) {
            // Survivors are numbers that are the common primes themselves.
            let mut left = Vec::new();
            for index in self.indices_of(|family| common[family]) {
                let is_own = |(terms, prime): (&&Terms, &Option<u64>)| {
                    prime.is_none_or(|prime| !terms.is_struck(index, prime))
                };
                if self.terms.iter().zip(&common).all(is_own) && mask.row(index as usize)? {
                    left.push(index);
                }
            }
            mask.cleared()?;
            left.into_iter().try_for_each(|index| mask.set_bit(index, true))?;
        }
        Ok(())
    }

    /// Byte of all words of the mask by the prime 2: its bits are those of even and of odd indices.
    fn even_pattern(&self) -> u8 {
        let of_family = |terms: &&Terms| match (terms.first.is_odd(), terms.step.is_odd()) {
            (true, false) => 0xff,
            (true, true) => 0x55,
            (false, true) => 0xaa,
            (false, false) if terms.is_emptied_by(Some(2)) => 0,
            (false, false) => 0xff,
        };
        if self.limit <= 2 {
            0xff
        } else {
            self.terms.iter().map(of_family).fold(0xff, |a, b| a & b)
        }
    }

    /// Indices at which the number of a family is the value for this family.
    fn indices_of(&self, value: impl Fn(usize) -> Option<u64>) -> Vec<u64> {
        let index = |(family, terms): (usize, &&Terms)| {
            terms.index_of(value(family)?).filter(|&index| index < self.len)
        };
        self.terms.iter().enumerate().filter_map(index).collect()
    }

    /// Strikes by the primes of a range, odd and below 2^32.
    fn strike_on_device(
        &self,
        mask: &mut Mask,
        range: Range<u64>,
        common: &mut [Option<u64>],
    ) -> Result<()> {
        let device = mask.device().clone();
        let families = self.terms.len();
        let mut least = device.alloc_rows(families, size_of::<u32>())?;
        device.memory().fill(&mut least, 0xff)?;
        // Blocks of numbers with at most as many primes.
        let span = 2 * MAX_PRIMES as u64;
        for start in range.clone().step_by(span as usize) {
            let primes = primes_in_parallel(start..range.end.min(start + span))?;
            for first in (0..self.len).step_by(MAX_BITS as usize) {
                interrupt::check()?;
                let bits = (self.len - first).min(MAX_BITS.into()) as u32;
                let part: Vec<Terms> = self.terms.iter().map(|terms| terms.after(first)).collect();
                let raw: Vec<RawFamily> = part.iter().map(|terms| terms.raw(bits)).collect();
                let (limbs, length) = limbs(&part);
                device.memory().strike(Strikes {
                    primes: &primes,
                    families: &raw,
                    limbs: &limbs,
                    length,
                    words: mask.buffer_mut(),
                    first_word: first / u64::from(u32::BITS),
                    bits,
                    common: &mut least,
                })?;
            }
        }
        let mut primes = vec![0u32; families];
        device.memory().download(&least, 0, bytemuck::cast_slice_mut(&mut primes))?;
        for (common, prime) in common.iter_mut().zip(primes) {
            *common = Some(prime).filter(|&prime| prime != u32::MAX).map(u64::from);
        }
        Ok(())
    }
}

impl Terms {
    /// Returns true if a prime that divides the number at an index is not the number itself.
    fn is_struck(&self, index: u64, prime: u64) -> bool {
        let number = &self.first + &self.step * index;
        number.is_multiple_of(&prime.into()) && number != prime.into()
    }

    /// Returns true if a prime divides all numbers, and they are not all the prime itself.
    fn is_emptied_by(&self, prime: Option<u64>) -> bool {
        prime.is_some_and(|prime| !self.step.is_zero() || self.first != prime.into())
    }

    /// Index of a number among different ones.
    fn index_of(&self, value: u64) -> Option<u64> {
        if self.step.is_zero() {
            return None;
        }
        let (index, rest) = (BigInt::from(value) - &self.first).div_rem(&self.step);
        if rest.is_zero() { index.to_u64() } else { None }
    }

    /// The terms from an index on.
    fn after(&self, index: u64) -> Self {
        Self { first: &self.first + &self.step * index, step: self.step.clone() }
    }

    /// Returns the index of the first number from 2 to `bound` - 1, and the number of them, among
    /// the first `len` terms.
    pub(super) fn small(&self, bound: u64, len: u64) -> Option<(u64, u64)> {
        let ends = [BigInt::from(2), BigInt::from(bound) - 1];
        let (from, to) = match self.step.sign() {
            Sign::NoSign => {
                let is_small = ends[0] <= self.first && self.first <= ends[1];
                return is_small.then_some((0, len));
            }
            Sign::Plus => (&ends[0], &ends[1]),
            Sign::Minus => (&ends[1], &ends[0]),
        };
        let from = Integer::div_ceil(&(from - &self.first), &self.step).max(BigInt::zero());
        let to = Integer::div_floor(&(to - &self.first), &self.step).min(BigInt::from(len) - 1);
        let (from, to) = (from.to_u64()?, to.to_u64()?);
        (from <= to).then(|| (from, to - from + 1))
    }

    /// The family for kernels, of the first `bits` terms.
    fn raw(&self, bits: u32) -> RawFamily {
        let is_opposite = u32::from(self.first.is_negative() != self.step.is_negative());
        let none = RawFamily {
            small_value: 0,
            step: 0,
            small_first: 0,
            small_count: 0,
            is_opposite,
            padding: 0,
        };
        let Some((first, count)) = self.small(KERNEL_LIMIT, bits.into()) else { return none };
        let value = (&self.first + &self.step * first).to_i64().unwrap_or(0);
        RawFamily {
            small_value: value,
            // Several numbers below 2^32 have a step below 2^32.
            step: self.step.to_i64().filter(|_| count > 1).unwrap_or(0),
            // Both are at most `bits`.
            small_first: first as u32,
            small_count: count as u32,
            ..none
        }
    }
}

/// Limbs of first number and step of each family, all of one length.
fn limbs(terms: &[Terms]) -> (Vec<u32>, usize) {
    let numbers: Vec<&BigUint> =
        terms.iter().flat_map(|terms| [terms.first.magnitude(), terms.step.magnitude()]).collect();
    let length = numbers.iter().map(|number| number.iter_u32_digits().len()).max().unwrap_or(0);
    let mut limbs = vec![0; length * numbers.len()];
    for (number, target) in numbers.iter().zip(limbs.chunks_mut(length.max(1))) {
        for (target, limb) in target.iter_mut().zip(number.iter_u32_digits()) {
            *target = limb;
        }
    }
    (limbs, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The CPU, and where it is built the shim of the kernels.
    fn devices() -> Vec<Device> {
        let mut devices = vec![Device::cpu()];
        #[cfg(feature = "simt")]
        devices.push(Device::simt());
        devices
    }

    /// The largest primes of kernels, and the first ones that strike memory of the device, with
    /// several hits.
    #[test]
    fn primes_above_segments_strike() {
        for range in [KERNEL_LIMIT - 70..KERNEL_LIMIT, 1 << 18..(1 << 18) + 60] {
            check_strikes(&range);
        }
    }

    fn check_strikes(range: &Range<u64>) {
        let sieved: Vec<u64> = crate::sieve::primes(range.clone()).collect();
        let step: BigInt = BigInt::from(2).pow(89) + 1;
        let terms: Vec<Terms> = (0..3u64)
            .map(|k| {
                let number = BigInt::from(sieved[k as usize]) * BigInt::from(10).pow(40);
                let first = number - &step * (7 + 270_000 * k);
                Terms { first, step: if k == 1 { -&step } else { step.clone() } }
            })
            .collect();
        for device in devices() {
            let len = 600_001;
            let job = Job { terms: terms.iter().collect(), len, limit: KERNEL_LIMIT };
            let mut mask =
                Mask::from_words(&device, &strikes::all(len as usize).unwrap(), 600_001).unwrap();
            let mut common = vec![None; 3];
            if device.has_sieves() {
                job.strike_on_device(&mut mask, range.clone(), &mut common).unwrap();
            } else {
                let host = strikes::Job { terms: &job.terms, len };
                let words = host.strike(range.clone(), &mut common).unwrap();
                mask = Mask::from_words(&device, &words, len as usize).unwrap();
            }
            let struck = mask.not().unwrap().indices().unwrap();
            // The numbers are larger than the primes, and the residues of terms are computed.
            let mut expected = Vec::new();
            for (terms, prime) in
                terms.iter().flat_map(|terms| sieved.iter().map(move |&prime| (terms, prime)))
            {
                let residue = |number: &BigInt| number.mod_floor(&prime.into()).to_u64().unwrap();
                let (mut rest, step) = (residue(&terms.first), residue(&terms.step));
                for index in 0..len as usize {
                    if rest == 0 {
                        expected.push(index);
                    }
                    rest = (rest + step) % prime;
                }
            }
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(struck, expected, "{device}");
            assert!(struck.contains(&7) && struck.contains(&540_007), "{struck:?}");
            assert_eq!(common, [None; 3]);
        }
    }
}
