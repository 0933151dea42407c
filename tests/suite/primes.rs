//! Tests for probable primes, against their definitions and published numbers.

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Device, DigitKind, DynBatch, DynModulus, DynResidues, Error, Mask, Result, Shape,
    narrowest,
};

use crate::setting::{
    Check, Context, Setting, Tally, devices, is_thorough, on_every_backend, seed,
};
use gpuint_testkit::operands::power;
use gpuint_testkit::oracle;
use gpuint_testkit::primes::{self, EXTRA_STRONG_LUCAS, PSI, STRONG_LUCAS};
use gpuint_testkit::random::Random;
use num_traits::One;

/// Compares a mask with the expected bits of numbers.
fn compare(
    what: &Context<'_>,
    numbers: &[BigUint],
    got: &Mask,
    expected: impl Fn(usize, &BigUint) -> bool,
    tally: &mut Tally,
) -> Result<()> {
    for (row, (n, passes)) in numbers.iter().zip(got.to_bools()?).enumerate() {
        tally.row(passes == expected(row, n), || format!("{what}: {n}: {passes}"));
    }
    tally.row(got.len() == numbers.len(), || format!("{what}: {} rows", got.len()));
    Ok(())
}

/// Numbers of all lengths up to a width: primes, products of two, squares, neighbours of powers of
/// two, and odd numbers without small factors.
fn candidates(bits: usize, count: usize) -> Vec<BigUint> {
    let mut numbers = primes::known_primes(bits);
    let half = primes::known_primes(bits / 2);
    numbers.extend(half.iter().map(|p| p * p));
    numbers.extend(half.windows(2).map(|pair| &pair[0] * &pair[1]));
    for exponent in [1, 2, 3, 16, 32, 63, 64, bits / 2, bits - 1] {
        numbers.extend([power(exponent) - 1u32, power(exponent), power(exponent) + 1u32]);
    }
    numbers.extend([power(bits) - 1u32, power(bits) - 2u32, BigUint::ZERO]);
    numbers.extend([15u32, 9, 27, 3 << 10].map(BigUint::from));
    let mut random = Random::new(seed() ^ bits as u64);
    let wheel = BigUint::from(3u32 * 5 * 7 * 11 * 13);
    numbers.extend((0..count).map(|row| {
        let length = if row % 4 == 0 { bits / 2 + row % (bits / 2) } else { bits };
        let n = random.bits(length) | BigUint::from(1u32);
        // The next number that is 1 modulo 2 and the primes up to 13, or the number itself.
        let below = &n - &n % (&wheel * 2u32) + 1u32;
        if row % 2 == 0 || below.bits() > bits as u64 { n } else { below }
    }));
    numbers.retain(|n| n.bits() <= bits as u64);
    numbers
}

struct Candidates;

impl Check for Candidates {
    const NAME: &str = "probable primes";
    const WIDEST: bool = false;

    fn takes(shape: Shape, backend: BackendKind) -> bool {
        match backend {
            _ if is_thorough() => shape.bits <= 16384,
            // Kernels of a width, and functions of the CPU, serve all digits.
            _ if shape.digit != DigitKind::U64 => false,
            BackendKind::Simt => matches!(shape.bits, 256 | 512 | 2048),
            _ => shape.bits <= 2048,
        }
    }

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for device in setting.devices() {
            let mut numbers = candidates(shape.bits, if is_thorough() { 60 } else { 12 });
            // The expected results of long numbers take long.
            let count = match setting.backend {
                _ if is_thorough() => usize::MAX,
                BackendKind::Simt => 1 + usize::from(shape.bits <= 512),
                _ => 8,
            };
            let mut long = 0..count;
            let shortest = if count < 8 { 70 } else { 260 };
            numbers.retain(|n| n.bits() <= shortest || long.next().is_some());
            let what = Context::new(shape, "probable primes", device);
            tally.attempt(&what, numbers.len(), |tally| tests(device, shape, &numbers, tally));
        }
    }
}

