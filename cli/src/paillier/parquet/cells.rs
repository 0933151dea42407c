//! Columns of Parquet tables: texts, and encrypted numbers.
//!
//! An encrypted number is a struct of `ciphertext`, an integer in bytes, most significant first,
//! and `exponent`, as Python's `gpuint.paillier.write_parquet` writes it.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, Int32Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use gpuint_paillier::{EncryptedNumbers, PublicKey};
use num_bigint::BigUint;

const CIPHERTEXT: &str = "ciphertext";
const EXPONENT: &str = "exponent";

/// A function from rows to their texts.
type Texts<'a> = Box<dyn Fn(usize) -> String + 'a>;

/// Returns the texts of integers, floats, decimals or strings; `None` for other types. Rows must
/// not be null.
pub(super) fn texts(array: &dyn Array) -> Option<Texts<'_>> {
    Some(match array.data_type() {
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => integers::<UInt64Type>(array),
        // Every `f32` is an `f64`, whose shortest text is exact.
        DataType::Float32 => {
            let array = array.as_primitive::<Float32Type>();
            Box::new(|row| format!("{:?}", f64::from(array.value(row))))
        }
        DataType::Float64 => {
            let array = array.as_primitive::<Float64Type>();
            Box::new(|row| format!("{:?}", array.value(row)))
        }
        DataType::Decimal32(..) => decimals::<Decimal32Type>(array),
        DataType::Decimal64(..) => decimals::<Decimal64Type>(array),
        DataType::Decimal128(..) => decimals::<Decimal128Type>(array),
        DataType::Decimal256(..) => decimals::<Decimal256Type>(array),
        DataType::Utf8 => {
            let array = array.as_string::<i32>();
            Box::new(|row| array.value(row).to_owned())
        }
        DataType::LargeUtf8 => {
            let array = array.as_string::<i64>();
            Box::new(|row| array.value(row).to_owned())
        }
        DataType::Utf8View => {
            let array = array.as_string_view();
            Box::new(|row| array.value(row).to_owned())
        }
        DataType::Dictionary(..) => {
            let array = array.as_any_dictionary();
            let values = texts(array.values())?;
            // Without values, all rows are null.
            let is_empty = array.values().is_empty();
            let keys = if is_empty { Vec::new() } else { array.normalized_keys() };
            Box::new(move |row| values(keys[row]))
        }
        _ => return None,
    })
}

fn integers<T: ArrowPrimitiveType<Native: ToString>>(array: &dyn Array) -> Texts<'_> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    Box::new(|row| array.value(row).to_string())
}

fn decimals<T: DecimalType>(array: &dyn Array) -> Texts<'_> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    Box::new(|row| array.value_as_string(row))
}

/// Returns true for the type of encrypted numbers.
pub(super) fn is_encrypted(found: &DataType) -> bool {
    let DataType::Struct(fields) = found else { return false };
    let is_bytes = |field: &Field| {
        use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary};
        matches!(field.data_type(), Binary | BinaryView | FixedSizeBinary(_) | LargeBinary)
    };
    fields.len() == 2
        && fields.find(CIPHERTEXT).is_some_and(|(_, field)| is_bytes(field))
        && fields.find(EXPONENT).is_some_and(|(_, field)| *field.data_type() == DataType::Int32)
}

/// Returns the parts of encrypted numbers; `None` for other types.
pub(super) fn encrypted(array: &dyn Array) -> Option<(Vec<BigUint>, Vec<i32>)> {
    let parts = array.as_struct_opt()?;
    let exponents = parts.column_by_name(EXPONENT)?.as_primitive_opt::<Int32Type>()?;
    let bytes = parts.column_by_name(CIPHERTEXT)?;
    let rows = 0..array.len();
    let ciphertexts: Vec<BigUint> = if let Some(bytes) = bytes.as_fixed_size_binary_opt() {
        rows.map(|row| BigUint::from_bytes_be(bytes.value(row))).collect()
    } else if let Some(bytes) = bytes.as_binary_opt::<i32>() {
        rows.map(|row| BigUint::from_bytes_be(bytes.value(row))).collect()
    } else if let Some(bytes) = bytes.as_binary_opt::<i64>() {
        rows.map(|row| BigUint::from_bytes_be(bytes.value(row))).collect()
    } else {
        let bytes = bytes.as_binary_view_opt()?;
        rows.map(|row| BigUint::from_bytes_be(bytes.value(row))).collect()
    };
    Some((ciphertexts, exponents.values().to_vec()))
}

/// Returns the lowest row that is null, or in which a part is.
pub(super) fn null(array: &dyn Array) -> Option<usize> {
    let parts = array.as_struct_opt().map_or(&[][..], StructArray::columns);
    let nulls = parts.iter().map(Array::logical_nulls).chain([array.logical_nulls()]);
    let rows = nulls.flatten().filter_map(|nulls| (0..nulls.len()).find(|&row| nulls.is_null(row)));
    rows.min()
}

/// Bytes of a ciphertext of a key.
pub(super) fn ciphertext_bytes(key: &PublicKey) -> usize {
    (2 * key.modulus().bits()).div_ceil(8) as usize
}

/// Returns the type of numbers that a key encrypts.
pub(super) fn encrypted_type(key: &PublicKey) -> DataType {
    DataType::Struct(encrypted_fields(ciphertext_bytes(key)))
}

fn encrypted_fields(bytes: usize) -> Fields {
    let bytes = DataType::FixedSizeBinary(bytes as i32);
    let fields = [(CIPHERTEXT, bytes), (EXPONENT, DataType::Int32)];
    fields.into_iter().map(|(name, of)| Field::new(name, of, true)).collect()
}

/// Encodes results as records, from which [`array`] makes a column.
pub(super) fn records(
    numbers: &EncryptedNumbers,
    bytes: usize,
) -> gpuint_paillier::Result<Vec<u8>> {
    let ciphertexts = numbers.ciphertexts().to_biguints()?;
    let mut records = Vec::with_capacity(ciphertexts.len() * (bytes + 4));
    for (ciphertext, exponent) in ciphertexts.iter().zip(numbers.exponents()) {
        records.extend(exponent.to_le_bytes());
        let digits = ciphertext.to_bytes_be();
        records.resize(records.len() + bytes - digits.len(), 0);
        records.extend(digits);
    }
    Ok(records)
}

/// Makes a column of encrypted numbers from records.
pub(super) fn array(records: &[u8], bytes: usize) -> Result<ArrayRef, ArrowError> {
    let mut ciphertexts = FixedSizeBinaryBuilder::new(bytes as i32);
    let mut exponents = Int32Builder::new();
    for record in records.chunks_exact(bytes + 4) {
        let (exponent, ciphertext) = record.split_at(4);
        exponents
            .append_value(exponent.iter().rev().fold(0, |bits, &byte| bits << 8 | i32::from(byte)));
        ciphertexts.append_value(ciphertext)?;
    }
    let parts: Vec<ArrayRef> = vec![Arc::new(ciphertexts.finish()), Arc::new(exponents.finish())];
    Ok(Arc::new(StructArray::try_new(encrypted_fields(bytes), parts, None)?))
}

/// Makes a column of texts.
pub(super) fn text_array(texts: impl IntoIterator<Item = String>) -> ArrayRef {
    let mut column = StringBuilder::new();
    texts.into_iter().for_each(|text| column.append_value(text));
    Arc::new(column.finish())
}
