//! Roots of any degree, a row at a time.
//!
//! `src/ops/root.rs` has Newton's step, its bounds and the levels, each with twice the bits of the
//! one below. On the CPU a row has levels of its own length, and one division of the length of a
//! level:
//!
//! ```text
//! bits of a level      b            b / 2 + ...            at most 40 n
//! computes             2^g s        floor(s) or 1 more     from double precision
//! ```

use super::division::{self, divide, divide_by_limb};
use super::limbs::{
    LIMB_BITS, add_assign, assign, bit_length, compare, decrement, increment, shift_left,
    shift_right, trimmed,
};
use super::product::{self, multiply, square};
use crate::backend::host::{collected, zeroed_vec};
use crate::error::Result;

/// Bits of roots that double precision gives with an error below 1.
pub(crate) const SEED_BITS: usize = 40;
/// Bits below the point of the last level.
pub(crate) const GUARD_BITS: usize = 16;

// Degrees of longer roots are below 2^15: the last level has k >= 3, and (n - 1) k >= GUARD_BITS.
const _: () = assert!(SEED_BITS >= 2 + 15 + GUARD_BITS + 6);

/// Level of a root that is longer than those of the seed.
pub(crate) struct Level {
    /// Bits of the integer whose root the level computes.
    bits: usize,
    /// Bits that a root has more than that of the level below.
    pub(crate) k: usize,
    /// Bits below the point.
    guard: usize,
}

impl Level {
    /// Returns the level of roots of degree `n` of `bits` bits; `None` for roots of the seed.
    pub(crate) fn of(bits: usize, n: usize, guard: usize) -> Option<Self> {
        if bits.div_ceil(n) <= SEED_BITS {
            return None;
        }
        Some(Self { bits, k: (bits / n - 2 - log2(n) - guard) / 2, guard })
    }

    /// Bits of the integer of the level below.
    fn bits_below(&self, n: usize) -> usize {
        self.bits - n * self.k
    }

    /// Returns the levels of roots of degree `n` of `bits` bits, the last one first.
    fn all(bits: usize, n: usize) -> Result<Vec<Self>> {
        let below = |level: &Self| Self::of(level.bits_below(n), n, 0);
        collected(std::iter::successors(Self::of(bits, n, GUARD_BITS), below))
    }
}

/// Computes the logarithm to base 2, rounded up.
pub(crate) fn log2(n: usize) -> usize {
    (usize::BITS - (n - 1).leading_zeros()) as usize
}

/// Computes the root of degree `n`, of at most [`SEED_BITS`] bits, or 1 more, of a number with the
/// leading bits `top` and `below` bits below them.
pub(crate) fn seed(top: u64, below: usize, n: usize) -> u64 {
    const SLACK: f64 = 1.0 + 1.0 / (1u64 << 42) as f64;
    let logarithm = (top as f64).log2() + below as f64;
    ((logarithm / n as f64).exp2() * SLACK) as u64
}

/// Memory for roots of integers of a length.
pub(crate) struct Roots {
    n: usize,
    /// The integer.
    a: Vec<u64>,
    x: Vec<u64>,
    power: Vec<u64>,
    /// A power on the way, the dividend.
    other: Vec<u64>,
    quotient: Vec<u64>,
    remainder: Vec<u64>,
    scratch: Vec<u64>,
}

impl Roots {
    /// Allocates memory for roots of degree `n >= 3` of integers of `bytes` bytes.
    pub(crate) fn new(bytes: usize, n: usize) -> Result<Self> {
        let limbs = bytes.div_ceil(size_of::<u64>());
        // A power of degree n of a root or 1 more has at most twice the bits, and a factor less
        // before its last product. Products have room for the limbs of both factors.
        let power = 2 * limbs + 4;
        let zeros = zeroed_vec;
        Ok(Self {
            n,
            a: zeros(limbs)?,
            x: zeros(limbs + 2)?,
            power: zeros(power)?,
            other: zeros(power)?,
            quotient: zeros(power)?,
            remainder: zeros(power)?,
            scratch: zeros(division::scratch_limbs(power) + product::scratch_limbs(power))?,
        })
    }

    /// Bytes that [`new`](Self::new) allocates.
    pub(crate) const fn bytes(bytes: usize) -> usize {
        let power = 2 * bytes.div_ceil(size_of::<u64>()) + 4;
        let scratch = division::scratch_limbs(power) + product::scratch_limbs(power);
        (6 * power + scratch) * size_of::<u64>()
    }

