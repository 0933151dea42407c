//! Kernels of long rows on the shim and on a GPU, against arithmetic of another kind.

use std::slice::from_ref;

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Device, DynDivisor, DynFactor, Error, Faults};
use num_traits::{One, Zero};

use crate::long::{
    LINEAR, MULTIPLYING, batch, check, check_factor, check_widths, pairs, pairs_of_sums, runs,
};
use crate::setting::{devices, half_in_turn, in_turn, is_thorough, seed};
use gpuint_testkit::operands::ones;
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

/// The devices that run kernels: of the shim one schedule.
fn devices_with_kernels() -> Vec<Device> {
    let first = |backend| devices(backend).into_iter().next();
    [BackendKind::Simt, BackendKind::Cuda].into_iter().filter_map(first).collect()
}

fn random(bits: usize, seed: u64) -> BigUint {
    Random::new(seed).bits(bits)
}

/// Transforms of 2^16 to 2^18 points.
#[test]
fn long_kernels_multiply() {
    for device in devices_with_kernels() {
        for &bits in in_turn(&[(1 << 20) + 64, 1 << 21, (1 << 21) + 64]) {
            check(&device, bits, MULTIPLYING, &half_in_turn(pairs(bits)[2..].to_vec()));
            let x = batch(&device, &[ones(bits) - 1u32, random(bits, seed())], bits);
            check_factor(&x, &runs(bits));
        }
    }
}

/// Transforms of 2^21 points.
#[test]
fn long_kernels_multiply_by_three_passes() {
    for device in devices_with_kernels() {
        let bits = 1 << 25;
        let (a, b) = (ones(bits) - 1u32, random(bits, seed()));
        let (x, y) = (batch(&device, from_ref(&a), bits), batch(&device, from_ref(&b), bits));
        if is_thorough() {
            assert!(x.widening_mul(&y).unwrap().row(0).unwrap() == &a * &b, "{device}");
            check_factor(&x, &b);
        } else {
            let (_, high) = x.mul_lo_hi_by(&DynFactor::of_rows(&y).unwrap()).unwrap();
            assert!(high.row(0).unwrap() == (a * b) >> bits, "{device}");
        }
    }
}

#[test]
fn long_kernels_add_and_move() {
    for device in devices_with_kernels() {
        for &bits in in_turn(&[(1 << 20) + 64, (1 << 20) + (2048 * 32), 1 << 21]) {
            check(&device, bits, LINEAR, &pairs_of_sums(bits));
            let x = batch(&device, &pairs(bits).concat(), bits);
            check_widths(&x);
            assert!(x.reverse().unwrap().row(0).unwrap() == runs(bits));
        }
    }
}

#[test]
fn long_kernels_divide() {
    for device in devices_with_kernels() {
        let bits = (1 << 20) + 64;
        let pairs = pairs(bits).into_iter().skip(2);
        let (u, v): (Vec<_>, Vec<_>) = pairs.map(|[u, v]| (u, v)).unzip();
        let v: Vec<_> = v
            .into_iter()
            .enumerate()
            .map(|(row, v)| (v >> (row * bits / 8)) | BigUint::one())
            .collect();
        let (x, y) = (batch(&device, &u, bits), batch(&device, &v, bits));
        let (quotient, remainder) = x.div_rem(&y).unwrap();
        for (row, (u, v)) in u.iter().zip(&v).enumerate() {
            let result = (quotient.row(row).unwrap(), remainder.row(row).unwrap());
            assert!(result == oracle::div_rem(u, v), "{device}, row {row}");
        }
        let zero = batch(&device, &[BigUint::zero()], bits);
        let one = batch(&device, &[BigUint::one()], bits);
        assert_eq!(one.div_rem(&zero).unwrap_err(), Error::DivisionByZero { row: 0 });
    }
}

