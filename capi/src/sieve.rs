//! Small prime factors of numbers of a form, and numbers without small factors.
#![allow(unsafe_code)]

use std::ffi::c_char;
use std::sync::Arc;

use gpuint::num_bigint::{BigInt, BigUint};
use gpuint::sieve::{Constellation, Exponents, Progression};

use crate::call::functions;
use crate::handle::{Device, Family, Integer, Mask, get, remove};
use crate::memory::{array, numbers};
use crate::status::Failure;

functions! {
    /// Stores the primes from `first` on and below `end`, in ascending order, and their number:
    /// at most `capacity`. If more are left, a call whose `first` exceeds the last prime goes on.
    fn gpuint_primes(
        first: u64, end: u64; primes: *mut u64, capacity: usize, count: *mut usize
    ) = |first, end| Ok::<_, Failure>(gpuint::sieve::primes(first..end));

    /// Stores the smallest prime factor below `limit` of each of `count` numbers, which are texts,
    /// and 0 where there is none. A prime is no factor of itself, and 0 has the factor 2. The time
    /// of a number is proportional to its length and to the number of primes below `limit`.
    fn gpuint_smallest_factors(
        values: *const *const c_char, count: usize, limit: u32; factors: *mut u64, rows: usize
    ) = |values, count, limit| {
        // SAFETY: the header requires that there are `count` texts, which end with NUL.
        let values = unsafe { numbers(values, count, "values") }?;
        Ok::<_, Failure>(gpuint::sieve::smallest_factors(&values, limit)?)
    };

    /// Stores the smallest prime factor below `limit` of `k * a + c` for each k of the `count`
    /// numbers `terms`, and 0 where there is none. A prime is no factor of itself, and 0 has the
    /// factor 2.
    fn gpuint_progression_smallest_factors(
        a: *const c_char, c: *const Integer, terms: *const u64, count: usize, limit: u64;
        factors: *mut u64, rows: usize
    ) = |a: &BigUint, c: &BigInt, terms, count, limit| {
        // SAFETY: the header requires that the array has `count` elements.
        let terms = unsafe { array(terms, count, "terms") }?;
        let numbers = Progression::new(a.clone(), c.clone());
        Ok::<_, Failure>(numbers.smallest_factors(terms, limit)?)
    };

    /// As `gpuint_progression_smallest_factors`, of `k * base^exponent + c`. The power is not
    /// computed.
    fn gpuint_progression_of_power_smallest_factors(
        base: u64, exponent: u64, c: *const Integer, terms: *const u64, count: usize, limit: u64;
        factors: *mut u64, rows: usize
    ) = |base, exponent, c: &BigInt, terms, count, limit| {
        // SAFETY: the header requires that the array has `count` elements.
        let terms = unsafe { array(terms, count, "terms") }?;
        let numbers = Progression::of_power(base, exponent, c.clone());
        Ok::<_, Failure>(numbers.smallest_factors(terms, limit)?)
    };

    /// Stores the smallest prime factor below `limit` of `k * base^n + c` for each n of the
    /// `count` numbers `exponents`, and 0 where there is none. A prime is no factor of itself, and
    /// 0 has the factor 2.
    fn gpuint_exponents_smallest_factors(
        k: u64, base: u64, c: *const Integer, exponents: *const u64, count: usize, limit: u64;
        factors: *mut u64, rows: usize
    ) = |k, base, c: &BigInt, exponents, count, limit| {
        // SAFETY: the header requires that the array has `count` elements.
        let exponents = unsafe { array(exponents, count, "exponents") }?;
        let numbers = Exponents::new(k, base, c.clone());
        Ok::<_, Failure>(numbers.smallest_factors(exponents, limit)?)
    };

    /// Makes the family of the numbers `first + i * step`, for i = 0, 1, 2, ..: `k * base^n + c`
    /// with different k, or offsets around a multiple of a primorial.
    fn gpuint_family_terms(
        first: *const Integer, step: *const Integer; out: *mut *mut Family
    ) = |first: &BigInt, step: &BigInt| {
        Ok::<_, Failure>(gpuint::sieve::Family::terms(first.clone(), step.clone()))
    };

    /// Makes the family of the numbers `k * base^n + c` for the exponents `n = first + i`.
    /// Exponents above `2^64 - 1` have no number, and their index survives.
    fn gpuint_family_powers(
        k: u64, base: u64, first: u64, c: *const Integer; out: *mut *mut Family
    ) = |k, base, first, c: &BigInt| {
        Ok::<_, Failure>(gpuint::sieve::Family::powers(k, base, first, c.clone()))
    };

    /// Makes the family of the numbers at a distance from those of another one.
    fn gpuint_family_shifted(
        family: *const Family, distance: *const Integer; out: *mut *mut Family
    ) = |family: &gpuint::sieve::Family, distance: &BigInt| {
        Ok::<_, Failure>(family.shifted(distance.clone()))
    };

    /// Returns a mask of the indices below `rows` at which no number of `count` families has a
    /// prime factor below `limit`. A prime is no factor of itself: 7 survives, and -7 does not. 0
    /// has the factor 2; 1 and -1 survive. A GPU strikes terms by the primes below 2^32; the
    /// threads of the CPU strike powers, and terms by larger primes.
    fn gpuint_constellation_survivors(
        families: *const *const Family, count: usize, device: *const Device, rows: usize,
        limit: u64;
        mask: *mut *mut Mask
    ) = |families, count, device: &gpuint::Device, rows, limit| {
        // SAFETY: the header requires that the array has `count` handles.
        let families = unsafe { array(families, count, "families") }?;
        let families = families.iter().map(|&family| {
            let family: Arc<gpuint::sieve::Family> = get(family, "families")?;
            Ok((*family).clone())
        });
        let constellation = Constellation::new(families.collect::<Result<Vec<_>, Failure>>()?);
        Ok::<_, Failure>(constellation.survivors(device, rows, limit)?)
    };

    /// Frees the handle. NULL is allowed.
    fn gpuint_family_free(family: *mut Family) = |family| remove(family, "family");
}
