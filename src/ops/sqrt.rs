//! Integer square roots with remainder.
//!
//! One kernel (`root/isqrt.cuh`) computes roots at the widths at which the catalogue offers it.
//! Wider rows are computed by Zimmermann's recursion ("Karatsuba square root", INRIA RR-3805,
//! 1999), which ends at upper bits of such a width. Let `a` have `4k` bits, and let its top two
//! bits not both be zero; `b = 2^k`. The root `s'` and the remainder `r'` of the bits above `a1 b +
//! a0` give the root and remainder of `a`:
//!
//! ```text
//! q, u = (r' b + a1) / 2s'      s = s' b + q      r = u b + a0 - q^2
//! ```
//!
//! A level divides in rows of half its width, squares in rows of a quarter, and launches two more
//! kernels (`root/level.cuh`), which read `a` in place, without a shifted copy. The host
//! reads the lengths of the rows once.
//!
//! Passes of a level, in units of the bytes of its part of `a`: 0.5 to narrow `q`; 2.25 for `u`,
//! `q^2` and parts of `a` to half the next dividend; 1.7 for `q` and `s'` to `s`, where 22 % of
//! random rows are corrected. The last level writes no dividend: 0.5, 1 and 1.5, and 2.5 more for a
//! remainder. With the times of divisions and products for the same number of bits in all rows,
//!
//! ```text
//! time(2N) = time(N) / 2 + division(N) / 2 + product(N / 2) / 4 + passes.
//! ```
//!
//! Long rows, for which a GPU has no kernels of levels, have roots by their reciprocals
//! (`long_root.rs`).

use gpuint_catalogue::{Op, Shape};

use super::{View, faces, in_shape, long_root};
use crate::backend::host::reserved_vec;
use crate::backend::{Buffer, Operands, Params};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::kernel::algorithms;
use crate::mask::Mask;
use crate::shape::narrowest_built;

impl View<'_> {
    pub(crate) fn isqrt(&self) -> Result<DynBatch> {
        if !self.has_kernel(Op::Isqrt) {
            return Ok(self.composed_root(false)?.0);
        }
        self.produce(|root| {
            let outs = [Some(root.buffer_mut()), None];
            self.launch(Op::Isqrt, Operands { outs, ..self.operands() })
        })
    }

    pub(crate) fn isqrt_rem(&self) -> Result<(DynBatch, DynBatch)> {
        if !self.has_kernel(Op::Isqrt) {
            return match self.composed_root(true)? {
                (root, Some(remainder)) => Ok((root, remainder)),
                (root, None) => {
                    let remainder = self.wrapping_sub(&square(&root)?)?;
                    Ok((root, remainder))
                }
            };
        }
        self.produce_two(|root, remainder| {
            let outs = [Some(root.buffer_mut()), Some(remainder.buffer_mut())];
            self.launch(Op::Isqrt, Operands { outs, ..self.operands() })
        })
    }

    pub(crate) fn is_square(&self) -> Result<Mask> {
        self.isqrt_rem()?.1.is_zero_mask()
    }

    /// Computes roots level by level, and remainders if they are asked for and all rows are long.
    fn composed_root(&self, has_remainder: bool) -> Result<(DynBatch, Option<DynBatch>)> {
        let widest = self.shape();
        if widest.is_long() {
            let (root, remainder) = long_root::isqrt_rem(self.batch)?;
            return Ok((root, Some(remainder)));
        }
        let shape = level_shape(widest.bits, widest);
        if shape != widest && !widest.bits.is_multiple_of(PART_BITS) {
            return self.root_in(shape, has_remainder);
        }
        let mut lengths = self.bit_lengths()?;
        // The top two bits of a row of even length are not both zero.
        lengths.iter_mut().for_each(|length| *length = length.next_multiple_of(2));
        let longest = lengths.iter().max().map_or(0, |&longest| longest as usize);
        let (levels, bits) = levels(longest, widest);
        let first = level_shape(bits, widest);
        if levels == 0 {
            return self.root_in(first, has_remainder);
        }
        let whole = bits << levels;
        let is_long = |&length: &u64| whole - (length as usize) < 2 * MAX_ZEROS;
        let has_remainder = has_remainder && whole <= widest.bits && lengths.iter().all(is_long);
        let mut composition = Composition::new(self.batch, &lengths)?;
        let (mut root, remainder) = composition.leading_part(bits, first)?.isqrt_rem()?;
        let mut dividend = composition.dividend(&remainder, bits)?;
        let mut k = bits / 2;
        loop {
            let is_last = 4 * k == whole;
            let next = if is_last { widest } else { level_shape(4 * k, widest) };
            // Rows of zero divide by zero.
            let (q, u, _) = dividend.div_rem_masked(&root)?;
            let square = square(&q)?;
            let wanted = (!is_last || has_remainder).then_some(next);
            let mut half = composition.half_remainder(&u, &square, k, wanted)?;
            root = composition.corrected(&q, &root, half.as_mut(), k, next, is_last)?;
            match half {
                Some(half) if !is_last => dividend = half,
                remainder => return Ok((root, remainder)),
            }
            k *= 2;
        }
    }

    /// Computes roots, and remainders if they are asked for, in another shape that holds the rows.
    fn root_in(&self, shape: Shape, has_remainder: bool) -> Result<(DynBatch, Option<DynBatch>)> {
        let rows = self.resized(shape)?;
        if !has_remainder {
            return Ok((in_shape(rows.isqrt()?, self.shape())?, None));
        }
        let (root, remainder) = rows.isqrt_rem()?;
        Ok((in_shape(root, self.shape())?, Some(in_shape(remainder, self.shape())?)))
    }
}

