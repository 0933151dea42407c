//! Trial division by small primes.
//!
//! A device with the kernel for it divides each row by products of primes, until one divides it
//! (`kernels/sieve/rows.cuh`). Elsewhere, and on verified devices, rows are divided by products of
//! primes that fit a digit, in one pass over the rows for each product
//! (`kernels/linear/div_rem_digit.cuh`). The remainders are divided by the primes on the host. Rows
//! with a factor leave the batch when they are more than half of it.

use std::ops::Range;

use gpuint_catalogue::Shape;
use rayon::prelude::*;

use super::{faces, picked};
use crate::backend::host::{collected, zeroed_vec};
use crate::backend::sieve::{Divisions, PrimeProducts};
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::ops::View;
use crate::sieve::Field;
use crate::threads;

/// Bits of the largest limit: beyond, a probable prime test takes less time.
const LIMIT_BITS: usize = 20;

/// Returns the primes up to a limit, by the sieve of Eratosthenes.
pub(super) fn primes_up_to(limit: usize) -> Result<Vec<u32>> {
    let mut is_composite: Vec<bool> = zeroed_vec(limit + 1)?;
    for p in (2..=limit).take_while(|p| p * p <= limit) {
        if !is_composite[p] {
            (p * p..=limit).step_by(p).for_each(|multiple| is_composite[multiple] = true);
        }
    }
    collected((2..=limit).filter(|&p| !is_composite[p]).map(|p| p as u32))
}

/// Products of consecutive primes that fit a digit, and the places of the primes in a list.
#[derive(Debug)]
pub(super) struct Products {
    pub(super) primes: Vec<u32>,
    groups: Vec<(u64, Range<usize>)>,
}

impl Products {
    /// Groups primes for digits of `bits` bits, which hold each of them.
    pub(super) fn new(primes: Vec<u32>, bits: usize) -> Self {
        let most = u64::MAX >> (u64::BITS as usize - bits);
        let mut groups: Vec<(u64, Range<usize>)> = Vec::new();
        for (place, &prime) in primes.iter().enumerate() {
            let product = |group: &(u64, Range<usize>)| group.0.checked_mul(prime.into());
            let last = groups.last_mut();
            let grown = last.and_then(|last| product(last).map(|product| (last, product)));
            match grown.filter(|grown| grown.1 <= most) {
                Some((last, product)) => *last = (product, last.1.start..place + 1),
                None => groups.push((prime.into(), place..place + 1)),
            }
        }
        Self { primes, groups }
    }

    /// Returns the remainders of rows by each product.
    pub(super) fn remainders(&self, rows: View<'_>) -> Result<Vec<Vec<u64>>> {
        self.groups.iter().map(|group| rows.batch.rem_digit(group.0)).collect()
    }

    /// Calls `visit` with each prime and the remainder of a number by it. The remainders by the
    /// products are those of the number.
    pub(super) fn each(&self, remainders: &[u64], mut visit: impl FnMut(u32, u32)) {
        for ((_, places), &remainder) in self.groups.iter().zip(remainders) {
            for &prime in &self.primes[places.clone()] {
                visit(prime, (remainder % u64::from(prime)) as u32);
            }
        }
    }
}

/// Products below 2^32 of consecutive odd primes, with a factor for each prime, for kernels.
#[derive(Debug)]
pub(super) struct KernelProducts {
    moduli: Vec<u32>,
    ends: Vec<u32>,
    primes: Vec<u32>,
    factors: Vec<u32>,
}

impl KernelProducts {
    /// Groups the odd primes up to a limit of at least 2. The factors are powers of the base modulo
    /// each prime.
    pub(super) fn new(limit: usize, base: impl Fn(u32) -> u64, exponent: usize) -> Result<Self> {
        let mut primes = primes_up_to(limit)?;
        primes.remove(0);
        let Products { primes, groups } = Products::new(primes, u32::BITS as usize);
        let factor = |&prime: &u32| {
            let field = Field::new(prime.into());
            // Primes have 32 bits.
            field.value(field.pow(field.from(base(prime)), exponent as u64)) as u32
        };
        Ok(Self {
            moduli: groups.iter().map(|group| group.0 as u32).collect(),
            ends: groups.iter().map(|group| group.1.end as u32).collect(),
            factors: primes.iter().map(factor).collect(),
            primes,
        })
    }

    pub(super) fn lists(&self) -> PrimeProducts<'_> {
        let Self { moduli, ends, primes, factors } = self;
        PrimeProducts { moduli, ends, primes, factors }
    }
}

/// Returns the limit of trial division by a kernel that takes the least time with the tests after
/// it, for numbers of `bits` bits. A joint division also divides 2 n + 1.
///
/// Division by a prime p saves tests of a share 1/p of the numbers, or 2/p. A test of n limbs takes
/// about 45 n^3 instructions, a division by a product of two primes 6 n: both times are equal for
/// p = 15 n^2, or 30 n^2.
pub(super) fn trial_limit(shape: Shape, bits: usize, is_joint: bool) -> usize {
    /// Limit of the least numbers.
    const MIN: usize = 1000;
    let limbs = bits.div_ceil(u32::BITS as usize);
    let limit = limbs.saturating_mul(limbs).saturating_mul(if is_joint { 30 } else { 15 });
    limit.clamp(MIN, (1 << LIMIT_BITS.min(shape.digit.bits())) - 1)
}

