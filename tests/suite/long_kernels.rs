//! Kernels of long rows on the shim and on a GPU, against arithmetic of another kind.

use std::slice::from_ref;

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Device, DynBatch, DynDivisor, DynFactor, Error, Faults};
use num_traits::{One, Zero};

use crate::setting::{devices, in_turn, seed};
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

/// Runs of ones and zeros whose ends are at and beside the limbs of tiles and of threads.
fn runs(bits: usize) -> BigUint {
    let ends = [1, 31, 64, 8 * 32, 2048 * 32 - 1, 2048 * 32 + 1, bits / 2 - 1, bits - 1];
    ends.into_iter().fold(BigUint::zero(), |sum, end| (ones(bits) >> end) ^ sum)
}

/// Pairs of factors with extreme columns and carries.
fn pairs(bits: usize) -> Vec<(BigUint, BigUint)> {
    let power = |exponent: usize| BigUint::one() << exponent;
    vec![
        (ones(bits), ones(bits)),
        (random(bits, seed()), random(bits, seed() + 2)),
        (power(bits - 1), ones(bits)),
        (ones(bits / 2), power(bits / 2) + 1u32),
        (ones(bits) - 1u32, runs(bits)),
        (BigUint::zero(), ones(bits)),
    ]
}

fn batch(device: &Device, values: &[BigUint], bits: usize) -> DynBatch {
    DynBatch::from_biguints(device, device.shape_for(bits).unwrap(), values).unwrap()
}

/// Checks products by prepared factors: one of each row, or the only one of all rows.
fn check_factors(x: &DynBatch, factors: &DynBatch) {
    let (factor, rows) = match factors.len() == x.len() {
        true => (DynFactor::of_rows(factors).unwrap(), factors.try_clone().unwrap()),
        false => {
            let value = factors.row(0).unwrap();
            let splat = DynBatch::splat(x.device(), x.shape(), &value, x.len()).unwrap();
            (DynFactor::splat(x.device(), x.shape(), &value).unwrap(), splat)
        }
    };
    let (low, high) = x.mul_lo_hi_by(&factor).unwrap();
    let expected = x.mul_lo_hi(&rows).unwrap();
    let pairs = [
        (&low, &expected.0),
        (&high, &expected.1),
        (&x.wrapping_mul_by(&factor).unwrap(), &expected.0),
        (&x.cyclic_mul_by(&factor).unwrap(), &x.cyclic_mul(&rows).unwrap()),
    ];
    for (index, (found, expected)) in pairs.into_iter().enumerate() {
        assert!(found.is_equal(expected).unwrap(), "{}, {index}", x.shape());
    }
}

fn check_products(device: &Device, bits: usize, pairs: &[(BigUint, BigUint)]) {
    let (a, b): (Vec<_>, Vec<_>) = pairs.iter().cloned().unzip();
    let (x, y) = (batch(device, &a, bits), batch(device, &b, bits));
    let [low, cyclic, square] = [x.wrapping_mul(&y), x.cyclic_mul(&y), x.wrapping_square()]
        .map(|rows| rows.unwrap().to_biguints().unwrap());
    let (halves, wide) = (x.mul_lo_hi(&y).unwrap(), x.widening_mul(&y).unwrap());
    let (high, wide) = (halves.1.to_biguints().unwrap(), wide.to_biguints().unwrap());
    assert_eq!(halves.0.to_biguints().unwrap(), low);
    check_factors(&x, &y);
    check_factors(&x, &batch(device, from_ref(&b[1]), bits));
    for (row, (a, b)) in pairs.iter().enumerate() {
        let (expected_low, expected_high) = oracle::mul(a, b, bits);
        assert!(low[row] == expected_low, "{device}, {bits} bits, row {row}: low half");
        assert!(high[row] == expected_high, "{device}, {bits} bits, row {row}: high half");
        assert!(wide[row] == a * b, "{device}, {bits} bits, row {row}: product");
        let expected = oracle::mul_cyclic(a, b, bits);
        assert!(cyclic[row] == expected, "{device}, {bits} bits, row {row}: cyclic");
        assert!(square[row] == oracle::square(a, bits), "{device}, {bits} bits, row {row}: square");
    }
}

