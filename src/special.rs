//! Special moduli `k b^n + c` with small `k`, `b` and `c`.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{One, ToPrimitive, Zero};

/// Largest `|c|` of a special modulus that a fold reduces by.
pub(crate) const MAX_TERM: u64 = 1 << 13;

/// Upper bound of `k` of a special modulus that a fold reduces by.
pub(crate) const FACTOR_BOUND: u64 = 1 << 31;

/// Least `n` of a special modulus that a fold reduces by.
const MIN_EXPONENT: u32 = 128;

/// Largest base of a generalized Fermat number whose digits have 16 bits with a sign
/// (`kernels/modular/fft/fermat_digits.cuh`).
const MAX_BASE: u32 = 65532;

/// Exponents of generalized Fermat numbers that are recognized.
const FERMAT_EXPONENTS: RangeInclusive<u32> = 1 << 10..=1 << 14;

/// A number `k b^n + c`: with `b = 2` a Mersenne (`2^n - 1`), Fermat (`2^n + 1`), Proth (`k 2^n +
/// 1`) or Riesel (`k 2^n - 1`) number, or another one with a small `c`; a generalized Fermat number
/// (`b^(2^m) + 1`).
///
/// ```
/// use gpuint::SpecialModulus;
/// use num_bigint::BigUint;
///
/// let proth = SpecialModulus::new(3, 189, 1);
/// let value: BigUint = (BigUint::from(3u32) << 189) + 1u32;
/// assert_eq!(proth.value(), Some(value.clone()));
/// assert_eq!(SpecialModulus::recognize(&value), Some(proth));
/// assert_eq!(SpecialModulus::recognize(&(value + 65536u32)), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpecialModulus {
    k: u32,
    base: u32,
    n: u32,
    c: i32,
}

impl SpecialModulus {
    /// Makes the number `k 2^n + c`.
    #[must_use]
    pub const fn new(k: u32, n: u32, c: i32) -> Self {
        Self::with_base(k, 2, n, c)
    }

    /// Makes the number `k base^n + c`. Residues have special arithmetic modulo numbers of base 2.
    /// Fermat's and strong tests also have it modulo those of
    /// [`recognize_fermat`](Self::recognize_fermat), and modulo `k base^n + 1` and `k base^n - 1`.
    #[must_use]
    pub const fn with_base(k: u32, base: u32, n: u32, c: i32) -> Self {
        Self { k, base, n, c }
    }

    /// Returns the form of a number with base 2, odd `k < 2^31`, `n >= 128` and `0 < |c| <= 2^13`;
    /// `None` for other numbers.
    #[must_use]
    pub fn recognize(number: &BigUint) -> Option<Self> {
        let low = number.iter_u64_digits().next()? % (2 * MAX_TERM);
        let (c, even) = if low <= MAX_TERM {
            (low as i32, number - low)
        } else {
            let below = 2 * MAX_TERM - low;
            (-(below as i32), number + below)
        };
        let n = even.trailing_zeros()?;
        let k = u32::try_from(&even >> n).ok()?;
        let form = Self::new(k, u32::try_from(n).ok()?, c);
        form.is_foldable().then_some(form)
    }

    /// Returns the form of a generalized Fermat number `b^n + 1` with even `b` from 4 to 65532 and
    /// `n` a power of two from 2^10 to 2^14; `None` for other numbers. Of several forms it is that
    /// with the largest `n`.
    ///
    /// ```
    /// use gpuint::SpecialModulus;
    /// use num_bigint::BigUint;
    ///
    /// let prime = BigUint::from(824u32).pow(1024) + 1u32;
    /// let form = SpecialModulus::with_base(1, 824, 1024, 1);
    /// assert_eq!(SpecialModulus::recognize_fermat(&prime), Some(form));
    /// assert_eq!(SpecialModulus::recognize_fermat(&(prime + 2u32)), None);
    /// ```
    #[must_use]
    pub fn recognize_fermat(number: &BigUint) -> Option<Self> {
        if !number.bit(0) || number.is_one() {
            return None;
        }
        // b^n has n zeros at the end for each one of b: nearly all numbers are told from powers by
        // that. The root is one by logarithms, and is checked.
        let power = number - 1u32;
        let zeros = power.trailing_zeros()?;
        let log2 = {
            let below = power.bits().saturating_sub(64);
            (&power >> below).to_f64()?.log2() + below as f64
        };
        let form = |n: u32| {
            let base = (log2 / f64::from(n)).exp2().round();
            let is_candidate = (4.0..=f64::from(MAX_BASE)).contains(&base)
                && u64::from((base as u32).trailing_zeros() * n) == zeros;
            let base = base as u32;
            (is_candidate && BigUint::from(base).pow(n) == power)
                .then_some(Self::with_base(1, base, n, 1))
        };
        // The largest exponent has the least base, which is no square.
        std::iter::successors(Some(*FERMAT_EXPONENTS.end()), |n| Some(n / 2))
            .take_while(|n| FERMAT_EXPONENTS.contains(n))
            .find_map(form)
    }

