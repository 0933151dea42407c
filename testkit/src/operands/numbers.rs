//! Families of square roots and of Euclid's algorithm.

use gpuint::num_bigint::BigUint;
use num_traits::One;

use super::arithmetic::{low, minus, ones, power};
use super::draw::Draw;
use super::family::{DRAWN, FULL_WIDTH, Family};

/// Families of square roots: `a` is the radicand, `b` any other value.
pub const ROOTS: &[Family] = &[
    ("drawn", |draw| {
        let (a, b) = draw.lengths();
        [draw.value(a), draw.value(b)]
    }),
    FULL_WIDTH,
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
    ("a square with zeros below, and a little", |draw| {
        // A block of root that ends exactly is first one too small.
        let half = draw.sizes.bits / 2;
        let length = if draw.random.one_in(2) { half } else { 1 + draw.sweep(half) };
        let zeros = draw.random.below(length);
        let root = draw.value(length - zeros) << zeros;
        let little = draw.random.below(half);
        let little = if draw.random.one_in(2) { draw.value(little.max(1)) } else { 0u32.into() };
        [low(&root * &root + little, draw.sizes.bits), root]
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
    ("the quotient of a level is a power of two", |draw| {
        // The upper bits have the largest remainder of their root.
        let upper = draw.sizes.bits >> (1 + draw.random.below(4));
        let root = power(upper / 2 - 1) + draw.value(upper / 2 - 1);
        let a = minus(&(&root * &root), &BigUint::one()) << (draw.sizes.bits - upper);
        let rest = if draw.random.one_in(2) { draw.sizes.bits - upper } else { 0 };
        let zeros = if draw.random.one_in(2) { 2 * draw.random.below(upper / 2) } else { 0 };
        [(a + draw.value(rest)) >> zeros, root]
    }),
    ("all ones", |draw| {
        let (a, b) = draw.lengths();
        [ones(a) - draw.random.below(2).min(a), draw.value(b)]
    }),
    ("a byte", |draw| [BigUint::from(draw.sweep(300)), BigUint::one()]),
];

/// Families of roots of a degree: `a` is the radicand, `b` a degree of 1 to `BITS + 1`.
pub const POWERS: &[Family] = &[
    ("drawn", |draw| {
        let (a, _) = draw.lengths();
        let n = degree(draw);
        [draw.value(a), n.into()]
    }),
    ("a power and a little", |draw| {
        let n = degree(draw);
        let power = power_of(n, draw);
        let little = draw.random.pick(&[0u32, 0, 1, 2]);
        let a = if draw.random.one_in(2) { power + little } else { minus(&power, &little.into()) };
        [low(a, draw.sizes.bits), n.into()]
    }),
    ("a power of a power", |draw| {
        let n = draw.random.pick(&[2usize, 3, 5]);
        let power = power_of(n * draw.random.pick(&[2usize, 3, 4]), draw);
        [power, n.into()]
    }),
    ("all ones", |draw| {
        let (a, _) = draw.lengths();
        let n = degree(draw);
        [ones(a), n.into()]
    }),
    ("a byte", |draw| {
        let n = degree(draw);
        [BigUint::from(draw.sweep(300)), n.into()]
    }),
];

/// A degree: small, of a short root, or any.
fn degree(draw: &mut Draw) -> usize {
    let bits = draw.sizes.bits;
    match draw.random.below(4) {
        0 => bits / (1 + draw.random.below(70.min(bits))),
        1 => 1 + draw.random.below(bits + 1),
        _ => draw.random.pick(&[1usize, 2, 3, 3, 4, 5, 7, 10, 16, 17, 31, 65]),
    }
}

/// The power with exponent `n` of a number, of at most `BITS` bits.
fn power_of(n: usize, draw: &mut Draw) -> BigUint {
    let longest = (draw.sizes.bits / n).max(1);
    let length = if draw.random.one_in(3) { longest } else { 1 + draw.sweep(longest) };
    let power = draw.value(length).pow(n as u32);
    low(power, draw.sizes.bits)
}

/// Pairs for Euclid's algorithm: common divisors, and quotients of all lengths.
pub const EUCLID: &[Family] = &[
    DRAWN,
    FULL_WIDTH,
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
        // Near the bound at which a step on 32 or 64 leading bits is uncertain, beyond a limb, and
        // beyond a window.
        let lengths = [1, 2, 14, 15, 16, 17, 30, 31, 32, 33, 63, 64, 65, 100, 450, 600];
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

/// Images of fractions: `a` modulo `b`.
pub const FRACTIONS: &[Family] = &[
    ("a fraction within the bounds", |draw| {
        let modulus = modulus(draw);
        let half = (modulus.bits() / 2) as usize;
        let (n, d) = (draw.random.below(half.max(1)) + 1, draw.random.below(half.max(1)) + 1);
        image(draw.value(n), draw.value(d), modulus, draw)
    }),
    ("a fraction at the bounds", |draw| {
        let modulus = modulus(draw);
        let half = (modulus.bits() as usize).saturating_sub(1) / 2;
        let away = draw.random.below(3);
        let n = ones(half) - away.min(half);
        let d = ones(half) - draw.random.below(5).min(half);
        image(n, d, modulus, draw)
    }),
    ("a small denominator", |draw| {
        let modulus = modulus(draw);
        let length = draw.random.below(modulus.bits() as usize) + 1;
        let d = BigUint::from(draw.random.below(9) + 1);
        image(draw.value(length), d, modulus, draw)
    }),
    ("any pair", |draw| {
        let modulus = modulus(draw);
        let value = draw.value(modulus.bits() as usize);
        if value < modulus { [value, modulus] } else { [BigUint::one(), modulus] }
    }),
    ("zero or one", |draw| {
        let modulus = modulus(draw);
        [BigUint::from(draw.random.below(2)), modulus]
    }),
];

fn modulus(draw: &mut Draw) -> BigUint {
    let (length, _) = draw.lengths();
    draw.value(length) | BigUint::one()
}

/// `n / d` or `-n / d` modulo `m`, 0 where `d` has no inverse.
fn image(n: BigUint, d: BigUint, m: BigUint, draw: &mut Draw) -> [BigUint; 2] {
    let inverse = d.modinv(&m).unwrap_or_default();
    let image = n * inverse;
    let image = image.modpow(&BigUint::one(), &m);
    let is_negative = draw.random.one_in(2) && image != BigUint::ZERO;
    [if is_negative { &m - image } else { image }, m]
}

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