/// Divisors with a reciprocal: one that is short, and one whose top bit is set.
#[test]
fn long_kernels_reduce() {
    for device in devices_with_kernels() {
        let bits = (1 << 20) + 64;
        let v = [(BigUint::one() << (bits / 2 + 7)) - 1u32, ones(bits) - random(bits / 3, seed())];
        let a = [ones(bits), random(bits, seed() + 4)];
        let b = [runs(bits), ones(bits) - 1u32];
        let (x, y) = (batch(&device, &a, bits), batch(&device, &b, bits));
        let divisor = DynDivisor::of_rows(&batch(&device, &v, bits)).unwrap();
        let (quotient, rest) = x.div_rem_by(&divisor).unwrap();
        let product = x.mul_mod(&y, &divisor).unwrap();
        let sum = rest.add_mod(&product, &divisor).unwrap();
        let square = rest.square_mod_repeatedly(1, &divisor).unwrap();
        for (row, v) in v.iter().enumerate() {
            let (a, b) = (&a[row], &b[row]);
            let result = (quotient.row(row).unwrap(), rest.row(row).unwrap());
            assert!(result == oracle::div_rem(a, v), "{device}, row {row}: quotient");
            assert!(product.row(row).unwrap() == a * b % v, "{device}, row {row}: product");
            assert!(sum.row(row).unwrap() == (a + a * b) % v, "{device}, row {row}: sum");
            assert!(square.row(row).unwrap() == a * a % v, "{device}, row {row}: square");
        }
        let zero = batch(&device, &[BigUint::one(), BigUint::zero()], bits);
        let error = DynDivisor::of_rows(&zero).unwrap_err();
        assert_eq!(error, Error::DivisionByZero { row: 1 });
    }
}

/// A verified handle computes long rows twice, and finds a fault.
#[test]
fn long_kernels_verify() {
    for device in devices_with_kernels() {
        let bits = (1 << 20) + 64;
        let values = [ones(bits), random(bits, seed())];
        let faults = Faults::new(seed(), 0, 2, Some(1));
        for (faults, is_whole) in [(None, true), (Some(&faults), false)] {
            let device = faults.map_or_else(|| device.clone(), |faults| device.with_faults(faults));
            let x = batch(&device.verified(), &values, bits);
            let (sum, lengths) = (x.wrapping_add(&x), x.bit_lengths());
            if is_whole {
                let expected = values.iter().map(|value| (value << 1) & ones(bits));
                let expected: Vec<BigUint> = expected.collect();
                assert!(sum.unwrap().to_biguints().unwrap() == expected, "{device}");
                assert_eq!(lengths.unwrap(), values.each_ref().map(BigUint::bits));
            } else {
                let error = sum.err();
                let is_found = matches!(error, Some(Error::FaultyDevice { row: 1, .. }));
                assert!(is_found, "{device}: {error:?}");
            }
        }
    }
}

/// Operations that are composed of products, too many for the shim.
#[test]
fn long_kernels_compose() {
    for device in devices(BackendKind::Cuda) {
        let bits = 1 << 21;
        let a =
            [ones(bits), random(bits, seed()), (BigUint::one() << (bits - 2)) - 1u32, 5u32.into()];
        let x = batch(&device, &a, bits);
        let v = batch(&device, &a.each_ref().map(|a| (a >> 7u32) | BigUint::one()), bits);
        let (root, rest) = x.isqrt_rem().unwrap();
        let (inverse, even) = v.inverse_mod_pow2().unwrap();
        let exact = v.mul_lo_hi(&v).unwrap().0.div_exact(&v).unwrap();
        let gcd = x.gcd(&v).unwrap();
        let texts = x.to_decimal().unwrap();
        assert!(!even.any().unwrap());
        for (row, a) in a.iter().enumerate() {
            let (root, rest) = (root.row(row).unwrap(), rest.row(row).unwrap());
            assert!(&root * &root + &rest == *a && rest <= &root << 1u32, "root of row {row}");
            let v = v.row(row).unwrap();
            let product = (inverse.row(row).unwrap() * &v) & ones(bits);
            assert!(product == BigUint::one(), "inverse of row {row}");
            let low = (&v * &v) & ones(bits);
            assert!(exact.row(row).unwrap() == low / &v, "quotient of row {row}");
            let expected = batch(&Device::cpu(), &[a.clone(), v], bits);
            let [left, right] = [0..1, 1..2].map(|rows| expected.slice(rows).unwrap());
            assert!(
                gcd.row(row).unwrap() == left.gcd(&right).unwrap().row(0).unwrap(),
                "row {row}"
            );
            assert!(texts[row] == a.to_string(), "text of row {row}");
        }
    }
}
