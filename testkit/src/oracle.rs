//! Expected results.
//!
//! The arithmetic is `malachite-nz`'s, which shares no code with the library under test. A quotient
//! is also checked by its definition, u = q*v + r with 0 <= r < v, by `num-bigint`'s product, sum
//! and comparison, never by its division.

use std::cmp::Ordering;

use gpuint::num_bigint::{BigInt, BigUint, Sign};
use malachite_base::num::arithmetic::traits::{
    CheckedRoot, DivMod, DivRem, FloorRoot, FloorSqrt, Gcd, KroneckerSymbol, Lcm, ModInverse,
    ModPow, ModPowerOf2, Square,
};
use malachite_base::num::basic::traits::{One as _, Zero as _};
use malachite_base::num::logic::traits::{CountOnes, SignificantBits};
use malachite_nz::integer::Integer;
use malachite_nz::natural::Natural;
use num_traits::{One, Zero};

fn natural(value: &BigUint) -> Natural {
    Natural::from_owned_limbs_asc(value.to_u64_digits())
}

fn biguint(value: &Natural) -> BigUint {
    let limbs = value.to_limbs_asc();
    BigUint::new(limbs.iter().flat_map(|limb| [*limb as u32, (limb >> 32) as u32]).collect())
}

fn integer(value: &BigInt) -> Integer {
    Integer::from_sign_and_abs(value.sign() != Sign::Minus, natural(value.magnitude()))
}

fn bigint(value: &Integer) -> BigInt {
    let sign = if *value < 0 { Sign::Minus } else { Sign::Plus };
    BigInt::from_biguint(sign, biguint(value.unsigned_abs_ref()))
}

/// `a + b`.
pub fn signed_sum(a: &BigInt, b: &BigInt) -> BigInt {
    bigint(&(integer(a) + integer(b)))
}

/// `a * b`.
pub fn signed_product(a: &BigInt, b: &BigInt) -> BigInt {
    bigint(&(integer(a) * integer(b)))
}

/// The order of two numbers.
pub fn signed_cmp(a: &BigInt, b: &BigInt) -> Ordering {
    integer(a).cmp(&integer(b))
}

/// The quotient rounded to zero, and the remainder, for a `v` that is not 0.
pub fn div_rem_to_zero(u: &BigInt, v: &BigInt) -> (BigInt, BigInt) {
    let (q, r) = integer(u).div_rem(integer(v));
    (bigint(&q), bigint(&r))
}

/// The quotient rounded down, and the remainder, for a `v` that is not 0.
pub fn div_rem_down(u: &BigInt, v: &BigInt) -> (BigInt, BigInt) {
    let (q, r) = integer(u).div_mod(integer(v));
    (bigint(&q), bigint(&r))
}

/// The quotient with a remainder that is not negative, and the remainder, for a `v` that is not 0.
pub fn div_rem_euclid(u: &BigInt, v: &BigInt) -> (BigInt, BigInt) {
    let (u, v) = (integer(u), integer(v));
    // Modulo |v| the remainder of floor division is not negative.
    let (q, r) = u.div_mod(Integer::from(v.unsigned_abs_ref()));
    let q = if v < 0 { -q } else { q };
    (bigint(&q), bigint(&r))
}

/// `a + b mod 2^bits`, and whether the sum overflows.
pub fn add(a: &BigUint, b: &BigUint, bits: usize) -> (BigUint, bool) {
    let sum = natural(a) + natural(b);
    let carry = sum.significant_bits() > bits as u64;
    (biguint(&sum.mod_power_of_2(bits as u64)), carry)
}

/// `a - b mod 2^bits`, and whether `a < b`.
pub fn sub(a: &BigUint, b: &BigUint, bits: usize) -> (BigUint, bool) {
    let (a, b) = (natural(a), natural(b));
    let borrow = a < b;
    let difference = (Natural::from(borrow) << bits) + a - b;
    (biguint(&difference), borrow)
}

/// Product of all values.
pub fn product(values: &[BigUint]) -> BigUint {
    biguint(&values.iter().map(natural).product())
}

/// Sum of all values.
pub fn sum(values: impl Iterator<Item = BigUint>) -> BigUint {
    biguint(&values.map(|value| natural(&value)).sum())
}

/// `a * b` in two halves of `bits` bits.
pub fn mul(a: &BigUint, b: &BigUint, bits: usize) -> (BigUint, BigUint) {
    let product = natural(a) * natural(b);
    (biguint(&(&product).mod_power_of_2(bits as u64)), biguint(&(product >> bits)))
}

/// `a * b mod 2^bits - 1`: 0 only for a product of 0, else from 1 to `2^bits - 1`.
pub fn mul_cyclic(a: &BigUint, b: &BigUint, bits: usize) -> BigUint {
    let product = natural(a) * natural(b);
    if product == 0 {
        return BigUint::ZERO;
    }
    let modulus = (Natural::ONE << bits) - Natural::ONE;
    // Residues from 1 to the modulus.
    biguint(&((product - Natural::ONE) % modulus + Natural::ONE))
}

