//! Perfect powers.
//!
//! A row `a > 1` is a power `x^p` with a prime exponent only if
//!
//! 1. `p` divides `t`, for even `a = 2^t (2 k + 1)`;
//! 2. no prime divides `a` exactly once;
//! 3. `p log2(y) < len`, for `a` of `len` bits without prime factors below `y`;
//! 4. `a = 1 mod 8`, for `p = 2` and odd `a`;
//! 5. `(a mod 2^64)^(1/p mod 2^62)` has `ceil(len / p)` bits, for odd `a` and `p` and roots shorter
//!    than 64 bits: the odd residues modulo `2^64` are a group with the exponent `2^62`, in which
//!    the root is unique, and `2^(len - 1) <= x^p < 2^len`;
//! 6. `a^((q - 1) / p)` is 0 or 1 modulo each prime `q = 1 mod p`.
//!
//! Of random rows 23 % pass 1 and 2. By 5, a root of `b` bits that does not exist passes with
//! `2^(b - 64)`, for the time of one power of 64 bits. By 6 it passes with `1 / p` for each `q`;
//! one division by a digit gives the residues modulo as many `q` as the digit has room for. A root
//! and its power decide on rows that pass. By 5 alone, an odd row of 2^20 bits would take the roots
//! of some 28 degrees from 16645 on. The host keeps the lowest limb and the length of each row.

use gpuint_catalogue::DigitKind;

use super::{View, faces, shape_of};
use crate::backend::host::collected;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;
use crate::sieve::primes;

/// Odd primes whose squares rows are divided by.
const SMALL: [u64; 24] =
    [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97];

/// Logarithms to base 2 of the least factors, 3 and 101, in thousandths, rounded down.
const LOGARITHMS: [u64; 2] = [1584, 6658];

impl View<'_> {
    pub(crate) fn perfect_powers(&self) -> Result<(DynBatch, Vec<u64>)> {
        let mut bases = self.batch.try_clone()?;
        let mut candidates = self.candidates()?;
        let lengths = candidates.iter().map(|row| u64::from(row.length > 1));
        let mut exponents = collected(lengths)?;
        let most = candidates.iter().map(Candidate::largest_exponent).max().unwrap_or(0);
        for p in primes(2..most + 1) {
            let inverse = inverse_of(p);
            let may_be = |row: &Candidate| row.may_be_power(p, inverse);
            let rows = (0..self.len()).filter(|&row| may_be(&candidates[row]));
            let rows = collected(rows)?;
            if rows.is_empty() {
                continue;
            }
            let sieve = PowerSieve::new(p, self.shape().digit);
            let mut rows = sieve.powers(&bases, rows)?;
            while !rows.is_empty() {
                let powers = bases.gather(&rows)?;
                let (roots, rests) = powers.nth_root_rem(p as usize)?;
                let found = rests.is_zero_mask()?.indices()?;
                let roots = roots.gather(&found)?;
                rows = collected(found.into_iter().map(|index| rows[index]))?;
                roots.scatter_into(&rows, &mut bases)?;
                let values = roots.bit_lengths()?.into_iter().zip(lowest_limbs(&roots)?);
                for (&row, (length, lowest)) in rows.iter().zip(values) {
                    exponents[row] *= p;
                    let Candidate { zeros, logarithm, .. } = candidates[row];
                    candidates[row] = Candidate { length, lowest, zeros: zeros / p, logarithm };
                }
                rows.retain(|&row| may_be(&candidates[row]));
                rows = sieve.powers(&bases, rows)?;
            }
        }
        Ok((bases, exponents))
    }

    pub(crate) fn is_perfect_power(&self) -> Result<Mask> {
        let (_, exponents) = self.perfect_powers()?;
        let are_powers = collected(exponents.iter().map(|&exponent| exponent != 1))?;
        Mask::from_bools(self.device(), &are_powers)
    }

    /// Reads the rows, and leaves those out that a small prime divides exactly once.
    fn candidates(&self) -> Result<Vec<Candidate>> {
        let numbers = self.bit_lengths()?.into_iter().zip(lowest_limbs(self.batch)?);
        let with_zeros = numbers.zip(self.trailing_zeros()?);
        let mut rows = collected(with_zeros.map(|((length, lowest), zeros)| {
            let zeros = if length == 0 { 0 } else { zeros };
            Candidate { length, lowest, zeros, logarithm: LOGARITHMS[1] }
        }))?;
        let most = u64::MAX >> (u64::BITS as usize - self.shape().digit.bits());
        let mut left = &SMALL[..];
        while let Some(&first) = left.first() {
            // As many squares as a digit has room for.
            let (mut product, mut count) = (first * first, 1);
            while let Some(next) = left.get(count).and_then(|q| product.checked_mul(q * q))
                && next <= most
            {
                (product, count) = (next, count + 1);
            }
            let (now, later) = left.split_at(count);
            for (row, residue) in rows.iter_mut().zip(self.batch.rem_digit(product)?) {
                for q in now.iter().filter(|&q| residue.is_multiple_of(*q)) {
                    row.logarithm = LOGARITHMS[0];
                    if !residue.is_multiple_of(q * q) {
                        // No exponent divides 1.
                        row.zeros = 1;
                    }
                }
            }
            left = later;
        }
        Ok(rows)
    }
}

