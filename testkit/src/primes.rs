//! Tests for probable primes by their definitions, and numbers on which such tests fail.
//!
//! The arithmetic is `malachite-nz`'s. Lucas sequences are computed with `U`, `V` and `Q^k`, which
//! the library never computes.

use std::ops::RangeInclusive;

use gpuint::num_bigint::BigUint;
use malachite_base::num::arithmetic::traits::{
    DivisibleBy, FloorSqrt, Gcd, KroneckerSymbol, ModInverse, ModPow, Parity, Square,
};
use malachite_base::num::basic::traits::{One, Zero};
use malachite_base::num::logic::traits::{BitAccess, SignificantBits};
use malachite_nz::integer::Integer;
use malachite_nz::natural::Natural;

fn natural(value: &BigUint) -> Natural {
    Natural::from_owned_limbs_asc(value.to_u64_digits())
}

/// Returns true for 2, false for 0, 1 and other even numbers, and nothing for other numbers.
fn decided(n: &Natural) -> Option<bool> {
    if *n == 2u32 {
        return Some(true);
    }
    (n.even() || *n == 1u32).then_some(false)
}

/// Returns true if `n` is a strong probable prime to a base.
#[must_use]
pub fn is_strong(n: &BigUint, base: &BigUint) -> bool {
    let (n, base) = (natural(n), natural(base));
    if let Some(passes) = decided(&n) {
        return passes;
    }
    let base = base % &n;
    if base == 0u32 {
        return true;
    }
    let minus_one = &n - Natural::ONE;
    let s = minus_one.trailing_zeros().unwrap_or(0);
    let mut power = base.mod_pow(&minus_one >> s, &n);
    if power == 1u32 {
        return true;
    }
    for _ in 0..s {
        if power == minus_one {
            return true;
        }
        power = power.square() % &n;
    }
    false
}

/// Terms of a Lucas sequence modulo an odd `n`.
struct Lucas {
    n: Natural,
    p: Natural,
    d: Natural,
    q: Natural,
    u: Natural,
    v: Natural,
    power: Natural,
}

impl Lucas {
    /// The terms with index 1.
    fn new(n: &Natural, p: i64, q: i64) -> Self {
        let residue = |value: i64| {
            let size = Natural::from(value.unsigned_abs()) % n;
            if value < 0 && size != 0u32 { n - size } else { size }
        };
        let [p, d, q] = [p, p * p - 4 * q, q].map(residue);
        Self { n: n.clone(), u: Natural::ONE, v: p.clone(), power: q.clone(), p, d, q }
    }

    /// The terms with index 1 of the sequence with `P` below `n` and `Q = 1`.
    fn with(n: &Natural, p: Natural) -> Self {
        let four = Natural::from(4u32) % n;
        let d = ((&p).square() + n - four) % n;
        let q = Natural::ONE;
        Self { n: n.clone(), u: Natural::ONE, v: p.clone(), power: q.clone(), p, d, q }
    }

    fn half(&self, x: Natural) -> Natural {
        (if x.odd() { x + &self.n } else { x } >> 1u32) % &self.n
    }

    fn double(&mut self) {
        let n = &self.n;
        self.u = &self.u * &self.v % n;
        let twice = (&self.power << 1u32) % n;
        self.v = ((&self.v).square() + n - twice) % n;
        self.power = (&self.power).square() % n;
    }

    fn advance(&mut self) {
        let u = self.half(&self.p * &self.u + &self.v);
        self.v = self.half(&self.d * &self.u + &self.p * &self.v);
        self.u = u;
        self.power = &self.power * &self.q % &self.n;
    }

    fn advance_to(&mut self, index: &Natural) {
        for bit in (0..index.significant_bits() - 1).rev() {
            self.double();
            if index.get_bit(bit) {
                self.advance();
            }
        }
    }

    /// Returns true if one of the terms `V` of `count` successive powers of two times the index is
    /// 0.
    fn reaches_zero(&mut self, count: u64) -> bool {
        (0..count).any(|_| {
            let is_zero = self.v == 0u32;
            self.double();
            is_zero
        })
    }
}