/// `a * b mod 2^bits + 1` modulo `2^bits`, and true if the residue is `2^bits`.
pub fn mul_negacyclic(a: &BigUint, b: &BigUint, bits: usize) -> (BigUint, bool) {
    let modulus = (Natural::ONE << bits) + Natural::ONE;
    let residue = natural(a) * natural(b) % modulus;
    let is_minus_one = residue == Natural::ONE << bits;
    (biguint(&residue.mod_power_of_2(bits as u64)), is_minus_one)
}

/// `a^2 mod 2^bits`.
pub fn square(a: &BigUint, bits: usize) -> BigUint {
    biguint(&natural(a).square().mod_power_of_2(bits as u64))
}

/// `(u / v, u mod v)` for a `v` that is not 0.
pub fn div_rem(u: &BigUint, v: &BigUint) -> (BigUint, BigUint) {
    let (q, r) = natural(u).div_rem(natural(v));
    (biguint(&q), biguint(&r))
}

/// `a * b mod v` for a `v` that is not 0.
pub fn mul_mod(a: &BigUint, b: &BigUint, v: &BigUint) -> BigUint {
    biguint(&(natural(a) * natural(b) % natural(v)))
}

/// `a + b mod v` for a `v` that is not 0.
pub fn add_mod(a: &BigUint, b: &BigUint, v: &BigUint) -> BigUint {
    biguint(&((natural(a) + natural(b)) % natural(v)))
}

/// `a - b mod v` for a `v` that is not 0.
pub fn sub_mod(a: &BigUint, b: &BigUint, v: &BigUint) -> BigUint {
    let v = natural(v);
    biguint(&((natural(a) % &v + &v - natural(b) % &v) % v))
}

/// `a^e mod v` for a `v` that is not 0.
pub fn pow_mod(a: &BigUint, e: &BigUint, v: &BigUint) -> BigUint {
    if v.is_one() {
        return BigUint::zero();
    }
    let v = natural(v);
    biguint(&(natural(a) % &v).mod_pow(natural(e), v))
}

/// Returns true if u = q*v + r and 0 <= r < v.
pub fn is_division(u: &BigUint, v: &BigUint, q: &BigUint, r: &BigUint) -> bool {
    r < v && q * v + r == *u
}

/// Result of the masked division: the quotient, the remainder, and whether `v` is 0.
pub fn div_rem_masked(u: &BigUint, v: &BigUint, bits: usize) -> (BigUint, BigUint, bool) {
    if v.is_zero() {
        let ones = (Natural::from(1u32) << bits) - Natural::from(1u32);
        return (biguint(&ones), u.clone(), true);
    }
    let (q, r) = div_rem(u, v);
    (q, r, false)
}

/// `u / v`; `None` if `v` does not divide `u` or is 0.
pub fn div_exact(u: &BigUint, v: &BigUint) -> Option<BigUint> {
    let (q, r) = (!v.is_zero()).then(|| div_rem(u, v))?;
    r.is_zero().then_some(q)
}

/// `floor(2^exponent / v)` for a `v` that is not 0.
pub fn inverse(v: &BigUint, exponent: usize) -> BigUint {
    biguint(&((Natural::from(1u32) << exponent) / natural(v)))
}

/// `a * 2^distance mod 2^bits`.
pub fn shl(a: &BigUint, distance: usize, bits: usize) -> BigUint {
    if distance >= bits {
        return BigUint::zero();
    }
    biguint(&(natural(a) << distance).mod_power_of_2(bits as u64))
}

/// `a / 2^distance`.
pub fn shr(a: &BigUint, distance: usize) -> BigUint {
    biguint(&(natural(a) >> distance))
}

/// The order of two numbers.
pub fn cmp(a: &BigUint, b: &BigUint) -> Ordering {
    natural(a).cmp(&natural(b))
}

/// Bit length of a number.
pub fn bits(a: &BigUint) -> u64 {
    natural(a).significant_bits()
}

/// The greatest common divisor.
pub fn gcd(a: &BigUint, b: &BigUint) -> BigUint {
    biguint(&natural(a).gcd(natural(b)))
}

/// The least common multiple.
pub fn lcm(a: &BigUint, b: &BigUint) -> BigUint {
    biguint(&natural(a).lcm(natural(b)))
}

/// Returns true if `g = a x - b y`, or `g = b y - a x` where `is_negative`, and the cofactors are
/// the least ones.
#[must_use]
pub fn are_cofactors(
    a: &BigUint,
    b: &BigUint,
    g: &BigUint,
    x: &BigUint,
    y: &BigUint,
    is_negative: bool,
) -> bool {
    let (by_a, by_b) = (a * x, b * y);
    let is_sum = if is_negative { by_b == by_a + g } else { by_a == by_b + g };
    let is_least = |cofactor: &BigUint, other: &BigUint| {
        cofactor * g * 2u32 <= *other || *cofactor <= BigUint::from(1u32)
    };
    is_sum && is_least(x, b) && is_least(y, a)
}

