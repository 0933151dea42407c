//! Long rows: widths above 2^20 bits, any multiple of 64, on the CPU, and operations of
//! other devices that run there.

use gpuint::num_bigint::BigUint;
use gpuint::{
    Algorithm, BackendKind, Batch, Device, Double, DynBatch, DynFactor, Error, JitUint, Op,
    Strategy,
};
use num_traits::{One, Zero};

use crate::compositions::compose;
use crate::forms::Launch;
use crate::setting::{Context, Part, Tally, half_in_turn, in_turn, seed, turn};
use gpuint_testkit::compositions::compositions;
use gpuint_testkit::forms::untyped;
use gpuint_testkit::launch::{Operands, bytes_of};
use gpuint_testkit::operands::{ones, row};
use gpuint_testkit::random::Random;

/// Widths at and beside powers of two, and ones that no power of two divides.
const WIDTHS: [usize; 4] = [(1 << 20) + 64, 1 << 21, (3 << 20) - 64, (1 << 22) + 64];

/// Widths of products: those of millions of bits take the CPU long without GMP.
#[cfg(feature = "gmp")]
const PRODUCTS: [usize; 6] =
    [(1 << 20) + 64, 1 << 21, (3 << 20) - 64, (1 << 22) + 64, 1 << 23, (1 << 24) + 64];
#[cfg(not(feature = "gmp"))]
const PRODUCTS: [usize; 2] = [(1 << 20) + 64, 5 << 18];

/// Pairs of operands with extreme columns, carries and halves.
pub(crate) fn pairs(bits: usize) -> Vec<[BigUint; 2]> {
    let power = |exponent: usize| BigUint::one() << exponent;
    let random = |offset| Random::new(seed() + offset).bits(bits);
    vec![
        [BigUint::zero(), ones(bits)],
        [BigUint::one(), random(0)],
        [ones(bits), ones(bits)],
        [power(bits - 1), power(bits / 2) - 1u32],
        [ones(bits) - power(bits / 3), power(bits - 1) + power(bits / 2) + 1u32],
        [random(1), random(2)],
        [ones(bits / 2), power(bits / 2) + 1u32],
        [ones(bits) - 1u32, runs(bits)],
    ]
}

/// Pairs whose carries and borrows run through all limbs, equal ones, and ones that differ in one
/// limb.
pub(crate) fn pairs_of_sums(bits: usize) -> Vec<[BigUint; 2]> {
    let ends = [
        [ones(bits), BigUint::one()],
        [BigUint::zero(), BigUint::one()],
        [runs(bits), runs(bits)],
        [ones(bits), ones(bits) - (BigUint::one() << 64)],
    ];
    pairs(bits).into_iter().chain(ends).collect()
}

/// Runs of ones and zeros whose ends are at and beside the limbs of tiles and of threads.
pub(crate) fn runs(bits: usize) -> BigUint {
    let ends = [1, 31, 64, 8 * 32, 2048 * 32 - 1, 2048 * 32 + 1, bits / 2 - 1, bits - 1];
    ends.into_iter().fold(BigUint::zero(), |sum, end| (ones(bits) >> end) ^ sum)
}

pub(crate) fn batch(device: &Device, values: &[BigUint], bits: usize) -> DynBatch {
    let shape = device.shape_for(bits).unwrap();
    assert_eq!(shape.bits, bits);
    DynBatch::from_biguints(device, shape, values).unwrap()
}

/// Operations with a product, and operations in linear time.
pub(crate) const MULTIPLYING: &[Op] = &[Op::MulLo, Op::SquareLo, Op::MulCyclic, Op::MulWide];
pub(crate) const LINEAR: &[Op] = &[
    Op::Add,
    Op::Sub,
    Op::Shl,
    Op::Shr,
    Op::Cmp,
    Op::EqMask,
    Op::LtMask,
    Op::IsZeroMask,
    Op::BitLengths,
    Op::CountOnes,
    Op::TrailingZeros,
    Op::BitMask,
    Op::Bitwise,
];

