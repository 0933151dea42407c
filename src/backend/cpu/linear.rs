//! Operations in time that grows with the width: sums, shifts, comparisons, bits, selections.

use super::division::divide_by_limb;
use super::limbs::{
    self, LIMB_BITS, add_assign, add_limb, assign, bit, bit_length, compare, decrement, shift_left,
    shift_right, sub_assign,
};
use super::rows::{Failed, Outcome, Row, Rows};
use crate::error::Result;

pub(super) fn add(rows: Rows<'_>) -> Result<Failed> {
    let bits = rows.bits;
    let has_whole_limbs = bits.is_multiple_of(LIMB_BITS);
    rows.each(0, |Row { ins: [a, b, _], outs: [sum, _], .. }, _| {
        let carry = limbs::add(sum, a, b);
        // If the width is no whole number of limbs, the carry is the bit above.
        (if has_whole_limbs { carry } else { bit(sum, bits) }).into()
    })
}

pub(super) fn sub(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, b, _], outs: [difference, _], .. }, _| {
        limbs::sub(difference, a, b).into()
    })
}

pub(super) fn div_rem_digit(rows: Rows<'_>) -> Result<Failed> {
    let digit = rows.params.digit;
    rows.each(0, |Row { ins: [u, ..], outs: [q, r], .. }, _| {
        r[0] = divide_by_limb(q, u, digit);
        Outcome::default()
    })
}

pub(super) fn shl(rows: Rows<'_>) -> Result<Failed> {
    let distance = rows.params.distance as usize;
    rows.each(0, |Row { ins: [a, ..], outs: [out, _], .. }, _| {
        shift_left(out, a, distance);
        Outcome::default()
    })
}

pub(super) fn shr(rows: Rows<'_>) -> Result<Failed> {
    let distance = rows.params.distance as usize;
    rows.each(0, |Row { ins: [a, ..], outs: [out, _], .. }, _| {
        shift_right(out, a, distance);
        Outcome::default()
    })
}

pub(super) fn shl_rows(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, distance, _], outs: [out, _], .. }, _| {
        shift_left(out, a, distance[0] as usize);
        Outcome::default()
    })
}

pub(super) fn shr_rows(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, distance, _], outs: [out, _], .. }, _| {
        shift_right(out, a, distance[0] as usize);
        Outcome::default()
    })
}

pub(super) fn cmp(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, b, _], outs: [out, _], .. }, _| {
        out[0] = compare(a, b) as i64 as u64;
        Outcome::default()
    })
}

pub(super) fn eq_mask(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, b, _], .. }, _| (a == b).into())
}

pub(super) fn lt_mask(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, b, _], .. }, _| compare(a, b).is_lt().into())
}

pub(super) fn is_zero_mask(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, ..], .. }, _| a.iter().all(|&limb| limb == 0).into())
}

pub(super) fn bit_lengths(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, ..], outs: [out, _], .. }, _| {
        out[0] = bit_length(a) as u64;
        Outcome::default()
    })
}

pub(super) fn count_ones(rows: Rows<'_>) -> Result<Failed> {
    rows.each(0, |Row { ins: [a, ..], outs: [out, _], .. }, _| {
        out[0] = a.iter().map(|limb| u64::from(limb.count_ones())).sum();
        Outcome::default()
    })
}

pub(super) fn trailing_zeros(rows: Rows<'_>) -> Result<Failed> {
    let bits = rows.bits;
    rows.each(0, |Row { ins: [a, ..], outs: [out, _], .. }, _| {
        out[0] = limbs::trailing_zeros(a).unwrap_or(bits) as u64;
        Outcome::default()
    })
}

