//! Integers as slices of 64-bit limbs, the least significant first: sums, shifts, comparisons and
//! products by one limb.
//!
//! Loops handle [`UNROLL`] limbs at a time, so that a carry stays in the CPU's flag within a
//! block and becomes a value only between two blocks. They count by hand and call no closures:
//! `cargo test` spends most of its time here, in a build without optimization, which inlines
//! neither ranges nor `Fn`.

use std::cmp::Ordering;

/// Bits of a limb.
pub(super) const LIMB_BITS: usize = u64::BITS as usize;

/// Products of limbs that a thread computes at least before another one takes a part of its work:
/// about 10 microseconds.
pub(super) const LEAF_WORK: usize = 1 << 14;

/// Limbs of a block of a loop with carries.
const UNROLL: usize = 8;

/// One limb of a loop with carries.
trait Step {
    /// Returns the limb and the carry.
    fn step(a: u64, b: u64, carry: bool) -> (u64, bool);
}

/// `a + b + carry`.
struct Add;

impl Step for Add {
    #[inline(always)]
    fn step(a: u64, b: u64, carry: bool) -> (u64, bool) {
        let (sum, first) = a.overflowing_add(b);
        let (sum, second) = sum.overflowing_add(carry as u64);
        (sum, first | second)
    }
}

/// `a - b - borrow`.
struct Sub;

impl Step for Sub {
    #[inline(always)]
    fn step(a: u64, b: u64, borrow: bool) -> (u64, bool) {
        let (difference, first) = a.overflowing_sub(b);
        let (difference, second) = difference.overflowing_sub(borrow as u64);
        (difference, first | second)
    }
}

/// `b - a - borrow`.
struct SubFrom;

impl Step for SubFrom {
    #[inline(always)]
    fn step(a: u64, b: u64, borrow: bool) -> (u64, bool) {
        Sub::step(b, a, borrow)
    }
}

/// Sets `out[i]` to the step of `a[i]` and `b[i]` from limb to limb; returns the last carry. The
/// slices have one length.
#[inline(always)]
fn chain<S: Step>(out: &mut [u64], a: &[u64], b: &[u64]) -> bool {
    let mut carry = false;
    let (out_blocks, out_rest) = out.as_chunks_mut::<UNROLL>();
    let (a_blocks, a_rest) = a.as_chunks::<UNROLL>();
    let (b_blocks, b_rest) = b.as_chunks::<UNROLL>();
    for ((out, a), b) in out_blocks.iter_mut().zip(a_blocks).zip(b_blocks) {
        let mut i = 0;
        while i < UNROLL {
            (out[i], carry) = S::step(a[i], b[i], carry);
            i += 1;
        }
    }
    for ((out, &a), &b) in out_rest.iter_mut().zip(a_rest).zip(b_rest) {
        (*out, carry) = S::step(a, b, carry);
    }
    carry
}

/// [`chain`] with `a` as the result.
#[inline(always)]
fn chain_assign<S: Step>(a: &mut [u64], b: &[u64]) -> bool {
    let mut carry = false;
    let (a_blocks, a_rest) = a.as_chunks_mut::<UNROLL>();
    let (b_blocks, b_rest) = b.as_chunks::<UNROLL>();
    for (a, b) in a_blocks.iter_mut().zip(b_blocks) {
        let mut i = 0;
        while i < UNROLL {
            (a[i], carry) = S::step(a[i], b[i], carry);
            i += 1;
        }
    }
    for (a, &b) in a_rest.iter_mut().zip(b_rest) {
        (*a, carry) = S::step(*a, b, carry);
    }
    carry
}

/// Sets `out` to `a + b`, all of one length; returns the carry.
#[inline(never)] // Inlined into a loop over rows, the carries would leave the flag.
pub(super) fn add(out: &mut [u64], a: &[u64], b: &[u64]) -> bool {
    chain::<Add>(out, a, b)
}

/// Sets `out` to `a - b`, all of one length; returns the borrow.
#[inline(never)] // As `add`.
pub(super) fn sub(out: &mut [u64], a: &[u64], b: &[u64]) -> bool {
    chain::<Sub>(out, a, b)
}

/// Adds `b` to `a`, which is no shorter; returns the carry out of `a`.
pub(super) fn add_assign(a: &mut [u64], b: &[u64]) -> bool {
    let (low, high) = a.split_at_mut(b.len());
    chain_assign::<Add>(low, b) && increment(high)
}

/// Subtracts `b` from `a`, which is no shorter; returns the borrow out of `a`.
pub(super) fn sub_assign(a: &mut [u64], b: &[u64]) -> bool {
    let (low, high) = a.split_at_mut(b.len());
    chain_assign::<Sub>(low, b) && decrement(high)
}

/// Sets `a` to `b - a`, both of one length; returns the borrow.
pub(super) fn sub_from_assign(a: &mut [u64], b: &[u64]) -> bool {
    chain_assign::<SubFrom>(a, b)
}

/// Adds 1; returns the carry.
pub(super) fn increment(a: &mut [u64]) -> bool {
    a.iter_mut().all(|limb| {
        *limb = limb.wrapping_add(1);
        *limb == 0
    })
}

/// Subtracts 1; returns the borrow.
pub(super) fn decrement(a: &mut [u64]) -> bool {
    a.iter_mut().all(|limb| {
        let (difference, borrow) = limb.overflowing_sub(1);
        *limb = difference;
        borrow
    })
}

/// Adds a limb; returns the carry.
pub(super) fn add_limb(a: &mut [u64], limb: u64) -> bool {
    let Some((lowest, rest)) = a.split_first_mut() else { return limb != 0 };
    let (sum, carry) = lowest.overflowing_add(limb);
    *lowest = sum;
    carry && increment(rest)
}