    /// Returns the form of the same generalized Fermat number with the exponent `n`, a divisor of
    /// its own; `None` if the base does not fit.
    pub(crate) fn with_exponent(self, n: u32) -> Option<Self> {
        let base = self.base.checked_pow(self.n / n)?;
        Some(Self::with_base(self.k, base, n, self.c))
    }

    /// Returns the form of a number `k b^n + 1` or `k b^n - 1` with `k < 2^31`, `b` up to 65532 and
    /// `n >= 32`; `None` for other numbers. The base `hint` is tried first.
    pub(crate) fn recognize_base(number: &BigUint, hint: Option<u32>) -> Option<Self> {
        if number.bits() < u64::from(MIN_EXPONENT) {
            return None;
        }
        let powers = [(1, number - 1u32), (-1, number + 1u32)];
        let of_primes = |primes: &dyn Fn(&BigUint) -> Vec<u32>| {
            powers.iter().find_map(|(c, power)| {
                let (k, base, n) = power_of_primes(power, &primes(power))?;
                Some(Self::with_base(k, base, n, *c))
            })
        };
        let hinted = hint.and_then(|base| {
            let primes = primes_of(&base.into());
            of_primes(&|_| primes.clone())
        });
        hinted.or_else(|| of_primes(&primes_of))
    }

    /// Returns `k t^q + c`, a multiple of the number by a power of its base, with the largest power
    /// `t` of the base whose digits have 16 bits with a sign; `None` if `k` or `c` are too long.
    pub(crate) fn in_digits(self) -> Option<Self> {
        let base = u64::from(self.base);
        let fits = |exponent: &u32| base.pow(*exponent) <= u64::from(MAX_BASE);
        let exponent = (1..=u16::BITS).take_while(fits).last().filter(|_| base > 1)?;
        // With n = q e + r, either b^r multiplies k, or the number is multiplied by b^(e - r).
        let (q, over) = (self.n / exponent, self.n % exponent);
        let lacking = exponent - over;
        let (k, q, c) = if over <= lacking {
            (u64::from(self.k).checked_mul(base.pow(over))?, q, i64::from(self.c))
        } else {
            let c = i64::from(self.c).checked_mul(base.pow(lacking) as i64)?;
            (u64::from(self.k), q + 1, c)
        };
        let digit = base.pow(exponent) as u32;
        Some(Self::with_base(u32::try_from(k).ok()?, digit, q, i32::try_from(c).ok()?))
    }

    /// Returns true if `pow_special_base` computes powers of rows of `bits` bits with the factor:
    /// the bounds of `kernels/modular/fft/base_digits.cuh`.
    pub(crate) fn takes_digits(self, factor: u32, bits: usize) -> bool {
        let (k, c, m) = (u128::from(self.k), u128::from(self.c.unsigned_abs()), u128::from(factor));
        let digits = u64::from(self.n) + u64::from(self.digits_above());
        (257..=MAX_BASE).contains(&self.base)
            && self.n >= 16
            && digits <= bits as u64 / 16
            && k > 0
            && m <= 1 << 12
            && m * k < 1 << 31
            && m * c <= 1 << 20
            && m * k * c <= 1 << 40
            && m * k * c * c <= 1 << 46
    }

    /// Returns the least `u` with `base^u > 2 k + 2`.
    fn digits_above(self) -> u32 {
        let most = 2 * u128::from(self.k) + 2;
        (1..).find(|&count| u128::from(self.base).pow(count) > most).unwrap_or(u32::MAX)
    }

