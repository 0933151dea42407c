//! Greatest common divisors of wide rows in subquadratic time, by matrices of Euclid's steps (A.
//! Schönhage, 1971; N. Möller, "On Schönhage's algorithm and subquadratic integer gcd computation",
//! Mathematics of Computation 77, 2008).
//!
//! Let `x, y < 2^n`. A *half-gcd* is a matrix of nonnegative entries with `u0 v1 - v0 u1 = 1` and
//!
//! ```text
//! x' = u0 x - v0 y >= 2^(n/2 + 1),    y' = v1 y - u1 x >= 2^(n/2 + 1),
//! ```
//!
//! or the identity. It keeps common divisors. Its entries are below `2^(n/2 - 1)`, because `x = v1
//! x' + v0 y'` and `y = u1 x' + u0 y'`. For `0 <= a, b < 2^s`
//!
//! ```text
//! u0 (x 2^s + a) - v0 (y 2^s + b) > 2^s (2^(n/2 + 1) - 2^(n/2 - 1)) > 2^(s + n/2),
//! ```
//!
//! and the same holds for the other number: the matrix of the leading bits suits the whole numbers.
//!
//! The kernel `half_gcd.cuh` computes it for `n` = [`LEAF`]. For wider rows, the first matrix is a
//! half-gcd of the upper `n/2` bits. It leaves numbers above `2^(3n/4)`. The second matrix is a
//! half-gcd of their bits from bit `s` on, for the least `s >= n/4 + 1` that leaves at most `n/2`
//! bits. It leaves numbers above `2^(s + n/4) >= 2^(n/2 + 1)`, so the product of both is a
//! half-gcd.
//!
//! A large quotient ends the steps of a row early. Rows do not depend on each other's quotients:
//! each has its own `s`, and the same products. If the longest row stays too long, all rows are
//! divided once, so that every row ends. A division takes about as long as the products of a
//! matrix.

use gpuint_catalogue::{Op, Shape};
use num_bigint::BigUint;
use num_traits::One;

use super::pairs::product;
use super::{View, in_shape, shape_of};
use crate::backend::host::reserved_vec;
use crate::backend::{BackendKind, Operands};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::kernel::algorithms;
use crate::mask::{Mask, Table};
use crate::shape::{SHAPES, narrowest};

/// Width of the rows whose matrices a kernel computes.
pub(super) const LEAF: usize = 4096;
/// Maximum length of numbers that are left to the kernel of [`Op::Gcd`] on a GPU.
const LAST: usize = 1 << 16;

/// Half-gcds of rows.
struct Matrices {
    u0: DynBatch,
    v0: DynBatch,
    u1: DynBatch,
    v1: DynBatch,
}

impl Matrices {
    /// Computes the products of the matrices and columns of two numbers.
    fn apply(&self, x: &DynBatch, y: &DynBatch) -> Result<(DynBatch, DynBatch)> {
        let first = times(&self.u0, x)?.wrapping_sub(&times(&self.v0, y)?)?;
        let second = times(&self.v1, y)?.wrapping_sub(&times(&self.u1, x)?)?;
        Ok((first, second))
    }

    /// Computes the products of the matrices with all signs positive and columns of two cofactors.
    fn apply_to_cofactors(&self, s: &DynBatch, t: &DynBatch) -> Result<(DynBatch, DynBatch)> {
        let first = times(&self.u0, s)?.wrapping_add(&times(&self.v0, t)?)?;
        let second = times(&self.u1, s)?.wrapping_add(&times(&self.v1, t)?)?;
        Ok((first, second))
    }

    /// Computes the matrices that apply `first` and then `self`, in rows of a shape.
    fn after(&self, first: &Self, shape: Shape) -> Result<Self> {
        let entry = |a: &DynBatch, b: &DynBatch, c: &DynBatch, d: &DynBatch| {
            product(a, b, shape)?.wrapping_add(&product(c, d, shape)?)
        };
        Ok(Self {
            u0: entry(&self.u0, &first.u0, &self.v0, &first.u1)?,
            v0: entry(&self.u0, &first.v0, &self.v0, &first.v1)?,
            u1: entry(&self.u1, &first.u0, &self.v1, &first.u1)?,
            v1: entry(&self.u1, &first.v0, &self.v1, &first.v1)?,
        })
    }
}

/// Computes the products of shorter entries and numbers modulo the width of the numbers.
fn times(entry: &DynBatch, number: &DynBatch) -> Result<DynBatch> {
    number.wrapping_mul(&entry.resized(number.shape())?)
}

