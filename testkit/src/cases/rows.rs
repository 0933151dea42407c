//! Rows that move: by index, by mask, by distance, to another width.

use gpuint::num_bigint::BigUint;
use gpuint::{Op, Shape};

use super::draws::Draws;
use super::row::{Row, value_of};
use crate::launch::Operands;
use crate::operands::{SUMS, low};

/// Index that leaves a row unchanged.
const UNCHANGED: u64 = u64::MAX;
/// Rows of the table of a byte.
const OF_BYTE: usize = 256;

pub(super) fn gathered(x: &Row<'_>) -> BigUint {
    match x.word(1) {
        UNCHANGED => x.updated(0, x.bits()),
        from => value_of(&x.operands.inputs[0], from as usize, x.shape.bytes()),
    }
}

pub(super) fn looked_up(x: &Row<'_>) -> BigUint {
    let byte = x.operands.params.distance as usize / 8;
    let value = x.operands.inputs[1][x.row * x.shape.bytes() + byte];
    let index = OF_BYTE * byte + usize::from(value);
    value_of(&x.operands.inputs[0], index, x.shape.bytes())
}

/// Tables of a lookup.
pub(super) fn tables(shape: Shape) -> usize {
    shape.bytes().min(4)
}

/// Widths of the results of changes of width.
pub(super) fn targets(shape: Shape) -> [usize; 4] {
    let bits = shape.bits;
    [bits / 32 * 16, bits, bits + 48, 2 * bits]
}

pub(super) fn operands(draws: &mut Draws<'_>) -> Operands {
    let (op, shape, count, variant) = (draws.op, draws.shape, draws.count, draws.variant);
    let mut rows = draws.rows(SUMS);
    match op {
        Op::ShlRows | Op::ShrRows => {
            let bits = shape.bits;
            let mut shifts = draws.unary(&rows, 1);
            let mut distance = |_| match draws.random.below(5) {
                0 => bits - 2 + draws.random.below(8),
                _ => draws.random.below(bits),
            };
            let distances = (0..count).map(&mut distance);
            shifts.inputs[1] = distances.flat_map(|d| (d as u32).to_le_bytes()).collect();
            shifts
        }
        Op::Gather => {
            let mut gather = draws.unary(&rows, 1);
            let mut from = |_| match variant {
                1 if draws.random.one_in(3) => UNCHANGED,
                _ => draws.random.below(count) as u64,
            };
            gather.inputs[1] = (0..count).map(&mut from).flat_map(u64::to_le_bytes).collect();
            if variant == 1 {
                gather.updated[0] = draws.column(rows.iter().map(|row| &row.b));
            }
            gather
        }
        Op::Lookup => {
            let mut lookup = draws.binary(&rows, 1);
            let bytes = OF_BYTE * tables(shape) * shape.bytes();
            let words = (0..bytes.div_ceil(8)).flat_map(|_| draws.random.word().to_le_bytes());
            lookup.inputs[0] = words.take(bytes).collect();
            lookup.params.distance = 8 * variant as u32;
            lookup
        }
        Op::Select => {
            let mut select = draws.binary(&rows, 1);
            let words = (0..count.div_ceil(32)).map(|_| draws.random.word() as u32);
            select.inputs[2] = words.flat_map(u32::to_le_bytes).collect();
            select
        }
        _ => {
            let target = targets(shape)[variant];
            // The longest numbers that fit.
            for row in rows.iter_mut().step_by(2).filter(|_| target <= shape.bits) {
                row.a = low(std::mem::take(&mut row.a), target);
                row.a.set_bit(target as u64 - 1, true);
            }
            let mut resize = draws.unary(&rows, 1);
            resize.params.target_bits = target as u32;
            resize.outputs[0] = count * target / 8;
            resize
        }
    }
}
