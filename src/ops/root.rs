//! Powers, and roots of any degree.
//!
//! Let `s = a^(1/n)`. Newton's step for `x^n = a`,
//!
//! ```text
//! x' = ((n - 1) x + a / x^(n - 1)) / n,
//! ```
//!
//! is a mean of `n` numbers whose product is `a`, so that `x' >= s` for every `x`. For `x = s (1 +
//! d)`, `d >= 0`, it is at most `s (1 + (n - 1) d^2 / 2)`. Both hold if the divisions round down,
//! up to rounding `s` itself down (R. P. Brent and P. Zimmermann, "Modern Computer Arithmetic",
//! 1.5.2).
//!
//! Rows are shifted by multiples of `n` to lengths above `bits - n`, so that `s >= 2^(bits/n - 1)`.
//! Let `r` be the root of the bits above `2^(nk)`, rounded down, or 1 more. Then `x = (r + 1) 2^k`
//! has `0 < x - s <= 2^(k + 1)`. For `2k <= bits/n - 2 - log n` a step ends at `s`, rounded down,
//! or 1 above: `(n - 1) s d^2 / 2 <= (n - 1) 2^(2k + 2 - bits/n) < 1`. So the number of bits halves
//! from level to level, and the work with it. The `k (n - 1)` zeros of `x^(n - 1)` are left out of
//! the division, which has `bits/n` bits of quotient:
//!
//! ```text
//! floor(a / x^(n - 1)) = floor(floor(a / 2^(k (n - 1))) / (r + 1)^(n - 1)).
//! ```
//!
//! The first roots, of at most 40 bits, come from double precision, rounded up by more than its
//! error of `2^-44`. The last level computes `2^g s`, rounded down, or 1 more, by steps for `a
//! 2^(ng)` with `g` bits less in `2k`. Without its last `g` bits that is the root, unless they are
//! zero: then a power decides between it and the number below, as for roots of at most 40 bits.
//!
//! On the CPU every row has levels of its own (`src/backend/cpu/root.rs`): operations on batches
//! would pass over all rows some twenty times for each level.

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use rayon::prelude::*;

use super::{View, faces, in_shape, shape_of};
use crate::backend::BackendKind;
use crate::backend::cpu::root::{GUARD_BITS, Level, Roots, SEED_BITS, log2, seed};
use crate::backend::host::{check_room, collected, zeroed_vec};
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::interrupt::{self, Stop};
use crate::mask::Mask;
use crate::threads;

