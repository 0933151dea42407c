//! Common divisors, inverses, symbols and fractions.

use gpuint::Op;
use gpuint::num_bigint::BigUint;

use super::draws::Draws;
use crate::launch::Operands;
use crate::operands::{EUCLID, FRACTIONS, Row, SUMS, low};
use crate::oracle;

pub(super) fn operands(draws: &mut Draws<'_>) -> Operands {
    let (op, count) = (draws.op, draws.count);
    if op == Op::Rational {
        return fractions(draws);
    }
    let mut rows = draws.rows(EUCLID);
    // Pairs that differ in a few bits, or whose sum carries.
    for (row, other) in rows.iter_mut().zip(draws.rows(SUMS)).skip(1).step_by(4) {
        *row = other;
    }
    let mut launch = draws.binary(&rows, 1);
    match op {
        Op::HalfGcd => launch = draws.binary(&rows, 2),
        Op::Jacobi => launch.outputs[0] = count,
        Op::InverseMod | Op::InverseModWindowed => launch.mask = true,
        _ => {}
    }
    launch
}

/// Images of fractions, or any pairs. Bounds are around half the length, where fractions are
/// unique, or anywhere.
fn fractions(draws: &mut Draws<'_>) -> Operands {
    let mut rows = draws.rows(FRACTIONS);
    let pairs = draws.rows(SUMS);
    let mut bounds = Vec::new();
    for (row, pair) in rows.iter_mut().zip(pairs) {
        let is_fraction = row.a < row.b && !draws.random.one_in(3);
        if !is_fraction {
            let Row { a, b, .. } = pair;
            (row.a, row.b) = if a < b { (a, b) } else { (b, a) };
        }
        if row.a == row.b {
            row.a = BigUint::ZERO;
        }
        let half = row.b.bits() as usize / 2;
        let bound = match draws.random.below(if is_fraction { 4 } else { 3 }) {
            0 => {
                let length = 1 + draws.random.below(draws.bits());
                draws.value(length)
            }
            1 | 2 => {
                let length = 1 + half + draws.random.below(5);
                draws.value(length)
            }
            _ => oracle::isqrt(&(&row.b >> 1)),
        };
        bounds.push(low(bound, draws.bits()));
    }
    let mut launch = Operands { mask: true, ..draws.binary(&rows, 2) };
    launch.inputs[2] = draws.column(&bounds);
    launch
}
