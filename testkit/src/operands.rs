//! Generator of all operands: structured, seeded, and the same on every machine.
//!
//! Uniform operands find almost none of the known defects of big-integer code. Carries over many
//! digits, extreme quotient digits and lengths at a boundary have probability 2^-word or less. So a
//! row is drawn from a named *family*. Most families build their operands from runs of ones and
//! zeros, powers of two and extreme digits, whose lengths are swept over the whole range
//! independently of each other.
//!
//! Row `i` of a list is a function of (seed, list, shape, `i`) alone. A failure names these, so
//! that the row can be drawn again. `num-bigint` adds, subtracts, multiplies, shifts and compares
//! here, but never divides.

use gpuint::Shape;
use gpuint::num_bigint::BigUint;
use num_traits::{One, Zero};

use crate::oracle;
use crate::random::Random;

/// `2^exponent`.
pub fn power(exponent: usize) -> BigUint {
    BigUint::one() << exponent
}

/// `2^bits - 1`.
pub fn ones(bits: usize) -> BigUint {
    power(bits) - 1u32
}

/// Lowest bits of a number.
pub fn low(value: BigUint, bits: usize) -> BigUint {
    if value.bits() <= bits as u64 { value } else { value & ones(bits) }
}

/// `a - b`, or 0 if that is negative.
fn minus(a: &BigUint, b: &BigUint) -> BigUint {
    if a > b { a - b } else { BigUint::zero() }
}

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
    turn: usize,
    /// Kinds of the drawn values, for the row's name.
    kinds: Vec<&'static str>,
}