/// Returns true if the kernels of half-gcds of `leaf` bits are offered and their rows are built.
pub(super) fn is_offered(leaf: usize) -> bool {
    let built = |bits| narrowest(bits).filter(|shape| shape.bits == bits);
    built(leaf / 2).is_some()
        && built(leaf).is_some_and(|shape| algorithms(Op::HalfGcd, shape).next().is_some())
}

/// Computes half-gcds of rows of `bits` bits, a power of two times `leaf`.
fn half_gcd(x: &DynBatch, y: &DynBatch, bits: usize, leaf: usize) -> Result<Matrices> {
    let half = shape_of(bits / 2, x.shape());
    if bits == leaf {
        let (first, second) = x.view().half_gcd(y)?;
        let low = |row: &DynBatch| row.view().truncated(half);
        let high = |row: &DynBatch| row.shr(leaf / 2)?.view().truncated(half);
        return Ok(Matrices {
            u0: low(&first)?,
            v0: high(&first)?,
            u1: low(&second)?,
            v1: high(&second)?,
        });
    }
    let upper = |number: &DynBatch| number.shr(bits / 2)?.view().truncated(half);
    let first = half_gcd(&upper(x)?, &upper(y)?, bits / 2, leaf)?;
    let (x, y) = first.apply(x, y)?;
    let mut shifts = longer_lengths(&x, &y)?;
    for shift in &mut shifts {
        *shift = shift.saturating_sub(bits / 2).max(bits / 4 + 1);
    }
    let upper = |number: &DynBatch| number.shr_rows(&shifts)?.view().truncated(half);
    half_gcd(&upper(&x)?, &upper(&y)?, bits / 2, leaf)?.after(&first, half)
}

/// Returns the bit length of the longer number of each row.
fn longer_lengths(x: &DynBatch, y: &DynBatch) -> Result<Vec<usize>> {
    let mut lengths = reserved_vec(x.len())?;
    let pairs = x.bit_lengths()?.into_iter().zip(y.bit_lengths()?);
    lengths.extend(pairs.map(|(x, y)| x.max(y) as usize));
    Ok(lengths)
}

/// Two numbers of each row on the way to their common divisor.
struct Pairs {
    a: DynBatch,
    b: DynBatch,
    /// `s` and `t` with `a = -s v` and `b = t v` modulo the first `a`, and `s b + t a` equal to it.
    cofactors: Option<(DynBatch, DynBatch)>,
}

impl Pairs {
    /// Returns `n` and `v mod n` with the cofactors 0 and 1, and a mask of the rows with `n = 0`.
    fn with_cofactors(v: &DynBatch, n: &DynBatch) -> Result<(Self, Mask)> {
        let zero = DynBatch::zeros(n.device(), n.shape(), n.len())?;
        let one = DynBatch::splat(n.device(), n.shape(), &BigUint::one(), n.len())?;
        let (_, residue, is_zero) = v.div_rem_masked(n)?;
        Ok((Self { a: n.try_clone()?, b: residue, cofactors: Some((zero, one)) }, is_zero))
    }

    /// Shortens the longest rows by a half-gcd, of at least `leaf` bits, and narrows the rows to
    /// the longest. If a row stays too long, it divides all rows once, and returns true. Returns
    /// `None` for rows of at most `last` bits.
    fn shorten(&mut self, leaf: usize, last: usize) -> Result<Option<bool>> {
        let mut shifts = longer_lengths(&self.a, &self.b)?;
        let longest = shifts.iter().copied().max().unwrap_or(0);
        let shape = shape_of(longest.max(1), self.a.shape());
        if shape.bits < self.a.shape().bits {
            (self.a, self.b) = (self.a.view().truncated(shape)?, self.b.view().truncated(shape)?);
        }
        if longest <= last {
            return Ok(None);
        }
        // Half-gcds of half the width, or of what suffices for rows of half the width.
        let width = self.a.shape().bits;
        let excess = longest - width / 2;
        let mut window = leaf;
        while 4 * window <= width && window < 2 * excess {
            window *= 2;
        }
        let upper = shape_of(window, self.a.shape());
        for shift in &mut shifts {
            *shift = shift.saturating_sub(window);
        }
        let x = self.a.shr_rows(&shifts)?.view().truncated(upper)?;
        let y = self.b.shr_rows(&shifts)?.view().truncated(upper)?;
        let matrices = half_gcd(&x, &y, window, leaf)?;
        (self.a, self.b) = matrices.apply(&self.a, &self.b)?;
        if let Some((s, t)) = &self.cofactors {
            self.cofactors = Some(matrices.apply_to_cofactors(s, t)?);
        }
        let left = longer_lengths(&self.a, &self.b)?.into_iter().max().unwrap_or(0);
        let is_stalled = left + window / 4 > longest;
        if is_stalled {
            self.divide()?;
        }
        Ok(Some(is_stalled))
    }

