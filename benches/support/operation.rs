//! What is timed and counted.

use gpuint::Op;
use gpuint::num_bigint::BigUint;
use num_traits::One;

use super::workload::Workload;

/// An operation that is timed and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    MulLow,
    MulWide,
    Square,
    DivRem,
    /// Of `B^M`: what divides full dividends by a divisor that stays the same.
    ShiftedInverse,
}

impl Operation {
    /// The operation and the strategy of a kernel of the catalogue; `None` where it is not counted.
    pub(crate) fn of(kernel: &str) -> Option<(Self, &str)> {
        if kernel == "add" {
            return Some((Self::Add, ""));
        }
        // Divisions whose divisors are of another kind.
        if kernel.starts_with("div_rem_by_") || kernel == "div_rem_digit" {
            return None;
        }
        let by_prefix = [
            ("mul_lo_", Self::MulLow),
            ("mul_wide_", Self::MulWide),
            ("sqr_lo_", Self::Square),
            ("div_rem_", Self::DivRem),
            ("shinv_", Self::ShiftedInverse),
        ];
        by_prefix.into_iter().find_map(|(prefix, op)| Some((op, kernel.strip_prefix(prefix)?)))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::MulLow => "mul_lo",
            Self::MulWide => "mul_wide",
            Self::Square => "sqr",
            Self::DivRem => "div_rem",
            Self::ShiftedInverse => "shifted_inverse",
        }
    }

    /// The library's.
    pub(crate) fn op(self) -> Op {
        match self {
            Self::Add => Op::Add,
            Self::MulLow => Op::MulLow,
            Self::MulWide => Op::MulWide,
            Self::Square => Op::SquareLow,
            Self::DivRem => Op::DivRem,
            Self::ShiftedInverse => Op::ShiftedInverse,
        }
    }

    /// Whether a row of results is right; of a wide product, the second is the high half.
    pub(crate) fn is_right(
        self,
        bits: usize,
        [u, v]: &[BigUint; 2],
        results: &[BigUint; 2],
    ) -> bool {
        let [first, second] = results;
        let low = |value: BigUint| value % (BigUint::one() << bits);
        match self {
            Self::Add => *first == low(u + v),
            Self::MulLow => *first == low(u * v),
            Self::MulWide => first + (second << bits) == u * v,
            Self::Square => *first == low(u * u),
            Self::DivRem => second < v && first * v + second == *u,
            Self::ShiftedInverse => {
                let power = BigUint::one() << bits;
                first * v <= power && power < (first + 1u32) * v
            }
        }
    }

    /// The work of the others does not depend on the values.
    pub(crate) fn workloads(self) -> &'static [Workload] {
        match self {
            Self::DivRem => &Workload::ALL,
            Self::ShiftedInverse => &[Workload::Uniform, Workload::Half, Workload::Structured],
            _ => &[Workload::Uniform],
        }
    }
}
