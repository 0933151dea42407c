//! Square roots, and the kernels of their levels by the equations of the header `root/level.cuh`,
//! on any operands: numbers of twice the bits of a level, which has twice those of the rows of the
//! kernel.

use gpuint::Op;
use gpuint::num_bigint::BigUint;

use super::draws::Draws;
use super::row::{Expected, Row};
use crate::launch::{Operands, bytes_of};
use crate::operands::{ROOTS, SUMS, low, power};

/// Bits of a row's number from `from` on, with zeros below the number.
fn part(number: &BigUint, from: i64, bits: usize) -> BigUint {
    let distance = from.unsigned_abs() as usize;
    low(if from < 0 { number << distance } else { number >> distance }, bits)
}

pub(super) fn dividend(x: &Row<'_>) -> BigUint {
    let (bits, k) = (x.bits(), x.bits() / 2);
    let number = x.input(1, x.operands.params.source_bits as usize / 8);
    let length = i64::from(x.length(&x.operands.inputs[2]));
    let whole = (x.a() << k) + part(&number, length - (bits + k) as i64, k);
    low(whole >> 1, bits)
}

pub(super) fn remainder(x: &Row<'_>) -> Expected {
    let (bits, k) = (x.bits(), x.bits() / 2);
    let number = x.input(2, x.operands.params.source_bits as usize / 8);
    let length = x.length(&x.operands.updated[1]) & !1;
    let from = i64::from(length) - 4 * k as i64;
    let rest = part(&number, from, k + 1) + (low(x.a(), k) << (k + 1));
    let square = x.b();
    let is_negative = rest < square;
    let difference = low(rest + power(4 * k) - square, 2 * k + 1);
    let half = ((difference << bits) + part(&number, from - bits as i64, bits)) >> 1;
    Expected::values(low(half, 2 * bits), (length + u32::from(is_negative)).into())
}

pub(super) fn corrected(x: &Row<'_>) -> Expected {
    let (bits, k) = (x.bits(), x.bits() / 2);
    let (quotient, next) = (x.a(), x.updated(1, 2 * bits));
    let length = x.length(&x.operands.inputs[2]);
    let is_full = quotient == power(k);
    let is_corrected = is_full || !length.is_multiple_of(2);
    let mut s = low((low(x.b(), k) << k) + quotient, bits);
    let mut rest = low(&next >> (bits - 1), bits + 1);
    if is_corrected {
        s = low(s + power(bits) - 1u32, bits);
        rest = low(rest + (&s << 1) + 1u32, bits + 1);
    }
    if is_full {
        rest = low(rest + power(bits), bits + 1);
    }
    let is_last = x.operands.params.distance != 0;
    if !is_last {
        let next = (rest << (bits - 1)) + low(next, bits - 1);
        return Expected::values(s, next);
    }
    let zeros = bits - length as usize / 2;
    let t = low(s.clone(), zeros);
    let remainder = (rest + &t * ((&s << 1) - &t)) >> (2 * zeros);
    Expected::values(s >> zeros, low(remainder, 2 * bits))
}

pub(super) fn operands(draws: &mut Draws<'_>) -> Operands {
    match draws.op {
        Op::Isqrt => {
            let mut rows = draws.rows(ROOTS);
            // Squares and their neighbours, also of numbers with zeros below and of all ones, whose
            // estimates are one too small for a block.
            for row in &mut rows {
                let half = 1 + draws.random.below(draws.bits() / 2);
                let zeros = draws.random.below(half);
                let root = draws.value(half - zeros) << zeros;
                let square = &root * &root;
                match draws.random.below(5) {
                    0 => row.a = square,
                    1 => row.a = low(square + 1u32, draws.bits()),
                    2 if square != BigUint::ZERO => row.a = square - 1u32,
                    _ => {}
                }
            }
            draws.unary(&rows, if draws.variant == 0 { 2 } else { 1 })
        }
        _ => level(draws),
    }
}

fn level(draws: &mut Draws<'_>) -> Operands {
    let (op, bits, count, variant) = (draws.op, draws.bits(), draws.count, draws.variant);
    let (k, row_bytes) = (bits / 2, draws.shape.bytes());
    let rows = draws.rows(SUMS);
    let numbers: Vec<_> = (0..count).map(|_| wide(draws, 2)).collect();
    let numbers = bytes_of(numbers.iter(), 4 * bits);
    // Few zeros below the level in three rows of four.
    let mut length = |row: usize| {
        let zeros = draws.random.below(if row.is_multiple_of(4) { bits } else { 31 });
        2 * (bits - zeros) as u32
    };
    let mut lengths: Vec<u32> = (0..count).map(&mut length).collect();
    let words = |lengths: &[u32]| lengths.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut launch = draws.binary(&rows, 0);
    launch.params.source_bits = 4 * bits as u32;
    launch.params.part_bits = k as u32;
    launch.params.target_bits = 2 * bits as u32;
    match op {
        Op::RootDividend => {
            launch.params.target_bits = 0;
            launch.params.distance = bits as u32;
            launch.inputs[1] = numbers;
            launch.inputs[2] = words(&lengths);
            launch.outputs[0] = count * row_bytes;
        }
        Op::RootRemainder => {
            // A flag of the level before is replaced.
            lengths.iter_mut().for_each(|length| *length |= draws.random.below(2) as u32);
            launch.inputs[2] = numbers;
            launch.updated[1] = words(&lengths);
            launch.outputs = [2 * count * row_bytes, 4 * count];
            if variant == 1 {
                // The last level has no next dividend.
                launch.params.target_bits = 0;
                launch.outputs[0] = 0;
            }
        }
        _ => {
            let quotient = |(index, row): (usize, &crate::operands::Row)| match index % 5 {
                0 => power(k),
                _ => low(row.a.clone(), k),
            };
            let quotients: Vec<_> = rows.iter().enumerate().map(quotient).collect();
            launch.inputs[0] = draws.column(&quotients);
            for length in &mut lengths {
                // The last level restores remainders of rows with few zeros below.
                let least = if variant == 1 { 2 * bits as u32 - 62 } else { 0 };
                *length = (*length).max(least) + u32::from(draws.random.one_in(3));
            }
            launch.params.source_bits = 0;
            launch.params.distance = if variant == 1 { 2 * bits as u32 } else { 0 };
            launch.inputs[2] = words(&lengths);
            launch.outputs = [2 * count * row_bytes; 2];
            let next: Vec<_> = (0..count).map(|_| wide(draws, 1)).collect();
            launch.updated[1] = bytes_of(next.iter(), 2 * bits);
        }
    }
    launch
}

/// A number of `2^doublings` times the width.
fn wide(draws: &mut Draws<'_>, doublings: usize) -> BigUint {
    draws.value(draws.bits() << doublings)
}