fn tests(device: &Device, shape: Shape, numbers: &[BigUint], tally: &mut Tally) -> Result<()> {
    let what = |name| Context::new(shape, name, device);
    let n = DynBatch::from_biguints(device, shape, numbers)?;
    let two = BigUint::from(2u32);
    let strong = n.is_strong_probable_prime(2)?;
    compare(&what("base 2"), numbers, &strong, |_, n| primes::is_strong(n, &two), tally)?;
    for base in [BigUint::ZERO, 3u32.into(), (1u64 << 62).into(), power(shape.bits + 3) + 5u32] {
        let strong = n.is_strong_probable_prime(&base)?;
        compare(&what("a base"), numbers, &strong, |_, n| primes::is_strong(n, &base), tally)?;
    }
    let bases: Vec<_> = (0..numbers.len() as u32).map(|row| BigUint::from(row % 40)).collect();
    let strong =
        n.is_strong_probable_prime_rows(&DynBatch::from_biguints(device, shape, &bases)?)?;
    let expected = |row: usize, n: &BigUint| primes::is_strong(n, &bases[row]);
    compare(&what("a base for each row"), numbers, &strong, expected, tally)?;
    let list = [3u32, 5].map(BigUint::from);
    let strong = n.is_strong_probable_prime_bases(&list)?;
    let expected = |_, n: &BigUint| list.iter().all(|base| primes::is_strong(n, base));
    compare(&what("bases"), numbers, &strong, expected, tally)?;

    let lucas = n.is_strong_lucas_probable_prime()?;
    compare(&what("strong Lucas"), numbers, &lucas, |_, n| primes::is_strong_lucas(n), tally)?;
    let lucas = n.is_extra_strong_lucas_probable_prime()?;
    let expected = |_, n: &BigUint| primes::is_extra_strong_lucas(n);
    compare(&what("extra strong Lucas"), numbers, &lucas, expected, tally)?;
    let passes = n.is_probable_prime()?;
    let expected = |_, n: &BigUint| primes::is_strong(n, &two) && primes::is_strong_lucas(n);
    compare(&what("Baillie-PSW"), numbers, &passes, expected, tally)?;

    let base = power(shape.bits) + 3u32;
    let (residues, words) = n.fermat_residues(&base)?;
    for ((n, residue), word) in numbers.iter().zip(residues.to_biguints()?).zip(words) {
        let expected = match n {
            n if n.bits() == 0 => BigUint::ZERO,
            n => oracle::pow_mod(&base, &(n - 1u32), n),
        };
        let is_right =
            residue == expected && word == expected.iter_u64_digits().next().unwrap_or(0);
        tally.row(is_right, || format!("{}: {n}: {residue}, {word:x}", what("Fermat")));
    }
    Ok(())
}

struct Published;

impl Check for Published {
    const NAME: &str = "published primes and pseudoprimes";
    const WIDEST: bool = false;

    fn takes(shape: Shape, backend: BackendKind) -> bool {
        match backend {
            _ if is_thorough() => shape.bits <= 1536,
            _ if shape.digit != DigitKind::U64 => false,
            BackendKind::Simt => shape.bits == 256,
            _ => matches!(shape.bits, 256 | 1536),
        }
    }

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for device in setting.devices() {
            let what = Context::new(shape, "published numbers", device);
            tally.attempt(&what, 1, |tally| published(device, shape, &what, tally));
        }
    }
}

/// Odd numbers below this bound are compared with a sieve.
const SIEVED: usize = 20_000;

