//! Parameters of Lucas tests, for the CPU as for the kernel (`kernels/prime/terms.cuh`).
//!
//! A test takes the first `D` of a list with the Jacobi symbol `(D | n) = -1`:
//!
//! - strong (J. L. Selfridge's method A): `D = 5, -7, 9, -11, ..`, `P = 1`, `Q = (1 - D) / 4`;
//! - extra strong (Z. Mo and J. P. Jones; J. Grantham, "Frobenius pseudoprimes", Math. Comp. 70,
//!   2001): `P = 3, 4, 5, ..`, `Q = 1`, `D = P^2 - 4`.
//!
//! Both become chains with `Q = 1` (`ops/prime/lucas.rs`), with the first term `P^2 / Q - 2` or
//! `P`.
//!
//! A symbol 0 shows a factor of `n`. A square has no such `D`. Other numbers have symbol -1 for
//! half of the `D`, so that on average two symbols are computed. By reciprocity they follow from
//! `n` modulo 8 and modulo the odd part of `|D|`, or any number that is equal to `n` modulo its
//! prime factors: a Jacobi symbol is a product of those over prime factors. So two remainders of
//! `n` serve the first values of `D`; a few more values are divisors of `n` themselves.
//!
//! `Q` is coprime to `n`: a prime factor `p` of `Q` is at most `|D| / 4`, so that an earlier `D` of
//! the list is `p` or `-p`, or 9 for `p = 3`. Its symbol was 1 and not 0.

use num_bigint::BigUint;
use num_traits::ToPrimitive;

/// A Lucas test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Strong,
    ExtraStrong,
}

/// Result of the search for a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter {
    Prime,
    Composite,
    /// A chain whose first term is this fraction modulo `n`, with a denominator coprime to `n`.
    Chain {
        numerator: i32,
        denominator: u32,
    },
}

impl Parameter {
    /// The operand of a kernel: the numerator above the denominator, which is 0 for decided rows.
    pub(crate) fn word(self) -> u64 {
        match self {
            Self::Composite => 0,
            Self::Prime => 1 << 32,
            Self::Chain { numerator, denominator } => {
                u64::from(numerator as u32) << 32 | u64::from(denominator)
            }
        }
    }

    pub(crate) fn of_word(word: u64) -> Self {
        match (word as u32, (word >> 32) as u32) {
            (0, 0) => Self::Composite,
            (0, _) => Self::Prime,
            (denominator, numerator) => Self::Chain { numerator: numerator as i32, denominator },
        }
    }
}

/// Numbers below this bound are decided by a table: no composite one of them passes, as the least
/// strong and extra strong pseudoprimes are 5459 and 989.
const SMALL: u64 = 64;

/// Bit `n` is set for each prime `n` below [`SMALL`].
const SMALL_PRIMES: u64 = 0x2820_8a20_a08a_28ac;

/// Products of the odd primes up to 23, and of those from 29 to 43.
const MODULI: [u64; 2] = [111_546_435, 58_642_669];

/// Bit `p` is set for each prime factor `p` of the second of [`MODULI`].
const OF_SECOND: u64 = 1 << 29 | 1 << 31 | 1 << 37 | 1 << 41 | 1 << 43;

/// Largest factor of `D` whose prime factors are among those of [`MODULI`], as are all below it.
const LARGEST: u32 = 45;

/// Candidate of a method.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// Factors of `D`.
    factors: [i32; 2],
    q: u32,
    numerator: i32,
}

impl Method {
    fn candidate(self, index: u32) -> Candidate {
        match self {
            Self::Strong => {
                let size = 5 + 2 * index as i32;
                let d = if index.is_multiple_of(2) { size } else { -size };
                let q = (1 - d) / 4;
                // 1 / Q - 2.
                let numerator = q.signum() * (1 - 2 * q);
                Candidate { factors: [d, 1], q: q.unsigned_abs(), numerator }
            }
            Self::ExtraStrong => {
                let p = 3 + index as i32;
                Candidate { factors: [p - 2, p + 2], q: 1, numerator: p }
            }
        }
    }

    /// Number of the first candidates, with `|D|` up to 137 or `P` up to 52.
    fn first_count(self) -> u32 {
        match self {
            Self::Strong => (137 - 5) / 2 + 1,
            Self::ExtraStrong => 52 - 2,
        }
    }
}

/// Jacobi symbol `(a | b)` for odd `b`.
fn jacobi(a: u64, b: u64) -> i32 {
    let (mut a, mut b, mut symbol) = (a % b, b, 1);
    while a != 0 {
        let twos = a.trailing_zeros();
        a >>= twos;
        if twos % 2 == 1 && matches!(b % 8, 3 | 5) {
            symbol = -symbol;
        }
        if a % 4 == 3 && b % 4 == 3 {
            symbol = -symbol;
        }
        (a, b) = (b % a, a);
    }
    if b == 1 { symbol } else { 0 }
}

/// Jacobi symbol `(a | n)` for odd `n`: `remainder(m)` is a number that is equal to `n` modulo the
/// prime factors of an odd `m`.
fn symbol(a: i32, eighth: u64, remainder: &impl Fn(u32) -> u64) -> i32 {
    let is_three = eighth % 4 == 3;
    let twos = a.trailing_zeros();
    let odd = a.unsigned_abs() >> twos;
    let mut symbol = jacobi(remainder(odd), odd.into());
    // -1, 2 and reciprocity.
    for is_negative in
        [a < 0 && is_three, twos % 2 == 1 && matches!(eighth, 3 | 5), is_three && odd % 4 == 3]
    {
        symbol = if is_negative { -symbol } else { symbol };
    }
    symbol
}