    /// Subtracts the largest multiple of the shorter number of each row from the longer one. A row
    /// with a zero stays.
    fn divide(&mut self) -> Result<()> {
        let is_less = self.a.lt_mask(&self.b)?;
        let (longer, shorter) = self.a.swap(&is_less, &self.b)?;
        let (quotient, remainder, is_zero) = longer.div_rem_masked(&shorter)?;
        (self.a, self.b) = remainder.swap(&is_less, &shorter)?;
        if let Some((s, t)) = &self.cofactors {
            let zero = DynBatch::zeros(s.device(), s.shape(), s.len())?;
            let quotient = zero.select(&is_zero, &in_shape(quotient, s.shape())?)?;
            let (of_longer, of_shorter) = s.swap(&is_less, t)?;
            let grown = of_longer.wrapping_add(&quotient.wrapping_mul(&of_shorter)?)?;
            self.cofactors = Some(grown.swap(&is_less, &of_shorter)?);
        }
        Ok(())
    }

    /// Sets both numbers to zero in the rows of a mask.
    fn clear(&mut self, rows: &Mask) -> Result<()> {
        let zero = DynBatch::zeros(self.a.device(), self.a.shape(), self.a.len())?;
        (self.a, self.b) = (zero.select(rows, &self.a)?, zero.select(rows, &self.b)?);
        Ok(())
    }

    /// Clears the rows with a zero whose common divisor is not 1.
    fn clear_without_inverse(&mut self) -> Result<()> {
        let (divisors, is_finished) = self.finished()?;
        let is_one = divisors.eq_mask_all(1)?;
        self.clear(&is_finished.combine(&is_one, Table::AND_NOT)?)
    }

    /// Returns the common divisors of the rows with a zero, and a mask of these rows.
    fn finished(&self) -> Result<(DynBatch, Mask)> {
        let is_finished = self.a.is_zero_mask()?.or(&self.b.is_zero_mask()?)?;
        Ok((self.a.or(&self.b)?, is_finished))
    }
}

/// Computes greatest common divisors, with half-gcds of `leaf` bits by a kernel. The last `last`
/// bits, at least twice as many, are left to the kernel of [`Op::Gcd`].
fn common_divisors(a: &DynBatch, b: &DynBatch, leaf: usize, last: usize) -> Result<DynBatch> {
    let shape = a.shape();
    let mut pairs = Pairs { a: a.try_clone()?, b: b.try_clone()?, cofactors: None };
    let mut found = DynBatch::zeros(a.device(), shape, a.len())?;
    while let Some(is_stalled) = pairs.shorten(leaf, last)? {
        if is_stalled {
            let (divisors, is_finished) = pairs.finished()?;
            let zero = DynBatch::zeros(divisors.device(), divisors.shape(), divisors.len())?;
            found = found.or(&in_shape(divisors.select(&is_finished, &zero)?, shape)?)?;
            pairs.clear(&is_finished)?;
        }
    }
    let divisors = pairs.a.view().produce(|out| pairs.a.view().gcd_by_kernel(&pairs.b, out))?;
    found.or(&in_shape(divisors, shape)?)
}

/// Computes inverses of `v` modulo `n`, and a mask of the rows without one, whose result is 0; as
/// [`common_divisors`], but the last bits are left to the kernel of [`Op::InverseMod`].
///
/// At the end `c = b^-1 mod a` and `k = floor(c b / a)`, so that
///
/// ```text
/// 1 = c b - k a = (c t + k s) v   modulo n.                                                   (1)
/// ```
///
/// The sum is at most `a t + b s = n`. It is not the inverse of rows that end with a divisor of 1:
///
/// ```text
/// a = 1:           1 = -s v   modulo n,                                                       (2)
/// a = 0 and b = 1: 1 =  t v   modulo n.                                                       (3)
/// ```
fn inverses(v: &DynBatch, n: &DynBatch, leaf: usize, last: usize) -> Result<(DynBatch, Mask)> {
    let (mut pairs, is_zero) = Pairs::with_cofactors(v, n)?;
    while let Some(is_stalled) = pairs.shorten(leaf, last)? {
        if is_stalled {
            pairs.clear_without_inverse()?;
        }
    }
    let Pairs { a, b, cofactors } = pairs;
    let (s, t) = cofactors.expect("inverses have cofactors");
    let (inverse, without) = inverse_of_last(&a, &b, &s, &t)?;
    let inverse = n.wrapping_sub(&s)?.select(&a.eq_mask_all(1)?, &inverse)?; // (2)
    let is_b = a.is_zero_mask()?.and(&b.eq_mask_all(1)?)?;
    let inverse = t.select(&is_b, &inverse)?; // (3)
    let without = without.combine(&is_b, Table::AND_NOT)?.or(&is_zero)?;
    // Modulo 1 the inverse is 0.
    let is_trivial = without.or(&n.eq_mask_all(1)?)?;
    let zero = DynBatch::zeros(n.device(), n.shape(), n.len())?;
    Ok((zero.select(&is_trivial, &inverse)?, without))
}

