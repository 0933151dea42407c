//! Tests of single numbers by the arithmetic of the crate num-bigint.
//!
//! `--verify` compares results of the devices with these: they share no code.

use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_traits::{One, ToPrimitive, Zero};

/// Returns b^(n - 1) modulo n, for n > 0.
pub(crate) fn fermat_residue(n: &BigUint, base: u32) -> BigUint {
    BigUint::from(base).modpow(&(n - 1u32), n)
}

/// The test of R. Baillie and S. Wagstaff (1980): strong to base 2, and strong Lucas with the
/// parameters of method A. No composite number passes below 2^64.
pub(crate) fn is_probable_prime(n: &BigUint) -> bool {
    match n.to_u64() {
        Some(0 | 1) => return false,
        Some(2) => return true,
        _ if !n.bit(0) => return false,
        _ => {}
    }
    is_strong_probable_prime(n) && is_strong_lucas_probable_prime(n)
}

/// Base 2: 2^d = 1, or 2^(d 2^r) = -1 for an r < s, where n - 1 = d 2^s with odd d.
fn is_strong_probable_prime(n: &BigUint) -> bool {
    let minus_one = n - 1u32;
    let s = minus_one.trailing_zeros().unwrap_or(0);
    let mut power = BigUint::from(2u32).modpow(&(&minus_one >> s), n);
    if power.is_one() || power == minus_one {
        return true;
    }
    for _ in 1..s {
        power = &power * &power % n;
        if power == minus_one {
            return true;
        }
    }
    false
}

/// Selfridge's parameters: the first D of 5, -7, 9, -11, ... with (D | n) = -1, P = 1, and
/// Q = (1 - D) / 4. With n + 1 = d 2^s: U_d = 0, or V_(d 2^r) = 0 for an r < s.
fn is_strong_lucas_probable_prime(n: &BigUint) -> bool {
    let root = n.sqrt();
    if &root * &root == *n {
        // No D exists.
        return false;
    }
    let mut d = 5i64;
    loop {
        match jacobi(d, n) {
            -1 => break,
            0 if BigUint::from(d.unsigned_abs()) != *n => return false,
            _ => d = if d > 0 { -(d + 2) } else { 2 - d },
        }
    }
    let modulus = BigInt::from(n.clone());
    let q: BigInt = (BigInt::from(1 - d) / 4i32).mod_floor(&modulus);
    let d = BigInt::from(d);
    let half = |x: BigInt| if x.is_odd() { (x + &modulus) >> 1u32 } else { x >> 1u32 };

    let plus_one = n + 1u32;
    let s = plus_one.trailing_zeros().unwrap_or(0);
    let odd = &plus_one >> s;
    // U_1 = V_1 = 1; from k to 2 k by U V and V^2 - 2 Q^k, and to 2 k + 1 by halves.
    let (mut u, mut v, mut power) = (BigInt::one(), BigInt::one(), q.clone());
    for bit in (0..odd.bits() - 1).rev() {
        u = (&u * &v).mod_floor(&modulus);
        v = (&v * &v - &power * 2u32).mod_floor(&modulus);
        power = (&power * &power).mod_floor(&modulus);
        if odd.bit(bit) {
            let next = half((&u + &v).mod_floor(&modulus));
            v = half((&d * &u + &v).mod_floor(&modulus));
            u = next;
            power = (power * &q).mod_floor(&modulus);
        }
    }
    if u.mod_floor(&modulus).is_zero() {
        return true;
    }
    for _ in 0..s {
        if v.mod_floor(&modulus).is_zero() {
            return true;
        }
        v = (&v * &v - &power * 2u32).mod_floor(&modulus);
        power = (&power * &power).mod_floor(&modulus);
    }
    false
}

/// The Jacobi symbol (a | n) of a small a and an odd n.
fn jacobi(a: i64, n: &BigUint) -> i32 {
    let low = |n: &BigUint, modulus: u64| (n % modulus).to_u64().unwrap_or(0);
    let mut sign = 1;
    if a < 0 && low(n, 4) == 3 {
        sign = -sign;
    }
    let mut a = a.unsigned_abs();
    if a == 0 {
        return i32::from(n.is_one());
    }
    while a.is_multiple_of(2) {
        a /= 2;
        if matches!(low(n, 8), 3 | 5) {
            sign = -sign;
        }
    }
    // Reciprocity, after which both numbers are small.
    if a % 4 == 3 && low(n, 4) == 3 {
        sign = -sign;
    }
    let (mut top, mut bottom) = (low(n, a), a);
    while top != 0 {
        while top % 2 == 0 {
            top /= 2;
            if matches!(bottom % 8, 3 | 5) {
                sign = -sign;
            }
        }
        if top % 4 == 3 && bottom % 4 == 3 {
            sign = -sign;
        }
        (top, bottom) = (bottom % top, top);
    }
    if bottom == 1 { sign } else { 0 }
}