/// Transforms of 2^16 to 2^18 points.
#[test]
fn long_kernels_multiply() {
    for device in devices_with_kernels() {
        for &bits in in_turn(&[(1 << 20) + 64, 1 << 21, (1 << 21) + 64]) {
            check_products(&device, bits, &pairs(bits));
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
        assert!(x.widening_mul(&y).unwrap().row(0).unwrap() == a * b, "{device}");
        check_factors(&x, &y);
    }
}

#[test]
fn long_kernels_add_and_move() {
    for device in devices_with_kernels() {
        for &bits in in_turn(&[(1 << 20) + 64, (1 << 20) + (2048 * 32), 1 << 21]) {
            let (mut a, mut b): (Vec<_>, Vec<_>) = pairs(bits).into_iter().unzip();
            // Carries and borrows through all limbs; equal rows; rows that differ in one limb.
            a.extend([ones(bits), BigUint::zero(), runs(bits), ones(bits)]);
            b.extend([
                BigUint::one(),
                BigUint::one(),
                runs(bits),
                ones(bits) - (BigUint::one() << 64),
            ]);
            let (x, y) = (batch(&device, &a, bits), batch(&device, &b, bits));
            let (sum, carries) = x.overflowing_add(&y).unwrap();
            let (difference, borrows) = x.overflowing_sub(&y).unwrap();
            let [sum, difference] = [sum, difference].map(|rows| rows.to_biguints().unwrap());
            let [carries, borrows] = [carries, borrows].map(|mask| mask.to_bools().unwrap());
            let orders = x.cmp(&y).unwrap();
            let [equal, less, zero] = [x.eq_mask(&y), x.lt_mask(&y), x.is_zero_mask()]
                .map(|mask| mask.unwrap().to_bools().unwrap());
            let lengths = x.bit_lengths().unwrap();
            let ones_of = x.count_ones().unwrap();
            let zeros_of = x.trailing_zeros().unwrap();
            let and = x.and(&y).unwrap().to_biguints().unwrap();
            let reversed = x.reverse().unwrap().to_biguints().unwrap();
            for (row, (a, b)) in a.iter().zip(&b).enumerate() {
                let place = format!("{device}, {bits} bits, row {row}");
                assert!(
                    (&sum[row], carries[row]) == (&oracle::add(a, b, bits).0, a + b > ones(bits)),
                    "{place}: sum"
                );
                assert!(
                    (&difference[row], borrows[row]) == (&oracle::sub(a, b, bits).0, a < b),
                    "{place}: difference"
                );
                assert_eq!((orders[row], equal[row]), (a.cmp(b), a == b), "{place}");
                assert_eq!((less[row], zero[row]), (a < b, a.is_zero()), "{place}");
                assert_eq!(lengths[row], a.bits(), "{place}");
                assert_eq!(ones_of[row], a.count_ones(), "{place}");
                assert_eq!(zeros_of[row], a.trailing_zeros().unwrap_or(bits as u64), "{place}");
                assert!(and[row] == a & b, "{place}: and");
                assert!(reversed[reversed.len() - 1 - row] == *a, "{place}: reversed");
            }
            for distance in [0, 1, 63, 64, bits / 2 + 1, bits - 1, bits] {
                let left = x.shl(distance).unwrap().to_biguints().unwrap();
                let right = x.shr(distance).unwrap().to_biguints().unwrap();
                for (row, a) in a.iter().enumerate() {
                    assert!(left[row] == (a << distance) & ones(bits), "{device}, {distance}");
                    assert!(right[row] == a >> distance, "{device}, {distance}");
                }
            }
            let wide = device.shape_for(bits + 192).unwrap();
            let narrow = device.shape_for(1 << 20).unwrap();
            let wider = x.resized(wide).unwrap();
            assert_eq!(wider.to_biguints().unwrap(), a);
            assert!(wider.resized(x.shape()).unwrap().is_equal(&x).unwrap());
            assert!(matches!(x.resized(narrow).unwrap_err(), Error::TooWide { row: 0, .. }));
        }
    }
}

#[test]
fn long_kernels_divide() {
    for device in devices_with_kernels() {
        let bits = (1 << 20) + 64;
        let (u, v): (Vec<_>, Vec<_>) = pairs(bits).into_iter().rev().skip(1).unzip();
        let v: Vec<_> = v.into_iter().enumerate().map(|(row, v)| v >> (row * bits / 5)).collect();
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
