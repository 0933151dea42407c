//! Powers and sums of secret operands modulo secret moduli.

use gpuint::num_bigint::BigUint;
use gpuint::{
    Algorithm, Device, DynBatch, Error, Op, Product, Result, SecretBatch, SecretExponents,
    SecretFactor, SecretModulus, Shape, is_offered, narrowest,
};

use crate::setting::{Check, Context, Rows, Setting, Tally, on_every_backend};
use gpuint_testkit::launch::bytes_of;
use gpuint_testkit::operands::{DIVISIONS, Row, low, ones};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 2_000, least: 5 };
/// Length of the exponents: three digits and a part of a fourth.
const BITS: usize = 11;

/// Operations on secrets, each with public and with secret rows.
type Compute = fn(&Device, Shape, &[Row]) -> Result<Vec<[SecretBatch; 2]>>;

/// The expected result of a row of one of the operations.
type Expected = fn(&[Row], usize, usize) -> BigUint;

fn bytes(shape: Shape, rows: &[Row], of: impl FnMut(&Row) -> BigUint) -> Vec<u8> {
    bytes_of(rows.iter().map(of).collect::<Vec<_>>().iter(), shape.bits)
}

fn modulus(row: &Row) -> BigUint {
    &row.b | BigUint::from(1u32)
}

fn exponent(row: &Row) -> BigUint {
    low(row.a.clone(), BITS)
}

struct Secrets;

/// Powers of rows, exponents and moduli of each row, and of those of the first row.
fn powers(device: &Device, shape: Shape, rows: &[Row]) -> Result<Vec<[SecretBatch; 2]>> {
    let bases = DynBatch::from_biguints(device, shape, rows.iter().map(|row| &row.a))?;
    let secret = SecretBatch::from_le_bytes(device, shape, &bases.to_le_bytes()?)?;
    let [exponents, moduli] = [exponent, modulus].map(|of| bytes(shape, rows, of));
    let row_bytes = shape.bytes();
    let exponents = [
        SecretExponents::of_rows(device, shape, BITS, &exponents)?,
        SecretExponents::splat(device, shape, BITS, &exponents[..row_bytes])?,
    ];
    let moduli = [
        SecretModulus::of_rows(device, shape, &moduli)?,
        SecretModulus::splat(device, shape, &moduli[..row_bytes])?,
    ];
    let pair = |(e, n): (&SecretExponents, &SecretModulus)| {
        Ok([bases.pow_secret(e, n)?, secret.pow_secret(e, n)?])
    };
    exponents.iter().zip(&moduli).map(pair).collect()
}

fn power(rows: &[Row], index: usize, row: usize) -> BigUint {
    let of = &rows[if index == 0 { row } else { 0 }];
    oracle::pow_mod(&rows[row].a, &exponent(of), &modulus(of))
}

impl Check for Secrets {
    const NAME: &str = "powers of secrets";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        if is_offered(Op::PowSecret, Algorithm::By(Product::TensorCore), shape) {
            return check(Self::NAME, powers, power, shape, setting, tally);
        }
        is_missing(shape, setting, tally, |device, row| {
            SecretModulus::splat(device, shape, row).err()
        });
    }
}

struct Sums;

/// Sums `b a + c mod n` for rows `b`, factors `a` and odd moduli `n`, where the addends `c` are the
/// rows in reverse order: each operand for its row, then one factor, then one addend for all rows.
fn sums(device: &Device, shape: Shape, rows: &[Row]) -> Result<Vec<[SecretBatch; 2]>> {
    let [a, n] = [|row: &Row| row.a.clone(), modulus].map(|of| bytes(shape, rows, of));
    let b = DynBatch::from_biguints(device, shape, rows.iter().map(|row| &row.b))?;
    let secret = SecretBatch::from(b.try_clone()?);
    let reversed = bytes_of(rows.iter().rev().map(|row| &row.a), shape.bits);
    let row_bytes = shape.bytes();
    let factors = [
        SecretFactor::of_rows(device, shape, &a, &n)?,
        SecretFactor::splat(device, shape, &a[..row_bytes], &n[..row_bytes])?,
    ];
    let addends = [&reversed[..], &reversed[..row_bytes]];
    let pair = |(factor, addend): (&SecretFactor, &[u8])| {
        let addend = SecretBatch::from_le_bytes(device, shape, addend)?;
        Ok([b.mul_add_secret(factor, &addend)?, secret.mul_add_secret(factor, &addend)?])
    };
    let [each, one] = &factors;
    [(each, addends[0]), (one, addends[0]), (each, addends[1])].into_iter().map(pair).collect()
}

fn sum(rows: &[Row], index: usize, row: usize) -> BigUint {
    let of = &rows[if index == 1 { 0 } else { row }];
    let addend = &rows[rows.len() - 1 - if index == 2 { 0 } else { row }].a;
    let product = oracle::mul_mod(&rows[row].b, &of.a, &modulus(of));
    oracle::add_mod(&product, addend, &modulus(of))
}

impl Check for Sums {
    const NAME: &str = "sums of secrets";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        if is_offered(Op::MulAddSecret, Algorithm::Only, shape) {
            return check(Self::NAME, sums, sum, shape, setting, tally);
        }
        is_missing(shape, setting, tally, |device, row| {
            SecretFactor::splat(device, shape, row, row).err()
        });
    }
}

/// Compares operations with their expected results.
fn check(
    name: &str,
    compute: Compute,
    expected: Expected,
    shape: Shape,
    setting: &Setting,
    tally: &mut Tally,
) {
    for (_, device, rows) in setting.parts(shape, DIVISIONS, setting.count(ROWS, shape)) {
        let what = Context::new(shape, name, device);
        tally.attempt(&what, rows.len(), |tally| {
            for (index, results) in compute(device, shape, &rows)?.iter().enumerate() {
                let of_row = |row| expected(&rows, index, row);
                let wanted: Vec<_> = (0..rows.len()).map(of_row).collect();
                for result in results {
                    compare(&what, result, &rows, &wanted, tally)?;
                }
            }
            Ok(())
        });
    }
}