/// Sets `out` to `|a - b|`, all of one length; returns true if `a < b`.
pub(super) fn abs_difference(out: &mut [u64], a: &[u64], b: &[u64]) -> bool {
    let is_less = compare(a, b).is_lt();
    let (greater, lesser) = if is_less { (b, a) } else { (a, b) };
    sub(out, greater, lesser);
    is_less
}

/// Compares two integers of one length.
pub(super) fn compare(a: &[u64], b: &[u64]) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

/// Adds `a * limb` to `out`, both of one length; returns the limb above.
///
/// The sums of the halves of neighbouring products make one chain of carries, and adding them to
/// `out` another: one multiplication and two additions a limb. The limb above does not wrap, since
/// `(B^n - 1) + (B^n - 1)(B - 1) < B^(n+1)`.
#[inline]
pub(super) fn add_product(out: &mut [u64], a: &[u64], limb: u64) -> u64 {
    accumulate::<Add>(out, a, limb)
}

/// Subtracts `a * limb` from `out`, both of one length; returns the limb to subtract above.
#[inline]
pub(super) fn sub_product(out: &mut [u64], a: &[u64], limb: u64) -> u64 {
    accumulate::<Sub>(out, a, limb)
}

#[inline(always)]
fn accumulate<S: Step>(out: &mut [u64], a: &[u64], limb: u64) -> u64 {
    let mut above = 0;
    let (out_blocks, out_rest) = out.as_chunks_mut::<UNROLL>();
    let (a_blocks, a_rest) = a.as_chunks::<UNROLL>();
    for (out, a) in out_blocks.iter_mut().zip(a_blocks) {
        let mut products = [0; UNROLL];
        let mut carry = false;
        let mut i = 0;
        while i < UNROLL {
            let product = a[i] as u128 * limb as u128;
            (products[i], carry) = Add::step(product as u64, above, carry);
            above = (product >> LIMB_BITS) as u64;
            i += 1;
        }
        above += u64::from(carry);
        let mut carry = false;
        let mut i = 0;
        while i < UNROLL {
            (out[i], carry) = S::step(out[i], products[i], carry);
            i += 1;
        }
        above += u64::from(carry);
    }
    for (out, &a) in out_rest.iter_mut().zip(a_rest) {
        let product = u128::from(a) * u128::from(limb) + u128::from(above);
        let carry;
        (*out, carry) = S::step(*out, product as u64, false);
        above = (product >> LIMB_BITS) as u64 + u64::from(carry);
    }
    above
}

/// Without leading zeros.
pub(super) fn trimmed(a: &[u64]) -> &[u64] {
    let zeros = a.iter().rev().take_while(|&&limb| limb == 0).count();
    &a[..a.len() - zeros]
}

/// Bits without leading zeros.
pub(super) fn bit_length(a: &[u64]) -> usize {
    let a = trimmed(a);
    a.last().map_or(0, |top| a.len() * LIMB_BITS - top.leading_zeros() as usize)
}

/// Zeros below the lowest bit that is set; `None` for zero.
pub(super) fn trailing_zeros(a: &[u64]) -> Option<usize> {
    let limb = a.iter().position(|&limb| limb != 0)?;
    Some(limb * LIMB_BITS + a[limb].trailing_zeros() as usize)
}

/// Returns the bit of this index; 0 above the integer.
pub(super) fn bit(a: &[u64], index: usize) -> bool {
    a.get(index / LIMB_BITS).is_some_and(|limb| limb >> (index % LIMB_BITS) & 1 == 1)
}

/// Sets `out` to `source` with zeros above, or to its low limbs where `out` is shorter.
pub(super) fn assign(out: &mut [u64], source: &[u64]) {
    let len = source.len().min(out.len());
    out[..len].copy_from_slice(&source[..len]);
    out[len..].fill(0);
}

/// Sets `out` to `a 2^distance` modulo the width of `out`.
pub(super) fn shift_left(out: &mut [u64], a: &[u64], distance: usize) {
    let (limbs, bits) = (distance / LIMB_BITS, distance % LIMB_BITS);
    let limbs = limbs.min(out.len());
    let (zeros, shifted) = out.split_at_mut(limbs);
    zeros.fill(0);
    if bits == 0 {
        return assign(shifted, a);
    }
    let mut below = 0;
    let len = a.len().min(shifted.len());
    for (out, &limb) in shifted.iter_mut().zip(a) {
        *out = limb << bits | below;
        below = limb >> (LIMB_BITS - bits);
    }
    if let Some((next, zeros)) = shifted[len..].split_first_mut() {
        *next = below;
        zeros.fill(0);
    }
}

/// Multiplies by `2^distance`, less than a limb, modulo the width.
pub(super) fn shift_left_assign(a: &mut [u64], distance: usize) {
    if distance == 0 {
        return;
    }
    let mut below = 0;
    for limb in a {
        let shifted = *limb << distance | below;
        below = *limb >> (LIMB_BITS - distance);
        *limb = shifted;
    }
}

/// Sets `out` to the low limbs of `a / 2^distance`, rounded down.
pub(super) fn shift_right(out: &mut [u64], a: &[u64], distance: usize) {
    let (limbs, bits) = (distance / LIMB_BITS, distance % LIMB_BITS);
    let a = a.get(limbs..).unwrap_or_default();
    if bits == 0 {
        return assign(out, a);
    }
    let len = a.len().min(out.len());
    let pairs = a.windows(2).map(|pair| pair[0] >> bits | pair[1] << (LIMB_BITS - bits));
    for (out, limb) in out.iter_mut().zip(pairs) {
        *out = limb;
    }
    if len == a.len() && len > 0 {
        out[len - 1] = a[len - 1] >> bits;
    }
    out[len..].fill(0);
}