/// Numbers of a row that may be a power.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    length: u64,
    /// The row modulo `2^64`.
    lowest: u64,
    /// A multiple of all exponents; 0 if none is known.
    zeros: u64,
    /// Logarithm of a lower bound of the odd prime factors, in thousandths.
    logarithm: u64,
}

impl Candidate {
    /// Upper bound of the prime exponents.
    fn largest_exponent(&self) -> u64 {
        let bound = self.length * 1000 / self.logarithm;
        if self.zeros > 0 { self.zeros.min(self.length) } else { bound }
    }

    /// Bits of a root of degree `p`.
    fn bits_of_root(&self, p: u64) -> u64 {
        self.length.div_ceil(p)
    }

    /// Returns true if the row may be a power with the prime exponent `p`, whose inverse modulo
    /// `2^64` is `inverse` if it is odd.
    fn may_be_power(&self, p: u64, inverse: u64) -> bool {
        if p >= self.length || p > self.largest_exponent() {
            return false;
        }
        if self.zeros > 0 {
            return self.zeros.is_multiple_of(p);
        }
        let bits = self.bits_of_root(p);
        match p {
            2 => self.lowest % 8 == 1,
            _ if bits >= u64::from(u64::BITS) => true,
            _ => u64::from(u64::BITS - power(self.lowest, inverse).leading_zeros()) == bits,
        }
    }
}

/// The inverse of an odd number modulo `2^64`, by Newton's method from 3 bits.
fn inverse_of(p: u64) -> u64 {
    let step = |x: u64, _| x.wrapping_mul(2u64.wrapping_sub(p.wrapping_mul(x)));
    (0..5).fold(p, step)
}

/// The power of a number modulo `2^64`.
fn power(mut base: u64, mut exponent: u64) -> u64 {
    let mut power = 1u64;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    power
}

/// The rows modulo `2^64`.
fn lowest_limbs(rows: &DynBatch) -> Result<Vec<u64>> {
    let shape = shape_of(u64::BITS as usize, rows.shape());
    let lowest = match rows.shape() == shape {
        true => rows.to_le_bytes()?,
        false => rows.view().truncated(shape)?.to_le_bytes()?,
    };
    let limb =
        |row: &[u8]| row.iter().take(8).rev().fold(0, |limb, &byte| limb << 8 | u64::from(byte));
    collected(lowest.chunks_exact(shape.bytes()).map(limb))
}

