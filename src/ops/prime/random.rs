//! Random primes, from the randomness of the operating system.
//!
//! Candidates are uniform among the numbers of the length that have no factor among the first
//! primes: `M y + r` for the product `M` of these primes, a random `y` and a random unit `r` modulo
//! `M`. For safe primes `p = 2 q + 1` both `r` and `2 r + 1` are units. Candidates with small
//! factors leave, and the others are tested, all at once. So each prime of the length is as likely
//! as any other one.

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use rayon::prelude::*;

use super::factors::{primes_up_to, trial_limit};
use crate::backend::host::{check_room, collected};
use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::shape::Kernels;
use crate::threads;

/// Primes up to this length are drawn from a list.
const LISTED_BITS: usize = 16;
/// Largest prime factor of `M`: it has 60 bits.
const WHEEL: usize = 47;
/// Limit of trial division without a kernel for it.
const TRIED: usize = 2000;
/// Candidates of a round, at most.
const ROUND: usize = 1 << 18;
/// Candidates that a thread draws at a time.
const DRAWN: usize = 256;

/// Kind of primes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Any,
    Safe,
}

/// Random bytes, taken from the operating system in blocks.
#[derive(Debug)]
struct Source {
    block: Vec<u8>,
    used: usize,
}

impl Source {
    fn new() -> Self {
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
    fn below(&mut self, bound: u64) -> Result<u64> {
        let mask = u64::MAX >> ((bound - 1) | 1).leading_zeros();
        loop {
            let mut bytes = [0; size_of::<u64>()];
            self.fill(&mut bytes)?;
            let number = u64::from_le_bytes(bytes) & mask;
            if number < bound {
                return Ok(number);
            }
        }
    }

    /// Returns a number of at most `bits` bits.
    fn number(&mut self, bits: usize) -> Result<BigUint> {
        let mut bytes = vec![0; bits.div_ceil(8)];
        self.fill(&mut bytes)?;
        if let (Some(top), 1..) = (bytes.last_mut(), bits % 8) {
            *top &= (1 << (bits % 8)) - 1;
        }
        Ok(BigUint::from_bytes_le(&bytes))
    }
}

/// Candidates of one length.
#[derive(Debug)]
struct Wheel {
    bits: usize,
    kind: Kind,
    primes: Vec<u32>,
    /// Their product, at most half as long as the candidates.
    modulus: u64,
}

impl Wheel {
    fn new(bits: usize, kind: Kind) -> Result<Self> {
        let (mut primes, mut modulus) = (Vec::new(), 1u64);
        for p in primes_up_to(WHEEL)? {
            let next = modulus * u64::from(p);
            if (u64::BITS - next.leading_zeros()) as usize > bits / 2 {
                break;
            }
            primes.push(p);
            modulus = next;
        }
        Ok(Self { bits, kind, primes, modulus })
    }

    fn is_unit(&self, r: u64) -> bool {
        let has_no_factor = |&p: &u32| {
            let remainder = r % u64::from(p);
            remainder != 0
                && (self.kind == Kind::Any || !(2 * remainder + 1).is_multiple_of(p.into()))
        };
        self.primes.iter().all(has_no_factor)
    }

    fn draw(&self, source: &mut Source) -> Result<BigUint> {
        let bits = self.bits + 1 - (u64::BITS - self.modulus.leading_zeros()) as usize;
        loop {
            let r = source.below(self.modulus)?;
            if !self.is_unit(r) {
                continue;
            }
            // All lengths of y that give the length are possible.
            let number = source.number(bits)? * self.modulus + r;
            if number.bits() == self.bits as u64 {
                return Ok(number);
            }
        }
    }