fn published(device: &Device, shape: Shape, what: &Context<'_>, tally: &mut Tally) -> Result<()> {
    let all = |tally: &mut Tally, numbers: &[BigUint], mask: Mask, expected: bool| {
        compare(what, numbers, &mask, |_, _| expected, tally)
    };
    let batch = |numbers: &[BigUint]| DynBatch::from_biguints(device, shape, numbers);

    let is_prime = primes::sieve(SIEVED);
    let below: Vec<_> = (0..SIEVED as u32).map(BigUint::from).collect();
    let n = batch(&below)?;
    let of_list = |list: &[u32], row: usize| list.contains(&(row as u32));
    compare(what, &below, &n.is_probable_prime()?, |row, _| is_prime[row], tally)?;
    let lucas = n.is_strong_lucas_probable_prime()?;
    let expected = |row: usize, _: &_| is_prime[row] || of_list(&STRONG_LUCAS, row);
    compare(what, &below, &lucas, expected, tally)?;
    let lucas = n.is_extra_strong_lucas_probable_prime()?;
    let expected = |row: usize, _: &_| is_prime[row] || of_list(&EXTRA_STRONG_LUCAS, row);
    compare(what, &below, &lucas, expected, tally)?;

    let lists = [STRONG_LUCAS.map(BigUint::from), EXTRA_STRONG_LUCAS.map(BigUint::from)];
    all(tally, &lists[0], batch(&lists[0])?.is_strong_lucas_probable_prime()?, true)?;
    all(tally, &lists[1], batch(&lists[1])?.is_extra_strong_lucas_probable_prime()?, true)?;
    all(tally, &lists.concat(), batch(&lists.concat())?.is_probable_prime()?, false)?;

    let bases = [2u32, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41].map(BigUint::from);
    for (count, psi) in (1..).zip(PSI) {
        let n = [BigUint::from(psi)];
        all(tally, &n, batch(&n)?.is_strong_probable_prime_bases(&bases[..count])?, true)?;
        all(tally, &n, batch(&n)?.is_probable_prime()?, false)?;
    }
    let carmichael = primes::carmichael_numbers();
    all(tally, &carmichael, batch(&carmichael)?.is_probable_prime()?, false)?;
    let known = primes::known_primes(shape.bits);
    all(tally, &known, batch(&known)?.is_probable_prime()?, true)?;
    all(tally, &known, batch(&known)?.is_extra_strong_lucas_probable_prime()?, true)?;

    let fits = |n: &BigUint| n.bits() <= shape.bits as u64;
    for (n, bound) in primes::arnault_numbers() {
        if fits(&n) {
            let bases: Vec<_> = (2..bound).filter(|&p| is_prime[p]).map(BigUint::from).collect();
            let n = [n];
            all(tally, &n, batch(&n)?.is_strong_probable_prime_bases(&bases)?, true)?;
            all(tally, &n, batch(&n)?.is_probable_prime()?, false)?;
        }
    }
    let mut lucas = primes::long_lucas_pseudoprimes();
    lucas.retain(fits);
    all(tally, &lucas, batch(&lucas)?.is_strong_lucas_probable_prime()?, true)?;
    all(tally, &lucas, batch(&lucas)?.is_extra_strong_lucas_probable_prime()?, true)?;
    all(tally, &lucas, batch(&lucas)?.is_probable_prime()?, false)
}

struct Searches;

impl Check for Searches {
    const NAME: &str = "searches for primes";
    const WIDEST: bool = false;

    fn takes(shape: Shape, backend: BackendKind) -> bool {
        shape.bits <= if backend == BackendKind::Cpu { 1024 } else { 256 } || is_thorough()
    }

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for device in setting.devices() {
            let what = Context::new(shape, "searches for primes", device);
            tally.attempt(&what, 1, |tally| searches(device, shape, &what, tally));
        }
    }
}

/// Returns true if a number is a probable prime by the test kit.
fn is_prime(n: &BigUint) -> bool {
    primes::is_strong(n, &BigUint::from(2u32)) && primes::is_strong_lucas(n)
}

