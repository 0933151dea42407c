//! Rows as text: decimal and hexadecimal.

use std::borrow::Cow;

use gpuint::{BackendKind, DynBatch, Error, Shape, digits};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList, PyString};

use crate::batch::Batch;
use crate::buffer::Bytes;
use crate::device::Device;
use crate::error::detached;

const DECIMAL: u32 = 10;
const HEXADECIMAL: u32 = 16;
/// Bytes of rows whose digits become Python's objects at a time: digits of the CPU stay in its
/// caches.
const PART_BYTES: usize = 1 << 20;
/// The same on a GPU, which takes less time for many rows.
const GPU_PART_BYTES: usize = 1 << 26;

/// A number as text.
#[derive(FromPyObject)]
enum Text {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

/// Numbers as text: one a line of a buffer, or one an item of a list.
#[derive(FromPyObject)]
enum Texts {
    Lines(Bytes),
    Items(Vec<Text>),
}

impl Texts {
    /// The number of each row, without white space around it.
    fn rows(&self) -> Vec<Cow<'_, str>> {
        match self {
            Self::Lines(bytes) => {
                let bytes = bytes.as_slice();
                let ended = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                let mut start = 0;
                let ends = memchr::memchr_iter(b'\n', ended).chain([ended.len()]);
                let lines = ends.map(|end| {
                    let line = &ended[start..end];
                    start = end + 1;
                    line
                });
                // No line, and not an empty one.
                lines.skip(usize::from(bytes.is_empty())).map(number).collect()
            }
            Self::Items(items) => items
                .iter()
                .map(|item| match item {
                    Text::Str(text) => Cow::Borrowed(text.trim_ascii()),
                    Text::Bytes(bytes) => number(bytes),
                })
                .collect(),
        }
    }
}

/// Returns bytes as text. Bytes that are not UTF-8 become characters that are no digits, so that
/// the error of the row names the first of them.
fn number(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.trim_ascii())
}

/// Returns an upper bound of the bits of a number.
fn bits_of(text: &str, base: u32) -> usize {
    match base {
        // log2(10) < 3.33.
        DECIMAL => text.len().saturating_mul(333) / 100 + 1,
        _ => 4 * text.len(),
    }
}

/// Parses numbers in one base, at a width, or in the narrowest rows that hold all of them.
fn parse(
    device: &gpuint::Device,
    bits: Option<usize>,
    base: u32,
    rows: &[&str],
) -> gpuint::Result<DynBatch> {
    let from_text = |shape: Shape| match base {
        DECIMAL => DynBatch::from_decimal(device, shape, rows),
        _ => DynBatch::from_hex(device, shape, rows),
    };
    if let Some(bits) = bits {
        return from_text(device.shape_for(bits)?);
    }
    let most = rows.iter().map(|row| bits_of(row, base)).max().unwrap_or(0);
    // A number of that many digits may be too wide, or not.
    let widest = gpuint::widths().last().map_or(0, |shape| shape.bits);
    let batch = match from_text(device.shape_for(most.min(widest))?) {
        Err(Error::TooWide { .. }) if most > widest => from_text(device.shape_for(most)?)?,
        other => other?,
    };
    let longest = batch.bit_lengths()?.into_iter().max().unwrap_or(0);
    batch.resized(device.shape_for(longest as usize)?)
}