/// Returns the first `(P, Q)` of a list whose discriminant has symbol -1; nothing for a number that
/// a symbol 0 shows to be composite.
fn parameters(n: &Natural, list: impl Iterator<Item = (i64, i64)>) -> Option<(i64, i64)> {
    for (p, q) in list {
        let d = Integer::from(p * p - 4 * q);
        match (&d).kronecker_symbol(Integer::from(n)) {
            -1 => return Some((p, q)),
            0 if !d.divisible_by(Integer::from(n)) => return None,
            _ => {}
        }
    }
    None
}

fn is_square(n: &Natural) -> bool {
    n.floor_sqrt().square() == *n
}

/// Returns the fraction of the library's chain: the numerator above the denominator, which is 0 for
/// decided numbers.
fn term(n: &BigUint, list: impl Iterator<Item = (i64, i64)>) -> u64 {
    let (number, n) = (n, natural(n));
    if n < 64u32 {
        let is_prime = number.to_u64_digits().first().is_some_and(|&n| sieve(64)[n as usize]);
        return u64::from(is_prime) << 32;
    }
    if n.even() {
        return 0;
    }
    let Some((p, q)) = parameters(&n, list) else { return 0 };
    // P^2 / Q - 2, or P where Q is 1.
    let (numerator, denominator) = match q {
        1 => (p, 1),
        _ => (q.signum() * (p * p - 2 * q), q.abs()),
    };
    let is_coprime = (&n).gcd(Natural::from(denominator.unsigned_abs())) == 1u32;
    let word = u64::from(numerator as i32 as u32) << 32 | denominator.unsigned_abs();
    if is_coprime { word } else { 0 }
}

/// The parameters of strong tests.
fn strong_list() -> impl Iterator<Item = (i64, i64)> {
    (0..).map(|i| (1, (1 - if i % 2 == 0 { 5 + 2 * i } else { -5 - 2 * i }) / 4))
}

/// Returns the first term of the chain of a strong test of a number that is no square.
#[must_use]
pub fn strong_term(n: &BigUint) -> u64 {
    term(n, strong_list())
}

/// Returns the first term of the chain of an extra strong test of a number that is no square.
#[must_use]
pub fn extra_strong_term(n: &BigUint) -> u64 {
    term(n, (3..).map(|p| (p, 1)))
}

/// The sequence of a strong test with the first parameters of a list that serve, or its outcome
/// where it has none.
fn sequence(n: &Natural, list: impl Iterator<Item = (i64, i64)>) -> Result<Lucas, bool> {
    if let Some(passes) = decided(n) {
        return Err(passes);
    }
    let parameters = if is_square(n) { None } else { parameters(n, list) };
    parameters.map(|(p, q)| Lucas::new(n, p, q)).ok_or(false)
}

/// Returns true if `n` is a strong Lucas probable prime with Selfridge's parameters.
#[must_use]
pub fn is_strong_lucas(n: &BigUint) -> bool {
    let n = natural(n);
    let mut lucas = match sequence(&n, strong_list()) {
        Ok(lucas) => lucas,
        Err(passes) => return passes,
    };
    let next = &n + Natural::ONE;
    let s = next.trailing_zeros().unwrap_or(0);
    lucas.advance_to(&(next >> s));
    lucas.u == 0u32 || lucas.reaches_zero(s)
}

/// Returns true if `n` is an extra strong Lucas probable prime.
#[must_use]
pub fn is_extra_strong_lucas(n: &BigUint) -> bool {
    let n = natural(n);
    match sequence(&n, (3..).map(|p| (p, 1))) {
        Ok(lucas) => passes_extra_strongly(&n, lucas),
        Err(passes) => passes,
    }
}

/// Tests the terms of a sequence with `Q = 1`, from those with index 1 on.
fn passes_extra_strongly(n: &Natural, mut lucas: Lucas) -> bool {
    let next = n + Natural::ONE;
    let s = next.trailing_zeros().unwrap_or(0);
    lucas.advance_to(&(next >> s));
    let two = Natural::from(2u32) % n;
    let is_one = lucas.u == Natural::ZERO && (lucas.v == two || (&lucas.v + &two) % n == 0u32);
    is_one || lucas.reaches_zero(s.saturating_sub(1))
}