fn searches(device: &Device, shape: Shape, what: &Context<'_>, tally: &mut Tally) -> Result<()> {
    let bits = shape.bits;
    let batch = |numbers: &[BigUint]| DynBatch::from_biguints(device, shape, numbers);
    let mut numbers: Vec<_> = (0..4200u32).step_by(7).map(BigUint::from).collect();
    numbers.extend(candidates(bits, 4).into_iter().filter(|n| n.bits() < 300));
    let sieve = primes::sieve(5000);
    let small: Vec<_> = (2..5000).filter(|&p| sieve[p]).map(|p| BigUint::from(p as u32)).collect();
    for limit in [0usize, 1, 2, 50, 4000] {
        let found = batch(&numbers)?.has_small_factor(limit)?;
        let is_factor = |n: &BigUint, p: &BigUint| n != p && oracle::div_rem(n, p).1.bits() == 0;
        let limit = BigUint::from(limit);
        let expected = |_, n: &BigUint| small.iter().any(|p| *p <= limit && is_factor(n, p));
        compare(what, &numbers, &found, expected, tally)?;
    }

    // Above 2^100 + 276, 2^127 - 40 and the like, and where there is none.
    let mut rows: Vec<_> =
        (0..60u32).chain(4080..4110).chain(65_520..65_550).map(BigUint::from).collect();
    rows.extend([power(64) - 60u32, power(64) - 1u32, power(100), power(127) - 40u32]);
    rows.extend([power(bits) - 1u32, power(bits) - 2u32, power(bits) - 300u32]);
    rows.retain(|row| row.bits() <= bits as u64);
    let (next, without) = batch(&rows)?.next_prime()?;
    let (next, without) = (next.to_biguints()?, without.to_bools()?);
    for ((n, next), without) in rows.iter().zip(next).zip(without) {
        let limit = power(bits);
        let mut expected = n + 1u32;
        while expected < limit && !is_prime(&expected) {
            expected += 1u32;
        }
        let expected = (expected < limit).then_some(expected);
        let is_right = without == expected.is_none() && next == expected.unwrap_or_default();
        tally.row(is_right, || format!("{what}: above {n}: {next}, {without}"));
    }

    for length in [2, 3, 5, 16, 17, 40, 100, 200].into_iter().filter(|&length| length <= bits) {
        let found = DynBatch::random_primes(device, shape, 4, length)?.to_biguints()?;
        for p in found {
            let is_right = p.bits() == length as u64 && is_prime(&p);
            tally.row(is_right, || format!("{what}: {length} bits: {p}"));
        }
    }
    for length in [3, 4, 16, 17, 40, 64].into_iter().filter(|&length| length <= bits) {
        let found = DynBatch::random_safe_primes(device, shape, 2, length)?.to_biguints()?;
        for p in found {
            let is_right = p.bits() == length as u64 && is_prime(&p) && is_prime(&(&p >> 1));
            tally.row(is_right, || format!("{what}: safe, {length} bits: {p}"));
        }
    }
    let mut expect = |got: Result<DynBatch>, expected: Error| {
        let got = got.err();
        tally.row(got.as_ref() == Some(&expected), || format!("{what}: {got:?}"));
    };
    let wide = Error::TooWide { row: 0, bits: bits as u64 + 1, width: bits };
    expect(DynBatch::random_primes(device, shape, 1, bits + 1), wide.clone());
    expect(DynBatch::random_safe_primes(device, shape, 1, bits + 1), wide);
    expect(DynBatch::random_primes(device, shape, 1, 1), Error::NoPrime { bits: 1 });
    expect(DynBatch::random_safe_primes(device, shape, 1, 2), Error::NoPrime { bits: 2 });
    for length in [10, 40] {
        let primes = DynBatch::random_primes(device, shape, 1 << 62, length).err();
        let is_right = matches!(primes, Some(Error::OutOfMemory { .. }));
        tally.row(is_right, || format!("{what}: 2^62 rows: {primes:?}"));
    }
    Ok(())
}

on_every_backend! {
    candidates: Candidates,
    published: Published,
    searches: Searches,
}

/// Strong pseudoprimes to base 2 (C. Pomerance, J. L. Selfridge and S. S. Wagstaff, Math. Comp. 35,
/// 1980) and strong Lucas pseudoprimes (R. Baillie and S. S. Wagstaff, ibid.) below 10^5 and 10^7.
const COUNTS: [(usize, [usize; 2]); 2] = [(100_000, [16, 12]), (10_000_000, [162, 178])];

/// All numbers below 10^5, by night below 10^7.
#[test]
fn numbers_below_a_bound_are_prime_as_by_a_sieve() -> Result<()> {
    let (end, counts) = COUNTS[usize::from(is_thorough())];
    let is_prime = primes::sieve(end);
    let shape = narrowest(0).expect("a width is built");
    for device in devices(BackendKind::Cpu).into_iter().chain(devices(BackendKind::Cuda)) {
        let mut pseudoprimes = [0; 2];
        for start in (0..end).step_by(1 << 20) {
            let numbers = (start..end.min(start + (1 << 20))).map(BigUint::from);
            let n = DynBatch::from_biguints(&device, shape, numbers)?;
            for (row, passes) in n.is_probable_prime()?.to_bools()?.into_iter().enumerate() {
                assert_eq!(passes, is_prime[start + row], "{device}: {}", start + row);
            }
            let masks = [n.is_strong_probable_prime(2)?, n.is_strong_lucas_probable_prime()?];
            for (count, mask) in pseudoprimes.iter_mut().zip(masks) {
                for (row, passes) in mask.to_bools()?.into_iter().enumerate() {
                    assert!(passes || !is_prime[start + row], "{device}: {}", start + row);
                    *count += usize::from(passes && !is_prime[start + row]);
                }
            }
        }
        assert_eq!(pseudoprimes, counts, "{device}");
    }
    Ok(())
}

