//! Sums, shifts, comparisons and functions of bits.

use gpuint::num_bigint::BigUint;
use gpuint::{MAX_BITS, Op, Shape};

use super::draws::Draws;
use crate::launch::Operands;
use crate::operands::{SUMS, ones};

/// A signed byte.
pub(super) fn byte(value: i8) -> BigUint {
    BigUint::from(value as u8)
}

/// Function of the bits of two numbers by its truth table.
pub(super) fn bitwise(a: &BigUint, b: &BigUint, table: u32, bits: usize) -> BigUint {
    let all = ones(bits);
    let (not_a, not_b) = (a ^ &all, b ^ &all);
    let terms = [(&not_a, &not_b), (&not_a, b), (a, &not_b), (a, b)];
    let chosen = terms.iter().enumerate().filter(|(index, _)| table >> index & 1 == 1);
    chosen.fold(BigUint::ZERO, |result, (_, (a, b))| result | (*a & *b))
}

/// Distances of shifts of whole batches.
pub(super) fn distances(shape: Shape) -> [u32; 11] {
    let (bits, word) = (shape.bits as u32, shape.digit.bits() as u32);
    let beyond = [bits, bits + 5, 3 * bits, u32::MAX];
    let [d, e, f, g] = beyond;
    [0, 1, word - 1, word, word + 1, bits / 2 + 3, bits - 1, d, e, f, g]
}

/// Places of bits.
pub(super) fn places(shape: Shape) -> [u32; 3] {
    let bits = shape.bits as u32;
    [0, bits / 2 + 1, bits - 1]
}

pub(super) fn operands(draws: &mut Draws<'_>) -> Operands {
    let (op, shape, count, variant) = (draws.op, draws.shape, draws.count, draws.variant);
    let mut rows = draws.rows(SUMS);
    // A carry or a borrow through all tiles of a long row.
    if matches!(op, Op::Add | Op::Sub) && shape.bits > MAX_BITS {
        rows[0].a = if op == Op::Add { ones(shape.bits) } else { BigUint::ZERO };
        rows[0].b = 1u32.into();
    }
    match op {
        Op::Add | Op::Sub => {
            let sums = Operands { mask: variant != 1, ..draws.binary(&rows, 1) };
            draws.broadcast_rhs(sums, variant == 2)
        }
        Op::Shl | Op::Shr => {
            let mut shifts = draws.unary(&rows, 1);
            shifts.params.distance = distances(shape)[variant];
            shifts
        }
        Op::Cmp | Op::EqMask | Op::LtMask => {
            let mut orders = draws.binary(&rows, 0);
            match op {
                Op::Cmp => orders.outputs[0] = count,
                _ => orders.mask = true,
            }
            draws.broadcast_rhs(orders, variant == 1)
        }
        Op::IsZeroMask => Operands { mask: true, ..draws.unary(&rows, 0) },
        Op::BitMask => {
            let mut bits = Operands { mask: true, ..draws.unary(&rows, 0) };
            bits.params.distance = places(shape)[variant];
            bits
        }
        Op::Bitwise => {
            let mut functions = draws.binary(&rows, 1);
            functions.params.table = variant as u32 + 1;
            draws.broadcast_rhs(functions, variant % 2 == 0)
        }
        // A number of bits for each row.
        _ => {
            let mut lengths = draws.unary(&rows, 0);
            lengths.outputs[0] = 4 * count;
            lengths
        }
    }
}
