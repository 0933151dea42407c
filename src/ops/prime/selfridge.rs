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
use rayon::prelude::*;

use crate::backend::host::{collected, reserved_vec};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::ops::View;
use crate::threads;

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

/// Candidate of a method.
#[derive(Debug)]
struct Candidate {
    /// Odd prime factors of `D`, as often as they divide it.
    factors: Vec<u32>,
    is_negative: bool,
    /// True if 2 divides `D` an odd number of times.
    is_twice_square: bool,
    /// Odd prime factors of `Q`.
    q_factors: Vec<u32>,
    /// Absolute value of `D`.
    size: u64,
    term: Term,
}

/// Returns the odd prime factors of a number that is not 0.
fn odd_factors(number: u32) -> Vec<u32> {
    let mut rest = number >> number.trailing_zeros();
    let mut factors = Vec::new();
    for p in (3..=number).step_by(2) {
        while rest.is_multiple_of(p) {
            rest /= p;
            factors.push(p);
        }
        if rest == 1 {
            break;
        }
    }
    factors
}

impl Method {
    fn candidate(self, index: u32) -> Candidate {
        match self {
            Self::Strong => {
                let size = 5 + 2 * index;
                let d = if index.is_multiple_of(2) { size as i32 } else { -(size as i32) };
                let q = (1 - d) / 4;
                Candidate {
                    factors: odd_factors(size),
                    is_negative: d < 0,
                    is_twice_square: false,
                    q_factors: odd_factors(q.unsigned_abs()),
                    size: size.into(),
                    term: Term {
                        numerator: q.signum() * (1 - 2 * q),
                        denominator: q.unsigned_abs(),
                    },
                }
            }
            Self::ExtraStrong => {
                let p = 3 + index;
                let [low, high] = [p - 2, p + 2];
                let twos = low.trailing_zeros() + high.trailing_zeros();
                Candidate {
                    factors: [odd_factors(low), odd_factors(high)].concat(),
                    is_negative: false,
                    is_twice_square: !twos.is_multiple_of(2),
                    q_factors: Vec::new(),
                    size: u64::from(low) * u64::from(high),
                    term: Term { numerator: p as i32, denominator: 1 },
                }
            }
        }
    }
}

/// Primes below this bound have a table of squares.
const TABLE: usize = 64;

/// For each odd prime `p` below [`TABLE`], bit `a` is set if `a` is a square modulo `p` and not 0.
const SQUARES: [u64; TABLE] = {
    let mut squares = [0; TABLE];
    let mut p = 3;
    while p < TABLE {
        let mut x = 1;
        while x < p {
            squares[p] |= 1 << (x * x % p);
            x += 1;
        }
        p += 2;
    }
    squares
};

/// Legendre's symbol of `a < p` and an odd prime `p`, beyond the table by Euler's criterion.
fn legendre(a: u32, p: u32) -> i32 {
    if a == 0 {
        return 0;
    }
    if let Some(squares) = SQUARES.get(p as usize) {
        return if squares >> a & 1 == 1 { 1 } else { -1 };
    }
    let (mut power, mut square, mut exponent) = (1u64, u64::from(a), (p - 1) / 2);
    let p = u64::from(p);
    while exponent > 0 {
        if exponent % 2 == 1 {
            power = power * square % p;
        }
        square = square * square % p;
        exponent /= 2;
    }
    if power == 1 { 1 } else { -1 }
}

impl Candidate {
    /// Jacobi symbol `(D | n)` for an odd `n`, whose remainders are given for 8 and the odd primes
    /// that divide `D`.
    fn symbol(&self, remainder: &impl Fn(u32) -> u32) -> i32 {
        let eighth = remainder(8);
        let is_three = eighth % 4 == 3;
        let mut symbol = if self.is_negative && is_three { -1 } else { 1 };
        if self.is_twice_square && matches!(eighth, 3 | 5) {
            symbol = -symbol;
        }
        for &p in &self.factors {
            symbol *= legendre(remainder(p), p);
            if is_three && p % 4 == 3 {
                symbol = -symbol;
            }
        }
        symbol
    }

    /// Returns the parameter for an odd `n` from [`SMALL`] on; `None` if the symbol is 1.
    fn parameter(&self, remainder: &impl Fn(u32) -> u32) -> Option<Parameter> {
        match self.symbol(remainder) {
            0 => Some(Parameter::Composite),
            1 => None,
            _ if self.q_factors.iter().any(|&p| remainder(p) == 0) => Some(Parameter::Composite),
            _ => Some(Parameter::Chain(self.term)),
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
        let mut index_of = [0; TABLE];
        for (modulus, index) in MODULI.into_iter().zip(indices) {
            index_of[modulus as usize] = index;
        }
        let search = |row: usize| {
            if small[row] {
                let is_prime = SMALL_PRIMES >> (remainders[0][row] % u64::from(SMALL)) & 1 == 1;
                return Some(if is_prime { Parameter::Prime } else { Parameter::Composite });
            }
            let remainder = |modulus: u32| {
                let index = index_of[modulus as usize];
                (remainders[index][row] % u64::from(modulus)) as u32
            };
            candidates.iter().find_map(|candidate| candidate.parameter(&remainder))
        };
        let mut found = reserved_vec(self.len())?;
        threads::install(|| {
            (0..self.len()).into_par_iter().map(search).collect_into_vec(&mut found);
        });
        let left: Vec<usize> = collected((0..self.len()).filter(|&row| found[row].is_none()))?;
        let mut parameters: Vec<Parameter> = reserved_vec(self.len())?;
        parameters.extend(found.into_iter().map(|found| found.unwrap_or(Parameter::Composite)));
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
    // A multiple of n has symbol 0 for a prime n, too.
    let is_multiple = |size: u64| n.to_u64().is_some_and(|n| size.is_multiple_of(n));
    // A number that is no square has symbol -1 for some D below it.
    (TRIED..)
        .map(|index| method.candidate(index))
        .filter(|candidate| !is_multiple(candidate.size))
        .find_map(|candidate| candidate.parameter(&remainder))
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
                let Candidate { factors, q_factors, .. } = method.candidate(index);
                let all = factors.iter().chain(&q_factors);
                assert!({ all }.all(|p| MODULI[1..].contains(p)), "{method:?} {index}");
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
            for method in [Method::Strong, Method::ExtraStrong] {
                for index in 0..40 {
                    let candidate = method.candidate(index);
                    let size = (candidate.size % u64::from(p)) as u32;
                    let residue = if candidate.is_negative { (p - size) % p } else { size };
                    let is_square = (1..p).any(|x| x * x % p == residue);
                    let expected = if residue == 0 { 0 } else { 2 * i32::from(is_square) - 1 };
                    let symbol = candidate.symbol(&|modulus| p % modulus);
                    assert_eq!(symbol, expected, "{method:?} {index} {p}");
                }
            }
        }
    }
}
