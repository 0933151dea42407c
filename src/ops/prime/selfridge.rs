//! Parameters of Lucas tests.
//!
//! A test takes the first `D` of a list with the Jacobi symbol `(D | n) = -1`:
//!
//! - strong (J. L. Selfridge's method A): `D = 5, -7, 9, -11, ..`, `P = 1`, `Q = (1 - D) / 4`;
//! - extra strong (Z. Mo and J. P. Jones; J. Grantham, "Frobenius pseudoprimes", Math. Comp. 70,
//!   2001): `P = 3, 4, 5, ..`, `Q = 1`, `D = P^2 - 4`.
//!
//! Both become chains with `Q = 1` (`lucas.rs`), with the first term `P^2 / Q - 2` or `P`.
//!
//! A symbol 0 shows a factor of `n`. A square has no such `D`. Other numbers have symbol -1 for half
//! of the `D`, so that on average two symbols are computed. They follow from the remainders of `n`
//! by 8 and the primes up to 53, which are remainders of one or a few products of these primes.

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::backend::host::{collected, reserved_vec};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::ops::View;

/// A Lucas test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Strong,
    ExtraStrong,
}

/// First term of a chain with `Q = 1`, as a fraction modulo `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) numerator: i32,
    /// Coprime to `n`.
    pub(super) denominator: u32,
}

impl Term {
    /// The operand of a kernel: the numerator above the denominator.
    pub(super) fn word(self) -> u64 {
        u64::from(self.numerator as u32) << 32 | u64::from(self.denominator)
    }
}

/// Result of the search for a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameter {
    Prime,
    Composite,
    Chain(Term),
}

/// Odd numbers below this bound are decided by a table: no composite one of them passes, as the
/// least strong and extra strong pseudoprimes are 5459 and 989.
const SMALL: u32 = 64;

/// Bit `n` is set for each prime `n` below [`SMALL`].
const SMALL_PRIMES: u64 = 0x28208a20a08a28ac;

/// 8 and the odd primes whose products divide the rows.
const MODULI: [u32; 16] = [8, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53];

/// Candidates of [`MODULI`]: all factors of the first [`TRIED`] values of `D` are among them.
const TRIED: u32 = 27;

/// Candidate of a method, and the factors of its `D`.
struct Candidate {
    factors: [i32; 2],
    term: Term,
    /// `|Q|`.
    q: u32,
}

impl Method {
    fn candidate(self, index: u32) -> Candidate {
        let index = index as i32;
        match self {
            Self::Strong => {
                let size = 5 + 2 * index;
                let d = if index % 2 == 0 { size } else { -size };
                let q = (1 - d) / 4;
                let term =
                    Term { numerator: q.signum() * (1 - 2 * q), denominator: q.unsigned_abs() };
                Candidate { factors: [d, 1], term, q: q.unsigned_abs() }
            }
            Self::ExtraStrong => {
                let p = 3 + index;
                let term = Term { numerator: p, denominator: 1 };
                Candidate { factors: [p - 2, p + 2], term, q: 1 }
            }
        }
    }
}

/// Legendre's symbol of `a` and an odd prime `p`, by Euler's criterion.
fn legendre(a: u32, p: u32) -> i32 {
    let (mut power, mut square, mut exponent) = (1u64, u64::from(a), (p - 1) / 2);
    let p = u64::from(p);
    while exponent > 0 {
        if exponent % 2 == 1 {
            power = power * square % p;
        }
        square = square * square % p;
        exponent /= 2;
    }
    match power {
        0 => 0,
        1 => 1,
        _ => -1,
    }
}

/// Jacobi symbol `(a | n)` for an odd `n`, whose remainders are given for 8 and the odd primes that
/// divide `a`.
fn symbol(a: i32, remainder: &impl Fn(u32) -> u32) -> i32 {
    let eighth = remainder(8);
    let mut symbol = if a < 0 && eighth % 4 == 3 { -1 } else { 1 };
    let twos = a.trailing_zeros();
    if twos % 2 == 1 && matches!(eighth, 3 | 5) {
        symbol = -symbol;
    }
    let mut odd = a.unsigned_abs() >> twos;
    let mut p = 3;
    while odd > 1 {
        while odd % p == 0 {
            odd /= p;
            symbol *= legendre(remainder(p), p);
            if p % 4 == 3 && eighth % 4 == 3 {
                symbol = -symbol;
            }
        }
        p += 2;
    }
    symbol
}

/// Returns the parameter of a candidate for an odd `n` from [`SMALL`] on; `None` if its symbol is
/// not decisive.
fn parameter(candidate: &Candidate, remainder: &impl Fn(u32) -> u32) -> Option<Parameter> {
    let [first, second] = candidate.factors;
    match symbol(first, remainder) * symbol(second, remainder) {
        0 => Some(Parameter::Composite),
        1 => None,
        _ => {
            let has_factor = |p| candidate.q.is_multiple_of(p) && remainder(p) == 0;
            let mut primes = (3..=candidate.q).step_by(2);
            // A composite factor is found by its prime factors before it.
            Some(match primes.any(has_factor) {
                true => Parameter::Composite,
                false => Parameter::Chain(candidate.term),
            })
        }
    }
}

/// Products of [`MODULI`] that fit a digit of `bits` bits, and the index of each one's product.
fn products(bits: usize) -> (Vec<u64>, [usize; MODULI.len()]) {
    let most = u64::MAX >> (u64::BITS as usize - bits);
    let mut products: Vec<u64> = vec![1];
    let indices = MODULI.map(|modulus| {
        let last = products.len() - 1;
        match products[last].checked_mul(modulus.into()).filter(|&product| product <= most) {
            Some(product) => products[last] = product,
            None => products.push(modulus.into()),
        }
        products.len() - 1
    });
    (products, indices)
}

