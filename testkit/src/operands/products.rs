//! Families of products.

use gpuint::num_bigint::BigUint;
use num_traits::Zero;

use super::arithmetic::{ones, power};
use super::draw::Draw;
use super::family::{DRAWN, FULL_WIDTH, Family};

/// Factors.
pub const PRODUCTS: &[Family] = &[
    DRAWN,
    ("a and b drawn", |draw| {
        let (a, b) = draw.lengths();
        [draw.value(b), draw.value(a)]
    }),
    FULL_WIDTH,
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