impl View<'_> {
    pub(crate) fn wrapping_pow(&self, exponent: usize) -> Result<DynBatch> {
        let Some(top) = exponent.checked_ilog2() else {
            return self.splat_row(1);
        };
        let mut power = self.batch.try_clone()?;
        for bit in (0..top).rev() {
            power = power.wrapping_square()?;
            if exponent >> bit & 1 == 1 {
                power = power.wrapping_mul(self.batch)?;
            }
        }
        Ok(power)
    }

    pub(crate) fn overflowing_pow(&self, exponent: usize) -> Result<(DynBatch, Mask)> {
        let mut overflowed = Mask::none(self.device(), self.len())?;
        let Some(top) = exponent.checked_ilog2() else {
            return Ok((self.splat_row(1)?, overflowed));
        };
        // All powers on the way are less than the last one, or the row is 0 or 1.
        let mut power = self.batch.try_clone()?;
        let mut multiply = |power: &DynBatch, factor: &DynBatch| -> Result<DynBatch> {
            let (low, high) = power.mul_lo_hi(factor)?;
            overflowed = overflowed.or(&high.view().is_positive_mask()?)?;
            Ok(low)
        };
        for bit in (0..top).rev() {
            power = multiply(&power, &power)?;
            if exponent >> bit & 1 == 1 {
                power = multiply(&power, self.batch)?;
            }
        }
        Ok((power, overflowed))
    }

    pub(crate) fn nth_root(&self, n: usize) -> Result<DynBatch> {
        match n {
            0 => return Err(Error::DivisionByZero { row: 0 }),
            1 => return self.batch.try_clone(),
            2 => return self.isqrt(),
            _ if self.is_by_rows() => return self.nth_root_by_rows(n),
            _ => {}
        }
        let lengths = self.bit_lengths()?;
        let bits = lengths.iter().max().map_or(0, |&longest| longest as usize);
        if bits == 0 {
            return self.batch.try_clone();
        }
        let shape = shape_of(bits, self.shape());
        let narrowed = (shape != self.shape()).then(|| self.batch.resized(shape)).transpose()?;
        let a = narrowed.as_ref().unwrap_or(self.batch);
        // Rows of zero have the root of 1 until the end.
        let is_zero = a.is_zero_mask()?;
        let one = a.view().splat_row(1)?;
        let a = one.select(&is_zero, a)?;
        let shift = |&length: &u64| (bits - (length as usize).max(1)) / n;
        let shifts = collected(lengths.iter().map(shift))?;
        let multiples = collected(shifts.iter().map(|shift| n * shift))?;
        let root = normalized_root(&a.shl_rows(&multiples)?, bits, n)?.shr_rows(&shifts)?;
        in_shape(a.view().splat_row(0)?.select(&is_zero, &root)?, self.shape())
    }

    /// Returns true if a row of the CPU computes its root by itself. The checks of a verified
    /// handle are those of operations on batches.
    fn is_by_rows(&self) -> bool {
        self.device().backend() == BackendKind::Cpu && !self.device().is_verified()
    }

    /// Computes the roots on the CPU.
    fn nth_root_by_rows(&self, n: usize) -> Result<DynBatch> {
        /// Bytes of rows that a thread takes at a time.
        const PART_BYTES: usize = 1 << 14;
        let (bytes, row_bytes) = (self.batch.to_le_bytes()?, self.shape().bytes());
        let mut roots: Vec<u8> = zeroed_vec(bytes.len())?;
        let part = (PART_BYTES / row_bytes).max(1) * row_bytes;
        check_room(threads::count(), Roots::bytes(row_bytes))?;
        let stop = Stop::current();
        let of_part = |(roots, rows): (&mut [u8], &[u8])| {
            let mut memory = Roots::new(row_bytes, n)?;
            let mut rows = rows.chunks_exact(row_bytes).zip(roots.chunks_exact_mut(row_bytes));
            rows.try_for_each(|(row, root)| stop.during(|| memory.compute(root, row)))
        };
        let parts = roots.par_chunks_mut(part).zip(bytes.par_chunks(part));
        interrupt::on_pool(|| parts.try_for_each(of_part))?;
        DynBatch::from_le_bytes(self.device(), self.shape(), &roots)
    }

    pub(crate) fn nth_root_rem(&self, n: usize) -> Result<(DynBatch, DynBatch)> {
        let root = self.nth_root(n)?;
        let remainder = self.wrapping_sub(&root.wrapping_pow(n)?)?;
        Ok((root, remainder))
    }

    /// A batch like this one with one value in all rows.
    fn splat_row(&self, value: u64) -> Result<DynBatch> {
        DynBatch::splat(self.device(), self.shape(), value, self.len())
    }
}

/// Computes the roots of degree `n` of rows of `bits - n + 1` to `bits` bits, rounded down.
fn normalized_root(a: &DynBatch, bits: usize, n: usize) -> Result<DynBatch> {
    if bits.div_ceil(n) <= SEED_BITS {
        return correct(&in_shape(rough_root(a, bits, n, 0)?, a.shape())?, a, n);
    }
    // Without the bits below the point, a root is right unless they are zero and it is 1 above.
    let scaled = rough_root(a, bits, n, GUARD_BITS)?;
    let root = in_shape(scaled.shr(GUARD_BITS)?, a.shape())?;
    let fractions = scaled.and_all(&((BigUint::from(1u32) << GUARD_BITS) - 1u32))?;
    if fractions.is_zero_mask()?.any()? { correct(&root, a, n) } else { Ok(root) }
}