impl View<'_> {
    pub(crate) fn has_small_factor(&self, limit: usize) -> Result<Mask> {
        let digit_bits = self.shape().digit.bits();
        let (bits, width) = ((usize::BITS - limit.leading_zeros()).into(), LIMIT_BITS);
        let width = width.min(digit_bits);
        if bits > width as u64 {
            return Err(Error::TooWide { row: 0, bits, width });
        }
        match self.divided_by_primes(limit, false)? {
            Some(mask) => Ok(mask),
            None => self.divided_by_digits(primes_up_to(limit)?),
        }
    }

    /// Returns a mask of the rows n for which n or 2 n + 1 has a small factor. The rows are below
    /// half of 2^BITS.
    pub(super) fn has_joint_small_factor(&self, limit: usize) -> Result<Mask> {
        if let Some(mask) = self.divided_by_primes(limit, true)? {
            return Ok(mask);
        }
        let double = self.shl(1)?.view().with_bit(0)?;
        self.has_small_factor(limit)?.or(&double.has_small_factor(limit)?)
    }

    /// Finds rows with factors by a kernel; `None` where there is none. A joint search also divides
    /// 2 n + 1.
    fn divided_by_primes(&self, limit: usize, is_joint: bool) -> Result<Option<Mask>> {
        if !self.device().has_sieves() {
            return Ok(None);
        }
        let mut mask = Mask::none(self.device(), self.len())?;
        if limit < 2 || self.len() == 0 {
            return Ok(Some(mask));
        }
        let bits = self.shape().bits;
        // The inverse of 2.
        let half = |prime: u32| u64::from(prime).div_ceil(2);
        let products = KernelProducts::new(limit, half, bits)?;
        self.device().memory().divide_by_primes(Divisions {
            rows: self.batch.buffer(),
            count: self.len(),
            limbs: bits / u32::BITS as usize,
            products: products.lists(),
            is_joint,
            mask: mask.buffer_mut(),
        })?;
        Ok(Some(mask))
    }

    /// Finds rows with factors by remainders by digits.
    fn divided_by_digits(&self, primes: Vec<u32>) -> Result<Mask> {
        let products = Products::new(primes, self.shape().digit.bits());
        let mut has_factor: Vec<bool> = zeroed_vec(self.len())?;
        // A small row may be one of the primes.
        let lengths = self.bit_lengths()?;
        let is_short = |row: usize| lengths[row] <= LIMIT_BITS as u64;
        let any_short = (0..self.len()).any(is_short);
        let words = if any_short { self.low_words()? } else { Vec::new() };
        let own = |row: usize| if is_short(row) { words[row] } else { 0 };

        let mut left: Vec<usize> = collected(0..self.len())?;
        let mut gathered = None;
        let mut undecided = self.len();
        for (product, places) in &products.groups {
            let primes = &products.primes[places.clone()];
            let rows = gathered.as_ref().unwrap_or(self.batch);
            let remainders = rows.rem_digit(*product)?;
            let divides = |(&row, &remainder): (&usize, &u64)| {
                let is_factor = |&&p: &&u32| remainder.is_multiple_of(p.into());
                primes.iter().filter(is_factor).any(|&p| own(row) != u64::from(p))
            };
            let mut found = Vec::new();
            threads::install(|| {
                left.par_iter().zip(&remainders).map(divides).collect_into_vec(&mut found);
            });
            for (&row, found) in left.iter().zip(found) {
                undecided -= usize::from(found && !has_factor[row]);
                has_factor[row] |= found;
            }
            if 2 * undecided < left.len() {
                let places: Vec<usize> =
                    collected((0..left.len()).filter(|&place| !has_factor[left[place]]))?;
                gathered = Some(rows.gather(&places)?);
                left = picked(&left, &places)?;
            }
        }
        Mask::from_bools(self.device(), &has_factor)
    }
}

faces! {
    "Trial division";

    /// Returns a mask of the rows that have a prime factor up to `limit`, other than the row
    /// itself; 0 has, and 1 has not.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let rows = [7u32, 49, 121, 0].map(BigUint::from);
    /// let n = Batch::<GpuUint<1024>>::from_biguints(&device, &rows)?;
    /// assert_eq!(n.has_small_factor(10)?.to_bools()?, [false, true, false, true]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) (row 0) if the limit has more than 20 bits or does not
    /// fit a digit of the shape, and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    fn has_small_factor(limit: Count) -> NewMask;
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::device::Device;
    use crate::dyn_batch::DynBatch;
    use crate::shape::narrowest;

    #[test]
    fn joint_factors_agree_with_divisions() {
        const LIMIT: usize = 1200;
        let mut devices = vec![Device::cpu()];
        #[cfg(feature = "simt")]
        devices.push(Device::simt());
        let mut numbers: Vec<BigUint> = (0..3000u32).map(BigUint::from).collect();
        // 2^32 + p and 2^32 + (p - 1) / 2 are no primes of the sieve.
        numbers.extend([7u64, 3, 11, 601].map(|low| BigUint::from((1 << 32) + low)));
        numbers.extend((0..300u32).map(|i| (BigUint::from(1u32) << 250) + 31 * i));
        let primes = primes_up_to(LIMIT).unwrap();
        let has_factor =
            |n: &BigUint| primes.iter().any(|&p| (n % p).bits() == 0 && *n != BigUint::from(p));
        for device in devices {
            let rows = DynBatch::from_biguints(&device, narrowest(256).unwrap(), &numbers).unwrap();
            let found = rows.view().has_joint_small_factor(LIMIT).unwrap().to_bools().unwrap();
            for (n, found) in numbers.iter().zip(found) {
                let expected = has_factor(n) || has_factor(&(n * 2u32 + 1u32));
                assert_eq!(found, expected, "{device}: {n}");
            }
        }
    }
}
