//! The least probable prime above each row.
//!
//! For each row a window of odd numbers above it is sieved: by a kernel
//! (`kernels/sieve/windows.cuh`), or on the host by primes up to [`SIEVED`], whose remainders come
//! from the device. The numbers that are left are tested in order, those of all rows at once; if
//! few rows are undecided, several of each row.

use rayon::prelude::*;

use super::faces;
use super::factors::{KernelProducts, Products, primes_up_to, trial_limit};
use crate::backend::host::{collected, reserved_vec, write_rows, zeroed_vec};
use crate::backend::sieve::{WINDOW_BITS, Windows};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;
use crate::ops::View;
use crate::threads;

/// Largest prime of the sieve on the host.
const SIEVED: usize = 2000;
/// Rows below this bound, which exceeds the primes of sieves, are decided by a list of primes.
const SMALL: u64 = 1 << 16;
/// Odd numbers of a window.
const WINDOW: usize = WINDOW_BITS;
/// Rows that are searched together, and numbers that are tested together.
const ROWS: usize = 1 << 16;
/// Numbers of a row that are tested together, at most.
const MAX_OF_ROW: usize = 32;

/// Search above a row `n`.
#[derive(Debug)]
struct Search {
    /// Remainders of `n` by the products of a sieve on the host.
    remainders: Vec<u64>,
    /// `2^BITS - 1 - n`, or less where that has more than 64 bits.
    room: u64,
    /// Distance of the next window.
    next: u64,
    /// Distances of numbers that are left, in descending order.
    left: Vec<u64>,
    /// Distance of the prime.
    found: Option<u64>,
}

impl Search {
    fn is_over(&self) -> bool {
        self.found.is_some() || self.left.is_empty() && self.next > self.room
    }

    /// Returns true if fewer than `count` numbers are left, and more may follow.
    fn is_short(&self, count: usize) -> bool {
        self.found.is_none() && self.left.len() < count && self.next <= self.room
    }

    /// Takes the numbers of the next window that are not struck.
    fn take(&mut self, is_struck: impl Fn(usize) -> bool) {
        let distances = (0..WINDOW).filter(|&index| !is_struck(index));
        let (next, room) = (self.next, self.room);
        let distances = distances.filter_map(|index| next.checked_add(2 * index as u64));
        let mut left: Vec<u64> = distances.filter(|&distance| distance <= room).collect();
        left.reverse();
        left.append(&mut self.left);
        self.left = left;
        self.next = next.saturating_add(2 * WINDOW as u64);
    }

    /// Sieves windows on the host until `count` numbers are left, or no number is above them.
    fn refill(&mut self, products: &Products, count: usize) {
        while self.is_short(count) {
            let mut is_struck = [false; WINDOW];
            products.each(&self.remainders, |prime, remainder| {
                // n + next + 2 i = 0 modulo the prime.
                let p = u64::from(prime);
                let first = (u64::from(remainder) + self.next % p) % p;
                let distance = (p - first) % p;
                let twice = if distance.is_multiple_of(2) { distance } else { distance + p };
                for index in (twice as usize / 2..WINDOW).step_by(prime as usize) {
                    is_struck[index] = true;
                }
            });
            self.take(|index| is_struck[index]);
        }
    }
}

/// Primes of the sieve, for a kernel or for the host.
#[derive(Debug)]
enum Sieve {
    Kernel(KernelProducts),
    Host(Products),
}

impl Sieve {
    fn new(rows: View<'_>) -> Result<Self> {
        let shape = rows.shape();
        if rows.device().has_sieves() {
            let limit = trial_limit(shape, shape.bits, false).min(SMALL as usize - 1);
            return KernelProducts::new(limit, |_| 2, shape.bits).map(Self::Kernel);
        }
        let primes = primes_up_to(SIEVED)?;
        Ok(Self::Host(Products::new(primes[1..].to_vec(), shape.digit.bits())))
    }
}