/// Lists of primes that end at 2^18 bits, and composite numbers that pass the first test alone: all
/// of them by night on a GPU.
#[test]
fn published_primes_of_wide_rows_pass() -> Result<()> {
    for backend in [BackendKind::Cpu, BackendKind::Cuda] {
        let widest = match (backend, is_thorough()) {
            (BackendKind::Cpu, false) => 2048,
            (BackendKind::Cpu, true) => 1 << 16,
            (_, false) => 1 << 14,
            (_, true) => 1 << 18,
        };
        for device in devices(backend) {
            let widths = std::iter::successors(Some(2048), |bits| Some(2 * bits));
            for bits in widths.take_while(|&bits| bits <= widest) {
                let shape = narrowest(bits).expect("the width is built");
                let lengths = bits as u64 / 2 + 1..=bits as u64;
                // Special rows have arithmetic of their own.
                for list in [primes::special_primes, primes::product_primes] {
                    let mut numbers = list(lengths.clone());
                    let count = numbers.len();
                    numbers.extend(primes::composite_mersenne_numbers(lengths.clone()));
                    let n = DynBatch::from_biguints(&device, shape, &numbers)?;
                    let passes = n.is_probable_prime()?.to_bools()?;
                    for (row, passes) in passes.into_iter().enumerate() {
                        assert_eq!(passes, row < count, "{device}: row {row} of {bits} bits");
                    }
                }
            }
        }
    }
    Ok(())
}

/// Rows too wide for a kernel of the chain, one at a time and all together.
#[test]
fn wide_rows_are_tested_by_lucas_without_a_kernel() -> Result<()> {
    let device = Device::cpu();
    let shape = narrowest(32768).expect("the width is built");
    let mut numbers = candidates(128, 6);
    numbers.extend(STRONG_LUCAS.iter().take(4).map(|&n| BigUint::from(n)));
    numbers.extend(EXTRA_STRONG_LUCAS.iter().take(4).map(|&n| BigUint::from(n)));
    // Special moduli.
    numbers.extend([(power(189) * 3u32) + 1u32, power(521) - 1u32, power(521) + 1u32]);
    let all = DynBatch::from_biguints(&device, shape, &numbers)?;
    let strong = all.is_strong_lucas_probable_prime()?.to_bools()?;
    let extra = all.is_extra_strong_lucas_probable_prime()?.to_bools()?;
    for (row, n) in numbers.iter().enumerate() {
        let one = DynBatch::from_biguints(&device, shape, [n])?;
        let expected = primes::is_strong_lucas(n);
        assert_eq!(one.is_strong_lucas_probable_prime()?.to_bools()?, [expected], "{n}");
        assert_eq!(strong[row], expected, "{n}");
        let expected = primes::is_extra_strong_lucas(n);
        assert_eq!(one.is_extra_strong_lucas_probable_prime()?.to_bools()?, [expected], "{n}");
        assert_eq!(extra[row], expected, "{n}");
    }
    Ok(())
}

/// Rows without kernels for prepared divisors: their products are by kept reciprocals.
#[test]
fn rows_with_kept_reciprocals_are_tested() -> Result<()> {
    let device = Device::cpu();
    let (widths, numbers): (&[usize], &[u32]) = match is_thorough() {
        true => (&[1 << 19, 1 << 20, 1 << 21], &[121, 561, 1009, 2047, 5459, 65537]),
        false => (&[1 << 19], &[77, 97]),
    };
    for &bits in widths {
        let shape = device.shape_for(bits)?;
        let rows: Vec<_> = numbers.iter().copied().map(BigUint::from).collect();
        let n = DynBatch::from_biguints(&device, shape, &rows)?;
        let passes = n.is_probable_prime()?.to_bools()?;
        for (n, passes) in rows.iter().zip(passes) {
            assert_eq!(passes, is_prime(n), "{bits} bits, {n}");
        }
        let modulus = DynModulus::of_rows(&n)?;
        let residues = DynResidues::splat(&power(bits - 1), rows.len(), &modulus)?;
        let cubes = residues.pow_all(3)?.to_batch()?.to_biguints()?;
        for (n, cube) in rows.iter().zip(cubes) {
            assert_eq!(cube, power(3 * (bits - 1)) % n, "{bits} bits, {n}");
        }
    }
    Ok(())
}