/// Returns true if `n`, odd and above 1, passes a Lucas test with `Q = 1` and the first term
/// `numerator / denominator` modulo `n`, for a denominator coprime to `n`.
#[must_use]
pub fn is_lucas(n: &BigUint, numerator: i32, denominator: u32) -> bool {
    let n = natural(n);
    let size = Natural::from(numerator.unsigned_abs()) % &n;
    let numerator = if numerator < 0 && size != 0u32 { &n - size } else { size };
    let Some(inverse) = (Natural::from(denominator) % &n).mod_inverse(&n) else { return false };
    let term = numerator * inverse % &n;
    passes_extra_strongly(&n, Lucas::with(&n, term))
}

/// Primes below a bound, by the sieve of Eratosthenes.
#[must_use]
pub fn sieve(end: usize) -> Vec<bool> {
    let mut is_prime = vec![true; end];
    is_prime.iter_mut().take(2).for_each(|is_prime| *is_prime = false);
    for p in (2..end).take_while(|p| p * p < end) {
        if is_prime[p] {
            (p * p..end).step_by(p).for_each(|multiple| is_prime[multiple] = false);
        }
    }
    is_prime
}

/// Least numbers that are strong pseudoprimes to the first 1, 2, .. prime bases (G. Jaeschke, "On
/// strong pseudoprimes to several bases", Math. Comp. 61, 1993; OEIS A014233).
pub const PSI: [u128; 13] = [
    2047,
    1_373_653,
    25_326_001,
    3_215_031_751,
    2_152_302_898_747,
    3_474_749_660_383,
    341_550_071_728_321,
    341_550_071_728_321,
    3_825_123_056_546_413_051,
    3_825_123_056_546_413_051,
    3_825_123_056_546_413_051,
    318_665_857_834_031_151_167_461,
    3_317_044_064_679_887_385_961_981,
];

/// Strong Lucas pseudoprimes (OEIS A217255).
pub const STRONG_LUCAS: [u32; 20] = [
    5459, 5777, 10877, 16109, 18971, 22499, 24569, 25199, 40309, 58519, 75077, 97439, 100_127,
    113_573, 115_639, 130_139, 155_819, 158_399, 161_027, 162_133,
];

/// Extra strong Lucas pseudoprimes (OEIS A217719).
pub const EXTRA_STRONG_LUCAS: [u32; 20] = [
    989, 3239, 5777, 10877, 27971, 29681, 30739, 31631, 39059, 72389, 73919, 75077, 100_127,
    113_573, 125_249, 137_549, 137_801, 153_931, 155_819, 161_027,
];

/// Carmichael numbers (OEIS A002997), and some with three large factors of J. Chernick's form
/// `(6 k + 1)(12 k + 1)(18 k + 1)` (Bull. Amer. Math. Soc. 45, 1939).
#[must_use]
pub fn carmichael_numbers() -> Vec<BigUint> {
    let small = [561u64, 1105, 1729, 2465, 2821, 6601, 8911, 10585, 15841, 29341, 41041, 825_265];
    let chernick = [1u64, 6, 35, 45, 51, 55, 56, 100, 121, 195, 206, 216, 255];
    let chernick = chernick
        .map(|k| BigUint::from(6 * k + 1) * BigUint::from(12 * k + 1) * BigUint::from(18 * k + 1));
    small.map(BigUint::from).into_iter().chain(chernick).collect()
}