/// Zeros below the root of a row from which on its remainder needs a product (`root/level.cuh`).
const MAX_ZEROS: usize = 32;

/// Divisor of the parts of a composed root in bits: a row of half a level is whole words.
const PART_BITS: usize = 256;

/// Returns the narrowest shape for `bits` bits with kernels for a level; `widest` if there is none.
fn level_shape(bits: usize, widest: Shape) -> Shape {
    match narrowest_built(bits) {
        Some(shape) if shape.bits.is_multiple_of(PART_BITS) => shape,
        Some(shape) => level_shape(shape.bits + 1, widest),
        None => widest,
    }
}

/// Returns the number of levels for rows of `longest` bits, and the bits of the part that one
/// kernel computes.
fn levels(longest: usize, widest: Shape) -> (usize, usize) {
    let part = |levels: usize| longest.max(1).div_ceil(1 << levels).next_multiple_of(PART_BITS);
    let has_kernel = |bits| algorithms(Op::Isqrt, level_shape(bits, widest)).next().is_some();
    let mut levels = 0;
    while part(levels) > PART_BITS && !has_kernel(part(levels)) {
        levels += 1;
    }
    (levels, part(levels))
}

/// Squares rows of at most half the bits of their shape.
fn square(rows: &DynBatch) -> Result<DynBatch> {
    let shape = rows.shape();
    match narrowest_built(shape.bits / 2) {
        Some(half) if 2 * half.bits == shape.bits && half.digit == shape.digit => {
            let rows = rows.view().truncated(half)?;
            rows.view().widening_mul(&rows, shape)
        }
        _ => rows.wrapping_square(),
    }
}

/// The rows of a root that is computed level by level, and the state of the levels
/// (`root/level.cuh`).
struct Composition<'a> {
    rows: &'a DynBatch,
    /// For each row a `u32`: its length rounded up to even, plus 1 if its last remainder is
    /// negative.
    lengths: Buffer,
}

impl<'a> Composition<'a> {
    fn new(rows: &'a DynBatch, lengths: &[u64]) -> Result<Self> {
        let mut words: Vec<u32> = reserved_vec(lengths.len())?;
        // Widths are at most 2^31.
        words.extend(lengths.iter().map(|&length| length as u32));
        let mut lengths = rows.device().alloc_rows(words.len(), size_of::<u32>())?;
        rows.device().memory().upload(&mut lengths, 0, bytemuck::cast_slice(&words))?;
        Ok(Self { rows, lengths })
    }

    /// Returns the upper `bits` bits of the rows.
    fn leading_part(&self, bits: usize, shape: Shape) -> Result<DynBatch> {
        let zero = DynBatch::zeros(self.rows.device(), shape, self.rows.len())?;
        self.append(&zero, 0, bits + 1)
    }

    /// Returns half the dividend of the level after the upper `bits` bits of the rows.
    fn dividend(&self, remainder: &DynBatch, bits: usize) -> Result<DynBatch> {
        self.append(remainder, bits, bits / 2)
    }

    fn append(&self, upper: &DynBatch, distance: usize, bits: usize) -> Result<DynBatch> {
        let params = Params { distance: distance as u32, ..self.params(bits) };
        upper.view().produce(|out| {
            let ins = [Some(upper.buffer()), Some(self.rows.buffer()), Some(&self.lengths)];
            let outs = [Some(out.buffer_mut()), None];
            let rows = upper.len();
            let operands = Operands { ins, outs, rows, params, ..Operands::default() };
            upper.view().launch(Op::RootDividend, operands)
        })
    }

    /// Computes half the next dividend in a shape, unless there is none, before a correction.
    fn half_remainder(
        &mut self,
        u: &DynBatch,
        square: &DynBatch,
        k: usize,
        next: Option<Shape>,
    ) -> Result<Option<DynBatch>> {
        let target_bits = next.map_or(0, |shape| shape.bits as u32);
        let params = Params { target_bits, ..self.params(k) };
        let rows = self.rows.len();
        let alloc = |shape| DynBatch::alloc(self.rows.device(), shape, rows);
        let mut half = next.map(alloc).transpose()?;
        let ins = [Some(u.buffer()), Some(square.buffer()), Some(self.rows.buffer())];
        let outs = [half.as_mut().map(DynBatch::buffer_mut), Some(&mut self.lengths)];
        let operands = Operands { ins, outs, rows, params, ..Operands::default() };
        u.view().launch(Op::RootRemainder, operands)?;
        Ok(half)
    }

    /// Computes the root of a level in a shape, and corrects the next dividend. In the last level
    /// these are the root and the remainder of the rows.
    fn corrected(
        &self,
        q: &DynBatch,
        root: &DynBatch,
        half: Option<&mut DynBatch>,
        k: usize,
        shape: Shape,
        is_last: bool,
    ) -> Result<DynBatch> {
        let distance = if is_last { 4 * k as u32 } else { 0 };
        let params = Params {
            part_bits: k as u32,
            target_bits: shape.bits as u32,
            distance,
            ..Params::default()
        };
        let rows = self.rows.len();
        let mut out = DynBatch::alloc(self.rows.device(), shape, rows)?;
        let ins = [Some(q.buffer()), Some(root.buffer()), Some(&self.lengths)];
        let outs = [Some(out.buffer_mut()), half.map(DynBatch::buffer_mut)];
        let operands = Operands { ins, outs, rows, params, ..Operands::default() };
        q.view().launch(Op::RootCorrect, operands)?;
        Ok(out)
    }

    /// Parameters of parts of `bits` bits of the rows.
    fn params(&self, bits: usize) -> Params {
        let source_bits = self.rows.shape().bits as u32;
        Params { source_bits, part_bits: bits as u32, ..Params::default() }
    }
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