    /// Returns a lower bound of the bits of the number: at least `2^m`, with `m` the sum of `n
    /// log2(base)` and `log2(k)`, both logarithms rounded down, less a term of at most 2^31.
    pub(crate) fn min_bits(self) -> u64 {
        let log = |number: u32| u64::from(number.checked_ilog2().unwrap_or(0));
        let bits = u64::from(self.n) * log(self.base) + log(self.k);
        // 2^m - 2^31 >= 2^(m - 1), of m bits. 0 is no power of two.
        if self.k == 0 || self.base == 0 || bits <= 31 { 0 } else { bits }
    }

    /// Returns the number; `None` if it is not positive. It has about `n log2(base)` bits: large
    /// exponents take long.
    #[must_use]
    pub fn value(self) -> Option<BigUint> {
        let power = match self.base {
            2 => BigUint::one() << self.n,
            base => BigUint::from(base).pow(self.n),
        };
        let product = power * self.k;
        let term = self.c.unsigned_abs();
        let value = match self.c {
            0.. => product + term,
            _ if product > BigUint::from(term) => product - term,
            _ => return None,
        };
        (!value.is_zero()).then_some(value)
    }

    /// Returns the factor `k`.
    #[must_use]
    pub const fn k(self) -> u32 {
        self.k
    }

    /// Returns the base: 2 for numbers `k 2^n + c`.
    #[must_use]
    pub const fn base(self) -> u32 {
        self.base
    }

    /// Returns the exponent `n`.
    #[must_use]
    pub const fn n(self) -> u32 {
        self.n
    }

    /// Returns the term `c`.
    #[must_use]
    pub const fn c(self) -> i32 {
        self.c
    }

    /// Returns true if folds reduce modulo the number (`kernels/modular/special.cuh`).
    pub(crate) fn is_foldable(self) -> bool {
        self.base == 2
            && self.n >= MIN_EXPONENT
            && self.takes_factor(1)
            && self.k > 0
            && self.c != 0
            && num_integer::gcd(i64::from(self.k), i64::from(self.c)) == 1
    }

    /// Returns true if a fold may multiply by the factor.
    pub(crate) fn takes_factor(self, factor: u32) -> bool {
        let factor = u64::from(factor);
        u64::from(self.k) * factor < FACTOR_BOUND
            && u64::from(self.c.unsigned_abs()) * factor <= MAX_TERM
    }

    /// Returns true if `pow_special` computes powers of rows of `bits` bits with the factor: the
    /// bounds of `kernels/modular/fft/special_digits.cuh`.
    pub(crate) fn fits_digits(self, factor: u32, bits: usize) -> bool {
        const DIGIT: usize = 16;
        let top = (self.n as usize).next_multiple_of(DIGIT);
        let term = u64::from(self.c.unsigned_abs()) << (top - self.n as usize);
        let multiple = u64::from(self.k) * u64::from(factor);
        top < bits
            && top + (u32::BITS - self.k.leading_zeros()) as usize <= bits + 4
            && term <= 1 << 19
            && multiple * term <= 1 << 42
    }

    /// Returns true if `pow_fermat` computes powers with the factor modulo this generalized Fermat
    /// number: the bounds of `kernels/modular/fft/fermat_digits.cuh`.
    pub(crate) fn takes_fermat_digits(self, factor: u32) -> bool {
        let (base, half) = (u64::from(self.base), u64::from(self.base / 2 + 1));
        let columns = u64::from(factor).saturating_mul(u64::from(self.n) * half * half);
        factor <= 1 << 12
            && (4..=MAX_BASE).contains(&self.base)
            && self.base.is_multiple_of(2)
            && columns.saturating_add(columns / (base - 1) + 1 + base) < 1 << 51
    }

    /// Returns the words of a record (`kernels/modular/special.cuh`).
    pub(crate) const fn record(self) -> [u32; 4] {
        [self.k, self.n, self.c.cast_unsigned(), self.base]
    }

    /// Returns `1 / k^power` modulo the number `value`, of this form.
    pub(crate) fn inverse_power(self, power: u32, value: &BigUint) -> Option<BigUint> {
        (0..power).try_fold(BigUint::one(), |inverse, _| self.divided(&inverse, value))
    }

    /// Returns true if all numbers of `bits` bits are below the square of this foldable one.
    pub(crate) const fn has_square_of(self, bits: usize) -> bool {
        2 * (self.n as usize - 1) >= bits
    }

