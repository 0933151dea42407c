//! Laws that hold for all operands; `proptest` shrinks operands to a smallest failing case.
//!
//! `tests/properties.regressions` stores failing cases as seeds, which are tried first. Add an
//! instructive case to `tests/regressions.txt` as well, where it is readable.

use std::fmt::Debug;

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Batch, Blocked, Classical, Device, Division, Divisor, GpuUint, Kernels,
    ShiftedInverse,
};
use num_traits::{One, Zero};
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

use crate::setting;
use gpuint_testkit::operands::{low, ones, power};

const REGRESSIONS: &str = "tests/properties.regressions";
const CASES: u32 = 96;

/// Any number below `2^bits`: runs of ones and zeros, extreme digits, or any bytes.
fn number(bits: usize) -> impl Strategy<Value = BigUint> {
    let run = (any::<bool>(), prop_oneof![1..9usize, 1..130usize, Just(16), Just(32), Just(64)]);
    let runs = prop::collection::vec(run, 0..24).prop_map(|runs| {
        runs.into_iter().fold(BigUint::zero(), |value, (one, bits)| {
            (value << bits) + if one { ones(bits) } else { BigUint::zero() }
        })
    });
    let digit = prop::sample::select(vec![0u32, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0xffff]);
    let digits = prop::collection::vec(digit, 0..=bits / 32).prop_map(BigUint::new);
    let bytes = prop::collection::vec(any::<u8>(), 0..=bits / 8)
        .prop_map(|bytes| BigUint::from_bytes_le(&bytes));
    let shifted = (0..bits, prop_oneof![runs, digits, bytes])
        .prop_map(|(shift, value)| if shift % 3 == 0 { value << (shift / 3) } else { value });
    shifted.prop_map(move |value| low(value, bits))
}

/// A number below `2^bits` that is not 0.
fn positive(bits: usize) -> impl Strategy<Value = BigUint> {
    number(bits).prop_map(|value| if value.is_zero() { BigUint::one() } else { value })
}

