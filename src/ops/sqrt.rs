//! Integer square roots with remainder.
//!
//! Rows take one kernel (`isqrt.cuh`) at the widths that the catalogue offers it for. Wider rows
//! take Zimmermann's recursion ("Karatsuba square root", INRIA RR-3805, 1999) until their upper
//! bits do. Let `a` have `bits` bits, and let its top two bits not both be zero; `k = bits / 4`
//! rounded down and `b = 2^k`. The root `s'` and the remainder `r'` of the bits above `a1 b + a0`
//! give the root and remainder of `a`:
//!
//! ```text
//! q, u = (r' b + a1) / 2s'      s = s' b + q      r = u b + a0 - q^2
//! ```
//!
//! Since `2s' >= b`, `s` is at most 1 too large: then `r` is negative, and `s - 1` has the
//! remainder `r + 2s - 1`. The dividend is halved, so that it has no more than half the bits. A
//! level divides and squares in rows of half its width, so that wide roots take about as long as a
//! division.

use gpuint_catalogue::{Op, Shape};

use super::product_tree::product;
use super::{View, faces};
use crate::backend::Operands;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;
use crate::shape::narrowest;

impl View<'_> {
    pub(crate) fn isqrt(&self) -> Result<DynBatch> {
        if !self.has_kernel(Op::Isqrt) {
            return Ok(self.isqrt_rem()?.0);
        }
        self.produce(|root| {
            let outs = [Some(root.buffer_mut()), None];
            self.launch(Op::Isqrt, Operands { outs, ..self.operands() })
        })
    }

    pub(crate) fn isqrt_rem(&self) -> Result<(DynBatch, DynBatch)> {
        if !self.has_kernel(Op::Isqrt) {
            return self.composed_root();
        }
        self.produce_two(|root, remainder| {
            let outs = [Some(root.buffer_mut()), Some(remainder.buffer_mut())];
            self.launch(Op::Isqrt, Operands { outs, ..self.operands() })
        })
    }

    pub(crate) fn is_square(&self) -> Result<Mask> {
        self.isqrt_rem()?.1.is_zero_mask()
    }

    fn composed_root(&self) -> Result<(DynBatch, DynBatch)> {
        let lengths = self.bit_lengths()?;
        let longest = lengths.iter().max().map_or(0, |&longest| longest as usize);
        // Two bits at least. An odd length is one bit short, because widths are even.
        let bits = longest.max(1).next_multiple_of(2);
        let shape = shape_of(bits, self.shape());
        let narrowed = (shape != self.shape()).then(|| self.batch.resized(shape)).transpose()?;
        let a = narrowed.as_ref().unwrap_or(self.batch);
        let mut shifts = vec![0; self.len()];
        for (shift, &length) in shifts.iter_mut().zip(&lengths) {
            *shift = (bits - length as usize) / 2;
        }
        let doubled: Vec<usize> = shifts.iter().map(|shift| 2 * shift).collect();
        let (root, remainder) = normalized_root(&a.shl_rows(&doubled)?, bits)?;
        if shifts.iter().all(|&shift| shift == 0) {
            return Ok((in_shape(root, self.shape())?, in_shape(remainder, self.shape())?));
        }
        // The root of a zero row is undefined: it is shifted out.
        for (shift, _) in shifts.iter_mut().zip(&lengths).filter(|(_, length)| **length == 0) {
            *shift = shape.bits;
        }
        let root = root.shr_rows(&shifts)?;
        let remainder = a.wrapping_sub(&root.wrapping_square()?)?;
        Ok((in_shape(root, self.shape())?, in_shape(remainder, self.shape())?))
    }
}

/// Returns the narrowest shape for `bits` bits, which fit in `widest`.
pub(super) fn shape_of(bits: usize, widest: Shape) -> Shape {
    narrowest(bits).unwrap_or(widest)
}

/// Computes the root and the remainder of rows of `bits` bits, an even number, whose top two bits
/// are not both zero. Rows of zero have undefined results.
fn normalized_root(a: &DynBatch, bits: usize) -> Result<(DynBatch, DynBatch)> {
    if a.view().has_kernel(Op::Isqrt) {
        return a.isqrt_rem();
    }
    let k = bits / 4;
    let half = shape_of(bits - 2 * k, a.shape());
    let (root, remainder) = normalized_root(&in_shape(a.shr(2 * k)?, half)?, bits - 2 * k)?;
    let low = in_shape(a.low_bits(2 * k)?, half)?;
    // (r' b + a1) / 2 < s' b + b / 2, which fits in `half`.
    let dividend = remainder.shl(k - 1)?.wrapping_add(&low.shr(k + 1)?)?;
    // Rows of zero divide by zero.
    let (q, u, _) = dividend.div_rem_masked(&root)?;
    // The last bit of a1 belongs to the remainder: u b + a0 = 2^(k + 1) (u / 2) + low bits of a.
    let low = in_shape(low.low_bits(k + 1)?, a.shape())?;
    let rest = in_shape(u, a.shape())?.shl(k + 1)?.or(&low)?;
    // If s is 2^(bits / 2), it may wrap to 0. Then it is too large, and s - 1 is right.
    let root = root.shl(k)?.wrapping_add(&q)?;
    let square = if half == a.shape() { q.wrapping_square()? } else { product(&q, &q, a.shape())? };
    let (remainder, is_negative) = rest.overflowing_sub(&square)?;
    let less = root.wrapping_sub_all(1)?;
    let root = less.select(&is_negative, &root)?;
    let doubled = in_shape(less, a.shape())?.shl(1)?.with_bit(0)?;
    let remainder = remainder.wrapping_add(&doubled)?.select(&is_negative, &remainder)?;
    Ok((in_shape(root, a.shape())?, remainder))
}

/// Returns rows in a shape, without a copy if it is theirs.
pub(super) fn in_shape(rows: DynBatch, shape: Shape) -> Result<DynBatch> {
    if rows.shape() == shape { Ok(rows) } else { rows.resized(shape) }
}

faces! {
    "Square roots";

    /// Computes the square root of each row, rounded down.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let rows = [99u32, 100, 0].map(BigUint::from);
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&device, &rows)?;
    /// let (roots, remainders) = a.isqrt_rem()?;
    /// assert_eq!(roots.to_biguints()?, [9u32, 10, 0].map(BigUint::from));
    /// assert_eq!(remainders.to_biguints()?, [18u32, 0, 0].map(BigUint::from));
    /// assert_eq!(a.is_square()?.to_bools()?, [false, true, true]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of any operation: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver).
    fn isqrt() -> New;

    /// Computes the square root of each row, rounded down, and the remainder, `self - root^2`,
    /// which is at most twice the root.
    ///
    /// # Errors
    /// As [`isqrt`](Self::isqrt).
    fn isqrt_rem() -> NewPair;

    /// Returns a mask of the rows that are squares; 0 is one.
    ///
    /// # Errors
    /// As [`isqrt`](Self::isqrt).
    fn is_square() -> NewMask;
}