/// Compares a secret result with the expected one in all its forms.
fn compare(
    what: &Context<'_>,
    result: &SecretBatch,
    rows: &[Row],
    wanted: &[BigUint],
    tally: &mut Tally,
) -> Result<()> {
    let found = result.reveal()?;
    let zeros: Vec<_> = wanted.iter().map(|value| *value == BigUint::ZERO).collect();
    tally.values(what, rows, &found.to_biguints()?, wanted);
    tally.row(result.to_biguints()? == wanted, || format!("{what}: numbers"));
    tally.row(*result.to_le_bytes()? == found.to_le_bytes()?, || format!("{what}: bytes"));
    tally.row(result.is_zero_mask()?.to_bools()? == zeros, || format!("{what}: zeros"));
    Ok(())
}

/// Compares the error of a shape without the operation.
fn is_missing(
    shape: Shape,
    setting: &Setting,
    tally: &mut Tally,
    error: impl Fn(&Device, &[u8]) -> Option<Error>,
) {
    for device in setting.devices() {
        let error = error(device, &vec![1; shape.bytes()]);
        let is_right = matches!(error, Some(Error::KernelMissing { .. }));
        tally.row(is_right, || format!("{shape} without an operation on secrets: {error:?}"));
    }
}

on_every_backend! { powers: Secrets, sums: Sums, }

#[test]
fn secrets_out_of_range_are_rejected() {
    let device = Device::cpu();
    let shape = narrowest(1024).unwrap();
    let bytes = |values: &[BigUint]| bytes_of(values.iter(), shape.bits);
    let number = |value: u32| BigUint::from(value);
    let exponents = |bits, values: &[BigUint]| {
        SecretExponents::of_rows(&device, shape, bits, &bytes(values)).map(drop)
    };
    assert_eq!(exponents(9, &[number(511), number(0)]), Ok(()));
    assert_eq!(exponents(1024, &[ones(1024)]), Ok(()));
    let too_wide = |row, width| Err(Error::TooWide { row, bits: 1024, width });
    assert_eq!(exponents(9, &[number(511), number(512)]), too_wide(1, 9));
    assert_eq!(exponents(8, &[number(256)]), too_wide(0, 8));
    assert_eq!(exponents(16, &[number(1), ones(1024)]), too_wide(1, 16));
    assert_eq!(exponents(0, &[number(0)]), too_wide(0, 0));
    assert_eq!(exponents(1025, &[number(0)]), too_wide(0, 1025));
    let moduli = |values: &[BigUint]| SecretModulus::of_rows(&device, shape, &bytes(values));
    assert_eq!(moduli(&[number(3), number(4)]).unwrap_err(), Error::EvenModulus { row: 1 });
    let two = bytes(&[number(3), number(5)]);
    let mismatch = Error::LengthMismatch { left: 1, right: 2 };
    assert_eq!(SecretModulus::splat(&device, shape, &two).unwrap_err(), mismatch);
    assert_eq!(SecretExponents::splat(&device, shape, 3, &two).unwrap_err(), mismatch);
    assert!(matches!(
        SecretModulus::of_rows(&device, shape, &two[1..]),
        Err(Error::PartialRow { .. })
    ));
    // Powers of secrets are not offered at 256 bits.
    let narrow = narrowest(256).unwrap();
    assert!(SecretModulus::splat(&device, narrow, &[[5].as_slice(), &[0; 31]].concat()).is_err());

    let bases = DynBatch::splat(&device, shape, 2u64, 3).unwrap();
    let modulus = moduli(&[number(3), number(5)]).unwrap();
    let exponent = SecretExponents::splat(&device, shape, 3, &two[..128]).unwrap();
    let other = bases.pow_secret(&exponent, &modulus).unwrap_err();
    assert!(matches!(other, Error::LengthMismatch { .. }), "{other}");
    let wide = DynBatch::splat(&device, narrowest(2048).unwrap(), 2u64, 2).unwrap();
    let other = wide.pow_secret(&exponent, &modulus).unwrap_err();
    assert!(matches!(other, Error::ShapeMismatch { .. }), "{other}");
    let secret = SecretBatch::from_le_bytes(&device, shape, &two).unwrap();

    let [three, one] = [&two[..128], &bytes(&[number(1)])[..]];
    let factor = |factor: &[u8], moduli: &[u8]| {
        SecretFactor::of_rows(&device, shape, factor, moduli).map(drop).unwrap_err()
    };
    let even = bytes(&[number(3), number(4)]);
    assert_eq!(factor(&two, &even), Error::EvenModulus { row: 1 });
    assert_eq!(factor(one, &two), mismatch);
    assert!(matches!(factor(&two[1..], &two), Error::PartialRow { .. }));
    let all = SecretFactor::splat(&device, shape, &two, &two).unwrap_err();
    assert_eq!(all, mismatch);
    let factor = SecretFactor::splat(&device, shape, one, three).unwrap();
    let rows = DynBatch::splat(&device, shape, 2u64, 3).unwrap();
    let other = rows.mul_add_secret(&factor, &secret).unwrap_err();
    assert_eq!(other, Error::LengthMismatch { left: 3, right: 2 });
    let other = wide.mul_add_secret(&factor, &secret).unwrap_err();
    assert!(matches!(other, Error::ShapeMismatch { .. }), "{other}");
    assert!(!format!("{factor:?}").contains('['));
    assert!(!format!("{secret:?} {exponent:?} {modulus:?}").contains('['));
}