/// Tries a law on every device of a backend.
fn law<V: Debug>(
    backend: BackendKind,
    values: &impl Strategy<Value = V>,
    law: impl Fn(&Device, &V) -> gpuint::Result<Result<(), TestCaseError>>,
) {
    let devices = setting::devices(backend);
    if devices.is_empty() {
        return;
    }
    let config = Config {
        cases: (f64::from(CASES) * setting::times()).ceil() as u32,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        source_file: Some(file!()),
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(values, |value| {
        for device in &devices {
            law(device, &value).map_err(|error| TestCaseError::fail(format!("{error}")))??;
        }
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

fn batch<T: Kernels>(device: &Device, value: &BigUint) -> gpuint::Result<Batch<T>> {
    Batch::splat(device, value, 1)
}

/// u = q*v + r and r < v, by the device's product, sum and comparison, none of which overflows.
fn division_by<T: Kernels, S: Division<T>>(backend: BackendKind) {
    law(backend, &(number(T::BITS), positive(T::BITS)), |device, (u, v)| {
        let (u, v) = (batch::<T>(device, u)?, batch::<T>(device, v)?);
        let (q, r) = u.using::<S>().div_rem(&v)?;
        let (low, high) = q.mul_lo_hi(&v)?;
        let (sum, carry) = low.overflowing_add(&r)?;
        let less = r.lt_mask(&v)?.any()?;
        let (high, carry, sum) = (high.row(0)?, carry.any()?, sum.row(0)?);
        let u = u.row(0)?;
        Ok((|| {
            prop_assert!(less, "r < v");
            prop_assert!(high.is_zero() && !carry, "q*v + r fits");
            prop_assert_eq!(sum, u);
            Ok(())
        })())
    });
}

/// (q*v + r) / v = q and (q*v + r) mod v = r, for an r below v.
fn built_by<T: Kernels, S: Division<T>>(backend: BackendKind) {
    let values = (8..T::BITS).prop_flat_map(|bits| {
        (number(T::BITS - bits), positive(bits), number(bits), any::<bool>())
    });
    law(backend, &values, |device, (q, v, r, largest)| {
        // A remainder with fewer bits than v, or the largest one.
        let r = if *largest { v - 1u32 } else { low(r.clone(), v.bits() as usize - 1) };
        let u = q * v + &r;
        let (quotient, remainder) =
            batch::<T>(device, &u)?.using::<S>().div_rem(&batch(device, v)?)?;
        let got = (quotient.row(0)?, remainder.row(0)?);
        Ok((|| {
            prop_assert_eq!(got, (q.clone(), r));
            Ok(())
        })())
    });
}

fn division<T: Kernels>(backend: BackendKind) {
    division_by::<T, Blocked<Classical>>(backend);
    division_by::<T, ShiftedInverse<Classical>>(backend);
    built_by::<T, Blocked<Classical>>(backend);
    built_by::<T, ShiftedInverse<Classical>>(backend);
}

/// Residues modulo a prepared divisor are those of the division, and powers multiply by adding
/// exponents.
fn residues<T: Kernels>(backend: BackendKind) {
    let exponent = || (0..60u32).prop_flat_map(|bits| number(bits as usize + 1));
    let values = (number(T::BITS), number(T::BITS / 2), positive(T::BITS), exponent(), exponent());
    law(backend, &values, |device, (a, b, v, d, e)| {
        let divisor = Divisor::splat(device, v)?;
        let (a, v) = (batch::<T>(device, a)?, batch(device, v)?);
        let equal = |left: &Batch<T>, right: &Batch<T>| left.eq_mask(right)?.any();
        // A product of factors of half the width does not overflow.
        let half = a.shr(T::BITS / 2)?;
        let product = half.mul_mod(&batch(device, b)?, &divisor)?;
        let (q, r) = half.wrapping_mul(&batch(device, b)?)?.div_rem(&v)?;
        let by = half.wrapping_mul(&batch(device, b)?)?.div_rem_by(&divisor)?;
        let square = a.square_mod(&divisor)?;
        let sum = a.pow_mod_all(&(d + e), &divisor)?;
        let powers = [a.pow_mod_all(d, &divisor)?, a.pow_mod(&batch(device, e)?, &divisor)?];
        let laws = [
            equal(&product, &r)?,
            equal(&by.0, &q)? && equal(&by.1, &r)?,
            equal(&square, &a.mul_mod(&a.rem(&v)?, &divisor)?)?,
            equal(&sum, &powers[0].mul_mod(&powers[1], &divisor)?)?,
        ];
        Ok((|| {
            prop_assert_eq!(laws, [true; 4]);
            Ok(())
        })())
    });
}

/// The laws of a commutative ring, modulo 2^BITS.
fn ring<T: Kernels>(backend: BackendKind) {
    let values = (number(T::BITS), number(T::BITS), number(T::BITS));
    law(backend, &values, |device, (a, b, c)| {
        let (a, b, c) = (batch::<T>(device, a)?, batch(device, b)?, batch(device, c)?);
        let distributive = [&a * &(&b + &c), &(&a * &b) + &(&a * &c)];
        let commutative = [&a * &b, &b * &a];
        let back = [&(&a - &b) + &b, a.try_clone()?];
        // (a + b)(a - b) = a^2 - b^2.
        let squares = [&(&a + &b) * &(&a - &b), &a.wrapping_square()? - &b.wrapping_square()?];
        let equal = |[left, right]: [Batch<T>; 2]| left.eq_mask(&right)?.any();
        let laws = (equal(distributive)?, equal(commutative)?, equal(back)?, equal(squares)?);
        Ok((|| {
            prop_assert_eq!(laws, (true, true, true, true));
            Ok(())
        })())
    });
}

/// A product by a power of two is a shift; shifts undo each other; bit lengths find the highest
/// one.
fn shifts<T: Kernels>(backend: BackendKind) {
    law(backend, &(number(T::BITS), 1..T::BITS), |device, (value, distance)| {
        let distance = *distance;
        let a = batch::<T>(device, value)?;
        let (low, high) = a.mul_lo_hi(&batch(device, &power(distance))?)?;
        let product = low.eq_mask(&a.shl(distance)?)?.any()?
            && high.eq_mask(&a.shr(T::BITS - distance)?)?.any()?;
        let kept = a.shl(distance)?.shr(distance)?.row(0)?;
        let length = a.bit_lengths()?[0] as usize;
        let top = a.shr(length.saturating_sub(1))?.row(0)?;
        let above = a.shr(length)?.is_zero_mask()?.any()?;
        Ok((|| {
            prop_assert!(product);
            prop_assert_eq!(kept, gpuint_testkit::operands::low(value.clone(), T::BITS - distance));
            prop_assert_eq!(top, BigUint::from(u32::from(length > 0)));
            prop_assert!(above);
            Ok(())
        })())
    });
}

/// An order, and the borrow of a difference agrees with it.
fn order<T: Kernels>(backend: BackendKind) {
    law(backend, &(number(T::BITS), number(T::BITS)), |device, (a, b)| {
        let (a, b) = (batch::<T>(device, a)?, batch(device, b)?);
        let (ab, ba) = (a.cmp(&b)?[0], b.cmp(&a)?[0]);
        let less = [a.lt_mask(&b)?.any()?, a.overflowing_sub(&b)?.1.any()?];
        let equal = [a.eq_mask(&b)?.any()?, a.wrapping_sub(&b)?.is_zero_mask()?.any()?];
        Ok((|| {
            prop_assert_eq!(ab, ba.reverse());
            prop_assert_eq!(less, [ab.is_lt(); 2]);
            prop_assert_eq!(equal, [ab.is_eq(); 2]);
            Ok(())
        })())
    });
}

/// `shinv_h(v)` is the quotient of B^h by v, where B^h fits.
fn inverses<T: Kernels>(backend: BackendKind) {
    law(backend, &(positive(T::BITS), 0..T::DIGITS), |device, (v, h)| {
        let v = batch::<T>(device, v)?;
        let inverse = v.shifted_inverse(*h)?.row(0)?;
        let quotient = batch::<T>(device, &power(h * T::DIGIT_BITS))?.div(&v)?.row(0)?;
        Ok((|| {
            prop_assert_eq!(inverse, quotient);
            Ok(())
        })())
    });
}

/// Every conversion into a batch is undone by its inverse.
fn conversions<T: Kernels>(backend: BackendKind) {
    law(backend, &prop::collection::vec(number(T::BITS), 0..5), |device, values| {
        let batch = Batch::<T>::from_biguints(device, values)?;
        let ways = [
            Batch::<T>::from_digits(device, &batch.to_digits()?)?.to_biguints()?,
            Batch::<T>::from_le_bytes(device, &batch.to_le_bytes()?)?.to_biguints()?,
            Batch::<T>::from_be_bytes(device, &batch.to_be_bytes()?)?.to_biguints()?,
            (0..batch.len()).map(|row| batch.row(row)).collect::<gpuint::Result<_>>()?,
        ];
        Ok((|| {
            prop_assert!(ways.iter().all(|way| way == values));
            Ok(())
        })())
    });
}

macro_rules! laws {
    ($($name:ident),*) => {$(
        mod $name {
            use super::{BackendKind, GpuUint};

            laws! { @ $name cpu: Cpu, simt: Simt, cuda: Cuda }
        }
    )*};
    (@ $law:ident $($name:ident: $backend:ident),*) => {$(
        #[test]
        fn $name() {
            let backend = BackendKind::$backend;
            super::$law::<GpuUint<1024, 4, u64>>(backend);
            super::$law::<GpuUint<1024, 4, u32>>(backend);
            super::$law::<GpuUint<1024, 2, u16>>(backend);
            super::$law::<GpuUint<2048, 4, u64>>(backend);
        }
    )*};
}
laws!(division, residues, ring, shifts, order, inverses, conversions);
