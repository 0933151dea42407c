//! The operations that are timed and counted.

use gpuint::Op;
use gpuint::num_bigint::BigUint;
use num_traits::One;

use crate::workload::Workload;

/// The operations that are timed and counted. An inverse is of `B^M`, which divides full dividends
/// by a constant divisor.
pub const OPERATIONS: [Op; 6] =
    [Op::Add, Op::MulLo, Op::MulWide, Op::SquareLo, Op::DivRem, Op::ShiftedInverse];

/// The operations that are counted.
pub const COUNTED: [Op; 8] = [
    Op::Add,
    Op::MulLo,
    Op::MulWide,
    Op::SquareLo,
    Op::DivRem,
    Op::DivExact,
    Op::InverseModPow2,
    Op::ShiftedInverse,
];

/// Returns true if the operation is one of [`COUNTED`] and a row of its results is right. The
/// second result of a wide product is its high half.
pub fn is_right(op: Op, bits: usize, [u, v]: &[BigUint; 2], results: &[BigUint; 2]) -> bool {
    let [first, second] = results;
    let low = |value: BigUint| value % (BigUint::one() << bits);
    match op {
        Op::Add => *first == low(u + v),
        Op::MulLo => *first == low(u * v),
        Op::MulWide => first + (second << bits) == u * v,
        Op::SquareLo => *first == low(u * u),
        Op::DivRem => second < v && first * v + second == *u,
        Op::DivExact => first * v == *u,
        Op::InverseModPow2 => low(first * v).is_one(),
        Op::ShiftedInverse => {
            let power = BigUint::one() << bits;
            first * v <= power && power < (first + 1u32) * v
        }
        _ => false,
    }
}

/// Workloads on which an operation is counted; one if the work does not depend on the values.
pub fn workloads(op: Op) -> &'static [Workload] {
    match op {
        Op::DivRem => &Workload::ALL,
        Op::DivExact | Op::ShiftedInverse => {
            &[Workload::Uniform, Workload::Half, Workload::Structured]
        }
        _ => &[Workload::Uniform],
    }
}
