//! Special moduli `k b^n + c` with small `k`, `b` and `c`.

use std::ops::RangeInclusive;

use num_bigint::BigUint;
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
    /// [`recognize_fermat`](Self::recognize_fermat).
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