/// Parses numbers of which those with the prefix `0x` are hexadecimal, and the others decimal.
fn parse_by_prefix(
    device: &gpuint::Device,
    bits: Option<usize>,
    rows: &[&str],
) -> gpuint::Result<DynBatch> {
    let is_hex: Vec<bool> =
        rows.iter().map(|row| row.starts_with("0x") || row.starts_with("0X")).collect();
    let count = is_hex.iter().filter(|&&is_hex| is_hex).count();
    if count == 0 {
        return parse(device, bits, DECIMAL, rows);
    }
    if count == rows.len() {
        return parse(device, bits, HEXADECIMAL, rows);
    }
    // Zeros stand for the numbers in the other base: rows keep their numbers in errors.
    let of_base = |hex: bool| -> Vec<&str> {
        rows.iter().zip(&is_hex).map(|(row, &is)| if is == hex { row } else { "0" }).collect()
    };
    let decimal = parse(device, bits, DECIMAL, &of_base(false));
    let hex = parse(device, bits, HEXADECIMAL, &of_base(true));
    let row = |error: &Error| match error {
        Error::Parse { row, .. } | Error::TooWide { row, .. } => *row,
        _ => 0,
    };
    match (decimal, hex) {
        (Ok(decimal), Ok(hex)) => {
            let shape = [decimal.shape(), hex.shape()].into_iter().max_by_key(|shape| shape.bits);
            let shape = shape.unwrap_or(hex.shape());
            let mask = gpuint::Mask::from_bools(device, &is_hex)?;
            hex.resized(shape)?.select(&mask, &decimal.resized(shape)?)
        }
        (Err(decimal), Err(hex)) => Err(if row(&decimal) < row(&hex) { decimal } else { hex }),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

/// The digits of all rows of a batch in a base.
enum Digits {
    Decimal(gpuint::Texts),
    /// The bytes of the rows, and the bytes of one of them: digits are written one row at a time,
    /// in less time than Python's object of them.
    Hexadecimal(Vec<u8>, usize),
}

impl Digits {
    fn of(batch: &DynBatch, base: u32) -> gpuint::Result<Self> {
        if base == DECIMAL {
            let mut texts = gpuint::Texts::new();
            batch.to_decimal_into(&mut texts)?;
            return Ok(Self::Decimal(texts));
        }
        Ok(Self::Hexadecimal(batch.to_le_bytes()?, batch.shape().bytes()))
    }

    /// Prefix of a line.
    fn prefix(&self) -> &'static [u8] {
        match self {
            Self::Decimal(_) => b"",
            Self::Hexadecimal(..) => b"0x",
        }
    }

    /// Number of digits of all rows.
    fn len(&self) -> usize {
        match self {
            Self::Decimal(texts) => texts.iter().map(str::len).sum(),
            Self::Hexadecimal(bytes, size) => bytes.chunks_exact(*size).map(hex_digits).sum(),
        }
    }

    /// Calls `take` with the digits of each row.
    fn each(&self, mut take: impl FnMut(&[u8]) -> PyResult<()>) -> PyResult<()> {
        match self {
            Self::Decimal(texts) => texts.iter().try_for_each(|text| take(text.as_bytes())),
            Self::Hexadecimal(bytes, size) => {
                let mut text = Vec::new();
                bytes.chunks_exact(*size).try_for_each(|row| {
                    text.clear();
                    digits::push_hex(&mut text, row);
                    take(&text)
                })
            }
        }
    }
}

/// Returns the number of hexadecimal digits of a row.
fn hex_digits(row: &[u8]) -> usize {
    let top = row.iter().rposition(|&byte| byte != 0);
    top.map_or(1, |top| 2 * top + if row[top] < 16 { 1 } else { 2 })
}

#[pymethods]
impl Batch {
    /// Parses numbers in a base, 10 or 16, or in the base that their prefix tells. They get the
    /// narrowest width that holds `bits` bits, or all of them.
    #[staticmethod]
    fn from_text(
        py: Python<'_>,
        device: &Device,
        rows: Texts,
        base: Option<u32>,
        bits: Option<usize>,
    ) -> PyResult<Self> {
        let device = &device.device;
        detached(py, || {
            let rows = rows.rows();
            let rows: Vec<&str> = rows.iter().map(AsRef::as_ref).collect();
            match base {
                Some(base) => parse(device, bits, base, &rows),
                None => parse_by_prefix(device, bits, &rows),
            }
        })
        .map(Self)
    }

    /// Returns the numbers in a base, 10 or 16.
    fn to_text<'py>(&self, py: Python<'py>, base: u32) -> PyResult<Bound<'py, PyList>> {
        let batch = &self.0;
        let is_cpu = batch.device().backend() == BackendKind::Cpu;
        let bytes = if is_cpu { PART_BYTES } else { GPU_PART_BYTES };
        let (rows, part) = (batch.len(), (bytes / batch.shape().bytes()).max(1));
        let list = PyList::empty(py);
        for first in (0..rows).step_by(part) {
            let digits = detached(py, || match rows <= part {
                true => Digits::of(batch, base),
                false => Digits::of(&batch.slice(first..rows.min(first + part))?, base),
            })?;
            digits.each(|text| list.append(PyString::from_bytes(py, text)?))?;
        }
        Ok(list)
    }

    /// Returns the numbers in a base, 10 or 16, one a line, hexadecimal ones with the prefix `0x`.
    fn to_lines<'py>(&self, py: Python<'py>, base: u32) -> PyResult<Bound<'py, PyBytes>> {
        let digits = detached(py, || Digits::of(&self.0, base))?;
        let prefix = digits.prefix();
        let len = digits.len() + self.0.len() * (prefix.len() + 1);
        PyBytes::new_with(py, len, |bytes| {
            let mut rest = bytes;
            digits.each(|text| {
                for part in [prefix, text, b"\n"] {
                    let (place, after) = std::mem::take(&mut rest).split_at_mut(part.len());
                    place.copy_from_slice(part);
                    rest = after;
                }
                Ok(())
            })
        })
    }
}