/// Inverse of `v` modulo `n`, if it exists.
pub fn inverse_mod(v: &BigUint, n: &BigUint) -> Option<BigUint> {
    if n.is_zero() {
        return None;
    }
    if n.is_one() {
        return Some(BigUint::zero());
    }
    let v = natural(v) % natural(n);
    if v == 0u32 {
        return None;
    }
    v.mod_inverse(natural(n)).map(|inverse| biguint(&inverse))
}

/// Kronecker's symbol.
pub fn kronecker(a: &BigUint, n: &BigUint) -> i8 {
    natural(a).kronecker_symbol(natural(n))
}

/// The square root, rounded down.
pub fn isqrt(a: &BigUint) -> BigUint {
    biguint(&natural(a).floor_sqrt())
}

/// The first remainder of Euclid's algorithm on `m` and `u` that is at most `bound`, the absolute
/// value of its cofactor of `u`, and true if that is negative and the remainder is not 0; division
/// by division.
pub fn remainder_of(u: &BigUint, m: &BigUint, bound: &BigUint) -> (BigUint, BigUint, bool) {
    let (mut x, mut y) = (natural(m), natural(u));
    let (mut s, mut t) = (Natural::ZERO, Natural::ONE);
    let mut is_negative = false;
    let bound = natural(bound);
    while y > bound {
        let (q, r) = (&x).div_rem(&y);
        (x, y) = (y, r);
        (s, t) = (t.clone(), s + q * t);
        is_negative = !is_negative;
    }
    let is_negative = is_negative && y != 0u32;
    (biguint(&y), biguint(&t), is_negative)
}

/// The fraction `n / d` in lowest terms with `d u = n mod m`, `n <= most` and `d <= longest`, and
/// true if it is negative; `None` if there is none. It is unique if `2 most longest < m`.
pub fn fraction(
    u: &BigUint,
    m: &BigUint,
    [most, longest]: [&BigUint; 2],
) -> Option<(BigUint, BigUint, bool)> {
    let (n, d, is_negative) = remainder_of(u, m, most);
    (d <= *longest && gcd(&n, &d).is_one()).then_some((n, d, is_negative))
}

/// Returns true if two rows of `bits` bits are a half-gcd of `x` and `y`: `u0` and `v0`, `u1` and
/// `v1` with `u0 v1 - v0 u1 = 1`, and that of numbers that no certain step makes shorter.
pub fn is_half_gcd(
    x: &BigUint,
    y: &BigUint,
    first: &BigUint,
    second: &BigUint,
    bits: usize,
) -> bool {
    let (x, y) = (natural(x), natural(y));
    let entries = |row: &BigUint| {
        let v = natural(row) >> (bits / 2);
        (natural(row) - (&v << (bits / 2)), v)
    };
    let ((u0, v0), (u1, v1)) = (entries(first), entries(second));
    let (plus, minus) = ([&u0 * &x, &v1 * &y], [&v0 * &y, &u1 * &x]);
    if &u0 * &v1 != &v0 * &u1 + Natural::ONE || plus[0] < minus[0] || plus[1] < minus[1] {
        return false;
    }
    let [plus0, plus1] = plus;
    let [minus0, minus1] = minus;
    let (a, b) = (plus0 - minus0, plus1 - minus1);
    let (longer, shorter) = if a < b { (b, a) } else { (a, b) };
    let (length, least) = (longer.significant_bits(), bits as u64 / 2 + 2);
    let is_identity = v0 == 0u32 && u1 == 0u32;
    let is_short = length < least + 63 || shorter.significant_bits() < least;
    (is_identity || shorter.significant_bits() >= least)
        // The leading 64 bits are equal, but for the last.
        && (is_short || (longer - shorter) >> (length - 64) < 2u32)
}

/// The root of degree `n`, rounded down.
pub fn nth_root(a: &BigUint, n: u64) -> BigUint {
    biguint(&natural(a).floor_root(n))
}

/// The base and the largest exponent of a perfect power; the exponent is 1 for other numbers, and 0
/// for 0 and 1.
pub fn perfect_power(a: &BigUint) -> (BigUint, u64) {
    let (mut base, mut exponent) = (natural(a), u64::from(a.bits() > 1));
    // Exponents need not be prime: that of a power with a composite one is found before.
    let mut n = 2;
    while base.significant_bits() > n {
        match (&base).checked_root(n) {
            Some(root) => (base, exponent) = (root, exponent * n),
            None => n += 1,
        }
    }
    (biguint(&base), exponent)
}

/// Bitwise AND, OR and XOR.
pub fn bitwise(a: &BigUint, b: &BigUint) -> [BigUint; 3] {
    let (a, b) = (natural(a), natural(b));
    [biguint(&(&a & &b)), biguint(&(&a | &b)), biguint(&(a ^ b))]
}

/// Number of ones.
pub fn count_ones(a: &BigUint) -> u64 {
    natural(a).count_ones()
}

/// Number of zeros below the lowest one.
pub fn trailing_zeros(a: &BigUint) -> Option<u64> {
    natural(a).trailing_zeros()
}

/// A number in decimal.
pub fn decimal(a: &BigUint) -> String {
    natural(a).to_string()
}