    /// Sets `out` to the root of `row`, rounded down, both little-endian.
    pub(crate) fn compute(&mut self, out: &mut [u8], row: &[u8]) -> Result<()> {
        for (limb, bytes) in self.a.iter_mut().zip(row.chunks(size_of::<u64>())) {
            let mut whole = [0; size_of::<u64>()];
            whole[..bytes.len()].copy_from_slice(bytes);
            *limb = u64::from_le_bytes(whole);
        }
        self.root()?;
        let bytes = self.x.iter().flat_map(|limb| limb.to_le_bytes());
        out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = byte);
        Ok(())
    }

    /// Sets `x` to the root of `a`, rounded down.
    fn root(&mut self) -> Result<()> {
        let bits = bit_length(&self.a);
        // a < 2^n
        if bits <= self.n {
            assign(&mut self.x, &[u64::from(bits > 0)]);
            return Ok(());
        }
        let levels = Level::all(bits, self.n)?;
        let below = bits - levels.last().map_or(bits, |level| level.bits_below(self.n));
        self.seed(below);
        for level in levels.iter().rev() {
            self.step(bits - level.bits, level);
        }
        let mut fraction = 0;
        if !levels.is_empty() {
            fraction = self.x[0] & ((1 << GUARD_BITS) - 1);
            let scaled = &mut self.other[..self.x.len()];
            scaled.copy_from_slice(&self.x);
            shift_right(&mut self.x, scaled, GUARD_BITS);
        }
        // With bits below the point, the root is right.
        if fraction == 0 && self.is_above() {
            decrement(&mut self.x);
        }
        Ok(())
    }

    /// Sets `x` to the root of `a` without its bits below `below`, or 1 more.
    fn seed(&mut self, below: usize) {
        let length = bit_length(&self.a) - below;
        let tail = length.saturating_sub(LIMB_BITS);
        let mut top = [0];
        shift_right(&mut top, &self.a, below + tail);
        assign(&mut self.x, &[seed(top[0], tail, self.n)]);
    }

    /// Sets `x` to the root of `a` without its bits below `below`, times `2^guard`, or 1 more: from
    /// that of the level below.
    fn step(&mut self, below: usize, &Level { bits, k, guard }: &Level) {
        let n = self.n;
        increment(&mut self.x);
        let power = self.set_power(n - 1);
        let Self { a, x, power: spare, other, quotient, remainder, scratch, .. } = self;
        // (n - 1) k >= guard
        let distance = (n - 1) * k - guard;
        let dividend = &mut other[..(bits - distance).div_ceil(LIMB_BITS)];
        shift_right(dividend, a, below + distance);
        let (quotient, remainder) = (&mut quotient[..dividend.len()], &mut remainder[..power]);
        divide(quotient, remainder, dividend, &spare[..power], scratch);
        let x_limbs = trimmed(x);
        let sum = &mut other[..x_limbs.len() + (k + guard) / LIMB_BITS + 1];
        shift_left(sum, x_limbs, k + guard);
        let (sum, quotient) = (trimmed(sum), trimmed(quotient));
        let product = &mut spare[..sum.len().max(quotient.len()) + 2];
        multiply(product, sum, &[n as u64 - 1], scratch);
        add_assign(product, quotient);
        let product = trimmed(product);
        let result = &mut other[..product.len()];
        divide_by_limb(result, product, n as u64);
        assign(x, result);
    }

    /// Returns true if the power of `x` of degree `n` is above `a`.
    fn is_above(&mut self) -> bool {
        let len = self.set_power(self.n);
        let (power, a) = (&self.power[..len], trimmed(&self.a));
        power.len().cmp(&a.len()).then_with(|| compare(power, a)).is_gt()
    }

    /// Sets the low limbs of `power` to the power of `x` of degree `n >= 2`; returns their number.
    fn set_power(&mut self, n: usize) -> usize {
        let Self { x, power, other, scratch, .. } = self;
        let x = trimmed(x);
        let mut len = x.len();
        power[..len].copy_from_slice(x);
        for bit in (0..n.ilog2()).rev() {
            square(&mut other[..2 * len], &power[..len], scratch);
            std::mem::swap(power, other);
            len = trimmed(&power[..2 * len]).len();
            if n >> bit & 1 == 1 {
                multiply(&mut other[..len + x.len()], &power[..len], x, scratch);
                std::mem::swap(power, other);
                len = trimmed(&power[..len + x.len()]).len();
            }
        }
        len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;

    fn root(a: &BigUint, n: usize) -> BigUint {
        let bytes = a.to_bytes_le();
        let mut out = vec![0; bytes.len()];
        Roots::new(bytes.len(), n).unwrap().compute(&mut out, &bytes).unwrap();
        BigUint::from_bytes_le(&out)
    }

    #[test]
    fn roots_of_powers_and_their_neighbours_are_rounded_down() {
        for n in [3, 4, 5, 7, 16, 63, 64, 65, 1000, 32769] {
            let widest = (40_000 / n).clamp(2, 3000) as u64;
            for bits in (1..widest).step_by(usize::try_from(widest / 40 + 1).unwrap()) {
                let one = BigUint::from(1u32);
                let top = &one << bits;
                for x in [top.clone(), &top - &one, &top + &one, &top * 3u32 / 2u32] {
                    let power = x.pow(n as u32);
                    assert_eq!(root(&power, n), x, "{n}, {bits}");
                    assert_eq!(root(&(&power + &one), n), x, "{n}, {bits}");
                    assert_eq!(root(&(&power - &one), n), &x - &one, "{n}, {bits}");
                }
            }
        }
    }

    #[test]
    fn small_integers_have_the_root_1() {
        for (a, expected) in [(0u32, 0u32), (1, 1), (7, 1), (8, 2), (26, 2), (27, 3)] {
            assert_eq!(root(&BigUint::from(a), 3), BigUint::from(expected));
        }
        assert_eq!(root(&(BigUint::from(1u32) << 999), usize::MAX), BigUint::from(1u32));
    }
}
