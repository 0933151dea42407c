//! Strikes of sieves by the kernels of `kernels/sieve`, for the cuda and simt backends.
#![allow(unsafe_code)]

use bytemuck::{Pod, Zeroable};

use crate::backend::Buffer;
use crate::backend::long::{Grids, kernel, launch};
use crate::error::Result;

/// Most indices of a launch.
pub(crate) const MOST_BITS: u32 = 1 << 31;
/// Most primes of a launch: their roots have 64 MiB a family.
pub(crate) const MOST_PRIMES: usize = 1 << 24;

/// `SievePolicy::WARP_LIMIT` of `kernels/tuning/sieve.cuh`.
const WARP_LIMIT: u32 = 1 << 12;

/// `Family` of `kernels/sieve/family.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct RawFamily {
    pub(crate) small_value: i64,
    pub(crate) step: i64,
    pub(crate) small_first: u32,
    pub(crate) small_count: u32,
    pub(crate) is_opposite: u32,
    pub(crate) padding: u32,
}

/// `Sieving` of `kernels/sieve/family.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Sieving {
    primes: u64,
    roots: u64,
    limbs: u64,
    families: u64,
    common: u64,
    words: u64,
    primes_count: u32,
    families_count: u32,
    length: u32,
    bits: u32,
    tiny: u32,
    of_warps: u32,
    of_segments: u32,
    padding: u32,
}

/// Indices that primes strike.
#[derive(Debug)]
pub(crate) struct Strikes<'a> {
    /// Odd primes in ascending order, at most [`MOST_PRIMES`].
    pub(crate) primes: &'a [u32],
    pub(crate) families: &'a [RawFamily],
    /// Of each family, the absolute values of the first number and of the step, `length` limbs each.
    pub(crate) limbs: &'a [u32],
    pub(crate) length: usize,
    /// One bit for each index; those of the launch are `bits` bits from word `first_word` on.
    pub(crate) words: &'a mut Buffer,
    pub(crate) first_word: u64,
    /// At most [`MOST_BITS`].
    pub(crate) bits: u32,
    /// One 32-bit word for each family: the least prime that divides all its numbers.
    pub(crate) common: &'a mut Buffer,
}

impl Strikes<'_> {
    /// Returns true if the buffers and slices have the lengths that the kernels rely on.
    fn is_whole(&self) -> bool {
        let words = self.first_word + u64::from(self.bits.div_ceil(u32::BITS));
        let families = self.families.len();
        self.primes.len() <= MOST_PRIMES
            && self.bits <= MOST_BITS
            && self.limbs.len() == 2 * self.length * families
            && 4 * words <= self.words.bytes()
            && 4 * families as u64 <= self.common.bytes()
    }
}

/// Queues strikes; `addresses` are those of the words and of the common primes.
///
/// # Errors
/// [`OutOfMemory`](crate::Error::OutOfMemory) before a bit is struck.
///
/// # Safety
/// The addresses are those of the buffers of `strikes`, for work that is queued next.
pub(crate) unsafe fn run<G: Grids>(
    grids: &G,
    strikes: &Strikes<'_>,
    [words, common]: [u64; 2],
) -> Result<()> {
    let Strikes { primes, families, limbs, length, first_word, bits, .. } = *strikes;
    if !strikes.is_whole() {
        let reason = "the operands of a sieve do not fit each other";
        return Err(crate::Error::Driver(reason.to_owned()));
    }
    if primes.is_empty() || families.is_empty() || bits == 0 {
        return Ok(());
    }
    let [roots_kernel, segments, large] =
        ["sieve_roots", "sieve_segments", "sieve_large"].map(kernel);
    let (roots_kernel, segments, large) = (roots_kernel?, segments?, large?);
    let segment = grids.facts(segments)?.rows_per_block;
    let below = |limit: u32| primes.partition_point(|&prime| prime < limit) as u32;

    let mut list = grids.allocate_copy(bytemuck::cast_slice(primes))?;
    let mut numbers = grids.allocate_copy(bytemuck::cast_slice(limbs))?;
    let mut table = grids.allocate_copy(bytemuck::cast_slice(families))?;
    let mut roots = grids.allocate(4 * (primes.len() * families.len()) as u64)?;
    let sieving = Sieving {
        primes: grids.address(&mut list)?,
        roots: grids.address(&mut roots)?,
        limbs: grids.address(&mut numbers)?,
        families: grids.address(&mut table)?,
        common,
        words: words + 4 * first_word,
        primes_count: primes.len() as u32,
        families_count: families.len() as u32,
        length: length as u32,
        bits,
        tiny: below(u32::BITS),
        of_warps: below(WARP_LIMIT),
        of_segments: below(segment),
        padding: 0,
    };
    let large_primes = sieving.primes_count - sieving.of_segments;
    let segment_bits = if sieving.of_segments > 0 { bits } else { 0 };
    for (kernel, work) in
        [(roots_kernel, sieving.primes_count), (segments, segment_bits), (large, large_primes)]
    {
        if work > 0 {
            // SAFETY: `is_whole` checked the lengths; the roots have a word for each prime and
            // family; the addresses of words and common primes are the caller's.
            unsafe { launch(grids, kernel, &sieving, work.into()) }?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_have_the_sizes_of_their_twins() {
        assert_eq!(size_of::<RawFamily>(), 32);
        assert_eq!(size_of::<Sieving>(), 80);
    }
}