/// F. Arnault's numbers of 46, 337 and 397 digits, and a bound: each is a strong pseudoprime to all
/// prime bases below it ("Rabin-Miller primality test: composite numbers which pass it", Math.
/// Comp. 64, 1995; "Constructing Carmichael numbers which are strong pseudoprimes to several
/// bases", J. Symbolic Comput. 20, 1995).
#[must_use]
pub fn arnault_numbers() -> [(BigUint, usize); 3] {
    let number = |digits: &str| -> BigUint { digits.parse().unwrap_or_default() };
    let first = number("1195068768795265792518361315725116351898245581");
    let second = number(
        "80383745745363949125707961434194210813883768828755814583748891752229742737653336521865\
         02336163960045457915042023603208766569966760987284043965408232928738791850869166857328\
         26776177102938969773947016708230428687109997439976544144845341155872450633409279022275\
         2962294149842306881685404326457534018329786111298960644845216191652872597534901",
    );
    let p = number(
        "29674495668685510550154174642905332730771991799853043350995075531276838753171770\
         199594238596428121188033664754218345562493168782883",
    );
    let factor = |k: u32| (&p - 1u32) * k + 1u32;
    let third = &p * factor(313) * factor(353);
    [(first, 31), (second, 200), (third, 307)]
}

/// Composite numbers of up to 1022 bits that pass both strong Lucas tests: products of primes `p`,
/// `k (p + 1) - 1` and `l (p + 1) - 1`.
///
/// As `k` divides `l p - 1` and `l` divides `k p - 1`, each prime factor less `-1` divides `n + 1`
/// (H. C. Williams, "On numbers analogous to the Carmichael numbers", Canad. Math. Bull. 20, 1977).
/// `k` and `l` are odd, so that one power of 2 divides all these divisors (F. Arnault, "The
/// Rabin-Monier theorem for Lucas pseudoprimes", Math. Comp. 66, 1997).
#[must_use]
pub fn long_lucas_pseudoprimes() -> Vec<BigUint> {
    let factors: [(&str, u32, u32); 10] = [
        ("5ca4035dbbbd3964a373", 57, 71),
        ("c90eabb22e135e07fff7", 3, 71),
        ("ee3974b7f153cc1c4c33", 21, 41),
        ("33e59d30ddc9fd96f490aad37a0d621e8229dfbbf", 51, 67),
        ("5f6bd28af7c78331a1ce2571c623d8451571b7fc3", 17, 31),
        ("77dff4aca45123cfa473df6bd1ab74c6bf48cd93", 7, 57),
        ("bbb72f4df14e8e9458d8ea1f47a9f1a8363feb2f79e364cc32d115962ad7f77", 51, 77),
        ("463451c7496006629f7bfc18525e432c77ea1a6b31b973f77990ab466a33d0f", 27, 41),
        (
            "e250478b3ecd10ec7cea2d60baca0a07302a21549612fdead1864f107e32e88cf93009fb60406bde0b17",
            33,
            73,
        ),
        (
            "250ea7ce89419d203fec731e9ab3053e20e8680e4007cdfcea1154b11133b58a74915fbc0d9a64303963",
            51,
            61,
        ),
    ];
    let number = |(p, k, l): (&str, u32, u32)| {
        let p = BigUint::parse_bytes(p.as_bytes(), 16).unwrap_or_default();
        let factor = |k: u32| (&p + 1u32) * k - 1u32;
        &p * factor(k) * factor(l)
    };
    factors.map(number).into()
}

/// Primes of special forms, with at most `bits` bits, and those next below powers of two, which
/// fill a width.
#[must_use]
pub fn known_primes(bits: usize) -> Vec<BigUint> {
    let lengths = 0..=bits as u64;
    let below = [(256u32, 189u32), (320, 197), (512, 569), (768, 825), (1024, 105)];
    let below = below.into_iter().map(|(bits, distance)| (BigUint::from(1u32) << bits) - distance);
    let mut primes = special_primes(lengths.clone());
    primes.extend(below.filter(|prime| lengths.contains(&prime.bits())));
    primes.extend(product_primes(lengths));
    primes
}