impl Candidate {
    /// Returns the parameter for an odd `n` from [`SMALL`] on; `None` if the symbol is 1.
    fn parameter(&self, eighth: u64, remainder: &impl Fn(u32) -> u64) -> Option<Parameter> {
        let [first, second] = self.factors;
        let symbol = symbol(first, eighth, remainder) * symbol(second, eighth, remainder);
        match symbol {
            0 => Some(Parameter::Composite),
            1 => None,
            _ => Some(Parameter::Chain { numerator: self.numerator, denominator: self.q }),
        }
    }
}

/// Returns `n` modulo a number below 2^32.
fn remainder(n: &[u64], modulus: u64) -> u64 {
    n.iter().rev().fold(0, |rest, limb| {
        let upper = (rest << 32 | limb >> 32) % modulus;
        (upper << 32 | limb & 0xffff_ffff) % modulus
    })
}

/// Finds the parameter of a number of any size among the first ones.
pub(crate) fn parameter(n: &[u64], method: Method) -> Option<Parameter> {
    let lowest = n.first().copied().unwrap_or(0);
    if lowest < SMALL && n.iter().skip(1).all(|&limb| limb == 0) {
        let is_prime = SMALL_PRIMES >> lowest & 1 == 1;
        return Some(if is_prime { Parameter::Prime } else { Parameter::Composite });
    }
    if lowest.is_multiple_of(2) {
        return Some(Parameter::Composite);
    }
    let [first, second] = MODULI.map(|modulus| remainder(n, modulus));
    let remainder = |odd: u32| match odd {
        ..=LARGEST if OF_SECOND >> odd & 1 == 1 => second,
        ..=LARGEST => first,
        _ => remainder(n, odd.into()),
    };
    let candidates = (0..method.first_count()).map(|index| method.candidate(index));
    { candidates }.find_map(|candidate| candidate.parameter(lowest % 8, &remainder))
}

/// Finds the parameter of an odd number that is not among the first ones.
pub(crate) fn late_parameter(n: &BigUint, method: Method) -> Parameter {
    let root = n.sqrt();
    if &root * &root == *n {
        return Parameter::Composite;
    }
    let remainder = |odd: u32| (n % odd).to_u64().unwrap_or(0);
    let is_multiple = |candidate: &Candidate| {
        let [first, second] = candidate.factors.map(|factor| u64::from(factor.unsigned_abs()));
        // A multiple of n has symbol 0 for a prime n, too.
        n.to_u64().is_some_and(|n| (first * second).is_multiple_of(n))
    };
    // A number that is no square has symbol -1 for some D below it.
    (method.first_count()..)
        .map(|index| method.candidate(index))
        .filter(|candidate| !is_multiple(candidate))
        .find_map(|candidate| candidate.parameter(remainder(8), &remainder))
        .unwrap_or(Parameter::Composite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_small_primes_is_that_of_trial_division() {
        let is_prime = |n: u64| n > 1 && (2..n).all(|d| !n.is_multiple_of(d));
        assert!((0..SMALL).all(|n| (SMALL_PRIMES >> n & 1 == 1) == is_prime(n)));
    }

    #[test]
    fn moduli_have_the_factors_of_the_first_candidates() {
        for method in [Method::Strong, Method::ExtraStrong] {
            for index in 0..method.first_count() {
                let Candidate { factors, q, .. } = method.candidate(index);
                assert!(q <= LARGEST, "{method:?} {index}");
                let factors = factors.map(i32::unsigned_abs).into_iter().chain([q]);
                for factor in factors.filter(|&factor| factor <= LARGEST) {
                    let odd = factor >> factor.trailing_zeros();
                    let modulus = MODULI[usize::from(OF_SECOND >> odd & 1 == 1)];
                    let divides = |p: &u64| u64::from(odd) % p == 0;
                    let mut primes = (3..=45).filter(|&p| (2..p).all(|d| p % d != 0));
                    assert!(primes.all(|p| !divides(&p) || modulus.is_multiple_of(p)), "{factor}");
                }
            }
        }
    }

    #[test]
    fn symbols_are_those_of_squares() {
        for p in [67u64, 71, 73, 79] {
            for a in (-60i32..60).filter(|&a| a != 0) {
                let residue = i64::from(a).rem_euclid(p as i64) as u64;
                let is_square = (1..p).any(|x| x * x % p == residue);
                let expected = if residue == 0 { 0 } else { 2 * i32::from(is_square) - 1 };
                let got = symbol(a, p % 8, &|modulus| p % u64::from(modulus));
                assert_eq!(got, expected, "({a} | {p})");
            }
        }
    }

    #[test]
    fn words_are_those_of_parameters() {
        for method in [Method::Strong, Method::ExtraStrong] {
            for n in 0..5000u64 {
                let found = parameter(&[n, 0], method);
                assert!(found.is_none_or(|found| Parameter::of_word(found.word()) == found));
                let is_square = (0..100).any(|x| x * x == n && n >= SMALL && n % 2 == 1);
                assert!(found.is_some() || is_square || n > 1000, "{method:?} {n}");
            }
        }
    }
}