/// Draws a kind of value of at most `bits` bits (1 or more), with its name. Most have the top bit
/// set.
type Kind = (&'static str, fn(&mut Draw, usize) -> BigUint);

const KINDS: &[Kind] = &[
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
    /// Draws a value of any kind below `2^bits`.
    pub fn value(&mut self, bits: usize) -> BigUint {
        let kind = self.random.below(KINDS.len());
        self.value_of_kind(bits, KINDS[kind])
    }

    /// Like [`value`](Self::value), but not 0 (unless `bits` is 0).
    fn positive(&mut self, bits: usize) -> BigUint {
        let value = self.value(bits);
        if value.is_zero() { power(bits.max(1) - 1) } else { value }
    }

    /// Draws a value of one of these kinds below `2^bits`.
    fn value_of(&mut self, bits: usize, kinds: &[&str]) -> BigUint {
        if bits == 0 {
            return BigUint::zero();
        }
        let name = self.random.pick(kinds);
        let kind = KINDS.iter().find(|kind| kind.0 == name);
        self.value_of_kind(bits, *kind.unwrap_or_else(|| panic!("there is no kind {name}")))
    }

    fn value_of_kind(&mut self, bits: usize, (name, draw): Kind) -> BigUint {
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
    fn balanced(&mut self, bits: usize) -> BigUint {
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
    fn runs(&mut self, bits: usize, mean: usize, unit: usize) -> BigUint {
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
    fn few_ones(&mut self, bits: usize) -> BigUint {
        let mut value = power(bits - 1);
        for _ in 0..self.random.below(4) {
            value.set_bit(self.random.below(bits) as u64, true);
        }
        value
    }

    /// 0, 1, `B/2 - 1`, `B/2`, `B - 1` for the base `B`.
    fn extremes(&self) -> [u128; 5] {
        let largest = u128::MAX >> (128 - self.sizes.word);
        [0, 1, largest >> 1, (largest >> 1) + 1, largest]
    }

    /// Makes a number from its digits by index, cut to `bits` bits.
    fn digits(&mut self, bits: usize, mut digit: impl FnMut(&mut Self, usize) -> u128) -> BigUint {
        let bytes = self.sizes.word / 8;
        let mut value = Vec::new();
        for index in 0..bits.div_ceil(self.sizes.word) {
            value.extend_from_slice(&digit(self, index).to_le_bytes()[..bytes]);
        }
        low(BigUint::from_bytes_le(&value), bits)
    }

    /// Point of a sweep: `count` calls cover `0..count` in a scattered order.
    fn sweep(&self, count: usize) -> usize {
        let count = count.max(1);
        let mut step = (count as f64 * 0.618) as usize | 1;
        while gcd(step, count) != 1 {
            step += 2;
        }
        (self.turn as u128 * step as u128 % count as u128) as usize
    }

    /// Digit counts of two operands, each from 1 to the maximum: every pair is swept.
    fn digit_counts(&self) -> (usize, usize) {
        let digits = self.sizes.digits();
        let pair = self.sweep(digits * digits);
        (1 + pair / digits, 1 + pair % digits)
    }

    /// Bit length for a number of digits: with a top digit of 1, of B/2 or more, or any length.
    fn length(&mut self, digits: usize) -> usize {
        let word = self.sizes.word;
        let any = self.random.between(1, word);
        (digits - 1) * word + self.random.pick(&[1, word - 1, word, word, any, any])
    }

    /// Bit lengths of two operands, swept independently.
    fn lengths(&mut self) -> (usize, usize) {
        let (a, b) = self.digit_counts();
        (self.length(a), self.length(b))
    }

    /// Draws a number below `v`, which is not 0: 0, 1, `v - 1`, or near one end of the range.
    fn remainder(&mut self, v: &BigUint) -> BigUint {
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
    fn near_reciprocal(&mut self) -> BigUint {
        let (a, b) = self.lengths();
        let w = self.positive(a.min(self.sizes.bits - 1));
        let k = (w.bits() as usize + b - 1).min(self.sizes.bits - 1 + w.bits() as usize);
        let up = self.random.below(2);
        let v = low(oracle::div_rem(&power(k), &w).0 + up, self.sizes.bits);
        if v.is_zero() { BigUint::one() } else { v }
    }

    /// `q * v + r` for a `v` and a quotient of at most `bits` bits; cut to the width.
    fn built(&mut self, v: BigUint, quotient_bits: usize) -> [BigUint; 2] {
        let q = self.value(quotient_bits);
        let r = self.remainder(&v);
        [low(q * &v + r, self.sizes.bits), v]
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Two operands below `2^BITS`, with the family's name.
pub type Family = (&'static str, fn(&mut Draw) -> [BigUint; 2]);

/// Dividends and divisors, some of which are 0.
pub const DIVISIONS: &[Family] = &[
    ("u and v drawn", |draw| {
        let (a, b) = draw.lengths();
        // Quotients of 0 are easy: keep half of them.
        let (a, b) = if a < b && draw.random.one_in(2) { (b, a) } else { (a, b) };
        [draw.value(a), draw.positive(b)]
    }),
    ("u = q*v + r", |draw| {
        let (_, b) = draw.lengths();
        let v = draw.positive(b);
        let rest = draw.sizes.bits - b;
        let quotient_bits = draw.random.between(0, rest);
        draw.built(v, quotient_bits)
    }),
    ("u = q*v + r of full width", |draw| {
        let (_, b) = draw.lengths();
        let v = draw.positive(b);
        let rest = draw.sizes.bits - b;
        draw.built(v, rest)
    }),
    ("u = q*v + r, digits swept", |draw| {
        let (a, b) = draw.digit_counts();
        let digits = draw.sizes.digits();
        let b = if a + b > digits { digits - b + 1 } else { b };
        let v_bits = draw.length(b);
        let v = draw.positive(v_bits);
        let quotient_bits = draw.length(a).min(draw.sizes.bits - v_bits);
        draw.built(v, quotient_bits)
    }),
    ("u = q*v +- 1", |draw| {
        let (_, b) = draw.lengths();
        let v = draw.positive(b);
        let rest = draw.random.between(0, draw.sizes.bits - b);
        let product = draw.value(rest) * &v;
        let one = BigUint::one();
        [if draw.random.one_in(2) { product + one } else { minus(&product, &one) }, v]
    }),
    ("q = B^k - 1 or 2^k - 1, r = v - 1", |draw| {
        let (a, b) = draw.digit_counts();
        let word = draw.sizes.word;
        let v_bits = draw.length(b);
        let v = draw.positive(v_bits);
        let rest = draw.sizes.bits - v_bits;
        let k = if draw.random.one_in(2) { a * word } else { draw.random.between(0, rest) };
        let u = ones(k.min(rest)) * &v + &v - 1u32;
        [u, v]
    }),
    ("v = 2B^k - 1, u = v*B/2", |draw| {
        let word = draw.sizes.word;
        let digits = draw.sizes.digits();
        // u has k + 1 digits, and may be moved up.
        let k = draw.sweep(digits - 1);
        let v = (power(k * word) << 1) - 1u32;
        let u = &v << (word - 1);
        let spare = digits - k - 1;
        let u = match draw.random.below(6) {
            0 | 1 => u,
            2 => u + power(word - 2),
            3 => u + draw.remainder(&v),
            4 => power((k + 1) * word) - 1u32,
            _ => (u << (draw.random.between(0, spare) * word)) + draw.remainder(&v),
        };
        [low(u, draw.sizes.bits), v]
    }),
    ("v = 2B^k - 1, u = B^h - c", |draw| {
        let word = draw.sizes.word;
        let (h, k) = draw.digit_counts();
        let v = (power((k - 1) * word) << 1) - 1u32;
        let c = draw.random.pick(&[1, word, word - 1, word - 2]);
        let c = if c == 1 { BigUint::one() } else { power(c) };
        [minus(&power(h * word), &c.min(power(word) - 1u32)), v]
    }),
    ("v = (B/2)B^k + B^j - 1, u = 3v - 1", |draw| {
        let word = draw.sizes.word;
        let k = draw.sweep(draw.sizes.digits());
        let j = draw.random.between(0, k);
        let v = power(k * word + word - 1) + power(j * word) - 1u32;
        let times = draw.random.pick(&[3u32, 3, 3, 3, 1, 2, 5, 7]);
        let u = &v * times - 1u32;
        let spare = draw.sizes.bits.saturating_sub(u.bits() as usize);
        let u = if draw.random.one_in(3) && spare > 0 {
            (u << draw.random.between(0, spare)) + draw.remainder(&v)
        } else {
            u
        };
        [low(u, draw.sizes.bits), v]
    }),
    ("2v = B^h", |draw| {
        let word = draw.sizes.word;
        let h = 1 + draw.sweep(draw.sizes.digits());
        let v = power(h * word - 1);
        let (a, _) = draw.lengths();
        let multiple = &v << draw.random.between(0, draw.sizes.bits - h * word);
        let u = match draw.random.below(5) {
            0 => multiple,
            1 => multiple - 1u32,
            2 => multiple + draw.remainder(&v),
            3 => ones(draw.sizes.bits),
            _ => draw.value(a),
        };
        [u, v]
    }),
    ("v = B^k or B^k +- 1", |draw| {
        let word = draw.sizes.word;
        let k = draw.sweep(draw.sizes.digits());
        let base = power(k * word);
        let v = match draw.random.below(3) {
            0 if k > 0 => base - 1u32,
            1 => base + 1u32,
            _ => base,
        };
        let rest = draw.sizes.bits - v.bits() as usize;
        match draw.random.below(4) {
            0 => [ones(draw.sizes.bits), v],
            1 => [&v << draw.random.between(0, rest), v],
            _ => draw.built(v, rest),
        }
    }),
    ("v = 2^k or 2^k +- 1", |draw| {
        let k = 1 + draw.sweep(draw.sizes.bits - 1);
        let v = match draw.random.below(3) {
            0 => power(k) - 1u32,
            1 => power(k) + 1u32,
            _ => power(k),
        };
        let rest = draw.sizes.bits - v.bits() as usize;
        match draw.random.below(4) {
            0 => [ones(draw.sizes.bits), v],
            1 => [power(draw.random.between(0, draw.sizes.bits - 1)), v],
            _ => draw.built(v, rest),
        }
    }),
    ("v = B - 1", |draw| {
        let v = ones(draw.sizes.word);
        let digits = 1 + draw.sweep(draw.sizes.digits());
        match draw.random.below(3) {
            0 => [ones(digits * draw.sizes.word), v],
            1 => [power(digits * draw.sizes.word - 1), v],
            _ => draw.built(v, (digits - 1) * draw.sizes.word),
        }
    }),
    ("v of one digit", |draw| {
        let word = draw.sizes.word;
        let small = draw.random.pick(&[1u32, 2, 3, 5, 7, 10, 255, 256, 257]).into();
        let extreme = draw.random.pick(&draw.extremes()).max(1).into();
        let bits = draw.random.between(1, word);
        let any = draw.random.bits(bits) + 1u32;
        let v = [small, extreme, low(any, word)][draw.random.below(3)].clone();
        let v = if v.is_zero() { BigUint::one() } else { v };
        let (a, _) = draw.lengths();
        if draw.random.one_in(2) {
            [draw.value(a), v]
        } else {
            draw.built(v, a.saturating_sub(word))
        }
    }),
    ("M - 1 and M digits over 2 and 3", |draw| {
        let Sizes { bits, word, .. } = draw.sizes;
        let v_bits = bits.min(word + draw.random.between(1, 2 * word));
        let v = if draw.random.one_in(4) {
            low(power(word) * 3u32 + 5u32, bits)
        } else {
            draw.positive(v_bits)
        };
        let missing = if bits > word { draw.random.below(2) * word } else { 0 };
        match draw.random.below(3) {
            0 => [ones(bits - missing), v],
            1 => [draw.value(bits - missing), v],
            _ => {
                let quotient_bits = (bits - missing).saturating_sub(v.bits() as usize);
                draw.built(v, quotient_bits)
            }
        }
    }),
    ("8 digits and neighbours", |draw| {
        let word = draw.sizes.word;
        let most = draw.sizes.digits().min(9);
        let u_digits = draw.random.between(most.saturating_sub(2).max(1), most);
        let v_digits = 1 + draw.sweep(u_digits);
        let v_bits = draw.length(v_digits);
        let v = draw.positive(v_bits);
        if draw.random.one_in(2) {
            [draw.value(u_digits * word), v]
        } else {
            draw.built(v, u_digits * word - v_bits)
        }
    }),
    ("missing guard: v = 2^(n-1) + 1 or + 2^(n/2) - 1", |draw| {
        let n = 2 + draw.sweep(draw.sizes.bits - 1);
        let v = power(n - 1)
            + match draw.random.below(3) {
                0 => BigUint::one(),
                1 => power(n / 2) - 1u32,
                _ => ones(draw.random.between(1, n - 1)),
            };
        let k = draw.random.between(0, draw.sizes.bits - n);
        [ones(k) * &v + &v - 1u32, v]
    }),
    ("top of u near the top of v", |draw| {
        let (_, b) = draw.lengths();
        let v = draw.positive(b);
        let k = draw.random.between(0, draw.sizes.bits - b);
        let shifted = &v << k;
        let little = draw.random.between(0, k);
        let little = draw.value(little);
        let u = if draw.random.one_in(2) { shifted + little } else { minus(&shifted, &little) };
        [low(u, draw.sizes.bits), v]
    }),
    ("a multiple of v, or nearly, and digits below it", |draw| {
        // The remainder of the top part of u is almost 0, or almost v.
        let (_, b) = draw.lengths();
        let v = draw.positive(b);
        let above = draw.random.between(0, draw.sizes.bits - b);
        let below = draw.random.between(0, draw.sizes.bits - b - above);
        let below = match draw.random.below(3) {
            0 => below,
            _ => below / draw.sizes.word * draw.sizes.word,
        };
        let multiple = draw.value(above) * &v;
        let little = BigUint::from(draw.random.below(3));
        let top = if draw.random.one_in(2) { multiple + little } else { minus(&multiple, &little) };
        [low((top << below) + draw.value(below), draw.sizes.bits), v]
    }),
    ("quotient digit estimated as B", |draw| {
        // u = v*B^k - c and the top digits of both agree.
        let (_, b) = draw.lengths();
        let v = draw.positive(b);
        let k = (draw.sizes.bits - b) / draw.sizes.word;
        let k = draw.random.between(0, k);
        let c = draw.remainder(&v) + 1u32;
        [minus(&(&v << (k * draw.sizes.word)), &c), v]
    }),
    ("equal leading digits", |draw| {
        let (a, b) = draw.digit_counts();
        let (a, b) = (a.max(b), a.min(b));
        let word = draw.sizes.word;
        let top_bits = draw.length(b);
        let top = draw.positive(top_bits);
        let shared = draw.random.between(0, top_bits);
        let v = ((&top >> shared) << shared) + draw.value(shared);
        let v = if v.is_zero() { BigUint::one() } else { v };
        let up = (a - b) * word;
        [(top << up) + draw.value(up), v]
    }),
    ("zero low digits", |draw| {
        let (a, b) = draw.lengths();
        let (a, b) = (a.max(b), a.min(b));
        let low_a = draw.random.between(0, a - 1);
        let low_b = draw.random.between(0, b - 1).min(low_a);
        let v = draw.positive(b - low_b) << low_b;
        let u = if draw.random.one_in(2) {
            (draw.value(a - b) * (&v >> low_b)) << low_b
        } else {
            draw.value(a - low_a) << low_a
        };
        [u, v]
    }),
    ("reciprocal near an integer", |draw| {
        // v * w is just below or just above a power of two, for a w of any kind.
        let v = draw.near_reciprocal();
        let rest = draw.sizes.bits - v.bits() as usize;
        match draw.random.below(3) {
            0 => [power(draw.random.between(0, draw.sizes.bits - 1)), v],
            1 => [power(draw.random.between(1, draw.sizes.bits)) - 1u32, v],
            _ => draw.built(v, rest),
        }
    }),
    ("u = 2^BITS - 1", |draw| {
        let b = 1 + draw.sweep(draw.sizes.bits);
        [ones(draw.sizes.bits), draw.positive(b)]
    }),
    ("u = v or nearly", |draw| {
        let (_, b) = draw.lengths();
        let v = draw.positive(b);
        let little = draw.random.pick(&[0u32, 1, 2]);
        let u = if draw.random.one_in(2) { &v + little } else { minus(&v, &little.into()) };
        [low(u, draw.sizes.bits), v]
    }),
    ("u < v", |draw| {
        let (_, b) = draw.lengths();
        let v = draw.positive(b);
        [draw.remainder(&v), v]
    }),
    ("v = 1", |draw| {
        let (a, _) = draw.lengths();
        [draw.value(a), BigUint::one()]
    }),
    ("v = 2^BITS - 1", |draw| {
        let (a, _) = draw.lengths();
        let u = if draw.random.one_in(2) { ones(draw.sizes.bits) } else { draw.value(a) };
        [u, ones(draw.sizes.bits)]
    }),
    ("u = 0", |draw| {
        let (_, b) = draw.lengths();
        [BigUint::zero(), draw.positive(b)]
    }),
    ("v = 0", |draw| {
        let (a, _) = draw.lengths();
        let u = draw.random.pick(&[0u32, 1, 2]);
        let u = if u == 2 { draw.value(a) } else { BigUint::from(u) };
        [u, BigUint::zero()]
    }),
    ("uniform, all lengths", |draw| {
        let (a, b) = draw.lengths();
        [draw.random.bits(a.max(b)), draw.random.bits(a.min(b)) + 1u32]
    }),
];

/// Divisors for whole shifted inverses, in the first place; the second is not used.
pub const INVERSES: &[Family] = &[
    ("v drawn", |draw| {
        let (a, _) = draw.lengths();
        [draw.positive(a), BigUint::zero()]
    }),
    ("reciprocal near an integer", |draw| [draw.near_reciprocal(), BigUint::zero()]),
    ("v = B^k or B^k +- 1", |draw| {
        let base = power(draw.sweep(draw.sizes.digits()) * draw.sizes.word);
        let v = match draw.random.below(3) {
            0 if base > BigUint::one() => base - 1u32,
            1 => base + 1u32,
            _ => base,
        };
        [v, BigUint::zero()]
    }),
    ("v = 2^k or 2^k +- 1", |draw| {
        let base = power(1 + draw.sweep(draw.sizes.bits - 1));
        let v = match draw.random.below(3) {
            0 => base - 1u32,
            1 => base + 1u32,
            _ => base,
        };
        [v, BigUint::zero()]
    }),
    ("v = 2B^k - 1", |draw| {
        let k = draw.sweep(draw.sizes.digits());
        [(power(k * draw.sizes.word) << 1) - 1u32, BigUint::zero()]
    }),
    ("v = (B/2)B^k + B^j - 1", |draw| {
        let word = draw.sizes.word;
        let (a, b) = draw.digit_counts();
        let (k, j) = (a.max(b) - 1, a.min(b) - 1);
        [power(k * word + word - 1) + power(j * word) - 1u32, BigUint::zero()]
    }),
    ("small v", |draw| {
        let v = low(BigUint::from(draw.random.word() >> draw.random.below(64)), draw.sizes.word);
        [if v.is_zero() { BigUint::one() } else { v }, BigUint::zero()]
    }),
    ("all ones", |draw| {
        let (a, _) = draw.lengths();
        [ones(a), BigUint::zero()]
    }),
];

/// Factors.
pub const PRODUCTS: &[Family] = &[
    ("a and b drawn", |draw| {
        let (a, b) = draw.lengths();
        [draw.value(a), draw.value(b)]
    }),
    ("a and b drawn", |draw| {
        let (a, b) = draw.lengths();
        [draw.value(b), draw.value(a)]
    }),
    ("full width", |draw| {
        let bits = draw.sizes.bits;
        [draw.value(bits), draw.value(bits)]
    }),
    ("all ones", |draw| {
        let (a, b) = draw.lengths();
        [ones(a), ones(b)]
    }),
    ("all ones of full width", |draw| {
        let (a, _) = draw.lengths();
        let bits = draw.sizes.bits;
        [ones(bits), if draw.random.one_in(2) { ones(bits) } else { draw.value(a) }]
    }),
    ("product at the end of the width", |draw| {
        let bits = draw.sizes.bits;
        let k = 1 + draw.sweep(bits - 2);
        let near = |draw: &mut Draw, k: usize| match draw.random.below(3) {
            0 => power(k) - 1u32,
            1 => power(k),
            _ => power(k) + 1u32,
        };
        [near(draw, k), near(draw, bits - k)]
    }),
    ("powers of two", |draw| {
        let bits = draw.sizes.bits;
        let k = draw.sweep(bits);
        [power(k), power(draw.random.below(bits))]
    }),
    ("a carry through a run of ones", |draw| {
        // a + a * 2^k: two ones meet at bit `at`, and k bits of the sum above it are ones.
        let bits = draw.sizes.bits;
        let at = 1 + draw.sweep(bits - 1);
        let k = 1 + draw.random.below(at);
        let mut pair = [ones(bits) - ones(at) + power(at - k), power(k) + 1u32];
        pair.rotate_left(draw.random.below(2));
        pair
    }),
    ("a square", |draw| {
        let (a, _) = draw.lengths();
        let value = draw.value(a);
        [value.clone(), value]
    }),
    ("a square of full width", |draw| {
        let value = draw.value(draw.sizes.bits);
        [value.clone(), value]
    }),
    ("thirds", |draw| {
        let bits = draw.sizes.bits;
        [draw.value_of(bits, &["a zero third"]), draw.value_of(bits, &["a zero third"])]
    }),
    ("extreme digits", |draw| {
        let (a, b) = draw.lengths();
        [
            draw.value_of(a, &["extreme digits", "digits in turn"]),
            draw.value_of(b, &["extreme digits", "digits in turn"]),
        ]
    }),
    ("balanced digits of 16 bits at their limits", |draw| {
        let bits = draw.sizes.bits;
        [draw.balanced(bits), draw.balanced(bits)]
    }),
    ("one digit", |draw| {
        let (a, _) = draw.lengths();
        let digit = draw.random.pick(&draw.extremes());
        [draw.value(a), digit.into()]
    }),
    ("uniform", |draw| [draw.random.bits(draw.sizes.bits), draw.random.bits(draw.sizes.bits)]),
    ("zero", |draw| {
        let (a, _) = draw.lengths();
        let mut pair = [draw.value(a), BigUint::zero()];
        pair.rotate_left(draw.random.below(2));
        pair
    }),
];

/// Terms of sums and differences, and operands of comparisons.
pub const SUMS: &[Family] = &[
    ("a and b drawn", |draw| {
        let (a, b) = draw.lengths();
        [draw.value(a), draw.value(b)]
    }),
    ("full width", |draw| {
        let bits = draw.sizes.bits;
        [draw.value(bits), draw.value(bits)]
    }),
    ("a carry from one bit to another", |draw| {
        // Ones from bit `from` to bit `to`, and no carries above or below.
        let bits = draw.sizes.bits;
        let pair = draw.sweep(bits * bits);
        let (i, j) = (pair % bits, pair / bits);
        let (from, to) = (i.min(j), i.max(j) + 1);
        let chain = power(to) - power(from);
        let noise = draw.random.bits(bits);
        let above = if to < bits { (&noise >> (to + 1)) << (to + 1) } else { BigUint::zero() };
        let below = low(noise, from);
        let mut pair = [chain + above + below, power(from)];
        pair.rotate_left(draw.random.below(2));
        pair
    }),
    ("a carry between digits", |draw| {
        let word = draw.sizes.word;
        let (a, b) = draw.digit_counts();
        let (from, to) = ((a.min(b) - 1) * word, a.max(b) * word);
        let chain = power(to) - power(from);
        let mut pair = [chain, power(from)];
        pair.rotate_left(draw.random.below(2));
        pair
    }),
    ("a carry or a borrow over all digits", |draw| {
        let bits = draw.sizes.bits;
        let one = BigUint::one();
        match draw.random.below(6) {
            0 => [ones(bits), one],
            1 => [BigUint::zero(), one],
            2 => [one, ones(bits)],
            3 => [ones(bits), ones(bits)],
            4 => [power(bits - 1), power(bits - 1)],
            _ => [power(bits - 1), one],
        }
    }),
    ("the sum is all ones or one more", |draw| {
        // All digits propagate a carry: a value and its complement.
        let (a, _) = draw.lengths();
        let value = draw.value(a);
        let rest = ones(draw.sizes.bits) - &value;
        let more = draw.random.below(2);
        if value.is_zero() { [value, rest] } else { [value, rest + more] }
    }),
    ("equal", |draw| {
        let (a, _) = draw.lengths();
        let value = draw.value(a);
        [value.clone(), value]
    }),
    ("different in one bit", |draw| {
        let (a, _) = draw.lengths();
        let value = draw.value(a);
        let mut other = value.clone();
        let bit = draw.sweep(draw.sizes.bits) as u64;
        other.set_bit(bit, !value.bit(bit));
        [value, other]
    }),
    ("different in two bits, opposite ways", |draw| {
        let pair = draw.sweep(draw.sizes.bits * draw.sizes.bits);
        let (i, j) = ((pair % draw.sizes.bits) as u64, (pair / draw.sizes.bits) as u64);
        let value = draw.value(draw.sizes.bits);
        let (mut a, mut b) = (value.clone(), value);
        a.set_bit(i, true);
        b.set_bit(i, false);
        a.set_bit(j, false);
        b.set_bit(j, true);
        [a, b]
    }),
    ("off by one", |draw| {
        let (a, _) = draw.lengths();
        let value = draw.value(a);
        let mut pair = [minus(&value, &BigUint::one()), value];
        pair.rotate_left(draw.random.below(2));
        pair
    }),
    ("power of two and the one below", |draw| {
        let k = draw.sweep(draw.sizes.bits);
        let mut pair = [power(k), power(k) - 1u32];
        pair.rotate_left(draw.random.below(2));
        pair
    }),
    ("zero", |draw| {
        let (a, _) = draw.lengths();
        let mut pair = [draw.value(a), BigUint::zero()];
        pair.rotate_left(draw.random.below(2));
        pair
    }),
    ("extreme digits", |draw| {
        let (a, b) = draw.lengths();
        [
            draw.value_of(a, &["extreme digits", "digits in turn"]),
            draw.value_of(b, &["extreme digits", "digits in turn"]),
        ]
    }),
];

/// Families of square roots: `a` is the radicand, `b` any other value.
pub const ROOTS: &[Family] = &[
    ("drawn", |draw| {
        let (a, b) = draw.lengths();
        [draw.value(a), draw.value(b)]
    }),
    ("full width", |draw| {
        let bits = draw.sizes.bits;
        [draw.value(bits), draw.value(bits)]
    }),
    ("a square and a little", |draw| {
        let half = draw.sizes.bits / 2;
        let length = if draw.random.one_in(3) { half } else { 1 + draw.sweep(half) };
        let root = draw.value(length);
        let square = &root * &root;
        let little = draw.random.pick(&[0u32, 1, 2]);
        let a =
            if draw.random.one_in(2) { square + little } else { minus(&square, &little.into()) };
        [low(a, draw.sizes.bits), root]
    }),
    ("the largest remainder", |draw| {
        let half = draw.sizes.bits / 2;
        let length = if draw.random.one_in(3) { half } else { 1 + draw.sweep(half) };
        let root = draw.value(length);
        [&root * &root + &root + &root, root]
    }),
    ("the upper half of the root is all ones", |draw| {
        // The quotient of the last step may have a bit too many.
        let half = draw.sizes.bits / 2;
        let below = draw.random.below(half);
        let root = ones(half) - draw.value(below.max(1));
        let square = &root * &root;
        let rest = draw.value(half);
        let shift = 2 * draw.random.below(half / 2);
        [low(square + rest, draw.sizes.bits) >> shift, root]
    }),
    ("all ones", |draw| {
        let (a, b) = draw.lengths();
        [ones(a) - draw.random.below(2).min(a), draw.value(b)]
    }),
    ("a byte", |draw| [BigUint::from(draw.sweep(300)), BigUint::one()]),
];

/// Pairs for Euclid's algorithm: common divisors, and quotients of all lengths.
pub const EUCLID: &[Family] = &[
    ("a and b drawn", |draw| {
        let (a, b) = draw.lengths();
        [draw.value(a), draw.value(b)]
    }),
    ("full width", |draw| {
        let bits = draw.sizes.bits;
        [draw.value(bits), draw.value(bits)]
    }),
    ("a common divisor", |draw| {
        let bits = draw.sizes.bits;
        let common = draw.random.below(bits - 1) + 1;
        let divisor = draw.value(common);
        let (a, b) = (draw.random.bits(bits - common + 1), draw.random.bits(bits - common + 1));
        [low(&divisor * a, bits), low(divisor * b, bits)]
    }),
    ("a multiple", |draw| {
        let bits = draw.sizes.bits;
        let length = draw.random.below(bits - 1) + 1;
        let divisor = draw.value(length);
        let mut pair = [&divisor * draw.value(bits - length), divisor];
        pair.rotate_left(draw.random.below(2));
        pair
    }),
    ("equal", |draw| {
        let (a, _) = draw.lengths();
        let value = draw.value(a);
        [value.clone(), value]
    }),
    ("Fibonacci neighbours", |draw| {
        // As many quotients of 1 as fit, from a drawn pair.
        let first = [draw.random.below(9) + 1, draw.random.below(9) + 1];
        let bits = draw.random.below(draw.sizes.bits - 8) + 8;
        quotients(bits, first, |_| BigUint::one(), draw)
    }),
    ("quotients of a length", |draw| {
        // Near the bound at which a step on 32 or 64 leading bits is uncertain, and beyond a limb.
        let lengths = [1, 2, 14, 15, 16, 17, 30, 31, 32, 33, 63, 64, 65, 100];
        let length = draw.random.pick(&lengths).min(draw.sizes.bits / 2);
        let bits = draw.sizes.bits;
        quotients(bits, [1, 0], |draw| draw.random.bits(length) | power(length - 1), draw)
    }),
    ("quotients of many lengths", |draw| {
        let bits = draw.sizes.bits;
        let longest = bits / 2;
        let quotient = |draw: &mut Draw| {
            let length = draw.random.pick(&[1, 1, 2, 3, 16, 31, 33, 64, 90]).min(longest);
            draw.random.bits(length) | power(length - 1)
        };
        quotients(bits, [1, 0], quotient, draw)
    }),
    ("the same leading bits", |draw| {
        let bits = draw.sizes.bits;
        let value = draw.value(bits);
        let short = draw.random.below(bits - 1) + 1;
        let difference = draw.random.bits(short);
        [minus(&value, &difference), value]
    }),
    ("a few bits", |draw| {
        let pair = draw.sweep(64 * 64);
        [BigUint::from(pair % 64), BigUint::from(pair / 64)]
    }),
    ("zero or one", |draw| {
        let (a, _) = draw.lengths();
        let other = BigUint::from(draw.random.below(2));
        let mut pair = [draw.value(a), other];
        pair.rotate_left(draw.random.below(2));
        pair
    }),
    ("powers of two", |draw| {
        let (i, j) = (draw.sweep(draw.sizes.bits), draw.random.below(draw.sizes.bits));
        let pair = [power(i), power(j)];
        if draw.random.one_in(2) { pair } else { pair.map(|value| value - 1u32) }
    }),
];

/// The pair with these quotients, from the last one on, while it has at most `bits` bits.
fn quotients(
    bits: usize,
    first: [usize; 2],
    mut quotient: impl FnMut(&mut Draw) -> BigUint,
    draw: &mut Draw,
) -> [BigUint; 2] {
    let mut pair = first.map(BigUint::from);
    loop {
        let next = quotient(draw) * &pair[0] + &pair[1];
        if next.bits() > bits as u64 {
            break;
        }
        let [first, _] = pair;
        pair = [next, first];
    }
    pair.rotate_left(draw.random.below(2));
    pair
}

/// One row of a list.
#[derive(Debug, Clone)]
pub struct Row {
    /// Index in the list.
    pub index: usize,
    pub a: BigUint,
    pub b: BigUint,
    family: &'static str,
    kinds: Vec<&'static str>,
}

impl Row {
    /// The family, with the kinds of its values.
    pub fn family(&self) -> String {
        match &self.kinds[..] {
            [] => self.family.to_owned(),
            kinds => format!("{} [{}]", self.family, kinds.join(", ")),
        }
    }
}

/// A row that is given, not drawn.
pub fn row(family: &'static str, index: usize, a: BigUint, b: BigUint) -> Row {
    Row { index, a, b, family, kinds: Vec::new() }
}

/// Returns these rows of the list of some families.
pub fn rows(
    seed: u64,
    families: &[Family],
    sizes: Sizes,
    range: impl IntoIterator<Item = usize>,
) -> Vec<Row> {
    let bases = bases(sizes);
    range
        .into_iter()
        .map(|index| {
            let (family, draw) = families[index % families.len()];
            let turn = index / families.len();
            let random = random(seed, family, sizes, index);
            let (base, note) = bases[turn % bases.len()];
            let mut drawing = Draw {
                random,
                sizes: Sizes { word: base, ..sizes },
                turn: turn / bases.len(),
                kinds: note.into_iter().collect(),
            };
            let [a, b] = draw(&mut drawing);
            assert!(
                a.bits().max(b.bits()) <= sizes.bits as u64,
                "family \"{family}\" at row {index} is too wide for {sizes:?}"
            );
            Row { index, a, b, family, kinds: drawing.kinds }
        })
        .collect()
}

/// Bases of rows, in turn: the base of the digits, and the base of four machine words of the
/// multiplier (16 bits for 16-bit digits, else 32), in which the kernels work.
fn bases(sizes: Sizes) -> Vec<(usize, Option<&'static str>)> {
    let four_limbs = 4 * sizes.word.min(32);
    let mut bases = vec![(sizes.word, None)];
    if four_limbs <= sizes.bits / 2 {
        bases.push((four_limbs, Some("base of four limbs")));
    }
    bases
}

/// Generator of one row: all lists, shapes and rows have different ones.
fn random(seed: u64, family: &str, sizes: Sizes, index: usize) -> Random {
    let mut random = Random::new(seed);
    let name = family.bytes().fold(0u64, |name, byte| name.wrapping_mul(257) + u64::from(byte));
    for part in [name, sizes.bits as u64, sizes.word as u64, sizes.q as u64, index as u64] {
        random = Random::new(random.word() ^ part);
    }
    random
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SIZES: [Sizes; 4] = [
        Sizes { bits: 64, word: 64, q: 1 },
        Sizes { bits: 192, word: 16, q: 3 },
        Sizes { bits: 512, word: 32, q: 2 },
        Sizes { bits: 1024, word: 64, q: 4 },
    ];

    fn draw(sizes: Sizes, turn: usize) -> Draw {
        Draw { random: Random::new(turn as u64), sizes, turn, kinds: Vec::new() }
    }

    #[test]
    fn values_of_every_kind_fit_and_most_are_as_long_as_asked() {
        let (mut values, mut long) = (0, 0);
        for sizes in SIZES {
            for bits in 1..=sizes.bits {
                for &kind in KINDS {
                    let (name, _) = kind;
                    let length = draw(sizes, bits).value_of_kind(bits, kind).bits();
                    assert!(length <= bits as u64, "{name}: {length} of {bits} bits");
                    values += 1;
                    long += usize::from(length == bits as u64);
                }
            }
        }
        assert!(long * 4 > values * 3, "{long} of {values}");
    }

    #[test]
    fn rows_fit_and_are_the_same_every_time() {
        for families in [DIVISIONS, PRODUCTS, SUMS, INVERSES] {
            for sizes in SIZES {
                let once = rows(7, families, sizes, 0..2000);
                let again = rows(7, families, sizes, (0..2000).rev());
                let other = rows(8, families, sizes, 0..2000);
                let values = |row: &Row| (row.a.clone(), row.b.clone());
                assert!(once.iter().map(values).eq(again.iter().rev().map(values)));
                assert!(once.iter().map(values).ne(other.iter().map(values)));
            }
        }
    }

    #[test]
    fn every_pair_of_lengths_is_swept() {
        let sizes = Sizes { bits: 512, word: 32, q: 1 };
        let pairs: BTreeSet<_> = (0..256).map(|turn| draw(sizes, turn).digit_counts()).collect();
        assert_eq!(pairs.len(), 256);
        let lengths: BTreeSet<_> = rows(1, DIVISIONS, sizes, 0..60_000)
            .iter()
            .map(|row| (row.a.bits().div_ceil(32), row.b.bits().div_ceil(32)))
            .collect();
        assert_eq!(lengths.len(), 17 * 17, "0 to 16 digits each");
    }

    /// The rows on which the published algorithm needs more corrections than it makes.
    #[test]
    fn published_counterexamples_are_drawn() {
        for word in [16, 32, 64] {
            let sizes = Sizes { bits: 16 * word, word, q: 1 };
            let drawn: BTreeSet<_> = rows(1, DIVISIONS, sizes, 0..40_000)
                .into_iter()
                .map(|row| (row.a, row.b))
                .collect();
            for k in 1..15 {
                let v: BigUint = (power(k * word) << 1) - 1u32;
                assert!(drawn.contains(&(&v << (word - 1), v.clone())), "v*B/2, {word}, {k}");
                assert!(drawn.contains(&(ones((k + 1) * word), v.clone())), "B^k - 1, {word}, {k}");
                let near = (0..=k).any(|j| {
                    let v = power(k * word + word - 1) + power(j * word) - 1u32;
                    drawn.contains(&(&v * 3u32 - 1u32, v))
                });
                assert!(near, "3v - 1, {word}, {k}");
            }
        }
    }
}