/// Primes of these lengths, of lists that end at 2^18 bits: those of Mersenne (OEIS A000043),
/// Cullen (A005849), Woodall (A002234), Proth and Riesel with `k = 3` (A002253, A002235).
#[must_use]
pub fn special_primes(lengths: RangeInclusive<u64>) -> Vec<BigUint> {
    let mersenne = [
        3u32, 7, 13, 31, 61, 89, 107, 127, 521, 607, 1279, 2203, 2281, 3217, 4253, 4423, 9689,
        9941, 11213, 19937, 21701, 23209, 44497, 86243, 110_503, 132_049, 216_091,
    ];
    let cullen = [4713u32, 5795, 6611, 18496, 32292, 32469, 59656, 90825];
    let woodall = [5312u32, 7755, 9531, 12379, 15822, 18885, 22971, 23005, 98726, 143_018, 151_023];
    let proth = [
        189u32, 201, 209, 276, 353, 408, 438, 2208, 2816, 3168, 3189, 3912, 20909, 34350, 42294,
        80190, 157_169, 213_321,
    ];
    let riesel = [3276u32, 4204, 5134, 7559, 12676, 14898, 18123, 25690, 41628, 71783, 123_630];
    let times_power = |k: u32, n: u32| BigUint::from(k) << n;
    let mut primes: Vec<BigUint> = mersenne.map(|n| times_power(1, n) - 1u32).into();
    primes.extend(cullen.map(|n| times_power(n, n) + 1u32));
    primes.extend(woodall.map(|n| times_power(n, n) - 1u32));
    primes.extend(proth.map(|n| times_power(3, n) + 1u32));
    primes.extend(riesel.map(|n| times_power(3, n) - 1u32));
    primes.retain(|prime| lengths.contains(&prime.bits()));
    primes
}

/// Factorial and primorial primes of these lengths (OEIS A002981, A002982, A005234, A006794), of
/// lists that end at 2^18 bits.
#[must_use]
pub fn product_primes(lengths: RangeInclusive<u64>) -> Vec<BigUint> {
    let factorial = [27u32, 37, 41, 73, 77, 116, 154, 320, 340, 399, 427, 872, 1477, 6380];
    let factorial_minus =
        [30u32, 32, 33, 38, 94, 166, 324, 379, 469, 546, 974, 1963, 3507, 3610, 6917];
    let primorial = [
        31u32, 379, 1019, 1021, 2657, 3229, 4547, 4787, 11549, 13649, 18523, 23801, 24029, 42209,
        145_823,
    ];
    let primorial_minus =
        [41u32, 89, 317, 337, 991, 1873, 2053, 2377, 4093, 4297, 4583, 6569, 13033, 15877];
    let is_prime = sieve(145_824);
    let of_factors = |last: u32| -> BigUint { (2..=last).product() };
    let of_primes =
        |last: u32| -> BigUint { (2..=last).filter(|&p| is_prime[p as usize]).product() };
    let end = *lengths.end();
    // Longer products are not computed.
    let fits = |product: &BigUint| product.bits() <= end;
    let mut primes = Vec::new();
    primes.extend(factorial.into_iter().map(of_factors).take_while(fits).map(|n| n + 1u32));
    primes.extend(factorial_minus.into_iter().map(of_factors).take_while(fits).map(|n| n - 1u32));
    primes.extend(primorial.into_iter().map(of_primes).take_while(fits).map(|n| n + 1u32));
    primes.extend(primorial_minus.into_iter().map(of_primes).take_while(fits).map(|n| n - 1u32));
    primes.retain(|prime| lengths.contains(&prime.bits()));
    primes
}

/// Composite numbers `2^q - 1` of these lengths with a prime `q`, strong pseudoprimes to base 2.
#[must_use]
pub fn composite_mersenne_numbers(lengths: RangeInclusive<u64>) -> Vec<BigUint> {
    // The primes above exponents of Mersenne primes.
    let exponents = [
        523u32, 613, 1283, 2207, 2287, 3221, 4259, 4441, 9697, 9949, 11239, 19949, 21713, 23227,
        44501, 86249, 110_527, 132_059, 216_103,
    ];
    let mut numbers: Vec<BigUint> = exponents.map(|q| (BigUint::from(1u32) << q) - 1u32).into();
    numbers.retain(|number| lengths.contains(&number.bits()));
    numbers
}
