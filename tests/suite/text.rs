//! Rows as text.

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Batch, Device, DynBatch, Error, GpuUint, Result, Shape, Texts};
use num_traits::Zero;

use crate::setting::{Check, Context, Setting, Tally, is_thorough, on_every_backend};
use gpuint_testkit::operands::{Row, SUMS, Sizes, ones, power, row, rows};
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

/// Bits of a batch that is converted on the device.
const BATCH: usize = 1 << 20;

/// Neighbours of powers of ten, at which the parts of a number end, and numbers of full length.
fn boundaries(bits: usize) -> Vec<BigUint> {
    let digits = (bits as f64 * 2f64.log10()) as u32;
    let mut values = vec![BigUint::zero(), 7u32.into(), ones(bits), power(bits - 1)];
    for digits in [19, 20, digits / 8, digits / 4 + 10, digits / 2, digits / 2 + 10, digits] {
        let power = BigUint::from(10u32).pow(digits);
        values.extend([&power - 1u32, power]);
    }
    values
}

struct Decimal;

impl Check for Decimal {
    const NAME: &str = "decimal";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        // The CPU converts rows of all widths by the same functions.
        let is_slow = match setting.backend {
            BackendKind::Cpu => shape.bits > 262_144 && !is_thorough(),
            BackendKind::Simt => shape.bits > 32768,
            _ => false,
        };
        if shape.bits < 256 || is_slow {
            return;
        }
        // The neighbours take rows in turn, so that few wide rows do not have them all.
        let least = (BATCH / shape.bits).max(3);
        let drawn = setting.parts(shape, SUMS, least + least / 4);
        let drawn: Vec<_> = drawn.flat_map(|(_, _, rows)| rows).collect();
        let special = boundaries(shape.bits).into_iter().enumerate();
        let special = special.map(|(index, value)| row("boundaries", index, value, 0u32.into()));
        let rows: Vec<_> = special.chain(drawn).collect();
        for (device, rows) in setting.devices().iter().cycle().zip(rows.chunks(least)) {
            let what = Context::new(shape, "decimal", device);
            tally.attempt(&what, rows.len(), |tally| decimal(shape, device, rows, tally));
        }
    }
}

fn decimal(shape: Shape, device: &Device, rows: &[Row], tally: &mut Tally) -> Result<()> {
    let what = |name| Context::new(shape, name, device);
    let values: Vec<_> = rows.iter().map(|row| row.a.clone()).collect();
    let batch = DynBatch::from_biguints(device, shape, &values)?;
    let expected: Vec<_> = values.iter().map(oracle::decimal).collect();
    let got = batch.to_decimal()?;
    tally.row(got.len() == rows.len(), || what("to_decimal").to_string());
    for ((row, got), expected) in rows.iter().zip(&got).zip(&expected) {
        tally.row(got == expected, || {
            format!("{}\n  result   {got}\n  expected {expected}", what("to_decimal").row(row))
        });
    }
    // Memory of more and longer texts is reused.
    let mut texts = Texts::new();
    for _ in 0..2 {
        batch.to_decimal_into(&mut texts)?;
        tally.row(texts.iter().eq(&got), || what("to_decimal_into").to_string());
        batch.slice(1..rows.len())?.shr(shape.bits / 2)?.to_decimal_into(&mut texts)?;
        let halves = values[1..].iter().map(|value| oracle::decimal(&(value >> (shape.bits / 2))));
        tally.row(halves.eq(texts.iter()), || what("to_decimal_into, halves").to_string());
    }
    tally.row(texts.get(rows.len() - 1).is_none(), || what("to_decimal_into").to_string());
    // With leading zeros, which no width limits.
    let zeros = "0".repeat(shape.bits);
    let texts = expected.iter().enumerate().map(|(index, text)| match index % 5 {
        0 => format!("{zeros}{text}"),
        _ => text.clone(),
    });
    let mut texts: Vec<String> = texts.collect();
    let parsed = |texts: &[String]| {
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        DynBatch::from_decimal(device, shape, &texts)
    };
    tally.values(&what("from_decimal"), rows, &parsed(&texts)?.to_biguints()?, &values);
    let width = shape.bits;
    // The host reports errors, and takes seconds to parse wide rows.
    if width > 65536 {
        return Ok(());
    }
    for (value, bits) in [(power(width), width + 1), (power(width + 9), width + 10)] {
        let row = rows.len() / 2;
        texts[row] = oracle::decimal(&value);
        let error = Some(Error::TooWide { row, bits: bits as u64, width });
        let found = parsed(&texts).err();
        tally.row(found == error, || format!("{}: {found:?}", what("from_decimal")));
    }
    texts[rows.len() - 1].push('x');
    let column = texts[rows.len() - 1].len() - 1;
    let error = Some(Error::Parse { row: rows.len() - 1, column, base: 10 });
    tally.row(parsed(&texts).err() == error, || what("from_decimal").to_string());
    Ok(())
}

on_every_backend! { decimals: Decimal, }

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
