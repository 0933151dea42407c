//! Rows from and to decimal digits.

use gpuint::num_bigint::BigUint;
use gpuint::{Op, Shape};

use super::draws::Draws;
use super::row::{Expected, Row};
use crate::launch::Operands;
use crate::operands::{SUMS, low};
use crate::oracle;

/// Digits of a group.
const GROUP: usize = 8;

/// Digits of the texts of launches: one group, half of the digits of a row, all of them, and more.
pub(super) fn places(shape: Shape) -> [usize; 4] {
    let all = (shape.bits * 30_103 / 100_000 + 1).next_multiple_of(GROUP);
    [GROUP, (all / 2).next_multiple_of(GROUP), all, all + 2 * GROUP]
}

fn power(digits: usize) -> BigUint {
    BigUint::from(10u32).pow(digits as u32)
}

/// Digits of a number below the power of ten of a place, with leading zeros.
fn text(number: &BigUint, place: usize) -> Vec<u8> {
    format!("{:0>place$}", oracle::decimal(number)).into_bytes()
}

/// The text of the last digits of a row.
pub(super) fn written(x: &Row<'_>) -> BigUint {
    let place = x.operands.params.target_bits as usize / 8;
    BigUint::from_bytes_le(&text(&(x.a() % power(place)), place))
}

/// The number of the text of a row.
pub(super) fn read(x: &Row<'_>) -> Expected {
    let place = x.operands.params.source_bits as usize / 8;
    let digits = &x.operands.inputs[0][place * x.row..][..place];
    let number = BigUint::parse_bytes(digits, 10).unwrap_or_default();
    let is_wide = number.bits() > x.bits() as u64;
    Expected::value(low(number, x.bits())).failing(is_wide)
}

pub(super) fn operands(draws: &mut Draws<'_>) -> Operands {
    let (bits, count, place) = (draws.bits(), draws.count, places(draws.shape)[draws.variant]);
    let rows = draws.rows(SUMS);
    if draws.op == Op::ToDecimal {
        let mut launch = draws.unary(&rows, 1);
        launch.params.target_bits = 8 * place as u32;
        launch.outputs[0] = count * place;
        return launch;
    }
    let end = power(place);
    let mut number = |value: &BigUint| match draws.random.below(8) {
        // The least number that does not fit, numbers near it, and the last one of the place.
        0 => (BigUint::from(1u32) << bits) + draws.random.below(2),
        1 => (BigUint::from(1u32) << bits) - 1u32,
        2 => &end - 1u32,
        3 => &end - 1u32 - value % &end,
        // It does not fit before its last groups, which are zero.
        4 => (BigUint::from(1u32) << bits) * power(2 * GROUP),
        _ => value.clone(),
    };
    let texts = rows.iter().flat_map(|row| text(&(number(&row.a) % &end), place)).collect();
    let mut launch = draws.launch([texts, vec![], vec![]], 1);
    launch.params.source_bits = 8 * place as u32;
    launch
}
