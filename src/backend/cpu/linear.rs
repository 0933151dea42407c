//! Operations in time that grows with the width: sums, shifts, comparisons, bits, selections.

use super::division::divide_by_limb;
use super::limbs::{
    LIMB_BITS, add, assign, bit, bit_length, compare, shift_left, shift_right, sub, trailing_zeros,
};
use super::rows::{Failed, Outcome, Row, Rows};
use crate::backend::SKIPPED_ROW;
use crate::error::Result;

pub(super) fn sum(rows: Rows<'_>) -> Result<Failed> {
    let bits = rows.bits;
    let has_whole_limbs = bits.is_multiple_of(LIMB_BITS);
    rows.each(0, |Row { ins: [a, b, _], outs: [sum, _], .. }, _| {
        let carry = add(sum, a, b);
        // Where the width is no whole number of limbs, the carry is the bit above.
        (if has_whole_limbs { carry } else { bit(sum, bits) }).into()
    })
}

pub(super) fn difference(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, b, _], outs: [difference, _], .. }, _| {
        sub(difference, a, b).into()
    })
}

pub(super) fn digit_quotient(rows: Rows<'_>) -> Result<Failed> {
    let digit = rows.params.digit;
    rows.each(0, |Row { ins: [u, ..], outs: [q, r], .. }, _| {
        r[0] = divide_by_limb(q, u, digit);
        Outcome::default()
    })
}

pub(super) fn left(rows: Rows<'_>) -> Result<Failed> {
    let distance = rows.params.distance as usize;
    rows.each(0, |Row { ins: [a, ..], outs: [out, _], .. }, _| {
        shift_left(out, a, distance);
        Outcome::default()
    })
}

pub(super) fn right(rows: Rows<'_>) -> Result<Failed> {
    let distance = rows.params.distance as usize;
    rows.each(0, |Row { ins: [a, ..], outs: [out, _], .. }, _| {
        shift_right(out, a, distance);
        Outcome::default()
    })
}

pub(super) fn left_by_rows(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, distance, _], outs: [out, _], .. }, _| {
        shift_left(out, a, distance[0] as usize);
        Outcome::default()
    })
}

pub(super) fn right_by_rows(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, distance, _], outs: [out, _], .. }, _| {
        shift_right(out, a, distance[0] as usize);
        Outcome::default()
    })
}

pub(super) fn order(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, b, _], outs: [out, _], .. }, _| {
        out[0] = compare(a, b) as i64 as u64;
        Outcome::default()
    })
}

pub(super) fn equal(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, b, _], .. }, _| (a == b).into())
}

pub(super) fn less(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, b, _], .. }, _| compare(a, b).is_lt().into())
}

pub(super) fn zero(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, ..], .. }, _| a.iter().all(|&limb| limb == 0).into())
}

pub(super) fn lengths(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, ..], outs: [out, _], .. }, _| {
        out[0] = bit_length(a) as u64;
        Outcome::default()
    })
}

pub(super) fn ones(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, ..], outs: [out, _], .. }, _| {
        out[0] = a.iter().map(|limb| u64::from(limb.count_ones())).sum();
        Outcome::default()
    })
}

pub(super) fn zeros_below(rows: Rows<'_>) -> Result<Failed> {
    let bits = rows.bits;
    rows.each(0, |Row { ins: [a, ..], outs: [out, _], .. }, _| {
        out[0] = trailing_zeros(a).unwrap_or(bits) as u64;
        Outcome::default()
    })
}

pub(super) fn bits(rows: Rows<'_>) -> Result<Failed> {
    let index = rows.params.distance as usize;
    rows.each(0, |Row { ins: [a, ..], .. }, _| bit(a, index).into())
}

pub(super) fn bitwise(rows: Rows<'_>) -> Result<Failed> {
    let table = rows.params.table;
    let [none, b_only, a_only, both] =
        [0, 1, 2, 3].map(|bit| u64::from(table >> bit & 1).wrapping_neg());
    rows.each(0, |Row { ins: [a, b, _], outs: [out, _], .. }, _| {
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = (a & b & both) | (a & !b & a_only) | (!a & b & b_only) | (!a & !b & none);
        }
        Outcome::default()
    })
}

pub(super) fn gather(rows: Rows<'_>) -> Result<Failed> {
    let row_bytes = rows.bits / 8;
    rows.each(0, |Row { ins: [_, index, _], outs: [out, _], all: [all, ..], .. }, _| {
        if index[0] != SKIPPED_ROW {
            let source = &all[index[0] as usize * row_bytes..][..row_bytes];
            bytemuck::cast_slice_mut(out)[..row_bytes].copy_from_slice(source);
        }
        Outcome::default()
    })
}

pub(super) fn lookup(rows: Rows<'_>) -> Result<Failed> {
    let row_bytes = rows.bits / 8;
    let distance = rows.params.distance as usize;
    rows.each(0, |Row { ins: [_, number, _], outs: [out, _], all: [table, ..], .. }, _| {
        let byte = number[distance / LIMB_BITS] >> (distance % LIMB_BITS) & 0xff;
        let row = 256 * (distance / 8) + byte as usize;
        let source = &table[row * row_bytes..][..row_bytes];
        bytemuck::cast_slice_mut(out)[..row_bytes].copy_from_slice(source);
        Outcome::default()
    })
}

pub(super) fn select(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, b, _], outs: [out, _], all: [_, _, mask], index }, _| {
        let is_set = mask[index / 8] >> (index % 8) & 1 == 1;
        out.copy_from_slice(if is_set { a } else { b });
        Outcome::default()
    })
}

pub(super) fn resize(rows: Rows<'_>) -> Result<Failed> {
    let target_bits = rows.params.target_bits as usize;
    rows.each(0, |Row { ins: [a, ..], outs: [out, _], .. }, _| {
        assign(out, a);
        Outcome { flag: false, failed: bit_length(a) > target_bits }
    })
}
