//! Strikes of sieves, divisions of rows by small primes and windows above rows, by the kernels of
//! `kernels/sieve`, for the cuda and simt backends.
#![allow(unsafe_code)]

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::backend::Buffer;
use crate::backend::launch::parts;
use crate::backend::long::{Grids, kernel, launch};
use crate::error::{Error, Result};
use crate::kernel::LongKernelId;

/// Most indices of a launch.
pub(crate) const MAX_BITS: u32 = 1 << 31;
/// Most primes of a launch: their roots have 64 MiB a family.
pub(crate) const MAX_PRIMES: usize = 1 << 24;

/// `SievePolicy::WINDOW_BITS` of `kernels/tuning/sieve.cuh`.
pub(crate) const WINDOW_BITS: usize = 512;
/// Most blocks of a launch over rows: a multiple of 32, so that parts begin at words of a mask.
const MAX_BLOCKS: usize = i32::MAX as usize / 32 * 32;

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

/// `RowSieving` of `kernels/sieve/rows.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct RowSieving {
    rows: u64,
    moduli: u64,
    ends: u64,
    primes: u64,
    scales: u64,
    mask: u64,
    count: u64,
    limbs: u32,
    moduli_count: u32,
    is_joint: u32,
    padding: u32,
}

/// `WindowSieving` of `kernels/sieve/windows.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct WindowSieving {
    rows: u64,
    moduli: u64,
    ends: u64,
    primes: u64,
    powers: u64,
    starts: u64,
    words: u64,
    count: u64,
    limbs: u32,
    moduli_count: u32,
}

/// Indices that primes strike.
#[derive(Debug)]
pub(crate) struct Strikes<'a> {
    /// Odd primes in ascending order, at most [`MAX_PRIMES`].
    pub(crate) primes: &'a [u32],
    pub(crate) families: &'a [RawFamily],
    /// Of each family, the absolute values of first number and step, `length` limbs each.
    pub(crate) limbs: &'a [u32],
    pub(crate) length: usize,
    /// One bit for each index; those of the launch are `bits` bits from word `first_word` on.
    pub(crate) words: &'a mut Buffer,
    pub(crate) first_word: u64,
    /// At most [`MAX_BITS`].
    pub(crate) bits: u32,
    /// One 32-bit word for each family: the least prime that divides all its numbers.
    pub(crate) common: &'a mut Buffer,
}

impl Strikes<'_> {
    /// Returns true if the buffers and slices have the lengths that the kernels rely on.
    fn is_whole(&self) -> bool {
        let words = self.first_word + u64::from(self.bits.div_ceil(u32::BITS));
        let families = self.families.len();
        self.primes.len() <= MAX_PRIMES
            && self.bits <= MAX_BITS
            && self.limbs.len() == 2 * self.length * families
            && 4 * words <= self.words.bytes()
            && 4 * families as u64 <= self.common.bytes()
    }
}

/// Queues strikes; `addresses` are those of the words and of the common primes.
///
/// # Errors
/// [`OutOfMemory`](Error::OutOfMemory) before a bit is struck.
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
        return Err(operands_differ());
    }
    if primes.is_empty() || families.is_empty() || bits == 0 {
        return Ok(());
    }
    let [roots_kernel, segments, large] =
        ["sieve_roots", "sieve_segments", "sieve_large"].map(kernel);
    let (roots_kernel, segments, large) = (roots_kernel?, segments?, large?);
    let segment = grids.launch_bounds(segments)?.rows_per_block;
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

/// Products below 2^32 of consecutive odd primes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PrimeProducts<'a> {
    pub(crate) moduli: &'a [u32],
    /// For each product the end of its primes.
    pub(crate) ends: &'a [u32],
    pub(crate) primes: &'a [u32],
    /// A factor for each prime.
    pub(crate) factors: &'a [u32],
}

impl PrimeProducts<'_> {
    fn is_whole(&self) -> bool {
        self.moduli.len() == self.ends.len()
            && self.primes.len() == self.factors.len()
            && self.ends.iter().all(|&end| end as usize <= self.primes.len())
    }

    /// Copies moduli, ends, primes and factors to the device; returns them with their addresses.
    fn copy_to<G: Grids>(&self, grids: &G) -> Result<(Vec<G::Memory>, [u64; 4])> {
        let mut memory = Vec::with_capacity(4);
        let mut addresses = [0; 4];
        let lists = [self.moduli, self.ends, self.primes, self.factors];
        for (address, list) in addresses.iter_mut().zip(lists) {
            let mut copy = grids.allocate_copy(bytemuck::cast_slice(list))?;
            *address = grids.address(&mut copy)?;
            memory.push(copy);
        }
        Ok((memory, addresses))
    }
}

/// Returns the kernel of a name, and the parts of `count` rows that a launch of it takes.
fn kernel_of_rows<G: Grids>(
    grids: &G,
    name: &str,
    count: usize,
) -> Result<(LongKernelId, impl Iterator<Item = Range<usize>> + use<G>)> {
    let kernel = kernel(name)?;
    let rows_of_block = grids.launch_bounds(kernel)?.rows_per_block as usize;
    Ok((kernel, parts(count, rows_of_block * MAX_BLOCKS)))
}

/// Rows that are divided by primes.
#[derive(Debug)]
pub(crate) struct Divisions<'a> {
    pub(crate) rows: &'a Buffer,
    pub(crate) count: usize,
    /// 32-bit limbs of a row.
    pub(crate) limbs: usize,
    /// The factors are 2^(-32 `limbs`) modulo each prime.
    pub(crate) products: PrimeProducts<'a>,
    /// Also divides 2 n + 1.
    pub(crate) is_joint: bool,
    /// One bit a row, zeroed by the caller: set for rows with a factor that is not the number.
    pub(crate) mask: &'a mut Buffer,
}