/// Checks forms of operations on pairs of long rows.
pub(crate) fn check(device: &Device, bits: usize, ops: &[Op], pairs: &[[BigUint; 2]]) {
    let shape = device.shape_for(bits).unwrap();
    let [a, b] = [0, 1].map(|side| bytes_of(pairs.iter().map(|pair| &pair[side]), bits));
    let forms = untyped();
    let mut tally = Tally::new(format!("{} and more, {bits} bits, {device}", ops[0]));
    for (index, &op) in ops.iter().enumerate() {
        let distances: &[usize] = match op {
            Op::Shl | Op::Shr => &[0, 1, 63, 64, bits / 2 + 1, bits - 1, bits],
            _ => &[bits / 2 + 1],
        };
        for (turn, &distance) in distances.iter().enumerate() {
            tally.attempt(&Context::new(shape, op.name(), device), pairs.len(), |tally| {
                let inputs = [a.clone(), b.clone(), vec![]];
                let mut operands =
                    Operands { inputs, rows: pairs.len(), mask: true, ..Operands::default() };
                operands.params.distance = distance as u32;
                let launch = Launch::new(op, shape, device, operands)?;
                launch.check_in_turn(&forms, self::turn() + index + turn, tally);
                Ok(())
            });
        }
    }
    tally.finish();
}

/// Checks operations that are composed of products.
fn check_compositions(device: &Device, bits: usize, names: &[&str], pairs: Vec<[BigUint; 2]>) {
    let shape = device.shape_for(bits).unwrap();
    let rows = pairs.into_iter().enumerate().map(|(index, [a, b])| row("pairs", index, a, b));
    let rows: Vec<_> = rows.collect();
    let mut tally = Tally::new(format!("{}, {bits} bits, {device}", names.join(", ")));
    for composition in compositions().iter().filter(|known| names.contains(&known.name)) {
        Part::run(shape, device, 0, rows.clone(), &mut tally, |part| {
            compose(&part, composition, 5)
        });
    }
    tally.finish();
}

/// Checks products by a prepared factor of all rows.
pub(crate) fn check_factor(x: &DynBatch, value: &BigUint) {
    let rows = DynBatch::splat(x.device(), x.shape(), value, x.len()).unwrap();
    let factor = DynFactor::splat(x.device(), x.shape(), value).unwrap();
    assert_eq!(factor.rows(), None);
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

/// Checks changes of the width.
pub(crate) fn check_widths(x: &DynBatch) {
    let device = x.device();
    let wider = x.resized(device.shape_for(x.shape().bits + 192).unwrap()).unwrap();
    assert_eq!(wider.to_biguints().unwrap(), x.to_biguints().unwrap());
    assert!(wider.resized(x.shape()).unwrap().is_equal(x).unwrap());
    let error = x.resized(device.shape_for(1 << 20).unwrap()).unwrap_err();
    let long = x.bit_lengths().unwrap().iter().position(|&bits| bits > 1 << 20);
    assert!(matches!(error, Error::TooWide { row, .. } if Some(row) == long), "{error}");
}

#[test]
fn long_products_are_exact() {
    let device = Device::cpu();
    for &bits in in_turn(&PRODUCTS) {
        check(&device, bits, MULTIPLYING, &pairs(bits));
        let few = pairs(bits).split_off(5);
        check_compositions(&device, bits, &["sums of products", "join, split"], few);
    }
}

#[test]
fn products_by_one_factor_are_those_of_rows() {
    for bits in [1024, PRODUCTS[0]] {
        let values: Vec<_> = pairs(bits).into_iter().map(|[a, _]| a).collect();
        check_factor(&batch(&Device::cpu(), &values, bits), &(BigUint::one() << (bits - 7)));
    }
}

#[test]
fn long_linear_operations_are_exact() {
    let device = Device::cpu();
    for bits in half_in_turn(WIDTHS.to_vec()) {
        check(&device, bits, LINEAR, &pairs_of_sums(bits));
        check_widths(&batch(&device, &pairs(bits).concat(), bits));
    }
}

#[test]
fn long_divisions_and_roots_are_exact() {
    let device = Device::cpu();
    let bits = (1 << 20) + 64;
    let mut pairs = pairs(bits);
    pairs.iter_mut().skip(1).for_each(|[_, v]| v.set_bit(0, true));
    check(&device, bits, &[Op::DivRem, Op::Isqrt], &pairs);
    let [zero, one] = [0u32, 1].map(|value| batch(&device, &[value.into()], bits));
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