/// Computes the roots of degree `n` of rows of `bits - n + 1` to `bits` bits, times `2^guard` and
/// rounded down, or 1 more, in rows of about their length. Roots of the seed have no guard.
fn rough_root(a: &DynBatch, bits: usize, n: usize, guard: usize) -> Result<DynBatch> {
    // With room for n times a root.
    let shape = shape_of(bits.div_ceil(n) + log2(n) + 1 + guard, a.shape());
    let Some(Level { k, .. }) = Level::of(bits, n, guard) else { return seeds(a, n, shape) };
    let above = |below: usize| in_shape(a.shr(below)?, shape_of(bits - below, a.shape()));
    let upper = above(n * k)?;
    let x = in_shape(rough_root(&upper, bits - n * k, n, 0)?, shape)?.wrapping_add_all(1)?;
    let dividend = above((n - 1) * k - guard)?;
    let power = in_shape(x.try_clone()?, dividend.shape())?.wrapping_pow(n - 1)?;
    let quotient = in_shape(dividend.div(&power)?, shape)?;
    let sum = x.shl(k + guard)?.wrapping_mul_all(n as u64 - 1)?.wrapping_add(&quotient)?;
    sum.div_all(&BigUint::from(n))
}

/// Decrements roots whose power is above the row.
fn correct(root: &DynBatch, a: &DynBatch, n: usize) -> Result<DynBatch> {
    let (power, overflowed) = root.view().overflowing_pow(n)?;
    let is_above = overflowed.or(&a.lt_mask(&power)?)?;
    root.wrapping_sub_all(1)?.select(&is_above, root)
}

/// Roots of at most [`SEED_BITS`] bits, or 1 more, in rows of a shape.
fn seeds(a: &DynBatch, n: usize, shape: Shape) -> Result<DynBatch> {
    let lengths = a.bit_lengths()?;
    let below = collected(lengths.iter().map(|&length| (length as usize).saturating_sub(64)))?;
    let tops = in_shape(a.shr_rows(&below)?, shape_of(64, a.shape()))?;
    let (top_bytes, row_bytes) = (tops.shape().bytes(), shape.bytes());
    let tops = tops.to_le_bytes()?;
    let mut roots: Vec<u8> = zeroed_vec(a.len() * row_bytes)?;
    let rows = tops.chunks_exact(top_bytes).zip(below).zip(roots.chunks_exact_mut(row_bytes));
    for ((top, below), root) in rows {
        let top = top.iter().take(8).rev().fold(0, |top, &byte| top << 8 | u64::from(byte));
        let value = seed(top, below, n);
        root.iter_mut().zip(value.to_le_bytes()).for_each(|(out, byte)| *out = byte);
    }
    DynBatch::from_le_bytes(a.device(), shape, &roots)
}

faces! {
    "Powers and roots";

    /// Computes `self^exponent` modulo `2^BITS`; the power 0 is 1.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let rows = [1000u32, 1024, 7].map(BigUint::from);
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&Device::cpu(), &rows)?;
    /// assert_eq!(a.wrapping_pow(3)?.row(2)?, 343u32.into());
    /// let (roots, remainders) = a.nth_root_rem(3)?;
    /// assert_eq!(roots.to_biguints()?, [10u32, 10, 1].map(BigUint::from));
    /// assert_eq!(remainders.to_biguints()?, [0u32, 24, 6].map(BigUint::from));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of any operation: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver).
    fn wrapping_pow(exponent: Count) -> New;

    /// Computes `self^exponent` modulo `2^BITS`, and a mask of the rows that overflowed.
    ///
    /// # Errors
    /// As [`wrapping_pow`](Self::wrapping_pow).
    fn overflowing_pow(exponent: Count) -> NewAndMask;

    /// Computes the root of degree `n` of each row, rounded down.
    ///
    /// # Errors
    /// [`DivisionByZero`](crate::Error::DivisionByZero) (row 0) if `n` is 0, and as
    /// [`wrapping_pow`](Self::wrapping_pow).
    fn nth_root(n: Count) -> New;

    /// Computes the root of degree `n` of each row, rounded down, and the remainder,
    /// `self - root^n`.
    ///
    /// # Errors
    /// As [`nth_root`](Self::nth_root).
    fn nth_root_rem(n: Count) -> NewPair;
}
