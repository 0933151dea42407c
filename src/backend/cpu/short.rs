//! Montgomery's products of few limbs, compiled for each number of limbs ("Modular multiplication
//! without trial division", Math. Comp. 44, 1985).
//!
//! A product takes a limb of `x` at a time: it adds `x_i y` and the multiple of `n` that clears the
//! lowest limb of the sum, which is then divided by the base `B`. With `R = B^N` and `x y < R n`:
//!
//! ```text
//! t <- (t + x_i y + m n) / B < y + n    if t < y + n,
//! ```
//!
//! so that a sum has one bit above `N` limbs, and the last one is less than `x y / R + n < 2 n`. A
//! square has the products of two different limbs once, and its limbs are cleared afterwards.

use super::limbs::{LIMB_BITS, compare, sub_assign};

/// Maximum number of limbs of a square.
const MAX_LIMBS: usize = 32;

/// Sets `x` to `x y / R mod n`, or to `x^2 / R mod n` without a `y`, where one factor is less than
/// `n` and the other less than `R`. `inverse` is `-1 / n` modulo the base, and all numbers are as
/// long as `n`. Returns false, with `x` unchanged, for lengths that are not compiled: products of
/// more than 16 limbs take no less time here.
pub(super) fn multiply(x: &mut [u64], y: Option<&[u64]>, n: &[u64], inverse: u64) -> bool {
    macro_rules! by_length {
        ($function:ident $arguments:tt $($len:literal)*) => {
            match n.len() {
                $($len => $function::<$len> $arguments,)*
                _ => false,
            }
        };
    }
    match y {
        Some(y) => {
            by_length!(multiply_limbs(x, y, n, inverse) 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
        }
        None => by_length!(square_limbs(x, n, inverse)
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 18 20 22 24 26 28 30 32),
    }
}

/// [`multiply`] for `N` limbs; returns false if a slice is shorter.
fn multiply_limbs<const N: usize>(x: &mut [u64], y: &[u64], n: &[u64], inverse: u64) -> bool {
    let (Some(x), Some(y)) = (x.first_chunk_mut::<N>(), y.first_chunk::<N>()) else { return false };
    let Some(n) = n.first_chunk::<N>() else { return false };
    let mut t = [0; N];
    let mut above = 0;
    for &factor in &*x {
        let mut carry = 0;
        for j in 0..N {
            (t[j], carry) = multiply_add(factor, y[j], t[j], carry);
        }
        let (top, first_carry) = carry.overflowing_add(above);
        let m = t[0].wrapping_mul(inverse);
        let (_, mut carry) = multiply_add(m, n[0], t[0], 0);
        for j in 1..N {
            (t[j - 1], carry) = multiply_add(m, n[j], t[j], carry);
        }
        let second_carry;
        (t[N - 1], second_carry) = top.overflowing_add(carry);
        above = u64::from(first_carry) + u64::from(second_carry);
    }
    if above != 0 || compare(&t, n).is_ge() {
        sub_assign(&mut t, n);
    }
    *x = t;
    true
}

/// [`multiply`] without a `y` for `N` limbs; returns false if a slice is shorter.
fn square_limbs<const N: usize>(x: &mut [u64], n: &[u64], inverse: u64) -> bool {
    let (Some(x), Some(n)) = (x.first_chunk_mut::<N>(), n.first_chunk::<N>()) else { return false };
    let mut t = [0; 2 * MAX_LIMBS];
    for i in 0..N {
        let mut carry = 0;
        for j in i + 1..N {
            (t[i + j], carry) = multiply_add(x[i], x[j], t[i + j], carry);
        }
        t[i + N] = carry;
    }
    let (mut below, mut carry) = (0, 0);
    for i in 0..N {
        let square = multiply_add(x[i], x[i], 0, 0);
        for (limb, added) in t[2 * i..2 * i + 2].iter_mut().zip([square.0, square.1]) {
            let sum = u128::from(*limb << 1 | below) + u128::from(added) + u128::from(carry);
            below = *limb >> (LIMB_BITS - 1);
            (*limb, carry) = (sum as u64, (sum >> LIMB_BITS) as u64);
        }
    }
    let mut above = 0;
    for i in 0..N {
        let m = t[i].wrapping_mul(inverse);
        let mut carry = 0;
        for j in 0..N {
            (t[i + j], carry) = multiply_add(m, n[j], t[i + j], carry);
        }
        let sum = u128::from(t[i + N]) + u128::from(carry) + u128::from(above);
        (t[i + N], above) = (sum as u64, (sum >> LIMB_BITS) as u64);
    }
    x.copy_from_slice(&t[N..2 * N]);
    if above != 0 || compare(x, n).is_ge() {
        sub_assign(x, n);
    }
    true
}

/// Returns the limbs of `a b + c + d`, the lower one first.
#[inline(always)]
fn multiply_add(a: u64, b: u64, c: u64, d: u64) -> (u64, u64) {
    let sum = u128::from(a) * u128::from(b) + u128::from(c) + u128::from(d);
    (sum as u64, (sum >> LIMB_BITS) as u64)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::backend::cpu::prepared::negative_inverse_of_limb;

    fn number(limbs: &[u64]) -> BigUint {
        let halves = limbs.iter().flat_map(|limb| [*limb as u32, (limb >> 32) as u32]);
        BigUint::new(halves.collect())
    }

    /// Moduli and factors at both ends of the width, of every length.
    #[test]
    fn products_of_each_length_are_exact() {
        for len in 1..=33usize {
            let ones = vec![u64::MAX; len];
            let mut half = vec![0; len];
            half[len - 1] = 1 << 63;
            half[0] |= 1;
            let mut uneven: Vec<u64> =
                (1..=len as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            uneven[0] |= 1;
            for n in [&ones, &half, &uneven] {
                let radix = BigUint::from(1u32) << (64 * len);
                let mut less = n.clone();
                less[0] -= 1;
                let mut one = vec![0; len];
                one[0] = 1;
                for x in [&less, &one] {
                    for y in [None, Some(&ones), Some(&uneven), Some(&less), Some(&one)] {
                        let mut product = x.clone();
                        let inverse = negative_inverse_of_limb(n[0]);
                        let is_short = multiply(&mut product, y.map(Vec::as_slice), n, inverse);
                        let is_even_square = y.is_none() && len <= 32 && len % 2 == 0;
                        assert_eq!(is_short, len <= 16 || is_even_square, "{len}");
                        if is_short {
                            let expected = number(x) * number(y.unwrap_or(x)) % number(n);
                            let product = number(&product);
                            assert!(product < number(n), "{len} limbs");
                            assert_eq!(product * &radix % number(n), expected, "{len} limbs");
                        }
                    }
                }
            }
        }
    }
}
