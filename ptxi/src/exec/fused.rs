//! `a b + c` rounded to nearest, toward zero, down or up.
//!
//! The nearest number s is corrected by the sign of the error a b + c - s, a sum of three exact
//! terms in fixed point.

use std::cmp::Ordering;

use crate::instr::Round;

/// Exponent of the lowest bit: of the product of two least subnormal numbers.
const LOWEST: i32 = -2148;
/// From there to 2^2050, above the sums of three terms, in words of 64 bits, and a sign.
const WORDS: usize = 67;

/// A number in fixed point, in two's complement.
struct Fixed([u64; WORDS]);

impl Fixed {
    /// Adds or subtracts `magnitude 2^exponent`, where the magnitude is below 2^106.
    fn add(&mut self, magnitude: u128, exponent: i32, is_negative: bool) {
        let place = (exponent - LOWEST) as usize;
        let (first, shift) = (place / 64, place % 64);
        // Three words hold 106 bits shifted by up to 63.
        let low = magnitude << shift;
        let high = if shift == 0 { 0 } else { (magnitude >> (128 - shift)) as u64 };
        let words = [low as u64, (low >> 64) as u64, high];
        let mut carry = false;
        for (i, word) in self.0[first..].iter_mut().enumerate() {
            let term = words.get(i).copied().unwrap_or(0);
            let (value, by_term, by_carry);
            if is_negative {
                (value, by_term) = word.overflowing_sub(term);
                (*word, by_carry) = value.overflowing_sub(u64::from(carry));
            } else {
                (value, by_term) = word.overflowing_add(term);
                (*word, by_carry) = value.overflowing_add(u64::from(carry));
            }
            carry = by_term || by_carry;
            if i >= words.len() && !carry {
                break;
            }
        }
    }

    fn sign(&self) -> Ordering {
        match self.0[WORDS - 1] >> 63 {
            1 => Ordering::Less,
            _ if self.0.iter().all(|&word| word == 0) => Ordering::Equal,
            _ => Ordering::Greater,
        }
    }
}

/// Magnitude and exponent of a finite number.
fn parts(value: f64) -> (u128, i32) {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let magnitude = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    (u128::from(magnitude), exponent.max(1) - 1075)
}

/// Sign of `a b + c - s` for finite numbers.
fn sign_of_error(a: f64, b: f64, c: f64, s: f64) -> Ordering {
    let mut sum = Fixed([0; WORDS]);
    let ((x, i), (y, j)) = (parts(a), parts(b));
    sum.add(x * y, i + j, a.is_sign_negative() != b.is_sign_negative());
    for (term, is_negative) in [(c, c.is_sign_negative()), (s, s.is_sign_positive())] {
        let (magnitude, exponent) = parts(term);
        sum.add(magnitude, exponent, is_negative);
    }
    sum.sign()
}

macro_rules! width {
    ($name:ident, $t:ty) => {
        pub(super) fn $name(round: Round, a: $t, b: $t, c: $t) -> $t {
            let nearest = a.mul_add(b, c);
            let are_finite = a.is_finite() && b.is_finite() && c.is_finite();
            if round == Round::Nearest || !are_finite {
                return nearest;
            }
            if nearest.is_infinite() {
                let is_down =
                    round == Round::Zero || (round == Round::Down) == nearest.is_sign_positive();
                return if is_down { <$t>::MAX.copysign(nearest) } else { nearest };
            }
            let error = sign_of_error(f64::from(a), f64::from(b), f64::from(c), f64::from(nearest));
            let (is_above, is_below) = (error == Ordering::Less, error == Ordering::Greater);
            match round {
                // A sum of zero is -0 unless both terms are +0.
                Round::Down if nearest == 0.0 && error == Ordering::Equal => {
                    let is_product_negative = a.is_sign_negative() != b.is_sign_negative();
                    if is_product_negative || c.is_sign_negative() { -0.0 } else { 0.0 }
                }
                Round::Down if is_above => nearest.next_down(),
                Round::Up if is_below => nearest.next_up(),
                Round::Zero if nearest > 0.0 && is_above => nearest.next_down(),
                Round::Zero if nearest < 0.0 && is_below => nearest.next_up(),
                _ => nearest,
            }
        }
    };
}

width!(fma32, f32);
width!(fma64, f64);