impl View<'_> {
    /// Finds the parameters of odd rows above 1.
    pub(super) fn lucas_parameters(&self, method: Method) -> Result<Vec<Parameter>> {
        let (products, indices) = products(self.shape().digit.bits());
        let remainders: Vec<Vec<u64>> =
            products.iter().map(|&product| self.batch.rem_digit(product)).collect::<Result<_>>()?;
        let small = self.lt_mask_all(&BigUint::from(SMALL))?.to_bools()?;
        let candidates: Vec<_> = (0..TRIED).map(|index| method.candidate(index)).collect();
        let mut left: Vec<usize> = Vec::new();
        let mut parameters = reserved_vec(self.len())?;
        for row in 0..self.len() {
            if small[row] {
                let is_prime = SMALL_PRIMES >> (remainders[0][row] % u64::from(SMALL)) & 1 == 1;
                parameters.push(if is_prime { Parameter::Prime } else { Parameter::Composite });
                continue;
            }
            let remainder = |modulus: u32| {
                let index = MODULI.iter().position(|&other| other == modulus).unwrap_or(0);
                (remainders[indices[index]][row] % u64::from(modulus)) as u32
            };
            let found = candidates.iter().find_map(|candidate| parameter(candidate, &remainder));
            if found.is_none() {
                left.push(row);
            }
            parameters.push(found.unwrap_or(Parameter::Composite));
        }
        if !left.is_empty() {
            let rows = self.gather(&left)?;
            let is_square = rows.is_square()?.to_bools()?;
            for (index, row) in left.into_iter().enumerate() {
                // A square is composite.
                if !is_square[index] {
                    parameters[row] = long_search(method, &rows.row(index)?);
                }
            }
        }
        Ok(parameters)
    }
}

/// Searches beyond the first candidates, for an odd `n` that is no square.
fn long_search(method: Method, n: &BigUint) -> Parameter {
    let remainder = |modulus: u32| (n % modulus).to_u32().unwrap_or(0);
    let is_multiple = |candidate: &Candidate| {
        let [first, second] = candidate.factors.map(|factor| u64::from(factor.unsigned_abs()));
        n.to_u64().is_some_and(|n| (first * second).is_multiple_of(n))
    };
    // Such a number has a symbol -1 for some D below it.
    (TRIED..)
        .map(|index| method.candidate(index))
        .filter(|candidate| !is_multiple(candidate))
        .find_map(|candidate| parameter(&candidate, &remainder))
        .unwrap_or(Parameter::Composite)
}

/// Returns the first terms of chains modulo rows of a batch.
pub(super) fn first_terms(moduli: &DynBatch, terms: &[Term]) -> Result<DynBatch> {
    let moduli_on_host = moduli.to_biguints()?;
    let terms = moduli_on_host.iter().zip(terms).map(|(n, term)| first_term(n, *term));
    DynBatch::from_biguints(moduli.device(), moduli.shape(), collected(terms)?)
}

/// Returns the fraction modulo `n`.
///
/// `(numerator + k n) / denominator` is whole for one `k` below the denominator.
fn first_term(n: &BigUint, Term { numerator, denominator }: Term) -> BigUint {
    let numerator = match u32::try_from(numerator) {
        Ok(numerator) => BigUint::from(numerator) % n,
        Err(_) => n - BigUint::from(numerator.unsigned_abs()) % n,
    };
    let multiples = (0..denominator).map(|k| n * k + &numerator);
    let whole = |multiple: &BigUint| multiple % denominator == BigUint::ZERO;
    multiples.filter(whole).map(|multiple| multiple / denominator).next().unwrap_or(numerator) % n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_small_primes_is_that_of_trial_division() {
        let is_prime = |n: u32| n > 1 && (2..n).all(|d| n % d != 0);
        assert!((0..SMALL).all(|n| (SMALL_PRIMES >> n & 1 == 1) == is_prime(n)));
    }

    #[test]
    fn moduli_have_the_factors_of_all_candidates() {
        for method in [Method::Strong, Method::ExtraStrong] {
            for index in 0..TRIED {
                let Candidate { factors, q, .. } = method.candidate(index);
                for mut rest in factors.map(i32::unsigned_abs).into_iter().chain([q]) {
                    rest >>= rest.trailing_zeros();
                    for p in &MODULI[1..] {
                        while rest % p == 0 {
                            rest /= p;
                        }
                    }
                    assert_eq!(rest, 1, "{method:?} {index}");
                }
            }
        }
    }

    #[test]
    fn products_fit_digits() {
        for bits in [16, 32, 64] {
            let (products, indices) = products(bits);
            assert!(products.iter().all(|&product| product.ilog2() < bits as u32));
            let divides = |(i, modulus): (usize, &u32)| products[indices[i]] % u64::from(*modulus);
            assert!(MODULI.iter().enumerate().map(divides).all(|rest| rest == 0));
            assert!(products[0] >= u64::from(SMALL));
        }
        assert_eq!(products(64).0.len(), 2);
    }

    #[test]
    fn symbols_are_those_of_squares() {
        for p in [67u32, 71, 73, 79] {
            for a in (-60..60).filter(|&a| a != 0) {
                let residue = a.rem_euclid(p as i32) as u32;
                let is_square = (1..p).any(|x| x * x % p == residue);
                let expected = if is_square { 1 } else { -1 };
                assert_eq!(symbol(a, &|modulus| p % modulus), expected, "({a} | {p})");
            }
        }
    }
}
