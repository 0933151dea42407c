//! Long rows: widths above 2^20 bits, any multiple of 64, on the CPU, and operations of
//! other devices that run there.

use gpuint::num_bigint::BigUint;
use gpuint::{
    Algorithm, BackendKind, Batch, Device, Double, DynBatch, DynFactor, Error, JitUint, Op,
    Strategy,
};
use num_traits::{One, Zero};

use crate::setting::{in_turn, seed};
use gpuint_testkit::operands::ones;
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

/// Widths at and beside powers of two, and ones that no power of two divides.
const WIDTHS: [usize; 4] = [(1 << 20) + 64, 1 << 21, (3 << 20) - 64, (1 << 22) + 64];

/// Widths of products: those of millions of bits take the CPU long without GMP.
#[cfg(feature = "gmp")]
const PRODUCTS: [usize; 6] =
    [(1 << 20) + 64, 1 << 21, (3 << 20) - 64, (1 << 22) + 64, 1 << 23, (1 << 24) + 64];
#[cfg(not(feature = "gmp"))]
const PRODUCTS: [usize; 2] = [(1 << 20) + 64, 5 << 18];

/// Numbers of a width whose carries and halves are extreme, and a random one.
fn hostile(bits: usize) -> Vec<BigUint> {
    let power = |exponent: usize| BigUint::one() << exponent;
    let random = Random::new(seed()).bits(bits);
    let sparse = power(bits - 1) + power(bits / 2) + 1u32;
    vec![
        BigUint::zero(),
        BigUint::one(),
        ones(bits),
        power(bits - 1),
        power(bits / 2) - 1u32,
        ones(bits) - power(bits / 3),
        sparse,
        random,
    ]
}

fn batch(device: &Device, values: &[BigUint], bits: usize) -> DynBatch {
    let shape = device.shape_for(bits).unwrap();
    assert_eq!(shape.bits, bits);
    DynBatch::from_biguints(device, shape, values).unwrap()
}

#[test]
fn long_products_and_sums_are_exact() {
    let device = Device::cpu();
    for &bits in in_turn(&PRODUCTS) {
        let values = hostile(bits);
        let pairs: Vec<(BigUint, BigUint)> = [(0, 2), (1, 7), (2, 2), (3, 4), (5, 6), (7, 5)]
            .map(|(i, j): (usize, usize)| (values[i].clone(), values[j].clone()))
            .into();
        let (a, b): (Vec<_>, Vec<_>) = pairs.iter().cloned().unzip();
        let (x, y) = (batch(&device, &a, bits), batch(&device, &b, bits));
        let [low, cyclic, square, sum, difference] = [
            x.wrapping_mul(&y),
            x.cyclic_mul(&y),
            x.wrapping_square(),
            x.wrapping_add(&y),
            x.wrapping_sub(&y),
        ]
        .map(|rows| rows.unwrap().to_biguints().unwrap());
        let wide = x.widening_mul(&y).unwrap();
        assert_eq!(wide.shape().bits, 2 * bits);
        let (split_low, split_high) = wide.split().unwrap();
        assert!(split_low.join(&split_high).unwrap().is_equal(&wide).unwrap());
        let (sums, overflow) = DynBatch::widening_sum_of_products(&[(&x, &y), (&x, &y)]).unwrap();
        let (high, overflow) = (split_high.to_biguints().unwrap(), overflow.to_bools().unwrap());
        let sums = sums.to_biguints().unwrap();
        for (row, (a, b)) in pairs.iter().enumerate() {
            let (expected_low, expected_high) = oracle::mul(a, b, bits);
            assert_eq!(low[row], expected_low, "{bits} bits, row {row}");
            assert_eq!(high[row], expected_high, "{bits} bits, row {row}");
            assert_eq!(cyclic[row], oracle::mul_cyclic(a, b, bits), "{bits} bits, row {row}");
            assert_eq!(square[row], oracle::square(a, bits), "{bits} bits, row {row}");
            assert_eq!(sum[row], oracle::add(a, b, bits).0, "{bits} bits, row {row}");
            assert_eq!(difference[row], oracle::sub(a, b, bits).0, "{bits} bits, row {row}");
            let twice: BigUint = (a * b) << 1;
            assert_eq!(overflow[row], twice.bits() > 2 * bits as u64, "{bits} bits, row {row}");
            assert_eq!(sums[row], twice & ones(2 * bits), "{bits} bits, row {row}");
        }
    }
}

