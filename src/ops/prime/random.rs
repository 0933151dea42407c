//! Random primes, from the randomness of the operating system.
//!
//! Candidates are drawn evenly from the numbers of the length without a factor among the first
//! primes (`wheel.rs`). Candidates with small factors leave, and the others are tested, all at
//! once. So each prime of the length is as likely as any other one. For safe primes `p = 2 q + 1`,
//! `q` is drawn.

use gpuint_catalogue::Shape;
use num_bigint::BigUint;

use super::factors::{primes_up_to, trial_limit};
use super::wheel::{Kind, Source, Wheel};
use crate::backend::host::{check_room, collected};
use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::shape::Kernels;

/// Primes up to this length are drawn from a list.
const LISTED_BITS: usize = 16;
/// Limit of trial division without a kernel for it.
const TRIED: usize = 2000;
/// Candidates of a round, at most.
const ROUND: usize = 1 << 20;
/// Bytes of the candidates of a round, at most.
const ROUND_BYTES: usize = 1 << 28;

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

/// Returns the safe primes `2 q + 1` among candidates `q`: both pass the test of `primes_of`, the
/// first tests of both before the second ones.
fn safe_primes_of(candidates: &DynBatch, limit: usize) -> Result<DynBatch> {
    let q = candidates.filter(&candidates.view().has_joint_small_factor(limit)?.not()?)?;
    let q = q.filter(&q.is_strong_probable_prime(2)?)?;
    let p = q.shl(1)?.with_bit(0)?;
    let pass = p.is_strong_probable_prime(2)?;
    let (q, p) = (q.filter(&pass)?, p.filter(&pass)?);
    // As long as for one of them: few rows do not fill a GPU.
    let pass = DynBatch::concat(&[&q, &p])?.is_strong_lucas_probable_prime()?.to_bools()?;
    let (of_q, of_p) = pass.split_at(q.len());
    let both: Vec<bool> = collected(of_q.iter().zip(of_p).map(|(q, p)| *q && *p))?;
    p.filter(&Mask::from_bools(p.device(), &both)?)
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
    let length = if kind == Kind::Safe { bits - 1 } else { bits };
    let wheel = Wheel::new(length, kind)?;
    let limit = match device.has_sieves() {
        true => trial_limit(shape, length, kind == Kind::Safe),
        false => TRIED,
    };
    let round = ROUND.min(ROUND_BYTES / shape.bytes()).max(1);
    let mut count = 0;
    while count < rows {
        let missing = rows - count;
        // A few more, so that one round mostly has them all.
        let hoped = missing.saturating_add(missing / 8 + 1);
        let drawn = hoped.saturating_mul(wheel.candidates_per_prime()).min(round);
        let candidates = wheel.draw(device, shape, drawn)?;
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
