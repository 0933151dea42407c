//! Secret random numbers: ChaCha20 with a seed of the operating system for each call.
//!
//! Tasks of one call have the same seed and streams of their own, so that no keystream repeats.

use std::ops::Deref;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use num_bigint::BigUint;
use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

use crate::error::{Error, Result};

/// Numbers of a task.
const DRAWN: usize = 256;

/// Bytes that are overwritten when they are dropped: as one slice, where `Zeroizing` of a vector
/// takes a byte at a time.
pub(crate) struct Drawn(Vec<u8>);

impl Deref for Drawn {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        let parts = self.0.par_chunks_mut(1 << 20);
        gpuint::threads::install(|| parts.for_each(Zeroize::zeroize));
    }
}

/// Draws `rows` numbers evenly from 1 to `largest`, `row_bytes` bytes each, the least significant
/// first.
pub(crate) fn numbers(largest: &BigUint, rows: usize, row_bytes: usize) -> Result<Drawn> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(seed.as_mut()).map_err(|error| Error::Randomness(error.to_string()))?;
    let len = rows.saturating_mul(row_bytes);
    let no_memory = |()| gpuint::Error::OutOfMemory { bytes: len as u64 };
    // Zeros of the operating system: each task is the first to touch its pages.
    let mut numbers = Drawn(bytemuck::allocation::try_zeroed_vec(len).map_err(no_memory)?);
    let (largest, bits) = (largest.to_bytes_le(), largest.bits());
    let mask = u8::MAX >> ((8 - bits % 8) % 8);
    gpuint::threads::install(|| {
        let tasks = numbers.0.par_chunks_mut(DRAWN * row_bytes).enumerate();
        tasks.for_each(|(task, part)| {
            let mut generator = ChaCha20Rng::from_seed(*seed);
            generator.set_stream(task as u64);
            for row in part.chunks_exact_mut(row_bytes) {
                draw(&mut generator, &largest, mask, &mut row[..largest.len()]);
            }
        });
    });
    Ok(numbers)
}

/// Draws until a number is in the range: at most two times on average, as `mask` removes the bits
/// above those of `largest`.
fn draw(generator: &mut ChaCha20Rng, largest: &[u8], mask: u8, row: &mut [u8]) {
    loop {
        generator.fill_bytes(row);
        if let Some(top) = row.last_mut() {
            *top &= mask;
        }
        let is_zero = row.iter().all(|&byte| byte == 0);
        if !is_zero && row.iter().rev().le(largest.iter().rev()) {
            return;
        }
    }
}

/// Draws one number evenly from 1 to `largest`.
pub(crate) fn number(largest: &BigUint) -> Result<BigUint> {
    Ok(BigUint::from_bytes_le(&numbers(largest, 1, largest.to_bytes_le().len())?))
}