/// Computes `c t + k s` of (1) in [`inverses`], and a mask of the rows without `c`.
fn inverse_of_last(
    a: &DynBatch,
    b: &DynBatch,
    s: &DynBatch,
    t: &DynBatch,
) -> Result<(DynBatch, Mask)> {
    let shape = s.shape();
    let (c, without) = b.view().inverse_mod_by_kernel(a)?;
    let wide = shape_of(2 * a.shape().bits, shape);
    let (k, _, _) = product(&c, b, wide)?.div_rem_masked(&a.resized(wide)?)?;
    let [c, k] = [in_shape(c, shape)?, k.view().truncated(shape)?];
    Ok((c.wrapping_mul(t)?.wrapping_add(&k.wrapping_mul(s)?)?, without))
}

impl View<'_> {
    /// Computes greatest common divisors by half-gcds.
    pub(super) fn gcd_by_halves(&self, rhs: &DynBatch) -> Result<DynBatch> {
        common_divisors(self.batch, rhs, LEAF, self.last(Op::Gcd))
    }

    /// Computes inverses modulo the rows of `moduli` by half-gcds, and a mask of the rows without.
    pub(super) fn inverse_mod_by_halves(&self, moduli: &DynBatch) -> Result<(DynBatch, Mask)> {
        inverses(self.batch, moduli, LEAF, self.last(Op::InverseMod))
    }

    /// Returns the maximum length of numbers that are left to the kernel of an operation. The CPU
    /// reduces rows by half-gcds itself, at all widths at which the operation is offered.
    fn last(&self, op: Op) -> usize {
        if self.device().backend() != BackendKind::Cpu {
            return LAST;
        }
        let is_offered = |shape: &&Shape| algorithms(op, **shape).next().is_some();
        SHAPES.iter().filter(is_offered).map(|shape| shape.bits).max().unwrap_or(LAST)
    }

    /// Computes the entries `u0`, `v0` and `u1`, `v1`, two in a row of the width.
    fn half_gcd(&self, rhs: &DynBatch) -> Result<(DynBatch, DynBatch)> {
        self.produce_two(|first, second| {
            let operands = self.operands_with(rhs)?;
            let outs = [Some(first.buffer_mut()), Some(second.buffer_mut())];
            self.launch(Op::HalfGcd, Operands { outs, ..operands })
        })
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use num_integer::Integer;
    use num_traits::{One, Zero};

    use super::*;
    use crate::Device;

    fn power(exponent: usize) -> BigUint {
        BigUint::one() << exponent
    }

    /// Numbers of irregular digits, of `bits` bits at most.
    fn irregular(bits: usize, seed: u64) -> BigUint {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let digits = (0..bits.div_ceil(32)).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 16) as u32
        });
        BigUint::new(digits.collect()) >> (bits.next_multiple_of(32) - bits)
    }

    /// Numbers without a pattern, of all lengths, with common divisors, and with quotients that
    /// no half-gcd has.
    fn pairs(bits: usize) -> Vec<(BigUint, BigUint)> {
        let (one, ones) = (BigUint::one(), power(bits) - 1u32);
        let zero = BigUint::zero();
        let mut pairs = vec![
            (zero.clone(), zero.clone()),
            (ones.clone(), zero.clone()),
            (zero, ones.clone()),
            (ones.clone(), ones.clone()),
            (ones.clone(), &ones - 1u32),
            (ones.clone(), one.clone()),
            (power(bits - 1), ones.clone()),
            (power(bits - 1), power(bits / 2 + 1)),
            (power(bits - 1) + 1u32, power(bits / 2) - 1u32),
        ];
        let (mut f, mut next) = (one.clone(), one);
        while next.bits() < bits as u64 {
            (f, next) = (next.clone(), f + next);
        }
        pairs.push((next, f));
        for seed in 0..12 {
            let length = |k: u64| bits - (seed * k * 37) as usize % (bits / 2);
            let (a, b) =
                (irregular(length(seed % 3), seed), irregular(length(seed % 2), seed + 99));
            pairs.push((a.clone(), b));
            // A common divisor of any length.
            let common = irregular(bits / 12 * seed as usize + 1, seed + 7);
            let rest = bits - common.bits() as usize;
            let cofactors = [5, 8].map(|k| irregular(rest, seed + k));
            pairs.push((&common * &cofactors[0], &common * &cofactors[1]));
            pairs.push((a, common));
        }
        // Euclid's algorithm backwards, with large quotients.
        for quotient in [40, 300, bits / 5, bits / 3] {
            let (mut x, mut y) = (irregular(70, 3), irregular(60, 4));
            while x.bits() as usize + quotient < bits {
                (x, y) = (&x * power(quotient - 1) + y, x);
            }
            pairs.push((x, y));
        }
        pairs
    }

    fn check(device: &Device, bits: usize, leaf: usize, last: usize) {
        let shape = narrowest(bits).expect("the width is built");
        assert!(is_offered(leaf));
        let (a, b): (Vec<_>, Vec<_>) = pairs(bits).into_iter().unzip();
        let batch = |values: &[BigUint]| DynBatch::from_biguints(device, shape, values).unwrap();
        let divisors = common_divisors(&batch(&a), &batch(&b), leaf, last).unwrap();
        let (inverses, without) = inverses(&batch(&a), &batch(&b), leaf, last).unwrap();
        let got = inverses.to_biguints().unwrap().into_iter().zip(without.to_bools().unwrap());
        for (row, (inverse, without)) in got.enumerate() {
            let expected = (!b[row].is_zero()).then(|| a[row].modinv(&b[row])).flatten();
            let got = (!without).then_some(inverse);
            assert_eq!(got, expected, "{}, {bits} bits, row {row}", device.name());
        }
        for (row, divisor) in divisors.to_biguints().unwrap().into_iter().enumerate() {
            assert_eq!(divisor, a[row].gcd(&b[row]), "{}, {bits} bits, row {row}", device.name());
        }
    }

    #[test]
    fn half_gcds_leave_common_divisors() {
        let device = Device::cpu();
        for bits in [2048, 4096, 8192, 12288] {
            check(&device, bits, 1024, bits / 4);
        }
        check(&device, 32768, LEAF, 1 << 14);
    }

    #[test]
    #[cfg(feature = "simt")]
    fn half_gcds_by_kernels_leave_common_divisors() {
        if let Err(error @ crate::Error::KernelMissing { .. }) = crate::rare_paths() {
            gpuint_skip::skip("cxx", error);
            return;
        }
        check(&Device::simt(), 4096, 1024, 1024);
    }

    /// Rows above 2^20 bits with long divisors, and with quotients of half their length.
    #[test]
    fn long_rows_have_common_divisors_and_inverses() {
        let device = Device::cpu();
        let bits = (1 << 20) + 64;
        let shape = device.shape_for(bits).unwrap();
        let batch = |rows: &[BigUint]| DynBatch::from_biguints(&device, shape, rows).unwrap();
        let common = irregular(bits - 20_000, 5) | BigUint::one();
        let (x, y) = (irregular(19_000, 7), irregular(18_000, 11));
        let a = batch(&[&common * &x, common.clone(), &x >> 9u32]);
        let b = batch(&[&common * &y, &common * &y, x.clone()]);
        let divisors = common_divisors(&a, &b, LEAF, LAST).unwrap();
        assert!(divisors.is_equal(&a.gcd(&b).unwrap()).unwrap());
        let half = irregular(bits / 2, 13);
        let modulus = &half * irregular(bits / 2 - 2000, 17) + (irregular(900, 19) | power(0));
        let (v, n) = (batch(&[half.clone(), &half << 70u32]), batch(&[modulus.clone(), modulus]));
        let (inverse, without) = inverses(&v, &n, LEAF, LAST).unwrap();
        let expected = v.inverse_mod(&n).unwrap();
        assert!(inverse.is_equal(&expected.0).unwrap());
        assert_eq!(without.to_bools().unwrap(), expected.1.to_bools().unwrap());
    }
}