    /// Returns `x / k` modulo the number `value`: `(x + t value) / k` for the `t < k` that makes
    /// the division exact, `t = -x / c mod k`.
    fn divided(self, x: &BigUint, value: &BigUint) -> Option<BigUint> {
        if self.k == 1 {
            return Some(x.clone());
        }
        let k = BigUint::from(self.k);
        let inverse = (value % &k).modinv(&k)?;
        let t = (&k - x % &k) * inverse % &k;
        Some((x + t * value) / k)
    }
}

/// Least exponent of a power that is recognized: `k < 2^31` has no prime so often.
const MIN_VALUATION: u32 = 32;

/// Returns the primes up to `MAX_BASE` that divide a number, from remainders by products of primes.
fn primes_of(number: &BigUint) -> Vec<u32> {
    /// Primes of a product.
    const PART: usize = 128;
    static PARTS: OnceLock<Vec<(BigUint, Vec<u32>)>> = OnceLock::new();
    let parts = PARTS.get_or_init(|| {
        let primes: Vec<u32> =
            crate::sieve::primes(0..u64::from(MAX_BASE)).map(|prime| prime as u32).collect();
        primes.chunks(PART).map(|part| (part.iter().product(), part.to_vec())).collect()
    });
    let divisors = parts.iter().flat_map(|(product, primes)| {
        let rest = number % product;
        primes.iter().copied().filter(move |&prime| (&rest % prime).is_zero())
    });
    divisors.collect()
}

/// Returns `k`, `b` and `n` of a number `k b^n` with `k < 2^31`, `b` a product of powers of the
/// primes up to `MAX_BASE`, and `n` as large as possible.
fn power_of_primes(number: &BigUint, primes: &[u32]) -> Option<(u32, u32, u32)> {
    let valuations: Vec<(u32, u32)> = primes
        .iter()
        .map(|&prime| (prime, valuation(number, prime)))
        .filter(|&(_, exponent)| exponent >= MIN_VALUATION)
        .collect();
    let least = valuations.iter().map(|&(_, exponent)| exponent).min()?;
    let form = |least_in_base: u32| {
        // The exponents in b are in the ratio of the valuations, but for the primes of k.
        let in_base = |exponent: u32| {
            (u64::from(exponent) * u64::from(least_in_base) + u64::from(least) / 2)
                / u64::from(least)
        };
        let base = valuations.iter().try_fold(1u64, |base, &(prime, exponent)| {
            let power = u64::from(prime).checked_pow(u32::try_from(in_base(exponent)).ok()?)?;
            base.checked_mul(power).filter(|&base| base <= u64::from(MAX_BASE))
        })?;
        let n = valuations.iter().map(|&(_, exponent)| u64::from(exponent) / in_base(exponent));
        let n = u32::try_from(n.min()?).ok()?;
        let is_candidate = f64::from(n) * (base as f64).log2() + 33.0 > number.bits() as f64;
        let k = is_candidate.then(|| number / BigUint::from(base).pow(n))?;
        let k = k.to_u32().filter(|&k| u64::from(k) < FACTOR_BOUND)?;
        Some((k, base as u32, n))
    };
    (1..=u16::BITS).find_map(form)
}

