//! Products of wide integers by number-theoretic transforms.
//!
//! The digits of 16 bits of the factors are coefficients of polynomials, whose product modulo
//! `x^N - 1` is computed in the field of `p = 2^64 - 2^32 + 1` elements: it has roots of unity of
//! order `N = 2^k` and `3 2^k`, and `2^64 = 2^32 - 1`, `2^96 = -1` reduce a product of two words
//! without a division (J. M. Pollard, 1971; J. A. Solinas, 1999). A coefficient is a sum of at most
//! `N` products of two digits, so it is exact where
//!
//! ```text
//! N (2^16 - 1)^2 < 2^31 2^32 < p
//! ```
//!
//! `N` is at least the digits of the whole product, or exactly the digits of `2^(16 N) - 1`, modulo
//! which the product then is. Forward transforms halve the frequencies (W. M. Gentleman and G.
//! Sande, 1966), inverse ones the indices (J. W. Cooley and J. W. Tukey, 1965), so that neither
//! sorts. They descend depth first: parts that fit in the cache are transformed there.

use std::array;

use crate::backend::host::zeroed_vec;

const P: u64 = 0xffff_ffff_0000_0001;
/// `2^64` modulo [`P`].
const EPSILON: u64 = 0xffff_ffff;
/// Generates the multiplicative group.
const GENERATOR: u64 = 7;

const DIGIT_BITS: u32 = 16;
const LIMB_DIGITS: usize = (u64::BITS / DIGIT_BITS) as usize;
const MAX_POINTS: usize = 1 << 31;
/// Points of a part in the first cache.
const PART: usize = 1 << 11;

// The bound above.
const _: () = assert!((MAX_POINTS as u64) << (2 * DIGIT_BITS) < P);

fn add(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    let (reduced, borrow) = sum.overflowing_sub(P);
    if carry || !borrow { reduced } else { sum }
}

fn sub(a: u64, b: u64) -> u64 {
    let (difference, borrow) = a.overflowing_sub(b);
    if borrow { difference.wrapping_add(P) } else { difference }
}

/// With `a b = h 2^96 + m 2^64 + l`: `l - h + m (2^32 - 1)`.
fn mul(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let (low, high) = (product as u64, (product >> 64) as u64);
    let (difference, borrow) = low.overflowing_sub(high >> 32);
    // 2^64 less is 2^32 - 1 less: the difference is at least 2^64 - 2^32 after a borrow.
    let difference = difference.wrapping_sub(if borrow { EPSILON } else { 0 });
    let (sum, carry) = difference.overflowing_add((high & EPSILON) * EPSILON);
    // After a carry the sum is at most 2^64 - 2^33.
    let sum = sum.wrapping_add(if carry { EPSILON } else { 0 });
    if sum >= P { sum - P } else { sum }
}

fn power(base: u64, mut exponent: u64) -> u64 {
    let (mut square, mut result) = (base, 1);
    while exponent != 0 {
        if exponent & 1 == 1 {
            result = mul(result, square);
        }
        square = mul(square, square);
        exponent >>= 1;
    }
    result
}

/// A root of unity of that order, which divides `p - 1`.
fn root(order: usize) -> u64 {
    power(GENERATOR, (P - 1) / order as u64)
}

/// Returns the fewest points of a transform for that many digits; `None` if there are too many.
fn points(digits: usize) -> Option<usize> {
    let power = digits.max(LIMB_DIGITS).checked_next_power_of_two()?;
    let three_quarters = power / 4 * 3;
    let points = if digits <= three_quarters { three_quarters } else { power };
    (points <= MAX_POINTS).then_some(points)
}

/// Factors of the butterflies of a transform of `2^k` points in one direction: powers of a root of
/// each order `s` at `s / 2 .. s`.
struct Factors(Vec<u64>);

impl Factors {
    fn new(points: usize) -> Option<Self> {
        Some(Self(zeroed_vec(points).ok()?))
    }

    /// Sets the factors to the powers of a root of the order of the points.
    fn fill(&mut self, root: u64) {
        let half = self.0.len() / 2;
        let widest = &mut self.0[half..];
        widest[0] = 1;
        let mut known = 1;
        while known < half {
            let step = power(root, known as u64);
            let (powers, next) = widest.split_at_mut(known);
            for (next, &power) in next.iter_mut().zip(&*powers) {
                *next = mul(power, step);
            }
            known *= 2;
        }
        for index in (1..half).rev() {
            self.0[index] = self.0[2 * index];
        }
    }

    fn of_order(&self, order: usize) -> &[u64] {
        &self.0[order / 2..order]
    }

    fn forward(&self, x: &mut [u64]) {
        if x.len() > PART {
            let (low, high) = halve_frequencies(x, self.of_order(x.len()));
            self.forward(low);
            self.forward(high);
            return;
        }
        let mut order = x.len();
        while order > 1 {
            for block in x.chunks_exact_mut(order) {
                halve_frequencies(block, self.of_order(order));
            }
            order /= 2;
        }
    }

    fn inverse(&self, x: &mut [u64]) {
        if x.len() > PART {
            let (low, high) = x.split_at_mut(x.len() / 2);
            self.inverse(low);
            self.inverse(high);
            join_indices(x, self.of_order(x.len()));
            return;
        }
        let mut order = 2;
        while order <= x.len() {
            for block in x.chunks_exact_mut(order) {
                join_indices(block, self.of_order(order));
            }
            order *= 2;
        }
    }
}

fn halve_frequencies<'a>(x: &'a mut [u64], factors: &[u64]) -> (&'a mut [u64], &'a mut [u64]) {
    let (low, high) = x.split_at_mut(x.len() / 2);
    for ((low, high), &factor) in low.iter_mut().zip(&mut *high).zip(factors) {
        (*low, *high) = (add(*low, *high), mul(sub(*low, *high), factor));
    }
    (low, high)
}

