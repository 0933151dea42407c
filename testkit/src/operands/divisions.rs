//! Families of divisions and of whole shifted inverses.

use gpuint::num_bigint::BigUint;
use num_traits::{One, Zero};

use super::arithmetic::{low, minus, ones, power};
use super::draw::Sizes;
use super::family::Family;

/// Dividends and divisors for exact division. Most divisors divide, many are even, some are 0.
pub const EXACT: &[Family] = &[
    ("u = q*v", |draw| {
        let (a, b) = draw.lengths();
        let v = draw.positive(b);
        let quotient_bits = a.min(draw.sizes.bits - b);
        draw.multiple(v, quotient_bits)
    }),
    ("u = q*v of full width", |draw| {
        let (_, b) = draw.lengths();
        let v = draw.positive(b);
        let quotient_bits = draw.sizes.bits - b;
        draw.multiple(v, quotient_bits)
    }),
    ("u = q*v, digits swept", |draw| {
        let (a, b) = draw.digit_counts();
        let v_bits = draw.length(b);
        let v = draw.positive(v_bits);
        let quotient_bits = draw.length(a).min(draw.sizes.bits - v_bits);
        draw.multiple(v, quotient_bits)
    }),
    ("v = 2^k (2^j - 1)", |draw| {
        let bits = draw.sizes.bits;
        let zeros = draw.sweep(bits);
        let length = draw.random.between(1, bits - zeros);
        draw.multiple(ones(length) << zeros, bits - zeros - length)
    }),
    ("u = q*v +- 2^k", |draw| {
        let (a, b) = draw.lengths();
        let v = draw.positive(b);
        let product = draw.value(a.min(draw.sizes.bits - b)) * &v;
        let bit = power(draw.sweep(draw.sizes.bits));
        [low(if product < bit { product + bit } else { product - bit }, draw.sizes.bits), v]
    }),
    ("u = q*v mod 2^BITS", |draw| {
        let (a, b) = draw.lengths();
        let v = draw.positive(b);
        [low(draw.value(a) * &v, draw.sizes.bits), v]
    }),
    ("u = 0", |draw| {
        let (_, b) = draw.lengths();
        [BigUint::zero(), draw.value(b)]
    }),
    ("u and v drawn", |draw| {
        let (a, b) = draw.lengths();
        [draw.value(a), draw.value(b)]
    }),
];

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
