//! Tests for probable primes, row by row, as `kernels/prime` has them.
//!
//! Residues are in Montgomery's form modulo odd `n`, of as many limbs as `n`, and below `n`.

use super::limbs::{
    LIMB_BITS, add_assign, add_limb, add_product, assign, bit, bit_length, compare,
    shift_left_assign, sub_assign, sub_from_assign, trailing_zeros, trimmed,
};
#[cfg(feature = "gmp")]
use super::limbs::{decrement, shift_right};
use super::rows::{Failed, Outcome, Row, Rows};
use super::{division, residues, short};
use crate::error::Result;
use crate::interrupt;
use crate::selfridge::{self, Method, Parameter};

/// Bits of the first exponent of a walk, whose power is made by doublings.
const FIRST_BITS: usize = 6;

/// Scratch of a test at rows of `n` limbs: a record, eight numbers and the work of products.
const fn scratch_limbs(n: usize) -> usize {
    2 * n
        + 8 * (n + 1)
        + if residues::scratch_limbs(n) > residues::prepare_scratch_limbs(n) {
            residues::scratch_limbs(n)
        } else {
            residues::prepare_scratch_limbs(n)
        }
}

/// Arithmetic modulo an odd number above 1.
#[derive(Debug, Clone, Copy)]
struct Field<'a> {
    n: &'a [u64],
    record: &'a [u64],
}

impl<'a> Field<'a> {
    /// Writes the record of `n`, which has no zeros above; returns the rest of the scratch.
    fn new(n: &'a [u64], scratch: &'a mut [u64]) -> (Self, &'a mut [u64]) {
        let (record, scratch) = scratch.split_at_mut(2 * n.len());
        residues::prepare(record, n, LIMB_BITS * n.len(), scratch);
        (Self { n, record }, scratch)
    }

    /// Sets `x` to `x y / R mod n`, or to `x^2 / R mod n` without a `y`.
    fn multiply(self, x: &mut [u64], y: Option<&[u64]>, scratch: &mut [u64]) {
        if short::multiply(x, y, self.n, self.record[self.n.len()]) {
            return;
        }
        let (out, scratch) = scratch.split_at_mut(x.len());
        let bits = LIMB_BITS * self.n.len();
        residues::reduce_product(out, x, y, self.record, bits, scratch);
        x.copy_from_slice(out);
    }

    fn double(self, x: &mut [u64]) {
        let above = bit(x, LIMB_BITS * x.len() - 1);
        shift_left_assign(x, 1);
        if above || compare(x, self.n).is_ge() {
            sub_assign(x, self.n);
        }
    }

    fn add(self, x: &mut [u64], y: &[u64]) {
        if add_assign(x, y) || compare(x, self.n).is_ge() {
            sub_assign(x, self.n);
        }
    }

    fn subtract(self, x: &mut [u64], y: &[u64]) {
        if sub_assign(x, y) {
            add_assign(x, self.n);
        }
    }

    /// Sets `x` to `2^exponent R mod n`.
    fn set_power_of_two(self, x: &mut [u64], exponent: usize) {
        let first = bit_length(self.n) - 1;
        x.fill(0);
        x[first / LIMB_BITS] = 1 << (first % LIMB_BITS);
        for _ in first..LIMB_BITS * self.n.len() + exponent {
            self.double(x);
        }
    }
}

/// Takes a number from the scratch.
fn number<'a>(len: usize, scratch: &mut &'a mut [u64]) -> &'a mut [u64] {
    let (number, rest) = std::mem::take(scratch).split_at_mut(len);
    *scratch = rest;
    number
}

/// Returns true if `2^(n - 1) = 1` modulo `n` is seen by square roots of 1, for odd `n` above 1.
fn is_strong(n: &[u64], scratch: &mut [u64]) -> bool {
    let len = n.len();
    #[cfg(feature = "gmp")]
    if let Some(gmp) = super::gmp::gmp() {
        return is_strong_by(gmp, n, scratch);
    }
    let (field, mut scratch) = Field::new(n, scratch);
    let one = number(len, &mut scratch);
    let minus_one = number(len, &mut scratch);
    let x = number(len, &mut scratch);
    field.set_power_of_two(one, 0);
    minus_one.copy_from_slice(one);
    sub_from_assign(minus_one, n);
    let bits = bit_length(n);
    let s = previous_zeros(n);
    let mut p = bits.saturating_sub(FIRST_BITS).max(s);
    let first = (p..bits).filter(|&p| bit(n, p)).map(|set| 1 << (set - p)).sum();
    field.set_power_of_two(x, first);
    loop {
        if p <= s && (*x == *minus_one || p == s && *x == *one) {
            return true;
        }
        p -= 1;
        if p == 0 || interrupt::is_requested() {
            return false;
        }
        field.multiply(x, None, scratch);
        if bit(n, p) {
            field.double(x);
        }
    }
}

/// Returns the number of zeros at the end of `n - 1`, for odd `n` above 1.
fn previous_zeros(n: &[u64]) -> usize {
    match n[0] & !1 {
        0 => trailing_zeros(&n[1..]).map_or(0, |zeros| LIMB_BITS + zeros),
        limb => limb.trailing_zeros() as usize,
    }
}