fn join_indices(x: &mut [u64], factors: &[u64]) {
    let (low, high) = x.split_at_mut(x.len() / 2);
    for ((low, high), &factor) in low.iter_mut().zip(high).zip(factors) {
        let turned = mul(*high, factor);
        (*low, *high) = (add(*low, turned), sub(*low, turned));
    }
}

/// Sums `x0 + x1 + x2`, `x0 + w x1 + w^2 x2`, `x0 + w^2 x1 + w x2` for a root `w` of order 3, by
/// `w^2 = -1 - w`.
fn of_three([x0, x1, x2]: [u64; 3], w: u64) -> [u64; 3] {
    let turned = mul(sub(x1, x2), w);
    [add(add(x0, x1), x2), add(sub(x0, x2), turned), sub(sub(x0, x1), turned)]
}

/// A transform of `2^k` or `3 2^k` points, and its inverse up to the factor `points`.
struct Transform {
    points: usize,
    factors: Factors,
}

impl Transform {
    fn new(points: usize) -> Option<Self> {
        let part = if points.is_power_of_two() { points } else { points / 3 };
        Some(Self { points, factors: Factors::new(part)? })
    }

    fn part(&self) -> usize {
        self.factors.0.len()
    }

    /// The parts of a third of the points at the places `index` of each.
    fn each_three(x: &mut [u64], mut work: impl FnMut([u64; 3]) -> [u64; 3]) {
        let third = x.len() / 3;
        let (first, rest) = x.split_at_mut(third);
        let (second, third) = rest.split_at_mut(third);
        for ((a, b), c) in first.iter_mut().zip(second).zip(third) {
            [*a, *b, *c] = work([*a, *b, *c]);
        }
    }

    fn forward(&self, x: &mut [u64]) {
        if self.part() < x.len() {
            let (w, step) = (root(3), root(x.len()));
            let mut factor = 1;
            Self::each_three(x, |three| {
                let [a, b, c] = of_three(three, w);
                let turned = [a, mul(b, factor), mul(c, mul(factor, factor))];
                factor = mul(factor, step);
                turned
            });
        }
        for part in x.chunks_exact_mut(self.part()) {
            self.factors.forward(part);
        }
    }

    fn inverse(&self, x: &mut [u64]) {
        for part in x.chunks_exact_mut(self.part()) {
            self.factors.inverse(part);
        }
        if self.part() < x.len() {
            let (w, step) = (inverse(root(3)), inverse(root(x.len())));
            let mut factor = 1;
            Self::each_three(x, |[a, b, c]| {
                let turned = [a, mul(b, factor), mul(c, mul(factor, factor))];
                factor = mul(factor, step);
                of_three(turned, w)
            });
        }
    }

    /// The coefficients of the product of one factor by another, or of its square.
    fn product(mut self, a: &[u64], b: Option<&[u64]>) -> Option<Vec<u64>> {
        let scale = inverse(self.points as u64);
        let order = self.part();
        self.factors.fill(root(order));
        let mut x = self.digits(a)?;
        self.forward(&mut x);
        match b {
            Some(b) => {
                let mut y = self.digits(b)?;
                self.forward(&mut y);
                for (x, y) in x.iter_mut().zip(y) {
                    *x = mul(mul(*x, y), scale);
                }
            }
            None => x.iter_mut().for_each(|x| *x = mul(mul(*x, *x), scale)),
        }
        self.factors.fill(inverse(root(order)));
        self.inverse(&mut x);
        Some(x)
    }

    fn digits(&self, limbs: &[u64]) -> Option<Vec<u64>> {
        let mut digits = zeroed_vec(self.points).ok()?;
        for (digits, limb) in digits.as_chunks_mut::<LIMB_DIGITS>().0.iter_mut().zip(limbs) {
            *digits = array::from_fn(|index| limb >> (DIGIT_BITS * index as u32) & 0xffff);
        }
        Some(digits)
    }
}

fn inverse(a: u64) -> u64 {
    power(a, P - 2)
}

/// Sets `out` to the number that coefficients have, below all limbs; returns what is above.
fn carry(out: &mut [u64], coefficients: &[u64]) -> u64 {
    let mut carry = 0u128;
    for (limb, coefficients) in out.iter_mut().zip(coefficients.as_chunks::<LIMB_DIGITS>().0) {
        for (index, &coefficient) in coefficients.iter().enumerate() {
            carry += u128::from(coefficient) << (DIGIT_BITS * index as u32);
        }
        *limb = carry as u64;
        carry >>= 64;
    }
    carry as u64
}

/// Sets `out`, as long as both factors, to `a b`, or to `a^2` without a second factor; returns
/// false if memory is out or the product too wide.
pub(super) fn multiply(out: &mut [u64], a: &[u64], b: Option<&[u64]>) -> bool {
    let transform = points(LIMB_DIGITS * out.len()).and_then(Transform::new);
    let Some(product) = transform.and_then(|transform| transform.product(a, b)) else {
        return false;
    };
    carry(out, &product);
    true
}

/// Returns true if transforms multiply modulo `2^(64 limbs) - 1`.
pub(super) fn wraps(limbs: usize) -> bool {
    points(LIMB_DIGITS * limbs) == Some(LIMB_DIGITS * limbs)
}

/// Sets `out`, of a length that [`wraps`], to the product of two factors of at most its length,
/// with a carry of `2^64` to the power of the length; `None` if memory is out.
pub(super) fn multiply_cyclic(out: &mut [u64], a: &[u64], b: &[u64]) -> Option<u64> {
    let transform = Transform::new(LIMB_DIGITS * out.len())?;
    Some(carry(out, &transform.product(a, Some(b))?))
}
