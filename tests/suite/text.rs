//! Rows as text.

use gpuint::{Batch, Device, Error, GpuUint};

use gpuint_testkit::operands::{SUMS, Sizes, rows};
use gpuint_testkit::oracle;

type U2048 = GpuUint<2048>;

#[test]
fn decimal_and_hex_of_structured_rows_are_read_back() {
    let device = Device::cpu();
    let sizes = Sizes { bits: 2048, word: 64, q: 4 };
    let values: Vec<_> = rows(1, SUMS, sizes, 0..300).into_iter().map(|row| row.a).collect();
    let batch = Batch::<U2048>::from_biguints(&device, &values).unwrap();
    let decimal = batch.to_decimal().unwrap();
    let expected: Vec<_> = values.iter().map(oracle::decimal).collect();
    assert_eq!(decimal, expected);
    let texts: Vec<_> = decimal.iter().map(String::as_str).collect();
    assert!(Batch::from_decimal(&device, &texts).unwrap().is_equal(&batch).unwrap());
    let hex = batch.to_hex().unwrap();
    let prefixed: Vec<_> = hex.iter().map(|text| format!("0x{}", text.to_uppercase())).collect();
    for texts in [&hex, &prefixed] {
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        assert!(Batch::from_hex(&device, &texts).unwrap().is_equal(&batch).unwrap());
    }
}

#[test]
fn invalid_text_is_rejected_with_row_and_column() {
    let device = Device::cpu();
    let decimal = |rows: &[&str]| Batch::<U2048>::from_decimal(&device, rows).map(drop);
    let hex = |rows: &[&str]| Batch::<U2048>::from_hex(&device, rows).map(drop);
    let error = |row, column, base| Err(Error::Parse { row, column, base });
    assert_eq!(decimal(&["1", "12a4"]), error(1, 2, 10));
    assert_eq!(decimal(&["", "x"]), error(0, 0, 10));
    assert_eq!(decimal(&["+1"]), error(0, 0, 10));
    assert_eq!(decimal(&["1_0"]), error(0, 1, 10));
    assert_eq!(decimal(&["1\u{660}"]), error(0, 1, 10));
    assert_eq!(hex(&["0x"]), error(0, 2, 16));
    assert_eq!(hex(&["0xfg"]), error(0, 3, 16));
    assert_eq!(hex(&["f", "-1"]), error(1, 0, 16));
    let wide = format!("1{}", "0".repeat(512));
    assert_eq!(hex(&["0", &wide]), Err(Error::TooWide { row: 1, bits: 2049, width: 2048 }));
    assert_eq!(decimal(&[]), Ok(()));
}