/// [`is_strong`] by powers of GMP.
#[cfg(feature = "gmp")]
fn is_strong_by(gmp: &super::gmp::Gmp, n: &[u64], scratch: &mut [u64]) -> bool {
    let len = n.len();
    let mut scratch = scratch;
    let [minus_one, d, x, square] = [(); 4].map(|()| number(len, &mut scratch));
    minus_one.copy_from_slice(n);
    decrement(minus_one);
    let s = previous_zeros(n);
    shift_right(d, minus_one, s);
    gmp.power(x, &[2], d, n);
    if trimmed(x) == [1] || *x == *minus_one {
        return true;
    }
    for _ in 1..s {
        gmp.power(square, x, &[2], n);
        x.copy_from_slice(square);
        if *x == *minus_one {
            return true;
        }
    }
    false
}

/// Tests rows for strong probable primes to base 2.
pub(super) fn strong_base2(rows: Rows<'_>) -> Result<Failed> {
    let scratch = scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [n, ..], .. }, scratch| {
        let n = trimmed(n);
        match n {
            [] | [1] => false,
            [2] => true,
            _ => n[0] & 1 == 1 && is_strong(n, scratch),
        }
        .into()
    })
}

/// Sets `x`, which is `z R mod n`, to `z / divisor`, for a divisor coprime to `n`.
fn divide(field: Field<'_>, x: &mut [u64], divisor: u64, scratch: &mut [u64]) {
    let len = x.len();
    let (sum, scratch) = scratch.split_at_mut(len + 1);
    let quotient = &mut scratch[..len + 1];
    let mut rest = division::divide_by_limb(quotient, x, divisor);
    let step = division::divide_by_limb(quotient, field.n, divisor);
    let mut k = 0;
    while rest != 0 && k < divisor {
        rest = (rest + step) % divisor;
        k += 1;
    }
    assign(sum, x);
    let above = add_product(&mut sum[..len], field.n, k);
    add_limb(&mut sum[len..], above);
    division::divide_by_limb(quotient, sum, divisor);
    x.copy_from_slice(&quotient[..len]);
}

/// Tests a chain whose first term is a fraction, for odd `n` above 1.
fn is_lucas(n: &[u64], numerator: i32, denominator: u64, scratch: &mut [u64]) -> bool {
    let len = n.len();
    let (field, mut scratch) = Field::new(n, scratch);
    let [two, first, lower, upper] = [(); 4].map(|()| number(len, &mut scratch));
    field.set_power_of_two(two, 1);
    field.set_power_of_two(upper, 0);
    divide(field, upper, denominator, scratch);
    first.fill(0);
    for _ in 0..numerator.unsigned_abs() {
        field.add(first, upper);
    }
    if numerator < 0 && !trimmed(first).is_empty() {
        sub_from_assign(first, n);
    }
    lower.copy_from_slice(two);
    upper.copy_from_slice(first);

    let ones = n.iter().position(|&limb| limb != u64::MAX);
    let ones =
        ones.map_or(LIMB_BITS * len, |limb| LIMB_BITS * limb + n[limb].trailing_ones() as usize);
    for p in (1..=bit_length(n)).rev() {
        let is_set = p == ones || p > ones && bit(n, p);
        let (squared, other) =
            if is_set { (&mut *upper, &mut *lower) } else { (&mut *lower, &mut *upper) };
        field.multiply(other, Some(squared), scratch);
        field.subtract(other, first);
        field.multiply(squared, None, scratch);
        field.subtract(squared, two);
        if p == ones && is_unit(field, lower, upper, [&*two, &*first], scratch)
            || p <= ones && p > 1 && trimmed(lower).is_empty()
        {
            return true;
        }
        if interrupt::is_requested() {
            return false;
        }
    }
    false
}

/// Returns true if both terms are these numbers, or both their negatives.
fn is_unit(
    field: Field<'_>,
    lower: &[u64],
    upper: &[u64],
    [two, first]: [&[u64]; 2],
    scratch: &mut [u64],
) -> bool {
    if *lower == *two {
        return *upper == *first;
    }
    let is_negative = |x: &[u64], y: &[u64], scratch: &mut [u64]| {
        let sum = &mut scratch[..x.len()];
        sum.copy_from_slice(x);
        field.add(sum, y);
        trimmed(sum).is_empty()
    };
    is_negative(lower, two, scratch) && is_negative(upper, first, scratch)
}

/// Finds the first terms of chains of strong Lucas tests.
pub(super) fn strong_terms(rows: Rows<'_>) -> Result<Failed> {
    terms(rows, Method::Strong)
}

/// Finds the first terms of chains of extra strong Lucas tests.
pub(super) fn extra_strong_terms(rows: Rows<'_>) -> Result<Failed> {
    terms(rows, Method::ExtraStrong)
}

fn terms(rows: Rows<'_>, method: Method) -> Result<Failed> {
    rows.each(0, |Row { ins: [n, ..], outs: [term, _], .. }, _| {
        let found = selfridge::parameter(n, method);
        term[0] = found.map_or(0, Parameter::word);
        Outcome { flag: found.is_none(), failed: found.is_none() }
    })
}

/// Tests rows for Lucas probable primes by chains with these first terms.
pub(super) fn strong_lucas(rows: Rows<'_>) -> Result<Failed> {
    let scratch = scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [n, term, _], .. }, scratch| {
        let n = trimmed(n);
        let is_odd = n.first().is_some_and(|limb| limb & 1 == 1) && *n != [1];
        match Parameter::of_word(term[0]) {
            Parameter::Prime => true,
            Parameter::Composite => false,
            Parameter::Chain { numerator, denominator } => {
                is_odd && is_lucas(n, numerator, denominator.into(), scratch)
            }
        }
        .into()
    })
}
