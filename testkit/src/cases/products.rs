//! Products and sums of products.

use gpuint::Op;
use gpuint::num_bigint::BigUint;

use super::draws::Draws;
use super::row::{Expected, Row};
use crate::launch::Operands;
use crate::operands::{PRODUCTS, low, ones};

/// Sum of the products of a row in `bits` bits, marked if it is wider.
pub(super) fn sum(x: &Row<'_>, bits: usize) -> Expected {
    let sum: BigUint = x.pairs().map(|[a, b]| a * b).sum();
    let is_wide = x.operands.mask && sum.bits() > bits as u64;
    Expected::value(low(sum, bits)).marked(is_wide)
}

/// Numbers of products of a sum. The last one is that of a whole launch.
pub(super) fn counts(is_slow: bool) -> &'static [usize] {
    if is_slow { &[1, 2, 4] } else { &[1, 2, 4, 32] }
}

pub(super) fn operands(draws: &mut Draws<'_>) -> Operands {
    let (op, variant) = (draws.op, draws.variant);
    let row_bytes = draws.count * draws.shape.bytes();
    let mut rows = draws.rows(PRODUCTS);
    match op {
        Op::SquareLo => draws.unary(&rows, 1),
        Op::MulWide => {
            let mut product = draws.binary(&rows, 2);
            match variant {
                0 => {}
                1 => {
                    product.params.joined = true;
                    product.outputs = [2 * row_bytes, 0];
                }
                half => product.outputs[half - 2] = 0,
            }
            product
        }
        Op::SumOfProducts | Op::WideSumOfProducts => {
            let counts = counts(draws.is_slow);
            let count = counts[variant % counts.len()];
            let all = ones(draws.bits());
            for (index, row) in rows.iter_mut().enumerate() {
                match count {
                    32 if index % 2 == 0 => (row.a, row.b) = (all.clone(), all.clone()),
                    // The four products are those of (a + b)^2 = 2^(2 BITS): a carry through all.
                    4 if index % 5 == 1 => (row.a, row.b) = (all.clone(), 1u32.into()),
                    _ => {}
                }
            }
            let Operands { inputs: [a, b, _], .. } = draws.binary(&rows, 0);
            let pair = |index: usize| {
                let first = if index % 3 == 1 { &b } else { &a };
                let second = if index % 4 == 3 { &a } else { &b };
                [first.clone(), second.clone()]
            };
            let halves = if op == Op::WideSumOfProducts { 2 } else { 1 };
            let mut sums = draws.launch([vec![], vec![], vec![]], 1);
            sums.outputs[0] *= halves;
            sums.pairs = (0..count).map(pair).collect();
            sums.mask = halves == 2 && variant >= counts.len();
            sums
        }
        _ => draws.binary(&rows, 1),
    }
}
