//! Families of sums, differences and comparisons.

use gpuint::num_bigint::BigUint;
use num_traits::{One, Zero};

use super::arithmetic::{low, minus, ones, power};
use super::family::{DRAWN, FULL_WIDTH, Family};

/// Terms of sums and differences, and operands of comparisons.
pub const SUMS: &[Family] = &[
    DRAWN,
    FULL_WIDTH,
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