/// Generalized Fermat numbers, whose powers have a kernel: 824 is the least base of a prime `b^1024
/// + 1` (OEIS A056993).
#[test]
fn generalized_fermat_numbers_are_tested_in_digits() -> Result<()> {
    let number = |base: u32| BigUint::from(base).pow(1024) + 1u32;
    // The square of 28 is a base of this exponent too.
    let numbers = [number(824), number(822), number(28 * 28)];
    let shape = narrowest(numbers[0].bits() as usize).expect("the width is built");
    check_prime_and_composites(shape, &numbers)
}

/// Numbers `k b^n + 1` and `k b^n - 1`, whose powers have a kernel at this width.
#[test]
fn numbers_of_any_base_are_tested_in_digits() -> Result<()> {
    let power = |base: u32, exponent: u32| BigUint::from(base).pow(exponent);
    let numbers = [power(5, 290) * 4u32 + 1u32, power(6, 300) * 5u32 - 1u32];
    check_prime_and_composites(narrowest(32768).expect("the width is built"), &numbers)
}

/// Compares the residues and the strong tests of a prime and of composite numbers on every backend.
fn check_prime_and_composites(shape: Shape, numbers: &[BigUint]) -> Result<()> {
    let base = BigUint::from(3u32);
    let expected: Vec<_> = numbers.iter().map(|n| oracle::pow_mod(&base, &(n - 1u32), n)).collect();
    let passing: Vec<_> = expected.iter().map(One::is_one).collect();
    assert!(passing[0] && !passing[1..].contains(&true));
    let low: Vec<_> = expected.iter().map(|n| n.iter_u64_digits().next().unwrap_or(0)).collect();
    for backend in [BackendKind::Cpu, BackendKind::Simt, BackendKind::Cuda] {
        // Schedules of the shim are those of the kernel's own cases.
        if let Some(device) = devices(backend).into_iter().next() {
            let n = DynBatch::from_biguints(&device, shape, numbers)?;
            let (residues, words) = n.fermat_residues(&base)?;
            assert_eq!(residues.to_biguints()?, expected, "{device}");
            assert_eq!(words, low, "{device}");
            if is_thorough() {
                let passes = n.is_strong_probable_prime(&base)?.to_bools()?;
                assert_eq!(passes, passing, "{device}");
            }
        }
    }
    Ok(())
}

/// `k 2^n + 1` has `n` powers to look at. Numbers of Fermat have -1 long before the last ones.
#[test]
fn rows_with_many_powers_are_strong_by_the_last_or_by_all() -> Result<()> {
    let device = Device::cpu();
    let proth = [(3u32, 189), (3, 190), (3, 438), (1, 64), (1, 128), (1, 256), (5, 500), (9, 16)];
    let numbers = proth.map(|(k, n)| power(n) * k + 1u32);
    // The second width computes powers modulo special rows by folds.
    for bits in [512, 32768] {
        let shape = narrowest(bits).expect("the width is built");
        let n = DynBatch::from_biguints(&device, shape, &numbers)?;
        for base in [2u32, 3, 5, 257].map(BigUint::from) {
            let strong = n.is_strong_probable_prime(&base)?.to_bools()?;
            let expected = numbers.each_ref().map(|n| primes::is_strong(n, &base));
            assert_eq!(strong, expected, "{bits} bits, base {base}");
        }
        let bases = DynBatch::splat(&device, shape, 2u64, numbers.len())?;
        let strong = n.is_strong_probable_prime_rows(&bases)?.to_bools()?;
        assert_eq!(strong, numbers.each_ref().map(|n| primes::is_strong(n, &2u32.into())));
    }
    Ok(())
}
