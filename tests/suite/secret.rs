//! Powers of secret exponents modulo secret moduli.

use gpuint::num_bigint::BigUint;
use gpuint::{
    Algorithm, Device, DynBatch, Error, Op, Result, SecretBatch, SecretExponents, SecretModulus,
    Shape, is_offered, narrowest,
};

use crate::setting::{Check, Context, Rows, Setting, Tally, on_every_backend};
use gpuint_testkit::launch::bytes_of;
use gpuint_testkit::operands::{DIVISIONS, Row, low, ones};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 2_000, least: 5 };
/// Length of the exponents: three digits and a part of a fourth.
const BITS: usize = 11;

struct Secrets;

fn powers(device: &Device, shape: Shape, rows: &[Row]) -> Result<Vec<[SecretBatch; 2]>> {
    let bytes = |values: Vec<&BigUint>| bytes_of(values.into_iter(), shape.bits);
    let bases = DynBatch::from_biguints(device, shape, rows.iter().map(|row| &row.a))?;
    let secret = SecretBatch::from_le_bytes(device, shape, &bases.to_le_bytes()?)?;
    let exponents: Vec<_> = rows.iter().map(|row| low(row.a.clone(), BITS)).collect();
    let of_rows = bytes(exponents.iter().collect());
    let moduli = bytes(rows.iter().map(|row| &row.b).collect());
    let row_bytes = shape.bytes();
    let exponents = [
        SecretExponents::of_rows(device, shape, BITS, &of_rows)?,
        SecretExponents::splat(device, shape, BITS, &of_rows[..row_bytes])?,
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

impl Check for Secrets {
    const NAME: &str = "powers of secrets";
    const WIDEST: bool = false;
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        if !is_offered(Op::PowSecret, Algorithm::Only, shape) {
            for device in setting.devices() {
                let error = SecretModulus::splat(device, shape, &vec![1; shape.bytes()]).err();
                let is_right = matches!(error, Some(Error::KernelMissing { .. }));
                tally.row(is_right, || format!("{shape} without powers of secrets: {error:?}"));
            }
            return;
        }
        for (_, device, mut rows) in setting.parts(shape, DIVISIONS, setting.count(ROWS, shape)) {
            for row in &mut rows {
                row.b.set_bit(0, true);
            }
            let what = Context::new(shape, "powers of secrets", device);
            tally.attempt(&what, rows.len(), |tally| {
                for (index, powers) in powers(device, shape, &rows)?.iter().enumerate() {
                    let of = |row: usize| &rows[if index == 0 { row } else { 0 }];
                    for power in powers {
                        let found = power.reveal()?.to_biguints()?;
                        tally.row(found.len() == rows.len(), || format!("{what}: rows"));
                        for (row, found) in found.iter().enumerate() {
                            let exponent = low(of(row).a.clone(), BITS);
                            let expected = oracle::pow_mod(&rows[row].a, &exponent, &of(row).b);
                            tally.row(*found == expected, || format!("{what}: row {row}"));
                        }
                        let bytes = bytes_of(found.iter(), shape.bits);
                        tally.row(*power.to_le_bytes()? == bytes, || format!("{what}: bytes"));
                    }
                }
                Ok(())
            });
        }
    }
}

on_every_backend! { powers: Secrets, }

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
    assert!(!format!("{secret:?} {exponent:?} {modulus:?}").contains('['));
}