#[test]
fn products_by_factors_are_those_of_rows() {
    let device = Device::cpu();
    for bits in [1024, PRODUCTS[0]] {
        let values = hostile(bits);
        let (x, y) = (batch(&device, &values, bits), batch(&device, &values, bits));
        let y = y.reverse().unwrap();
        let power = BigUint::one() << (bits - 7);
        let all = batch(&device, &vec![power.clone(); values.len()], bits);
        let each = DynFactor::of_rows(&y).unwrap();
        let one = DynFactor::splat(&device, x.shape(), &power).unwrap();
        assert_eq!((each.rows(), one.rows()), (Some(values.len()), None));
        for (factor, rows) in [(each, y), (one, all)] {
            let same = |a: &DynBatch, b: &DynBatch| assert!(a.is_equal(b).unwrap(), "{bits} bits");
            same(&x.wrapping_mul_by(&factor).unwrap(), &x.wrapping_mul(&rows).unwrap());
            same(&x.cyclic_mul_by(&factor).unwrap(), &x.cyclic_mul(&rows).unwrap());
            let (low, high) = x.mul_lo_hi_by(&factor).unwrap();
            let expected = x.mul_lo_hi(&rows).unwrap();
            same(&low, &expected.0);
            same(&high, &expected.1);
        }
    }
}

#[test]
fn long_linear_operations_are_exact() {
    let device = Device::cpu();
    for bits in WIDTHS {
        let values = hostile(bits);
        let x = batch(&device, &values, bits);
        let y = x.reverse().unwrap();
        let lengths = x.bit_lengths().unwrap();
        let orders = x.cmp(&y).unwrap();
        let equal = x.eq_mask(&y).unwrap().to_bools().unwrap();
        let wider = x.resized(device.shape_for(2 * bits + 64).unwrap()).unwrap();
        let and = x.and(&y).unwrap().to_biguints().unwrap();
        for distance in [1, 63, 64, bits / 2 + 1, bits - 1, bits] {
            let left = x.shl(distance).unwrap().to_biguints().unwrap();
            let right = x.shr(distance).unwrap().to_biguints().unwrap();
            for (row, value) in values.iter().enumerate() {
                assert_eq!(left[row], (value << distance) & ones(bits), "{bits}, {distance}");
                assert_eq!(right[row], value >> distance, "{bits}, {distance}");
            }
        }
        for (row, value) in values.iter().enumerate() {
            let other = &values[values.len() - 1 - row];
            assert_eq!(lengths[row], value.bits());
            assert_eq!((orders[row], equal[row]), (value.cmp(other), value == other));
            assert_eq!(wider.row(row).unwrap(), *value);
            assert_eq!(and[row], value & other);
        }
        assert!(wider.resized(x.shape()).unwrap().is_equal(&x).unwrap());
        let narrow = device.shape_for(1 << 20).unwrap();
        let error = x.resized(narrow).unwrap_err();
        assert!(matches!(error, Error::TooWide { row: 2, .. }), "{error}");
    }
}

#[test]
fn long_divisions_and_roots_are_exact() {
    let device = Device::cpu();
    let bits = (1 << 20) + 64;
    let values = hostile(bits);
    let (u, v) = (values[2..].to_vec(), values[1..values.len() - 1].to_vec());
    let (x, y) = (batch(&device, &u, bits), batch(&device, &v, bits));
    let (q, r) = x.div_rem(&y).unwrap();
    let (root, rest) = x.isqrt_rem().unwrap();
    for row in 0..u.len() {
        let expected = oracle::div_rem(&u[row], &v[row]);
        assert_eq!((q.row(row).unwrap(), r.row(row).unwrap()), expected, "row {row}");
        let (root, rest) = (root.row(row).unwrap(), rest.row(row).unwrap());
        assert!(&root * &root + &rest == u[row] && rest <= &root << 1u32, "row {row}");
    }
    let zero = batch(&device, &values[..1], bits);
    let one = batch(&device, &values[1..2], bits);
    assert_eq!(one.div_rem(&zero).unwrap_err(), Error::DivisionByZero { row: 0 });
}