/// Returns the exponent of the prime in a number.
fn valuation(number: &BigUint, prime: u32) -> u32 {
    let mut powers = vec![BigUint::from(prime)];
    while let Some(last) = powers.last().filter(|last| 2 * last.bits() <= number.bits() + 1) {
        powers.push(last * last);
    }
    let (mut rest, mut exponent) = (number.clone(), 0);
    for (index, power) in powers.iter().enumerate().rev() {
        let (quotient, remainder) = rest.div_rem(power);
        if remainder.is_zero() {
            rest = quotient;
            exponent += 1 << index;
        }
    }
    exponent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_numbers_are_recognized() {
        for (k, n, c) in [(1, 521, -1), (1, 128, 1), (3, 2816, 1), (5, 700, -8191), (7, 200, 8189)]
        {
            let form = SpecialModulus::new(k, n, c);
            assert_eq!(SpecialModulus::recognize(&form.value().unwrap()), Some(form));
        }
        for (k, n, c) in [(1, 127, 1), (9, 300, 3), (0x8000_0001, 300, 1), (1, 300, 8193)] {
            let number = SpecialModulus::new(k, n, c).value().unwrap();
            assert_eq!(SpecialModulus::recognize(&number), None, "{k} 2^{n} + {c}");
        }
        assert_eq!(SpecialModulus::recognize(&BigUint::ZERO), None);
        assert_eq!(SpecialModulus::new(1, 3, -8).value(), None);
        assert_eq!(SpecialModulus::new(0, 3, 0).value(), None);
    }

    #[test]
    fn generalized_fermat_numbers_are_recognized() {
        for (base, n) in [(6, 1024), (824, 1024), (65532, 1024), (150, 2048), (10, 16384)] {
            let form = SpecialModulus::with_base(1, base, n, 1);
            let value = form.value().unwrap();
            assert_eq!(SpecialModulus::recognize_fermat(&value), Some(form));
            assert_eq!(SpecialModulus::recognize_fermat(&(value + 65536u32 * 4)), None);
        }
        // The exponent is the largest one.
        let square = SpecialModulus::with_base(1, 36, 1024, 1).value().unwrap();
        let form = SpecialModulus::with_base(1, 6, 2048, 1);
        assert_eq!(SpecialModulus::recognize_fermat(&square), Some(form));
        // Other bases and exponents have no form.
        for (base, n) in [(7, 1024), (6, 512), (6, 1023), (65538, 1024)] {
            let value = SpecialModulus::with_base(1, base, n, 1).value().unwrap();
            assert_eq!(SpecialModulus::recognize_fermat(&value), None, "{base}^{n} + 1");
        }
        for number in 0..4u32 {
            assert_eq!(SpecialModulus::recognize_fermat(&number.into()), None);
        }
    }

    #[test]
    fn factors_fit_fermat_digits_up_to_the_bounds() {
        let takes =
            |base, n, factor| SpecialModulus::with_base(1, base, n, 1).takes_fermat_digits(factor);
        assert!(takes(4, 1024, 1 << 12) && !takes(4, 1024, (1 << 12) + 1));
        assert!(takes(65532, 16384, 127) && !takes(65532, 16384, 129));
        assert!(!takes(2, 1024, 1) && !takes(65534, 1024, 1) && !takes(7, 1024, 1));
    }

    #[test]
    fn moduli_fit_digits_up_to_the_bounds() {
        let fits = |k, n, c| SpecialModulus::new(k, n, c).fits_digits(3, 65536);
        assert!(fits(1, 65520, -1) && !fits(1, 65521, -1), "a digit is left above");
        assert!(fits(15, 65532 - 16, 1) && fits((1 << 20) - 1, 65520, 1), "bits of k");
        assert!(!fits(1 << 20, 65520, 1), "bits of k");
        assert!(fits(1, 1008, 8191) && fits(1, 1002, 8191) && !fits(1, 1001, 8191), "c");
        assert!(fits(0x1555_5555, 1008, 2729) && !fits(0x1555_5555, 1007, 2729), "quotients");
    }

    #[test]
    fn numbers_of_any_base_are_recognized() {
        for (k, base, n) in [
            (1, 3, 700),
            (2, 3, 701),
            (2 * 3 * 5 * 7 * 11 * 13, 17, 300),
            (1 << 30, 7, 250),
            (0x7fff_fffe, 65521, 60),
            (5 * 9, 12, 400),
            (7, 6, 1000),
            (4, 1000, 333),
            (1, 65532, 64),
            (11, 97, 16 * 16),
        ] {
            for c in [1, -1] {
                let form = SpecialModulus::with_base(k, base, n, c);
                let value = form.value().unwrap();
                let found = SpecialModulus::recognize_base(&value, None).unwrap();
                assert_eq!(found.value(), Some(value.clone()), "{form:?}");
                // A power of a prime may be the base, and factors of k part of the power.
                assert!(found.n() >= n && found.k() <= k, "{form:?}");
                for hint in [base, 10] {
                    assert_eq!(SpecialModulus::recognize_base(&value, Some(hint)), Some(found));
                }
                assert_eq!(SpecialModulus::recognize_base(&(value + 12u32), None), None);
            }
        }
        for number in [0u32, 1, 2, 1001] {
            assert_eq!(SpecialModulus::recognize_base(&number.into(), None), None);
        }
        // A long cofactor, and a factorial.
        let wide = SpecialModulus::with_base(0x8000_0000, 7, 300, 1).value().unwrap();
        assert_eq!(SpecialModulus::recognize_base(&wide, None), None);
        let factorial = (1..=400u32).fold(BigUint::one(), |product, factor| product * factor);
        assert_eq!(SpecialModulus::recognize_base(&(factorial + 1u32), None), None);
    }

    #[test]
    fn digits_of_forms_have_multiples_of_their_numbers() {
        for (k, base, n, c, form) in [
            (7, 10, 1200, 1, (7, 10000, 300, 1)),
            (7, 10, 1201, 1, (70, 10000, 300, 1)),
            (7, 10, 1202, -1, (700, 10000, 300, -1)),
            (7, 10, 1203, -1, (7, 10000, 301, -10)),
            (2, 3, 1009, 5, (2, 59049, 101, 15)),
            (1, 65532, 40, 1, (1, 65532, 40, 1)),
        ] {
            let digits = SpecialModulus::with_base(k, base, n, c).in_digits().unwrap();
            let (k, base, q, c) = form;
            assert_eq!(digits, SpecialModulus::with_base(k, base, q, c));
        }
        for (k, base) in [(1, 65533), (1, 1), (1, 0), (1 << 31, 10)] {
            assert_eq!(SpecialModulus::with_base(k, base, 1201, 1).in_digits(), None);
        }
    }

    #[test]
    fn digits_take_moduli_up_to_the_bounds() {
        let takes = |k, base, q, c, factor| {
            SpecialModulus::with_base(k, base, q, c).takes_digits(factor, 32768)
        };
        assert!(takes(127, 257, 2047, 1, 3) && !takes(1, 257, 2048, 1, 3), "a digit above");
        assert!(takes(1, 65532, 16, 1, 3) && !takes(1, 65532, 15, 1, 3), "q");
        assert!(!takes(1, 256, 300, 1, 3) && !takes(1, 65533, 300, 1, 3), "t");
        assert!(takes(128, 257, 2046, 1, 3) && !takes(128, 257, 2047, 1, 3), "two digits above");
        let most = ((1 << 31) - 1) / 3;
        assert!(takes(most, 257, 2044, 1, 3) && !takes(most, 257, 2045, 1, 3), "four digits");
        assert!(!takes(most + 1, 257, 2044, 1, 3), "m k");
        assert!(takes(1, 257, 300, 1, 1 << 12) && !takes(1, 257, 300, 1, (1 << 12) + 1), "m");
        assert!(takes(1, 257, 300, -(1 << 19), 2) && !takes(1, 257, 300, 1 + (1 << 19), 2), "c");
        assert!(takes(1 << 24, 257, 300, 1 << 11, 1), "c^2");
        assert!(!takes(1 + (1 << 24), 257, 300, 1 << 11, 1), "c^2");
        assert!(takes(1 << 30, 257, 300, 1 << 8, 1) && !takes(1 << 30, 257, 300, 513, 1), "k c^2");
        assert!(!takes(0, 257, 300, 1, 3));
    }

    #[test]
    fn min_bits_are_a_lower_bound() {
        for (k, base, n, c) in [
            (1, 2, 32, i32::MIN),
            (1, 2, 700, 1),
            (u32::MAX, 2, 300, -1),
            (3, 10, 100, 7),
            (1, 65532, 1024, 1),
            (5, 1, 9, 1),
            (0, 10, 99, 1),
            (7, 0, 99, 1),
        ] {
            let form = SpecialModulus::with_base(k, base, n, c);
            assert!(form.min_bits() <= form.value().unwrap().bits(), "{form:?}");
        }
        let wide = SpecialModulus::with_base(1, 10, u32::MAX, 1).min_bits();
        assert_eq!(wide, 3 * u64::from(u32::MAX));
    }

    #[test]
    fn inverse_powers_are_those_of_the_factor() {
        for (k, n, c) in [(3, 189, 1), (0x7fff_ffff, 400, -8192), (10, 300, 3), (1, 128, 1)] {
            let form = SpecialModulus::new(k, n, c);
            let value = form.value().unwrap();
            let inverse = form.inverse_power(3, &value).unwrap();
            assert!(inverse < value);
            assert!((inverse * k * k * k % value).is_one(), "{k} 2^{n} + {c}");
        }
    }
}