pub(super) fn bit_mask(rows: Rows<'_>) -> Result<Failed> {
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
    rows.gather();
    Ok(None)
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

/// Limb of a number from a bit position on; bits outside of it are zero.
pub(super) fn limb_at(a: &[u64], position: i64) -> u64 {
    let limb = |index: i64| usize::try_from(index).ok().and_then(|index| a.get(index)).copied();
    let (index, bits) = (position >> 6, position & 63);
    let low = limb(index).unwrap_or(0) >> bits;
    match bits {
        0 => low,
        _ => low | limb(index + 1).unwrap_or(0) << (64 - bits),
    }
}

/// The levels of square roots, by the equations of `root/level.cuh`.
pub(super) fn root_dividend(rows: Rows<'_>) -> Result<Failed> {
    let (bits, distance) = (rows.params.part_bits as usize - 1, rows.params.distance as usize);
    rows.each(0, |Row { ins: [r, a, length], outs: [out, _], .. }, _| {
        let from = length[0] as i64 - (distance + bits) as i64;
        shift_left(out, r, bits);
        for (index, limb) in out.iter_mut().enumerate().take(bits.div_ceil(LIMB_BITS)) {
            let left = (bits - LIMB_BITS * index).min(LIMB_BITS);
            let part = limb_at(a, from + (LIMB_BITS * index) as i64);
            *limb |= part & u64::MAX >> (LIMB_BITS - left);
        }
        Outcome::default()
    })
}

pub(super) fn root_remainder(rows: Rows<'_>) -> Result<Failed> {
    let half = rows.params.part_bits as usize / LIMB_BITS;
    let n = 2 * half;
    rows.each(2 * n, |Row { ins: [u, square, a], outs: [next, length], .. }, scratch| {
        length[0] = length[0] / 2 * 2;
        let from = length[0] as i64 - (2 * n * LIMB_BITS) as i64;
        let part = |limbs: usize| limb_at(a, from + 1 + (limbs * LIMB_BITS) as i64);
        let (x, subtrahend) = scratch.split_at_mut(n);
        for (index, limb) in x[..half].iter_mut().enumerate() {
            *limb = part(index);
        }
        x[half..].copy_from_slice(&u[..half]);
        shift_right(subtrahend, &square[..n], 1);
        let (is_odd, is_square_odd) = (limb_at(a, from) & 1, square[0] & 1);
        // Half a square is less than its width: there is no carry.
        add_limb(subtrahend, is_square_odd & !is_odd);
        let is_negative = sub_assign(x, subtrahend);
        length[0] |= u64::from(is_negative);
        if next.is_empty() {
            return Outcome::default();
        }
        let below = from - (n * LIMB_BITS) as i64 + 1;
        for (index, limb) in next[..n].iter_mut().enumerate() {
            *limb = limb_at(a, below + (index * LIMB_BITS) as i64);
        }
        next[n - 1] = next[n - 1] << 1 >> 1 | (is_odd ^ is_square_odd) << 63;
        assign(&mut next[n..], x);
        Outcome::default()
    })
}

pub(super) fn root_correct(rows: Rows<'_>) -> Result<Failed> {
    let half = rows.params.part_bits as usize / LIMB_BITS;
    let (n, distance) = (2 * half, rows.params.distance as usize);
    rows.each(2 * n + 1, |Row { ins: [q, above, length], outs: [out, next], .. }, scratch| {
        let (s, rest) = scratch.split_at_mut(n);
        let is_full = q[half] & 1 != 0;
        let is_corrected = is_full || length[0] % 2 != 0;
        s[..half].copy_from_slice(&q[..half]);
        s[half..].copy_from_slice(&above[..half]);
        if is_full {
            s[..half].fill(u64::MAX);
        } else if is_corrected {
            decrement(s);
        }
        // Rows that are not wanted may be shorter.
        let is_wanted = next.len() >= 2 * n;
        if is_corrected && is_wanted {
            let is_odd = next[n - 1] >> 63;
            add_limb(&mut next[n..2 * n], is_odd);
            add_assign(&mut next[n..2 * n], s);
            next[n - 1] ^= 1 << 63;
            next[2 * n - 1] ^= u64::from(is_full) << 63;
        }
        let shift = distance.saturating_sub(length[0] as usize / 2 * 2) / 2;
        shift_right(out, s, shift);
        // The zeros below a row that has a remainder are few.
        if distance != 0 && shift < 32 && is_wanted {
            restore(rest, s, shift, &next[n - 1..2 * n]);
            shift_right(next, rest, 2 * shift);
        }
        Outcome::default()
    })
}

/// Sets `rest` to `r + t (2s - t)`, where `t` is `s` modulo `2^shift`. `half` is half of `r`, above
/// a limb whose top bit is the lowest one of `r`.
fn restore(rest: &mut [u64], s: &[u64], shift: usize, half: &[u64]) {
    let t = s[0] & ((1 << shift) - 1);
    let (mut below, mut carry) = (0, 0u128);
    for (index, out) in rest.iter_mut().enumerate() {
        let limb = s.get(index).copied().unwrap_or(0);
        let mut factor = limb << 1 | below >> 63;
        below = limb;
        if index == 0 {
            factor = factor >> (shift + 1) << (shift + 1) | t;
        }
        let above = half.get(index + 1).map_or(0, |limb| limb << 1);
        carry += u128::from(t) * u128::from(factor) + u128::from(above | half[index] >> 63);
        *out = carry as u64;
        carry >>= 64;
    }
}
