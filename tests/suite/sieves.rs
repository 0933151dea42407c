//! Sieves of families on every device, against divisions.

use gpuint::num_bigint::BigInt;
use gpuint::sieve::{Constellation, Family, primes};
use gpuint::{BackendKind, Device, Error};
use num_traits::Zero;

use crate::setting::devices;

fn all_devices() -> Vec<Device> {
    let first = |backend| devices(backend).into_iter().next();
    [BackendKind::Cpu, BackendKind::Simt, BackendKind::Cuda].into_iter().filter_map(first).collect()
}

fn big(n: impl Into<BigInt>) -> BigInt {
    n.into()
}

/// The least prime factor of a number below `limit`, other than the number; `limit` without one.
fn smallest_factor(number: &BigInt, limit: u64) -> u64 {
    let divides = |p: &u64| (number % *p).is_zero() && *number != big(*p);
    primes(0..limit).find(divides).unwrap_or(limit)
}

/// Compares the survivors of terms (first, step) at each of `limits`.
fn check(device: &Device, terms: &[(BigInt, BigInt)], len: usize, limits: &[u64]) {
    let most = limits.iter().copied().max().unwrap_or(0);
    let factors: Vec<u64> = (0..len)
        .map(|i| {
            let factor =
                |(first, step): &(BigInt, BigInt)| smallest_factor(&(first + step * i), most);
            terms.iter().map(factor).min().unwrap_or(most)
        })
        .collect();
    let families = terms.iter().map(|(first, step)| Family::terms(first.clone(), step.clone()));
    let constellation = Constellation::new(families);
    for &limit in limits {
        let mask = constellation.survivors(device, len, limit).unwrap();
        let found = mask.to_bools().unwrap();
        for (i, (found, factor)) in found.iter().zip(&factors).enumerate() {
            let place = format!("{device}, {terms:?}, index {i}, limit {limit}, factor {factor}");
            assert_eq!(*found, *factor >= limit, "{place}");
        }
    }
}

/// Limits at and beside primes, up to 10^4.
fn limits(device: &Device) -> Vec<u64> {
    match device.backend() {
        BackendKind::Cpu => (0..80).chain([127, 128, 1009, 1010, 9973, 9974, 10_000]).collect(),
        _ => vec![2, 3, 4, 31, 32, 38, 4094, 10_000],
    }
}

#[test]
fn families_of_terms_agree_with_divisions() {
    let hundred: BigInt = big(10).pow(100);
    let primorial: BigInt = primes(0..100).map(BigInt::from).product();
    for device in all_devices() {
        let limits = limits(&device);
        for (first, step) in [
            // Primes of the sieve are no factors of themselves.
            (big(0), big(1)),
            (big(-60), big(1)),
            (big(50), big(-1)),
            (big(-7), big(-2)),
            (big(9_001), big(-97)),
            // Numbers around multiples of a primorial, and with k in k b^n + c.
            (&primorial * 35 - 64, big(1)),
            (&hundred * 3 + 1, hundred.clone()),
            (-&hundred, big(6)),
            (&hundred + 1, -big(30).pow(20)),
            // First number and step share primes, a number is the prime.
            (big(21), big(35)),
            (big(-35 * 3), big(35)),
            (big(-14), big(7)),
            (big(13), big(0)),
            (big(2), big(0)),
            (big(15), big(0)),
            (big(0), big(0)),
            (big(1), big(0)),
            (big(2), big(6)),
            (big(4), big(-2)),
            (big(10_007 * 3), big(10_007)),
        ] {
            check(&device, &[(first, step)], 130, &limits);
        }
    }
}

#[test]
fn constellations_agree_with_divisions() {
    let base: BigInt = big(7).pow(90);
    for device in all_devices() {
        let limits = limits(&device);
        // Twins, safe primes, a quadruplet, families with different steps, none.
        for terms in [
            vec![(big(-3), big(1)), (big(-1), big(1))],
            vec![(big(1), big(2)), (big(3), big(4))],
            [0, 2, 6, 8].map(|offset| (&base * 30 + 11 + offset, big(30))).to_vec(),
            vec![(big(3), big(0)), (big(-21), big(7)), (big(5), big(3))],
            vec![(big(-49), big(7)), (big(-30), big(6))],
            vec![],
        ] {
            check(&device, &terms, 97, &limits);
        }
    }
}

/// Several segments, and primes whose hits are in some of them.
#[test]
fn long_ranges_of_indices_agree_with_divisions_at_ends_of_segments() {
    const LEN: usize = 2 * (1 << 18) + 77;
    const LIMIT: u64 = 270_000;
    let first: BigInt = big(10).pow(30) + 7;
    for device in all_devices() {
        let mask = Family::terms(first.clone(), 6).survivors(&device, LEN, LIMIT).unwrap();
        let found = mask.to_bools().unwrap();
        // The whole range by another sieve, and some indices by divisions.
        let progression = gpuint::sieve::Progression::new(6u32.into(), first.clone());
        let terms: Vec<u64> = (0..LEN as u64).collect();
        let factors = progression.smallest_factors(&terms, LIMIT).unwrap();
        for (i, (found, factor)) in found.iter().zip(&factors).enumerate() {
            assert_eq!(*found, *factor == 0, "{device}, index {i}, factor {factor}");
        }
        for i in [0, 1, (1 << 18) - 1, 1 << 18, (1 << 19) - 1, 1 << 19, LEN - 1] {
            let factor = smallest_factor(&(&first + 6 * i), LIMIT);
            assert_eq!(found[i], factor == LIMIT, "{device}, index {i}, factor {factor}");
        }
    }
}

#[test]
fn powers_join_terms() {
    for device in all_devices() {
        // 3 2^n - 1 and 3 2^n + 1, and n itself, for n from 1 on.
        let powers = Family::powers(3, 2, 1, -1);
        let families = [powers.clone(), powers.shifted(2), Family::terms(1, 1)];
        let mask = Constellation::new(families).survivors(&device, 200, 500).unwrap();
        for (i, found) in mask.to_bools().unwrap().into_iter().enumerate() {
            let power: BigInt = big(2).pow(i as u32 + 1) * 3;
            let numbers = [&power - 1, &power + 1, big(i + 1)];
            let expected = numbers.iter().all(|number| smallest_factor(number, 500) == 500);
            assert_eq!(found, expected, "{device}, index {i}");
        }
    }
}

#[test]
fn lengths_and_limits_out_of_range_are_errors_or_empty() {
    for device in all_devices() {
        let family = Family::terms(1, 2);
        assert_eq!(family.survivors(&device, 0, 100).unwrap().len(), 0);
        assert_eq!(family.survivors(&device, 65, 0).unwrap().count().unwrap(), 65);
        let error = family.survivors(&device, usize::MAX, 100).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        // The last exponent of 64 bits, and beyond.
        let last = Family::powers(1, 2, u64::MAX, 1).survivors(&device, 3, 10).unwrap();
        assert_eq!(last.to_bools().unwrap(), [false, true, true]);
    }
}
