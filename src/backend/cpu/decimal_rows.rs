//! Decimal digits of narrow rows: the functions of `kernels/rows/decimal.cuh`.

use super::decimal::{Writer, bits_of_digits, digits_of_bits, read_short};
use super::limbs::{LIMB_BITS, assign, bit_length};
use super::rows::{Failed, Outcome, Row, Rows};
use crate::error::Result;

/// Digits of a limb of text.
const LIMB_DIGITS: usize = size_of::<u64>();

pub(super) fn to_decimal(rows: Rows<'_>) -> Result<Failed> {
    let all = digits_of_bits(rows.bits).next_multiple_of(LIMB_DIGITS);
    let writer = Writer::new(rows.bits)?;
    let mut written = Ok(());
    let failed =
        rows.each(all / LIMB_DIGITS, |Row { ins: [a, ..], outs: [out, _], .. }, text| {
            let number = writer.write(bytemuck::cast_slice(a), bytemuck::cast_slice_mut(text));
            written = std::mem::replace(&mut written, Ok(())).and(number);
            let kept = out.len().min(text.len());
            let (zeros, digits) = out.split_at_mut(out.len() - kept);
            zeros.fill(u64::from_ne_bytes([b'0'; LIMB_DIGITS]));
            digits.copy_from_slice(&text[text.len() - kept..]);
            Outcome::default()
        })?;
    written.map(|()| failed)
}

pub(super) fn from_decimal(rows: Rows<'_>) -> Result<Failed> {
    let (bits, digits) = (rows.bits, rows.params.source_bits as usize / 8);
    let limbs = bits_of_digits(digits).div_ceil(LIMB_BITS);
    rows.each(limbs, |Row { ins: [text, ..], outs: [out, _], .. }, number| {
        read_short(bytemuck::cast_slice(text), bytemuck::cast_slice_mut(number));
        assign(out, number);
        Outcome { flag: false, failed: bit_length(number) > bits }
    })
}