    fn draw_all(&self, count: usize) -> Result<Vec<BigUint>> {
        let tasks = (0..count.div_ceil(DRAWN)).into_par_iter().map(|task| {
            let mut source = Source::new();
            let count = DRAWN.min(count - task * DRAWN);
            (0..count).map(|_| self.draw(&mut source)).collect::<Result<Vec<_>>>()
        });
        let parts: Vec<_> = threads::install(|| tasks.collect::<Result<_>>())?;
        collected(parts.into_iter().flatten())
    }
}

/// Draws from the list of all short primes of a length.
fn listed(rows: usize, bits: usize, kind: Kind) -> Result<Vec<BigUint>> {
    let all = primes_up_to((1 << bits) - 1)?;
    let is_prime = |n: u32| all.binary_search(&n).is_ok();
    let is_asked = |p: u32| p >> (bits - 1) == 1 && (kind == Kind::Any || is_prime((p - 1) / 2));
    let primes: Vec<u32> = all.iter().copied().filter(|&p| is_asked(p)).collect();
    if primes.is_empty() {
        return Err(Error::NoPrime { bits });
    }
    let mut source = Source::new();
    let draw = |_| Ok(BigUint::from(primes[source.below(primes.len() as u64)? as usize]));
    (0..rows).map(draw).collect()
}

/// Returns the primes among candidates.
fn primes_of(candidates: &DynBatch, limit: usize) -> Result<DynBatch> {
    let left = candidates.filter(&candidates.has_small_factor(limit)?.not()?)?;
    left.filter(&left.is_probable_prime()?)
}

/// Returns the safe primes `2 q + 1` among candidates `q`.
fn safe_primes_of(candidates: &DynBatch, limit: usize) -> Result<DynBatch> {
    let double = |q: &DynBatch| q.shl(1)?.with_bit(0);
    let q = candidates.filter(&candidates.view().has_joint_small_factor(limit)?.not()?)?;
    let q = q.filter(&q.is_strong_probable_prime(2)?)?;
    let q = q.filter(&double(&q)?.is_probable_prime()?)?;
    double(&q.filter(&q.is_strong_lucas_probable_prime()?)?)
}

fn random(device: &Device, shape: Shape, rows: usize, bits: usize, kind: Kind) -> Result<DynBatch> {
    device.check_shape(shape)?;
    if bits > shape.bits {
        return Err(Error::TooWide { row: 0, bits: bits as u64, width: shape.bits });
    }
    if bits < 2 {
        return Err(Error::NoPrime { bits });
    }
    let mut primes = DynBatch::alloc(device, shape, rows)?;
    if bits <= LISTED_BITS {
        check_room(rows, size_of::<BigUint>() + shape.bytes())?;
        return DynBatch::from_biguints(device, shape, listed(rows, bits, kind)?);
    }
    let (length, share) = match kind {
        Kind::Any => (bits, bits / 10),
        Kind::Safe => (bits - 1, (bits / 10).saturating_mul(bits / 10)),
    };
    let wheel = Wheel::new(length, kind)?;
    let limit = match device.has_sieves() {
        true => trial_limit(shape, length, kind == Kind::Safe),
        false => TRIED,
    };
    let mut count = 0;
    while count < rows {
        let missing = rows - count;
        let drawn = missing.saturating_mul(share + 1).min(ROUND);
        let candidates = DynBatch::from_biguints(device, shape, wheel.draw_all(drawn)?)?;
        let found = match kind {
            Kind::Any => primes_of(&candidates, limit)?,
            Kind::Safe => safe_primes_of(&candidates, limit)?,
        };
        let new = found.len().min(missing);
        found.view().copy_rows(0..new, &mut primes, count)?;
        count += new;
    }
    Ok(primes)
}

/// # Random primes
impl DynBatch {
    /// Makes a batch of `rows` probable primes of exactly `bits` bits
    /// ([`is_probable_prime`](Self::is_probable_prime)), each drawn evenly from all of them by the
    /// randomness of the operating system. Do not use them as secrets: see the crate's page.
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) (row 0) if `bits` exceeds the width,
    /// [`NoPrime`](Error::NoPrime) for fewer than 2 bits, and what any operation may return.
    pub fn random_primes(device: &Device, shape: Shape, rows: usize, bits: usize) -> Result<Self> {
        random(device, shape, rows, bits, Kind::Any)
    }

    /// Makes a batch of `rows` safe primes of exactly `bits` bits: probable primes `p` for which
    /// `(p - 1) / 2` is one, too; otherwise as [`random_primes`](Self::random_primes).
    ///
    /// # Errors
    /// As [`random_primes`](Self::random_primes); [`NoPrime`](Error::NoPrime) for fewer than 3
    /// bits.
    pub fn random_safe_primes(
        device: &Device,
        shape: Shape,
        rows: usize,
        bits: usize,
    ) -> Result<Self> {
        random(device, shape, rows, bits, Kind::Safe)
    }
}

/// # Random primes
impl<T: Kernels> Batch<T> {
    /// Makes a batch of `rows` probable primes of exactly `bits` bits
    /// ([`is_probable_prime`](Self::is_probable_prime)), each drawn evenly from all of them by the
    /// randomness of the operating system. Do not use them as secrets: see the crate's page.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    ///
    /// let primes = Batch::<GpuUint<256>>::random_primes(&Device::cpu(), 3, 100)?;
    /// assert_eq!(primes.bit_lengths()?, [100; 3]);
    /// assert_eq!(primes.is_probable_prime()?.count()?, 3);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) (row 0) if `bits` exceeds the width,
    /// [`NoPrime`](Error::NoPrime) for fewer than 2 bits, and what any operation may return.
    pub fn random_primes(device: &Device, rows: usize, bits: usize) -> Result<Self> {
        DynBatch::random_primes(&device.of::<T>(), T::SHAPE, rows, bits).map(Self::typed)
    }

    /// Makes a batch of `rows` safe primes of exactly `bits` bits: probable primes `p` for which
    /// `(p - 1) / 2` is one, too; otherwise as [`random_primes`](Self::random_primes).
    ///
    /// # Errors
    /// As [`random_primes`](Self::random_primes); [`NoPrime`](Error::NoPrime) for fewer than 3
    /// bits.
    pub fn random_safe_primes(device: &Device, rows: usize, bits: usize) -> Result<Self> {
        DynBatch::random_safe_primes(&device.of::<T>(), T::SHAPE, rows, bits).map(Self::typed)
    }
}