impl Divisions<'_> {
    /// Returns true if the buffers and slices have the lengths that the kernel relies on.
    fn is_whole(&self) -> bool {
        let bytes = (self.count as u64).checked_mul(4 * self.limbs as u64);
        bytes.is_some_and(|bytes| bytes <= self.rows.bytes())
            && 4 * self.count.div_ceil(32) as u64 <= self.mask.bytes()
            && self.products.is_whole()
            && self.limbs > 0
    }
}

/// Queues divisions; `addresses` are those of the rows and of the mask.
///
/// # Errors
/// [`OutOfMemory`](Error::OutOfMemory) before a row is divided.
///
/// # Safety
/// The addresses are those of the buffers of `divisions`, for work that is queued next.
pub(crate) unsafe fn divide<G: Grids>(
    grids: &G,
    divisions: &Divisions<'_>,
    [rows, mask]: [u64; 2],
) -> Result<()> {
    let Divisions { count, limbs, products, is_joint, .. } = *divisions;
    if !divisions.is_whole() {
        return Err(operands_differ());
    }
    if count == 0 {
        return Ok(());
    }
    let (kernel, parts) = kernel_of_rows(grids, "sieve_rows", count)?;
    let (_lists, [moduli, ends, primes, factors]) = products.copy_to(grids)?;
    for part in parts {
        let sieving = RowSieving {
            rows: rows + (part.start * 4 * limbs) as u64,
            moduli,
            ends,
            primes,
            scales: factors,
            mask: mask + (part.start / 8) as u64,
            count: part.len() as u64,
            limbs: limbs as u32,
            moduli_count: products.moduli.len() as u32,
            is_joint: is_joint.into(),
            padding: 0,
        };
        // SAFETY: `is_whole` checked the lengths; the addresses of rows and mask are the caller's.
        unsafe { launch(grids, kernel, &sieving, part.len() as u64) }?;
    }
    Ok(())
}

/// Windows above rows.
#[derive(Debug)]
pub(crate) struct Windows<'a> {
    pub(crate) rows: &'a Buffer,
    pub(crate) count: usize,
    /// 32-bit limbs of a row.
    pub(crate) limbs: usize,
    /// The primes are below 2^16; the factors are 2^(32 `limbs`) modulo each prime.
    pub(crate) products: PrimeProducts<'a>,
    /// Distance of the first number of each row, which exceeds the primes.
    pub(crate) starts: &'a [u64],
    /// [`WINDOW_BITS`] bits a row: set for numbers n + start + 2 i with a factor.
    pub(crate) words: &'a mut Buffer,
}

impl Windows<'_> {
    /// Returns true if the buffers and slices have the lengths that the kernel relies on.
    fn is_whole(&self) -> bool {
        let bytes = (self.count as u64).checked_mul(4 * self.limbs as u64);
        bytes.is_some_and(|bytes| bytes <= self.rows.bytes())
            && (self.count * WINDOW_BITS / 8) as u64 <= self.words.bytes()
            && self.starts.len() == self.count
            && self.products.is_whole()
            && self.products.primes.iter().all(|&prime| prime < 1 << 16)
            && self.limbs > 0
    }
}

/// Queues sieves of windows; `addresses` are those of the rows and of the words.
///
/// # Errors
/// [`OutOfMemory`](Error::OutOfMemory) before a window is sieved.
///
/// # Safety
/// The addresses are those of the buffers of `windows`, for work that is queued next.
pub(crate) unsafe fn search<G: Grids>(
    grids: &G,
    windows: &Windows<'_>,
    [rows, words]: [u64; 2],
) -> Result<()> {
    let Windows { count, limbs, products, starts, .. } = *windows;
    if !windows.is_whole() {
        return Err(operands_differ());
    }
    if count == 0 {
        return Ok(());
    }
    let (kernel, parts) = kernel_of_rows(grids, "sieve_windows", count)?;
    let (_lists, [moduli, ends, primes, factors]) = products.copy_to(grids)?;
    let mut list = grids.allocate_copy(bytemuck::cast_slice(starts))?;
    let starts = grids.address(&mut list)?;
    for part in parts {
        let first = part.start as u64;
        let sieving = WindowSieving {
            rows: rows + first * 4 * limbs as u64,
            moduli,
            ends,
            primes,
            powers: factors,
            starts: starts + first * size_of::<u64>() as u64,
            words: words + first * (WINDOW_BITS / 8) as u64,
            count: part.len() as u64,
            limbs: limbs as u32,
            moduli_count: products.moduli.len() as u32,
        };
        // SAFETY: `is_whole` checked the lengths; the addresses of rows and words are the caller's.
        unsafe { launch(grids, kernel, &sieving, part.len() as u64) }?;
    }
    Ok(())
}

/// Error of a device without these kernels.
pub(crate) fn missing() -> Error {
    Error::Driver("the device has no kernels of sieves".to_owned())
}

fn operands_differ() -> Error {
    Error::Driver("the operands of a sieve do not fit each other".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_have_the_sizes_of_their_twins() {
        assert_eq!(size_of::<RawFamily>(), 32);
        assert_eq!(size_of::<Sieving>(), 80);
        assert_eq!(size_of::<RowSieving>(), 72);
        assert_eq!(size_of::<WindowSieving>(), 72);
    }
}
