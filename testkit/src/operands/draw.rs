//! Values of the kinds that find defects, with lengths and positions that are swept.

use gpuint::Shape;
use gpuint::num_bigint::BigUint;
use num_traits::{One, Zero};

use super::arithmetic::{low, minus, ones, power};
use crate::oracle;
use crate::random::Random;

/// Widths of the operands.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Bits of an integer.
    pub bits: usize,
    /// Bits of a digit, or of another base of a row.
    pub word: usize,
    /// Digits of a thread.
    pub q: usize,
}

impl From<Shape> for Sizes {
    fn from(shape: Shape) -> Self {
        Self { bits: shape.bits, word: shape.digit.bits(), q: shape.q }
    }
}

impl Sizes {
    pub fn digits(self) -> usize {
        self.bits / self.word
    }
}

/// Draws the operands of one row.
#[derive(Debug)]
pub struct Draw {
    pub random: Random,
    pub sizes: Sizes,
    /// Number of times that this family was drawn before, which drives the sweeps.
    pub(super) turn: usize,
    /// Kinds of the drawn values, for the row's name.
    pub(super) kinds: Vec<&'static str>,
}

/// Draws a kind of value of at most `bits` bits (1 or more), with its name. Most have the top bit
/// set.
pub(super) type Kind = (&'static str, fn(&mut Draw, usize) -> BigUint);

pub(super) const KINDS: &[Kind] = &[
    ("uniform", |draw, bits| draw.random.bits(bits)),
    ("runs of 64 bits", |draw, bits| draw.runs(bits, 64, 1)),
    ("runs of 512 bits", |draw, bits| draw.runs(bits, 512, 1)),
    ("one or two runs", |draw, bits| draw.runs(bits, bits, 1)),
    ("runs of digits", |draw, bits| draw.runs(bits, 4 * draw.sizes.word, draw.sizes.word)),
    ("runs of threads", |draw, bits| {
        let thread = draw.sizes.q * draw.sizes.word;
        draw.runs(bits, 4 * thread, thread)
    }),
    ("all ones", |_, bits| ones(bits)),
    ("power of two and a little", |draw, bits| {
        let little = BigUint::from(draw.random.below(3));
        let power = power(bits - 1);
        if draw.random.one_in(2) { low(power + little, bits) } else { minus(&power, &little) }
    }),
    ("few ones", |draw, bits| draw.few_ones(bits)),
    ("few zeros", |draw, bits| ones(bits) - low(draw.few_ones(bits), bits - 1)),
    ("extreme digits", |draw, bits| {
        let extremes = draw.extremes();
        draw.digits(bits, |draw, _| draw.random.pick(&extremes))
    }),
    ("extreme digits, random others", |draw, bits| {
        let extremes = draw.extremes();
        draw.digits(bits, |draw, _| {
            let random = u128::from(draw.random.word()) << 64 | u128::from(draw.random.word());
            if draw.random.one_in(2) { draw.random.pick(&extremes) } else { random }
        })
    }),
    ("a zero third", |draw, bits| {
        let third = bits.div_ceil(3);
        let from = draw.random.below(3) * third;
        let value =
            draw.value_of(bits, &["uniform", "runs of 64 bits", "all ones", "extreme digits"]);
        let kept = low(value.clone(), from) + ((value >> (from + third)) << (from + third));
        kept | power(bits - 1)
    }),
    ("digits in turn", |draw, bits| {
        let extremes = draw.extremes();
        let pair = [draw.random.pick(&extremes), draw.random.pick(&extremes)];
        draw.digits(bits, |_, index| pair[index % 2])
    }),
    ("one byte repeated", |draw, bits| {
        let byte = draw.random.pick(&[0x72, 0x41, 0x05, 0x20, 0x55, 0xaa, 0x80, 0xfe, 0x01]);
        low(BigUint::from_bytes_le(&vec![byte; bits.div_ceil(8)]), bits)
    }),
    ("power of the base and a little", |draw, bits| {
        let power = power((bits - 1) / draw.sizes.word * draw.sizes.word);
        match draw.random.below(3) {
            0 => power - 1u32,
            1 => power,
            _ => low(power + 1u32, bits),
        }
    }),
    ("top digit a power of two", |draw, bits| {
        let rest = (bits - 1) / draw.sizes.word * draw.sizes.word;
        power(bits - 1)
            + draw.value_of(
                rest,
                &["uniform", "runs of 64 bits", "all ones", "extreme digits", "digits in turn"],
            )
    }),
];

impl Draw {
    /// Draws values that are in no row.
    #[must_use]
    pub fn new(mut random: Random, sizes: Sizes) -> Self {
        let turn = random.below(1 << 16);
        Self { random, sizes, turn, kinds: Vec::new() }
    }

    /// Draws a value of any kind below `2^bits`.
    pub fn value(&mut self, bits: usize) -> BigUint {
        let kind = self.random.below(KINDS.len());
        self.value_of_kind(bits, KINDS[kind])
    }

    /// Like [`value`](Self::value), but not 0 (unless `bits` is 0).
    pub(super) fn positive(&mut self, bits: usize) -> BigUint {
        let value = self.value(bits);
        if value.is_zero() { power(bits.max(1) - 1) } else { value }
    }

    /// Draws a value of one of these kinds below `2^bits`.
    pub(super) fn value_of(&mut self, bits: usize, kinds: &[&str]) -> BigUint {
        if bits == 0 {
            return BigUint::zero();
        }
        let name = self.random.pick(kinds);
        let kind = KINDS.iter().find(|kind| kind.0 == name);
        self.value_of_kind(bits, *kind.unwrap_or_else(|| panic!("there is no kind {name}")))
    }

    pub(super) fn value_of_kind(&mut self, bits: usize, (name, draw): Kind) -> BigUint {
        if bits == 0 {
            return BigUint::zero();
        }
        self.kinds.push(name);
        let value = draw(self, bits);
        debug_assert!(value.bits() <= bits as u64, "{name}: {} bits", value.bits());
        value
    }

    /// Digits of 16 bits with the largest balanced values, the worst case for transforms: all
    /// equal, in runs of one length, or mixed.
    pub(super) fn balanced(&mut self, bits: usize) -> BigUint {
        let run = 1 << self.random.below(12);
        let kind = self.random.below(5);
        let digits = (0..bits / 16).map(|i| match kind {
            0 => 0x8000,
            1 => 0x7fff,
            2 => 0x7fff + (i / run % 2) as u16,
            3 => 0xffff * (i / run % 2) as u16,
            _ => 0x7fff + u16::from(self.random.one_in(2)),
        });
        BigUint::from_bytes_le(&digits.flat_map(u16::to_le_bytes).collect::<Vec<_>>())
    }

    /// Runs of ones and zeros whose lengths are multiples of `unit` with the given mean; the top
    /// bit is a one.
    pub(super) fn runs(&mut self, bits: usize, mean: usize, unit: usize) -> BigUint {
        let mut value = BigUint::zero();
        let (mut end, mut one) = (bits, true);
        while end > 0 {
            // The first run also absorbs the part of the length that is not a multiple of the unit.
            let run = unit * self.random.between(1, (2 * mean / unit).max(1))
                - if end == bits { (unit - bits % unit) % unit } else { 0 };
            let start = end.saturating_sub(run);
            if one {
                value += power(end) - power(start);
            }
            (end, one) = (start, !one);
        }
        value
    }

    /// Up to four ones, the top bit among them.
    pub(super) fn few_ones(&mut self, bits: usize) -> BigUint {
        let mut value = power(bits - 1);
        for _ in 0..self.random.below(4) {
            value.set_bit(self.random.below(bits) as u64, true);
        }
        value
    }

    /// 0, 1, `B/2 - 1`, `B/2`, `B - 1` for the base `B`.
    pub(super) fn extremes(&self) -> [u128; 5] {
        let largest = u128::MAX >> (128 - self.sizes.word);
        [0, 1, largest >> 1, (largest >> 1) + 1, largest]
    }

    /// Makes a number from its digits by index, cut to `bits` bits.
    pub(super) fn digits(
        &mut self,
        bits: usize,
        mut digit: impl FnMut(&mut Self, usize) -> u128,
    ) -> BigUint {
        let bytes = self.sizes.word / 8;
        let mut value = Vec::new();
        for index in 0..bits.div_ceil(self.sizes.word) {
            value.extend_from_slice(&digit(self, index).to_le_bytes()[..bytes]);
        }
        low(BigUint::from_bytes_le(&value), bits)
    }

    /// Point of a sweep: `count` calls cover `0..count` in a scattered order.
    pub(super) fn sweep(&self, count: usize) -> usize {
        let count = count.max(1);
        let mut step = (count as f64 * 0.618) as usize | 1;
        while gcd(step, count) != 1 {
            step += 2;
        }
        (self.turn as u128 * step as u128 % count as u128) as usize
    }

    /// Digit counts of two operands, each from 1 to the maximum: every pair is swept.
    pub(super) fn digit_counts(&self) -> (usize, usize) {
        let digits = self.sizes.digits();
        let pair = self.sweep(digits * digits);
        (1 + pair / digits, 1 + pair % digits)
    }

    /// Bit length for a number of digits: with a top digit of 1, of B/2 or more, or any length.
    pub(super) fn length(&mut self, digits: usize) -> usize {
        let word = self.sizes.word;
        let any = self.random.between(1, word);
        (digits - 1) * word + self.random.pick(&[1, word - 1, word, word, any, any])
    }

    /// Bit lengths of two operands, swept independently.
    pub(super) fn lengths(&mut self) -> (usize, usize) {
        let (a, b) = self.digit_counts();
        (self.length(a), self.length(b))
    }

    /// Draws a number below `v`, which is not 0: 0, 1, `v - 1`, or near one end of the range.
    pub(super) fn remainder(&mut self, v: &BigUint) -> BigUint {
        let largest = v - 1u32;
        match self.random.below(5) {
            0 => BigUint::zero(),
            1 => largest.min(BigUint::one()),
            2 => largest,
            3 => self.random.bits(v.bits() as usize - 1),
            _ => minus(&largest, &self.random.bits(v.bits() as usize - 1)),
        }
    }

    /// `2^k / w` rounded down or up, not 0, for a `w` of some kind: its inverse is nearly `w`.
    pub(super) fn near_reciprocal(&mut self) -> BigUint {
        let (a, b) = self.lengths();
        let w = self.positive(a.min(self.sizes.bits - 1));
        let k = (w.bits() as usize + b - 1).min(self.sizes.bits - 1 + w.bits() as usize);
        let up = self.random.below(2);
        let v = low(oracle::div_rem(&power(k), &w).0 + up, self.sizes.bits);
        if v.is_zero() { BigUint::one() } else { v }
    }

    /// `q * v * 2^k` and `v`, for a quotient of at most `bits` bits and a `k` that is mostly 0;
    /// both fit the width.
    pub(super) fn multiple(&mut self, v: BigUint, bits: usize) -> [BigUint; 2] {
        let u = self.value(bits) * &v;
        let spare = self.sizes.bits - u.bits() as usize;
        let zeros = if self.random.one_in(4) { self.random.between(0, spare) } else { 0 };
        [u << zeros, v]
    }

    /// `q * v + r` for a `v` and a quotient of at most `bits` bits; cut to the width.
    pub(super) fn built(&mut self, v: BigUint, quotient_bits: usize) -> [BigUint; 2] {
        let q = self.value(quotient_bits);
        let r = self.remainder(&v);
        [low(q * &v + r, self.sizes.bits), v]
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