impl View<'_> {
    pub(crate) fn next_prime(&self) -> Result<(DynBatch, Mask)> {
        let sieve = Sieve::new(*self)?;
        let small = primes_up_to(2 * SMALL as usize)?;
        let mut distances: Vec<u64> = reserved_vec(self.len())?;
        let mut without: Vec<bool> = reserved_vec(self.len())?;
        for first in (0..self.len()).step_by(ROWS) {
            let part = self.slice(first..self.len().min(first + ROWS))?;
            let view = View { batch: &part, strategy: self.strategy };
            let found = view.distances_to_primes(&sieve, &small)?;
            without.extend(found.iter().map(Option::is_none));
            distances.extend(found.iter().map(|found| found.unwrap_or(0)));
        }
        let without = Mask::from_bools(self.device(), &without)?;
        let sums = self.wrapping_add(&self.numbers(&distances)?)?;
        let zeros = DynBatch::zeros(self.device(), self.shape(), self.len())?;
        Ok((zeros.select(&without, &sums)?, without))
    }

    /// Makes a batch of these numbers, which fit the width.
    fn numbers(&self, numbers: &[u64]) -> Result<DynBatch> {
        let shape = self.shape();
        DynBatch::from_parts(self.device(), shape, numbers.len(), |first, part| {
            write_rows(part, shape.bytes(), |row, bytes| {
                bytes.fill(0);
                let number = numbers[first + row].to_le_bytes();
                let len = bytes.len().min(number.len());
                bytes[..len].copy_from_slice(&number[..len]);
            });
            Ok(())
        })
    }

    /// Sieves windows by a kernel until `count` numbers of each row are left, or no number is above
    /// them.
    fn refill(
        &self,
        searches: &mut [Search],
        products: &KernelProducts,
        count: usize,
    ) -> Result<()> {
        const WORDS: usize = WINDOW / u32::BITS as usize;
        loop {
            let short: Vec<usize> =
                collected((0..self.len()).filter(|&row| searches[row].is_short(count)))?;
            if short.is_empty() {
                return Ok(());
            }
            let rows = self.gather(&short)?;
            let starts: Vec<u64> = collected(short.iter().map(|&row| searches[row].next))?;
            let mut words: Vec<u32> = zeroed_vec(short.len() * WORDS)?;
            let mut window = self.device().alloc_rows(short.len(), WINDOW / 8)?;
            self.device().memory().sieve_windows(Windows {
                rows: rows.buffer(),
                count: short.len(),
                limbs: self.shape().bits / u32::BITS as usize,
                products: products.lists(),
                starts: &starts,
                words: &mut window,
            })?;
            self.device().memory().download(&window, 0, bytemuck::cast_slice_mut(&mut words))?;
            for (&row, words) in short.iter().zip(words.chunks(WORDS)) {
                searches[row].take(|index| words[index / 32] >> (index % 32) & 1 == 1);
            }
        }
    }

    /// Returns the distance of each row to the next probable prime; `None` where it is beyond the
    /// width.
    fn distances_to_primes(&self, sieve: &Sieve, small: &[u32]) -> Result<Vec<Option<u64>>> {
        let remainders = match sieve {
            Sieve::Kernel(_) => Vec::new(),
            Sieve::Host(products) => products.remainders(*self)?,
        };
        let (lengths, words) = (self.bit_lengths()?, self.low_words()?);
        let rooms = self.not()?;
        let (room_lengths, rooms) = (rooms.bit_lengths()?, rooms.view().low_words()?);
        let mut searches: Vec<Search> = reserved_vec(self.len())?;
        for row in 0..self.len() {
            let is_bounded = room_lengths[row] <= u64::from(u64::BITS);
            let room = if is_bounded { rooms[row] } else { u64::MAX };
            let mut search = Search {
                remainders: collected(remainders.iter().map(|remainders| remainders[row]))?,
                room,
                next: 1 + (words[row] & 1),
                left: Vec::new(),
                found: None,
            };
            if lengths[row] <= u64::from(u64::BITS) && words[row] < SMALL {
                let next = small.partition_point(|&p| u64::from(p) <= words[row]);
                let distance = u64::from(small[next]) - words[row];
                search.found = Some(distance).filter(|&distance| distance <= room);
                search.next = u64::MAX;
                search.room = room.min(u64::MAX - 1);
            }
            searches.push(search);
        }
        loop {
            let undecided = searches.iter().filter(|search| !search.is_over()).count();
            if undecided == 0 {
                return collected(searches.iter().map(|search| search.found));
            }
            let count = (ROWS / undecided).clamp(1, MAX_OF_ROW);
            match sieve {
                Sieve::Kernel(products) => self.refill(&mut searches, products, count)?,
                Sieve::Host(products) => threads::install(|| {
                    searches.par_iter_mut().for_each(|search| search.refill(products, count));
                }),
            }
            let (mut rows, mut distances) = (Vec::new(), Vec::new());
            for (row, search) in searches.iter_mut().enumerate() {
                for _ in 0..if search.is_over() { 0 } else { count } {
                    let Some(distance) = search.left.pop() else { break };
                    rows.push(row);
                    distances.push(distance);
                }
            }
            let numbers = self.gather(&rows)?;
            let numbers = numbers.wrapping_add(&numbers.view().numbers(&distances)?)?;
            let view = View { batch: &numbers, strategy: self.strategy };
            let passes = view.is_probable_prime()?.to_bools()?;
            for ((row, distance), passes) in rows.into_iter().zip(distances).zip(passes) {
                if passes && searches[row].found.is_none() {
                    searches[row].found = Some(distance);
                }
            }
        }
    }
}

faces! {
    by Mult, "Next primes";

    /// Computes the least probable prime above each row
    /// ([`is_probable_prime`](Self::is_probable_prime)), and a mask of the rows above which there
    /// is none below `2^BITS`; their result is 0.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let power: BigUint = BigUint::from(1u32) << 255;
    /// let rows = [0u32.into(), 7u32.into(), power.clone(), (&power << 1) - 1u32];
    /// let n = Batch::<GpuUint<256>>::from_biguints(&device, &rows)?;
    /// let (primes, without) = n.next_prime()?;
    /// let expected = [2u32.into(), 11u32.into(), power + 95u32, 0u32.into()];
    /// assert_eq!(primes.to_biguints()?, expected);
    /// assert_eq!(without.to_bools()?, [false, false, false, true]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn next_prime() -> NewAndMask;
}