#[test]
fn long_shapes_are_typed() {
    gpuint::gpu_uint!(type Long = 2097152 bits);
    type Short = JitUint<1048576, 16>;
    let device = Device::cpu();
    let a = Batch::<Long>::splat(&device, 3, 2).unwrap().shl(2_097_000).unwrap();
    let square: Batch<Double<Long>> = a.widening_mul(&a).unwrap();
    assert_eq!(square.row(1).unwrap(), BigUint::from(9u32) << 4_194_000);
    let b = Batch::<Short>::splat(&device, 5, 2).unwrap().shl(1_048_000).unwrap();
    let square: Batch<Double<Short>> = b.widening_mul(&b).unwrap();
    assert_eq!(square.row(0).unwrap(), BigUint::from(25u32) << 2_096_000);
    let (low, high) = square.mul_lo_hi(&square).unwrap();
    let product = BigUint::from(625u32) << (2 * 2_096_000);
    assert_eq!(low.row(1).unwrap(), &product & ones(1 << 21));
    assert_eq!(high.row(1).unwrap(), product >> (1 << 21));
    let shape = square.as_dyn().shape();
    let algorithm = device.algorithm(Op::MulLo, Strategy::Auto, shape, 1).unwrap();
    assert_eq!(algorithm, Algorithm::Long);
    let text = square.row(0).unwrap().to_string();
    let parsed = DynBatch::from_decimal(&device, shape, &[&text]).unwrap();
    assert!(parsed.is_equal(&square.as_dyn().slice(0..1).unwrap()).unwrap());
}

#[test]
fn shapes_beyond_the_longest_are_errors() {
    let device = Device::cpu();
    let longest = 1 << 31;
    assert_eq!(device.shape_for(longest).unwrap().bits, longest);
    let shape = device.shape_for(longest).unwrap();
    let missing = device.shape_for(longest + 1).unwrap_err();
    let widest = longest;
    assert_eq!(missing, Error::WidthMissing { operation: "rows", bits: longest + 1, widest });
    let empty = DynBatch::zeros(&device, shape, 0).unwrap();
    let error = empty.widening_mul(&empty).unwrap_err();
    assert!(matches!(error, Error::WidthMissing { widest: 0x4000_0000, .. }), "{error}");
    for shape in [
        gpuint::Shape { bits: (1 << 21) + 32, ..shape },
        gpuint::Shape { bits: 1 << 21, q: 16, ..shape },
        gpuint::Shape { bits: 1 << 32, ..shape },
    ] {
        for device in [device.clone(), device.with_jit()] {
            let error = DynBatch::zeros(&device, shape, 1).unwrap_err();
            assert_eq!(error, Error::ShapeMissing { shape });
            assert!(error.to_string().contains("a multiple of 64 bits up to 2^31"), "{error}");
        }
    }
}

/// Operations without kernels of long rows move the rows to the CPU and back.
#[test]
#[cfg(feature = "simt")]
fn operations_without_long_kernels_run_on_the_cpu() {
    let device = Device::simt();
    assert_eq!(device.backend(), BackendKind::Simt);
    let bits = 1 << 21;
    let values = [ones(bits), BigUint::zero(), ones(bits) / 7u32];
    let a = batch(&device, &values, bits);
    let (quotient, rest) = a.div_rem_digit(1_000_003).unwrap();
    let quotient = quotient.to_biguints().unwrap();
    for (row, value) in values.iter().enumerate() {
        assert_eq!(quotient[row], value / 1_000_003u32, "row {row}");
        assert_eq!(BigUint::from(rest[row]), value % 1_000_003u32, "row {row}");
    }
    // A mask, and rows that fail.
    let odd = batch(&device, &[5u32.into(), 7u32.into(), 9u32.into()], bits);
    let symbols = a.jacobi(&odd).unwrap();
    assert_eq!(symbols, values.iter().zip([5u32, 7, 9]).map(symbol).collect::<Vec<_>>());
}

/// Jacobi's symbol of a value modulo 5, 7 or 9, from its squares.
#[cfg(feature = "simt")]
fn symbol((value, modulus): (&BigUint, u32)) -> i8 {
    let rest = u32::try_from(value % modulus).unwrap();
    match (modulus, rest) {
        (_, 0) | (9, 3 | 6) => 0,
        (5, 1 | 4) | (7, 1 | 2 | 4) | (9, _) => 1,
        _ => -1,
    }
}