/// The least primes `q = 1 mod p` whose product is a digit: modulo these, a power with the prime
/// exponent `p` is 0, or of order `(q - 1) / p`.
struct PowerSieve {
    exponent: u64,
    primes: Vec<u64>,
    product: u64,
}

impl PowerSieve {
    fn new(exponent: u64, digit: DigitKind) -> Self {
        let most = u64::MAX >> (u64::BITS as usize - digit.bits());
        let (mut product, mut primes) = (1u64, Vec::new());
        for q in (1..).map(|k| k * exponent + 1).filter(|&q| is_prime(q)) {
            match product.checked_mul(q).filter(|&next| next <= most && q >> 32 == 0) {
                Some(next) => product = next,
                None => break,
            }
            primes.push(q);
        }
        Self { exponent, primes, product }
    }

    /// Leaves out rows of `bases` that are no powers modulo the primes.
    fn powers(&self, bases: &DynBatch, mut rows: Vec<usize>) -> Result<Vec<usize>> {
        if rows.is_empty() || self.primes.is_empty() {
            return Ok(rows);
        }
        let mut residues = bases.gather(&rows)?.rem_digit(self.product)?.into_iter();
        rows.retain(|_| {
            let residue = residues.next().unwrap_or(0);
            let power = |q| power_modulo(residue % q, (q - 1) / self.exponent, q);
            self.primes.iter().all(|&q| power(q) <= 1)
        });
        Ok(rows)
    }
}

/// The power of a number below `q < 2^32`, modulo `q`.
fn power_modulo(mut base: u64, mut exponent: u64, q: u64) -> u64 {
    let mut power = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power * base % q;
        }
        base = base * base % q;
        exponent >>= 1;
    }
    power
}

fn is_prime(n: u64) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

faces! {
    "Perfect powers";

    /// Computes `(bases, exponents)` with `self = base^exponent` and the largest exponents. Rows
    /// that are no perfect powers have the exponent 1. The rows 0 and 1, which are powers with
    /// every exponent, have the exponent 0 and themselves as base.
    ///
    /// The time grows with the number of primes up to `BITS / 6`, for each of which the host tests
    /// the lowest 64 bits of the rows that no small prime divides.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let rows = [1000u32, 1024, 7].map(BigUint::from);
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&Device::cpu(), &rows)?;
    /// let (bases, exponents) = a.perfect_powers()?;
    /// assert_eq!(bases.to_biguints()?, [10u32, 2, 7].map(BigUint::from));
    /// assert_eq!(exponents, [3, 10, 1]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`wrapping_pow`](Self::wrapping_pow).
    fn perfect_powers() -> NewAndWords;

    /// Returns a mask of the rows that are perfect powers; 0 and 1 are.
    ///
    /// # Errors
    /// As [`wrapping_pow`](Self::wrapping_pow).
    fn is_perfect_power() -> NewMask;
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::Device;

    #[test]
    fn rows_that_are_no_powers_are_left_out_by_primes() {
        const OTHERS: usize = 200;
        let device = Device::cpu();
        let shape = device.shape_for(1024).unwrap();
        let dividend = BigUint::from(10_007u32).pow(67);
        for p in [2, 3, 5, 7, 17, 61] {
            let others = (1..=OTHERS).map(|k| &dividend / k);
            let powers = (2..50u32).map(|base| BigUint::from(base).pow(p));
            let values: Vec<_> = others.chain(powers).collect();
            let bases = DynBatch::from_biguints(&device, shape, &values).unwrap();
            let rows: Vec<_> = (0..values.len()).collect();
            let sieve = PowerSieve::new(u64::from(p), shape.digit);
            let left = sieve.powers(&bases, rows.clone()).unwrap();
            let (wrong, right): (Vec<_>, Vec<_>) = left.into_iter().partition(|&row| row < OTHERS);
            assert!(wrong.len() <= 1, "exponent {p}: {wrong:?}");
            assert_eq!(right, rows[OTHERS..], "exponent {p}");
        }
    }
}
